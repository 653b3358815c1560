//! Whether this processor has AMX, the system permits it, and its products have the bits of the other tables.

use crate::cpu::Table;
use crate::cpu::bf16::{Bf16, Sums, TILE_ROWS, TileCall};
use crate::cpu::block_linear::BlockCall;
use crate::cpu::blocks::{Format, LANES};
use crate::cpu::linear::PANEL;
use crate::cpu::memory::Aligned;
use crate::cpu::pack_half;
use crate::cpu::quantise::{CHUNK, Int8};
use candle_core::quantized::GgmlDType;
use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::sync::OnceLock;

/// The processor has tiles of the size used here and products of int8 and of bf16, the system saves their state, and it
/// permits this process to use them (Linux requires a request, which holds for all of the process's threads).
pub(in crate::cpu) fn offered() -> bool {
    static OFFERED: OnceLock<bool> = OnceLock::new();
    *OFFERED.get_or_init(|| processor() && permitted())
}

fn processor() -> bool {
    /// `OSXSAVE` in leaf 1's ECX: the system has said which states it saves.
    const OSXSAVE: u32 = 1 << 27;
    /// `AMX-BF16`, `AMX-TILE` and `AMX-INT8` in leaf 7's EDX.
    const AMX: u32 = 1 << 22 | 1 << 24 | 1 << 25;
    /// Tile configuration and tile data in XCR0.
    const STATES: u64 = 1 << 17 | 1 << 18;
    let (most, seven) = (__cpuid(0).eax, __cpuid_count(7, 0));
    if most < 0x1d || __cpuid(1).ecx & OSXSAVE == 0 || seven.edx & AMX != AMX {
        return false;
    }
    // Palette 1: bytes of all tiles and of one, bytes of a row, tiles, rows.
    let palette = __cpuid_count(0x1d, 1);
    let shape =
        (palette.eax & 0xffff, palette.eax >> 16, palette.ebx & 0xffff, palette.ebx >> 16, palette.ecx & 0xffff);
    // SAFETY: `OSXSAVE` says that the instruction exists.
    shape == (8192, 1024, 64, 8, 16) && unsafe { states() } & STATES == STATES
}

#[target_feature(enable = "xsave")]
unsafe fn states() -> u64 {
    // SAFETY: register 0 exists wherever the instruction does.
    unsafe { _xgetbv(0) }
}

#[cfg(target_os = "linux")]
fn permitted() -> bool {
    /// `ARCH_REQ_XCOMP_PERM` (Linux' `Documentation/arch/x86/xstate.rst`).
    const REQUEST: libc::c_long = 0x1023;
    /// Of the states that XSAVE numbers, the data of tiles.
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: the call takes two numbers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST, TILE_DATA) == 0 }
}

/// Other systems' ways to permit tiles are not implemented.
#[cfg(not(target_os = "linux"))]
fn permitted() -> bool {
    false
}

/// Whether two tables give the same bits for types of both step lengths, with and without zeros and mins, for rows and
/// outputs that do not fill the last tile. Takes about two milliseconds on the calling thread.
pub(in crate::cpu) fn agree(a: &'static Table, b: &'static Table) -> bool {
    // A type, the offsets of the f16 in its blocks, and inputs.
    let cases: [(GgmlDType, &[usize], usize); 3] =
        [(GgmlDType::Q4K, &[0, 2], 512), (GgmlDType::Q6K, &[208], 512), (GgmlDType::Q8_0, &[0], 672)];
    cases.into_iter().all(|(dtype, floats, inputs)| {
        let Some(case) = Case::new(dtype, floats, inputs) else { return false };
        case.bits(a) == case.bits(b) && case.bf16_bits(a) == case.bf16_bits(b)
    })
}

/// A fixed product.
struct Case {
    format: Format,
    packed: Aligned,
    inputs: usize,
    x: Vec<f32>,
}

impl Case {
    const ROWS: usize = 37;
    const OUTPUTS: usize = PANEL + LANES / 2;

    fn new(dtype: GgmlDType, floats: &[usize], inputs: usize) -> Option<Self> {
        let format = Format::of(dtype)?;
        // Knuth's constants for a 64-bit linear congruential generator.
        let mut seed = inputs as u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 40) as u32
        };
        let mut row = || {
            let mut bytes = vec![0; inputs / dtype.block_size() * dtype.type_size()];
            bytes.fill_with(|| next() as u8);
            for block in bytes.chunks_exact_mut(dtype.type_size()) {
                // The exponent of an f16 about 2^-9, so that none is infinite.
                floats.iter().for_each(|&at| block[at + 1] = block[at + 1] & 0x83 | 0x18);
            }
            bytes
        };
        let rows: Vec<Vec<u8>> = (0..Self::OUTPUTS).map(|_| row()).collect();
        let mut packed = Aligned::zeroed(Self::OUTPUTS.div_ceil(PANEL) * format.panel_bytes(inputs));
        for (number, rows) in rows.chunks(LANES).enumerate() {
            let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
            let panel = &mut packed[number / 2 * format.panel_bytes(inputs)..][..format.panel_bytes(inputs)];
            pack_half(dtype.into(), format, inputs, &rows, panel, number % 2);
        }
        let x = (0..Self::ROWS * inputs).map(|_| next() as f32 / (1 << 23) as f32 - 1.0).collect();
        Some(Self { format, packed, inputs, x })
    }

    /// Of the product of bf16.
    fn bf16_bits(&self, table: &'static Table) -> Vec<u32> {
        let mut x = Bf16::new(Self::ROWS, self.inputs);
        for (row, from, part) in x.parts(TILE_ROWS) {
            part.fill(CHUNK.min(self.inputs - from), |number, out| {
                let x = &self.x[(row + number) * self.inputs + from..][..out.len()];
                // SAFETY: tables are only reachable where this machine can run them; as many values.
                unsafe { (table.round_bf16)(x, out.as_mut_ptr()) };
            });
        }
        let (panels, mut sums) = (Self::OUTPUTS.div_ceil(PANEL), Sums::default());
        let call = TileCall { x: &x, format: self.format, packed: &self.packed };
        // SAFETY: as above; there is room for the sums, and all of them are written.
        let tiles = unsafe {
            (table.bf16_linear)(&call, 0..panels, 0..Self::ROWS, sums.room(panels, Self::ROWS));
            sums.tiles(panels, Self::ROWS)
        };
        tiles.iter().flat_map(|tile| tile.sums().map(f32::to_bits)).collect()
    }

    fn bits(&self, table: &'static Table) -> Vec<u32> {
        let mut x = Int8::new(Self::ROWS, self.inputs);
        x.fill_here(table, &self.x);
        let mut out = vec![0.0_f32; Self::ROWS * Self::OUTPUTS];
        let (format, packed, to) = (self.format, &self.packed[..], out.as_mut_ptr());
        let call = BlockCall { x: &x, format, packed, out: to, first_row: 0, outputs: Self::OUTPUTS };
        // SAFETY: tables are only reachable where this machine can run them; one task has all panels and rows.
        unsafe { (table.block_linear)(&call, 0..Self::OUTPUTS.div_ceil(PANEL), 0..Self::ROWS) };
        out.into_iter().map(f32::to_bits).collect()
    }
}
