//! Vectors kept by the content of their texts: a text that was embedded once is not embedded again, whatever files changed.

use super::{Embedder, Side};
use crate::error::Result;
use crate::files;
use crate::units::hex;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum bytes of the file: 170,000 vectors of 384 numbers. A full one is cut to its head and filled again.
const MAX_BYTES: u64 = 256 << 20;
/// Bytes of a text's hash, and of a record's.
const HASH: usize = 16;

/// An embedder that keeps the vectors of passages in a file.
pub(crate) struct Remembering {
    inner: Arc<dyn Embedder>,
    /// `None` without a usable file.
    store: Option<Mutex<Store>>,
    /// Vectors of passages: those taken from the file, and those computed.
    kept: AtomicU64,
    computed: AtomicU64,
}

impl Remembering {
    /// Keeps the vectors of `inner` in the folder `dir`, which this user alone can read. Without a usable file, or while another
    /// process writes it, nothing is kept: the file only saves time.
    #[must_use]
    pub(crate) fn over(inner: Arc<dyn Embedder>, dir: &Path) -> Arc<Self> {
        let store = Store::open(dir, inner.as_ref(), MAX_BYTES).ok().map(Mutex::new);
        Arc::new(Self { inner, store, kept: AtomicU64::new(0), computed: AtomicU64::new(0) })
    }

    /// How many vectors of passages were taken from the file, and how many were computed.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.kept.load(Ordering::Relaxed), self.computed.load(Ordering::Relaxed))
    }

    fn count(&self, texts: usize, computed: usize) {
        self.kept.fetch_add((texts - computed) as u64, Ordering::Relaxed);
        self.computed.fetch_add(computed as u64, Ordering::Relaxed);
    }
}

impl Embedder for Remembering {
    fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<f32>> {
        if side == Side::Query {
            return self.inner.embed(texts, side);
        }
        let Some(store) = &self.store else {
            self.count(texts.len(), texts.len());
            return self.inner.embed(texts, side);
        };
        let dimension = self.inner.dimension();
        let keys: Vec<[u8; HASH]> = texts.iter().map(|text| short_hash(&[text.as_bytes()])).collect();
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        let mut vectors: Vec<Option<Vec<f32>>> = keys.iter().map(|key| store.get(key)).collect();
        let new: Vec<usize> = (0..texts.len()).filter(|at| vectors[*at].is_none()).collect();
        self.count(texts.len(), new.len());
        if !new.is_empty() {
            let embedded = self.inner.embed(&new.iter().map(|at| texts[*at]).collect::<Vec<_>>(), side)?;
            for (at, vector) in new.iter().zip(embedded.chunks_exact(dimension)) {
                store.put(&keys[*at], vector);
                vectors[*at] = Some(vector.to_vec());
            }
            store.flush();
        }
        Ok(vectors.into_iter().flatten().flatten().collect())
    }

    fn dimension(&self) -> usize {
        self.inner.dimension()
    }

    fn tokens(&self, texts: &[&str], side: Side) -> Option<usize> {
        self.inner.tokens(texts, side)
    }

    fn identity(&self) -> &str {
        self.inner.identity()
    }

    /// Texts whose vectors are known are not counted again.
    fn truncated(&self) -> u64 {
        self.inner.truncated()
    }
}

/// The file: a line of text, then records of a text's hash, its vector, and a hash of both.
struct Store {
    file: File,
    dimension: usize,
    /// The byte where each text's vector begins.
    known: HashMap<[u8; HASH], u64>,
    /// Records that are not written yet.
    pending: Vec<u8>,
    /// Bytes of the line of text.
    head: u64,
    end: u64,
    /// Maximum bytes.
    limit: u64,
    /// Writing failed: it is read only.
    closed: bool,
}

impl Store {
    fn open(dir: &Path, embedder: &dyn Embedder, limit: u64) -> io::Result<Self> {
        files::private_folder(dir)?;
        let identity = hex(&short_hash(&[embedder.identity().as_bytes()]));
        let path = dir.join(format!("{identity}.vectors"));
        let file = files::private_file(&path)?;
        file.try_lock().map_err(io::Error::from)?;
        let dimension = embedder.dimension();
        let head = format!("moot vectors by text 1, {dimension} numbers, {identity}\n");
        let end = head.len() as u64;
        let (known, pending) = (HashMap::new(), Vec::new());
        let mut store = Self { file, dimension, known, pending, head: end, end, limit, closed: false };
        if store.file.metadata()?.len() > limit || !store.begins_with(head.as_bytes())? {
            store.file.set_len(0)?;
            store.file.seek(SeekFrom::Start(0))?;
            store.file.write_all(head.as_bytes())?;
        }
        store.index()?;
        Ok(store)
    }

    fn begins_with(&mut self, head: &[u8]) -> io::Result<bool> {
        let mut found = vec![0; head.len()];
        self.file.seek(SeekFrom::Start(0))?;
        match self.file.read_exact(&mut found) {
            Ok(()) => Ok(found == head),
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Reads the hashes. What follows a record that was cut or damaged is forgotten.
    fn index(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.end))?;
        let mut record = vec![0; self.record()];
        let mut reader = BufReader::with_capacity(1 << 18, &self.file);
        while reader.read_exact(&mut record).is_ok() {
            let (body, sum) = record.split_at(record.len() - HASH);
            if short_hash(&[body]) != sum {
                break;
            }
            self.known.extend(body.first_chunk::<HASH>().map(|key| (*key, self.end + HASH as u64)));
            self.end += record.len() as u64;
        }
        self.file.set_len(self.end)
    }

    /// Bytes of a record.
    fn record(&self) -> usize {
        HASH + 4 * self.dimension + HASH
    }

    fn get(&mut self, key: &[u8; HASH]) -> Option<Vec<f32>> {
        let at = *self.known.get(key)?;
        let mut bytes = vec![0; 4 * self.dimension];
        self.file.seek(SeekFrom::Start(at)).ok()?;
        self.file.read_exact(&mut bytes).ok()?;
        Some(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    /// Adds a vector to those that [`Store::flush`] writes.
    fn put(&mut self, key: &[u8; HASH], vector: &[f32]) {
        let start = self.pending.len();
        self.pending.extend(key);
        self.pending.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
        let sum = short_hash(&[&self.pending[start..]]);
        self.pending.extend(sum);
    }

    /// Writes the pending records. If they do not fit, all earlier records are dropped first. Pending records that
    /// exceed the limit of the file are not written.
    fn flush(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        if !self.closed && self.head + pending.len() as u64 <= self.limit {
            self.closed = self.write(&pending).is_err();
        }
    }

    fn write(&mut self, pending: &[u8]) -> io::Result<()> {
        if self.end + pending.len() as u64 > self.limit {
            self.known.clear();
            self.end = self.head;
            self.file.set_len(self.end)?;
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(pending)?;
        for record in pending.chunks_exact(self.record()) {
            self.known.extend(record.first_chunk::<HASH>().map(|key| (*key, self.end + HASH as u64)));
            self.end += record.len() as u64;
        }
        Ok(())
    }
}

fn short_hash(parts: &[&[u8]]) -> [u8; HASH] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    let mut first = [0; HASH];
    first.copy_from_slice(&hash.finalize()[..HASH]);
    first
}

#[cfg(test)]
mod tests {
    use super::{Embedder, Remembering, Result, Side, Store, short_hash};
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Vectors of a text's length; counts the texts.
    #[derive(Default)]
    struct Lengths(AtomicUsize);

    impl Embedder for Lengths {
        fn embed(&self, texts: &[&str], _: Side) -> Result<Vec<f32>> {
            self.0.fetch_add(texts.len(), Ordering::Relaxed);
            Ok(texts.iter().flat_map(|text| [text.len() as f32, 0.5]).collect())
        }

        fn dimension(&self) -> usize {
            2
        }

        fn identity(&self) -> &str {
            "lengths"
        }
    }

    #[test]
    fn a_full_file_is_begun_again() {
        const RECORD: u64 = 16 + 2 * 4 + 16;
        let folder = tempfile::tempdir().unwrap();
        let open = |limit| Store::open(folder.path(), &Lengths::default(), limit).unwrap();
        let head = open(u64::MAX).head;
        let put = |store: &mut Store, texts: &[&str]| {
            texts.iter().for_each(|text| store.put(&short_hash(&[text.as_bytes()]), &[text.len() as f32, 0.5]));
            store.flush();
        };
        let has = |store: &mut Store, text: &str| store.get(&short_hash(&[text.as_bytes()]));
        let mut store = open(head + 2 * RECORD);
        put(&mut store, &["a", "bb"]);
        assert_eq!((has(&mut store, "a"), has(&mut store, "bb")), (Some(vec![1.0, 0.5]), Some(vec![2.0, 0.5])));
        // The third record does not fit: the first two are dropped.
        put(&mut store, &["ccc"]);
        assert_eq!((has(&mut store, "a"), has(&mut store, "ccc")), (None, Some(vec![3.0, 0.5])));
        put(&mut store, &["dddd"]);
        assert_eq!(store.end, head + 2 * RECORD);
        // More records than a file holds are not written, and those in the file stay.
        put(&mut store, &["e", "f", "g"]);
        assert_eq!((has(&mut store, "e"), has(&mut store, "dddd")), (None, Some(vec![4.0, 0.5])));
        drop(store);
        let mut store = open(head + 2 * RECORD);
        assert_eq!((has(&mut store, "ccc"), has(&mut store, "dddd")), (Some(vec![3.0, 0.5]), Some(vec![4.0, 0.5])));
    }

    #[test]
    fn a_text_is_embedded_once() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("vectors");
        let inner = Arc::new(Lengths::default());
        let count = || inner.0.swap(0, Ordering::Relaxed);
        let embedder = Remembering::over(inner.clone(), &dir);
        assert_eq!(embedder.embed(&["a", "bb", "a"], Side::Passage).unwrap(), [1.0, 0.5, 2.0, 0.5, 1.0, 0.5]);
        assert_eq!((count(), embedder.embed(&["a"], Side::Query).unwrap(), count()), (3, vec![1.0, 0.5], 1));
        assert_eq!(embedder.counts(), (0, 3));
        drop(embedder);
        let path = fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&dir), mode(&path)), (0o700, 0o600));
        }
        // Only the record that was cut is dropped.
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, [&bytes[..], b"cut"].concat()).unwrap();
        let embedder = Remembering::over(inner.clone(), &dir);
        assert_eq!(embedder.embed(&["ccc", "bb", "a"], Side::Passage).unwrap(), [3.0, 0.5, 2.0, 0.5, 1.0, 0.5]);
        assert_eq!((count(), embedder.counts()), (1, (2, 1)));
        // While one process writes, another one embeds everything.
        let other = Remembering::over(inner.clone(), &dir);
        other.embed(&["ccc"], Side::Passage).unwrap();
        assert_eq!((count(), other.counts()), (1, (0, 1)));
        drop(embedder);
        let mut bytes = fs::read(&path).unwrap();
        let last = bytes.len() - 20;
        bytes[last] ^= 1;
        fs::write(&path, bytes).unwrap();
        Remembering::over(inner.clone(), &dir).embed(&["ccc", "a"], Side::Passage).unwrap();
        assert_eq!(count(), 1);
    }
}
