//! Attention over pages: against the reference, and bit for bit against itself in other batches.

use crate::host::{Buffer, HALVES, close, random, same_bits};
use crate::library::{Library, library};
use candle_core::{Device, Tensor};
use moot_kernels::launch::{self, AttentionBuffers, AttentionShape, Element};
use moot_kernels::ops::attention::Attention;
use moot_kernels::ops::cascade::Cascade;
use moot_kernels::{AttentionPlan, NO_PAGE, PAGE, SequenceRows};

/// Heads, pages, and the keys and values that all sequences of a test read.
struct Case {
    element: Element,
    shape: AttentionShape,
    window: usize,
    sinks: Option<Vec<f32>>,
    pages: usize,
    k: Vec<f32>,
    v: Vec<f32>,
}

impl Case {
    fn new(element: Element, [heads, kv_heads, head_dim]: [usize; 3], pages: usize) -> Self {
        let count = pages * kv_heads * head_dim * PAGE;
        let shape = AttentionShape { heads, kv_heads, head_dim, scale: 0.3 };
        let [k, v] = [11, 12].map(|seed| random(element, seed, count));
        Self { element, shape, window: usize::MAX, sinks: None, pages, k, v }
    }

    fn within(self, window: usize) -> Self {
        Self { window, ..self }
    }

    /// With a logit for each head that is as large as scores are.
    fn with_sinks(self) -> Self {
        Self { sinks: Some(random(Element::F32, 13, self.shape.heads)), ..self }
    }

    fn q(&self, sequences: &[SequenceRows]) -> Vec<f32> {
        let per_row = self.shape.heads * self.shape.head_dim;
        // A row's query depends on its pages and its position alone.
        let row = |s: &SequenceRows, p: usize| {
            random(self.element, (s.pages[s.pages.len() - 1] as usize * 9999 + p) as u64, per_row)
        };
        sequences.iter().flat_map(|s| (s.start..s.start + s.len).flat_map(move |p| row(s, p))).collect()
    }

    /// The caches, with NaN where no sequence has written, or where no row reaches.
    fn caches(&self, sequences: &[SequenceRows]) -> [Buffer; 2] {
        let AttentionShape { kv_heads, head_dim, .. } = self.shape;
        let (mut k, mut v) = (vec![f32::NAN; self.k.len()], vec![f32::NAN; self.v.len()]);
        for sequence in sequences {
            let first = (sequence.start + 1).saturating_sub(self.window) / PAGE * PAGE;
            for position in first..sequence.start + sequence.len {
                let (page, offset) = (sequence.pages[position / PAGE] as usize, position % PAGE);
                for head in 0..kv_heads {
                    let plane = (page * kv_heads + head) * head_dim * PAGE;
                    for d in 0..head_dim {
                        k[plane + d * PAGE + offset] = self.k[plane + d * PAGE + offset];
                        v[plane + offset * head_dim + d] = self.v[plane + offset * head_dim + d];
                    }
                }
            }
        }
        [Buffer::of(self.element, &k), Buffer::of(self.element, &v)]
    }

    fn run(&self, library: &Library, sequences: &[SequenceRows]) -> Vec<f32> {
        let AttentionShape { heads, kv_heads, head_dim, .. } = self.shape;
        assert!(launch::attention_fits(self.element, heads, kv_heads, head_dim));
        let cascade = Cascade::new(sequences, heads / kv_heads, self.window);
        let (out, partial) = self.run_plan(library, sequences, &cascade);
        partial.values();
        if let Some(size) = cascade.size() {
            // Some of its partial results are no row's.
            let (padded, _) = self.run_plan(library, sequences, &cascade.padded(size));
            same_bits("a plan of a captured step", &padded.values(), &out.values());
        }
        out.values()
    }

    fn run_plan(&self, library: &Library, sequences: &[SequenceRows], cascade: &Cascade) -> (Buffer, Buffer) {
        let q = self.q(sequences);
        let (out, [k, v]) = (Buffer::unwritten(self.element, q.len()), self.caches(sequences));
        let (q, plan) = (Buffer::of(self.element, &q), Buffer::words(cascade.words()));
        let stored = cascade.rows() * self.shape.kv_heads;
        let results = launch::attention_partial_len(&self.shape, cascade) - stored;
        let partial = Buffer::of(Element::F32, &[vec![f32::NAN; results], vec![0.0; stored]].concat());
        let sinks = self.sinks.as_ref().map(|sinks| Buffer::of(Element::F32, sinks));
        let at = AttentionBuffers {
            q: q.pointer(),
            k: k.pointer(),
            v: v.pointer(),
            out: out.pointer(),
            sinks: sinks.as_ref().map_or(0, Buffer::pointer),
            partial: partial.pointer(),
            plan: plan.pointer(),
        };
        for launch in launch::attention(self.element, &self.shape, &at, cascade) {
            library.run(&launch);
        }
        assert!(partial.to_words()[results..].iter().all(|&stored| stored == 0), "the next layer counts spans from 0");
        (out, partial)
    }

    fn reference(&self, sequences: &[SequenceRows]) -> Vec<f32> {
        let AttentionShape { heads, kv_heads, head_dim, scale } = self.shape;
        // A page that was given back is out of every row's reach.
        let held = |s: &SequenceRows| SequenceRows {
            pages: s.pages.iter().map(|&page| if page == NO_PAGE { 0 } else { page }).collect(),
            ..s.clone()
        };
        let plan = AttentionPlan::new(sequences.iter().map(held).collect());
        let tensor = |values: &[f32], shape: &[usize]| Tensor::from_slice(values, shape, &Device::Cpu).unwrap();
        let q = tensor(&self.q(sequences), &[plan.rows(), heads, head_dim]);
        let k = tensor(&self.k, &[self.pages, kv_heads, head_dim, PAGE]);
        let v = tensor(&self.v, &[self.pages, kv_heads, PAGE, head_dim]);
        let sinks = self.sinks.as_ref().map(|sinks| tensor(sinks, &[heads]));
        let attention = Attention { window: self.window, sinks: sinks.as_ref(), ..Attention::new(&plan, scale) };
        attention.reference([&q, &k, &v]).unwrap().flatten_all().unwrap().to_vec1().unwrap()
    }

    /// Against the reference; then every sequence alone, and every last row alone, to the bit.
    fn check(&self, library: &Library, sequences: &[SequenceRows]) {
        let per_row = self.shape.heads * self.shape.head_dim;
        let got = self.run(library, sequences);
        let what = format!("{:?} {}", self.shape, self.element.name());
        // Weights are rounded to 16 bits before they are multiplied.
        close(&what, &got, &self.reference(sequences), crate::host::step(self.element) * 2.0);
        let mut row = 0;
        for sequence in sequences {
            let alone = self.run(library, std::slice::from_ref(sequence));
            same_bits("a sequence alone", &alone, &got[row * per_row..][..sequence.len * per_row]);
            row += sequence.len;
            let last = SequenceRows { start: sequence.start + sequence.len - 1, len: 1, ..sequence.clone() };
            let alone = self.run(library, &[last]);
            same_bits("a last row alone", &alone, &got[(row - 1) * per_row..][..per_row]);
        }
    }
}

fn sequence(start: usize, len: usize, pages: impl IntoIterator<Item = u32>) -> SequenceRows {
    SequenceRows { start, len, pages: pages.into_iter().collect() }
}

#[test]
fn decoding_rows_that_share_pages_are_the_reference_and_each_its_own() {
    let library = library();
    for element in HALVES {
        for heads in [[4, 1, 64], [6, 2, 96], [8, 2, 128], [7, 1, 64]] {
            let case = Case::new(element, heads, 40);
            // A span and more in common, the next span in part; then others, one of them at its first token.
            let shared = |own: u32| (0..10).chain([10 + 2 * own, 11 + 2 * own]);
            let mut sequences: Vec<_> = (0..5).map(|i| sequence(170 + i as usize, 1, shared(i))).collect();
            sequences.extend([sequence(0, 1, [30]), sequence(129, 2, 20..29)]);
            case.check(library, &sequences);
        }
    }
}

#[test]
fn chunks_are_the_reference_however_they_are_cut() {
    let library = library();
    for (element, heads) in [(HALVES[1], [4, 2, 128]), (HALVES[0], [4, 1, 64]), (HALVES[1], [3, 1, 96])] {
        let case = Case::new(element, heads, 24);
        case.check(library, &[sequence(0, 70, 0..5), sequence(125, 40, 8..19), sequence(3, 1, [20])]);
    }
}

#[test]
fn rows_within_a_window_are_the_reference_and_each_its_own() {
    let library = library();
    for (element, heads, window) in [
        (HALVES[0], [8, 1, 64], 128),
        (HALVES[1], [8, 2, 64], 100),
        (HALVES[1], [4, 2, 128], 150),
        (HALVES[0], [3, 1, 96], 17),
        (HALVES[1], [2, 1, 256], 40),
        (HALVES[0], [4, 2, 64], 1),
    ] {
        let case = Case::new(element, heads, 72).within(window).with_sinks();
        // Pages that no window reaches are given back, here and there; rows beside each other begin in other pages.
        let shared = |own: u32| (0..16).chain([16 + own]);
        let given_back = |start: usize, pages: std::ops::Range<u32>| {
            let first = (start + 1).saturating_sub(window) / PAGE;
            pages.enumerate().map(move |(i, page)| if i < first { NO_PAGE } else { page }).collect::<Vec<_>>()
        };
        let mut sequences: Vec<_> = (0..4).map(|i| sequence(250 + 4 * i as usize, 1, shared(i))).collect();
        sequences.extend([
            sequence(300, 3, given_back(300, 20..39)),
            // Rows of one sequence whose windows of 128 begin in two spans.
            sequence(254, 4, given_back(254, 55..72)),
            sequence(0, 1, [40]),
            sequence(140, 60, given_back(140, 41..54)),
        ]);
        case.check(library, &sequences);
    }
}

#[test]
fn heads_of_256_are_the_reference_and_each_its_own() {
    let library = library();
    for (element, heads) in [(HALVES[0], [4, 1, 256]), (HALVES[1], [8, 4, 256])] {
        let case = Case::new(element, heads, 40);
        let shared = |own: u32| (0..8).chain([8 + own]);
        let mut sequences: Vec<_> = (0..3).map(|i| sequence(130 + i as usize, 1, shared(i))).collect();
        sequences.extend([sequence(30, 70, 20..27), sequence(0, 1, [30])]);
        case.check(library, &sequences);
    }
}

#[test]
fn sinks_take_their_share_of_the_weights() {
    let library = library();
    for element in HALVES {
        let case = Case::new(element, [8, 2, 64], 24).with_sinks();
        let without = Case::new(element, [8, 2, 64], 24);
        let sequences = [sequence(0, 1, [0]), sequence(140, 1, 1..10), sequence(3, 50, 10..14)];
        case.check(library, &sequences);
        assert_ne!(case.run(library, &sequences), without.run(library, &sequences));
    }
}

#[test]
fn many_sharers_are_more_than_one_block() {
    let library = library();
    let case = Case::new(HALVES[1], [8, 1, 64], 24);
    let sequences: Vec<_> = (0..11).map(|i| sequence(35, 1, [0, 1, 2 + i])).collect();
    case.check(library, &sequences);
}

#[test]
fn a_span_of_more_visits_than_a_warp_has_lanes() {
    let library = library();
    let case = Case::new(HALVES[0], [4, 1, 64], 64);
    let own = |i: u32| (1..4).map(move |page| 3 * i + page);
    let sequences: Vec<_> = (0..16).map(|i| sequence(50 + i as usize % 9, 1, [0].into_iter().chain(own(i)))).collect();
    case.check(library, &sequences);
}
