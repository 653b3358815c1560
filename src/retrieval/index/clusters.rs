//! Vectors grouped around centroids (an inverted file), so that a search reads a few lists instead of all rows.
//!
//! The lists are stored one after another in one file, with each row's passage number in a second file, and are read by
//! the same kernel: exact search over them costs the same as over segments. Later additions stay in their segments and
//! are searched exactly until there are enough of them to cluster everything again.

use super::files::{self, torn};
use super::layout::{CENTROIDS, IDS, ROWS, STARTS};
use super::manifest::{ClustersEntry, Dense};
use super::rows::kernel;
use crate::error::Result;
use moot_models::kernels::{Queries, Storage, Vectors};
use moot_models::weights::Mmap;
use std::ops::Range;
use std::path::Path;

/// Clustered vectors, memory-mapped.
pub(super) struct Clusters {
    lists: usize,
    dimension: usize,
    centroids: Mmap,
    /// Reciprocal of each centroid's length.
    inverses: Vec<f32>,
    /// `[lists + 1]`, u64: where each list begins, in rows.
    starts: Vec<usize>,
    /// Every row's passage, u32.
    ids: Mmap,
    rows: Mmap,
}

impl Clusters {
    pub(super) fn open(dir: &Path, entry: &ClustersEntry, dense: &Dense) -> Result<Self> {
        let folder = dir.join(&entry.name);
        let file = |name: &str, bytes: u64| match entry.files.get(name) {
            Some(sum) if sum.bytes == bytes => files::open(&folder.join(name), bytes),
            Some(sum) => {
                Err(torn(&folder.join(name), format!("expected {bytes} bytes, the manifest says {}", sum.bytes)))
            }
            None => Err(torn(&folder, format!("expected {name} in the manifest, found none"))),
        };
        let stride = dense.storage()?.stride(dense.dimension) as u64;
        let lists = entry.lists as u64;
        let centroids = file(CENTROIDS, lists.saturating_mul(Storage::F32.stride(dense.dimension) as u64))?;
        let starts = file(STARTS, lists.saturating_add(1).saturating_mul(8))?;
        let starts: Vec<usize> = starts
            .as_chunks::<8>()
            .0
            .iter()
            .map(|b| usize::try_from(u64::from_le_bytes(*b)).unwrap_or(usize::MAX))
            .collect();
        let ends_well = starts.first() == Some(&0) && starts.last().is_some_and(|last| *last as u64 == entry.passages);
        if !ends_well || !starts.is_sorted() {
            return Err(torn(&folder.join(STARTS), format!("the lists do not hold {} passages", entry.passages)));
        }
        let ids = file(IDS, entry.passages.saturating_mul(4))?;
        // Tables are indexed by these without another check.
        if ids.as_chunks::<4>().0.iter().any(|id| u64::from(u32::from_le_bytes(*id)) >= entry.passages) {
            return Err(torn(&folder.join(IDS), format!("it names passages beyond {}", entry.passages)));
        }
        let rows = file(ROWS, entry.passages.saturating_mul(stride))?;
        let stride = Storage::F32.stride(dense.dimension);
        let length = |row| Storage::F32.decode(row, dense.dimension).iter().map(|x| x * x).sum::<f32>().sqrt();
        // A centroid without a length scores 0, whatever its reciprocal; an infinite one would make that no number.
        let inverses = centroids.chunks_exact(stride).map(|row| 1.0 / length(row).max(f32::MIN_POSITIVE)).collect();
        Ok(Self { lists: entry.lists, dimension: dense.dimension, centroids, inverses, starts, ids, rows })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.rows
    }

    pub(super) fn ids(&self) -> &[[u8; 4]] {
        self.ids.as_chunks().0
    }

    /// Rows in all.
    pub(super) fn count(&self) -> usize {
        self.ids().len()
    }

    /// Number of lists.
    pub(super) fn lists(&self) -> usize {
        self.lists
    }

    /// `[lists, dimension]`, f32.
    pub(super) fn centroids(&self) -> &[u8] {
        &self.centroids
    }

    pub(super) fn rows(&self, list: usize) -> Range<usize> {
        self.starts[list]..self.starts[list + 1]
    }

    /// All lists, nearest first, by cosine: the centroid of scattered rows is short, so a dot product would rank it too
    /// low.
    pub(super) fn nearest(&self, query: &Queries) -> Result<Vec<usize>> {
        let centroids = Vectors::new(&self.centroids, Storage::F32, self.dimension).map_err(kernel)?;
        let mut scores = vec![0.0; self.lists];
        centroids.scores(query, 0..self.lists, &mut scores).map_err(kernel)?;
        scores.iter_mut().zip(&self.inverses).for_each(|(score, inverse)| *score *= inverse);
        let mut lists: Vec<usize> = (0..self.lists).collect();
        lists.sort_unstable_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        Ok(lists)
    }
}
