//! The documents of a folder as sentences, each with its position, its headings and its neighbours.

use super::cut::{Cut, cut};
use super::language::{Language, NO_STATEMENT, NOT_SUPPORTED};
use super::options::{CALLS, Options};
use crate::error::{MootError, Result};
use crate::question::{self, Origin};
use crate::retrieval::Exact;
use crate::retrieval::corpus::{Corpus, Document, Marks, Noted, note_lines, skipped_lines};
use crate::units::plural;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most sentences that are read of one document; the rest is left out, with a note.
pub const MOST_SENTENCES: usize = 1000;

/// A document, as a report names it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Its file, as its path was typed; with the record's line where a file has several documents.
    pub file: String,
    /// Its title, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The publisher or author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// As given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Files with the same text, which are not read again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<String>,
    /// Whether its file or a copy of it is among the changed files; true where all documents are compared.
    #[serde(skip)]
    pub changed: bool,
}

impl Source {
    /// Its title, else its file's name as words.
    pub(super) fn name(&self) -> String {
        self.title.clone().unwrap_or_else(|| self.stem())
    }

    /// Its file's name without folder and ending, as words.
    pub(super) fn stem(&self) -> String {
        let name = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        stem.replace(['-', '_'], " ")
    }
}

/// A sentence of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sentence {
    /// Its document, an index.
    pub(super) source: usize,
    /// Its passage, an index. A passage is one call of the reader.
    pub(super) passage: usize,
    /// Its words, on one line.
    pub(super) text: String,
    /// Its position.
    pub(super) origin: Origin,
    /// The headings above it, outermost first, and the first row of its table.
    pub(super) heading: String,
    /// The sentences before and after it, cut short; empty at the ends of a section.
    pub(super) before: String,
    pub(super) after: String,
}

/// The documents of a folder.
#[derive(Debug, Default)]
pub struct Folder {
    pub(super) sources: Vec<Source>,
    pub(super) sentences: Vec<Sentence>,
    /// Lines on what was not read and how, for the user.
    pub notes: Vec<String>,
    /// Files that are copies of another.
    copies: usize,
    passages: usize,
    /// Of each document.
    languages: Vec<Language>,
    /// Only pairs with a changed document are compared.
    pub(super) only_changes: bool,
}

/// Most words of a passage, the text of one call of the reader.
const PASSAGE: usize = 110;

/// Most sentences of a passage.
const TOGETHER: usize = 8;

/// Characters of a neighbouring sentence that are shown.
const BESIDE: usize = 240;

impl Folder {
    /// Reads the documents that `paths` name, as [`Corpus::open`] takes them. With `changed`, only pairs with
    /// one of these files are compared.
    ///
    /// # Errors
    /// Paths that cannot be read; [`Folder::check`].
    pub fn read(paths: &[String], changed: Option<&BTreeSet<PathBuf>>) -> Result<Self> {
        let folder = Self::unchecked(paths, changed)?;
        folder.check(paths)?;
        Ok(folder)
    }

    /// As [`Folder::read`], without [`Folder::check`]: the notes say why there are not enough documents.
    ///
    /// # Errors
    /// Paths that cannot be read.
    pub fn unchecked(paths: &[String], changed: Option<&BTreeSet<PathBuf>>) -> Result<Self> {
        Self::of_files(&Corpus::open(paths)?, changed)
    }

    /// As [`Folder::read`], of a corpus that is open; errors name it by `paths`.
    ///
    /// # Errors
    /// As [`Folder::read`].
    pub(crate) fn of_corpus(corpus: &Corpus, paths: &[String], changed: Option<&BTreeSet<PathBuf>>) -> Result<Self> {
        let folder = Self::of_files(corpus, changed)?;
        folder.check(paths)?;
        Ok(folder)
    }

    fn of_files(corpus: &Corpus, changed: Option<&BTreeSet<PathBuf>>) -> Result<Self> {
        let mut folder = Self { only_changes: changed.is_some(), ..Self::default() };
        let mut exact = Exact::default();
        let mut documents = corpus.documents();
        // Pages of one file follow each other and are one document; records of one file are documents of their own.
        let mut pages: Vec<Document> = Vec::new();
        for document in documents.by_ref() {
            let document = document?;
            let is_record = document.record_line().is_some();
            if is_record || pages.last().is_some_and(|page| page.file != document.file) {
                folder.add(&pages, changed, &mut exact);
                pages.clear();
            }
            pages.push(document);
        }
        folder.add(&pages, changed, &mut exact);
        let skipped: Vec<_> = corpus.skipped().iter().cloned().chain(documents.skipped()).collect();
        let skipped = skipped_lines(&skipped).into_iter().map(|line| format!("skipped {line}"));
        let noted = note_lines(&documents.notes()).into_iter().map(|line| format!("note {line}"));
        folder.notes.splice(0..0, skipped.chain(noted));
        folder.finish();
        Ok(folder)
    }

    /// Documents of a request.
    ///
    /// # Errors
    /// Fewer than two documents.
    pub fn of(documents: &[question::Document]) -> Result<Self> {
        let (mut folder, mut exact) = (Self::default(), Exact::default());
        for document in documents {
            let index = folder.sources.len();
            let source = Source {
                file: document.name.clone(),
                title: document.title.clone(),
                source: document.source.clone(),
                date: document.date.clone(),
                changed: true,
                ..Source::default()
            };
            if let Some(first) = exact.original(&document.text, document.title.as_deref(), index) {
                folder.copies += 1;
                folder.sources[first].copies.push(document.name.clone());
                continue;
            }
            let pieces = cut(&document.text, &Marks::default());
            folder.sources.push(source);
            folder.languages.push(Language::default());
            let name = document.name.clone();
            folder.take(&document.text, &pieces, |range| {
                let characters = |byte: usize| document.text[..byte].chars().count() as u64;
                let line = 1 + document.text[..range.start].matches('\n').count() as u64;
                let characters = characters(range.start)..characters(range.end);
                Origin { file: name.clone(), id: None, line: Some(line), page: None, characters }
            });
            folder.note_unread(pieces.len());
        }
        folder.finish();
        folder.check(&[])?;
        Ok(folder)
    }

    /// "20 documents, 214 sentences: at most 40 calls to read them and 5136 to label 856 pairs", or why nothing is compared.
    #[must_use]
    pub fn estimate(&self, options: &Options) -> String {
        let labels = (self.sentences() * options.pairs).min(self.documents() * options.of_document);
        let calls = || {
            let (calls, pairs) = (plural(self.passages, "call", "calls"), plural(labels, "pair", "pairs"));
            format!("at most {calls} to read them and {} to label {pairs}", labels * CALLS)
        };
        let work = self.uncompared().map_or_else(calls, str::to_owned);
        let documents = plural(self.documents(), "document", "documents");
        format!("{documents}, {}: {work}", plural(self.sentences(), "sentence", "sentences"))
    }

    /// Why no two documents are compared; `None` where some are.
    pub(super) fn uncompared(&self) -> Option<&'static str> {
        let read = || self.sources.iter().zip(&self.languages).filter(|(_, language)| language.is_read());
        match read().count() {
            0 | 1 if self.sources.len() == 1 => Some("nothing is compared: all files are one document"),
            0 | 1 => Some("nothing is compared: fewer than two documents have statements"),
            _ if self.sources.iter().all(|source| !source.changed) => Some("nothing is compared: no document changed"),
            _ if read().all(|(source, _)| !source.changed) => {
                Some("nothing is compared: no document with statements changed")
            }
            _ => None,
        }
    }

    /// Number of documents.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.sources.len()
    }

    /// Number of sentences.
    #[must_use]
    pub fn sentences(&self) -> usize {
        self.sentences.len()
    }

    /// Number of passages, each of which is one call of the reader.
    #[must_use]
    pub fn passages(&self) -> usize {
        self.passages
    }

    /// The sentences of each passage.
    pub(super) fn by_passage(&self) -> Vec<&[Sentence]> {
        self.sentences.chunk_by(|a, b| a.passage == b.passage).collect()
    }

    /// Adds a document of these pages, unless it is a copy.
    fn add(&mut self, pages: &[Document], changed: Option<&BTreeSet<PathBuf>>, exact: &mut Exact) {
        let Some(first) = pages.first() else { return };
        let file = match first.record_line() {
            Some(line) => format!("{}:{line}", first.file),
            None => first.file.clone(),
        };
        let is_changed = changed.is_none_or(|changed| is_among(changed, &first.file));
        // All pages: different files often begin with the same one.
        let text = pages.iter().map(|page| page.text.as_str()).collect::<Vec<_>>().join("\n\n");
        if let Some(original) = exact.original(&text, first.title.as_deref(), self.sources.len()) {
            self.copies += 1;
            self.sources[original].copies.push(file);
            self.sources[original].changed |= is_changed;
            return;
        }
        self.sources.push(Source {
            file,
            title: first.title.clone().filter(|_| !first.by_heading()),
            source: first.source.clone().filter(|_| !first.by_folder()),
            date: first.date.clone(),
            changed: is_changed,
            ..Source::default()
        });
        self.languages.push(Language::default());
        let mut all = 0;
        for page in pages {
            let pieces = cut(&page.text, page.marks());
            all += pieces.len();
            let ranges: Vec<_> = pieces.iter().map(|piece| piece.range.clone()).collect();
            let mut origins = page.origins(&ranges).into_iter();
            self.take(&page.text, &pieces, |_| origins.next().unwrap_or_else(|| unknown(&page.file)));
        }
        self.note_unread(all);
    }

    /// Adds the sentences of the last document, divided into passages.
    fn take(&mut self, text: &str, pieces: &[Cut], mut origin: impl FnMut(&std::ops::Range<usize>) -> Origin) {
        let source = self.sources.len() - 1;
        if let Some(language) = self.languages.last_mut() {
            language.add_page(text);
        }
        // The pages of a file are added one by one; the limit is that of the whole document.
        let before = self.sentences.iter().rev().take_while(|sentence| sentence.source == source).count();
        let room = MOST_SENTENCES.saturating_sub(before);
        let texts: Vec<String> = pieces.iter().map(|piece| one_line(&text[piece.range.clone()])).collect();
        let (mut words, mut together, mut last) = (PASSAGE, TOGETHER, None);
        for (index, piece) in pieces.iter().enumerate().take(room) {
            let origin = origin(&piece.range);
            let length = texts[index].split_whitespace().count();
            // A passage has one heading, since the reader's prompt shows one.
            if words + length > PASSAGE || together == TOGETHER || last != Some(&piece.heading) {
                self.passages += 1;
                (words, together) = (0, 0);
            }
            words += length;
            together += 1;
            last = Some(&piece.heading);
            let beside = |other: Option<usize>| {
                let other =
                    other.filter(|&other| pieces.get(other).is_some_and(|other| other.heading == piece.heading));
                other.map(|other| shortened(&texts[other])).unwrap_or_default()
            };
            self.sentences.push(Sentence {
                source,
                passage: self.passages - 1,
                text: texts[index].clone(),
                origin,
                heading: piece.heading.clone(),
                before: beside(index.checked_sub(1)),
                after: beside(Some(index + 1)),
            });
        }
    }

    /// Adds the note on the last document, of `all` sentences, where they are too many.
    fn note_unread(&mut self, all: usize) {
        if let Some(Source { file, .. }) = self.sources.last().filter(|_| all > MOST_SENTENCES) {
            self.notes.push(format!("note {file}: its first {MOST_SENTENCES} of {all} sentences are read"));
        }
    }

    /// Checks that there are statements, and two documents or more; errors name them by `paths`.
    ///
    /// # Errors
    /// Documents without statements; a single document.
    pub fn check(&self, paths: &[String]) -> Result<()> {
        let named = if paths.is_empty() { "documents".to_owned() } else { paths.join(", ") };
        if self.sentences.is_empty() {
            let is_unspaced = self.languages.iter().any(Language::is_unspaced);
            let hint = if is_unspaced { NOT_SUPPORTED } else { NO_STATEMENT };
            return Err(MootError::Usage(format!("{named}: expected documents with statements, found none: {hint}")));
        }
        // Copies of one document are a result, that nothing contradicts, and not a wrong input.
        if self.sources.len() == 1 && self.copies == 0 {
            return Err(MootError::Usage(format!(
                "{named}: one document has no other to contradict: expected at least 2 documents"
            )));
        }
        Ok(())
    }

    /// Adds the notes on copies, and on documents that are not read or in another language.
    fn finish(&mut self) {
        if self.copies > 0 {
            let copied = self.sources.iter().filter(|source| !source.copies.is_empty());
            let named = copied.map(|source| format!("{} ({})", source.file, source.copies.len()));
            let named: Vec<String> = named.take(3).collect();
            let copies = plural(self.copies, "file is a copy", "files are copies");
            self.notes.push(format!("{copies} of another and read once: of {}", named.join(", ")));
        }
        for sentence in &self.sentences {
            self.languages[sentence.source].add_sentence(&sentence.text);
        }
        let noted =
            self.sources.iter().zip(&self.languages).filter_map(|(source, language)| {
                Some(Noted { path: PathBuf::from(&source.file), note: language.note()? })
            });
        let lines = note_lines(&noted.collect::<Vec<_>>());
        self.notes.extend(lines.into_iter().map(|line| format!("note {line}")));
    }
}

fn is_among(changed: &BTreeSet<PathBuf>, file: &str) -> bool {
    let path = Path::new(file);
    // The changed files are canonical paths: a link or a relative path would not be found among them.
    let full = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    changed.contains(&full)
}

fn unknown(file: &str) -> Origin {
    Origin { file: file.to_owned(), id: None, line: None, page: None, characters: 0..0 }
}

fn one_line(text: &str) -> String {
    // As passages are shown: in Form C and without soft hyphens, so that words compare.
    let text = crate::unicode::into_nfc(text.replace('\u{ad}', ""));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning of a neighbouring sentence.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(BESIDE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
