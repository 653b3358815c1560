//! Tiles of plain Rust, by the pseudo-code of Intel's manual (volume 2: LDTILECFG, TILELOADD, TDPBSSD, TDPBF16PS, TILESTORED,
//! TILEZERO, TILERELEASE), with everything that would be an exception there as a failed assertion.

use super::tiles::{Shapes, Tiles};

/// A tile register, with zeros beyond its shape.
#[derive(Clone, Copy)]
struct Tile {
    rows: usize,
    row_bytes: usize,
    data: [[u8; 64]; 16],
}

const EMPTY: Tile = Tile { rows: 0, row_bytes: 0, data: [[0; 64]; 16] };

/// All of them, of one thread.
#[derive(Clone, Copy)]
pub(super) struct Emulated {
    configured: bool,
    tiles: [Tile; 8],
}

impl Emulated {
    pub(super) const fn new() -> Self {
        Self { configured: false, tiles: [EMPTY; 8] }
    }

    fn tile(&mut self, number: usize) -> &mut Tile {
        assert!(self.configured, "tiles are used before they are configured");
        let tile = &mut self.tiles[number];
        assert!(tile.rows > 0, "tile {number} has no shape");
        tile
    }

    pub(super) fn configure_by(&mut self, bytes: &[u8; 64]) {
        assert!(bytes[0] == 1 && bytes[1] == 0, "palette 1 from row 0, not {:?}", &bytes[..2]);
        let reserved = bytes[2..16].iter().chain(&bytes[32..48]).chain(&bytes[56..]);
        assert!(reserved.copied().all(|byte| byte == 0), "{bytes:?}");
        for (number, tile) in self.tiles.iter_mut().enumerate() {
            let row_bytes = usize::from(u16::from_le_bytes([bytes[16 + 2 * number], bytes[17 + 2 * number]]));
            let rows = usize::from(bytes[48 + number]);
            assert!(rows <= 16 && row_bytes <= 64 && (rows == 0) == (row_bytes == 0), "{rows} x {row_bytes}");
            *tile = Tile { rows, row_bytes, ..EMPTY };
        }
        self.configured = true;
    }

    pub(super) fn zero_tile(&mut self, number: usize) {
        self.tile(number).data = EMPTY.data;
    }

    /// # Safety
    /// All of the tile can be read.
    pub(super) unsafe fn load_tile(&mut self, number: usize, from: *const u8, stride: usize) {
        let tile = self.tile(number);
        tile.data = EMPTY.data;
        for (row, line) in tile.data.iter_mut().enumerate().take(tile.rows) {
            // SAFETY: the caller's.
            unsafe { std::ptr::copy_nonoverlapping(from.add(row * stride), line.as_mut_ptr(), tile.row_bytes) };
        }
    }

    /// # Safety
    /// All of the tile can be written.
    pub(super) unsafe fn store_tile(&mut self, number: usize, to: *mut u8, stride: usize) {
        let tile = self.tile(number);
        for (row, line) in tile.data.iter().enumerate().take(tile.rows) {
            // SAFETY: the caller's.
            unsafe { std::ptr::copy_nonoverlapping(line.as_ptr(), to.add(row * stride), tile.row_bytes) };
        }
    }

    pub(super) fn dot_signed(&mut self, sums: usize, rows: usize, columns: usize) {
        assert!(sums != rows && sums != columns && rows != columns, "{sums} {rows} {columns}");
        let (a, b) = (*self.tile(rows), *self.tile(columns));
        let c = self.tile(sums);
        assert!([a.row_bytes, b.row_bytes, c.row_bytes].iter().all(|bytes| bytes.is_multiple_of(4)));
        assert!(c.rows == a.rows && a.row_bytes / 4 == b.rows && c.row_bytes == b.row_bytes);
        for (c, a) in c.data.iter_mut().zip(&a.data).take(a.rows) {
            for (a, b) in a.as_chunks::<4>().0.iter().zip(&b.data).take(b.rows) {
                // Whole rows: the zeros beyond the shape stay zeros.
                for (c, b) in c.as_chunks_mut::<4>().0.iter_mut().zip(b.as_chunks::<4>().0) {
                    let products = a.iter().zip(b).map(|(&a, &b)| i32::from(a as i8) * i32::from(b as i8));
                    *c = i32::from_le_bytes(*c).wrapping_add(products.sum()).to_le_bytes();
                }
            }
        }
    }

    pub(super) fn dot_bf16(&mut self, sums: usize, rows: usize, columns: usize) {
        assert!(sums != rows && sums != columns && rows != columns, "{sums} {rows} {columns}");
        let (a, b) = (*self.tile(rows), *self.tile(columns));
        let c = self.tile(sums);
        assert!([a.row_bytes, b.row_bytes, c.row_bytes].iter().all(|bytes| bytes.is_multiple_of(4)));
        assert!(c.rows == a.rows && a.row_bytes / 4 == b.rows && c.row_bytes == b.row_bytes);
        let [a, b] = [a.data, b.data].map(|rows| rows.map(|row| row.as_chunks::<4>().0.to_vec()));
        for (c, a) in c.data.iter_mut().zip(&a).take(c.rows) {
            for (column, c) in c.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let mut parts = [0.0_f32; 2];
                for (a, b) in a.iter().zip(&b) {
                    for (part, (a, b)) in parts.iter_mut().zip(pair(*a).into_iter().zip(pair(b[column]))) {
                        *part = no_subnormal(no_subnormal(a).mul_add(no_subnormal(b), *part));
                    }
                }
                let sum = no_subnormal(parts[0] + parts[1]);
                *c = no_subnormal(no_subnormal(f32::from_le_bytes(*c)) + sum).to_le_bytes();
            }
        }
    }

    pub(super) fn release_all(&mut self) {
        *self = Self::new();
    }
}

/// Two bf16.
fn pair(bytes: [u8; 4]) -> [f32; 2] {
    let both = u32::from_le_bytes(bytes);
    [f32::from_bits(both << 16), f32::from_bits(both & 0xffff_0000)]
}

/// Zero of the same sign where `x` is subnormal.
fn no_subnormal(x: f32) -> f32 {
    if x.is_subnormal() { 0.0_f32.copysign(x) } else { x }
}

// SAFETY (all methods): the trait's contract gives the memory.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Tiles for Emulated {
    unsafe fn configure(&mut self, shapes: &Shapes) {
        self.configure_by(&shapes.0);
    }
    unsafe fn zero<const TILE: usize>(&mut self) {
        self.zero_tile(TILE);
    }
    unsafe fn load<const TILE: usize>(&mut self, from: *const u8, stride: usize) {
        unsafe { self.load_tile(TILE, from, stride) }
    }
    unsafe fn store<const TILE: usize>(&mut self, to: *mut u8, stride: usize) {
        unsafe { self.store_tile(TILE, to, stride) }
    }
    unsafe fn dot<const SUMS: usize, const ROWS: usize, const COLUMNS: usize>(&mut self) {
        self.dot_signed(SUMS, ROWS, COLUMNS);
    }
    unsafe fn dot_bf16<const SUMS: usize, const ROWS: usize, const COLUMNS: usize>(&mut self) {
        self.dot_bf16(SUMS, ROWS, COLUMNS);
    }
    unsafe fn release(&mut self) {
        self.release_all();
    }
}
