//! Unpacks the codes and scales of a few hundred inputs of a panel, once for all rows that are multiplied by them.

use super::blocks::{FORMATS, Format, LANES, Scales, Width};
use super::lanes::{Bytes, Ints, Lanes, Outlined, bias_of};
use super::quantise::CHUNK;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Inputs unpacked for one tile of rows, instead of a [`CHUNK`] (16 KiB of codes and 8 KiB of scales at most, which
/// stay in L1 with a few rows of activations): with little to multiply, reading and multiplying have to overlap.
pub(super) const SMALL_CHUNK: usize = 64;

/// Prefetch distance for weights in bytes: few rows are bound by memory, and while a chunk is multiplied the
/// processor's own prefetcher sees no reads.
const AHEAD: usize = 16384;

/// A chunk of half a panel, unpacked. Only written values are read.
#[repr(C, align(64))]
pub(super) struct HalfPanel {
    /// `[inputs / 4][16 outputs][4 inputs]`, as stored or less their zero
    pub codes: [MaybeUninit<u8>; CHUNK * LANES],
    /// `[inputs / step][16 outputs]`
    pub scales: [MaybeUninit<f32>; CHUNK / 16 * LANES],
    /// As `scales`, where the type has mins.
    pub mins: [MaybeUninit<f32>; CHUNK / 16 * LANES],
}

/// A chunk of a panel, unpacked.
pub(super) type Scratch = [HalfPanel; 2];

pub(super) const fn scratch() -> MaybeUninit<Scratch> {
    MaybeUninit::uninit()
}

/// Unpacks `inputs` of a panel, whose ends are multiples of 32. With `SIGNED` the zero is subtracted from codes, and
/// they fit an i8.
///
/// # Safety
/// The instructions of `L` exist; `panel` is a whole panel and has these inputs; they fit a chunk.
#[inline(always)]
pub(super) unsafe fn unpack<L: Lanes, const SIGNED: bool>(
    format: Format,
    panel: &[u8],
    inputs: Range<usize>,
    scratch: *mut Scratch,
) {
    let steps = 32 / format.step;
    debug_assert!(panel.len() >= 2 * inputs.end.div_ceil(format.unit()) * format.unit_bytes() && inputs.len() <= CHUNK);
    for input in inputs.clone().step_by(32) {
        for half in 0..2 {
            // SAFETY: the caller's; offsets follow from the layout in `blocks`.
            unsafe {
                let stored = Stored::<L>::at(format, panel, input, half);
                let (to, input) = (scratch.cast::<HalfPanel>().add(half), input - inputs.start);
                let codes_to = (&raw mut (*to).codes).cast::<u8>().add(input * LANES);
                for (group, codes) in stored.codes().into_iter().enumerate() {
                    let codes = if SIGNED && format.zero != 0 { codes.sub(format.zero as u8) } else { codes };
                    codes.store(codes_to.add(64 * group));
                }
                for step in 0..steps {
                    let at = (input / format.step + step) * LANES;
                    stored.scale(step).store((&raw mut (*to).scales).cast::<f32>().add(at));
                    if format.has_min {
                        stored.min(step).store((&raw mut (*to).mins).cast::<f32>().add(at));
                    }
                }
            }
        }
    }
}

/// As [`unpack`], of `FORMATS[FORMAT]`.
///
/// # Safety
/// As [`unpack`].
#[inline(always)]
pub(super) unsafe fn unpack_format<L: Lanes, const SIGNED: bool, const FORMAT: usize>(
    panel: &[u8],
    inputs: Range<usize>,
    scratch: *mut Scratch,
) {
    // SAFETY: the caller's.
    unsafe { L::Ints::outlined(UnpackOf::<SIGNED, FORMAT> { panel, inputs, scratch }) }
}

/// As [`unpack`], whose conditions hold.
struct UnpackOf<'a, const SIGNED: bool, const FORMAT: usize> {
    panel: &'a [u8],
    inputs: Range<usize>,
    scratch: *mut Scratch,
}

impl<const SIGNED: bool, const FORMAT: usize> Outlined for UnpackOf<'_, SIGNED, FORMAT> {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: the caller's.
        unsafe { unpack::<L, SIGNED>(const { FORMATS[FORMAT].1 }, self.panel, self.inputs, self.scratch) }
    }
}

/// Bytes of 32 inputs of half a panel as bf16: those of a tile.
const TILE_BYTES: usize = 2 * 32 * LANES;

/// A chunk of a panel as bf16: `[inputs / 32][2 halves][16 pairs of inputs][32]`, pairs as [`Widening`] has them. Only what was
/// written is read.
#[repr(C, align(64))]
pub(super) struct Widened([MaybeUninit<u8>; 2 * CHUNK / 32 * TILE_BYTES]);

impl Widened {
    pub(super) const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; 2 * CHUNK / 32 * TILE_BYTES])
    }

    pub(super) fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut u16 {
        self.0.as_mut_ptr().cast()
    }
}

/// Unpacks some inputs of a panel to bf16, a little at a time: between products by tiles it costs little. With `PAIRS` both
/// inputs of a pair lie side by side, as AMX multiplies them, else sixteen outputs of the one before those of the other.
///
/// A weight is `bf16(fma(bias + code, scale, offset))` with `offset = fma(-(bias + zero), scale, min)`: `scale * (code - zero)
/// + min` but for the rounding of `offset`, which is to less than `scale / 2^17`, or with codes of eight bits none.
pub(super) struct Widening<'a, L, const PAIRS: bool, const FORMAT: usize> {
    panel: &'a [u8],
    inputs: Range<usize>,
    to: *mut u16,
    /// Scale and offset of both groups of the last part.
    factors: [[L; 2]; 2],
}

impl<'a, L: Lanes, const PAIRS: bool, const FORMAT: usize> Widening<'a, L, PAIRS, FORMAT> {
    /// Of `inputs`, whose ends are multiples of 32, into a [`Widened`].
    ///
    /// # Safety
    /// The instructions of `L` exist. `panel` is a whole panel of `FORMATS[FORMAT]` and has these inputs; they fit a chunk, and `to` has room for
    /// one.
    #[inline(always)]
    pub(super) unsafe fn new(panel: &'a [u8], inputs: Range<usize>, to: *mut u16) -> Self {
        // SAFETY: the caller's.
        let zero = unsafe { L::splat(0.0) };
        Self { panel, inputs, to, factors: [[zero; 2]; 2] }
    }

    /// Parts of 128 weights: two groups of 32 inputs of half a panel.
    pub(super) fn parts(&self) -> usize {
        self.inputs.len() / 32 * 2 * 4
    }

    /// Unpacks part `number`; parts are unpacked in order.
    ///
    /// # Safety
    /// There is such a part, and the instructions of `L` exist.
    #[inline(always)]
    pub(super) unsafe fn part(&mut self, number: usize) {
        let format = const { FORMATS[FORMAT].1 };
        let (tile, group, eight) = (number / 4, number % 4, format.largest_code().1);
        // SAFETY: the caller's; a tile has room for 32 inputs of half a panel.
        unsafe {
            let stored = Stored::<L>::at(format, self.panel, self.inputs.start + tile / 2 * 32, tile % 2);
            stored.prefetch_ahead(group);
            if group == 0 {
                let last = 32 / format.step - 1;
                let first = factors(stored, 0);
                self.factors = [first, if last == 0 { first } else { factors(stored, last) }];
            }
            let to = self.to.add(tile * TILE_BYTES / 2 + group * 4 * LANES);
            let [near, far] = stored.two_groups(group);
            for (number, codes) in [near, far].into_iter().enumerate() {
                let (to, [scale, offset]) = (to.add(number * 16 * LANES), self.factors[number]);
                if eight {
                    widen::<L, true, PAIRS>(codes, scale, offset, to);
                } else {
                    widen::<L, false, PAIRS>(codes, scale, offset, to);
                }
            }
        }
    }
}

/// Scale and offset of a step.
#[inline(always)]
unsafe fn factors<L: Lanes>(stored: Stored<L>, step: usize) -> [L; 2] {
    let (format, eight) = (stored.format, stored.format.largest_code().1);
    // SAFETY: the caller's.
    unsafe {
        let scale = stored.scale(step);
        let least = if format.has_min { stored.min(step) } else { L::splat(0.0) };
        [scale, scale.fma(L::splat(-(bias_of(eight) + format.zero as f32)), least)]
    }
}

/// Four inputs of sixteen outputs.
#[inline(always)]
unsafe fn widen<L: Lanes, const EIGHT: bool, const PAIRS: bool>(codes: L::Bytes, scale: L, offset: L, to: *mut u16) {
    // SAFETY: the caller's.
    unsafe {
        let (a, b) = (L::biased_codes::<0, EIGHT>(codes), L::biased_codes::<1, EIGHT>(codes));
        a.fma(scale, offset).store_bf16::<PAIRS>(b.fma(scale, offset), to);
        let (a, b) = (L::biased_codes::<2, EIGHT>(codes), L::biased_codes::<3, EIGHT>(codes));
        a.fma(scale, offset).store_bf16::<PAIRS>(b.fma(scale, offset), to.add(2 * LANES));
    }
}

/// 32 inputs of half a panel, packed.
#[derive(Clone, Copy)]
pub(super) struct Stored<L> {
    format: Format,
    head: *const u8,
    block: *const u8,
    lanes: PhantomData<L>,
}

impl<L: Lanes> Stored<L> {
    /// The inputs from `input` on, a multiple of 32.
    ///
    /// # Safety
    /// `panel` is a whole panel of `format` that has these inputs.
    #[inline(always)]
    pub(super) unsafe fn at(format: Format, panel: &[u8], input: usize, half: usize) -> Self {
        let (unit, unit_bytes) = (format.unit(), format.unit_bytes());
        // SAFETY: the caller's.
        unsafe {
            let head = panel.as_ptr().add((2 * (input / unit) + half) * unit_bytes);
            let block = head.add(format.head_bytes() + input % unit / 32 * format.block_bytes());
            Self { format, head, block, lanes: PhantomData }
        }
    }

    /// Prefetches every fourth line of what lies [`AHEAD`], from line `group` on. A core waits for 16 lines at most, so
    /// all of them at once would hold up the loads that follow.
    ///
    /// # Safety
    /// As [`Lanes`].
    #[inline(always)]
    pub(super) unsafe fn prefetch_ahead(self, group: usize) {
        let bytes = self.format.unit_bytes() * 32 / self.format.unit();
        for line in (0..bytes).step_by(4 * 64).map(|four| four + 64 * group) {
            if line < bytes {
                // SAFETY: the caller's; the address need not exist.
                unsafe { L::prefetch(self.block.wrapping_add(AHEAD + line)) };
            }
        }
    }

    /// The scale of a step, `[16 outputs]`.
    ///
    /// # Safety
    /// As [`Self::at`], and as [`Lanes`].
    #[inline(always)]
    pub(super) unsafe fn scale(self, step: usize) -> L {
        // SAFETY: the caller's.
        unsafe {
            if let Scales::Powers = self.format.scales {
                return L::load_powers(self.head);
            }
            let d = L::load_f16(self.head.cast());
            let nested = self.block.add(self.format.width.bytes() + step * LANES);
            match self.format.scales {
                Scales::Plain | Scales::Powers => d,
                Scales::Nested => d.mul(L::load_u8(nested)),
                Scales::NestedSigned => d.mul(L::load_i8(nested.cast())),
            }
        }
    }

    /// The min of a step, `[16 outputs]`, of a type that has mins.
    ///
    /// # Safety
    /// As [`Self::scale`].
    #[inline(always)]
    pub(super) unsafe fn min(self, step: usize) -> L {
        // SAFETY: the caller's.
        unsafe {
            let m = L::load_f16(self.head.cast::<u16>().add(LANES));
            let steps = 32 / self.format.step;
            match self.format.scales {
                Scales::Plain => m,
                _ => m.mul(L::load_u8(self.block.add(self.format.width.bytes() + (steps + step) * LANES))),
            }
        }
    }

    /// 512 codes packed by `super::pack`: `[8 groups][16 outputs][4 inputs]`. Prefetches what lies [`AHEAD`].
    ///
    /// # Safety
    /// As [`Self::scale`].
    #[inline(always)]
    pub(super) unsafe fn codes(self) -> [L::Bytes; 8] {
        // SAFETY: the caller's.
        unsafe {
            self.prefetch_ahead(0);
            let a = self.two_groups(0);
            self.prefetch_ahead(1);
            let b = self.two_groups(1);
            self.prefetch_ahead(2);
            let c = self.two_groups(2);
            self.prefetch_ahead(3);
            let d = self.two_groups(3);
            [a[0], b[0], c[0], d[0], a[1], b[1], c[1], d[1]]
        }
    }

    /// The groups `group`, at most 3, and `group + 4` of [`Self::codes`].
    ///
    /// # Safety
    /// As [`Self::scale`].
    #[inline(always)]
    pub(super) unsafe fn two_groups(self, group: usize) -> [L::Bytes; 2] {
        let (width, from, shift) = (self.format.width, self.block, group as u32);
        // SAFETY: the caller's.
        unsafe {
            let both = L::Bytes::load(from.add(64 * group));
            if width == Width::Eight {
                return [both, L::Bytes::load(from.add(64 * (group + 4)))];
            }
            let (low, high) = (both.right(0, 0x0f), both.right(4, 0x0f));
            if let Some(table) = self.format.table() {
                return [low.select(table), high.select(table)];
            }
            // No closures, which would not be compiled for the instructions of the kernel.
            let planes = from.add(256);
            match width {
                Width::Four | Width::Eight => [low, high],
                Width::Five => {
                    let plane = L::Bytes::load(planes);
                    [low.or(plane.left(4 - shift, 0x10)), high.or(plane.right(shift, 0x10))]
                }
                Width::Six => {
                    let near = L::Bytes::load(planes).right(2 * shift, 0x03).left(4, 0x30);
                    let far = L::Bytes::load(planes.add(64)).right(2 * shift, 0x03).left(4, 0x30);
                    [low.or(near), high.or(far)]
                }
            }
        }
    }
}

/// Row `column` of a panel, as floats: `scale * (code - zero) + min`, which is how the type is defined.
pub(crate) fn row_of_blocks(format: Format, panel: &[u8], column: usize, out: &mut [f32]) {
    let (half, lane) = (column / LANES, column % LANES);
    let mut scratch = scratch();
    let unit = format.unit();
    for (number, out) in out.chunks_exact_mut(unit).enumerate() {
        let at = &panel[2 * number * format.unit_bytes()..];
        // SAFETY: portable lanes need no instructions; one unit fits a chunk, and what is read of it was written.
        unsafe {
            unpack::<super::lanes::Portable, false>(format, at, 0..unit, scratch.as_mut_ptr());
            let half = scratch.as_ptr().cast::<HalfPanel>().add(half);
            let read = |values: *const MaybeUninit<f32>, step: usize| *values.cast::<f32>().add(step * LANES + lane);
            for (input, x) in out.iter_mut().enumerate() {
                let code = *(*half).codes.as_ptr().cast::<u8>().add(input / 4 * 4 * LANES + 4 * lane + input % 4);
                let scale = read((*half).scales.as_ptr(), input / format.step);
                *x = scale * (i32::from(code) - format.zero) as f32;
                if format.has_min {
                    *x += read((*half).mins.as_ptr(), input / format.step);
                }
            }
        }
    }
}
