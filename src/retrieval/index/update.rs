//! Bringing an index up to date with its files.
//!
//! Segments never change. A segment that holds passages of a file that was changed or deleted is replaced: its other
//! passages go, with their vectors as they are stored, into new segments, and so do the passages of new and changed
//! files. A text of a changed or deleted file keeps its vector if one of the new or changed files has it. The index
//! changes only when the manifest is replaced, so a kill leaves it as it was; vectors that were computed are in the
//! journal, for the next run of the update.

use super::builder::{BATCH, Builder};
use super::changes::Changes;
use super::inputs;
use super::journal::Journal;
use super::manifest::{Manifest, SegmentEntry};
use super::progress::{BuildObserver, BuildProgress};
use super::reader::Index;
use super::regroup;
use super::rows::RowsOf;
use super::words::full_text;
use super::writer::SegmentWriter;
use crate::error::Result;
use crate::question::Passage;
use crate::retrieval::Embedder;
use moot_models::kernels::Storage;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};

/// A segment smaller than the largest size divided by this is written again with the next update, so that updates do not
/// leave ever more small segments.
const SMALL_PART: u64 = 8;

/// The result of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Updated {
    /// Passages that are new in their file.
    pub added: u64,
    /// Passages that are no longer in their file, or whose file is gone.
    pub removed: u64,
    /// Texts that no changed or deleted file held, whose vectors were computed by this update or one that was stopped.
    pub embedded: u64,
}

/// The first bytes of a SHA-256.
type Hash = [u8; 16];

/// The plan of an update: segments that stay, and passages of the other ones that are written again.
#[derive(Default)]
struct Plan {
    /// For each segment whether it stays as it is.
    stays: Vec<bool>,
    /// Passages of the other segments whose files have not changed, in order.
    moved: Vec<u64>,
    /// Number of passages of the other files, by file and text.
    texts: HashMap<Hash, u64>,
    /// One of them, by the text that was embedded.
    vectors: HashMap<Hash, u64>,
}

impl Plan {
    /// `affected`: paths of files whose passages are removed. Segments of fewer than `small` passages are written again,
    /// unless their vectors are grouped.
    fn new(index: &Index, affected: &HashSet<&str>, small: u64, observe: BuildObserver<'_>) -> Result<Self> {
        let mut plan = Self::default();
        let grouped = index.manifest().clusters.as_ref().map_or(0, |clusters| clusters.segments);
        let mut first = 0;
        for (number, entry) in index.manifest().segments.iter().enumerate() {
            let (mut others, mut stays) = (Vec::new(), number < grouped || entry.passages >= small);
            for id in first..first + entry.passages {
                if id % BATCH as u64 == 0 {
                    // An observer can end the update here.
                    observe(&BuildProgress::Indexed(0))?;
                }
                let passage = index.passage(id)?;
                if affected.contains(passage.origin.file.as_str()) {
                    stays = false;
                    *plan.texts.entry(in_file(&passage)).or_default() += 1;
                    // Equal texts have equal vectors, so one passage stands for all.
                    plan.vectors.entry(hash(&[&full_text(&passage)])).or_insert(id);
                } else {
                    others.push(id);
                }
            }
            if !stays {
                plan.moved.extend(others);
            }
            plan.stays.push(stays);
            first += entry.passages;
        }
        Ok(plan)
    }
}

/// A text in a file: what stays where only its position changes.
fn in_file(passage: &Passage) -> Hash {
    hash(&[&passage.origin.file, &full_text(passage)])
}

fn hash(parts: &[&str]) -> Hash {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut first = Hash::default();
    first.copy_from_slice(&hash.finalize()[..size_of::<Hash>()]);
    first
}

impl Builder {
    /// Brings the index up to date: removes the passages of the files that `changes` names, and adds `passages`, those of
    /// [`Changes::to_read`] in its order. The manifest is replaced once, at the end; then vectors are clustered if there
    /// are enough new ones.
    ///
    /// # Errors
    /// [`MootError::Index`] for an unfinished build; errors of `passages`, the embedder and `observe`; [`MootError::Io`], for
    /// example a full disk. The index is then as it was.
    ///
    /// [`MootError::Index`]: crate::MootError::Index
    /// [`MootError::Io`]: crate::MootError::Io
    pub fn update(
        &mut self,
        changes: &Changes,
        passages: &mut dyn Iterator<Item = Result<Passage>>,
        embedder: Option<&dyn Embedder>,
        observe: BuildObserver<'_>,
    ) -> Result<Updated> {
        self.manifest.check_finished(&self.dir)?;
        if let (Some(dense), None) = (&self.manifest.dense, embedder) {
            let wrong = format!("expected the embedder {}, found none", dense.embedder);
            return Err(self.wrong(wrong, "name it with --embedder"));
        }
        let replaced = self.replace(changes, passages, embedder, observe);
        // New segments that no manifest names, or old ones that it no longer names.
        self.sweep();
        let updated = replaced?;
        self.group(observe)?;
        Ok(updated)
    }

    fn replace(
        &mut self,
        changes: &Changes,
        passages: &mut dyn Iterator<Item = Result<Passage>>,
        embedder: Option<&dyn Embedder>,
        observe: BuildObserver<'_>,
    ) -> Result<Updated> {
        let mut manifest = self.manifest.clone();
        let records = changes.updated_records()?;
        let (mut updated, mut journal) = (Updated::default(), None);
        if !changes.is_empty() {
            let index = Index::open(&self.dir)?;
            let plan = Plan::new(&index, &changes.affected(), self.limits.segment / SMALL_PART, observe)?;
            journal = match (embedder, &self.manifest.dense) {
                (Some(_), Some(dense)) => Some(Journal::open(&self.dir, self.next_number(), dense)?),
                _ => None,
            };
            let mut work = Rewriting::new(self, &index, &plan)?;
            work.moved(&plan.moved, observe)?;
            work.fresh(&plan, passages, embedder, journal.as_mut(), observe)?;
            updated = work.updated;
            let new = work.finish()?;
            manifest.clusters = regroup::kept(&index, &plan.stays)?;
            exchange(&mut manifest, &plan.stays, new);
        }
        // Last of all: until the manifest is replaced, the index is the old one.
        manifest.inputs = Some(inputs::write(&self.dir, &self.manifest, &records)?);
        manifest.write(&self.dir)?;
        self.manifest = manifest;
        if let Some(journal) = journal {
            journal.remove();
        }
        Ok(updated)
    }
}

/// Replaces the segments that do not stay by `new` ones.
fn exchange(manifest: &mut Manifest, stays: &[bool], new: Vec<SegmentEntry>) {
    let mut stay = stays.iter();
    manifest.segments.retain(|_| stay.next().copied().unwrap_or(true));
    manifest.segments.extend(new);
    let count = manifest.segments.len();
    for build in &mut manifest.builds {
        build.first = build.first.min(count);
    }
}

/// The new segments of an update.
struct Rewriting<'a> {
    builder: &'a Builder,
    index: &'a Index,
    /// `None` for BM25 alone.
    rows: Option<(RowsOf<'a>, Storage)>,
    number: usize,
    writer: Option<SegmentWriter>,
    finished: Vec<SegmentEntry>,
    updated: Updated,
}

impl<'a> Rewriting<'a> {
    fn new(builder: &'a Builder, index: &'a Index, plan: &Plan) -> Result<Self> {
        let needed = !plan.moved.is_empty() || !plan.vectors.is_empty();
        let rows = match &index.manifest().dense {
            Some(dense) if needed => Some((RowsOf::new(index.groups()?), dense.storage()?)),
            _ => None,
        };
        let (number, updated) = (builder.next_number(), Updated::default());
        Ok(Self { builder, index, rows, number, writer: None, finished: Vec::new(), updated })
    }

    /// The stored vector of an old passage; empty without vectors.
    fn row(&self, id: u64) -> &'a [u8] {
        self.rows.as_ref().map_or(&[][..], |(rows, _)| rows.row(id as usize))
    }

    /// Writes passages again whose files have not changed.
    fn moved(&mut self, ids: &[u64], observe: BuildObserver<'_>) -> Result<()> {
        for (at, id) in ids.iter().enumerate() {
            if at % BATCH == 0 {
                observe(&BuildProgress::Indexed(0))?;
            }
            self.push(&self.index.passage(*id)?, self.row(*id))?;
        }
        Ok(())
    }

    /// Writes the passages of new and changed files.
    fn fresh(
        &mut self,
        plan: &Plan,
        passages: &mut dyn Iterator<Item = Result<Passage>>,
        embedder: Option<&dyn Embedder>,
        mut journal: Option<&mut Journal>,
        observe: BuildObserver<'_>,
    ) -> Result<()> {
        let mut texts = plan.texts.clone();
        let dense = self.builder.manifest.dense.as_ref();
        let mut done = 0;
        loop {
            let batch: Vec<Passage> = passages.take(BATCH).collect::<Result<_>>()?;
            if batch.is_empty() {
                break;
            }
            let known: Vec<Option<u64>> =
                batch.iter().map(|passage| plan.vectors.get(&hash(&[&full_text(passage)])).copied()).collect();
            let unknown = batch.iter().zip(&known).filter(|(_, known)| known.is_none());
            let unknown: Vec<Passage> = unknown.map(|(passage, _)| passage.clone()).collect();
            let vectors = if unknown.is_empty() {
                Vec::new()
            } else {
                self.builder.vectors(&unknown, 0, embedder, journal.as_deref_mut())?
            };
            let mut vectors = vectors.chunks_exact(dense.map_or(1, |dense| dense.dimension));
            for (passage, known) in batch.iter().zip(&known) {
                let mut row = Vec::new();
                let row = match (known, dense) {
                    (Some(id), _) => self.row(*id),
                    (None, None) => &[],
                    (None, Some(dense)) => {
                        dense.storage()?.encode(vectors.next().expect("a vector for each text (bug)"), &mut row);
                        self.updated.embedded += 1;
                        row.as_slice()
                    }
                };
                self.push(passage, row)?;
                // A text that its file had before is neither added nor removed, wherever it is in the file now.
                match texts.get_mut(&in_file(passage)).filter(|count| **count > 0) {
                    Some(count) => *count -= 1,
                    None => self.updated.added += 1,
                }
            }
            done += batch.len() as u64;
            observe(&BuildProgress::Indexed(done))?;
        }
        self.updated.removed = texts.values().sum();
        Ok(())
    }

    fn push(&mut self, passage: &Passage, row: &[u8]) -> Result<()> {
        let manifest = &self.builder.manifest;
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => SegmentWriter::create(&self.builder.dir, self.number, manifest.dense.as_ref(), manifest.bm25)?,
        };
        writer.push_row(passage, row)?;
        if self.builder.is_full(&writer) {
            self.finished.push(writer.finish()?);
            self.number += 1;
        } else {
            self.writer = Some(writer);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<SegmentEntry>> {
        if let Some(writer) = self.writer.take() {
            self.finished.push(writer.finish()?);
        }
        Ok(self.finished)
    }
}
