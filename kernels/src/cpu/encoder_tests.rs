//! The kernels of encoders on every table this machine can run: against plain arithmetic and against the others, bit
//! for bit.

use super::tests::numbers;
use super::*;

/// Asserts that every table gives the bits of the first, and returns its numbers.
fn same_everywhere(what: &str, run: impl Fn(&'static Table) -> Vec<f32>) -> Vec<f32> {
    let first = run(tables()[0]);
    for table in tables() {
        let got = run(table);
        let same = got.iter().zip(&first).all(|(a, b)| a.to_bits() == b.to_bits());
        assert!(same && got.len() == first.len(), "{what}: {} differs from {}", table.name, tables()[0].name);
    }
    first
}

#[test]
fn int16_products_are_close_to_f64_and_the_same_everywhere() {
    for (rows, inputs, outputs) in [(1, 32, 1), (3, 64, 33), (13, 384, 96), (25, 1536, 32), (6, 160, 70)] {
        let mut x = numbers(rows * inputs, 1);
        // A span of zeros, and an outlier.
        x[..32.min(inputs)].fill(0.0);
        x[inputs - 1] = 300.0;
        let dense = numbers(outputs * inputs, 2);
        let mut packed = Aligned::zeroed(outputs.div_ceil(PANEL) * i16_panel_bytes(inputs));
        for (panel, bytes) in packed.chunks_exact_mut(i16_panel_bytes(inputs)).enumerate() {
            for column in 0..PANEL.min(outputs - panel * PANEL) {
                pack_i16(&dense[(panel * PANEL + column) * inputs..][..inputs], column, bytes);
            }
        }
        let got = same_everywhere("int16", |table| {
            let int16 = Int16::new(table, &x, rows, inputs);
            let mut out = vec![0.0; rows * outputs];
            let call = Int16Call { x: &int16, packed: &packed, out: out.as_mut_ptr(), outputs };
            // SAFETY: `tables` lists what this machine can run; one task has all panels and rows.
            unsafe { (table.linear_i16)(&call, 0..outputs.div_ceil(PANEL), 0..rows) };
            out
        });
        for row in 0..rows {
            let x = &x[row * inputs..][..inputs];
            let largest = x.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            for output in 0..outputs {
                let want: f64 =
                    x.iter().zip(&dense[output * inputs..]).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                let off = (f64::from(got[row * outputs + output]) - want).abs();
                // A step of either side is its largest number / 4,095, half of it at most is lost; they add up as
                // roots.
                let bound = f64::from(largest) * 2.0 * (inputs as f64).sqrt() / 4095.0;
                assert!(off < bound, "{rows} x {inputs} x {outputs}: off by {off}, {bound} allowed");
            }
        }
        let mut row = vec![0.0; inputs];
        row_of_i16(&packed[..i16_panel_bytes(inputs)], 0, &mut row);
        assert!(row.iter().zip(&dense).all(|(a, b)| (a - b).abs() < 1.0 / 4000.0));
    }
}

#[test]
fn the_largest_int16_products_fit_and_a_nan_makes_its_row_nan() {
    let inputs = 128;
    let mut packed = Aligned::zeroed(i16_panel_bytes(inputs));
    pack_i16(&vec![2.0; inputs], 0, &mut packed);
    pack_i16(&vec![-2.0; inputs], 1, &mut packed);
    let mut x = vec![3.0; 2 * inputs];
    x[inputs + 5] = f32::INFINITY;
    for table in tables() {
        let int16 = Int16::new(table, &x, 2, inputs);
        let mut out = vec![0.0; 2 * PANEL];
        let call = Int16Call { x: &int16, packed: &packed, out: out.as_mut_ptr(), outputs: PANEL };
        // SAFETY: as above.
        unsafe { (table.linear_i16)(&call, 0..1, 0..2) };
        assert!((out[0] - 768.0).abs() < 1e-3 && (out[1] + 768.0).abs() < 1e-3, "{}: {:?}", table.name, &out[..2]);
        assert!(out[PANEL..].iter().all(|x| x.is_nan()), "{}", table.name);
    }
}

#[test]
fn activations_are_close_to_f64_and_the_same_everywhere() {
    let x: Vec<f32> = (-1200..1200).map(|i| i as f32 / 100.0).chain([-100.0, 100.0, 0.0, -0.0, 1e-20]).collect();
    let bias = vec![0.25; x.len()];
    for activation in [Activation::None, Activation::Gelu, Activation::GeluTanh, Activation::Relu, Activation::Tanh] {
        let got = same_everywhere("activation", |table| {
            let mut out = x.clone();
            // SAFETY: `tables` lists what this machine can run.
            unsafe { (table.bias_activation)(&mut out, &bias, activation) };
            out
        });
        for (x, got) in x.iter().zip(&got) {
            let x = f64::from(*x + 0.25);
            let want = match activation {
                Activation::None => x,
                Activation::Relu => x.max(0.0),
                Activation::Tanh => x.tanh(),
                Activation::GeluTanh => {
                    x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
                }
                Activation::Gelu => x * normal(x),
            };
            let off = (f64::from(*got) - want).abs();
            assert!(off <= 2e-7 * want.abs().max(1.0), "{activation:?}({x}) is {got}, {want} wanted");
        }
    }
}

/// The normal distribution's share below `x`, by Simpson's rule.
fn normal(x: f64) -> f64 {
    let (steps, end) = (4000, x.clamp(-12.0, 12.0));
    let width = end / f64::from(steps);
    let density = |i: i32| (-(f64::from(i) * width).powi(2) / 2.0).exp();
    let inner: f64 = (1..steps).map(|i| density(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    0.5 + (density(0) + inner + density(steps)) * width / 3.0 / (2.0 * std::f64::consts::PI).sqrt()
}

#[test]
fn norms_are_close_to_f64_and_the_same_everywhere() {
    for hidden in [1, 16, 37, 384] {
        let (x, residual) = (numbers(hidden, 1), numbers(hidden, 2));
        let (weight, bias) = (numbers(hidden, 3), numbers(hidden, 4));
        let got = same_everywhere("norm", |table| {
            let mut out = vec![0.0; hidden];
            let norm = LayerNorm { weight: &weight, bias: &bias, eps: 1e-5 };
            // SAFETY: `tables` lists what this machine can run.
            unsafe { (table.add_norm)(&x, &residual, norm, out.as_mut_ptr()) };
            out
        });
        let sums: Vec<f64> = x.iter().zip(&residual).map(|(a, b)| f64::from(*a) + f64::from(*b)).collect();
        let mean = sums.iter().sum::<f64>() / hidden as f64;
        let variance = sums.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / hidden as f64;
        for i in 0..hidden {
            let want = (sums[i] - mean) / (variance + 1e-5).sqrt() * f64::from(weight[i]) + f64::from(bias[i]);
            assert!((f64::from(got[i]) - want).abs() < 2e-5, "{hidden}: {} for {want}", got[i]);
        }
    }
}

#[test]
fn bidirectional_attention_is_the_same_everywhere() {
    for (heads, dim, len, positions, window) in [
        (1, 16, 1, None, None),
        (2, 32, 33, None, None),
        (3, 64, 61, None, None),
        (2, 16, 45, Some(24), None),
        (2, 48, 45, None, None),
        (1, 16, 150, None, Some(3)),
        (2, 32, 150, None, Some(40)),
    ] {
        let width = heads * dim;
        let part = |seed| numbers(len * width, seed).iter().map(|x| x * 2.0).collect::<Vec<_>>();
        let (q, mut k, v) = (part(1), part(2), part(3));
        if len > 1 {
            // A NaN score, in the last vector of scores.
            k[(len - 1) * width] = f32::NAN;
        }
        let rows = positions.unwrap_or(0);
        let (key, query) = (numbers(rows * width, 4), numbers(rows * width, 5));
        let of_distance: Vec<u32> = (0..2 * len - 1).map(|i| (i * rows / (2 * len)) as u32).collect();
        // Heads of 48 have a number for every distance.
        let biases = numbers(heads * (2 * len - 1), 6);
        same_everywhere("attention", |table| {
            let mut out = vec![0.0; len * width];
            let middle = len - 1;
            let bias = (dim == 48).then_some(BiasCall { values: &biases, middle });
            let relative = positions.map(|rows| RelativeCall {
                key: &key,
                query: &query,
                rows,
                of_distance: &of_distance,
                middle,
            });
            let call = BidirectionalCall {
                q: &q,
                k: &k,
                v: &v,
                out: out.as_mut_ptr(),
                heads,
                head_dim: dim,
                scale: 0.3,
                relative,
                bias,
                window,
            };
            for head in 0..heads {
                // SAFETY: `tables` lists what this machine can run; one task at a time.
                unsafe { (table.bidirectional)(&call, 0..len, head, &mut Scratch::default()) };
            }
            out
        });
    }
}
