//! The eight tile registers of AMX: up to 16 rows of up to 64 bytes each.

/// Tile registers, and the instructions used here. They belong to a thread, and are undefined before
/// [`Self::configure`] and after [`Self::release`].
///
/// # Safety
/// Methods may only be called where the implementation's instructions exist and, except `configure`, between
/// `configure` and `release`. Tiles are below 8 and shapes fit each other. A tile in memory is its rows, `stride` bytes
/// apart; all of them must be readable, or writable.
pub(in crate::cpu) trait Tiles {
    unsafe fn configure(&mut self, shapes: &Shapes);
    unsafe fn zero<const TILE: usize>(&mut self);
    unsafe fn load<const TILE: usize>(&mut self, from: *const u8, stride: usize);
    unsafe fn store<const TILE: usize>(&mut self, to: *mut u8, stride: usize);
    /// Adds to the i32 of `SUMS` in row `m` and column `n` the products of row `m` of `ROWS` with the i8 that lie four
    /// by four in the columns `4 n ..` of `COLUMNS`.
    unsafe fn dot<const SUMS: usize, const ROWS: usize, const COLUMNS: usize>(&mut self);
    /// Adds to the f32 of `SUMS` in row `m` and column `n` the products of row `m` of `ROWS` with the bf16 that lie two by two
    /// in the columns `2 n ..` of `COLUMNS`, in the order that `bf16` says.
    unsafe fn dot_bf16<const SUMS: usize, const ROWS: usize, const COLUMNS: usize>(&mut self);
    unsafe fn release(&mut self);
}

/// The operand of `ldtilecfg`: palette 1, then sixteen bytes in, the bytes of a row of each tile (u16), and 48 bytes
/// in, its rows (u8). All else is reserved, and zero.
#[repr(C, align(64))]
#[derive(Debug)]
pub(in crate::cpu) struct Shapes(pub(super) [u8; 64]);

impl Shapes {
    /// Rows, and bytes of a row, of each tile.
    pub(super) const fn new(shapes: [(u8, u8); 8]) -> Self {
        let mut bytes = [0; 64];
        bytes[0] = 1;
        let mut tile = 0;
        while tile < 8 {
            (bytes[48 + tile], bytes[16 + 2 * tile]) = shapes[tile];
            tile += 1;
        }
        Self(bytes)
    }
}

/// This processor's.
#[cfg(target_arch = "x86_64")]
pub(in crate::cpu) struct Hardware;

/// One instruction, declared to change every tile, which is more than any does. The compiler does not know that a tile
/// keeps its value from one instruction to the next; it keeps no values of its own in tiles, and nothing else here uses
/// them.
#[cfg(target_arch = "x86_64")]
macro_rules! instruction {
    ($text:literal, [$($operands:tt)*], $($memory:ident)?) => {
        std::arch::asm!(
            $text,
            $($operands)*
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack, preserves_flags $(, $memory)?)
        )
    };
}

// SAFETY (all methods): the trait's contract gives the instructions, the shapes and the memory. Without an option
// that restricts its use of memory an instruction may read and write any. None is `pure`, so all of them stay, and in
// order. In an address the second register is the stride, times one.
#[cfg(target_arch = "x86_64")]
#[allow(clippy::undocumented_unsafe_blocks)]
impl Tiles for Hardware {
    #[inline(always)]
    unsafe fn configure(&mut self, shapes: &Shapes) {
        unsafe { instruction!("ldtilecfg [{}]", [in(reg) shapes.0.as_ptr(),], readonly) }
    }
    #[inline(always)]
    unsafe fn zero<const TILE: usize>(&mut self) {
        unsafe { instruction!("tilezero tmm{tile}", [tile = const TILE,], nomem) }
    }
    #[inline(always)]
    unsafe fn load<const TILE: usize>(&mut self, from: *const u8, stride: usize) {
        unsafe {
            instruction!(
                "tileloadd tmm{tile}, [{from} + {stride}*1]",
                [tile = const TILE, from = in(reg) from, stride = in(reg) stride,],
                readonly
            );
        }
    }
    #[inline(always)]
    unsafe fn store<const TILE: usize>(&mut self, to: *mut u8, stride: usize) {
        unsafe {
            instruction!(
                "tilestored [{to} + {stride}*1], tmm{tile}",
                [tile = const TILE, to = in(reg) to, stride = in(reg) stride,],
            );
        }
    }
    #[inline(always)]
    unsafe fn dot<const SUMS: usize, const ROWS: usize, const COLUMNS: usize>(&mut self) {
        unsafe {
            instruction!(
                "tdpbssd tmm{sums}, tmm{rows}, tmm{columns}",
                [sums = const SUMS, rows = const ROWS, columns = const COLUMNS,],
                nomem
            );
        }
    }
    #[inline(always)]
    unsafe fn dot_bf16<const SUMS: usize, const ROWS: usize, const COLUMNS: usize>(&mut self) {
        unsafe {
            instruction!(
                "tdpbf16ps tmm{sums}, tmm{rows}, tmm{columns}",
                [sums = const SUMS, rows = const ROWS, columns = const COLUMNS,],
                nomem
            );
        }
    }
    #[inline(always)]
    unsafe fn release(&mut self) {
        unsafe { instruction!("tilerelease", [], nomem) }
    }
}
