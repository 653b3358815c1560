//! Attention over pages: spans side by side, and tiles of long chunks.

use super::kernel::Argument::{F32, Pointer, U32};
use super::kernel::{Element, Kernel, Launch, Module};
use crate::ops::cascade::{Cascade, Kind, SPAN};
use crate::pages::PAGE;

/// Warps of a block, as the kernels have them; of a chunk for each part of 128 numbers of a head.
const WARPS_OF_SPAN: u32 = 8;
const WARPS_OF_CHUNK: u32 = 4;

/// Sizes of a head that kernels are compiled for.
pub const HEAD_DIMS: [usize; 4] = [64, 96, 128, 256];

/// Sizes and scale of a call. Its window is that of the [`Cascade`].
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
    /// f32 `[heads]`: a logit in each head's softmax that has no value; or 0
    pub sinks: u64,
    /// f32 `[slots, heads, head_dim]` and behind it `[slots, heads, 2]`, for what spans give; behind both u32
    /// `[rows, kv_heads]`, for the spans that are there, which must be 0 and is 0 afterwards
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
    let [_, _, end] = partial_parts(shape, cascade);
    end + cascade.rows() * shape.kv_heads
}

/// Bytes at [`AttentionBuffers::partial`] of a step at most: of `rows` rows of `sequences` sequences, of `positions`
/// positions each at most.
#[must_use]
pub fn most_partial_bytes(
    [heads, kv_heads, head_dim]: [usize; 3],
    sequences: usize,
    rows: usize,
    positions: usize,
) -> usize {
    let results = Cascade::most_partials(sequences, rows, positions, heads / kv_heads.max(1));
    let numbers = results.saturating_mul(heads * (head_dim + 2)).saturating_add(rows.saturating_mul(kv_heads));
    numbers.saturating_mul(size_of::<f32>())
}

/// Positions of the spans that a row reads at most whose window has `window` positions.
#[must_use]
pub fn most_positions(window: usize) -> usize {
    window.saturating_add(SPAN * PAGE - 1)
}

/// Where the three parts of [`AttentionBuffers::partial`] begin.
fn partial_parts(shape: &AttentionShape, cascade: &Cascade) -> [usize; 3] {
    let results = cascade.partials() * shape.heads;
    [0, results * shape.head_dim, results * (shape.head_dim + 2)]
}

/// Attention of all rows of `cascade`, in at most two launches.
#[must_use]
pub fn attention(element: Element, shape: &AttentionShape, at: &AttentionBuffers, cascade: &Cascade) -> Vec<Launch> {
    let word = |index: usize| Pointer(at.plan + 4 * index as u64);
    let parts = partial_parts(shape, cascade).map(|first| Pointer(at.partial + 4 * first as u64));
    // The kernels compute powers of 2, which are one instruction.
    let scale = F32(shape.scale * std::f32::consts::LOG2_E);
    let sizes = [U32(shape.heads as u32), U32(shape.kv_heads as u32), U32(cascade.window() as u32), scale];
    let tensors = [at.q, at.k, at.v, at.out, at.sinks].map(Pointer);
    let (positions, slots, visits) = (word(cascade.positions()), word(cascade.slots()), word(cascade.visits()));
    let launch = |kind: Kind| {
        let (first, works) = cascade.works(kind);
        let (name, threads, arguments) = match kind {
            Kind::Span => (
                "attend_span",
                32 * WARPS_OF_SPAN,
                [&tensors[..], &parts, &[positions, slots, word(first), visits], &sizes].concat(),
            ),
            Kind::Chunk => (
                "attend_chunk",
                32 * WARPS_OF_CHUNK * shape.head_dim.div_ceil(128) as u32,
                [&tensors[..], &[positions, word(first), visits], &sizes].concat(),
            ),
        };
        let kernel = Kernel::new(Module::Attention, name).sized(shape.head_dim).of(element);
        Launch { kernel, grid: [works as u32, shape.kv_heads as u32, 1], threads, arguments }
    };
    Kind::ALL.into_iter().filter(|kind| cascade.works(*kind).1 > 0).map(launch).collect()
}
