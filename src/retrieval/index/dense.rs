//! Search by vectors: exactly, over every row, or in the lists that are nearest.

use super::Index;
use super::clusters::Clusters;
use super::columns::{Allowed, Columns};
use super::lexical::merge;
use crate::error::{MootError, Result};
use moot_models::ModelError;
use moot_models::kernels::{Best, Queries, Vectors};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

/// Rows whose scores are looked at together: few enough to stay in a cache while several queries pass over them.
const BLOCK: usize = 256;
/// Rows of a task: some hundred microseconds' work.
const TASK: usize = 8192;

/// Rows that lie together, and whose they are.
pub(super) struct Part<'a> {
    pub(super) vectors: Vectors<'a>,
    pub(super) ids: Ids<'a>,
}

/// Passages of rows.
pub(super) enum Ids<'a> {
    /// The first row's; the others follow.
    From(u64),
    /// Every row's, u32 little-endian.
    Listed(&'a [[u8; 4]]),
}

impl Ids<'_> {
    fn of(&self, row: usize) -> u64 {
        match self {
            Self::From(first) => first + row as u64,
            Self::Listed(ids) => u64::from(u32::from_le_bytes(ids[row])),
        }
    }
}

/// What is kept of the scores that pass by.
pub(super) trait Keep: Send {
    /// Scores of rows for the query of this number; those that are not numbers do not count.
    fn keep(&mut self, query: usize, scores: &[f32], id: impl Fn(usize) -> u64);
    /// Both.
    fn and(self, other: Self) -> Self;
}

/// The best of all, for each query.
struct Top(Vec<Best>);

impl Keep for Top {
    fn keep(&mut self, query: usize, scores: &[f32], id: impl Fn(usize) -> u64) {
        let best = &mut self.0[query];
        let mut threshold = best.threshold();
        for (row, score) in scores.iter().enumerate() {
            // Equal scores too: of those the lowest id is kept, and rows need not come in the order of ids.
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

/// The best of each source, for one query.
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
    let parts = index.parts()?;
    let tasks = all(&parts);
    let empty = || Top(vec![Best::new(top); queries.count()]);
    let found = scan(&parts, &tasks, queries, allowed, empty)?;
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
    let parts = index.parts()?;
    let empty = || TopBySource { top, columns, best: HashMap::new() };
    Ok(scan(&parts, &all(&parts), query, allowed, empty)?.best)
}

/// As [`exact`] for one query, but of the grouped rows only those in the lists that are nearest to it: `share` of all
/// that are allowed, and `top` at least. Where a filter leaves less than that to be read anyway, the search is exact.
pub(super) fn approximate(
    index: &Index,
    clusters: &Clusters,
    query: &Queries,
    top: usize,
    share: f32,
    allowed: Option<&Allowed>,
) -> Result<Vec<(u64, f32)>> {
    let parts = index.parts()?;
    let grouped = clusters.count();
    let wanted = (share * grouped as f32).ceil() as usize;
    if allowed.is_some_and(|allowed| allowed.count() <= wanted.max(top)) {
        let found = exact(index, query, top, allowed)?;
        return Ok(found.into_iter().next().unwrap_or_default());
    }
    // A share of what is allowed is as likely to hold the best of it as the same share of all is to hold the best of all.
    let wanted = allowed.map_or(wanted, |allowed| (share * allowed.count() as f32).ceil() as usize).max(top);
    // The grouped rows are the first part; the others are newer, and few.
    let mut tasks: Vec<_> = all(&parts).into_iter().filter(|(part, _)| *part > 0).collect();
    let mut seen = 0;
    for list in clusters.nearest(query)? {
        if seen >= wanted {
            break;
        }
        let rows = clusters.rows(list);
        seen += match allowed {
            None => rows.len(),
            Some(allowed) => rows.clone().filter(|row| allowed.has(parts[0].ids.of(*row))).count(),
        };
        tasks.push((0, rows));
    }
    let found = scan(&parts, &tasks, query, allowed, || Top(vec![Best::new(top)]))?;
    Ok(found.0.into_iter().next().map(Best::into_sorted).unwrap_or_default())
}

/// All rows, in tasks: number of the part, rows in it.
fn all(parts: &[Part<'_>]) -> Vec<(usize, Range<usize>)> {
    let of_part = |(number, part): (usize, &Part<'_>)| {
        let count = part.vectors.count();
        (0..count).step_by(TASK).map(move |from| (number, from..count.min(from + TASK)))
    };
    parts.iter().enumerate().flat_map(of_part).collect()
}

fn scan<K: Keep>(
    parts: &[Part<'_>],
    tasks: &[(usize, Range<usize>)],
    queries: &Queries,
    allowed: Option<&Allowed>,
    empty: impl Fn() -> K + Send + Sync,
) -> Result<K> {
    let visit = |mut kept: K, (part, rows): &(usize, Range<usize>)| -> Result<K> {
        let Part { vectors, ids } = &parts[*part];
        let mut scores = vec![0.0; queries.count() * BLOCK];
        for from in rows.clone().step_by(BLOCK) {
            let block = from..rows.end.min(from + BLOCK);
            if let Some(allowed) = allowed
                && !block.clone().any(|row| allowed.has(ids.of(row)))
            {
                continue;
            }
            let scores = &mut scores[..queries.count() * block.len()];
            vectors.scores(queries, block.clone(), scores).map_err(kernel)?;
            for (query, scores) in scores.chunks_exact_mut(block.len()).enumerate() {
                if let Some(allowed) = allowed {
                    for (score, row) in scores.iter_mut().zip(block.clone()) {
                        *score = if allowed.has(ids.of(row)) { *score } else { f32::NAN };
                    }
                }
                kept.keep(query, scores, |row| ids.of(from + row));
            }
        }
        Ok(kept)
    };
    let found = tasks.par_iter().try_fold(&empty, visit);
    found.try_reduce(&empty, |a, b| Ok(a.and(b)))
}

/// What the kernels say went wrong.
pub(super) fn kernel(e: candle_core::Error) -> MootError {
    MootError::Model(ModelError::from(e))
}
