//! BM25 over the words of passages, by tantivy (k1 = 1.2, b = 0.75).
//!
//! Each segment has one tantivy index with one tantivy segment, whose document numbers are the passages' numbers, so no
//! stored fields are needed. It is built in memory, written as one file with a table of contents, and memory-mapped for
//! reading: this index's checks and atomic renames cover it, and tantivy leaves no locks or files of its own. Statistics
//! are summed over all segments, so a score does not depend on segment boundaries.

use super::columns::{Allowed, Columns};
use super::files::{FileSum, HashedFile, torn};
use super::words::{Words, query_words};
use crate::error::{MootError, Result};
use moot_models::kernels::Best;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, OwnedBytes, RamDirectory, WatchCallback, WatchHandle, WritePtr,
};
use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, EnableScoring, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::TokenizerManager;
use tantivy::{
    Directory, Index, IndexSettings, Searcher, SingleSegmentIndexWriter, TantivyDocument, TantivyError, Term,
};

/// Name under which [`Words`] is registered with tantivy.
const TOKENIZER: &str = "moot";
/// Initial size of tantivy's tables in bytes; they grow with the segment.
const TABLES: usize = 16 << 20;

fn schema() -> (Schema, Field) {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(IndexRecordOption::WithFreqs);
    let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    (schema.build(), text)
}

fn tokenizers() -> TokenizerManager {
    let tokenizers = TokenizerManager::default();
    tokenizers.register(TOKENIZER, Words);
    tokenizers
}

/// Writes the words of an unfinished segment.
pub(super) struct Writer {
    path: PathBuf,
    directory: RamDirectory,
    writer: SingleSegmentIndexWriter,
    text: Field,
}

/// For each of tantivy's files, offset after the table of contents and length.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents(HashMap<PathBuf, (u64, u64)>);

impl Writer {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let directory = RamDirectory::create();
        let (schema, text) = schema();
        // No field is stored, so there is nothing to compress on a thread of its own.
        let settings = IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let builder = Index::builder().schema(schema).settings(settings).tokenizers(tokenizers());
        let writer = builder.single_segment_index_writer(directory.clone(), TABLES).map_err(|e| failed(path, &e))?;
        Ok(Self { path: path.to_owned(), directory, writer, text })
    }

    pub(super) fn push(&mut self, text: &str) -> Result<()> {
        let mut document = TantivyDocument::new();
        document.add_text(self.text, text);
        self.writer.add_document(document).map_err(|e| failed(&self.path, &e))
    }

    pub(super) fn finish(self) -> Result<FileSum> {
        let path = &self.path;
        let index = self.writer.finalize().map_err(|e| failed(path, &e))?;
        let mut names: Vec<PathBuf> = index.directory().list_managed_files().into_iter().collect();
        // A file that is listed may be gone: tantivy forgets it only when it collects garbage.
        names.retain(|name| self.directory.exists(name).unwrap_or(false));
        names.sort();
        let mut contents = Contents::default();
        let mut files = Vec::new();
        let mut at = 0;
        for name in names {
            let bytes = self.directory.open_read(&name).map_err(|e| failed(path, &e.into()))?.read_bytes();
            let bytes = bytes.map_err(|e| MootError::io(path, "write", e))?;
            contents.0.insert(name, (at, bytes.len() as u64));
            at += bytes.len() as u64;
            files.push(bytes);
        }
        let table = serde_json::to_vec(&contents).map_err(|e| MootError::io(path, "write", e.into()))?;
        let mut file = HashedFile::create(path.clone())?;
        file.write(&(table.len() as u64).to_le_bytes())?;
        file.write(&table)?;
        files.iter().try_for_each(|bytes| file.write(bytes))?;
        file.finish()
    }
}

fn failed(path: &Path, e: &TantivyError) -> MootError {
    torn(path, format!("the index of words fails: {e}"))
}

/// BM25 over the words of a finished segment.
pub(super) struct Lexical {
    path: PathBuf,
    /// Id of the segment's first passage.
    first: u64,
    searcher: Searcher,
    text: Field,
    tokens: u64,
}

impl Lexical {
    pub(super) fn open(path: PathBuf, mapped: &OwnedBytes, first: u64, passages: u64) -> Result<Self> {
        let bundle = Bundle::read(&path, mapped)?;
        let wrong = |e: TantivyError| failed(&path, &e);
        let mut index = Index::open(bundle).map_err(wrong)?;
        index.set_tokenizers(tokenizers());
        let text = index.schema().get_field("text").map_err(wrong)?;
        let reader = index.reader_builder().reload_policy(tantivy::ReloadPolicy::Manual).try_into();
        let searcher = reader.map_err(wrong)?.searcher();
        let found: u64 = searcher.segment_readers().iter().map(|reader| u64::from(reader.max_doc())).sum();
        // Searches read the first segment alone, which is all that a writer makes.
        if searcher.segment_readers().len() != 1 || found != passages {
            return Err(torn(&path, format!("expected {passages} passages, found {found}")));
        }
        let tokens = searcher.segment_reader(0).inverted_index(text).map_err(wrong)?.total_num_tokens();
        Ok(Self { path, first, searcher, text, tokens })
    }
}

/// tantivy's read-only view of one mapped file.
#[derive(Debug, Clone)]
struct Bundle(Arc<HashMap<PathBuf, OwnedBytes>>);

impl Bundle {
    fn read(path: &Path, bytes: &OwnedBytes) -> Result<Self> {
        let wrong = |found: String| torn(path, format!("expected a table of contents, found {found}"));
        let head = bytes.as_chunks::<8>().0.first().ok_or_else(|| wrong(format!("{} bytes", bytes.len())))?;
        let end = usize::try_from(u64::from_le_bytes(*head)).ok().and_then(|length| length.checked_add(8));
        let end = end.filter(|end| *end <= bytes.len()).ok_or_else(|| wrong("one that ends beyond the file".into()))?;
        let contents: Contents = serde_json::from_slice(&bytes[8..end]).map_err(|e| wrong(e.to_string()))?;
        let mut files = HashMap::new();
        for (name, (from, length)) in contents.0 {
            let from = usize::try_from(from).ok().and_then(|from| from.checked_add(end));
            let to = from.zip(usize::try_from(length).ok()).and_then(|(from, length)| from.checked_add(length));
            let Some((from, to)) = from.zip(to).filter(|(_, to)| *to <= bytes.len()) else {
                return Err(wrong(format!("{} beyond the file's end", name.display())));
            };
            files.insert(name, bytes.slice(from..to));
        }
        Ok(Self(Arc::new(files)))
    }
}

fn read_only() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::ReadOnlyFilesystem, "a finished segment is not written")
}

impl Directory for Bundle {
    fn get_file_handle(&self, path: &Path) -> std::result::Result<Arc<dyn FileHandle>, OpenReadError> {
        match self.0.get(path) {
            Some(bytes) => Ok(Arc::new(bytes.clone())),
            None => Err(OpenReadError::FileDoesNotExist(path.to_owned())),
        }
    }
    fn delete(&self, path: &Path) -> std::result::Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(read_only()), filepath: path.to_owned() })
    }
    fn exists(&self, path: &Path) -> std::result::Result<bool, OpenReadError> {
        Ok(self.0.contains_key(path))
    }
    fn open_write(&self, path: &Path) -> std::result::Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::IoError { io_error: Arc::new(read_only()), filepath: path.to_owned() })
    }
    fn atomic_read(&self, path: &Path) -> std::result::Result<Vec<u8>, OpenReadError> {
        let bytes = self.0.get(path).ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()))?;
        Ok(bytes.to_vec())
    }
    fn atomic_write(&self, _: &Path, _: &[u8]) -> std::io::Result<()> {
        Err(read_only())
    }
    fn sync_directory(&self) -> std::io::Result<()> {
        Ok(())
    }
    /// A finished segment is never written, so the lock is empty.
    fn acquire_lock(&self, _: &Lock) -> std::result::Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }
    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

/// Statistics of the whole index for the words of one query, as BM25 needs them.
struct Statistics {
    passages: u64,
    tokens: u64,
    holding: HashMap<Term, u64>,
}

impl Bm25StatisticsProvider for Statistics {
    fn total_num_tokens(&self, _: Field) -> tantivy::Result<u64> {
        Ok(self.tokens)
    }
    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.passages)
    }
    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(self.holding.get(term).copied().unwrap_or(0))
    }
}

/// For each of `words` the number of passages that have it, and the number of all passages.
pub(super) fn frequencies(segments: &[Lexical], words: &[String]) -> Result<(Vec<u64>, u64)> {
    let mut counts = vec![0; words.len()];
    let mut passages = 0;
    for segment in segments {
        passages += u64::from(segment.searcher.segment_reader(0).max_doc());
        for (word, count) in words.iter().zip(&mut counts) {
            let term = Term::from_field_text(segment.text, word);
            *count += segment.searcher.doc_freq(&term).map_err(|e| failed(&segment.path, &e))?;
        }
    }
    Ok((counts, passages))
}

/// A parsed query and its statistics.
struct Asked {
    query: BooleanQuery,
    statistics: Statistics,
}

impl Asked {
    fn new(segments: &[Lexical], query: &str) -> Result<Option<Self>> {
        let Some(first) = segments.first() else { return Ok(None) };
        let mut statistics = Statistics { passages: 0, tokens: 0, holding: HashMap::new() };
        let terms: Vec<Term> = query_words(query).iter().map(|word| Term::from_field_text(first.text, word)).collect();
        for segment in segments {
            statistics.passages += u64::from(segment.searcher.segment_reader(0).max_doc());
            statistics.tokens += segment.tokens;
        }
        for term in &terms {
            if !statistics.holding.contains_key(term) {
                let mut holding = 0;
                for segment in segments {
                    holding += segment.searcher.doc_freq(term).map_err(|e| failed(&segment.path, &e))?;
                }
                statistics.holding.insert(term.clone(), holding);
            }
        }
        // A word that no passage contains changes no score.
        let known = terms.into_iter().filter(|term| statistics.holding[term] > 0);
        let clauses: Vec<(Occur, Box<dyn Query>)> = known
            .map(|term| (Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<dyn Query>))
            .collect();
        Ok((!clauses.is_empty()).then(|| Self { query: BooleanQuery::new(clauses), statistics }))
    }
}

/// The `top` best passages: ids and scores, best first.
pub(super) fn top(segments: &[Lexical], query: &str, top: usize, allowed: Option<&Allowed>) -> Result<Vec<(u64, f32)>> {
    let Some(asked) = Asked::new(segments, query)? else { return Ok(Vec::new()) };
    let search = |mut best: Best, segment: &Lexical| -> Result<Best> {
        let wrong = |e: TantivyError| failed(&segment.path, &e);
        let scoring = EnableScoring::enabled_from_statistics_provider(&asked.statistics, &segment.searcher);
        let weight = asked.query.weight(scoring).map_err(wrong)?;
        let start = best.threshold();
        let mut push = |document: u32, score: f32| {
            let id = segment.first + u64::from(document);
            if allowed.is_none_or(|allowed| allowed.has(id)) {
                best.push(score, id);
            }
            best.threshold()
        };
        weight.for_each_pruning(start, segment.searcher.segment_reader(0), &mut push).map_err(wrong)?;
        Ok(best)
    };
    let found = segments.par_iter().try_fold(|| Best::new(top), search);
    Ok(found.try_reduce(|| Best::new(top), |a, b| Ok(a.merge(b)))?.into_sorted())
}

/// The `top` best of each source: by source, ids and scores, best first.
pub(super) fn top_by_source(
    segments: &[Lexical],
    query: &str,
    top: usize,
    allowed: Option<&Allowed>,
    columns: &Columns,
) -> Result<HashMap<u32, Best>> {
    let Some(asked) = Asked::new(segments, query)? else { return Ok(HashMap::new()) };
    let search = |mut best: HashMap<u32, Best>, segment: &Lexical| -> Result<HashMap<u32, Best>> {
        let wrong = |e: TantivyError| failed(&segment.path, &e);
        let scoring = EnableScoring::enabled_from_statistics_provider(&asked.statistics, &segment.searcher);
        let weight = asked.query.weight(scoring).map_err(wrong)?;
        let mut push = |document: u32, score: f32| {
            let id = segment.first + u64::from(document);
            if allowed.is_none_or(|allowed| allowed.has(id)) {
                best.entry(columns.source(id)).or_insert_with(|| Best::new(top)).push(score, id);
            }
        };
        weight.for_each(segment.searcher.segment_reader(0), &mut push).map_err(wrong)?;
        Ok(best)
    };
    let found = segments.par_iter().try_fold(HashMap::new, search);
    found.try_reduce(HashMap::new, |a, b| Ok(merge(a, b)))
}

/// Merges two results by source.
pub(super) fn merge(mut a: HashMap<u32, Best>, b: HashMap<u32, Best>) -> HashMap<u32, Best> {
    for (source, best) in b {
        let merged = match a.remove(&source) {
            Some(other) => other.merge(best),
            None => best,
        };
        a.insert(source, merged);
    }
    a
}
