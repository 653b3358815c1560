//! Attention in f32 and by products of bf16, on every table.

use super::{AttentionCall, BLOCK_PAGES, BlockScratch, BlockVisit, Task, Tile, Visit};
use crate::cpu::cached::Cached;
use crate::cpu::tests::numbers;
use crate::cpu::{Table, tables};
use crate::pages::{NO_PAGE, PAGE};
use half::f16;

/// One sequence of `len` new tokens from `start`, over pages 0, 1, ..: softmax attention in f64.
fn plain_attention(q: &[f32], k: &[f16], v: &[f16], dims: (usize, usize, usize), span: (usize, usize)) -> Vec<f64> {
    let ((heads, kv_heads, dim), (start, len)) = (dims, span);
    let mut out = vec![0.0; len * heads * dim];
    for row in 0..len {
        for head in 0..heads {
            let kv = head / (heads / kv_heads);
            let plane = |position: usize| (position / PAGE * kv_heads + kv) * PAGE * dim;
            let scores: Vec<f64> = (0..=start + row)
                .map(|p| {
                    let key = |d: usize| f64::from(k[plane(p) + d * PAGE + p % PAGE]);
                    (0..dim).map(|d| f64::from(q[(row * heads + head) * dim + d]) * key(d)).sum::<f64>()
                })
                .collect();
            let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = scores.iter().map(|s| (s - highest).exp()).sum();
            for (p, score) in scores.iter().enumerate() {
                for d in 0..dim {
                    let value = f64::from(v[plane(p) + p % PAGE * dim + d]);
                    out[(row * heads + head) * dim + d] += (score - highest).exp() / total * value;
                }
            }
        }
    }
    out
}

/// Query heads, KV heads, numbers of a head, the first new position, new tokens.
type Shape = (usize, usize, usize, usize, usize);

/// Random queries, keys and values. Behind the last position the pages have values that are no numbers.
struct Case {
    shape: Shape,
    q: Vec<f32>,
    k: Vec<f16>,
    v: Vec<f16>,
    positions: Vec<u32>,
    sinks: Vec<f32>,
}

impl Case {
    fn new(shape: Shape) -> Self {
        let (heads, kv_heads, dim, start, len) = shape;
        let pages = (start + len).div_ceil(PAGE);
        let cached =
            |seed| numbers(pages * kv_heads * PAGE * dim, seed).into_iter().map(f16::from_f32).collect::<Vec<_>>();
        let (mut k, mut v) = (cached(4), cached(5));
        for position in start + len..pages * PAGE {
            for kv_head in 0..kv_heads {
                let plane = (position / PAGE * kv_heads + kv_head) * PAGE * dim;
                (0..dim).for_each(|d| k[plane + d * PAGE + position % PAGE] = f16::NAN);
                v[plane + position % PAGE * dim..][..dim].fill(f16::NAN);
            }
        }
        let q = numbers(len * heads * dim, 3).iter().map(|x| x * 3.0).collect();
        let positions = (start..start + len).map(|p| p as u32).collect();
        Self { shape, q, k, v, positions, sinks: numbers(heads, 6) }
    }

    fn exact(&self) -> Vec<f64> {
        let (heads, kv_heads, dim, start, len) = self.shape;
        plain_attention(&self.q, &self.k, &self.v, (heads, kv_heads, dim), (start, len))
    }

    /// The results of one task after the other, which `attend` computes; a KV head's queries are cut behind the first `cut`.
    fn results(
        &self,
        window: usize,
        sinks: bool,
        cut: usize,
        attend: &mut dyn FnMut(&AttentionCall<'_>, &Task),
    ) -> Vec<f32> {
        let (heads, kv_heads, dim, _, len) = self.shape;
        let mut out = vec![0.0; self.q.len()];
        let call = AttentionCall {
            q: &self.q,
            k: Cached::F16(&self.k),
            v: Cached::F16(&self.v),
            out: out.as_mut_ptr(),
            positions: &self.positions,
            window,
            ends: None,
            sinks: sinks.then_some(&self.sinks),
            heads,
            kv_heads,
            head_dim: dim,
            scale: 1.0,
        };
        let all = len * heads / kv_heads;
        let tasks = |kv_head| [0..cut.min(all), cut.min(all)..all].map(|queries| Task { kv_head, queries });
        (0..kv_heads).flat_map(tasks).for_each(|task| attend(&call, &task));
        out
    }

    /// All rows, which read every page, or the blocks of a window.
    fn blocks(&self, window: usize) -> Tile<BlockVisit> {
        let (.., start, len) = self.shape;
        let rows = 0..len;
        let pages = (start + 1).saturating_sub(window) / PAGE..(start + len).div_ceil(PAGE);
        let page = |at: usize| if pages.contains(&at) { at as u32 } else { NO_PAGE };
        let visit = |first: usize| BlockVisit {
            pages: std::array::from_fn(|number| page(first + number)),
            start: first * PAGE,
            rows: rows.clone(),
        };
        let visits = (pages.start / BLOCK_PAGES * BLOCK_PAGES..pages.end).step_by(BLOCK_PAGES).map(visit).collect();
        Tile { rows, visits }
    }
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn attention_is_close_to_f64_and_the_same_on_every_table() {
    for shape in [(1, 1, 16, 0, 1), (4, 2, 64, 15, 3), (6, 3, 80, 16, 33), (7, 1, 128, 40, 5)] {
        let (heads, kv_heads, .., start, len) = shape;
        let case = Case::new(shape);
        let visits = (0..(start + len).div_ceil(PAGE)).map(|page| Visit { page, start: page * PAGE, rows: 0..len });
        let tile = Tile { rows: 0..len, visits: visits.collect() };
        let of = |table: &Table, cut: usize| {
            // SAFETY: `tables` lists what this machine can run; one task at a time.
            case.results(usize::MAX, false, cut, &mut |call, task| unsafe { (table.attention)(call, &tile, task) })
        };
        let first = of(tables()[0], usize::MAX);
        let error = first.iter().zip(case.exact()).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
        assert!(error < 2e-5, "off by {error} of {shape:?}");
        for table in tables() {
            // All queries of a head in one task and in two.
            for cut in [usize::MAX, (len * heads / kv_heads).div_ceil(3)] {
                assert_eq!(bits(&of(table, cut)), bits(&first), "{}, {shape:?}", table.name);
            }
        }
    }
}

/// Of heads that fill up a product and others, rows in one block and in several, queries that do not fill up a tile.
const ROUNDED: [Shape; 6] = [
    (1, 1, 16, 0, 1),
    (4, 2, 64, 15, 3),
    (6, 3, 80, 16, 33),
    (7, 1, 128, 140, 5),
    (3, 1, 96, 0, 150),
    (1, 1, 256, 63, 2),
];

/// The results by `attend` of all [`ROUNDED`], without and with a window and sinks, queries cut at some place.
pub(in crate::cpu) fn rounded_bits(
    cut: usize,
    mut attend: impl FnMut(&AttentionCall<'_>, &Tile<BlockVisit>, &Task, &mut BlockScratch),
) -> Vec<Vec<u32>> {
    let mut scratch = BlockScratch::default();
    let mut all = Vec::new();
    for case in ROUNDED.map(Case::new) {
        for (window, sinks) in [(usize::MAX, false), (usize::MAX, true), (20, false), (70, true)] {
            let tile = case.blocks(window);
            let mut attend = |call: &AttentionCall<'_>, task: &Task| attend(call, &tile, task, &mut scratch);
            all.push(bits(&case.results(window, sinks, cut, &mut attend)));
        }
    }
    all
}

#[test]
fn attention_of_bf16_is_the_same_on_every_table_and_for_any_queries_beside() {
    let of = |table: &Table, cut: usize| {
        // SAFETY: `tables` lists what this machine can run; one task at a time.
        rounded_bits(cut, |call, tile, task, scratch| unsafe { (table.bf16_attention)(call, tile, task, scratch) })
    };
    let first = of(tables()[0], usize::MAX);
    for table in tables() {
        for cut in [usize::MAX, 5, 17] {
            assert!(of(table, cut) == first, "{}, cut at {cut}", table.name);
        }
    }
}

/// A value and its weight have eight bits: of values up to 1 each is off by 2^-9 at most.
#[test]
fn attention_of_bf16_is_close_to_f64() {
    for shape in ROUNDED {
        let (case, mut scratch) = (Case::new(shape), BlockScratch::default());
        let tile = case.blocks(usize::MAX);
        let kernel = tables()[0].bf16_attention;
        // SAFETY: `tables` lists what this machine can run; one task at a time.
        let attend = &mut |call: &AttentionCall<'_>, task: &Task| unsafe { kernel(call, &tile, task, &mut scratch) };
        let got = case.results(usize::MAX, false, usize::MAX, attend);
        let error = got.iter().zip(case.exact()).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
        assert!(error < 4e-3, "off by {error} of {shape:?}");
    }
}
