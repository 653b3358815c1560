//! Products with matrices in the blocks of GGUF files.

use crate::host::{Buffer, HALVES, close, random, same_bits, step};
use crate::library::{Library, library};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use moot_kernels::launch::{self, Element, Packing, Part};

/// Parts of matrices, and their inputs: less than a warp has its share of, shares of unequal size and of more units than are
/// loaded ahead, and outputs beyond a block; then two types with a kernel together, and two without.
const MATRICES: [(&[(GgmlDType, usize)], usize); 12] = [
    (&[(GgmlDType::Q8_0, 5)], 5440),
    (&[(GgmlDType::Q4_0, 33)], 192),
    (&[(GgmlDType::Q4_1, 17)], 832),
    (&[(GgmlDType::Q5_0, 40)], 896),
    (&[(GgmlDType::Q5_1, 7)], 64),
    (&[(GgmlDType::Q8_0, 65)], 576),
    (&[(GgmlDType::Q4K, 33)], 768),
    (&[(GgmlDType::Q5K, 20)], 256),
    (&[(GgmlDType::Q6K, 35)], 1280),
    (&[(GgmlDType::Q4K, 37), (GgmlDType::Q6K, 20)], 768),
    (&[(GgmlDType::Q5K, 16), (GgmlDType::Q6K, 34)], 256),
    (&[(GgmlDType::Q5_0, 19), (GgmlDType::Q8_0, 35)], 192),
];

struct Matrix {
    parts: Vec<Part>,
    packing: Packing,
    inputs: usize,
    packed: Buffer,
    /// `[outputs, inputs]`
    numbers: Vec<f32>,
}

impl Matrix {
    fn new(parts: &[(GgmlDType, usize)], packing: Packing, inputs: usize) -> Self {
        let (mut numbers, mut rows) = (Vec::new(), Vec::new());
        for &(blocks, outputs) in parts {
            let random = random(Element::F32, 7, outputs * inputs);
            // Rows differ in size and in sign, so that scales and least values do.
            let random: Vec<f32> = random
                .iter()
                .enumerate()
                .map(|(i, x)| (x + (i / 32 % 5) as f32 - 1.5) * (1 + i / inputs % 3) as f32)
                .collect();
            let dense = Tensor::from_vec(random, (outputs, inputs), &Device::Cpu).unwrap();
            let stored = QTensor::quantize(&dense, blocks).unwrap();
            let values = stored.dequantize(&Device::Cpu).unwrap().flatten_all().unwrap();
            numbers.extend(values.to_vec1::<f32>().unwrap());
            let size = inputs / blocks.block_size() * blocks.type_size();
            rows.extend(stored.data().unwrap().chunks_exact(size).map(<[u8]>::to_vec));
        }
        let parts: Vec<Part> = parts.iter().map(|&(blocks, outputs)| Part { blocks, outputs }).collect();
        let words = launch::pack_blocks(&parts, packing, inputs, |row| (&rows[row][..]).into()).unwrap();
        Self { parts, packing, inputs, packed: Buffer::words(&words), numbers }
    }

    fn outputs(&self) -> usize {
        launch::outputs_of(&self.parts)
    }

    fn product(&self, library: &Library, element: Element, x: &[f32]) -> Vec<f32> {
        let rows = x.len() / self.inputs;
        let (x, y) = (Buffer::of(element, x), Buffer::unwritten(element, rows * self.packing.width(&self.parts)));
        let pointers = [&x, &self.packed, &y].map(Buffer::pointer);
        for launch in launch::blocks(element, (&self.parts, self.packing), pointers, rows, self.inputs).unwrap() {
            library.run(&launch);
        }
        y.values()
    }
}

#[test]
fn products_are_their_reference_and_a_rows_bits_are_its_own() {
    let library = library();
    // Types take turns at the two halves; a GPU compares all of both.
    for ((parts, inputs), element) in MATRICES.into_iter().zip(HALVES.into_iter().cycle()) {
        const MOST: usize = 37;
        let matrix = Matrix::new(parts, Packing::InOrder, inputs);
        let outputs = matrix.outputs();
        let all = random(element, 3, MOST * inputs);
        let row = |row: usize| &all[row * inputs..][..inputs];
        let alone = [0, MOST - 1].map(|at| matrix.product(library, element, row(at)));
        // Of each number of tiles one that is not filled, and more rows than the largest has.
        for rows in [1, 9, 19, MOST] {
            let got = matrix.product(library, element, &all[..rows * inputs]);
            let mut expected = Vec::with_capacity(rows * outputs);
            for x in all.chunks_exact(inputs).take(rows) {
                let sum = |w: &[f32]| x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum::<f64>() as f32;
                expected.extend(matrix.numbers.chunks_exact(inputs).map(sum));
            }
            let what = format!("{parts:?}, {}, {rows} rows", element.name());
            // Numbers are rounded once, at the end, and those around 0 are differences of larger ones.
            close(&what, &got, &expected, step(element) / 2.0 + 2e-4);
            same_bits(&what, &got[..outputs], &alone[0]);
            if rows == MOST {
                same_bits(&what, &got[(MOST - 1) * outputs..], &alone[1]);
            }
        }
    }
}

/// Three times sixteen outputs: 24 of a gate.
const GATED: [(GgmlDType, usize); 1] = [(GgmlDType::Q4K, 48)];

#[test]
fn gated_products_are_the_gate_times_the_rest() {
    let library = library();
    let [plain, gated] = [Packing::InOrder, Packing::Gated].map(|packing| Matrix::new(&GATED, packing, 256));
    for rows in [1, 9, 19, 37] {
        let x: Vec<f32> = random(Element::F16, 3, rows * 256).iter().map(|x| x / 64.0).collect();
        let both = plain.product(library, Element::F16, &x);
        let silu = |gate: f32, up: f32| gate / (1.0 + (-gate).exp()) * up;
        let expected = both.chunks_exact(48).flat_map(|both| (0..24).map(|o| silu(both[o], both[24 + o])));
        let got = gated.product(library, Element::F16, &x);
        // The gate and the rest are not rounded before they are multiplied.
        close(&format!("{rows} rows"), &got, &expected.collect::<Vec<_>>(), 3.0 * step(Element::F16));
        assert!(got.iter().any(|y| y.abs() > 0.5));
    }
    let part = |outputs| [Part { blocks: GgmlDType::Q4K, outputs }];
    assert!(!Packing::Gated.fits(&part(40)) && !Packing::Gated.fits(&[part(16), part(16)].concat()));
}

#[test]
fn widened_blocks_are_their_numbers() {
    let library = library();
    let in_order = MATRICES.map(|matrix| (matrix, Packing::InOrder));
    for ((parts, inputs), packing) in in_order.into_iter().chain([((&GATED[..], 256), Packing::Gated)]) {
        let matrix = Matrix::new(parts, packing, inputs);
        for element in HALVES {
            let y = Buffer::unwritten(element, matrix.numbers.len());
            let pointers = [matrix.packed.pointer(), y.pointer()];
            for launch in launch::widen(element, (&matrix.parts, packing), pointers, inputs).unwrap() {
                library.run(&launch);
            }
            let expected = Buffer::of(element, &matrix.numbers).values();
            // One product is rounded in f32 before it is in the smaller type.
            close(&format!("{parts:?}, {}", element.name()), &y.values(), &expected, step(element));
        }
    }
}

#[test]
fn two_types_are_one_launch_where_a_kernel_has_both() {
    let launches = |first, second| {
        let parts = [first, second].map(|blocks| Part { blocks, outputs: 16 });
        launch::blocks(Element::F16, (&parts, Packing::InOrder), [16, 32, 48], 1, 256).unwrap().len()
    };
    assert_eq!(launches(GgmlDType::Q4K, GgmlDType::Q6K), 1);
    assert_eq!(launches(GgmlDType::Q5K, GgmlDType::Q6K), 1);
    assert_eq!(launches(GgmlDType::Q6K, GgmlDType::Q4K), 2);
}

#[test]
fn unsupported_shapes_and_addresses_are_not_launched() {
    let part = |blocks| [Part { blocks, outputs: 8 }];
    let of = |element, blocks, pointers, inputs| {
        launch::blocks(element, (&part(blocks), Packing::InOrder), pointers, 1, inputs).is_some()
    };
    assert!(of(Element::Bf16, GgmlDType::Q8_0, [32, 16, 48], 64));
    assert!(!of(Element::F32, GgmlDType::Q8_0, [32, 16, 48], 64));
    assert!(!of(Element::Bf16, GgmlDType::Q2K, [32, 16, 48], 256));
    assert!(!of(Element::Bf16, GgmlDType::Q8_0, [32, 16, 48], 96));
    assert!(!of(Element::Bf16, GgmlDType::Q6K, [32, 16, 48], 128));
    assert!(!of(Element::Bf16, GgmlDType::Q8_0, [8, 16, 48], 64));
    assert!(!of(Element::Bf16, GgmlDType::Q8_0, [32, 8, 48], 64));
    assert!(launch::widen(Element::F16, (&part(GgmlDType::Q8_0), Packing::InOrder), [16, 8], 64).is_none());
}
