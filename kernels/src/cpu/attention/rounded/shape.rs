//! Sizes of a block and its tiles.

use crate::cpu::attention::BLOCK_PAGES;
use crate::cpu::blocks::LANES;
use crate::pages::PAGE;

/// Keys of a block.
pub(super) const KEYS: usize = BLOCK_PAGES * PAGE;
/// Numbers of a head that a product adds up, and keys.
pub(super) const STEP: usize = 32;
/// Lines of a tile.
pub(super) const TILE: usize = 16;
/// The two bf16 that a number of a query or a key becomes.
pub(super) const PARTS: usize = 2;

const _: () = assert!(PAGE == LANES && TILE == LANES && KEYS.is_multiple_of(STEP), "a page's keys are a tile's rows");

/// Sixteen floats, of one key or of one number of a head: a lane for each query.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(in crate::cpu) struct Floats(pub(super) [f32; LANES]);
