//! Products with matrices in the blocks of GGUF files.

use crate::host::{Buffer, HALVES, Library, close, library, random, same_bits, step};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use moot_kernels::launch::{self, Element};

/// Types with the sizes of matrices: less than a warp has its share of, shares of unequal size and of more units than are
/// loaded ahead, and outputs beyond a block.
const TYPES: [(GgmlDType, [usize; 2]); 9] = [
    (GgmlDType::Q8_0, [5, 5440]),
    (GgmlDType::Q4_0, [33, 192]),
    (GgmlDType::Q4_1, [17, 832]),
    (GgmlDType::Q5_0, [40, 896]),
    (GgmlDType::Q5_1, [7, 64]),
    (GgmlDType::Q8_0, [65, 576]),
    (GgmlDType::Q4K, [33, 768]),
    (GgmlDType::Q5K, [20, 256]),
    (GgmlDType::Q6K, [35, 1280]),
];

/// A matrix in blocks, packed and as numbers.
fn matrix(blocks: GgmlDType, [outputs, inputs]: [usize; 2]) -> (Buffer, Vec<f32>) {
    let numbers = random(Element::F32, 7, outputs * inputs);
    // Rows differ in size and in sign, so that scales and least values do.
    let numbers: Vec<f32> = numbers
        .iter()
        .enumerate()
        .map(|(i, x)| (x + (i / 32 % 5) as f32 - 1.5) * (1 + i / inputs % 3) as f32)
        .collect();
    let dense = Tensor::from_vec(numbers, (outputs, inputs), &Device::Cpu).unwrap();
    let stored = QTensor::quantize(&dense, blocks).unwrap();
    let numbers = stored.dequantize(&Device::Cpu).unwrap().flatten_all().unwrap().to_vec1().unwrap();
    let (bytes, size) = (stored.data().unwrap(), inputs / blocks.block_size() * blocks.type_size());
    let words = launch::pack_blocks(blocks, [outputs, inputs], |row| bytes[row * size..][..size].into()).unwrap();
    (Buffer::words(&words), numbers)
}

fn product(
    library: &Library,
    (element, blocks): (Element, GgmlDType),
    x: &[f32],
    w: &Buffer,
    [outputs, inputs]: [usize; 2],
) -> Vec<f32> {
    let rows = x.len() / inputs;
    let (x, y) = (Buffer::of(element, x), Buffer::unwritten(element, rows * outputs));
    let pointers = [&x, w, &y].map(Buffer::pointer);
    library.run(&launch::blocks(element, blocks, pointers, rows, [outputs, inputs]).unwrap());
    y.values()
}

#[test]
fn products_are_their_reference_and_a_rows_bits_are_its_own() {
    let library = library();
    // Types take turns at the two halves; a GPU compares all of both.
    for ((blocks, shape @ [outputs, inputs]), element) in TYPES.into_iter().zip(HALVES.into_iter().cycle()) {
        const MOST: usize = 37;
        let (stored, numbers) = matrix(blocks, shape);
        let all = random(element, 3, MOST * inputs);
        let row = |row: usize| &all[row * inputs..][..inputs];
        let alone = [0, MOST - 1].map(|at| product(library, (element, blocks), row(at), &stored, shape));
        // Of each number of tiles one that is not filled, and more rows than the largest has.
        for rows in [1, 9, 19, MOST] {
            let got = product(library, (element, blocks), &all[..rows * inputs], &stored, shape);
            let mut expected = Vec::with_capacity(rows * outputs);
            for x in all.chunks_exact(inputs).take(rows) {
                let sum = |w: &[f32]| x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum::<f64>() as f32;
                expected.extend(numbers.chunks_exact(inputs).map(sum));
            }
            let what = format!("{blocks:?}, {}, {rows} rows", element.name());
            // Numbers are rounded once, at the end, and those around 0 are differences of larger ones.
            close(&what, &got, &expected, step(element) / 2.0 + 2e-4);
            same_bits(&what, &got[..outputs], &alone[0]);
            if rows == MOST {
                same_bits(&what, &got[(MOST - 1) * outputs..], &alone[1]);
            }
        }
    }
}

#[test]
fn widened_blocks_are_their_numbers() {
    let library = library();
    for (blocks, shape @ [outputs, inputs]) in TYPES {
        let (stored, numbers) = matrix(blocks, shape);
        for element in HALVES {
            let y = Buffer::unwritten(element, outputs * inputs);
            library.run(&launch::widen(element, blocks, [stored.pointer(), y.pointer()], shape).unwrap());
            let expected = Buffer::of(element, &numbers).values();
            // One product is rounded in f32 before it is in the smaller type.
            close(&format!("{blocks:?}, {}", element.name()), &y.values(), &expected, step(element));
        }
    }
}

#[test]
fn unsupported_shapes_and_addresses_are_not_launched() {
    let of = |element, blocks, pointers, inputs| launch::blocks(element, blocks, pointers, 1, [8, inputs]).is_some();
    assert!(of(Element::Bf16, GgmlDType::Q8_0, [32, 16, 48], 64));
    assert!(!of(Element::F32, GgmlDType::Q8_0, [32, 16, 48], 64));
    assert!(!of(Element::Bf16, GgmlDType::Q2K, [32, 16, 48], 256));
    assert!(!of(Element::Bf16, GgmlDType::Q8_0, [32, 16, 48], 96));
    assert!(!of(Element::Bf16, GgmlDType::Q6K, [32, 16, 48], 128));
    assert!(!of(Element::Bf16, GgmlDType::Q8_0, [8, 16, 48], 64));
    assert!(!of(Element::Bf16, GgmlDType::Q8_0, [32, 8, 48], 64));
    assert!(launch::widen(Element::F16, GgmlDType::Q8_0, [16, 8], [8, 64]).is_none());
}
