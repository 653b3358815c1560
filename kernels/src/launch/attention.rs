//! Attention over pages: spans side by side, then their merge.

use super::kernel::Argument::{F32, Pointer, U32};
use super::kernel::{Element, Kernel, Launch, Module};
use crate::ops::cascade::Cascade;

/// Sizes of a head that kernels are compiled for.
pub const HEAD_DIMS: [usize; 3] = [64, 96, 128];

/// Sizes and scale of a call.
#[derive(Debug, Clone, Copy)]
pub struct AttentionShape {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Numbers of a head.
    pub head_dim: usize,
    /// The factor of scores.
    pub scale: f32,
}

/// Addresses for [`attention`].
#[derive(Debug, Clone, Copy)]
pub struct AttentionBuffers {
    /// `[rows, heads, head_dim]`
    pub q: u64,
    /// `[pages, kv_heads, head_dim, PAGE]`
    pub k: u64,
    /// `[pages, kv_heads, PAGE, head_dim]`
    pub v: u64,
    /// Like `q`
    pub out: u64,
    /// f32 `[slots, heads, head_dim]` and behind it `[slots, heads, 2]`, for what spans give
    pub partial: u64,
    /// The words of the [`Cascade`]
    pub plan: u64,
}

/// Whether there is a kernel for such heads of such numbers.
#[must_use]
pub fn fits(element: Element, heads: usize, kv_heads: usize, head_dim: usize) -> bool {
    let groups = kv_heads > 0 && heads.is_multiple_of(kv_heads) && Cascade::fits(heads / kv_heads);
    element.is_half() && HEAD_DIMS.contains(&head_dim) && groups
}

/// Numbers at [`AttentionBuffers::partial`].
#[must_use]
pub fn partial_len(shape: &AttentionShape, cascade: &Cascade) -> usize {
    cascade.partials() * shape.heads * (shape.head_dim + 2)
}

/// Attention of all rows of `cascade`, in at most four launches.
#[must_use]
pub fn attention(element: Element, shape: &AttentionShape, at: &AttentionBuffers, cascade: &Cascade) -> Vec<Launch> {
    let kernel = |name| Kernel::new(Module::Attention, name).sized(shape.head_dim).of(element);
    let word = |index: usize| Pointer(at.plan + 4 * index as u64);
    let sums = at.partial + 4 * (cascade.partials() * shape.heads * shape.head_dim) as u64;
    // The kernels compute powers of 2, which are one instruction.
    let scale = F32(shape.scale * std::f32::consts::LOG2_E);
    let (heads, kv_heads) = (U32(shape.heads as u32), U32(shape.kv_heads as u32));
    let mut launches = Vec::with_capacity(4);
    for (kind, first, count) in cascade.launches(shape.kv_heads) {
        let buffers = [at.q, at.k, at.v, at.out, at.partial, sums].map(Pointer);
        let plan = [word(cascade.positions()), word(cascade.slots()), word(first), word(cascade.visits())];
        launches.push(Launch {
            kernel: kernel(kind.kernel()),
            grid: [count as u32, shape.kv_heads as u32, 1],
            threads: kind.threads(),
            arguments: [&buffers[..], &plan, &[heads, kv_heads, scale]].concat(),
        });
    }
    let (first, count) = cascade.merged();
    if count > 0 {
        let (positions, slots) = (word(cascade.positions()), word(cascade.slots()));
        launches.push(Launch {
            kernel: kernel("merge"),
            grid: [count as u32, 1, 1],
            threads: (shape.heads.min(8) * 32) as u32,
            arguments: [&[at.partial, sums, at.out].map(Pointer)[..], &[positions, slots, word(first), heads]].concat(),
        });
    }
    launches
}
