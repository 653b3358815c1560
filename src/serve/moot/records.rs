//! Records of questions, checks and comparisons: one file each, in the user's folder or in one that is removed when the
//! server ends.

use crate::error::{MootError, Result};
use crate::eval::record::reader::{Ledger, Record};
use crate::eval::record::{Header, Writer};
use crate::serve::moot::kept::{self, Comparison, Listed};
use crate::serve::moot::running::Running;
use crate::serve::refusal::{Answer, Refusal};
use crate::transcript::QuestionRecord;
use crate::units::plural;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Records that are listed, the newest ones.
const LISTED: usize = 1000;

/// The folder of records, and its list.
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
        // The time has a fixed width, so that ids sort by it as texts.
        format!("{seconds:010x}-{:x}-{number:04x}", std::process::id())
    }

    /// Writes the record of one question or check, whose id names it; `answers` are listed.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub(super) fn keep(&self, header: &Header, record: &QuestionRecord, answers: Vec<String>) -> Result<()> {
        let id = &record.question.id;
        Writer::write_new(&self.file(id), header, |writer| writer.append_run(std::slice::from_ref(record), true))?;
        self.add(Listed::of_question(id, header, record, answers));
        Ok(())
    }

    /// Writes the record of documents that were compared.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub(super) fn keep_comparison(&self, id: &str, comparison: &Comparison) -> Result<()> {
        comparison.write(&self.file(id).with_extension(kept::COMPARISON))?;
        self.add(Listed::of_comparison(id, comparison));
        Ok(())
    }

    /// Lists the record of a run, which is in its file.
    pub(super) fn keep_run(&self, id: &str, method: &str, questions: usize) {
        self.add(Listed::of_run(id, method, questions));
    }

    /// Of a run that failed: lists what it recorded, and removes a file without a question.
    pub(super) fn keep_part(&self, id: &str) {
        let path = self.file(id);
        if kept::is_empty(&path) {
            // Best effort: such a file is not listed.
            let _ = std::fs::remove_file(&path);
        } else if let Some(entry) = Listed::of_file(&path) {
            self.add(entry);
        }
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

    /// The file of a record; `None` for an id that none has. Reads the beginning of the file.
    pub(super) fn path(&self, id: &str) -> Option<PathBuf> {
        let record = kept::is_id(id).then(|| self.file(id))?;
        let comparison = record.with_extension(kept::COMPARISON);
        [record, comparison].into_iter().find(|path| kept::is_record(path))
    }

    /// A record with its hashes checked.
    ///
    /// # Errors
    /// A file that is not a record, or that was altered.
    pub(super) fn read(path: &Path) -> Result<(Record, Ledger)> {
        let (record, ledger) = Record::read_whole(path)?;
        ledger.check(path)?;
        Ok((record, ledger))
    }

    /// As [`Records::read`], of the record of a single question.
    ///
    /// # Errors
    /// As [`Records::read`]; the record of a run, or of documents that were compared.
    pub(super) fn read_single(path: &Path) -> Answer<(Record, Ledger)> {
        if kept::is_comparison(path) {
            return Err(Refusal::field("id", "the record of one question", "that of documents that were compared"));
        }
        let (record, ledger) = Self::read(path)?;
        if record.header.dataset.is_some() || record.questions.is_empty() {
            let found = format!("that of a run, with {}", plural(record.questions.len(), "question", "questions"));
            return Err(Refusal::field("id", "the record of one question", found));
        }
        Ok((record, ledger))
    }

    /// The file that the record of `id` is, or will be.
    pub(super) fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.{}", kept::RECORD))
    }
}

/// The newest records of a folder. A file that is not a record is left out.
fn listed(folder: &Path) -> Result<VecDeque<Listed>> {
    let entries = std::fs::read_dir(folder).map_err(|e| MootError::io(folder, "list", e))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == kept::RECORD) || kept::is_comparison(path));
    paths.sort_unstable_by(|a, b| b.cmp(a));
    Ok(paths.iter().take(LISTED).filter_map(|path| Listed::of_file(path)).collect())
}
