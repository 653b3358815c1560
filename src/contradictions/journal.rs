//! Cache of finished work, keyed by a hash of its inputs, so that an interrupted or repeated run does not do it again.
//!
//! A journal is a file of JSON lines that only grows. A kill can cut its last line: that line is dropped when the file is opened.

use crate::error::{MootError, Result};
use crate::files;
use crate::units::hex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Longest line that is read, in bytes.
const LONGEST: u64 = 1 << 16;

/// Values by key.
pub(super) struct Journal<V> {
    known: HashMap<String, V>,
    /// The file and its path; `None` keeps nothing.
    file: Option<(File, PathBuf)>,
}

#[derive(Serialize, Deserialize)]
struct Line<V> {
    key: String,
    value: V,
}

impl<V: Serialize + DeserializeOwned + Clone> Journal<V> {
    /// The journal `name` in the folder `dir`; without a folder, one in memory.
    ///
    /// # Errors
    /// A folder or a file that cannot be used.
    pub(super) fn open(dir: Option<&Path>, name: &str) -> Result<Self> {
        let Some(dir) = dir else { return Ok(Self { known: HashMap::new(), file: None }) };
        let path = dir.join(name);
        let failed = |e| MootError::io(&path, "open", e);
        files::private_folder(dir).map_err(|e| MootError::io(dir, "create", e))?;
        let mut file = files::private_file(&path).map_err(failed)?;
        let (mut known, mut good) = (HashMap::new(), 0);
        let mut reader = BufReader::new(file.try_clone().map_err(failed)?);
        loop {
            let line = files::line(&mut reader, LONGEST).map_err(failed)?;
            let Some(line) = line.filter(|line| line.ends_with(b"\n")) else { break };
            // What follows a damaged line is dropped with it: the work can be done again.
            let Ok(Line { key, value }) = serde_json::from_slice(&line) else { break };
            good += line.len() as u64;
            known.insert(key, value);
        }
        let rest = file.metadata().map_err(failed)?.len();
        // Otherwise the rest of a cut line would stand behind a shorter line that is written over it.
        if rest > good {
            file.set_len(good).map_err(failed)?;
        }
        file.seek(SeekFrom::Start(good)).map_err(failed)?;
        Ok(Self { known, file: Some((file, path)) })
    }

    /// The value of `key`.
    pub(super) fn get(&self, key: &str) -> Option<&V> {
        self.known.get(key)
    }

    /// Adds values and writes them to the file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn add(&mut self, values: Vec<(String, V)>) -> Result<()> {
        if let Some((file, path)) = &mut self.file {
            let mut text = String::new();
            for (key, value) in &values {
                let line = serde_json::to_string(&Line { key: key.clone(), value });
                text.push_str(&line.map_err(|e| MootError::Usage(format!("{e} (bug)")))?);
                text.push('\n');
            }
            file.write_all(text.as_bytes()).map_err(|e| MootError::io(path, "write", e))?;
        }
        self.known.extend(values);
        Ok(())
    }
}

/// A key: the hash of `parts`.
pub(super) fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // Lengths keep the parts apart: ("ab", "c") is not ("a", "bc").
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize()[..16])
}

/// Locks the folder against other processes until the file is closed; `None` if another process has the lock.
///
/// # Errors
/// The system's.
pub(super) fn lock(dir: &Path) -> Result<Option<File>> {
    let path = dir.join("lock");
    let failed = |e| MootError::io(&path, "lock", e);
    files::private_folder(dir).map_err(failed)?;
    let mut file = files::private_file(&path).map_err(failed)?;
    // Reading it fails where the path is a folder.
    let _ = file.read(&mut [0]).map_err(failed)?;
    Ok(files::lock(&file).map_err(failed)?.then_some(file))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Journal, key};

    #[test]
    fn a_cut_line_is_dropped_and_the_rest_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Journal::<Vec<f64>>::open(Some(folder.path()), "labels.jsonl").unwrap();
        let mut journal = open();
        journal.add(vec![(key(&["a"]), vec![0.5]), (key(&["b"]), vec![0.25])]).unwrap();
        drop(journal);
        let path = folder.path().join("labels.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        // Longer than what is added next, which could otherwise hide it.
        let cut = format!("{{\"key\":\"c\",\"value\":[{}", "0.5,".repeat(100));
        std::fs::write(&path, format!("{text}{cut}")).unwrap();
        let mut journal = open();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(journal.get(&key(&["b"])), Some(&vec![0.25]));
        journal.add(vec![(key(&["d"]), vec![1.0])]).unwrap();
        drop(journal);
        let journal = open();
        assert_eq!((journal.known.len(), journal.get(&key(&["d"]))), (3, Some(&vec![1.0])));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }
}
