//! The kernels of recurrent states on every table, bit for bit.

use super::tests::numbers;
use super::{DeltaCall, Table, tables};

const ROWS: usize = 48;
const COLUMNS: usize = 80;
const TOKENS: usize = 9;

/// The results of two heads of which the second has the queries and keys of the first, and the state of the second.
fn carried(table: &Table, cut: usize) -> Vec<u32> {
    let width = 2 * ROWS + 2 * COLUMNS;
    let x = numbers(TOKENS * width, 11);
    let gates: Vec<[f32; 2]> = numbers(4 * TOKENS, 12).chunks(2).map(|x| [x[0].abs(), x[1].abs()]).collect();
    let mut state = numbers(ROWS * COLUMNS, 13);
    let mut out = vec![0.0; TOKENS * COLUMNS];
    let call = DeltaCall {
        x: &x,
        width,
        query: 0,
        key: ROWS,
        value: 2 * ROWS + COLUMNS,
        rows: ROWS,
        gates: &gates,
        heads: 2,
        head: 1,
        out: out.as_mut_ptr(),
        out_width: COLUMNS,
        out_at: 0,
    };
    for blocks in [0..3, 3..COLUMNS / 16] {
        for tokens in [0..cut, cut..TOKENS] {
            // SAFETY: `tables` lists what this machine can run; the offsets are within the slices.
            unsafe { (table.delta_rule)(&call, state.as_mut_ptr(), blocks.clone(), tokens) };
        }
    }
    out.iter().chain(&state).map(|x| x.to_bits()).collect()
}

#[test]
fn a_state_has_the_same_bits_on_every_table_however_tokens_are_divided() {
    let first = carried(tables()[0], TOKENS);
    for table in tables() {
        for cut in [TOKENS, 0, 1, 5] {
            assert!(carried(table, cut) == first, "{}, cut at {cut}", table.name);
        }
    }
}

#[test]
fn convolutions_and_lengths_have_the_same_bits_on_every_table() {
    let (x, weights) = (numbers(4 * 64, 14), numbers(4 * 64, 15));
    let rows: Vec<&[f32]> = x.chunks(64).collect();
    let of = |table: &Table| {
        let mut out = vec![0.0; 64];
        // SAFETY: `tables` lists what this machine can run; all rows are of 64 numbers.
        unsafe {
            (table.causal_conv)(&rows, &weights, out.as_mut_ptr());
            (table.unit_norm)(&mut out[16..48], 0.5);
        }
        let mut gated = vec![0.0; 64];
        // SAFETY: as above; the gate is as wide as a row.
        unsafe { (table.gated_conv)(&rows, &weights, &x[64..128], gated.as_mut_ptr()) };
        let silu = |x: f32| x / (1.0 + (-x).exp());
        let sum: f32 = (0..4).map(|j| x[j * 64 + 3] * weights[j * 64 + 3]).sum();
        assert!((out[3] - silu(sum)).abs() < 1e-6, "{}: {} for {}", table.name, out[3], silu(sum));
        let length: f32 = out[16..48].iter().map(|x| x * x).sum();
        assert!((length - 0.25).abs() < 1e-3, "{}: {length}", table.name);
        assert!((gated[3] - x[64 + 3] * sum).abs() < 1e-6, "{}: {} for {}", table.name, gated[3], x[64 + 3] * sum);
        out.iter().chain(&gated).map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    let first = of(tables()[0]);
    assert!(tables().into_iter().all(|table| of(table) == first));
}
