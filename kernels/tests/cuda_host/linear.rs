//! The linear layer whose rows do not depend on the batch.

use crate::host::{Buffer, HALVES, close, random, same_bits};
use crate::library::{Library, library};
use moot_kernels::launch::{self, Element};

fn apply(library: &Library, element: Element, x: &[f32], w: &Buffer, [rows, inputs, outputs]: [usize; 3]) -> Vec<f32> {
    let (x, y) = (Buffer::of(element, x), Buffer::unwritten(element, rows * outputs));
    let pointers = [&x, w, &y].map(Buffer::pointer);
    library.run(&launch::linear(element, pointers, rows, inputs, outputs).unwrap());
    y.values()
}

#[test]
fn linear_is_its_reference_and_a_rows_bits_are_its_own() {
    let library = library();
    for element in HALVES {
        for (rows, inputs, outputs) in [(1, 8, 1), (17, 200, 33), (67, 520, 40), (130, 96, 129)] {
            let (x, w) = (random(element, 1, rows * inputs), random(element, 2, outputs * inputs));
            let weight = Buffer::of(element, &w);
            let got = apply(library, element, &x, &weight, [rows, inputs, outputs]);
            let mut expected = Vec::with_capacity(rows * outputs);
            for x in x.chunks_exact(inputs) {
                let sums = w.chunks_exact(inputs).map(|w| x.iter().zip(w).map(|(x, w)| x * w).sum::<f32>());
                expected.extend(sums);
            }
            let most = crate::host::step(element);
            close(&format!("{rows} x {inputs} x {outputs}"), &got, &expected, most);
            for row in [0, rows / 2, rows - 1] {
                let alone = apply(library, element, &x[row * inputs..][..inputs], &weight, [1, inputs, outputs]);
                same_bits(&format!("row {row} alone"), &alone, &got[row * outputs..][..outputs]);
            }
        }
    }
}

/// Sections of 32 inputs whose sums are 2^15, 2^-10, -2^15 and 2^-10: only in ascending order is the last one left
/// over.
#[test]
fn sections_are_added_in_ascending_order() {
    let library = library();
    let mut w = vec![0.0; 128];
    for (section, sum) in [32768.0, 1.0 / 1024.0, -32768.0, 1.0 / 1024.0].into_iter().enumerate() {
        w[32 * section + 5] = sum;
    }
    for rows in [1, 130] {
        let weight = Buffer::of(Element::F16, &w);
        let got = apply(library, Element::F16, &vec![1.0; 128 * rows], &weight, [rows, 128, 1]);
        same_bits("the sum", &got, &vec![1.0 / 1024.0; rows]);
    }
}

#[test]
fn unsupported_shapes_are_not_launched() {
    assert!(launch::linear(Element::Bf16, [0; 3], 1, 12, 1).is_none());
    assert!(launch::linear(Element::F32, [0; 3], 1, 16, 1).is_none());
    assert!(launch::linear(Element::F16, [0; 3], 1, 0, 1).is_none());
    assert!(launch::linear(Element::F16, [32, 16, 0], 1, 16, 1).is_some());
    assert!(launch::linear(Element::F16, [32, 8, 0], 1, 16, 1).is_none());
}
