//! Launches of norms, rotations and activations, which work on each row by itself.

use super::kernel::Argument::{F32, Pointer, U32};
use super::kernel::{Argument, Element, Kernel, Launch, Module};

/// Threads for `work` independent items: whole warps, at most `most` threads.
fn threads(work: usize, most: usize) -> u32 {
    (work.div_ceil(32) * 32).clamp(32, most) as u32
}

/// Depends on the row's length alone, and so does the order of its sum.
fn norm_threads(hidden: usize) -> u32 {
    threads(hidden.div_ceil(8), 512)
}

/// RMS norm of `rows` rows of `hidden` at `x`, to `out`.
#[must_use]
pub fn rms_norm(element: Element, [x, weight, out]: [u64; 3], rows: usize, hidden: usize, eps: f32) -> Launch {
    Launch {
        kernel: Kernel::new(Module::Norm, "rms_norm").of(element),
        grid: [rows as u32, 1, 1],
        threads: norm_threads(hidden),
        arguments: vec![Pointer(x), Pointer(weight), Pointer(out), U32(hidden as u32), F32(eps)],
    }
}

/// `sum = x + delta`, and its RMS norm to `out`; `[x, delta, weight, sum, out]`.
#[must_use]
pub fn add_rms_norm(element: Element, pointers: [u64; 5], rows: usize, hidden: usize, eps: f32) -> Launch {
    let mut arguments: Vec<Argument> = pointers.map(Pointer).to_vec();
    arguments.extend([U32(hidden as u32), F32(eps)]);
    let kernel = Kernel::new(Module::Norm, "add_rms_norm").of(element);
    Launch { kernel, grid: [rows as u32, 1, 1], threads: norm_threads(hidden), arguments }
}

/// Threads for `heads` warps, a warp a head.
fn warps(heads: usize) -> u32 {
    threads(heads * 32, 512)
}

/// Rotates `[tokens, heads, dim]` at `x`, to `out`; `[x, cos, sin, out]`, cosines and sines f32 `[tokens, dim / 2]`.
#[must_use]
pub fn rope(element: Element, pointers: [u64; 4], tokens: usize, heads: usize, dim: usize) -> Launch {
    let mut arguments: Vec<Argument> = pointers.map(Pointer).to_vec();
    arguments.extend([U32(heads as u32), U32(dim as u32)]);
    Launch {
        kernel: Kernel::new(Module::Rotary, "rope").of(element),
        grid: [tokens as u32, 1, 1],
        threads: warps(heads),
        arguments,
    }
}

/// The result of a projection, its bias and its norm; address 0 is none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Projected {
    /// `[tokens, heads * dim]`, a row `stride` numbers behind the one before.
    pub rows: u64,
    /// In numbers.
    pub stride: usize,
    /// `[heads * dim]`: added to each row.
    pub bias: u64,
    /// `[dim]`: the weight of the root-mean-square norm of each head. Values have none.
    pub norm: u64,
}

/// Addresses for [`rotate_store`].
#[derive(Debug, Clone, Copy)]
pub struct RotateStore {
    /// Queries, keys and values.
    pub projected: [Projected; 3],
    /// f32 `[tokens, dim / 2]`
    pub cos: u64,
    /// f32 `[tokens, dim / 2]`
    pub sin: u64,
    /// u32 `[tokens]`
    pub slots: u64,
    /// `[tokens, heads, dim]`
    pub q_out: u64,
    /// `[pages, kv_heads, dim, PAGE]`
    pub k_cache: u64,
    /// `[pages, kv_heads, PAGE, dim]`
    pub v_cache: u64,
}

/// Adds biases, norms heads, rotates queries and keys, and stores keys and values in their pages; `[heads, kv_heads,
/// dim]`.
#[must_use]
pub fn rotate_store(at: &RotateStore, element: Element, tokens: usize, shape: [usize; 3], eps: f32) -> Launch {
    let [heads, kv_heads, _] = shape;
    let RotateStore { projected, cos, sin, slots, q_out, k_cache, v_cache } = *at;
    let [q, k, _] = projected;
    let mut arguments: Vec<Argument> = projected.map(|part| Pointer(part.rows)).to_vec();
    arguments.extend(projected.map(|part| Pointer(part.bias)));
    arguments.extend([q.norm, k.norm, cos, sin, slots, q_out, k_cache, v_cache].map(Pointer));
    arguments.extend(projected.map(|part| U32(part.stride as u32)));
    arguments.extend(shape.map(|n| U32(n as u32)));
    arguments.push(F32(eps));
    Launch {
        kernel: Kernel::new(Module::Rotary, "rotate_store").of(element),
        grid: [tokens as u32, 1, 1],
        threads: warps(heads + 2 * kv_heads),
        arguments,
    }
}

/// `silu(gate) * up` of `rows` rows of `width` numbers; `[gate, up, out]`, and how far apart the rows of the first two
/// are.
#[must_use]
pub fn swiglu(element: Element, pointers: [u64; 3], [rows, width]: [usize; 2], strides: [usize; 2]) -> Launch {
    const THREADS: usize = 256;
    // Eight numbers a thread, so that even a single row keeps several multiprocessors busy.
    let pieces = width.div_ceil(THREADS * 8);
    let mut arguments: Vec<Argument> = pointers.map(Pointer).to_vec();
    arguments.extend([width, strides[0], strides[1], pieces].map(|n| U32(n as u32)));
    Launch {
        kernel: Kernel::new(Module::Swiglu, "swiglu").of(element),
        grid: [(rows * pieces) as u32, 1, 1],
        threads: THREADS as u32,
        arguments,
    }
}
