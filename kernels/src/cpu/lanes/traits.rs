//! Operations of an instruction set: sixteen lanes of floats, sums of integers, and bytes.

/// Sixteen f32 lanes. Every method is lane-wise and gives the same bits in every implementation; none reduces across
/// lanes in an order that another implementation would not follow.
///
/// # Safety
/// Methods may only be called where the implementation's instructions exist, and pointers must be valid for sixteen
/// values (of any alignment).
pub(in crate::cpu) trait Lanes: Copy {
    /// Sixteen i32.
    type Ints: Ints<Floats = Self>;
    /// Sixty-four bytes.
    type Bytes: Bytes;

    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn load_f16(from: *const u16) -> Self;
    unsafe fn load_bf16(from: *const u16) -> Self;
    unsafe fn load_u8(from: *const u8) -> Self;
    unsafe fn load_i8(from: *const i8) -> Self;
    /// 2 to the power of each byte less 127; bytes are from 1 to 254.
    #[inline(always)]
    unsafe fn load_powers(from: *const u8) -> Self {
        // SAFETY: the caller's: sixteen bytes.
        unsafe {
            let powers: [f32; 16] = std::array::from_fn(|lane| f32::from_bits(u32::from(*from.add(lane)) << 23));
            Self::load(powers.as_ptr())
        }
    }
    unsafe fn store(self, to: *mut f32);
    /// `self * b + c`, rounded once.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    unsafe fn sub(self, b: Self) -> Self;
    unsafe fn mul(self, b: Self) -> Self;
    unsafe fn max(self, b: Self) -> Self;
    unsafe fn min(self, b: Self) -> Self;
    unsafe fn div(self, b: Self) -> Self;
    /// 2 to the power of lanes that hold whole numbers from -126 to 127.
    unsafe fn exp2_whole(self) -> Self;
    /// The largest lane; lanes are numbers.
    unsafe fn largest(self) -> f32;
    /// `self` times two to the power of `whole`, whole numbers from -126 to 127.
    #[inline(always)]
    unsafe fn mul_power_of_two(self, whole: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { self.mul(whole.exp2_whole()) }
    }
    /// The sum of lanes that are each 0 or NaN: the one sum that no order changes.
    unsafe fn sum_of_zeros(self) -> f32;
    /// Prefetches the cache line at `at`, which need not exist.
    unsafe fn prefetch(at: *const u8);
    /// The nearest whole numbers, ties to even, of lanes within [-127, 127].
    unsafe fn rounded_i8(self) -> [i8; 16];
    /// The nearest whole numbers, ties to even, of lanes within [-32767, 32767].
    unsafe fn store_rounded_i16(self, to: *mut i16);
    /// The nearest bf16, ties away from zero, of lanes of this vector and the next: sixteen of each, or with `PAIRS` one of
    /// each in turn. A NaN must have a zero among its lowest sixteen bits, as those have that arithmetic makes.
    #[inline(always)]
    unsafe fn store_bf16<const PAIRS: bool>(self, next: Self, to: *mut u16) {
        let mut values = [[0.0_f32; 16]; 2];
        // SAFETY: the caller's instructions; there is room for 32 results.
        unsafe {
            self.store(values[0].as_mut_ptr());
            next.store(values[1].as_mut_ptr());
            for (number, values) in values.into_iter().enumerate() {
                for (lane, value) in values.into_iter().enumerate() {
                    let at = if PAIRS { 2 * lane + number } else { 16 * number + lane };
                    to.add(at).write((value.to_bits().wrapping_add(0x8000) >> 16) as u16);
                }
            }
        }
    }
    /// The nearest bf16, ties away from zero, under the conditions of [`Self::store_bf16`].
    #[inline(always)]
    unsafe fn rounded_bf16(self) -> Self {
        let mut values = [0.0_f32; 16];
        // SAFETY: the caller's instructions; sixteen floats.
        unsafe {
            self.store(values.as_mut_ptr());
            Self::load(values.map(|x| f32::from_bits(x.to_bits().wrapping_add(0x8000) & 0xffff_0000)).as_ptr())
        }
    }
    /// Lanes of this vector and the next, which are bf16, one of each in turn.
    #[inline(always)]
    unsafe fn store_bf16_pairs(self, next: Self, to: *mut u16) {
        // SAFETY: the caller's. Rounding leaves a bf16 as it is.
        unsafe { self.store_bf16::<true>(next, to) }
    }
    /// Pairs of bf16 apart: the first of each, and the second.
    #[inline(always)]
    unsafe fn load_bf16_pairs(from: *const u16) -> [Self; 2] {
        // SAFETY: the caller's: 32 numbers.
        unsafe {
            let of = |number: usize| -> [f32; 16] {
                std::array::from_fn(|lane| f32::from_bits(u32::from(*from.add(2 * lane + number)) << 16))
            };
            [Self::load(of(0).as_ptr()), Self::load(of(1).as_ptr())]
        }
    }
    /// Lane `j` of vector `i` as lane `i` of vector `j`, whatever its bits.
    #[inline(always)]
    unsafe fn transpose(vectors: [Self; 16]) -> [Self; 16] {
        let mut lanes = [[0.0_f32; 16]; 16];
        // SAFETY: the caller's instructions; sixteen floats each.
        unsafe {
            for (vector, lanes) in vectors.into_iter().zip(&mut lanes) {
                vector.store(lanes.as_mut_ptr());
            }
            std::array::from_fn(|lane| {
                let column: [f32; 16] = std::array::from_fn(|vector| lanes[vector][lane]);
                Self::load(column.as_ptr())
            })
        }
    }
    /// Zero where the magnitude is below that of `least`, which is not negative.
    #[inline(always)]
    unsafe fn at_least(self, least: Self) -> Self {
        let mut values = [[0.0_f32; 16]; 2];
        // SAFETY: the caller's instructions; sixteen floats each.
        unsafe {
            self.store(values[0].as_mut_ptr());
            least.store(values[1].as_mut_ptr());
            let [values, least] = values;
            let kept: [f32; 16] =
                std::array::from_fn(|lane| if values[lane].abs() < least[lane] { 0.0 } else { values[lane] });
            Self::load(kept.as_ptr())
        }
    }
    /// Code `INPUT` of every four, plus [`bias_of`].
    #[inline(always)]
    unsafe fn biased_codes<const INPUT: usize, const EIGHT: bool>(codes: Self::Bytes) -> Self {
        let mut bytes = [0_u8; 64];
        // SAFETY: the caller's instructions; sixty-four bytes, and sixteen floats.
        unsafe {
            codes.store(bytes.as_mut_ptr());
            let floats: [f32; 16] = std::array::from_fn(|lane| bias_of(EIGHT) + f32::from(bytes[4 * lane + INPUT]));
            Self::load(floats.as_ptr())
        }
    }
}

/// A power of two whose float's last bits are a code's: of codes of eight bits, or of less.
pub(in crate::cpu) const fn bias_of(eight: bool) -> f32 {
    if eight { 32768.0 } else { 128.0 }
}

/// Sixteen i32 sums of integer products, exact.
///
/// # Safety
/// As [`Lanes`].
pub(in crate::cpu) trait Ints: Copy {
    type Floats: Lanes<Ints = Self>;
    /// Whether codes of eight bits are multiplied as `code - 128`: where the products of unsigned bytes would overflow
    /// the instruction's 16-bit sums.
    const EIGHT_IS_SIGNED: bool;
    /// Sums of products of bytes before they are added to the i32 sums; where the instruction's results are narrower,
    /// one widening serves several of them.
    type Products: Copy;
    /// Whether [`Self::Products`] are int16: two for each lane, the first of inputs 0 and 1 of every group of four, the
    /// second of inputs 2 and 3. They wrap, so what they are in the end has to fit, and every pair of products.
    const NARROW: bool;

    /// Runs a part of a kernel as a function of its own, compiled for the instructions of these lanes. It is here and not in
    /// [`Lanes`], because AVX2 and AVX-VNNI share their floats.
    ///
    /// # Safety
    /// The instructions exist, and what `of` asks for holds.
    unsafe fn outlined<O: Outlined>(of: O);
    unsafe fn splat(x: i32) -> Self;
    #[allow(dead_code, reason = "only used with AMX, which is compiled for x86-64")]
    unsafe fn load(from: *const i32) -> Self;
    /// Starts [`Self::Products`] that [`Self::add`] will add to these sums. Where they are [`Self::NARROW`], they start
    /// at `-zero` times the sum of `pairs`, each two int16.
    unsafe fn products<const N: usize>(self, zero: i16, pairs: [i32; N]) -> Self::Products;
    /// Adds `Σ_j codes[4 i + j] * x_j`, four signed bytes `x` for each lane `i`. `codes` are unsigned, below 64 unless
    /// `EIGHT`; see [`Self::EIGHT_IS_SIGNED`].
    unsafe fn multiply<const EIGHT: bool>(
        products: Self::Products,
        codes: <Self::Floats as Lanes>::Bytes,
        x: i32,
    ) -> Self::Products;
    /// Adds products that began with [`Self::products`] of the same sums.
    unsafe fn add(self, products: Self::Products) -> Self;
    /// Adds `Σ_j codes[2 i + j] * x_j`, two int16 `x` and codes for each lane `i`; the sums must fit an i32.
    unsafe fn dot_i16(self, int16: <Self::Floats as Lanes>::Bytes, x: i32) -> Self;
    /// The nearest float, ties to even: exact below 2^24.
    unsafe fn to_floats(self) -> Self::Floats;
    /// [`OFFSET`] more than each, exactly; they are below 2^22.
    #[allow(dead_code, reason = "only used with AMX, which is compiled for x86-64")]
    #[inline(always)]
    unsafe fn to_offset_floats(self) -> Self::Floats {
        // SAFETY: the caller's.
        unsafe { self.to_floats().sub(Self::Floats::splat(-OFFSET)) }
    }
}

/// A part of a kernel that [`Ints::outlined`] runs: what differs by format. Inlined into one function, twelve formats take the
/// compiler far longer than twelve functions (`benches/results/build.md`).
pub(in crate::cpu) trait Outlined {
    /// Always inlined: the function around it has the instructions.
    ///
    /// # Safety
    /// The instructions of `L` exist, and what the type asks for holds.
    unsafe fn run<L: Lanes>(self);
}

/// 1.5 * 2^23. Floats less than 2^22 from here are all whole numbers, and the bits of `OFFSET + n` are those of `OFFSET`
/// plus `n`.
pub(in crate::cpu) const OFFSET: f32 = 12_582_912.0;

/// Sixty-four bytes, to unpack codes.
///
/// # Safety
/// As [`Lanes`]; pointers are valid for sixty-four bytes.
pub(in crate::cpu) trait Bytes: Copy {
    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    unsafe fn or(self, b: Self) -> Self;
    /// `byte - b`, which may wrap.
    unsafe fn sub(self, b: u8) -> Self;
    /// `(byte >> n) & mask`; `mask` has no bit that a shift of wider lanes would fill from a neighbour.
    unsafe fn right(self, n: u32, mask: u8) -> Self;
    /// `(byte << n) & mask`, likewise.
    unsafe fn left(self, n: u32, mask: u8) -> Self;
    /// `table[byte]` of each; bytes are below 16.
    #[inline(always)]
    unsafe fn select(self, table: &[u8; 16]) -> Self {
        let mut bytes = [0; 64];
        // SAFETY: the caller's instructions; sixty-four bytes.
        unsafe {
            self.store(bytes.as_mut_ptr());
            for byte in &mut bytes {
                *byte = table[usize::from(*byte & 15)];
            }
            Self::load(bytes.as_ptr())
        }
    }
}
