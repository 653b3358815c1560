//! Arguments of a corpus that is indexed.

use crate::cli::args::embedder::EmbedderArgs;
use crate::cli::args::values;
use crate::retrieval::corpus::listed_endings;
use crate::workspace::IndexOptions;
use std::path::Path;

/// A corpus and how it is split.
#[derive(Debug, clap::Args)]
pub(crate) struct IndexedArgs {
    /// The files of the corpus.
    #[arg(value_name = "CORPUS", required = true, num_args = 1.., help = corpus_help())]
    pub corpus: Vec<String>,
    /// Words per passage; 0 does not split documents
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = values::count_or_none)]
    #[arg(allow_negative_numbers = true)]
    pub words: usize,
    /// Words that a passage repeats from the one before it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::count_or_none)]
    #[arg(allow_negative_numbers = true)]
    pub overlap: usize,
}

/// The help of CORPUS, with the kinds of files from their table.
fn corpus_help() -> String {
    format!("Files, folders, globs, and - for standard input: {}", listed_endings())
}

impl IndexedArgs {
    /// As the workspace takes them, for the index in `dir`.
    pub(super) fn options(&self, dir: &Path, memory: usize, embedder: &EmbedderArgs) -> IndexOptions {
        IndexOptions {
            dir: dir.to_owned(),
            corpus: self.corpus.clone(),
            words: self.words,
            overlap: self.overlap,
            memory,
            embedder: embedder.options(),
            ..IndexOptions::default()
        }
    }
}
