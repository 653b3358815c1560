//! Every table this machine can run, against plain arithmetic and against the others, bit for bit.

use super::blocks::{Scales, Values};
use super::table::{PORTABLE, choose};
use super::*;
use candle_core::quantized::QTensor;
use candle_core::{Device, Tensor};
use half::f16;

/// Numbers in [-1, 1) from a small generator, so that no test depends on a random crate.
pub(crate) fn numbers(count: usize, mut seed: u64) -> Vec<f32> {
    std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    })
    .take(count)
    .collect()
}

fn pack(dense: &[f32], outputs: usize, inputs: usize) -> Vec<f32> {
    let mut packed = vec![0.0; outputs.div_ceil(PANEL) * inputs * PANEL];
    for o in 0..outputs {
        for k in 0..inputs {
            packed[(o / PANEL * inputs + k) * PANEL + o % PANEL] = dense[o * inputs + k];
        }
    }
    packed
}

fn linear(table: &Table, x: &[f32], packed: &[f32], (rows, inputs, outputs): (usize, usize, usize)) -> Vec<f32> {
    let mut out = vec![0.0; rows * outputs];
    let call = LinearCall { x, packed: Elements::F32(packed), out: out.as_mut_ptr(), inputs, outputs };
    // SAFETY: `tables` lists what this machine can run; one task has all panels.
    unsafe { (table.linear)(&call, 0..outputs.div_ceil(PANEL), 0..rows) };
    out
}

/// A random matrix in blocks, as the kernels read it.
pub(super) fn blocks(dtype: BlockType, outputs: usize, inputs: usize) -> (Format, Aligned) {
    let format = Format::of(dtype).expect("a block type");
    let stored = match dtype {
        BlockType::Ggml(dtype) => {
            let dense = Tensor::from_vec(numbers(outputs * inputs, 3), (outputs, inputs), &Device::Cpu);
            let stored = QTensor::quantize(&dense.expect("shapes fit"), dtype).expect("whole blocks");
            stored.data().expect("on the CPU").to_vec()
        }
        BlockType::Iq4Nl | BlockType::Mxfp4 => selecting(dtype, outputs * inputs / 32),
    };
    let mut packed = Aligned::zeroed(outputs.div_ceil(PANEL) * format.panel_bytes(inputs));
    for (panel, bytes) in packed.chunks_exact_mut(format.panel_bytes(inputs)).enumerate() {
        for half in 0..2 {
            let first = panel * PANEL + half * 16;
            let row = stored.len() / outputs;
            let rows: Vec<&[u8]> = (first..outputs.min(first + 16)).map(|i| &stored[i * row..][..row]).collect();
            pack_half(dtype, format, inputs, &rows, bytes, half);
        }
    }
    (format, packed)
}

/// Random blocks of a type whose codes select from a table, with scales about 2^-5.
fn selecting(of: BlockType, count: usize) -> Vec<u8> {
    let bytes = numbers(count * of.type_size(), 3).into_iter().map(|x| (x.abs() * 256.0) as u8);
    let mut bytes: Vec<u8> = bytes.collect();
    for block in bytes.chunks_exact_mut(of.type_size()) {
        match of {
            BlockType::Mxfp4 => block[0] = 118 + block[0] % 8,
            _ => block[1] = block[1] & 0x83 | 0x28,
        }
    }
    bytes
}

#[test]
fn blocks_give_the_same_bits_on_every_table() {
    for (dtype, _) in blocks::FORMATS {
        // Few enough for registers, for one tile of AVX2, for tiles of six, and for tiles of sixteen.
        for (rows, inputs, outputs) in
            [(1, 256, 1), (4, 768, 40), (6, 1280, 70), (11, 768, 32), (15, 512, 40), (37, 512, 40)]
        {
            let (format, packed) = blocks(dtype, outputs, inputs);
            // A block of zeros, and one whose numbers are so large that their int8 values are all 127.
            let mut x = numbers(rows * inputs, 4);
            x[..32].fill(0.0);
            x[inputs - 32..inputs].fill(1e20);
            let results: Vec<Vec<u32>> = tables()
                .iter()
                .map(|table| {
                    let mut seen = Int8::new(rows, inputs);
                    seen.fill(table, &x);
                    let mut out = vec![0.0_f32; rows * outputs];
                    let call =
                        BlockCall { x: &seen, format, packed: &packed, out: out.as_mut_ptr(), first_row: 0, outputs };
                    // SAFETY: as above; one task has all panels and rows.
                    unsafe { (table.block_linear)(&call, 0..outputs.div_ceil(PANEL), 0..rows) };
                    out.iter().map(|x| x.to_bits()).collect()
                })
                .collect();
            for (table, result) in tables().iter().zip(&results) {
                assert!(*result == results[0], "{dtype:?} {rows} x {inputs} x {outputs}: {} differs", table.name);
            }
        }
    }
}

/// A byte of two packed codes that are the least or the greatest of their format, and such a code less its zero.
fn extreme(format: Format, greatest: bool) -> (u8, i32) {
    let bits = format.width.bytes() / 64;
    match (format.values, greatest) {
        (Values::Codes, false) => (0, -format.zero),
        (Values::Codes, true) => (0xff, (1 << bits) - 1 - format.zero),
        (Values::Iq4, false) => (0, -127),
        (Values::Iq4, true) => (0xff, 113),
        (Values::E2m1, false) => (0xff, -12),
        (Values::E2m1, true) => (0x77, 12),
    }
}

/// A matrix whose codes are all the least or all the greatest of its format, with scales of 1 and mins of 0.
fn extreme_blocks(format: Format, outputs: usize, inputs: usize, greatest: bool) -> Aligned {
    let mut packed = Aligned::zeroed(outputs.div_ceil(PANEL) * format.panel_bytes(inputs));
    for unit in packed.chunks_exact_mut(format.unit_bytes()) {
        let (head, rest) = unit.split_at_mut(format.head_bytes());
        match format.scales {
            Scales::Powers => head.fill(127),
            _ => head[..32].as_chunks_mut().0.iter_mut().for_each(|d| *d = f16::ONE.to_le_bytes()),
        }
        for block in rest.chunks_exact_mut(format.block_bytes()) {
            let (codes, nested) = block.split_at_mut(format.width.bytes());
            codes.fill(extreme(format, greatest).0);
            let scales = format.nested_bytes();
            nested[..scales].fill(1);
        }
    }
    packed
}

#[test]
fn extreme_codes_and_values_do_not_overflow() {
    let (inputs, outputs) = (512, 40);
    // Signs of four neighbouring inputs: those of one int16 sum are the first two or the last two.
    let signs = [[1.0_f32, 1.0, 1.0, 1.0], [-1.0; 4], [1.0, 1.0, -1.0, -1.0], [-1.0, -1.0, 1.0, 1.0]];
    for (dtype, format) in blocks::FORMATS {
        for (greatest, rows) in [(false, 1), (false, 9), (true, 1), (true, 9)] {
            let packed = extreme_blocks(format, outputs, inputs, greatest);
            let code = extreme(format, greatest).1 as f32;
            for sign in signs {
                let x: Vec<f32> = sign.iter().copied().cycle().take(rows * inputs).collect();
                let sum: f32 = sign.iter().map(|sign| 127.0 * sign).sum();
                let part = 8.0 * sum * code;
                let want = (0..inputs / 32).fold(0.0_f32, |all, _| part.mul_add(1.0 / 127.0, all));
                for table in tables() {
                    let mut seen = Int8::new(rows, inputs);
                    seen.fill(table, &x);
                    let mut out = vec![0.0_f32; rows * outputs];
                    let call =
                        BlockCall { x: &seen, format, packed: &packed, out: out.as_mut_ptr(), first_row: 0, outputs };
                    // SAFETY: as above.
                    unsafe { (table.block_linear)(&call, 0..outputs.div_ceil(PANEL), 0..rows) };
                    let wrong = out.iter().find(|x| x.to_bits() != want.to_bits());
                    assert!(wrong.is_none(), "{dtype:?} {code} {sign:?} {rows}: {} {wrong:?} for {want}", table.name);
                }
            }
        }
    }
}

#[test]
fn an_unknown_table_is_refused_with_the_known_ones() {
    let error = choose(Some("mmx"), &tables()).expect_err("mmx is no table");
    assert!(error.contains("MOOT_CPU=mmx") && error.contains("portable"), "{error}");
}

#[test]
fn linear_equals_ascending_fused_sums_on_every_table() {
    for (rows, inputs, outputs) in [(1, 1, 1), (3, 7, 33), (13, 64, 32), (8, 1025, 31), (29, 1100, 65), (25, 576, 96)] {
        let (x, dense) = (numbers(rows * inputs, 1), numbers(outputs * inputs, 2));
        let packed = pack(&dense, outputs, inputs);
        let mut want = Vec::new();
        for r in 0..rows {
            for o in 0..outputs {
                let terms = (0..inputs).map(|k| (x[r * inputs + k], dense[o * inputs + k]));
                want.push(terms.fold(0.0_f32, |sum, (a, b)| a.mul_add(b, sum)));
            }
        }
        for table in tables() {
            let got = linear(table, &x, &packed, (rows, inputs, outputs));
            let same = got.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{} at {rows} x {inputs} x {outputs}", table.name);
        }
    }
}

#[test]
fn gated_values_are_close_to_f64_and_the_same_on_every_table() {
    let gate: Vec<f32> = numbers(77, 6).iter().map(|x| x * 20.0).chain([-200.0, 200.0, 0.0]).collect();
    let up: Vec<f32> = numbers(gate.len(), 7).iter().map(|x| x * 9.0).collect();
    let gelu = |x: f64| x / 2.0 * (1.0 + (std::f64::consts::FRAC_2_PI.sqrt() * (x + 0.044_715 * x.powi(3))).tanh());
    let silu = |x: f64| x / (1.0 + (-x).exp());
    let (silu, gelu) = (|g: f64, u: f64| silu(g) * u, |g: f64, u: f64| gelu(g) * u);
    let clamped = |g: f64, u: f64| g.min(7.0) / (1.0 + (-1.702 * g.min(7.0)).exp()) * (u.clamp(-7.0, 7.0) + 1.0);
    // Below -9 the tanh of f64 is -1, where the kernel's exponential still has a value.
    for (activation, exact, least) in [
        (Gate::Silu, &silu as &dyn Fn(f64, f64) -> f64, 1e-30),
        (Gate::GeluTanh, &gelu, 1e-15),
        (Gate::ClampedSilu, &clamped, 1e-6),
    ] {
        let mut first: Option<Vec<u32>> = None;
        for table in tables() {
            let mut out = vec![0.0; gate.len()];
            // SAFETY: `tables` lists what this machine can run.
            unsafe { table.gated(activation)(&gate, &up, out.as_mut_ptr()) };
            for ((g, u), o) in gate.iter().zip(&up).zip(&out) {
                let want = exact(f64::from(*g), f64::from(*u));
                let close = (f64::from(*o) - want).abs() <= 2e-6 * want.abs() + least;
                assert!(close, "{activation:?}, {}: {o} for {want}", table.name);
            }
            let bits: Vec<u32> = out.iter().map(|x| x.to_bits()).collect();
            assert_eq!(first.get_or_insert_with(|| bits.clone()), &bits, "{}", table.name);
        }
    }
}

#[test]
fn norms_and_rotations_give_the_same_bits_on_every_table() {
    for hidden in [16, 67, 896] {
        let (x, y, weight) = (numbers(hidden, 5), numbers(hidden, 6), numbers(hidden, 7));
        let normed = |table: &Table, y: Option<&[f32]>| {
            let (mut sum, mut out) = (x.clone(), vec![0.0; hidden]);
            // SAFETY: `tables` lists what this machine can run; all are `hidden` long.
            unsafe {
                let added = y.map(|y| Residual { y, sum: sum.as_mut_ptr() });
                (table.norm)(&x, added, &weight, 1e-5, out.as_mut_ptr());
            }
            [sum, out].concat().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        for y in [None, Some(&y[..])] {
            assert!(tables().iter().all(|table| normed(table, y) == normed(&PORTABLE, y)), "{hidden}");
        }
    }
    for pairs in [8, 16, 40] {
        let (x, cos, sin) = (numbers(6 * pairs, 8), numbers(pairs, 9), numbers(pairs, 10));
        let turned = |table: &Table| {
            let mut out = vec![0.0; x.len()];
            // SAFETY: `tables` lists what this machine can run; three heads of `2 * pairs`.
            unsafe { (table.rope)(&x, &cos, &sin, out.as_mut_ptr()) };
            out.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        assert!(tables().iter().all(|table| turned(table) == turned(&PORTABLE)), "{pairs}");
    }
}
