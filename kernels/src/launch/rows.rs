//! Norms, rotations and activations: work on each row by itself.

use super::Argument::{F32, Pointer, U32};
use super::{Argument, Element, Launch, Module};

/// Threads for `work` independent items: whole warps, no more than there is work for.
fn threads(work: usize, most: usize) -> u32 {
    (work.div_ceil(32) * 32).clamp(32, most) as u32
}

/// By the row's length alone, so that a sum's order is.
fn norm_threads(hidden: usize) -> u32 {
    threads(hidden.div_ceil(8), 512)
}

/// RMS norm of `rows` rows of `hidden` at `x`, to `out`.
#[must_use]
pub fn rms_norm(element: Element, [x, weight, out]: [u64; 3], rows: usize, hidden: usize, eps: f32) -> Launch {
    Launch {
        module: Module::Norm,
        function: format!("rms_norm_{}", element.name()),
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
    let function = format!("add_rms_norm_{}", element.name());
    Launch { module: Module::Norm, function, grid: [rows as u32, 1, 1], threads: norm_threads(hidden), arguments }
}

/// Turns `[tokens, heads, dim]` at `x`, to `out`; `[x, cos, sin, out]`, cosines and sines f32 `[tokens, dim / 2]`.
#[must_use]
pub fn rope(element: Element, pointers: [u64; 4], tokens: usize, heads: usize, dim: usize) -> Launch {
    let mut arguments: Vec<Argument> = pointers.map(Pointer).to_vec();
    arguments.extend([U32(heads as u32), U32(dim as u32)]);
    Launch {
        module: Module::Rotary,
        function: format!("rope_{}", element.name()),
        grid: [tokens as u32, 1, 1],
        threads: threads(heads * dim / 2, 256),
        arguments,
    }
}

/// Addresses for [`rotate_store`].
#[derive(Debug, Clone, Copy)]
pub struct RotateStore {
    /// `[tokens, heads, dim]`
    pub q: u64,
    /// `[tokens, kv_heads, dim]`
    pub k: u64,
    /// `[tokens, kv_heads, dim]`
    pub v: u64,
    /// f32 `[tokens, dim / 2]`
    pub cos: u64,
    /// f32 `[tokens, dim / 2]`
    pub sin: u64,
    /// u32 `[tokens]`
    pub slots: u64,
    /// Like `q`
    pub q_out: u64,
    /// `[pages, kv_heads, dim, PAGE]`
    pub k_cache: u64,
    /// `[pages, kv_heads, PAGE, dim]`
    pub v_cache: u64,
}

/// Turns queries and keys, and stores keys and values in their pages.
#[must_use]
pub fn rotate_store(at: &RotateStore, element: Element, tokens: usize, heads: [usize; 2], dim: usize) -> Launch {
    let RotateStore { q, k, v, cos, sin, slots, q_out, k_cache, v_cache } = *at;
    let mut arguments: Vec<Argument> = [q, k, v, cos, sin, slots, q_out, k_cache, v_cache].map(Pointer).to_vec();
    arguments.extend([heads[0], heads[1], dim].map(|n| U32(n as u32)));
    Launch {
        module: Module::Rotary,
        function: format!("rotate_store_{}", element.name()),
        grid: [tokens as u32, 1, 1],
        threads: threads(heads[0] * dim / 2, 256),
        arguments,
    }
}

/// `silu(gate) * up` of `count` numbers; `[gate, up, out]`.
#[must_use]
pub fn swiglu(element: Element, pointers: [u64; 3], count: usize) -> Launch {
    const THREADS: usize = 256;
    // Eight numbers a thread; a grid beyond some thousand blocks goes round instead.
    let blocks = count.div_ceil(THREADS * 8).min(4096);
    let mut arguments: Vec<Argument> = pointers.map(Pointer).to_vec();
    arguments.push(U32(count as u32));
    Launch {
        module: Module::Swiglu,
        function: format!("swiglu_{}", element.name()),
        grid: [blocks as u32, 1, 1],
        threads: THREADS as u32,
        arguments,
    }
}
