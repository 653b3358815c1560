//! From logits to a token: greedy, or at random from a generator of the request's own. Log-probabilities of tokens.

use super::request::TokenLogprobs;
use crate::generation::{Logprobs, Sampling};
use moot_models::kernels::cpu::exp_all;
use moot_models::kernels::launch::{Choice, NO_MASK};
use moot_models::kernels::math::{exp_f32, ln};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Chooses tokens for one request.
#[derive(Debug)]
pub(super) struct Sampler {
    sampling: Sampling,
    // Not `StdRng`, whose algorithm may change with a version of `rand`: recorded seeds must give the same replies.
    random: ChaCha8Rng,
}

impl Sampler {
    pub(super) fn new(sampling: Sampling, seed: u64) -> Self {
        Self { sampling, random: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// The next token among those whose bit `mask` has; `None` when no allowed logit is a number.
    pub(super) fn choose(&mut self, logits: &[f32], mask: Option<&[u32]>) -> Option<u32> {
        match self.sampling {
            Sampling::Greedy => greedy(logits, mask),
            Sampling::Seeded { temperature, top_k, top_p } => {
                // Drawn for every token, so that the generator advances alike on the CPU and on a GPU.
                let uniform = self.uniform();
                if top_k == 0 && top_p >= 1.0 {
                    return at_random(allowed(logits, mask), temperature, uniform);
                }
                at_random_of_likeliest(allowed(logits, mask), temperature, top_k, top_p, uniform)
            }
        }
    }

    /// The same for a GPU to do, without a mask. Advances the generator as [`Self::choose`] does.
    pub(super) fn choice(&mut self) -> Choice {
        match self.sampling {
            Sampling::Greedy => Choice { temperature: 0.0, top_p: 1.0, draw: 0.0, top_k: 0, mask: NO_MASK },
            Sampling::Seeded { temperature, top_k, top_p } => {
                let top_k = u32::try_from(top_k).unwrap_or(u32::MAX);
                Choice { temperature, top_p, draw: self.uniform(), top_k, mask: NO_MASK }
            }
        }
    }

    /// Uniform in [0, 1), with 24 bits: the significand of an f32 has no more.
    fn uniform(&mut self) -> f32 {
        (self.random.next_u32() >> 8) as f32 / (1_u32 << 24) as f32
    }
}

/// The likeliest token; of equals the lowest id.
fn greedy(logits: &[f32], mask: Option<&[u32]>) -> Option<u32> {
    let (mut best, mut highest) = (None, f32::NEG_INFINITY);
    for (word, logits) in logits.chunks(32).enumerate() {
        let bits = mask.map_or(u32::MAX, |mask| mask[word]);
        // Rarely true, so it is tested for all 32 at once.
        if bits == 0 || !logits.iter().fold(false, |any, &logit| any | (logit > highest)) {
            continue;
        }
        for (bit, &logit) in logits.iter().enumerate() {
            // A comparison with NaN is false, so NaN is never chosen.
            if logit > highest && bits >> bit & 1 == 1 {
                (best, highest) = (Some((32 * word + bit) as u32), logit);
            }
        }
    }
    best
}

/// Allowed tokens whose logits are numbers, in the order of ids.
fn allowed<'a>(logits: &'a [f32], mask: Option<&'a [u32]>) -> impl Iterator<Item = Candidate> + Clone + 'a {
    let allowed = move |id: u32| mask.is_none_or(|mask| mask[id as usize / 32] >> (id % 32) & 1 == 1);
    let all = (0..).zip(logits.iter().copied()).map(|(id, logit)| Candidate { id, logit });
    all.filter(move |candidate| candidate.logit.is_finite() && allowed(candidate.id))
}

/// A token and its logit. The likelier one is the greater, of equals the one with the lower id: a total order, so that equal
/// inputs give equal outputs everywhere.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    id: u32,
    logit: f32,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.logit.total_cmp(&other.logit).then(other.id.cmp(&self.id))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

/// A weight below `e^NEGLIGIBLE` of a sum of f32 does not change that sum: `e^-18` is half of `2^-25`, and half a unit in
/// the sum's last place is more than `2^-25` of it.
const NEGLIGIBLE: f32 = -18.0;

/// Candidates sorted at first. Each further batch is twice as large, and sorted only if it could change the sum.
const SORTED: usize = 256;

/// Numerators of a softmax: 1 for the highest logit.
fn weights(candidates: &[Candidate], highest: f32, temperature: f32) -> Vec<f32> {
    let mut weights: Vec<f32> = candidates.iter().map(|c| (c.logit - highest) / temperature).collect();
    exp_all(&mut weights);
    weights
}

fn highest(candidates: impl Iterator<Item = Candidate>) -> f32 {
    candidates.map(|candidate| candidate.logit).fold(f32::NEG_INFINITY, f32::max)
}

/// Draws one of `candidates` by its probability at `temperature`; `uniform` in [0, 1) is the quantile.
fn at_random(candidates: impl Iterator<Item = Candidate> + Clone, temperature: f32, uniform: f32) -> Option<u32> {
    let highest = highest(candidates.clone());
    let candidates: Vec<Candidate> = candidates.collect();
    let ids = candidates.iter().map(|candidate| candidate.id);
    let weights: Vec<(u32, f32)> = ids.zip(weights(&candidates, highest, temperature)).collect();
    let total = weights.iter().fold(0.0, |total, (_, weight)| total + weight);
    pick(&weights, total, 1.0, uniform)
}

/// As [`at_random`], of the `top_k` likeliest (0: all) and of these the smallest set whose probability reaches `top_p`.
fn at_random_of_likeliest(
    candidates: impl Iterator<Item = Candidate> + Clone,
    temperature: f32,
    top_k: usize,
    top_p: f32,
    uniform: f32,
) -> Option<u32> {
    let highest = highest(candidates.clone());
    let mut kept: Vec<Candidate> =
        candidates.filter(|candidate| (candidate.logit - highest) / temperature >= NEGLIGIBLE).collect();
    if top_k > 0 && top_k < kept.len() {
        kept.select_nth_unstable_by_key(top_k - 1, |&candidate| Reverse(candidate));
        kept.truncate(top_k);
    }
    let (weights, total) = weights_in_order(kept, highest, temperature);
    pick(&weights, total, top_p, uniform)
}

/// Weights of the candidates, likeliest first, and their sum in that order. Weights that are too small to change a bit
/// of the sum are left out, so that a large vocabulary need not be sorted.
fn weights_in_order(mut rest: Vec<Candidate>, highest: f32, temperature: f32) -> (Vec<(u32, f32)>, f32) {
    let (mut weights, mut total) = (Vec::new(), 0.0_f32);
    let mut count = SORTED;
    while !rest.is_empty() {
        count = count.min(rest.len());
        if count < rest.len() {
            rest.select_nth_unstable_by_key(count - 1, |&candidate| Reverse(candidate));
        }
        rest[..count].sort_unstable_by_key(|&candidate| Reverse(candidate));
        let numerators = self::weights(&rest[..count], highest, temperature);
        for (candidate, weight) in rest.drain(..count).zip(numerators) {
            total += weight;
            weights.push((candidate.id, weight));
        }
        let least = NEGLIGIBLE + ln(f64::from(total)) as f32;
        rest.retain(|candidate| (candidate.logit - highest) / temperature >= least);
        count *= 2;
    }
    (weights, total)
}

/// Draws from the nucleus, the first of `weights` whose sum reaches `top_p` of `total`; `uniform` is the quantile.
fn pick(weights: &[(u32, f32)], total: f32, top_p: f32, uniform: f32) -> Option<u32> {
    let (mut nucleus, mut count) = (0.0, 0);
    // At least one token, also with `top_p` 0.
    while count < weights.len() && (count == 0 || nucleus < top_p * total) {
        nucleus += weights[count].1;
        count += 1;
    }
    let mut left = uniform * nucleus;
    for &(id, weight) in &weights[..count] {
        left -= weight;
        if left < 0.0 {
            return Some(id);
        }
    }
    // By rounding, `left` may not have fallen below 0 at the last weight.
    weights[..count].last().map(|(id, _)| *id)
}

/// Log-probabilities of `token` and of the tokens that `wanted` names, by one softmax over all `logits`: the sum is in f64
/// and in the order of ids, so equal logits give equal bits.
pub(super) fn logprobs(logits: &[f32], token: u32, wanted: &Logprobs) -> TokenLogprobs {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f64 = logits.iter().map(|l| f64::from(exp_f32(l - highest))).sum();
    let normal = highest + ln(total) as f32;
    let of = |id: u32| logits[id as usize] - normal;
    TokenLogprobs {
        token,
        logprob: of(token),
        top: likeliest(logits, wanted.top).into_iter().map(|id| (id, of(id))).collect(),
        watched: wanted.watch.iter().map(|&id| of(id)).collect(),
    }
}

/// The `count` likeliest tokens, likeliest first, by a heap of as many.
fn likeliest(logits: &[f32], count: usize) -> Vec<u32> {
    let count = count.min(logits.len());
    let mut heap: BinaryHeap<Reverse<Candidate>> = BinaryHeap::with_capacity(count);
    for (id, &logit) in (0..).zip(logits) {
        let candidate = Candidate { id, logit };
        if heap.len() < count {
            heap.push(Reverse(candidate));
        } else if let Some(mut least) = heap.peek_mut()
            && candidate > least.0
        {
            *least = Reverse(candidate);
        }
    }
    heap.into_sorted_vec().into_iter().map(|Reverse(candidate)| candidate.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_takes_the_lowest_of_equals_and_refuses_nan() {
        assert_eq!(greedy(&[0.0, 2.0, 2.0], None), Some(1));
        assert_eq!(greedy(&[f32::NAN, f32::NEG_INFINITY], None), None);
        assert_eq!(greedy(&[f32::NAN, -5.0], None), Some(1));
    }

    #[test]
    fn masked_tokens_are_never_chosen() {
        let logits: Vec<f32> = (0..100).map(|id| (id * 37 % 100) as f32).collect();
        let allow = |ids: &[usize]| {
            let mut mask = vec![0; 4];
            ids.iter().for_each(|id| mask[id / 32] |= 1 << (id % 32));
            mask
        };
        // 37 * 27 = 999: the largest of all is in the first word.
        assert_eq!(greedy(&logits, None), Some(27));
        for ids in [&[99][..], &[31, 32, 33], &[0, 64, 98], &[]] {
            let best = ids.iter().copied().max_by(|&a, &b| logits[a].total_cmp(&logits[b]));
            assert_eq!(greedy(&logits, Some(&allow(ids))), best.map(|id| id as u32), "{ids:?}");
            let kept: Vec<usize> = allowed(&logits, Some(&allow(ids))).map(|candidate| candidate.id as usize).collect();
            assert_eq!(kept, ids);
        }
    }

    #[test]
    fn top_k_and_top_p_keep_the_likeliest() {
        let logits = [1.0_f32.ln(), 2.0_f32.ln(), 3.0_f32.ln(), 4.0_f32.ln()];
        for (top_k, top_p, kept) in
            [(1, 1.0, vec![3]), (2, 1.0, vec![3, 2]), (0, 0.5, vec![3, 2]), (0, 1.0, vec![3, 2, 1, 0])]
        {
            let mut seen: Vec<u32> = (0..1000)
                .filter_map(|i| at_random_of_likeliest(allowed(&logits, None), 1.0, top_k, top_p, i as f32 / 1000.0))
                .collect();
            seen.dedup();
            assert_eq!(seen, kept, "top_k {top_k}, top_p {top_p}");
        }
        let mut seen: Vec<u32> =
            (0..1000).filter_map(|i| at_random(allowed(&logits, None), 1.0, i as f32 / 1000.0)).collect();
        seen.dedup();
        assert_eq!(seen, [0, 1, 2, 3], "without a cut, by id");
    }

    /// The definition: everything is sorted, then weighted.
    fn sorted(logits: &[f32], temperature: f32, top_k: usize) -> (Vec<(u32, f32)>, f32) {
        let mut all: Vec<Candidate> = allowed(logits, None).collect();
        all.sort_unstable_by_key(|&candidate| Reverse(candidate));
        all.truncate(if top_k > 0 { top_k } else { all.len() });
        let highest = highest(all.iter().copied());
        let weights: Vec<(u32, f32)> = all.iter().map(|c| c.id).zip(weights(&all, highest, temperature)).collect();
        let total = weights.iter().fold(0.0, |total, (_, weight)| total + weight);
        (weights, total)
    }

    /// Logits that are spread wide, tied in large groups, or all near each other.
    fn spreads(seed: u64) -> Vec<Vec<f32>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut bell = |_| (0..12).map(|_| (random.next_u32() >> 8) as f32 / (1 << 24) as f32).sum::<f32>() - 6.0;
        let wide: Vec<f32> = (0..20_000).map(|i| 5.0 * bell(i)).collect();
        let tied = wide.iter().map(|logit| logit.round()).collect();
        let flat = wide.iter().map(|logit| logit / 50.0).collect();
        vec![wide, tied, flat]
    }

    #[test]
    fn cuts_agree_with_sorting_the_whole_vocabulary() {
        for logits in spreads(1).iter().chain(&spreads(2)) {
            for temperature in [0.01, 0.7, 1.0, 3.0] {
                for top_k in [0, 50, 5000] {
                    let (weights, total) = sorted(logits, temperature, top_k);
                    for top_p in [0.1, 0.9, 0.999, 1.0] {
                        for uniform in [0.0, 0.3, 0.9, 0.999_999] {
                            let expected = pick(&weights, total, top_p, uniform);
                            let candidates = allowed(logits, None);
                            let found = at_random_of_likeliest(candidates, temperature, top_k, top_p, uniform);
                            assert_eq!(found, expected, "at {temperature}, {top_k}, {top_p}, {uniform}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_vocabulary_is_not_sorted_for_top_p() {
        for logits in &spreads(3)[..2] {
            let highest = highest(allowed(logits, None));
            let (all, expected) = sorted(logits, 0.7, 0);
            let (kept, total) = weights_in_order(allowed(logits, None).collect(), highest, 0.7);
            assert_eq!((&all[..kept.len()], expected.to_bits()), (&kept[..], total.to_bits()));
            assert!(kept.len() < all.len() / 4, "{} of {}", kept.len(), all.len());
        }
    }

    #[test]
    fn frequencies_follow_the_probabilities() {
        let mut sampler = Sampler::new(Sampling::Seeded { temperature: 1.0, top_k: 0, top_p: 1.0 }, 7);
        let logits = [0.25_f32.ln(), 0.75_f32.ln()];
        let ones = (0..4000).filter(|_| sampler.choose(&logits, None) == Some(1)).count();
        assert!((2880..3120).contains(&ones), "{ones} of 4000 for 3000 expected");
    }

    #[test]
    fn logprobs_are_a_log_softmax() {
        let logits = [0.5_f32.ln(), 0.25_f32.ln(), 0.25_f32.ln()];
        let report = logprobs(&logits, 1, &Logprobs { top: 2, watch: vec![2, 0, 2] });
        assert!((report.logprob - 0.25_f32.ln()).abs() < 1e-6);
        assert_eq!(report.top.iter().map(|t| t.0).collect::<Vec<_>>(), [0, 1]);
        assert!((report.top[0].1 - 0.5_f32.ln()).abs() < 1e-6);
        assert_eq!(report.watched, [report.logprob, report.top[0].1, report.logprob]);
    }

    #[test]
    fn the_likeliest_are_those_of_a_sort_with_ties_by_id() {
        for logits in spreads(4) {
            let mut all: Vec<u32> = (0..logits.len() as u32).collect();
            all.sort_by(|&a, &b| logits[b as usize].total_cmp(&logits[a as usize]).then(a.cmp(&b)));
            for count in [0, 1, 7, 500, 20_000, 30_000] {
                assert_eq!(likeliest(&logits, count), all[..count.min(all.len())], "{count}");
            }
        }
    }
}
