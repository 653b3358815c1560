//! A document of a corpus, before it is split into passages.

use super::entry::{Entry, file_name};
use super::marks::Marks;
use super::position::Cursor;
use super::source;
use crate::question::{Origin, Passage};
use crate::retrieval::chunk::Chunking;
use crate::unicode::into_nfc;
use std::num::NonZeroU32;
use std::ops::Range;

/// One document of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The text to split into passages, in the characters of its file: positions count them.
    pub text: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its source: a field, the host of its address, or the folder.
    pub source: Option<String>,
    /// As given.
    pub date: Option<String>,
    /// Its address.
    pub url: Option<String>,
    /// Path of its file, as the corpus was named.
    pub file: String,
    /// Its id in a file of several documents.
    pub id: Option<String>,
    /// Notes on how its file was read, one line each: what is missing from the text, and what was assumed.
    pub notes: Vec<String>,
    pub(super) position: Position,
    /// Parts of the text that its format marks.
    pub(super) marks: Marks,
    /// The source is the folder's name: the document names none itself.
    pub(in crate::retrieval) by_folder: bool,
    /// The title is the text's first heading: the document names none itself.
    pub(in crate::retrieval) by_heading: bool,
}

/// Position of a document's text in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Position {
    /// In a text file: characters and newlines before the text.
    File { characters: u64, newlines: u64 },
    /// In a field of a record: first line of the record, and characters of the field before the text.
    Record { line: u64, characters: u64 },
    /// In markup: the file's content, and the runs of text that it was assembled from.
    Markup { markup: String, runs: Vec<TextRun> },
    /// On a page, from 1.
    Page(u32),
    /// In the text as it was extracted.
    Extracted,
}

/// A run of text and the bytes of markup that it came from. Both are shorter than 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextRun {
    /// First byte in the text.
    text: u32,
    /// First byte in the markup.
    from: u32,
    /// Last byte in the markup, exclusive, of text that is not the markup's byte for byte (an entity): the whole range
    /// produced it.
    to: Option<NonZeroU32>,
}

impl TextRun {
    pub(super) fn new(text: usize, from: usize, to: Option<usize>) -> Self {
        let short = |byte: usize| u32::try_from(byte).unwrap_or(u32::MAX);
        Self { text: short(text), from: short(from), to: to.and_then(|to| NonZeroU32::new(short(to))) }
    }

    /// First byte in the text.
    pub(super) fn start(&self) -> usize {
        self.text as usize
    }

    /// Whether a run that follows needs no entry of its own: the distance between text and markup is the same.
    pub(super) fn covers(&self, next: &Self) -> bool {
        let same = self.to.is_none() && next.to.is_none();
        same && next.from.checked_sub(self.from) == next.text.checked_sub(self.text)
    }

    /// The same run, `bytes` earlier in the text.
    pub(super) fn moved(self, bytes: usize) -> Self {
        Self { text: self.text.saturating_sub(u32::try_from(bytes).unwrap_or(u32::MAX)), ..self }
    }

    /// The byte of the markup where the text at `byte` begins.
    fn begin(&self, byte: usize) -> usize {
        self.from as usize + if self.to.is_none() { byte.saturating_sub(self.start()) } else { 0 }
    }

    /// The byte of the markup where the text before `byte` ends.
    fn end(&self, byte: usize) -> usize {
        self.to.map_or_else(|| self.begin(byte), |to| to.get() as usize)
    }
}

/// Metadata of a document of any kind, as its reader found it; [`Document::new`] bounds it.
#[derive(Debug, Clone, Default)]
pub(in crate::retrieval) struct Fields {
    pub(in crate::retrieval) title: Option<String>,
    pub(in crate::retrieval) source: Option<String>,
    pub(in crate::retrieval) date: Option<String>,
    pub(in crate::retrieval) url: Option<String>,
    pub(in crate::retrieval) id: Option<String>,
}

impl Document {
    pub(super) fn new(entry: &Entry, fields: Fields, text: String, position: Position) -> Self {
        let Fields { title, source, date, url, id } = fields.bounded();
        let source = source.or_else(|| source::host(url.as_deref()?));
        let by_folder = source.is_none() && entry.folder.is_some();
        let source = source.or_else(|| entry.folder.clone());
        Self {
            text,
            // No position counts the characters of these two.
            title: title.map(into_nfc),
            source: source.map(into_nfc),
            date,
            url,
            file: file_name(&entry.path),
            id,
            notes: Vec::new(),
            position,
            marks: Marks::default(),
            by_folder,
            by_heading: false,
        }
    }

    /// The line of its record in a file of several.
    pub(crate) fn record_line(&self) -> Option<u64> {
        match self.position {
            Position::Record { line, .. } => Some(line),
            _ => None,
        }
    }

    /// Whether its source is its folder's name, since it names none itself.
    pub(crate) fn by_folder(&self) -> bool {
        self.by_folder
    }

    /// Whether its title is the text's first heading, since it names none itself.
    pub(crate) fn by_heading(&self) -> bool {
        self.by_heading
    }

    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// The positions of `ranges` of the text, which are in order.
    pub(crate) fn origins(&self, ranges: &[Range<usize>]) -> Vec<Origin> {
        let mut locator = Locator::new(self);
        ranges.iter().map(|range| self.origin(range, &mut locator)).collect()
    }

    /// Its passages, split by `chunking`: texts in Normalization Form C without soft hyphens, positions in the stored text
    /// in the file. A passage that begins in a later row of a table begins with the table's first row.
    #[must_use]
    pub fn passages(&self, chunking: &Chunking) -> Vec<Passage> {
        let is_shown =
            |range: &Range<usize>| self.text[range.clone()].contains(|c: char| c != '\u{ad}' && !c.is_whitespace());
        let ranges = chunking.cut(&self.text);
        let mut locator = Locator::new(self);
        ranges.into_iter().filter(is_shown).map(|range| self.passage(range, &mut locator)).collect()
    }

    fn passage(&self, range: Range<usize>, locator: &mut Locator<'_>) -> Passage {
        let origin = self.origin(&range, locator);
        let own = self.text[range.clone()].replace('\u{ad}', "");
        let text = match self.marks.above(&self.text, range.start) {
            Some(head) => format!("{head}\n\n{own}"),
            None => own,
        };
        Passage {
            text: into_nfc(text),
            title: self.title.clone(),
            source: self.source.clone(),
            date: self.date.clone(),
            url: self.url.clone(),
            notes: self.notes.clone(),
            origin,
        }
    }

    fn origin(&self, range: &Range<usize>, locator: &mut Locator<'_>) -> Origin {
        let (characters, line) = locator.locate(range);
        let page = if let Position::Page(page) = self.position { Some(page) } else { None };
        Origin { file: self.file.clone(), id: self.id.clone(), line, page, characters }
    }
}

/// Maps ranges of a document's text to positions in its file.
struct Locator<'a> {
    position: &'a Position,
    cursor: Cursor<'a>,
}

impl<'a> Locator<'a> {
    fn new(document: &'a Document) -> Self {
        let text = match &document.position {
            Position::Markup { markup, .. } => markup,
            _ => &document.text,
        };
        Self { position: &document.position, cursor: Cursor::new(text) }
    }

    /// Characters and line of `range`, as in [`Origin`].
    fn locate(&mut self, range: &Range<usize>) -> (Range<u64>, Option<u64>) {
        let range = match self.position {
            Position::Markup { runs, .. } => source_of(runs, range),
            _ => range.clone(),
        };
        let (start, newlines) = self.cursor.at(range.start);
        let (end, _) = self.cursor.at(range.end);
        match *self.position {
            Position::File { characters, newlines: before } => {
                (characters + start..characters + end, Some(before + newlines + 1))
            }
            Position::Record { line, characters } => (characters + start..characters + end, Some(line)),
            Position::Markup { .. } => (start..end, Some(newlines + 1)),
            Position::Page(_) | Position::Extracted => (start..end, None),
        }
    }
}

/// The bytes of markup that `range` of the text came from.
fn source_of(runs: &[TextRun], range: &Range<usize>) -> Range<usize> {
    let run = |byte: usize| &runs[runs.partition_point(|run| run.start() <= byte).saturating_sub(1)];
    let start = run(range.start).begin(range.start);
    let end = run(range.end - 1).end(range.end);
    start..end.max(start)
}
