//! Vector search: exact over every row, or approximate in the nearest lists.

use super::clusters::Clusters;
use super::columns::{Allowed, Columns};
use super::lexical::merge;
use super::reader::Index;
use super::rows::{RowGroup, kernel};
use crate::error::Result;
use moot_models::kernels::{Best, Queries, Vectors};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

/// Rows scored together: few enough to stay in cache while several queries read them.
const BLOCK: usize = 256;
/// Rows of a task: some hundred microseconds of work.
const TASK: usize = 8192;

/// Accumulates the best scores of a scan.
pub(super) trait Keep: Send {
    /// Adds the rows' scores for query number `query`; NaN scores are ignored.
    fn keep(&mut self, query: usize, scores: &[f32], id: impl Fn(usize) -> u64);
    /// Merges two accumulators.
    fn and(self, other: Self) -> Self;
}

/// The best rows of all, for each query.
struct Top(Vec<Best>);

impl Keep for Top {
    fn keep(&mut self, query: usize, scores: &[f32], id: impl Fn(usize) -> u64) {
        let best = &mut self.0[query];
        let mut threshold = best.threshold();
        for (row, score) in scores.iter().enumerate() {
            // Equal scores are pushed too: ties go to the lowest id, and rows may come in any order of ids.
            if *score >= threshold {
                best.push(*score, id(row));
                threshold = best.threshold();
            }
        }
    }

    fn and(self, other: Self) -> Self {
        Self(self.0.into_iter().zip(other.0).map(|(a, b)| a.merge(b)).collect())
    }
}

/// The best rows of each source, for one query.
struct TopBySource<'a> {
    top: usize,
    columns: &'a Columns,
    best: HashMap<u32, Best>,
}

impl Keep for TopBySource<'_> {
    fn keep(&mut self, _: usize, scores: &[f32], id: impl Fn(usize) -> u64) {
        for (row, score) in scores.iter().enumerate().filter(|(_, score)| !score.is_nan()) {
            let id = id(row);
            self.best.entry(self.columns.source(id)).or_insert_with(|| Best::new(self.top)).push(*score, id);
        }
    }

    fn and(self, other: Self) -> Self {
        Self { best: merge(self.best, other.best), ..self }
    }
}

/// The `top` best passages of every query among all that are allowed: ids and scores, best first.
pub(super) fn exact(
    index: &Index,
    queries: &Queries,
    top: usize,
    allowed: Option<&Allowed>,
) -> Result<Vec<Vec<(u64, f32)>>> {
    let groups = index.groups()?;
    let tasks = all(&groups);
    let empty = || Top(vec![Best::new(top); queries.count()]);
    let found = scan(&groups, &tasks, queries, allowed, empty)?;
    Ok(found.0.into_iter().map(Best::into_sorted).collect())
}

/// The `top` best of each source, for one query.
pub(super) fn exact_by_source(
    index: &Index,
    query: &Queries,
    top: usize,
    allowed: Option<&Allowed>,
    columns: &Columns,
) -> Result<HashMap<u32, Best>> {
    let groups = index.groups()?;
    let empty = || TopBySource { top, columns, best: HashMap::new() };
    Ok(scan(&groups, &all(&groups), query, allowed, empty)?.best)
}

/// As [`exact`] for one query, but reads only the lists nearest to it: `share` of the allowed grouped rows, at least
/// `top`. If a filter admits fewer rows than that, the search is exact.
pub(super) fn approximate(
    index: &Index,
    clusters: &Clusters,
    query: &Queries,
    top: usize,
    share: f32,
    allowed: Option<&Allowed>,
) -> Result<Vec<(u64, f32)>> {
    let groups = index.groups()?;
    let grouped = clusters.count();
    let wanted = (share * grouped as f32).ceil() as usize;
    if allowed.is_some_and(|allowed| allowed.count() <= wanted.max(top)) {
        let found = exact(index, query, top, allowed)?;
        return Ok(found.into_iter().next().unwrap_or_default());
    }
    // Reading the same share of the allowed rows keeps the recall that the share has without a filter.
    let wanted = allowed.map_or(wanted, |allowed| (share * allowed.count() as f32).ceil() as usize).max(top);
    // The clustered rows are group 0; the other groups are newer segments, and few.
    let mut tasks: Vec<_> = all(&groups).into_iter().filter(|(group, _)| *group > 0).collect();
    let mut seen = 0;
    for list in clusters.nearest(query)? {
        if seen >= wanted {
            break;
        }
        let rows = clusters.rows(list);
        seen += match allowed {
            None => rows.len(),
            Some(allowed) => rows.clone().filter(|row| allowed.has(groups[0].ids.of(*row))).count(),
        };
        tasks.push((0, rows));
    }
    let found = scan(&groups, &tasks, query, allowed, || Top(vec![Best::new(top)]))?;
    Ok(found.0.into_iter().next().map(Best::into_sorted).unwrap_or_default())
}

/// All rows as tasks: number of the row group, rows in it.
fn all(groups: &[RowGroup<'_>]) -> Vec<(usize, Range<usize>)> {
    let of_group = |(number, group): (usize, &RowGroup<'_>)| {
        let count = group.vectors.count();
        (0..count).step_by(TASK).map(move |from| (number, from..count.min(from + TASK)))
    };
    groups.iter().enumerate().flat_map(of_group).collect()
}

fn scan<K: Keep>(
    groups: &[RowGroup<'_>],
    tasks: &[(usize, Range<usize>)],
    queries: &Queries,
    allowed: Option<&Allowed>,
    empty: impl Fn() -> K + Send + Sync,
) -> Result<K> {
    let visit = |mut kept: K, (group, rows): &(usize, Range<usize>)| -> Result<K> {
        let RowGroup { vectors, ids } = &groups[*group];
        let mut scores = vec![0.0; queries.count() * BLOCK];
        for from in rows.clone().step_by(BLOCK) {
            let block = from..rows.end.min(from + BLOCK);
            let scores = &mut scores[..queries.count() * block.len()];
            match allowed {
                None => vectors.scores(queries, block.clone(), scores).map_err(kernel)?,
                Some(allowed) => {
                    let admitted = block.clone().filter(|row| allowed.has(ids.of(*row)));
                    if !score_some(vectors, queries, block.clone(), admitted, scores)? {
                        continue;
                    }
                }
            }
            for (query, scores) in scores.chunks_exact_mut(block.len()).enumerate() {
                kept.keep(query, scores, |row| ids.of(from + row));
            }
        }
        Ok(kept)
    };
    let found = tasks.par_iter().try_fold(&empty, visit);
    found.try_reduce(&empty, |a, b| Ok(a.and(b)))
}

/// Scores the `admitted` rows of `block`; the others get NaN. Returns whether any row is admitted.
fn score_some(
    vectors: &Vectors<'_>,
    queries: &Queries,
    block: Range<usize>,
    admitted: impl Iterator<Item = usize> + Clone,
    scores: &mut [f32],
) -> Result<bool> {
    /// Below one admitted row in this many, single rows are read; above, the whole block, since memory is read sequentially.
    const SPARSE: usize = 8;
    let count = admitted.clone().count();
    if count == 0 {
        return Ok(false);
    }
    let length = block.len();
    let mut alone = vec![0.0; queries.count()];
    if count * SPARSE < length {
        scores.fill(f32::NAN);
        for row in admitted {
            vectors.scores(queries, row..row + 1, &mut alone).map_err(kernel)?;
            for (query, score) in alone.iter().enumerate() {
                scores[query * length + row - block.start] = *score;
            }
        }
        return Ok(true);
    }
    vectors.scores(queries, block.clone(), scores).map_err(kernel)?;
    let mut mask = vec![false; length];
    admitted.for_each(|row| mask[row - block.start] = true);
    for scores in scores.chunks_exact_mut(length) {
        scores.iter_mut().zip(&mask).filter(|(_, admitted)| !**admitted).for_each(|(score, _)| *score = f32::NAN);
    }
    Ok(true)
}
