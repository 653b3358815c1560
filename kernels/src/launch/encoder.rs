//! Launches of an encoder's operations between its products, in f32.

use super::kernel::Argument::{F32, Pointer, U32};
use super::kernel::{Argument, Kernel, Launch, Module};

/// Queries of a block of [`bidirectional`].
const QUERIES: usize = 64;

/// Sizes of a head that kernels are compiled for.
pub const ENCODER_HEAD_DIMS: [usize; 2] = [32, 64];

/// The words of a plan for texts of these ranges of tokens: for each block its text's first token, the one behind the
/// last, and the block's first query.
#[must_use]
pub fn bidirectional_blocks(texts: impl Iterator<Item = std::ops::Range<usize>>) -> Vec<u32> {
    let blocks = texts.flat_map(|text| text.clone().step_by(QUERIES).map(move |query| [text.start, text.end, query]));
    blocks.flatten().map(|word| word as u32).collect()
}

/// Attention of `blocks` blocks over `heads` heads of `head_dim`; `[q, k, v, out, plan]`, the first four
/// `[tokens, heads * head_dim]`. `None` where there is no kernel for such heads.
#[must_use]
pub fn bidirectional(pointers: [u64; 5], blocks: usize, [heads, head_dim]: [usize; 2], scale: f32) -> Option<Launch> {
    if !ENCODER_HEAD_DIMS.contains(&head_dim) {
        return None;
    }
    let mut arguments: Vec<Argument> = pointers.map(Pointer).to_vec();
    arguments.extend([U32((heads * head_dim) as u32), F32(scale)]);
    Some(Launch {
        kernel: Kernel::new(Module::Encoder, "bidirectional").sized(head_dim),
        grid: [blocks as u32, heads as u32, 1],
        threads: QUERIES as u32,
        arguments,
    })
}

/// Layer norm of `x + residual`; `[x, residual, weight, bias, out]`.
#[must_use]
pub fn add_norm(pointers: [u64; 5], rows: usize, hidden: usize, eps: f32) -> Launch {
    /// A warp each.
    const ROWS: usize = 4;
    let mut arguments: Vec<Argument> = pointers.map(Pointer).to_vec();
    arguments.extend([U32(rows as u32), U32(hidden as u32), F32(eps)]);
    Launch {
        kernel: Kernel::new(Module::Encoder, "add_norm"),
        grid: [rows.div_ceil(ROWS) as u32, 1, 1],
        threads: 32 * ROWS as u32,
        arguments,
    }
}
