//! What a model takes, from its shape alone: parameters, bytes of weights, bytes a token of keys and values.

use crate::arch::names;
use crate::spec::DecoderSpec;
use crate::weights::storage_of;
use candle_core::DType;
use candle_core::quantized::GgmlDType;

/// Weights of all tensors; a tied output layer counts once.
#[must_use]
pub fn parameters(spec: &DecoderSpec) -> u64 {
    sum(spec, |shape| shape.iter().map(|&n| n as u64).product())
}

/// Bytes of the weights in a file that is mostly `storage`: vectors are f32, a matrix whose rows are no whole number of
/// blocks has another type ([`storage_of`]).
#[must_use]
pub fn weight_bytes(spec: &DecoderSpec, storage: GgmlDType) -> u64 {
    sum(spec, |shape| match shape {
        &[outputs, inputs] => {
            let storage = storage_of(storage, inputs);
            (outputs * (inputs / storage.block_size())) as u64 * storage.type_size() as u64
        }
        vector => 4 * vector.iter().product::<usize>() as u64,
    })
}

/// Bytes of one token's keys and values over all layers.
#[must_use]
pub fn kv_bytes(spec: &DecoderSpec, dtype: DType) -> u64 {
    (2 * spec.layers * spec.kv_heads * spec.head_dim * dtype.size_in_bytes()) as u64
}

/// The sum over all tensors; blocks are alike, so that one stands for all.
fn sum(spec: &DecoderSpec, of: impl Fn(&[usize]) -> u64) -> u64 {
    let top: u64 = names::top_tensors(spec).map(|(_, shape)| of(&shape)).sum();
    let block: u64 = names::block_tensors(spec).iter().map(|(_, shape)| of(shape)).sum();
    top + spec.layers as u64 * block
}
