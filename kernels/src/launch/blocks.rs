//! Launches of products with quantised matrices, which are [packed](super::pack_blocks) for them.

use super::kernel::Argument::{Pointer, U32};
use super::kernel::{Argument, Element, Kernel, Launch, Module};
use super::packing::{Format, INPUTS, OUTPUTS, Packing, Part, outputs_of, placed};
use candle_core::quantized::GgmlDType;

/// Numbers of rows, in eights, that a kernel is compiled for, with the outputs of a block of threads. All give the same bits,
/// so this is a matter of speed alone.
const TILES: [(usize, usize); 3] = [(1, 16), (2, 16), (4, 32)];

/// Warps that keep a large card busy: some 16 on each of 132 multiprocessors.
const WARPS: usize = 2048;
const MOST_WARPS: usize = 16;

/// The kernel for parts of two types in one launch.
fn of_two(first: GgmlDType, second: GgmlDType) -> Option<&'static str> {
    match (first, second) {
        (GgmlDType::Q4K, GgmlDType::Q6K) => Some("blocks_q4_k_q6_k"),
        (GgmlDType::Q5K, GgmlDType::Q6K) => Some("blocks_q5_k_q6_k"),
        _ => None,
    }
}

/// `y = x · wᵀ` over `[rows, inputs]` and a [packed](super::pack_blocks) matrix of `inputs` inputs, as its [`Packing`] says;
/// `[x, w, y]`. One launch where the parts have one type, or two that have a kernel together; else one a part. `None` where
/// no kernel [fits](super::blocks_fit), the packing does not, or an address is not a multiple of 16.
#[must_use]
pub fn blocks(
    element: Element,
    (parts, packing): (&[Part], Packing),
    [x, w, y]: [u64; 3],
    rows: usize,
    inputs: usize,
) -> Option<Vec<Launch>> {
    let placed = placed(element, (parts, packing), inputs, &[x, w, y])?;
    let outputs = outputs_of(parts);
    // Sums of warps are added as a tree, so their number must not depend on the rows. Few outputs need many warps to have
    // the card busy; with many outputs each warp has a longer share.
    let wanted = WARPS.div_ceil(outputs.div_ceil(OUTPUTS)).next_power_of_two();
    let warps = wanted.min(MOST_WARPS).min((inputs / INPUTS).next_power_of_two());
    // The kernel for 16 rows is slower with codes of eight bits than the next one (benches/results/gpu.md).
    let tiles_of = |bits: usize| {
        let fast = |(tiles, _): &(usize, usize)| rows <= 8 * tiles && (bits, *tiles) != (8, 2);
        TILES.into_iter().find(fast).unwrap_or(TILES[TILES.len() - 1])
    };
    let launch = |name, (tiles, columns): (usize, usize), arguments: Vec<Argument>| Launch {
        kernel: Kernel::new(Module::Blocks, name).sized(tiles).of(element),
        grid: [columns as u32, rows.div_ceil(8 * tiles) as u32, 1],
        threads: 32 * warps as u32,
        arguments,
    };
    let numbers = |numbers: &[usize]| numbers.iter().map(|n| U32(*n as u32)).collect::<Vec<_>>();
    if let [(a, format, _), (b, _, [second, _])] = &placed[..]
        && let Some(name) = of_two(a.blocks, b.blocks)
    {
        let (tiles, width) = tiles_of(format.bits);
        let pointers = [x, w, w + *second as u64, y].map(Pointer);
        let arguments = [&pointers[..], &numbers(&[rows, inputs, a.outputs, b.outputs])].concat();
        return Some(vec![launch(name, (tiles, a.outputs.div_ceil(width) + b.outputs.div_ceil(width)), arguments)]);
    }
    let (width_of_y, gated) = (packing.width(parts), usize::from(packing == Packing::Gated));
    let alone = |(part, format, [bytes, first]): &(Part, Format, [usize; 2])| {
        let (tiles, width) = tiles_of(format.bits);
        // Numbers have two bytes.
        let pointers = [x, w + *bytes as u64, y + 2 * *first as u64].map(Pointer);
        let arguments = [&pointers[..], &numbers(&[rows, inputs, part.outputs, width_of_y, gated])].concat();
        launch(format.product, (tiles, part.outputs.div_ceil(width)), arguments)
    };
    Some(placed.iter().map(alone).collect())
}

/// The [packed](super::pack_blocks) matrix `w` as numbers, `[outputs, inputs]`; `[w, y]`. A launch a part; `None` as for
/// [`blocks`].
#[must_use]
pub fn widen(
    element: Element,
    (parts, packing): (&[Part], Packing),
    [w, y]: [u64; 2],
    inputs: usize,
) -> Option<Vec<Launch>> {
    /// Units of a block of threads.
    const UNITS: usize = 8;
    let launch = |(part, format, [bytes, first]): &(Part, Format, [usize; 2])| Launch {
        kernel: Kernel::new(Module::Blocks, format.widen).of(element),
        grid: [(inputs / INPUTS).div_ceil(UNITS) as u32, part.outputs.div_ceil(OUTPUTS) as u32, 1],
        threads: 32 * UNITS as u32,
        arguments: vec![
            Pointer(w + *bytes as u64),
            Pointer(y + 2 * (first * inputs) as u64),
            U32(inputs as u32),
            U32(part.outputs as u32),
            U32(u32::from(packing == Packing::Gated)),
        ],
    };
    Some(placed(element, (parts, packing), inputs, &[w, y])?.iter().map(launch).collect())
}
