//! Launches of the linear layer whose bits do not depend on the number of rows.

use super::kernel::Argument::{Pointer, U32};
use super::kernel::{Argument, Element, Kernel, Launch, Module};

/// Rows up to which a block is sixteen of them; both kernels give the same bits, so this is a matter of speed alone.
const FEW: usize = 64;

/// `y = x · wᵀ` over `[rows, inputs]` and `[outputs, inputs]`, by halves; `[x, w, y]`. `None` where the kernels do not
/// take that: `inputs` must be a multiple of 8, addresses of 16, and the type one that tensor cores take.
#[must_use]
pub fn linear(element: Element, pointers: [u64; 3], rows: usize, inputs: usize, outputs: usize) -> Option<Launch> {
    let aligned = pointers.iter().all(|at| at.is_multiple_of(16));
    if !element.is_half() || inputs == 0 || !inputs.is_multiple_of(8) || !aligned {
        return None;
    }
    let (name, tile, threads) =
        if rows <= FEW { ("linear_few", [32, 16], 128) } else { ("linear_many", [128, 128], 256) };
    let mut arguments: Vec<Argument> = pointers.map(Pointer).to_vec();
    arguments.extend([rows, inputs, outputs].map(|n| U32(n as u32)));
    Some(Launch {
        kernel: Kernel::new(Module::Linear, name).of(element),
        grid: [outputs.div_ceil(tile[0]) as u32, rows.div_ceil(tile[1]) as u32, 1],
        threads,
        arguments,
    })
}
