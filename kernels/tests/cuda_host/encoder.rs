//! Attention without a mask, and the layer norm of a sum.

use crate::host::{Buffer, close, random, same_bits};
use crate::library::{Library, library};
use candle_core::{Device, Tensor};
use moot_kernels::Texts;
use moot_kernels::launch::{self, Element};
use moot_kernels::ops::{add_norm, bidirectional};

const F32: Element = Element::F32;

fn attend(library: &Library, [q, k, v]: [&[f32]; 3], lengths: &[usize], heads: [usize; 2]) -> Vec<f32> {
    let texts = Texts::new(lengths.iter().copied());
    let blocks = launch::bidirectional_blocks((0..texts.count()).map(|text| texts.range(text)));
    let [q, k, v] = [q, k, v].map(|values| Buffer::of(F32, values));
    let (plan, out) = (Buffer::words(&blocks), Buffer::unwritten(F32, q.values().len()));
    let pointers = [&q, &k, &v, &out, &plan].map(Buffer::pointer);
    library.run(&launch::bidirectional(pointers, blocks.len() / 3, heads, 0.2).unwrap());
    out.values()
}

#[test]
fn attention_is_its_reference_and_a_text_does_not_depend_on_the_batch() {
    let library = library();
    let lengths = [1, 65, 16, 130, 7];
    let tokens: usize = lengths.iter().sum();
    for heads in [[3, 32], [2, 64]] {
        let width = heads[0] * heads[1];
        let [q, k, v] = [1, 2, 3].map(|seed| random(F32, seed, tokens * width));
        let got = attend(library, [&q, &k, &v], &lengths, heads);
        let tensor = |values: &[f32]| Tensor::from_slice(values, (tokens, width), &Device::Cpu).unwrap();
        let expected = {
            let [q, k, v] = [tensor(&q), tensor(&k), tensor(&v)];
            bidirectional::reference([&q, &k, &v], &Texts::new(lengths), heads[0], 0.2, None).unwrap()
        };
        close("attention", &got, &expected.flatten_all().unwrap().to_vec1().unwrap(), 1e-5);
        let mut first = 0;
        for length in lengths {
            let own = first * width..(first + length) * width;
            let [q, k, v] = [&q, &k, &v].map(|values| &values[own.clone()]);
            same_bits("a text alone", &attend(library, [q, k, v], &[length], heads), &got[own.clone()]);
            first += length;
        }
    }
    assert!(launch::bidirectional([0; 5], 1, [1, 48], 1.0).is_none());
}

#[test]
fn the_norm_of_a_sum_is_its_reference() {
    let library = library();
    for (rows, hidden) in [(1, 1), (5, 33), (9, 384)] {
        let [x, residual] = [1, 2].map(|seed| random(F32, seed, rows * hidden));
        let [weight, bias] = [3, 4].map(|seed| random(F32, seed, hidden));
        let [a, b, w, c] = [&x, &residual, &weight, &bias].map(|values| Buffer::of(F32, values));
        let out = Buffer::unwritten(F32, rows * hidden);
        let pointers = [&a, &b, &w, &c, &out].map(Buffer::pointer);
        library.run(&launch::add_norm(pointers, rows, hidden, 1e-6));
        let tensor = |values: &[f32], shape: &[usize]| Tensor::from_slice(values, shape, &Device::Cpu).unwrap();
        let [x, residual] = [tensor(&x, &[rows, hidden]), tensor(&residual, &[rows, hidden])];
        let [weight, bias] = [tensor(&weight, &[hidden]), tensor(&bias, &[hidden])];
        let expected = add_norm::reference(&x, &residual, &weight, &bias, 1e-6).unwrap();
        close("norm of a sum", &out.values(), &expected.flatten_all().unwrap().to_vec1().unwrap(), 2e-5);
    }
}
