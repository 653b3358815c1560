//! Stored elements as floats, many threads writing straight into the one result.

use candle_core::cpu_backend::CpuStorage;
use candle_core::quantized::GgmlDType;
use candle_core::{DType, Device, Tensor};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use rayon::prelude::*;
use std::borrow::Cow;

/// Elements a thread widens at a time: a multiple of every block size, and small enough (64 KiB of floats) that what
/// candle returns for a chunk is still in the cache when it is moved to its destination, and is reused by the
/// allocator.
const CHUNK: usize = 16 * 1024;

/// A tensor of `shape` on `device`, its elements widened or narrowed from `stored` to `dtype`.
pub(super) fn tensor(
    bytes: &[u8],
    stored: GgmlDType,
    shape: &[usize],
    dtype: DType,
    device: &Device,
) -> candle_core::Result<Tensor> {
    let tensor = match (stored, dtype) {
        (GgmlDType::F16, DType::F16) => Tensor::from_vec(to_f16(bytes), shape, &Device::Cpu),
        (GgmlDType::BF16, DType::BF16) => Tensor::from_vec(to_bf16(bytes), shape, &Device::Cpu),
        _ => Tensor::from_vec(to_f32(bytes, stored), shape, &Device::Cpu),
    };
    tensor?.to_dtype(dtype)?.to_device(device)
}

/// All elements of `bytes` as f32.
///
/// `bytes` is a whole number of blocks of `dtype`, aligned to 4 bytes for the quantised types.
fn to_f32(bytes: &[u8], dtype: GgmlDType) -> Vec<f32> {
    match dtype {
        GgmlDType::F32 => decode(bytes, |from, to| copy(from, to, f32::from_le_bytes)),
        GgmlDType::F16 => decode::<2, _>(bytes, |from, to| widen_half(from, to, f16::from_le_bytes)),
        GgmlDType::BF16 => decode::<2, _>(bytes, |from, to| widen_half(from, to, bf16::from_le_bytes)),
        _ => dequantize(bytes, dtype),
    }
}

/// The elements of one row, on the caller's thread; as [`to_f32`].
pub(super) fn row_to_f32(bytes: &[u8], dtype: GgmlDType, row: &mut [f32]) {
    match dtype {
        GgmlDType::F32 => copy(bytes.as_chunks().0, row, f32::from_le_bytes),
        GgmlDType::F16 => widen_half(bytes.as_chunks().0, row, f16::from_le_bytes),
        GgmlDType::BF16 => widen_half(bytes.as_chunks().0, row, bf16::from_le_bytes),
        _ => dequantize_chunk(bytes, dtype, row),
    }
}

/// All elements of `bytes`, which are f16.
fn to_f16(bytes: &[u8]) -> Vec<f16> {
    decode(bytes, |from, to| copy(from, to, f16::from_le_bytes))
}

/// All elements of `bytes`, which are bf16.
fn to_bf16(bytes: &[u8]) -> Vec<bf16> {
    decode(bytes, |from, to| copy(from, to, bf16::from_le_bytes))
}

/// Elements of `N` bytes, chunk by chunk. The bytes may lie at any address: a safetensors header has any length.
fn decode<const N: usize, T: Default + Clone + Send>(bytes: &[u8], chunk: fn(&[[u8; N]], &mut [T])) -> Vec<T> {
    let (elements, _) = bytes.as_chunks::<N>();
    let mut out = vec![T::default(); elements.len()];
    out.par_chunks_mut(CHUNK).zip(elements.par_chunks(CHUNK)).for_each(|(to, from)| chunk(from, to));
    out
}

fn copy<const N: usize, T>(from: &[[u8; N]], to: &mut [T], read: fn([u8; N]) -> T) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = read(*from);
    }
}

/// Widens through a small buffer, since the processor's conversion instructions take many halves at once.
fn widen_half<T: Default + Copy>(from: &[[u8; 2]], to: &mut [f32], read: fn([u8; 2]) -> T)
where
    [T]: HalfFloatSliceExt,
{
    let mut halves = [T::default(); 256];
    for (from, to) in from.chunks(256).zip(to.chunks_mut(256)) {
        let halves = &mut halves[..from.len()];
        copy(from, halves, read);
        halves.convert_to_f32_slice(to);
    }
}

/// Quantised blocks through candle's own formulas.
fn dequantize(bytes: &[u8], dtype: GgmlDType) -> Vec<f32> {
    let chunk_bytes = CHUNK / dtype.block_size() * dtype.type_size();
    let mut out = vec![0f32; bytes.len() / dtype.type_size() * dtype.block_size()];
    let chunks = out.par_chunks_mut(CHUNK).zip(bytes.par_chunks(chunk_bytes));
    chunks.for_each(|(to, from)| dequantize_chunk(from, dtype, to));
    out
}

fn dequantize_chunk(bytes: &[u8], dtype: GgmlDType, to: &mut [f32]) {
    let blocks = dtype.from_data(Cow::Borrowed(bytes));
    match blocks.dequantize(to.len()).expect("candle dequantises whole blocks on the CPU (bug)") {
        CpuStorage::F32(floats) => to.copy_from_slice(&floats),
        _ => unreachable!("candle dequantises to f32 (bug)"),
    }
}
