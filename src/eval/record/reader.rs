//! Reading a record back: the header, then one question after the other, each with its calls.

use super::header;
use super::lines::{self, CallLine, Chain, QuestionEnd};
use super::shape::{self, Behind, Fault};
use super::{DatasetIdentity, Header, INLINE};
use crate::error::{MootError, Result};
use crate::files;
use crate::jsonl::{MAX_LINE, json_fault, shortened};
use crate::transcript::{CallRecord, QuestionRecord};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A call as it was journaled.
#[derive(Debug, Clone, PartialEq)]
pub struct Journaled {
    /// The call with its reply.
    pub call: CallRecord,
    /// Seconds of its question's time that had passed when it was recorded.
    pub elapsed: f64,
}

/// Calls by question id, in the order recorded: those of questions that are not finished, or that ended in an error.
pub(crate) type Journal = HashMap<String, Vec<Journaled>>;

/// An open record; iterating gives its questions. One that was recorded with an error may come again later.
///
/// A last line that a kill cut short is left out and reported by [`Record::torn`]; any other line that is not what it should be
/// is an error. [`Reader::altered`] lists the lines that can be read and whose hash is wrong.
pub struct Reader<R = BufReader<File>> {
    lines: R,
    path: PathBuf,
    line: usize,
    /// Bytes of all lines read so far, the torn one left out.
    whole: u64,
    torn: bool,
    /// Whether the last line read ended in a line end.
    ended: bool,
    /// Whether the last line read is that of the last question of a run.
    at_end: bool,
    /// By question id: the line it was recorded on, and whether with an error, so that it may come again.
    seen: HashMap<String, (usize, bool)>,
    header: Header,
    chain: Chain,
    altered: Vec<usize>,
    journal: Journal,
}

impl Reader {
    /// Opens the record at `path` and reads its header.
    ///
    /// # Errors
    /// [`MootError::Io`] where it cannot be read; [`MootError::Input`] for a file that is not a record, or one of a
    /// newer version, for anything but a regular file, and for a line of more than [`MAX_LINE`] bytes.
    pub fn open(path: &Path) -> Result<Self> {
        Self::new(BufReader::new(files::open(path)?), path)
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads the header from `lines`; `path` is for what errors say.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn new(mut lines: R, path: &Path) -> Result<Self> {
        let bytes = raw_line(&mut lines, path, 1)?;
        let header = header::parse(&bytes, path)?;
        let mut reader = Self {
            lines,
            path: path.into(),
            line: 1,
            whole: bytes.len() as u64,
            torn: false,
            ended: bytes.ends_with(b"\n"),
            at_end: false,
            seen: HashMap::new(),
            header,
            chain: Chain::default(),
            altered: Vec::new(),
            journal: Journal::new(),
        };
        reader.follow(&bytes);
        Ok(reader)
    }

    /// The header shared by the questions.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes up to the end of the last whole line read.
    #[must_use]
    pub fn whole(&self) -> u64 {
        self.whole
    }

    /// Whether the last whole line has its line end; a whole line without one was killed one byte early.
    #[must_use]
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// The lines read so far that are not as they were written, or whose predecessor is missing. Always empty for versions 1
    /// and 2, which have no hashes.
    #[must_use]
    pub fn altered(&self) -> &[usize] {
        &self.altered
    }

    /// The hash of the last whole line.
    #[must_use]
    pub(crate) fn hash_chain(&self) -> &Chain {
        &self.chain
    }

    /// Calls read so far whose question is not finished, or ended in an error.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// As [`Reader::journal`], leaving nothing behind.
    #[must_use]
    pub(crate) fn into_journal(self) -> Journal {
        self.journal
    }

    fn hashed(&self) -> bool {
        self.header.moot_record > INLINE
    }

    fn follow(&mut self, bytes: &[u8]) {
        if self.hashed() && !self.chain.follow(bytes) {
            self.altered.push(self.line);
        }
    }

    fn read(&mut self) -> Result<Option<QuestionRecord>> {
        loop {
            let bytes = raw_line(&mut self.lines, &self.path, self.line + 1)?;
            if bytes.is_empty() {
                return Ok(None);
            }
            self.line += 1;
            self.at_end = false;
            let Some(line) = self.parse(&bytes)? else {
                self.torn = true;
                return Ok(None);
            };
            self.follow(&bytes);
            let record = match line {
                Line::Call(call) => {
                    self.take(*call)?;
                    None
                }
                Line::Question(record, end) => Some(self.whole_question(*record, end)?),
            };
            self.whole += bytes.len() as u64;
            self.ended = bytes.ends_with(b"\n");
            if record.is_some() {
                return Ok(record);
            }
        }
    }

    /// A line behind the header; `None` where it was cut short.
    fn parse(&self, bytes: &[u8]) -> Result<Option<Line>> {
        let (text, cut) = (bytes.trim_ascii_end(), !bytes.ends_with(b"\n"));
        let expected = "a question's record";
        match shape::check(text, if self.hashed() { Behind::Times } else { Behind::NoHash }) {
            Ok(()) => {}
            Err(Fault::NoJson(_)) if cut => return Ok(None),
            Err(Fault::NoJson(found)) => return Err(self.complaint(expected, found)),
            Err(Fault::Wrong(expected, found)) => return Err(self.complaint(&expected, found)),
        }
        let parsed = if self.hashed() && text.starts_with(lines::CALL) {
            serde_json::from_slice(text).map(|call| Line::Call(Box::new(call)))
        } else {
            question(text)
        };
        match parsed {
            Ok(line) => Ok(Some(line)),
            Err(_) if cut => Ok(None),
            Err(e) => Err(self.complaint(expected, json_fault(&e))),
        }
    }

    /// Takes a call's line to the journal of its question.
    fn take(&mut self, line: CallLine) -> Result<()> {
        if let Some(&(first, false)) = self.seen.get(&line.of) {
            let found = format!("a call of question {:?}, which was finished on line {first}", shortened(&line.of));
            return Err(self.complaint("a call of a question that is not finished", found));
        }
        let known = self.journal.get(&line.of).map_or(0, Vec::len);
        if line.entry != known {
            let found = format!("call {} of it", line.entry);
            return Err(self.complaint(&format!("call {known} of question {:?}", shortened(&line.of)), found));
        }
        let call = CallRecord { seconds: line.times.seconds, ..line.call };
        self.journal.entry(line.of).or_default().push(Journaled { call, elapsed: line.times.elapsed });
        Ok(())
    }

    /// Puts a question's calls and times into its record.
    fn whole_question(&mut self, mut record: QuestionRecord, end: QuestionEnd) -> Result<QuestionRecord> {
        let id = record.question.id.clone();
        let failed = record.error.is_some();
        self.at_end = end.last;
        if let Some((first, false)) = self.seen.insert(id.clone(), (self.line, failed)) {
            let found = format!("question {:?} again, as on line {first}", shortened(&id));
            return Err(self.complaint("each question once", found));
        }
        if self.hashed() {
            record.calls = self.calls_of(&id, &end.entries)?;
            lines::put_back(&mut record, end.times);
            // A question that failed may be asked again; its answered calls are then taken from the journal.
            if !failed {
                self.journal.remove(&id);
            }
        }
        for (number, call) in record.calls.iter_mut().enumerate() {
            call.number = number;
        }
        Ok(record)
    }

    /// The calls of a question's journal at the indices `entries`, each of which occurs once.
    fn calls_of(&self, id: &str, entries: &[usize]) -> Result<Vec<CallRecord>> {
        let journaled = self.journal.get(id).map_or(&[][..], Vec::as_slice);
        let mut taken = vec![false; journaled.len()];
        let mut calls = Vec::with_capacity(entries.len().min(journaled.len()));
        for &entry in entries {
            let Some(call) = journaled.get(entry) else {
                let last = entries.iter().max().copied().unwrap_or_default();
                let expected = format!("the lines of calls 0 to {last} of question {:?} before it", shortened(id));
                return Err(self.complaint(&expected, format!("{} of them", journaled.len())));
            };
            // Without this a line of 100 kB could hold a long call 50,000 times.
            if std::mem::replace(&mut taken[entry], true) {
                let expected = format!("each call of question {:?} once", shortened(id));
                return Err(self.complaint(&expected, format!("call {entry} again")));
            }
            calls.push(call.call.clone());
        }
        Ok(calls)
    }

    fn complaint(&self, expected: &str, found: String) -> MootError {
        MootError::Input { path: self.path.clone(), line: Some(self.line), expected: expected.into(), found }
    }
}

/// A line behind the header.
enum Line {
    Call(Box<CallLine>),
    Question(Box<QuestionRecord>, QuestionEnd),
}

fn question(bytes: &[u8]) -> serde_json::Result<Line> {
    Ok(Line::Question(serde_json::from_slice(bytes)?, serde_json::from_slice(bytes)?))
}

/// One line with its end; empty at the end of the file.
fn raw_line(lines: &mut impl BufRead, path: &Path, number: usize) -> Result<Vec<u8>> {
    let read = files::line(lines, MAX_LINE).map_err(|e| MootError::io(path, "read", e))?;
    read.ok_or_else(|| MootError::Input {
        path: path.into(),
        line: Some(number),
        expected: format!("a line of at most {MAX_LINE} bytes"),
        found: "more".into(),
    })
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<QuestionRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// A whole record in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Where it was read from.
    pub path: PathBuf,
    /// The first line.
    pub header: Header,
    /// In the order recorded, which is the order of completion.
    pub questions: Vec<QuestionRecord>,
    /// The last line was cut short and left out.
    pub torn: bool,
}

/// The contents of a record's file besides its questions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    /// Lines that are not as they were written; see [`Reader::altered`].
    pub altered: Vec<usize>,
    /// The last line's hash; empty for versions 1 and 2.
    pub chain: String,
    /// Lines, the header included and a torn one left out.
    pub lines: usize,
    /// The run that wrote the last line ended with it. Always false for versions 1 and 2, and for records written before
    /// lines had the mark.
    pub ended: bool,
    /// Calls of questions that are not finished, or that ended in an error.
    pub journal: Journal,
}

impl Ledger {
    /// The first altered line as an error; versions 1 and 2 have none.
    ///
    /// # Errors
    /// [`MootError::Input`] with the line.
    pub fn check(&self, path: &Path) -> Result<()> {
        let Some(&line) = self.altered.first() else { return Ok(()) };
        Err(altered(path, line))
    }
}

pub(super) fn altered(path: &Path, line: usize) -> MootError {
    MootError::Input {
        path: path.into(),
        line: Some(line),
        expected: "a line as it was written, with the hash of it and of the line before".into(),
        found: "another hash: this line was changed, or one before it is missing".into(),
    }
}

impl Record {
    /// Whether the run that wrote it ended: its last line is marked, or it has all questions of the dataset.
    #[must_use]
    pub fn is_whole(&self, ledger: &Ledger) -> bool {
        let all = |dataset: &DatasetIdentity| dataset.questions == self.questions.len();
        ledger.ended || self.header.dataset.as_ref().is_some_and(all)
    }

    /// Reads all of the record at `path`.
    ///
    /// # Errors
    /// As [`Reader::open`]; [`MootError::Input`] with the line for the first that is corrupt.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(Self::read_whole(path)?.0)
    }

    /// As [`Record::read`], with what the file has besides its questions.
    ///
    /// # Errors
    /// As [`Record::read`]. Altered lines are no error here: see [`Ledger::check`].
    pub fn read_whole(path: &Path) -> Result<(Self, Ledger)> {
        let mut reader = Reader::open(path)?;
        let mut questions: Vec<QuestionRecord> = Vec::new();
        let mut indices: HashMap<String, usize> = HashMap::new();
        for record in reader.by_ref() {
            let record = record?;
            // A question that was asked again after an error: the later line counts.
            let index = *indices.entry(record.question.id.clone()).or_insert(questions.len());
            match questions.get_mut(index) {
                Some(earlier) => *earlier = record,
                None => questions.push(record),
            }
        }
        let lines = reader.line - usize::from(reader.torn);
        let chain = if reader.hashed() { reader.chain.last().to_owned() } else { String::new() };
        let (altered, ended) = (reader.altered, reader.at_end);
        let ledger = Ledger { altered, chain, lines, ended, journal: reader.journal };
        Ok((Self { path: path.into(), header: reader.header, questions, torn: reader.torn }, ledger))
    }
}
