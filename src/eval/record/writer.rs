//! Writing a record so that a kill at any moment loses at most the calls in flight.

use super::header::MARK;
use super::lines::{self, Chain};
use super::reader::{Journal, Journaled, Reader, altered};
use super::storage::{Storage, Unfinished};
use super::{Header, differences};
use crate::error::{MootError, Result};
use crate::files;
use crate::files::outputs::{self, Output};
use crate::transcript::{CallRecord, QuestionRecord};
use serde::de::IgnoredAny;
use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes at the end of a record that are compared before it is appended to: a line's hash and times.
const END: usize = 200;

/// An entry to append to a record.
#[derive(Debug, Clone, Copy)]
pub enum Entry<'a> {
    /// A call, as soon as its reply is there.
    Call {
        /// Its question's id.
        of: &'a str,
        /// Its number in the journal of its question, from 0 without a gap.
        entry: usize,
        /// The call with its reply.
        call: &'a CallRecord,
        /// Seconds of its question's time that have passed.
        elapsed: f64,
    },
    /// A question that has its conclusion, or an error.
    Question {
        /// The question; its calls are in the journal already.
        record: &'a QuestionRecord,
        /// The numbers of its calls in the journal, one a call.
        entries: &'a [usize],
    },
}

/// A record open for appending, locked against other processes.
///
/// Entries that are appended together go out in one write and are on the disk before [`Writer::append_all`] returns.
pub struct Writer {
    storage: Box<dyn Storage>,
    path: PathBuf,
    finished: HashSet<String>,
    /// Bytes of whole lines: what the file is cut back to when a write fails half way.
    length: u64,
    /// The last of them, at most [`END`].
    end: Vec<u8>,
    chain: Chain,
    /// Calls that were there when the record was opened.
    journal: Journal,
    /// By question: calls in its journal.
    counts: HashMap<String, usize>,
    /// Questions that the run has left, where that is known: the line of the last one is marked.
    left: Option<usize>,
    /// A write failed, so the content of the disk is not known any more.
    failed: bool,
}

impl Writer {
    /// Creates the record at `path`, or opens it to go on: then a last line that was cut short is removed.
    ///
    /// # Errors
    /// [`MootError::Usage`] where another process writes it, or where its header differs in something that can
    /// change a number; [`MootError::Input`] for a file that is not a record (it stays as it is), a newer one, one with
    /// a corrupt or altered line, or anything but a regular file; [`MootError::Io`] where the system refuses.
    pub fn open(path: &Path, header: &Header) -> Result<Self> {
        Self::open_for(path, header, false)
    }

    /// As [`Writer::open`]; with `retry_errors`, questions that were recorded with an error count as not asked yet.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open_for(path: &Path, header: &Header, retry_errors: bool) -> Result<Self> {
        Self::open_on(path, header, retry_errors, |file| Box::new(file))
    }

    /// As [`Writer::open_for`]; everything is written to the storage that `storage` makes of the open file.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open_on(
        path: &Path,
        header: &Header,
        retry_errors: bool,
        storage: impl FnOnce(File) -> Box<dyn Storage>,
    ) -> Result<Self> {
        outputs::check(path)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|e| MootError::io(path, "open", e))?;
        // Before the content is looked at: another process may still be writing the header.
        lock(&file, path)?;
        if is_fresh(&mut file).map_err(|e| MootError::io(path, "read", e))? {
            Self::new(storage(file), path).begin(header)
        } else {
            Self::resume(file, path, header, retry_errors, storage)
        }
    }

    /// Writes a whole new record to `path`, where nothing may be: it appears there once `fill` has appended all of it.
    ///
    /// # Errors
    /// [`MootError::Usage`] where something is at `path`; [`MootError::Io`]; those of `fill`. Nothing is left then.
    pub fn write_new(path: &Path, header: &Header, fill: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let output = Output::create_new(path)?;
        let mut writer = Self::new(Box::new(Unfinished(output.file()?)), path).begin(header)?;
        fill(&mut writer)?;
        output.finish()
    }

    fn new(storage: Box<dyn Storage>, path: &Path) -> Self {
        Self {
            storage,
            path: path.into(),
            finished: HashSet::new(),
            length: 0,
            end: Vec::new(),
            chain: Chain::default(),
            journal: Journal::new(),
            counts: HashMap::new(),
            left: None,
            failed: false,
        }
    }

    fn begin(mut self, header: &Header) -> Result<Self> {
        // A header that a kill cut short may be there.
        self.cut()?;
        let mut chain = Chain::default();
        let line = chain.link(header).map_err(|e| MootError::io(&self.path, "write", e))?;
        self.write_bytes(&line)?;
        self.chain = chain;
        // Otherwise a power cut could lose the new file's name.
        outputs::sync_folder(&self.path);
        Ok(self)
    }

    fn resume(
        mut file: File,
        path: &Path,
        header: &Header,
        retry_errors: bool,
        storage: impl FnOnce(File) -> Box<dyn Storage>,
    ) -> Result<Self> {
        let wrong = |e| MootError::io(path, "read", e);
        file.seek(SeekFrom::Start(0)).map_err(wrong)?;
        let mut reader = Reader::new(BufReader::new(&file), path)?;
        let finished = finished(&mut reader, path, header, retry_errors)?;
        let (length, ended, chain) = (reader.whole(), reader.ended(), reader.hash_chain().clone());
        let mut journal = reader.into_journal();
        let mut end = vec![0; (length as usize).min(END)];
        file.seek(SeekFrom::Start(length - end.len() as u64)).and_then(|_| file.read_exact(&mut end)).map_err(wrong)?;
        let counts = journal.iter().map(|(id, calls)| (id.clone(), calls.len())).collect();
        journal.retain(|id, _| !finished.contains(id));
        let mut writer = Self { finished, length, end, chain, journal, counts, ..Self::new(storage(file), path) };
        writer.cut()?;
        if !ended {
            writer.write_bytes(b"\n")?;
        }
        Ok(writer)
    }

    /// The ids of the questions that need not be asked again.
    #[must_use]
    pub fn finished(&self) -> &HashSet<String> {
        &self.finished
    }

    /// Says how many questions the run is going to append. The last of them is marked as such, so that a record which
    /// lost its end is not a finished run.
    pub(crate) fn ends_after(&mut self, questions: usize) {
        self.left = Some(questions);
    }

    /// The calls of questions that are still to be finished, as they were when the record was opened. They are not asked
    /// again; the next call of such a question continues their numbers. Leaves nothing behind.
    #[must_use]
    pub(crate) fn take_journal(&mut self) -> Journal {
        std::mem::take(&mut self.journal)
    }

    /// Appends `questions` as [`Writer::append`] does; with `ended`, the last of them is marked as the last one of its run.
    ///
    /// # Errors
    /// As [`Writer::append_all`].
    pub fn append_run(&mut self, questions: &[QuestionRecord], ended: bool) -> Result<()> {
        self.left = ended.then_some(questions.len());
        questions.iter().try_for_each(|question| self.append(question))
    }

    /// Appends one question with its calls; it is on the disk when this returns. Calls that its journal holds already are not
    /// written again.
    ///
    /// # Errors
    /// As [`Writer::append_all`].
    pub fn append(&mut self, record: &QuestionRecord) -> Result<()> {
        let of = record.question.id.as_str();
        let mut known: Vec<Option<Journaled>> =
            self.journal.remove(of).unwrap_or_default().into_iter().map(Some).collect();
        let mut next = self.counts.get(of).copied().unwrap_or_default();
        let (mut entries, mut calls) = (Vec::with_capacity(record.calls.len()), Vec::new());
        for call in &record.calls {
            let same = |there: &CallRecord| CallRecord { number: call.number, ..there.clone() } == *call;
            let index = known.iter().position(|known| known.as_ref().is_some_and(|known| same(&known.call)));
            if let Some(index) = index {
                known[index] = None;
                entries.push(index);
            } else {
                calls.push(Entry::Call { of, entry: next, call, elapsed: 0.0 });
                entries.push(next);
                next += 1;
            }
        }
        calls.push(Entry::Question { record, entries: &entries });
        self.append_all(&calls)
    }

    /// Appends all of `entries` in one write; they are on the disk when this returns.
    ///
    /// # Errors
    /// [`MootError::Io`] where the system refuses (a full disk): the file then ends with the last whole line written
    /// before, and nothing more can be appended, since the hashes of later lines would depend on lines that are lost.
    /// [`MootError::Input`] where another program changed the file: it stays as it is, and nothing more can be
    /// appended.
    pub fn append_all(&mut self, entries: &[Entry<'_>]) -> Result<()> {
        if self.failed {
            let e = io::Error::other("an earlier write failed, so later lines would follow lines that are lost");
            return Err(MootError::io(&self.path, "write", e));
        }
        // Copies, kept only once the lines are on the disk.
        let (mut chain, mut left, mut bytes) = (self.chain.clone(), self.left, Vec::new());
        for entry in entries {
            let line = match *entry {
                Entry::Call { of, entry, call, elapsed } => lines::call(&mut chain, of, entry, call, elapsed),
                Entry::Question { record, entries } => {
                    left = left.and_then(|left| left.checked_sub(1));
                    lines::question(&mut chain, record, entries, left == Some(0))
                }
            };
            bytes.append(&mut line.map_err(|e| MootError::io(&self.path, "write", e))?);
        }
        self.write_bytes(&bytes)?;
        (self.chain, self.left) = (chain, left);
        for entry in entries {
            match *entry {
                Entry::Call { of, entry, .. } => {
                    let count = self.counts.entry(of.to_owned()).or_default();
                    assert_eq!(*count, entry, "calls of a question are numbered without a gap (bug)");
                    *count += 1;
                }
                Entry::Question { record, .. } => {
                    if record.error.is_none() {
                        self.counts.remove(&record.question.id);
                    }
                    self.finished.insert(record.question.id.clone());
                }
            }
        }
        Ok(())
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if !self.storage.is_as_left(self.length, &self.end).map_err(|e| MootError::io(&self.path, "read", e))? {
            self.failed = true;
            return Err(self.changed());
        }
        let written = self.storage.write(bytes).and_then(|()| self.storage.sync());
        if let Err(e) = written {
            self.failed = true;
            // Best effort: a torn end would be cut off by the next resume anyway.
            let _ = self.cut();
            return Err(MootError::io(&self.path, "write", e));
        }
        self.length += bytes.len() as u64;
        self.end.extend_from_slice(bytes);
        self.end.drain(..self.end.len().saturating_sub(END));
        Ok(())
    }

    /// The error where the file is not as this writer left it. Writing on would leave a gap, which no reader could read.
    fn changed(&self) -> MootError {
        let length = self.length;
        let found = match std::fs::metadata(&self.path) {
            Ok(now) if now.len() != length => format!("{} bytes", now.len()),
            _ => "other bytes at its end".to_owned(),
        };
        MootError::Input {
            path: self.path.clone(),
            line: None,
            expected: format!("the record as this run wrote it, {length} bytes"),
            found: format!("{found}: another program changed it; the file stays as it is, and the run ends"),
        }
    }

    /// Ends the file after the last whole line.
    fn cut(&mut self) -> Result<()> {
        self.storage.cut(self.length).map_err(|e| MootError::io(&self.path, "cut", e))
    }
}

fn lock(file: &File, path: &Path) -> Result<()> {
    if files::lock(file).map_err(|e| MootError::io(path, "lock", e))? {
        return Ok(());
    }
    let path = path.display();
    let wrong = format!("{path}: another process is writing this record (wait for it, or choose another -o)");
    Err(MootError::Usage(wrong))
}

/// Whether nothing is there yet: no byte, or a header that a kill cut short.
pub(crate) fn is_fresh(file: &mut File) -> io::Result<bool> {
    let mut head = vec![0; MARK.len()];
    let mut read = 0;
    while read < head.len() {
        match file.read(&mut head[read..])? {
            0 => return Ok(MARK.as_bytes().starts_with(&head[..read])),
            n => read += n,
        }
    }
    if head != MARK.as_bytes() {
        return Ok(false);
    }
    // One line without its end, and no JSON: a header in the making. Anything else is the reader's to judge.
    let mut rest = Vec::new();
    let limit = 1 << 20;
    let read = file.take(limit).read_to_end(&mut rest)?;
    head.extend_from_slice(&rest);
    Ok((read as u64) < limit && !head.contains(&b'\n') && serde_json::from_slice::<IgnoredAny>(&head).is_err())
}

/// Reads the record at `path` to its end, and checks that a run with this header may continue it. Returns the ids of the
/// questions that need not be asked again; with `retry_errors`, those that were recorded with an error need to be.
///
/// # Errors
/// [`MootError::Usage`] where the header differs in something that can change a number; [`MootError::Input`] for a corrupt or
/// altered line.
pub(crate) fn finished(
    reader: &mut Reader<impl BufRead>,
    path: &Path,
    header: &Header,
    retry_errors: bool,
) -> Result<HashSet<String>> {
    must_match(path, reader.header(), header)?;
    let mut finished = HashSet::new();
    for record in reader.by_ref() {
        let record = record?;
        if !(retry_errors && record.error.is_some()) {
            finished.insert(record.question.id);
        }
    }
    match reader.altered().first() {
        Some(&line) => Err(altered(path, line)),
        None => Ok(finished),
    }
}

/// Whether a run with the header `now` can go on with the record at `path`.
///
/// # Errors
/// [`MootError::Usage`] with the fields that differ and can change a number.
pub(crate) fn must_match(path: &Path, recorded: &Header, now: &Header) -> Result<()> {
    let differing = differences(recorded, now);
    if differing.is_empty() {
        return Ok(());
    }
    let differing: Vec<String> =
        differing.iter().map(|(field, there, now)| format!("{field} {there} there, {now} now")).collect();
    Err(MootError::Usage(format!(
        "{}: was recorded with other settings: {} (choose another -o, or delete it)",
        path.display(),
        differing.join(", ")
    )))
}
