//! The slow reference.

use super::shape::{DeltaInputs, DeltaShape, DeltaWeights};
use candle_core::Result;

/// As the op, of one sequence from its first token, token by token in f64: `[tokens][outputs]`.
///
/// # Errors
/// Shapes that do not fit.
pub fn reference(inputs: DeltaInputs<'_>, weights: &DeltaWeights, shape: &DeltaShape) -> Result<Vec<Vec<f64>>> {
    let rows = |x: &candle_core::Tensor| x.to_vec2::<f32>();
    let (qkv, rate, step) = (rows(inputs.qkv)?, rows(inputs.rate)?, rows(inputs.step)?);
    let (channels, keys) = (shape.channels(), shape.key_heads * shape.key_dim);
    let mut states = vec![vec![0.0; shape.key_dim * shape.value_dim]; shape.value_heads];
    let mut out = Vec::new();
    for t in 0..qkv.len() {
        let convolved: Vec<f64> = (0..channels)
            .map(|c| {
                let taps = (0..shape.taps).filter(|j| t + j + 1 >= shape.taps);
                let sum: f64 = taps
                    .map(|j| f64::from(weights.conv[j * channels + c]) * f64::from(qkv[t + j + 1 - shape.taps][c]))
                    .sum();
                sum * sigmoid(sum)
            })
            .collect();
        let mut of_token = Vec::new();
        for (head, state) in states.iter_mut().enumerate() {
            let key_at = shape.key_head(head) * shape.key_dim;
            let scale = 1.0 / (shape.key_dim as f64).sqrt();
            let q = unit(&convolved[key_at..][..shape.key_dim], scale);
            let k = unit(&convolved[keys + key_at..][..shape.key_dim], 1.0);
            let v = &convolved[2 * keys + head * shape.value_dim..][..shape.value_dim];
            let x = f64::from(step[t][head]) + f64::from(weights.step_bias[head]);
            let decay = (f64::from(weights.decay[head]) * x.exp().ln_1p()).exp();
            of_token.extend(recurred(state, &q, &k, v, decay, sigmoid(f64::from(rate[t][head]))));
        }
        out.push(of_token);
    }
    Ok(out)
}

/// One token of one head; `state` is `[rows, columns]`.
fn recurred(state: &mut [f64], q: &[f64], k: &[f64], v: &[f64], decay: f64, rate: f64) -> Vec<f64> {
    let columns = v.len();
    state.iter_mut().for_each(|s| *s *= decay);
    let read =
        |state: &[f64], x: &[f64], c: usize| -> f64 { (0..x.len()).map(|i| x[i] * state[i * columns + c]).sum() };
    let written: Vec<f64> = (0..columns).map(|c| rate * (v[c] - read(state, k, c))).collect();
    for (i, k) in k.iter().enumerate() {
        (0..columns).for_each(|c| state[i * columns + c] += k * written[c]);
    }
    (0..columns).map(|c| read(state, q, c)).collect()
}

fn unit(x: &[f64], scale: f64) -> Vec<f64> {
    let squares: f64 = x.iter().map(|x| x * x).sum();
    x.iter().map(|x| x * scale / (squares + 1e-6).sqrt()).collect()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
