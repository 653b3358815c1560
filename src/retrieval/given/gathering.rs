//! Gathers the documents of a corpus's entries one by one: filter, copies, limit, names.

use super::reading::{Given, WholeLimit};
use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::jsonl::{Lines, Object};
use crate::question::{Document, Gold, Label, Origin, Passage};
use crate::retrieval::Filter;
use crate::retrieval::corpus::{self, Corpus, Documents, Entry, Kind, Noted, Skipped, note_lines, skipped_lines};
use crate::retrieval::fold::Exact;
use crate::unicode;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Takes entries one after the other, and keeps the documents that the filter admits.
pub(super) struct Gathering<'a> {
    given: Given,
    filter: &'a Filter,
    limit: Option<WholeLimit>,
    /// Files of the corpus.
    files: usize,
    /// Files and records that were skipped.
    skipped: Vec<Skipped>,
    /// Notes on files that were read.
    notes: Vec<Noted>,
    /// Why the limit is exceeded.
    pub(super) excess: Option<String>,
    /// The documents' texts, where exact copies are folded.
    taken: Option<Exact>,
    /// The origin of each document: "folder/a.txt" or "b.jsonl:3".
    origins: Vec<String>,
    /// For each document, whether its source is its folder's name.
    by_folder: Vec<bool>,
    /// The sources of all documents, those left out included.
    sources: BTreeSet<String>,
    /// Those of them that are names of folders.
    folders: BTreeSet<String>,
    /// A dataset line was read.
    asked: bool,
    /// Ends the reading.
    cancel: Cancel,
}

impl<'a> Gathering<'a> {
    /// Of a corpus's entries, which are added one by one; with `fold`, exact copies are not documents of their own.
    pub(super) fn new(corpus: &Corpus, filter: &'a Filter, limit: Option<WholeLimit>, fold: bool) -> Self {
        Self {
            given: Given::default(),
            filter,
            limit,
            files: corpus.files(),
            skipped: corpus.skipped().to_vec(),
            notes: Vec::new(),
            excess: None,
            taken: fold.then(Exact::default),
            origins: Vec::new(),
            by_folder: Vec::new(),
            sources: BTreeSet::new(),
            folders: BTreeSet::new(),
            asked: false,
            cancel: corpus.cancel().clone(),
        }
    }

    pub(super) fn add(&mut self, entry: &Entry) -> Result<()> {
        if let Some((number, line)) = dataset_line(entry)? {
            if entry.found {
                let why = format!("questions with documents; named itself, as FILE:{number}, it gives one");
                self.skipped.push(Skipped { path: entry.path.clone(), why, unread: false });
                return Ok(());
            }
            return self.add_dataset(entry, number, &line);
        }
        let mut documents = Documents::new(vec![entry.clone()], false, &self.cancel);
        let mut whole: Option<corpus::Document> = None;
        while let Some(document) = documents.advance()? {
            match &mut whole {
                Some(first) => {
                    first.text.push_str("\n\n");
                    first.text.push_str(&document.text);
                }
                None if entry.is_divided() => whole = Some(document),
                None => self.add_document(entry, document),
            }
            if self.excess.is_some() {
                return Ok(());
            }
        }
        if let Some(document) = whole {
            self.add_document(entry, document);
        }
        self.skipped.extend(documents.skipped());
        self.notes.extend(documents.notes());
        Ok(())
    }

    fn add_document(&mut self, entry: &Entry, document: corpus::Document) {
        let line = document.record_line();
        let sheet =
            document.id.as_ref().filter(|_| entry.is_workbook()).map(|id| format!(", {id}")).unwrap_or_default();
        let origin = match line {
            Some(line) => format!("{}{sheet}:{line}", document.file),
            None => document.file.clone(),
        };
        let characters = 0..document.text.chars().count() as u64;
        let position = Origin { file: document.file.clone(), id: document.id.clone(), line, page: None, characters };
        let (by_folder, by_heading) = (document.by_folder, document.by_heading);
        let corpus::Document { text, title, source, date, url, notes, .. } = document;
        // The text shows its heading; a file is known by its name.
        let title = title.filter(|_| !by_heading);
        let name = title.clone().unwrap_or_else(|| named(&entry.path, line));
        let document = Document { name, text, title, source, date, url, notes, ..Document::default() }.composed();
        if self.admits(by_folder, &document) && !self.fold(entry, position, &document) {
            self.take(origin, by_folder, document);
        }
    }

    /// Adds an exact copy of a document to its copies; whether it was one.
    fn fold(&mut self, entry: &Entry, position: Origin, document: &Document) -> bool {
        let Some(taken) = &mut self.taken else { return false };
        let Some(at) = taken.original(&document.text, document.title.as_deref(), self.given.documents.len()) else {
            return false;
        };
        let Document { text, title, source, date, url, notes, .. } = document.clone();
        let line = position.line.map(|line| format!("line {line} is ")).unwrap_or_default();
        let note = format!("{line}a copy of {}; the two count as one document", self.origins[at]);
        self.notes.push(Noted { path: entry.path.clone(), note });
        self.given.documents[at].copies.push(Passage { text, title, source, date, url, notes, origin: position });
        true
    }

    /// Adds the question of a line, and looks for a second one.
    fn add_dataset(&mut self, entry: &Entry, number: usize, line: &str) -> Result<()> {
        let path = &entry.path;
        self.add_dataset_line(path, number, &Object::parse(path, number, line)?)?;
        if entry.line.is_some() {
            return Ok(());
        }
        for numbered in Lines::open(path)? {
            let (other, text) = numbered?;
            if other > number {
                self.add_dataset_line(path, other, &Object::parse(path, other, &text)?)?;
            }
        }
        Ok(())
    }

    fn add_dataset_line(&mut self, path: &Path, number: usize, object: &Object) -> Result<()> {
        if !object.has("documents") {
            let expected = "a question with `documents` on each line, as on the first";
            return Err(object.complaint(expected, format!("the fields {}", object.names())));
        }
        if std::mem::replace(&mut self.asked, true) {
            let found = format!("a second question (take one as {}:{number}, or `moot run` for all)", path.display());
            return Err(object.complaint("the documents of one question", found));
        }
        self.given.question = object.optional_string("question")?;
        if object.has("gold_answers") {
            let wrong = if object.has("wrong_answers") { object.strings("wrong_answers")? } else { Vec::new() };
            self.given.gold = Some(Gold::all_of(object.strings("gold_answers")?, wrong));
        }
        let documents = object.objects_or_texts("documents")?;
        if documents.is_empty() {
            return Err(object.complaint("at least one document in `documents`", "an empty list".into()));
        }
        for (i, object) in documents.iter().enumerate() {
            let mut document = corpus::bounded(json_document(object)?.composed());
            if object.has("type") {
                let answer = object.optional_string("answer")?.unwrap_or_default();
                document.label = Some(Label { kind: object.string("type")?, answer });
            }
            let origin = format!("{}:{number}, document {}", path.display(), i + 1);
            if document.name.is_empty() {
                document.name = format!("document {}", i + 1);
            }
            if self.admits(false, &document) {
                self.take(origin, false, document);
            }
        }
        Ok(())
    }

    /// Whether the filter admits a document; one that is left out is counted.
    fn admits(&mut self, by_folder: bool, document: &Document) -> bool {
        let filter = self.filter;
        self.sources.extend(document.source.clone());
        if by_folder {
            self.folders.extend(document.source.clone());
        }
        let left_out = &mut self.given.left_out;
        let count = match () {
            () if !filter.admits_source(document.source.as_deref()) => &mut left_out.source,
            () if filter.is_undated(document.date.as_deref()) => &mut left_out.undated,
            () if !filter.admits_date(document.date.as_deref()) => &mut left_out.date,
            () => return true,
        };
        *count += 1;
        false
    }

    fn take(&mut self, origin: String, by_folder: bool, document: Document) {
        self.origins.push(origin);
        self.by_folder.push(by_folder);
        self.given.documents.push(document);
        self.measure();
    }

    /// Compares the last document with the limit.
    fn measure(&mut self) {
        let Some(limit) = self.limit.filter(|_| !self.asked) else { return };
        let Some(last) = self.given.documents.last() else { return };
        if self.given.documents.len() > limit.documents {
            // The others are not read, and a file may hold several.
            let files = if self.files == 1 { "1 file holds" } else { &format!("{} files hold", self.files) };
            self.excess = Some(format!("{files} more than {} documents", limit.documents));
        } else if !limit.has_words_for(last) {
            self.excess = Some(format!("{} has more than {} words", last.name, limit.words));
        }
    }

    pub(super) fn finish(mut self) -> Result<Given> {
        self.given.skipped = skipped_lines(&self.skipped);
        self.given.notes = note_lines(&self.notes);
        for wanted in &self.filter.sources {
            if !self.sources.contains(&*unicode::nfc(wanted)) {
                let known: Vec<&str> = self.sources.iter().map(String::as_str).collect();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                return Err(MootError::UnknownName { kind: "source", name: wanted.clone(), known });
            }
        }
        if self.given.documents.is_empty() {
            let all = self.given.left_out.count();
            return Err(MootError::Usage(if all > 0 {
                self.given.left_out.describe(all)
            } else {
                let first = self.given.skipped.first().map(|skipped| format!(" ({skipped})")).unwrap_or_default();
                format!("no text in the given documents{first}")
            }));
        }
        self.forget_only_folder();
        let mut uses: HashMap<String, usize> = HashMap::new();
        for document in &self.given.documents {
            *uses.entry(document.name.clone()).or_default() += 1;
        }
        for (document, origin) in self.given.documents.iter_mut().zip(&self.origins) {
            if uses[&document.name] > 1 {
                document.name.clone_from(origin);
            }
        }
        Ok(self.given)
    }

    /// A folder from which all documents without a source of their own come does not distinguish them, so it is not a
    /// source.
    fn forget_only_folder(&mut self) {
        if self.folders.len() == 1 {
            let documents = self.given.documents.iter_mut().zip(&self.by_folder);
            documents.filter(|(_, by_folder)| **by_folder).for_each(|(document, _)| document.source = None);
        }
    }
}

/// The number and text of the first line to be read of a JSONL file, if it is a question with `documents`.
fn dataset_line(entry: &Entry) -> Result<Option<(usize, String)>> {
    if entry.kind != Kind::Jsonl {
        return Ok(None);
    }
    for numbered in Lines::open(&entry.path)? {
        // The reader of records reports faults.
        let Ok((number, text)) = numbered else { return Ok(None) };
        if entry.line.is_none_or(|wanted| wanted == number) {
            let asked = Object::parse(&entry.path, number, &text).is_ok_and(|object| object.has("documents"));
            return Ok(asked.then_some((number, text)));
        }
    }
    Ok(None)
}

fn named(path: &Path, line: Option<u64>) -> String {
    let file = path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
    line.map_or(file.clone(), |line| format!("{file}:{line}"))
}

fn json_document(object: &Object) -> Result<Document> {
    let fields = corpus::Fields {
        title: object.optional_string("title")?,
        source: object.optional_string("source")?,
        date: object.optional_date("date")?,
        url: object.optional_string("url")?,
        id: None,
    };
    let corpus::Fields { title, source, date, url, .. } = fields.bounded();
    let (name, text) = (title.clone().unwrap_or_default(), object.full_string("text")?);
    Ok(Document { name, text, title, source, date, url, ..Document::default() })
}
