//! Arguments for the corpus and the embedder.

use crate::cli::fetching::{Shown, tell};
use crate::cli::{model, values};
use crate::error::{MootError, Result};
use crate::question::Passage;
use crate::retrieval::chunk::{Chunking, Overlap};
use crate::retrieval::corpus::{Corpus, Skipped, told_notes, told_skipped};
use crate::retrieval::index::Dense;
use crate::retrieval::{Embedder, EmbedderOptions, LocalEmbedder};
use moot_models::encoder::EncoderOptions;
use std::path::Path;
use std::sync::Arc;

/// Default embedder: small, fast, English.
const EMBEDDER: &str = "all-minilm-l6-v2";
/// The value of `--embedder` for BM25 only.
const NONE: &str = "none";

/// A corpus and how it is split.
#[derive(Debug, clap::Args)]
pub struct CorpusArgs {
    /// Files, folders, globs, and - for standard input: .txt, .md, .html, .pdf, .docx, .odt, .epub, .rtf, .jsonl, .csv, .tsv
    #[arg(value_name = "CORPUS", required = true, num_args = 1..)]
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

impl CorpusArgs {
    /// Lists the files.
    ///
    /// # Errors
    /// Paths without files; an overlap that leaves no room for new text.
    pub fn open(&self) -> Result<Opened> {
        let chunking = Chunking::new(self.words, Overlap::Words(self.overlap))?;
        Ok(Opened::new(Corpus::open(&self.corpus)?, &self.corpus, chunking))
    }
}

/// A corpus whose files are listed.
pub struct Opened {
    corpus: Corpus,
    chunking: Chunking,
    typed: Vec<String>,
}

impl Opened {
    /// `corpus`, as `paths` were typed.
    #[must_use]
    pub fn new(corpus: Corpus, paths: &[String], chunking: Chunking) -> Self {
        let cut = format!("({})", chunking.describe());
        Self { corpus, chunking, typed: paths.iter().cloned().chain([cut]).collect() }
    }

    /// Paths and chunking as stored in the index: another chunking is another corpus.
    #[must_use]
    pub fn typed(&self) -> &[String] {
        &self.typed
    }

    /// Its files.
    #[must_use]
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// Reads the corpus once, so that errors are found before hours of embedding, and prints what is left out and the notes on
    /// what was read: the number of passages and of the files that gave some, and these lines.
    ///
    /// # Errors
    /// Files that cannot be read; a corpus without text.
    pub fn count(&self) -> Result<Counted> {
        let mut passages = self.corpus.passages(self.chunking);
        let (mut count, mut files, mut last) = (0, 0, String::new());
        for passage in passages.by_ref() {
            let file = passage?.origin.file;
            count += 1;
            // The passages of a file follow each other.
            files += u64::from(count == 1 || file != last);
            last = file;
        }
        let all: Vec<Skipped> = self.corpus.skipped().iter().cloned().chain(passages.skipped()).collect();
        let skipped = told_skipped(&all).into_iter().map(|line| format!("skipped {line}"));
        let notes = told_notes(&passages.notes()).into_iter().map(|line| format!("note {line}"));
        let lines: Vec<String> = skipped.chain(notes).collect();
        tell_lines(&lines);
        Ok(Counted { passages: count, files, lines })
    }

    /// Its passages.
    #[must_use]
    pub fn passages(&self) -> Box<dyn Iterator<Item = Result<Passage>>> {
        Box::new(self.corpus.passages(self.chunking))
    }
}

/// A corpus that was read once.
pub struct Counted {
    /// Number of passages.
    pub passages: u64,
    /// Number of files that gave some.
    pub files: u64,
    /// What is left out, and notes on what was read, as printed.
    pub lines: Vec<String>,
}

/// Prints the lines of [`Counted`].
pub(in crate::cli) fn tell_lines<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) {
    lines.into_iter().for_each(|line| tell(line.as_ref()));
}

/// Embedder arguments.
#[derive(Debug, clap::Args)]
pub struct EmbedderArgs {
    /// Embedder: a name of the catalog, a folder, hf:org/repo, or "none" for BM25 only; by default all-minilm-l6-v2 for a
    /// new index, otherwise the index's own
    #[arg(long, value_name = "NAME")]
    pub embedder: Option<String>,
    /// Device of the embedder: cpu, cuda, cuda:N or metal. Search an index with the device that built it: the vectors'
    /// last digits differ
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,
    /// Never use the network
    #[arg(long)]
    pub offline: bool,
}

impl EmbedderArgs {
    /// The name for a new index.
    #[must_use]
    pub fn name(&self) -> &str {
        self.embedder.as_deref().unwrap_or(EMBEDDER)
    }

    /// Takes `name` where none was typed and its files are on this machine; whether it is taken, or one was typed.
    pub fn take_if_present(&mut self, name: &str) -> bool {
        let options = EmbedderOptions { offline: true, ..EmbedderOptions::default() };
        if self.embedder.is_none() && LocalEmbedder::open(name, &options, &mut |_| {}).is_ok() {
            self.embedder = Some(name.to_owned());
        }
        self.embedder.is_some()
    }

    /// Opens the embedder of a new index; `None` for BM25 only.
    ///
    /// # Errors
    /// An unknown name, a model that cannot be fetched or loaded.
    pub fn named(&self) -> Result<Option<Arc<dyn Embedder>>> {
        if self.name() == NONE { Ok(None) } else { self.open(self.name()).map(Some) }
    }

    /// Opens the embedder that made the vectors of the index in `dir`; `None` for an index of words alone.
    ///
    /// # Errors
    /// As [`EmbedderArgs::named`]; one that was typed for an index of words alone.
    pub fn of_index(&self, dir: &Path, dense: Option<&Dense>) -> Result<Option<Arc<dyn Embedder>>> {
        let Some(dense) = dense else {
            return match self.embedder.as_deref().filter(|name| *name != NONE) {
                None => Ok(None),
                Some(name) => Err(MootError::Index {
                    path: dir.to_owned(),
                    wrong: format!("expected vectors for --embedder {name}, found an index of words alone"),
                    hint: "leave the option out, or build an index with vectors".into(),
                }),
            };
        };
        match self.embedder.as_deref().or(dense.name.as_deref()) {
            Some(name) => self.open(name).map(Some),
            None => Err(MootError::Index {
                path: dir.to_owned(),
                wrong: format!("its vectors were made by {}", dense.embedder),
                hint: "say with --embedder where that is".into(),
            }),
        }
    }

    fn open(&self, name: &str) -> Result<Arc<dyn Embedder>> {
        let (device, _) = model::device("--device of the embedder", &self.device)?;
        let load = EncoderOptions::on(device);
        let options = EmbedderOptions { offline: self.offline, load, ..EmbedderOptions::default() };
        let mut shown = Shown::new(name);
        let embedder = LocalEmbedder::open(name, &options, &mut |progress| shown.show(&progress))?;
        shown.loaded();
        embedder.note().iter().for_each(|note| tell(&format!("{name}: {note}")));
        Ok(Arc::new(embedder))
    }
}
