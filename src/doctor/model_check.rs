//! Whether a model gives on a device what it gives on the CPU: the logits along one text, with the same tokens on both.

use crate::error::{MootError, Result};
use crate::llm::remote::Notice;
use crate::workspace::models::{LocatedModel, RuntimeOptions, WeightStorage};
use moot_models::kernels::read_back;
use moot_models::source::FetchEvent;
use moot_models::tokenizer::Segment;
use moot_models::{Batch, Decoder, Model, PAGE, SequenceRows, StateRows};
use serde::Serialize;

/// Number of generated tokens.
const TOKENS: usize = 40;

/// Largest mean divergence in nats. Means of 0.002 to 0.004 were measured on an H200.
const CLOSE: f64 = 0.1;

/// The prompt, which precedes the generated tokens.
const TEXT: &str = "The capital of Australia is Canberra. An older guide names Melbourne, where parliament met until \
                    1927; a letter to a newspaper names Sydney, which is the largest city. A reader who compares the \
                    three dates finds that";

/// A comparison of a model on two devices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelCheck {
    /// The model's name.
    pub model: String,
    /// Where it was tested.
    pub device: String,
    /// The reference, as a message names it: "on the CPU".
    pub reference: &'static str,
    /// Positions that were compared.
    pub positions: usize,
    /// Positions with the same likeliest token.
    pub agree: usize,
    /// Kullback-Leibler divergence of the device's distribution from the reference's, in nats: its mean.
    pub mean_divergence: f64,
    /// The largest one.
    pub largest_divergence: f64,
}

impl ModelCheck {
    /// The fault, if there is one.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        // False for NaN too, which must count as a fault.
        let close = self.mean_divergence <= CLOSE;
        (!close).then(|| {
            format!(
                "{} on {}: its distributions diverge by {:.3} nats in the mean from those {}, expected {CLOSE} at most",
                self.model, self.device, self.mean_divergence, self.reference
            )
        })
    }
}

/// Compares the model `name` on `device` with the same on the CPU. On the CPU it is compared with weights that are widened
/// to f32 and activations that are not rounded to int8.
///
/// # Errors
/// The model is on a server, or cannot be found, loaded or fitted into memory; the device cannot be used.
pub fn run(
    name: &str,
    device: &str,
    offline: bool,
    (notice, progress): (&Notice, &mut dyn FnMut(FetchEvent)),
) -> Result<ModelCheck> {
    if name.contains("://") {
        return Err(MootError::Usage(format!("expected a model that runs in this process, found the address {name}")));
    }
    let tested = RuntimeOptions { offline, device: device.to_owned(), ..RuntimeOptions::default() };
    let options = tested.resolve(notice.clone())?;
    let on_cpu = options.load.device.is_cpu();
    let weights = if on_cpu { WeightStorage::Widened } else { WeightStorage::Stored };
    let reference = RuntimeOptions { offline, device: "cpu".into(), weights, ..RuntimeOptions::default() };
    let reference = reference.resolve(notice.clone())?;

    let located = LocatedModel::find(name, &reference, progress)?;
    located.check(&reference)?;
    let model = Model::open(&located.path, &reference.load)?;
    let prompt = model.tokenizer.encode_prompt(&[Segment::Content(TEXT.to_owned())])?;
    let expected = along(&model.decoder, &prompt, None)?;
    // The memory may not hold both models at once.
    drop(model);

    // By its place: `auto` may name another model by now.
    let name = located.name;
    let located = LocatedModel::find(&located.path.to_string_lossy(), &options, progress)?;
    located.check(&options)?;
    let tokens: Vec<u32> = expected.iter().map(|row| likeliest(row)).collect();
    let found = along(&Model::open(&located.path, &options.load)?.decoder, &prompt, Some(&tokens))?;

    let divergences: Vec<f64> = expected.iter().zip(&found).map(|(p, q)| divergence(p, q)).collect();
    Ok(ModelCheck {
        model: name,
        device: device.to_owned(),
        reference: if on_cpu { "of weights widened to f32" } else { "on the CPU" },
        positions: found.len(),
        agree: tokens.iter().zip(&found).filter(|(token, row)| **token == likeliest(row)).count(),
        mean_divergence: divergences.iter().sum::<f64>() / divergences.len().max(1) as f64,
        largest_divergence: largest(&divergences),
    })
}

/// Logits before each of [`TOKENS`] tokens: those of `given`, or the likeliest ones. The prompt is a chunk, each token a
/// step.
fn along(decoder: &Decoder, prompt: &[u32], given: Option<&[u32]>) -> Result<Vec<Vec<f32>>> {
    let pages: Vec<u32> = (0..(prompt.len() + TOKENS).div_ceil(PAGE) as u32).collect();
    let kv = decoder.kv_cache(pages.len())?;
    let (mut rows, mut next, mut start) = (Vec::<Vec<f32>>::new(), prompt.to_vec(), 0);
    while rows.len() < TOKENS {
        let end = start + next.len();
        let sequence = SequenceRows { start, len: next.len(), pages: pages[..end.div_ceil(PAGE)].to_vec() };
        let state = StateRows { from: (start > 0).then_some(0), to: 0, saves: Vec::new() };
        let batch = Batch::new(next.clone(), vec![sequence], vec![next.len() as u32 - 1]).with_states(vec![state]);
        let logits = read_back(&decoder.forward(&batch, &kv)?).and_then(|logits| logits.to_vec2::<f32>());
        rows.extend(logits.map_err(moot_models::ModelError::from)?);
        let last = rows.last().ok_or_else(|| MootError::Usage("a forward gave no row (bug)".to_owned()))?;
        next = vec![given.and_then(|given| given.get(rows.len() - 1).copied()).unwrap_or_else(|| likeliest(last))];
        start = end;
    }
    Ok(rows)
}

/// The maximum; NaN if any value is NaN.
fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |largest, one| if largest.is_nan() || *one <= largest { largest } else { *one })
}

/// The lowest of the tokens with the largest logit.
fn likeliest(row: &[f32]) -> u32 {
    row.iter().enumerate().fold(0, |best, (id, logit)| if *logit > row[best] { id } else { best }) as u32
}

/// `sum of p ln(p / q)` for the distributions of two rows of logits.
fn divergence(p: &[f32], q: &[f32]) -> f64 {
    let normalised = |row: &[f32]| {
        let largest = row.iter().fold(f64::NEG_INFINITY, |largest, logit| largest.max(f64::from(*logit)));
        let sum = row.iter().map(|logit| (f64::from(*logit) - largest).exp()).sum::<f64>();
        let shift = largest + sum.ln();
        row.iter().map(|logit| f64::from(*logit) - shift).collect::<Vec<_>>()
    };
    let terms =
        normalised(p).into_iter().zip(normalised(q)).map(|(p, q)| if p.exp() > 0.0 { p.exp() * (p - q) } else { 0.0 });
    let sum = terms.sum::<f64>();
    // Rounding may leave a negative value, which becomes 0; NaN stays NaN.
    if sum < 0.0 { 0.0 } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divergence_is_in_nats_and_zero_of_equal_distributions() {
        let p = [1.0_f32.ln(), 3.0_f32.ln()];
        // Logits are distributions up to a constant.
        assert!(divergence(&p, &[5.0, 5.0 + 3.0_f32.ln()]) < 1e-6);
        let expected = 0.25 * (0.25_f64 / 0.5).ln() + 0.75 * (0.75_f64 / 0.5).ln();
        assert!((divergence(&p, &[0.0, 0.0]) - expected).abs() < 1e-6);
        assert!(divergence(&p, &[f32::NAN, 0.0]).is_nan());
        assert!(largest(&[0.2, f64::NAN, 0.1]).is_nan() && largest(&[0.2, 0.3, 0.1]) == 0.3);
    }

    #[test]
    fn a_divergence_that_is_large_or_no_number_is_a_fault() {
        let of = |mean_divergence| ModelCheck {
            model: "m".into(),
            device: "cuda:0".into(),
            reference: "on the CPU",
            positions: 40,
            agree: 40,
            mean_divergence,
            largest_divergence: mean_divergence,
        };
        assert_eq!(of(0.05).fault(), None);
        assert!(of(0.2).fault().is_some_and(|why| why.contains("0.200 nats")));
        assert!(of(f64::NAN).fault().is_some());
    }
}
