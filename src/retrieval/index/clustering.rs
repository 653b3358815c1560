//! Clustering of an index's vectors by k-means.

use super::files::{self, FileSum, HashedFile};
use super::layout::{CENTROIDS, IDS, ROWS, STARTS};
use super::manifest::{ClustersEntry, Dense};
use super::progress::{BuildObserver, BuildProgress};
use super::reader::Index;
use super::rows::{RowsOf, kernel};
use crate::error::{MootError, Result};
use moot_models::kernels::{Queries, Storage, Vectors};
use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

/// Minimum number of passages for clustering: below it an exact search takes milliseconds and lists would be very short.
pub(super) const MIN_PASSAGES: u64 = 100_000;
/// Sampled rows per centroid: fewer give poor centroids, more change little.
const SAMPLE: usize = 64;
/// Iterations of k-means; the last ones move centroids very little.
const ROUNDS: usize = 8;
/// Rows compared with all centroids in one call.
const BATCH: usize = 128;

/// Number of lists for `passages` passages, about `4 * sqrt(passages)`: it balances the length of a list against the
/// number of centroids.
fn lists_for(passages: u64) -> usize {
    let lists = (4.0 * (passages as f64).sqrt()) as u64;
    lists.min(65_536).min(passages) as usize
}

/// Clusters all vectors of `index` into a new folder, using at most `memory` bytes. The index does not change until the
/// manifest names the folder.
pub(super) fn build(index: &Index, memory: usize, observe: BuildObserver<'_>) -> Result<ClustersEntry> {
    let dense = index.manifest().dense.clone().expect("only vectors are grouped (bug)");
    let name = next_name(index);
    let passages = index.manifest().passages();
    let lists = lists_for(passages);
    let started = &mut |done| observe(&BuildProgress::Grouping { done, total: 3 });
    started(0)?;
    let centroids = train(index, &dense, lists, memory)?;
    started(1)?;
    let nearest = assign(index, &centroids)?;
    started(2)?;
    let files = in_folder(index.dir(), &name, |folder| write(index, &dense, &centroids, &nearest, folder, memory))?;
    started(3)?;
    Ok(ClustersEntry { name, segments: index.manifest().segments.len(), passages, lists, files })
}

/// Name of the folder after the one that the index has.
pub(super) fn next_name(index: &Index) -> String {
    let last = index.manifest().clusters.as_ref().and_then(|clusters| clusters.name.rsplit('-').next());
    format!("clusters-{:06}", last.and_then(|number| number.parse::<u32>().ok()).map_or(0, |number| number + 1))
}

/// Writes the folder `name` of the index in `dir`: it has that name once `write` has finished its files.
pub(super) fn in_folder(
    dir: &Path,
    name: &str,
    write: impl FnOnce(&Path) -> Result<BTreeMap<String, FileSum>>,
) -> Result<BTreeMap<String, FileSum>> {
    let folder = dir.join(format!("building-{name}"));
    // A killed build may have left it.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| MootError::io(&folder, "create", e))?;
    let files = write(&folder).inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
    if let Ok(folder) = File::open(&folder) {
        let _ = folder.sync_all();
    }
    let target = dir.join(name);
    // No manifest names it yet: it is left from a kill after the rename.
    let _ = fs::remove_dir_all(&target);
    files::rename(&folder, &target)?;
    Ok(files)
}

/// Centroids `[lists, dimension]` as rows of f32, and half their squared lengths.
struct Centroids {
    rows: Vec<u8>,
    halves: Vec<f32>,
    dimension: usize,
}

impl Centroids {
    fn new(values: &[f32], dimension: usize) -> Self {
        let mut rows = Vec::with_capacity(values.len() * 4);
        for row in values.chunks_exact(dimension) {
            Storage::F32.encode(row, &mut rows);
        }
        let halves = values.chunks_exact(dimension).map(|row| row.iter().map(|x| x * x).sum::<f32>() / 2.0).collect();
        Self { rows, halves, dimension }
    }

    /// The centroid nearest to each of `vectors` (`[count, dimension]`): the largest of `x·c - c·c / 2`.
    fn nearest(&self, vectors: &[f32]) -> Result<Vec<u32>> {
        const BLOCK: usize = 128;
        let rows = Vectors::new(&self.rows, Storage::F32, self.dimension).map_err(kernel)?;
        let queries = Queries::new(vectors, self.dimension).map_err(kernel)?;
        let mut best = vec![(f32::NEG_INFINITY, 0_u32); queries.count()];
        let mut scores = vec![0.0; queries.count() * BLOCK];
        for from in (0..rows.count()).step_by(BLOCK) {
            let block = from..rows.count().min(from + BLOCK);
            let scores = &mut scores[..queries.count() * block.len()];
            rows.scores(&queries, block.clone(), scores).map_err(kernel)?;
            for (scores, best) in scores.chunks_exact(block.len()).zip(&mut best) {
                for ((score, half), list) in scores.iter().zip(&self.halves[block.clone()]).zip(block.clone()) {
                    if score - half > best.0 {
                        *best = (score - half, u32::try_from(list).unwrap_or(u32::MAX));
                    }
                }
            }
        }
        Ok(best.into_iter().map(|(_, list)| list).collect())
    }
}

/// k-means (Lloyd) over a sample; the same index gives the same centroids.
fn train(index: &Index, dense: &Dense, lists: usize, memory: usize) -> Result<Centroids> {
    let dimension = dense.dimension;
    let passages = usize::try_from(index.manifest().passages()).unwrap_or(usize::MAX);
    let room = memory / 2 / (4 * dimension);
    let count = (lists * SAMPLE).min(room).max(lists).min(passages);
    let mut random = ChaCha8Rng::seed_from_u64(lists as u64);
    let mut chosen = index::sample(&mut random, passages, count).into_vec();
    // In storage order, so that the vectors are read from the disk sequentially.
    chosen.sort_unstable();
    let sample = gather(index, dense, &chosen)?;
    // The sample is in the order of passages, so its first rows would all come from one document.
    let first = index::sample(&mut random, count, lists.min(count));
    let mut values: Vec<f32> = first.iter().flat_map(|row| &sample[row * dimension..][..dimension]).copied().collect();
    for _ in 0..ROUNDS {
        let nearest = nearest_of_all(&Centroids::new(&values, dimension), &sample)?;
        let mut counts = vec![0_usize; lists];
        let mut sums = vec![0.0_f32; lists * dimension];
        // Summed in the order of rows, so that the centroids do not depend on the number of threads.
        for (row, list) in sample.chunks_exact(dimension).zip(&nearest) {
            let list = *list as usize;
            counts[list] += 1;
            sums[list * dimension..][..dimension].iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        for ((sum, count), value) in sums.chunks_exact(dimension).zip(&counts).zip(values.chunks_exact_mut(dimension)) {
            if *count > 0 {
                value.iter_mut().zip(sum).for_each(|(value, sum)| *value = sum / *count as f32);
            } else {
                // Reseed an empty cluster from a random row.
                let row = random.random_range(0..sample.len() / dimension);
                value.copy_from_slice(&sample[row * dimension..][..dimension]);
            }
        }
    }
    Ok(Centroids::new(&values, dimension))
}

fn nearest_of_all(centroids: &Centroids, vectors: &[f32]) -> Result<Vec<u32>> {
    let batches = vectors.par_chunks(BATCH * centroids.dimension).map(|batch| centroids.nearest(batch));
    let nearest: Result<Vec<Vec<u32>>> = batches.collect();
    Ok(nearest?.concat())
}

/// The decoded vectors of `passages`.
fn gather(index: &Index, dense: &Dense, passages: &[usize]) -> Result<Vec<f32>> {
    let storage = dense.storage()?;
    let mut out = Vec::with_capacity(passages.len() * dense.dimension);
    let rows = RowsOf::new(index.groups()?);
    for passage in passages {
        out.extend(storage.decode(rows.row(*passage), dense.dimension));
    }
    Ok(out)
}

/// The list of each passage.
fn assign(index: &Index, centroids: &Centroids) -> Result<Vec<u32>> {
    let dense = index.manifest().dense.as_ref().expect("only vectors are grouped (bug)");
    let storage = dense.storage()?;
    let rows = RowsOf::new(index.groups()?);
    let passages = usize::try_from(index.manifest().passages()).unwrap_or(usize::MAX);
    let starts: Vec<usize> = (0..passages).step_by(BATCH).collect();
    let batches = starts.par_iter().map(|from| {
        let numbers = (*from..passages.min(from + BATCH)).flat_map(|p| storage.decode(rows.row(p), dense.dimension));
        centroids.nearest(&numbers.collect::<Vec<f32>>())
    });
    let nearest: Result<Vec<Vec<u32>>> = batches.collect();
    Ok(nearest?.concat())
}

fn write(
    index: &Index,
    dense: &Dense,
    centroids: &Centroids,
    nearest: &[u32],
    folder: &Path,
    memory: usize,
) -> Result<BTreeMap<String, FileSum>> {
    let lists = centroids.halves.len();
    // A counting sort by list, in which the passages of a list keep their order.
    let mut starts = vec![0_usize; lists + 1];
    for list in nearest {
        starts[*list as usize + 1] += 1;
    }
    for list in 0..lists {
        starts[list + 1] += starts[list];
    }
    let mut next = starts.clone();
    let mut order = vec![0_u32; nearest.len()];
    for (passage, list) in (0..).zip(nearest) {
        order[next[*list as usize]] = passage;
        next[*list as usize] += 1;
    }
    let file = |name: &str| HashedFile::create(folder.join(name));
    let mut sums = BTreeMap::new();
    let mut centroids_file = file(CENTROIDS)?;
    centroids_file.write(&centroids.rows)?;
    sums.insert(CENTROIDS.to_owned(), centroids_file.finish()?);
    let mut starts_file = file(STARTS)?;
    starts.iter().try_for_each(|start| starts_file.write(&(*start as u64).to_le_bytes()))?;
    sums.insert(STARTS.to_owned(), starts_file.finish()?);
    let mut ids_file = file(IDS)?;
    order.iter().try_for_each(|id| ids_file.write(&id.to_le_bytes()))?;
    sums.insert(IDS.to_owned(), ids_file.finish()?);
    let mut rows_file = file(ROWS)?;
    write_rows(index, dense, &order, &mut rows_file, memory)?;
    sums.insert(ROWS.to_owned(), rows_file.finish()?);
    Ok(sums)
}

/// Writes rows in `order`, as many per pass as fit into memory. Each pass reads rows in storage order, so that an index
/// larger than memory is read from the disk sequentially.
fn write_rows(index: &Index, dense: &Dense, order: &[u32], file: &mut HashedFile, memory: usize) -> Result<()> {
    let rows = RowsOf::new(index.groups()?);
    let stride = dense.storage()?.stride(dense.dimension);
    let at_a_time = (memory / 2 / stride).max(1);
    let mut buffer = Vec::new();
    for pass in order.chunks(at_a_time) {
        let mut sorted: Vec<(u32, usize)> = pass.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        buffer.resize(pass.len() * stride, 0);
        for (passage, at) in sorted {
            buffer[at * stride..][..stride].copy_from_slice(rows.row(passage as usize));
        }
        file.write(&buffer)?;
    }
    Ok(())
}
