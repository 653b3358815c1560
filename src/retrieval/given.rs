//! Documents given by hand: the files of a [`Corpus`], each one document, or the documents of a dataset's line.

use crate::error::{MootError, Result};
use crate::jsonl::{Lines, Object};
use crate::question::{Document, Gold, Label, Origin, Passage};
use crate::retrieval::Filter;
use crate::retrieval::chunk;
use crate::retrieval::corpus::{self, Corpus, Documents, Entry, Kind, Noted, Skipped, told_notes, told_skipped};
use crate::retrieval::fold::Exact;
use crate::retrieval::text::{self, BOM, FrontMatter, input};
use crate::unicode;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// The documents read, and the question that came with them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Given {
    /// In the order given; those of a folder by name.
    pub documents: Vec<Document>,
    /// The question of the dataset line, if one was given.
    pub question: Option<String>,
    /// The gold answers of the dataset line, if it has some.
    pub gold: Option<Gold>,
    /// Files that were skipped, with the reason, to be shown to the user: "notes.png: not .txt, .md, ..."; of many with one
    /// reason a few and their number ([`told_skipped`]).
    pub skipped: Vec<String>,
    /// Notes on how files were read, to be shown to the user: "a.pdf: page 2 of 3 is a picture without text"; those of each
    /// document stand in it too.
    pub notes: Vec<String>,
    /// Documents that the filter left out.
    pub left_out: LeftOut,
}

/// Documents that a filter left out, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Of other sources.
    pub source: usize,
    /// Before or after the dates wanted.
    pub date: usize,
    /// Without a date that can be compared, though dates were wanted.
    pub undated: usize,
}

impl LeftOut {
    /// Documents left out in all.
    #[must_use]
    pub fn count(&self) -> usize {
        self.source + self.date + self.undated
    }

    /// One line: "3 of 10 documents are left out: 1 of another source, 2 without a date as 2018-05-31".
    #[must_use]
    pub fn describe(&self, all: usize) -> String {
        let reasons = [
            (self.source, "of other sources"),
            (self.date, "of other dates"),
            (self.undated, "without a date as 2018-05-31"),
        ];
        let told = reasons.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}"));
        format!("{} of {all} documents are left out: {}", self.count(), told.collect::<Vec<_>>().join(", "))
    }
}

/// Text that is given to agents as it is; more is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Documents, which are agents.
    pub documents: usize,
    /// Words of one document.
    pub words: usize,
}

impl Room {
    /// As many documents as a debate shows on some screens, and words that fit a context of 8,192 tokens beside the rounds.
    pub const DEFAULT: Self = Self { documents: 40, words: 3000 };
}

/// Documents that were read for agents.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// All of them.
    Whole(Given),
    /// There are more than the room has; one line: "53 files hold more than 40 documents".
    TooMuch(String),
}

/// Reads the documents that `paths` name, as [`Corpus::open`] takes them.
///
/// A file is one document; a record of a table or of JSON lines is one. A JSONL line may be a question with its
/// `documents`, as in RAMDocs. A document is named by its title, else by its file (and line). Documents that would have
/// the same name are named by their path.
///
/// # Errors
/// As [`read`].
pub fn load(paths: &[String]) -> Result<Given> {
    match read(&Corpus::open(paths)?, &Filter::NONE, None, true)? {
        Reading::Whole(given) => Ok(given),
        Reading::TooMuch(why) => Err(MootError::Usage(format!("{why} (bug)"))),
    }
}

/// Reads the documents of `corpus` that `filter` admits, up to the size of `room`. With `fold`, an exact copy of a
/// document (white space and case aside) becomes one of its copies, with a note: copies do not count twice. A dataset's
/// line brings all of its documents whatever the room.
///
/// # Errors
/// [`MootError::Input`] or [`MootError::Io`] for the first file that was named and is binary, not UTF-8, empty or
/// malformed; [`MootError::UnknownName`] for a source that no document has; [`MootError::Usage`] where no text is found,
/// and where the filter leaves no document.
pub fn read(corpus: &Corpus, filter: &Filter, room: Option<Room>, fold: bool) -> Result<Reading> {
    let (files, skipped) = (corpus.files(), corpus.skipped().to_vec());
    let taken = fold.then(Exact::default);
    let mut gathering = Gathering { room, files, skipped, taken, ..Gathering::new(filter) };
    for entry in corpus.entries() {
        gathering.add(entry)?;
        if let Some(why) = gathering.excess.take() {
            return Ok(Reading::TooMuch(why));
        }
    }
    gathering.finish().map(Reading::Whole)
}

/// The text of one file, without the front matter of a `.md` file. A file of an unknown kind is read as text.
///
/// # Errors
/// [`MootError::Io`] for a missing file, [`MootError::Input`] for one that cannot be read, is empty, or holds records.
pub fn text(path: &Path) -> Result<String> {
    match Kind::of(path) {
        Some(kind) if kind.holds_records() => {
            let found = path.extension().map(|ending| format!("a .{} file", ending.to_string_lossy()));
            Err(input(path, None, "a text", found.unwrap_or_default()))
        }
        Some(kind) if !matches!(kind, Kind::Text | Kind::Markdown) => {
            let typed = path.display().to_string();
            let given = load(&[typed])?;
            Ok(given.documents.into_iter().map(|document| document.text).collect::<Vec<_>>().join("\n\n"))
        }
        kind => {
            let file = text::read(path, text::undeclared)?.text;
            let body = if kind == Some(Kind::Markdown) { FrontMatter::split(&file).1 } else { 0 };
            let text = file[body..].strip_prefix(BOM).unwrap_or(&file[body..]);
            if text.trim().is_empty() {
                return Err(input(path, None, "text", "an empty document"));
            }
            Ok(unicode::nfc(text).into_owned())
        }
    }
}

struct Gathering<'a> {
    given: Given,
    filter: &'a Filter,
    room: Option<Room>,
    /// Files of the corpus.
    files: usize,
    /// Files and records that were skipped.
    skipped: Vec<Skipped>,
    /// Notes on files that were read.
    notes: Vec<Noted>,
    /// Why the room is too small.
    excess: Option<String>,
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
}

impl<'a> Gathering<'a> {
    fn new(filter: &'a Filter) -> Self {
        Self {
            given: Given::default(),
            filter,
            room: None,
            files: 0,
            skipped: Vec::new(),
            notes: Vec::new(),
            taken: None,
            excess: None,
            origins: Vec::new(),
            by_folder: Vec::new(),
            sources: BTreeSet::new(),
            folders: BTreeSet::new(),
            asked: false,
        }
    }

    fn add(&mut self, entry: &Entry) -> Result<()> {
        if let Some((number, line)) = dataset_line(entry)? {
            if entry.found {
                let why = format!("questions with documents; named itself, as FILE:{number}, it gives one");
                self.skipped.push(Skipped { path: entry.path.clone(), why, unread: false });
                return Ok(());
            }
            return self.add_dataset(entry, number, &line);
        }
        let mut documents = Documents::new(vec![entry.clone()], false);
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

    /// Compares the last document with the room.
    fn measure(&mut self) {
        let Some(room) = self.room.filter(|_| !self.asked) else { return };
        let Some(last) = self.given.documents.last() else { return };
        if self.given.documents.len() > room.documents {
            // The others are not read, and a file may hold several.
            let files = if self.files == 1 { "1 file holds" } else { &format!("{} files hold", self.files) };
            self.excess = Some(format!("{files} more than {} documents", room.documents));
        } else if chunk::words(&last.text).nth(room.words).is_some() {
            self.excess = Some(format!("{} has more than {} words", last.name, room.words));
        }
    }

    fn finish(mut self) -> Result<Given> {
        self.given.skipped = told_skipped(&self.skipped);
        self.given.notes = told_notes(&self.notes);
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

    /// A folder from which all documents without a source of their own come does not distinguish them, so it is no
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
