//! Indexes a corpus: counted first, built with progress, resumed after an interruption.

use crate::error::{MootError, Result};
use crate::question::Passage;
use crate::retrieval::Embedder;
use crate::retrieval::chunk::Chunking;
use crate::retrieval::corpus::{Corpus, Skipped, note_lines, pdf_workers, skipped_lines};
use crate::retrieval::index::Builder;
use crate::workspace::control::{Control, Phase};
use crate::workspace::embedder::note_truncated;
use std::sync::Arc;

/// A corpus whose files are listed, and how its documents are split.
pub(crate) struct ListedCorpus {
    corpus: Corpus,
    chunking: Chunking,
    typed: Vec<String>,
}

impl ListedCorpus {
    /// `corpus`, as `paths` were given.
    #[must_use]
    pub(crate) fn new(corpus: Corpus, paths: &[String], chunking: Chunking) -> Self {
        let cut = format!("({})", chunking.describe());
        Self { corpus, chunking, typed: paths.iter().cloned().chain([cut]).collect() }
    }

    /// Its files.
    #[must_use]
    pub(crate) fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// Reads the corpus once, so that errors are found before hours of embedding, and notes what is left out and how files were
    /// read.
    ///
    /// # Errors
    /// Files that cannot be read; a corpus without text.
    pub(crate) fn count(&self, control: &Control) -> Result<Counted> {
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
        let skipped = skipped_lines(&all).into_iter().map(|line| format!("skipped {line}"));
        let notes = note_lines(&passages.notes()).into_iter().map(|line| format!("note {line}"));
        let lines: Vec<String> = skipped.chain(notes).collect();
        lines.iter().for_each(|line| control.note(line));
        Ok(Counted { passages: count, files, lines })
    }

    /// Its passages.
    #[must_use]
    pub(crate) fn passages(&self) -> Box<dyn Iterator<Item = Result<Passage>>> {
        Box::new(self.corpus.passages(self.chunking))
    }

    /// Adds its `total` passages to an index.
    ///
    /// # Errors
    /// An embedder or a folder that cannot be used; a full disk; [`MootError::Interrupted`], after which finished work is kept.
    pub(crate) fn fill(
        &self,
        builder: &mut Builder,
        total: u64,
        embedder: Option<&Arc<dyn Embedder>>,
        control: &Control,
    ) -> Result<()> {
        control.watch.phase(Phase::Working);
        let mut passages = self.passages();
        let built = builder.run(&self.typed, &mut passages, embedder.map(AsRef::as_ref), &mut |progress| {
            control.watch.indexing(total, Some(progress));
            if control.is_stopped() { Err(MootError::Interrupted) } else { Ok(()) }
        });
        control.watch.indexing(total, None);
        note_truncated(embedder.map(AsRef::as_ref), control);
        if let Err(MootError::Interrupted) = built {
            let passages = builder.manifest().passages();
            control.note(&format!("{passages} passages are kept; run the same command to resume"));
        }
        built
    }
}

/// Notes how many processes read PDF files, if any did.
pub(crate) fn note_pdf_workers(control: &Control) {
    let counts = pdf_workers();
    if counts.started > 0 {
        let (processes, lost) = (if counts.started == 1 { "process" } else { "processes" }, counts.lost);
        control.note(&format!("PDF files were read in {} {processes}, {lost} of them ended by a file", counts.started));
    }
}

/// A corpus that was read once.
pub(crate) struct Counted {
    /// Number of passages.
    pub(crate) passages: u64,
    /// Number of files that gave some.
    pub(crate) files: u64,
    /// Skipped files, and notes on the reading, as printed.
    pub(crate) lines: Vec<String>,
}
