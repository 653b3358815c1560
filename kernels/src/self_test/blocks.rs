//! Checks of products of blocks, and of blocks as numbers: ours and Candle's.

use super::numbers::{CLOSE, MOST_ROWS, ROWS, Test, first, numbers, working};
use crate::cpu::Gate;
use crate::gpu::{multiplies_blocks, packs_blocks};
use crate::ops::gated;
use crate::{PackedBlocks, Packing, Part};
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Device, Module, Result, Tensor};
use std::sync::Arc;

/// As [`CLOSE`], of blocks times activations in int8, which leave 0.02.
const CLOSE_BLOCKS: f32 = 0.06;

/// Types of blocks that are multiplied by on a GPU, by our kernels or by Candle's.
pub const BLOCKS: [GgmlDType; 10] = [
    GgmlDType::Q4_0,
    GgmlDType::Q4_1,
    GgmlDType::Q5_0,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q2K,
    GgmlDType::Q3K,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
];

/// Types that one launch of ours multiplies by together.
const OF_TWO: [[GgmlDType; 2]; 2] = [[GgmlDType::Q4K, GgmlDType::Q6K], [GgmlDType::Q5K, GgmlDType::Q6K]];

/// Outputs, inputs and types of the matrices: every type, then inputs that are no multiple of 256, and as many as large
/// models have.
const MATRICES: [(usize, usize, &[GgmlDType]); 3] =
    [(96, 768, &BLOCKS), (96, 896, &[GgmlDType::Q5_0, GgmlDType::Q8_0]), (32, 4096, &[GgmlDType::Q4K, GgmlDType::Q6K])];

/// Ours, where the device has them, and Candle's, where they were compiled for it.
pub(super) fn blocks(test: &Test<'_>) -> Result<()> {
    let device = test.device;
    for (outputs, inputs, types) in MATRICES {
        let [w, _] = numbers(19, &[outputs, inputs], DType::F32, &Device::Cpu)?;
        let x = numbers(20, &[MOST_ROWS, inputs], working(device), device)?;
        if packs_blocks(device) {
            let ours = types.iter().filter(|storage| PackedBlocks::fit(**storage, inputs, working(device)));
            ours.map(std::slice::from_ref).try_for_each(|types| packed_blocks(types, &w, &x, test))?;
        }
        if packs_blocks(device) && types.len() == BLOCKS.len() {
            OF_TWO.iter().try_for_each(|two| packed_blocks(two, &w, &x, test))?;
            gated_blocks(&w, &x, test)?;
        }
        if multiplies_blocks(device) {
            types.iter().try_for_each(|storage| candles_blocks(*storage, &w, &x, test))?;
        }
    }
    Ok(())
}

fn candles_blocks(storage: GgmlDType, w: &Tensor, all: &[Tensor; 2], test: &Test<'_>) -> Result<()> {
    let device = test.device;
    let expected = QTensor::quantize(w, storage)?.dequantize(&Device::Cpu)?;
    let on_device = Arc::new(QTensor::quantize_onto(w, storage, device)?);
    let inputs = w.dim(1)?;
    test.close(&format!("{storage:?}, widened"), &on_device.dequantize_f16(device)?, &expected, CLOSE)?;
    let matrix = QMatMul::from_arc(on_device)?;
    ROWS.into_iter().try_for_each(|rows| {
        let [x, gx] = first(all, rows)?;
        let what = format!("{storage:?}, {rows} rows of {inputs}");
        test.close(&what, &matrix.forward(&gx)?, &x.matmul(&expected.t()?)?, CLOSE_BLOCKS)
    })
}

/// Products with `w` in each of `types`, one behind the other.
fn packed_blocks(types: &[GgmlDType], w: &Tensor, all: &[Tensor; 2], test: &Test<'_>) -> Result<()> {
    let (device, (outputs, inputs)) = (test.device, w.dims2()?);
    let (mut parts, mut stored, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for &blocks in types {
        let cpu = QTensor::quantize(w, blocks)?;
        parts.push(Part { blocks, outputs });
        expected.push(cpu.dequantize(&Device::Cpu)?);
        stored.push(cpu.data()?.into_owned());
    }
    let row = |row: usize| {
        let (part, size) = (&stored[row / outputs], stored[row / outputs].len() / outputs);
        part[row % outputs * size..][..size].into()
    };
    let packed = PackedBlocks::pack(parts, Packing::InOrder, inputs, row, device)?;
    let expected = Tensor::cat(&expected, 0)?;
    test.close(&format!("{types:?}, widened"), &packed.widen(working(device))?, &expected, CLOSE)?;
    ROWS.into_iter().try_for_each(|rows| {
        let [x, gx] = first(all, rows)?;
        let what = format!("{types:?}, {rows} rows of {inputs}");
        let found = packed.multiply(&gx)?;
        test.close(&what, &found, &x.matmul(&expected.t()?)?, CLOSE)?;
        test.same_bits(&what, &packed.multiply(&gx.narrow(0, rows / 2, 1)?)?, &found.narrow(0, rows / 2, 1)?)
    })
}

/// A product whose first half is the gate of the other.
fn gated_blocks(w: &Tensor, all: &[Tensor; 2], test: &Test<'_>) -> Result<()> {
    let (device, (outputs, inputs)) = (test.device, w.dims2()?);
    let cpu = QTensor::quantize(w, GgmlDType::Q4K)?;
    let (expected, bytes) = (cpu.dequantize(&Device::Cpu)?, cpu.data()?);
    let row = |row: usize| bytes[row * bytes.len() / outputs..][..bytes.len() / outputs].into();
    let parts = vec![Part { blocks: GgmlDType::Q4K, outputs }];
    let packed = PackedBlocks::pack(parts, Packing::Gated, inputs, row, device)?;
    test.close("gated blocks, widened", &packed.widen(working(device))?, &expected, CLOSE)?;
    ROWS.into_iter().try_for_each(|rows| {
        let [x, gx] = first(all, rows)?;
        let both = x.matmul(&expected.t()?)?.chunk(2, 1)?;
        let gated = gated::reference(&both[0], &both[1], Gate::Silu)?;
        let (what, found) = (format!("gated blocks, {rows} rows"), packed.multiply(&gx)?);
        test.close(&what, &found, &gated, CLOSE)?;
        test.same_bits(&what, &packed.multiply(&gx.narrow(0, rows / 2, 1)?)?, &found.narrow(0, rows / 2, 1)?)
    })
}
