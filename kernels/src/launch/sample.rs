//! The launch of sampling.

use super::kernel::Argument::{Pointer, U32};
use super::kernel::{Kernel, Launch, Module};

/// The mask of a row that may take any token.
pub const NO_MASK: u32 = u32::MAX;

/// How one row is sampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// 0 takes the likeliest token, of equals the lowest id.
    pub temperature: f32,
    /// 1 keeps all.
    pub top_p: f32,
    /// In [0, 1): where in the distribution.
    pub draw: f32,
    /// 0 keeps all.
    pub top_k: u32,
    /// Its row of the masks, or [`NO_MASK`].
    pub mask: u32,
}

impl Choice {
    /// As the kernel reads it.
    #[must_use]
    pub fn words(&self) -> [u32; 5] {
        [self.temperature.to_bits(), self.top_p.to_bits(), self.draw.to_bits(), self.top_k, self.mask]
    }
}

/// Chooses among the first `vocab` of each row's `stride` logits; `[logits, masks, choices, tokens]`. Masks have a bit
/// a token, in `words` words a row.
#[must_use]
pub fn sample(pointers: [u64; 4], rows: usize, vocab: usize, stride: usize, words: usize) -> Launch {
    let mut arguments: Vec<super::Argument> = pointers.map(Pointer).to_vec();
    arguments.extend([vocab, stride, words].map(|n| U32(n as u32)));
    Launch { kernel: Kernel::new(Module::Sample, "sample"), grid: [rows as u32, 1, 1], threads: 1024, arguments }
}
