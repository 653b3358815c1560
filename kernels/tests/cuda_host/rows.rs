//! Norms, rotations, activations.

use crate::host::{Buffer, ELEMENTS, close, random, same_bits, size, step};
use crate::library::{Library, library};
use candle_core::{Device, Tensor};
use moot_kernels::PAGE;
use moot_kernels::launch::{self, Element, RotateStore};

#[test]
fn norms_are_their_reference_and_sum_first_where_asked() {
    let library = library();
    for element in ELEMENTS {
        for (rows, hidden) in [(1, 1), (3, 7), (2, 64), (5, 896), (2, 4100)] {
            let (x, delta) = (random(element, 1, rows * hidden), random(element, 2, rows * hidden));
            let weight = random(element, 3, hidden);
            let [a, b, w] = [&x, &delta, &weight].map(|values| Buffer::of(element, values));
            let [out, sum, sum_out] = [(); 3].map(|()| Buffer::unwritten(element, rows * hidden));
            library.run(&launch::rms_norm(element, [&a, &w, &out].map(Buffer::pointer), rows, hidden, 1e-5));
            let pointers = [&a, &b, &w, &sum, &sum_out].map(Buffer::pointer);
            library.run(&launch::add_rms_norm(element, pointers, rows, hidden, 1e-5));
            let added: Vec<f32> = x.iter().zip(&delta).map(|(x, d)| x + d).collect();
            let added = Buffer::of(element, &added).values();
            same_bits("the sum", &sum.values(), &added);
            let what = format!("norm of {rows} x {hidden}, {}", element.name());
            // Sums of thousands of squares, in another order.
            let near = step(element) * 2.0 + 1e-6;
            close(&what, &out.values(), &normed(&x, &weight, rows), near);
            close(&what, &sum_out.values(), &normed(&added, &weight, rows), near);
        }
    }
}

fn normed(x: &[f32], weight: &[f32], rows: usize) -> Vec<f32> {
    let x = Tensor::from_slice(x, (rows, weight.len()), &Device::Cpu).unwrap();
    let weight = Tensor::new(weight, &Device::Cpu).unwrap();
    candle_nn::ops::rms_norm(&x, &weight, 1e-5).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

/// `width` columns of the rows of `values` from column `first` on.
fn columns(values: &[f32], stride: usize, first: usize, width: usize) -> Vec<f32> {
    values.chunks_exact(stride).flat_map(|row| &row[first..first + width]).copied().collect()
}

#[test]
fn swiglu_is_its_reference_on_matrices_and_on_columns_of_one() {
    let library = library();
    for element in ELEMENTS {
        for (rows, width) in [(1, 1), (3, 8), (5, 1000), (1, 20_001), (4, 4104)] {
            let both = random(element, 4, rows * 2 * width);
            let (gate, up) = (columns(&both, 2 * width, 0, width), columns(&both, 2 * width, width, width));
            let expected: Vec<f32> = gate.iter().zip(&up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
            let [both, gate, up] = [&both, &gate, &up].map(|values| Buffer::of(element, values));
            let [apart, beside] = [(); 2].map(|()| Buffer::unwritten(element, rows * width));
            let pointers = [&gate, &up, &apart].map(Buffer::pointer);
            library.run(&launch::swiglu(element, pointers, [rows, width], [width; 2]));
            let second = both.pointer() + (width * size(element)) as u64;
            let pointers = [both.pointer(), second, beside.pointer()];
            library.run(&launch::swiglu(element, pointers, [rows, width], [2 * width; 2]));
            close("swiglu", &apart.values(), &expected, step(element));
            same_bits("columns", &beside.values(), &apart.values());
        }
    }
}

/// Cosines and sines for so many tokens of heads of `dim`.
fn angles(tokens: usize, dim: usize) -> [Vec<f32>; 2] {
    let angles: Vec<f32> = (0..tokens * dim / 2).map(|i| i as f32 * 0.37).collect();
    [angles.iter().map(|a| a.cos()).collect(), angles.iter().map(|a| a.sin()).collect()]
}

fn turned(x: &[f32], heads: usize, dim: usize) -> Vec<f32> {
    let tokens = x.len() / heads / dim;
    let table = |values: &[f32]| Tensor::from_slice(values, (tokens, dim / 2), &Device::Cpu).unwrap();
    let x = Tensor::from_slice(x, (1, tokens, heads, dim), &Device::Cpu).unwrap();
    let [cos, sin] = angles(tokens, dim);
    let out = candle_nn::rotary_emb::rope_thd(&x, &table(&cos), &table(&sin)).unwrap();
    out.flatten_all().unwrap().to_vec1().unwrap()
}

/// As numbers of `element` are once they have been rounded.
fn rounded(element: Element, values: &[f32]) -> Vec<f32> {
    Buffer::of(element, values).values()
}

/// The step between the projections and attention, for this number of tokens.
struct Step {
    element: Element,
    tokens: usize,
    heads: [usize; 3],
    dim: usize,
    /// Queries, keys and values, side by side.
    rows: Vec<f32>,
    bias: Vec<f32>,
    /// `[dim]` each.
    norms: Option<[Vec<f32>; 2]>,
}

impl Step {
    fn new(element: Element, [tokens, heads, kv_heads, dim]: [usize; 4]) -> Self {
        let width = (heads + 2 * kv_heads) * dim;
        let (rows, bias) = (random(element, 6, tokens * width), random(element, 7, width));
        let norms = Some([random(element, 8, dim), random(element, 9, dim)]);
        Self { element, tokens, heads: [heads, kv_heads, kv_heads], dim, rows, bias, norms }
    }

    /// Without what not every model has.
    fn plain(self) -> Self {
        Self { bias: Vec::new(), norms: None, ..self }
    }

    fn width(&self) -> usize {
        self.heads.iter().sum::<usize>() * self.dim
    }

    /// Where queries, keys and values begin in a row.
    fn first(&self, which: usize) -> usize {
        self.heads[..which].iter().sum::<usize>() * self.dim
    }

    /// Token i into page 2 * i % 5, so that no two slots are one.
    fn slots(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.tokens).map(|i| (2 * i % 5, i % PAGE))
    }

    /// Queries, keys and values one by one, each op rounded.
    fn expected(&self) -> [Vec<f32>; 3] {
        [0, 1, 2].map(|which| {
            let (first, width) = (self.first(which), self.heads[which] * self.dim);
            let mut x = columns(&self.rows, self.width(), first, width);
            if !self.bias.is_empty() {
                let biased = x.iter().enumerate().map(|(i, x)| x + self.bias[first + i % width]);
                x = rounded(self.element, &biased.collect::<Vec<_>>());
            }
            if let Some(norm) = self.norms.as_ref().and_then(|norms| norms.get(which)) {
                let rows = x.len() / self.dim;
                x = rounded(self.element, &normed(&x, norm, rows));
            }
            if which < 2 { turned(&x, self.heads[which], self.dim) } else { x }
        })
    }

    /// Queries, and the two caches.
    fn run(&self, library: &Library) -> [Vec<f32>; 3] {
        let (element, [heads, kv_heads, _], dim) = (self.element, self.heads, self.dim);
        let [cos, sin] = angles(self.tokens, dim).map(|values| Buffer::of(ELEMENTS[0], &values));
        let (rows, bias) = (Buffer::of(element, &self.rows), Buffer::of(element, &self.bias));
        let norms = self.norms.as_ref().map(|norms| norms.each_ref().map(|norm| Buffer::of(element, norm)));
        let q_out = Buffer::unwritten(element, self.tokens * heads * dim);
        let slots = Buffer::words(&self.slots().map(|(page, at)| (page * PAGE + at) as u32).collect::<Vec<_>>());
        let zeros = vec![0.0; 5 * kv_heads * dim * PAGE];
        let [k_cache, v_cache] = [(); 2].map(|()| Buffer::of(element, &zeros));
        let column = |buffer: &Buffer, which| buffer.pointer() + (self.first(which) * size(element)) as u64;
        let projected = [0, 1, 2].map(|which| launch::Projected {
            rows: column(&rows, which),
            stride: self.width(),
            bias: if self.bias.is_empty() { 0 } else { column(&bias, which) },
            norm: norms.as_ref().and_then(|norms| norms.get(which)).map_or(0, Buffer::pointer),
        });
        let at = RotateStore {
            projected,
            cos: cos.pointer(),
            sin: sin.pointer(),
            slots: slots.pointer(),
            q_out: q_out.pointer(),
            k_cache: k_cache.pointer(),
            v_cache: v_cache.pointer(),
        };
        library.run(&launch::rotate_store(&at, element, self.tokens, [heads, kv_heads, dim], 1e-5));
        [q_out, k_cache, v_cache].map(|buffer| buffer.values())
    }

    fn check(&self, library: &Library) {
        let [q, k, v] = self.expected();
        let [got, k_cache, v_cache] = self.run(library);
        // Sums of squares are in another order: a step more for what is rounded three times.
        let near = step(self.element) * 4.0 + 2e-6;
        close("queries", &got, &q, near);
        let (kv_heads, dim) = (self.heads[1], self.dim);
        let (mut keys, mut values) = (vec![0.0; k_cache.len()], vec![0.0; v_cache.len()]);
        for (token, (page, offset)) in self.slots().enumerate() {
            for head in 0..kv_heads {
                for d in 0..dim {
                    let from = (token * kv_heads + head) * dim + d;
                    let plane = (page * kv_heads + head) * dim * PAGE;
                    keys[plane + d * PAGE + offset] = k[from];
                    values[plane + offset * dim + d] = v[from];
                }
            }
        }
        close("stored keys", &k_cache, &keys, near);
        same_bits("stored values", &v_cache, &values);
    }
}

#[test]
fn the_step_between_projections_and_attention_equals_the_reference() {
    let library = library();
    for element in ELEMENTS {
        for shape in [[1, 1, 1, 2], [5, 6, 2, 64], [21, 4, 4, 16], [3, 20, 4, 96]] {
            Step::new(element, shape).check(library);
            Step::new(element, shape).plain().check(library);
            let of_one = Step::new(element, shape);
            Step { norms: None, ..of_one }.check(library);
        }
    }
}

#[test]
fn a_rotation_alone_has_the_bits_of_that_with_the_store() {
    let library = library();
    for element in ELEMENTS {
        for [tokens, heads, kv_heads, dim] in [[1, 1, 1, 2], [5, 6, 2, 64], [7, 18, 3, 96]] {
            let step = Step::new(element, [tokens, heads, kv_heads, dim]).plain();
            let q = columns(&step.rows, step.width(), 0, heads * dim);
            let [cos, sin] = angles(tokens, dim).map(|values| Buffer::of(ELEMENTS[0], &values));
            let (q_in, alone) = (Buffer::of(element, &q), Buffer::unwritten(element, q.len()));
            let pointers = [&q_in, &cos, &sin, &alone].map(Buffer::pointer);
            library.run(&launch::rope(element, pointers, tokens, heads, dim));
            close("alone", &alone.values(), &turned(&q, heads, dim), crate::host::step(element) * 2.0);
            same_bits("alone", &alone.values(), &step.run(library)[0]);
        }
    }
}
