//! Norms, rotations, activations.

use crate::host::{Buffer, ELEMENTS, close, library, random, same_bits, step};
use candle_core::{Device, Tensor};
use moot_kernels::PAGE;
use moot_kernels::launch::{self, RotateStore};

#[test]
fn norms_are_their_reference_and_sum_first_where_asked() {
    let library = library!();
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

#[test]
fn swiglu_is_its_reference() {
    let library = library!();
    for element in ELEMENTS {
        for count in [1, 8, 1000, 20_001] {
            let (gate, up) = (random(element, 4, count), random(element, 5, count));
            let [g, u] = [&gate, &up].map(|values| Buffer::of(element, values));
            let out = Buffer::unwritten(element, count);
            library.run(&launch::swiglu(element, [&g, &u, &out].map(Buffer::pointer), count));
            let expected: Vec<f32> = gate.iter().zip(&up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
            close("swiglu", &out.values(), &expected, step(element));
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

#[test]
fn rotations_are_their_reference_alone_and_with_the_store() {
    let library = library!();
    for element in ELEMENTS {
        for (tokens, heads, kv_heads, dim) in [(1, 1, 1, 2), (5, 6, 2, 64), (21, 4, 4, 16)] {
            let q = random(element, 6, tokens * heads * dim);
            let (k, v) = (random(element, 7, tokens * kv_heads * dim), random(element, 8, tokens * kv_heads * dim));
            let [cos, sin] = angles(tokens, dim).map(|values| Buffer::of(ELEMENTS[0], &values));
            let [q_in, k_in, v_in] = [&q, &k, &v].map(|values| Buffer::of(element, values));
            let [alone, q_out] = [(); 2].map(|()| Buffer::unwritten(element, q.len()));
            let pointers = [&q_in, &cos, &sin, &alone].map(Buffer::pointer);
            library.run(&launch::rope(element, pointers, tokens, heads, dim));
            // Token i into page 2 * i % 5, so that no two slots are one.
            let places: Vec<(usize, usize)> = (0..tokens).map(|i| (2 * i % 5, i % PAGE)).collect();
            let slots = Buffer::words(&places.iter().map(|(page, at)| (page * PAGE + at) as u32).collect::<Vec<_>>());
            let zeros = vec![0.0; 5 * kv_heads * dim * PAGE];
            let [k_cache, v_cache] = [(); 2].map(|()| Buffer::of(element, &zeros));
            let at = RotateStore {
                q: q_in.pointer(),
                k: k_in.pointer(),
                v: v_in.pointer(),
                cos: cos.pointer(),
                sin: sin.pointer(),
                slots: slots.pointer(),
                q_out: q_out.pointer(),
                k_cache: k_cache.pointer(),
                v_cache: v_cache.pointer(),
            };
            library.run(&launch::rotate_store(&at, element, tokens, [heads, kv_heads], dim));
            let near = step(element) * 2.0;
            close("queries", &q_out.values(), &turned(&q, heads, dim), near);
            same_bits("alone", &alone.values(), &q_out.values());
            let keys = turned(&k, kv_heads, dim);
            let (mut stored_keys, mut stored_values) = (zeros.clone(), zeros);
            for (token, (page, place)) in places.into_iter().enumerate() {
                for head in 0..kv_heads {
                    for d in 0..dim {
                        let from = (token * kv_heads + head) * dim + d;
                        let plane = (page * kv_heads + head) * dim * PAGE;
                        stored_keys[plane + d * PAGE + place] = keys[from];
                        stored_values[plane + place * dim + d] = v[from];
                    }
                }
            }
            close("stored keys", &k_cache.values(), &stored_keys, near);
            same_bits("stored values", &v_cache.values(), &stored_values);
        }
    }
}
