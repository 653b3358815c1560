//! The records of answered questions: one file each, in a folder of the user's or in one that is gone when the server ends.

use crate::assess::Answered;
use crate::error::{MootError, Result};
use crate::eval::record::reader::{Ledger, Record};
use crate::eval::record::{Header, Writer};
use crate::serve::moot::running::Running;
use crate::serve::refusal::{Answer, Refusal};
use crate::transcript::QuestionRecord;
use crate::units::plural;
use serde::Serialize;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Records that are listed, the newest ones.
const LISTED: usize = 1000;

/// The folder of records, and what is listed of it.
pub(in crate::serve) struct Records {
    folder: PathBuf,
    /// Deletes a folder that was made for this process.
    _temporary: Option<tempfile::TempDir>,
    newest: Mutex<VecDeque<Listed>>,
    number: AtomicU32,
    /// Questions whose records are not written yet.
    pub(super) running: Running,
    /// Runs whose records are being written.
    pub(super) runs: Running,
}

/// A record in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Listed {
    /// Its name in paths.
    pub id: String,
    pub question: String,
    pub method: String,
    pub answers: Vec<String>,
    /// Of a run, how many questions it has; its `question` is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<usize>,
}

impl Records {
    /// Records in `folder`, which is made if need be; `None` for a folder of this process.
    ///
    /// # Errors
    /// A folder that cannot be made or listed.
    pub(in crate::serve) fn open(folder: Option<PathBuf>) -> Result<Self> {
        let temporary = match &folder {
            Some(_) => None,
            None => Some(tempfile::tempdir().map_err(|e| MootError::io(&std::env::temp_dir(), "write to", e))?),
        };
        let of_process = || temporary.as_ref().map(|folder| folder.path().to_path_buf()).unwrap_or_default();
        let folder = folder.unwrap_or_else(of_process);
        std::fs::create_dir_all(&folder).map_err(|e| MootError::io(&folder, "make", e))?;
        let newest = Mutex::new(listed(&folder)?);
        Ok(Self {
            folder,
            _temporary: temporary,
            newest,
            number: AtomicU32::new(0),
            running: Running::default(),
            runs: Running::default(),
        })
    }

    /// An id that no record has: the time, the process, a number. Ids sort by time.
    pub(in crate::serve) fn new_id(&self) -> String {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        format!("{seconds:010x}-{:x}-{number:04x}", std::process::id())
    }

    /// Writes the record of one question, whose id names it.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub(super) fn keep(&self, header: &Header, record: &QuestionRecord, answered: &Answered) -> Result<()> {
        let id = record.question.id.clone();
        Writer::write_new(&self.file(&id), header, |writer| writer.append_run(std::slice::from_ref(record), true))?;
        let answers = answered.answers.iter().map(|answer| answer.text.clone()).collect();
        let (question, method) = (answered.question.clone(), answered.method.clone());
        self.add(Listed { id, question, method, answers, questions: None });
        Ok(())
    }

    /// Lists the record of a run, which is in its file.
    pub(super) fn keep_run(&self, id: &str, method: &str, questions: usize) {
        let (id, method) = (id.to_owned(), method.to_owned());
        self.add(Listed { id, question: String::new(), method, answers: Vec::new(), questions: Some(questions) });
    }

    fn add(&self, entry: Listed) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.push_front(entry);
        newest.truncate(LISTED);
    }

    /// The newest records, newest first.
    pub(super) fn list(&self) -> Vec<Listed> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// The file of a record; `None` for an id that none has.
    pub(super) fn path(&self, id: &str) -> Option<PathBuf> {
        let is_id = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let path = self.file(id);
        (is_id && path.is_file()).then_some(path)
    }

    /// A record with its hashes checked.
    ///
    /// # Errors
    /// A file that is no record, or that was altered.
    pub(super) fn read(path: &Path) -> Result<(Record, Ledger)> {
        let (record, ledger) = Record::read_whole(path)?;
        ledger.check(path)?;
        Ok((record, ledger))
    }

    /// As [`Records::read`], of the record of a single question.
    ///
    /// # Errors
    /// As [`Records::read`]; the record of a run.
    pub(super) fn read_single(path: &Path) -> Answer<(Record, Ledger)> {
        let (record, ledger) = Self::read(path)?;
        if record.header.dataset.is_some() || record.questions.is_empty() {
            let found = format!("that of a run, with {}", plural(record.questions.len(), "question", "questions"));
            return Err(Refusal::field("id", "the record of one question", found));
        }
        Ok((record, ledger))
    }

    /// The file that the record of `id` is, or will be.
    pub(super) fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.jsonl"))
    }
}

/// The newest records of a folder. A file that is no record is left out.
fn listed(folder: &Path) -> Result<VecDeque<Listed>> {
    let entries = std::fs::read_dir(folder).map_err(|e| MootError::io(folder, "list", e))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    paths.sort_unstable_by(|a, b| b.cmp(a));
    Ok(paths.iter().take(LISTED).filter_map(|path| entry(path)).collect())
}

fn entry(path: &Path) -> Option<Listed> {
    let record = Record::read(path).ok()?;
    let (id, method) = (path.file_stem()?.to_str()?.to_owned(), record.header.method.clone());
    if record.header.dataset.is_some() {
        let questions = Some(record.questions.len());
        return Some(Listed { id, question: String::new(), method, answers: Vec::new(), questions });
    }
    let [question] = record.questions.as_slice() else { return None };
    let answers = question.conclusion.iter().flat_map(|conclusion| &conclusion.answers);
    let answers = answers.map(|answer| answer.text.clone()).collect();
    Some(Listed { id, question: question.question.text.clone(), method, answers, questions: None })
}
