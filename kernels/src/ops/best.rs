//! The highest of many scores.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The `limit` highest scores pushed, with their ids. Of equal scores the lowest ids are kept, in whatever order they
/// came; NaN is never kept.
#[derive(Debug, Clone)]
pub struct Best {
    limit: usize,
    /// The lowest on top.
    heap: BinaryHeap<Reverse<Kept>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Kept {
    score: f32,
    id: u64,
}

impl Eq for Kept {}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.id.cmp(&self.id))
    }
}

impl Best {
    /// Room for `limit`.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        // Not allocated in advance: the limit is a user's number.
        Self { limit, heap: BinaryHeap::new() }
    }

    /// The lowest score that [`Best::push`] may keep.
    #[must_use]
    pub fn threshold(&self) -> f32 {
        match self.heap.peek() {
            Some(Reverse(worst)) if self.heap.len() >= self.limit => worst.score,
            _ if self.limit == 0 => f32::INFINITY,
            _ => f32::NEG_INFINITY,
        }
    }

    /// Keeps `score` if it is among the best.
    pub fn push(&mut self, score: f32, id: u64) {
        if score.is_nan() || self.limit == 0 {
            return;
        }
        // Zeros of either sign are one score.
        let kept = Kept { score: score + 0.0, id };
        if self.heap.len() < self.limit {
            self.heap.push(Reverse(kept));
        } else if let Some(mut worst) = self.heap.peek_mut().filter(|worst| worst.0 < kept) {
            *worst = Reverse(kept);
        }
    }

    /// Keeps the best of both.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        for Reverse(kept) in other.heap {
            self.push(kept.score, kept.id);
        }
        self
    }

    /// Ids and scores, best first.
    #[must_use]
    pub fn into_sorted(self) -> Vec<(u64, f32)> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(kept)| (kept.id, kept.score)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selection_agrees_with_sorting_in_any_order() {
        let scores: Vec<(u64, f32)> = (0..500_u64).map(|id| (id, ((id * 7919) % 97) as f32 - 40.0)).collect();
        let mut sorted = scores.clone();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        for limit in [0, 1, 7, 499, 500, 600] {
            let mut forward = Best::new(limit);
            let mut backward = Best::new(limit);
            for (id, score) in &scores {
                forward.push(*score, *id);
            }
            for (id, score) in scores.iter().rev() {
                backward.push(*score, *id);
            }
            backward.push(f32::NAN, 0);
            let want = &sorted[..limit.min(500)];
            assert_eq!(forward.clone().into_sorted(), want, "limit {limit}");
            assert_eq!(backward.into_sorted(), want, "limit {limit}, backward");
            let (mut left, mut right) = (Best::new(limit), Best::new(limit));
            for (id, score) in &scores {
                if id % 3 == 0 { left.push(*score, *id) } else { right.push(*score, *id) }
            }
            assert_eq!(right.merge(left).into_sorted(), want, "limit {limit}, merged");
            assert!(limit == 0 || want.last().is_none_or(|w| limit > 500 || forward.threshold() == w.1));
        }
    }
}
