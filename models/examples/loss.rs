//! The loss from int8 activations: a quantised model against the same weights widened to f32.
//!
//! `cargo run --release -p moot-models --example loss FILE.gguf TEXTS`, a text a line, of which the first 200 tokens count.
//! Prints the mean loss of both in nats a token, the mean Kullback-Leibler divergence of the quantised model's distribution
//! from the widened one's, and the share of positions where both have the same likeliest token.
#![allow(missing_docs, clippy::print_stdout)]

use moot_models::{LoadOptions, Model, Residency};
use std::error::Error;
use std::path::Path;

/// Tokens of a text that count.
const MOST: usize = 200;
/// First tokens of a text, whose loss says little.
const CONTEXT: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, texts] = &arguments[..] else { return Err("expected FILE.gguf and TEXTS, a text a line".into()) };
    let open = |residency| Model::open(Path::new(file), &LoadOptions { residency, ..LoadOptions::default() });
    let (widened, stored) = (open(Residency::Dense)?, open(Residency::AsStored)?);
    let (mut tokens, mut losses, mut divergence, mut equal) = (0_u32, [0.0; 2], 0.0, 0_u32);
    for text in std::fs::read_to_string(texts)?.lines() {
        let mut ids = stored.tokenizer.encode_text(text)?;
        ids.truncate(MOST);
        let rows = [widened.decoder.forward_alone(&ids)?, stored.decoder.forward_alone(&ids)?];
        for at in CONTEXT..ids.len().saturating_sub(1) {
            let [p, q] = [log_probabilities(&rows[0][at]), log_probabilities(&rows[1][at])];
            let next = ids[at + 1] as usize;
            tokens += 1;
            losses = [losses[0] - p[next], losses[1] - q[next]];
            divergence += p.iter().zip(&q).map(|(p, q)| p.exp() * (p - q)).sum::<f64>();
            equal += u32::from(likeliest(&p) == likeliest(&q));
        }
    }
    let mean = |sum: f64| sum / f64::from(tokens.max(1));
    println!("{tokens} tokens: loss {:.5} widened, {:.5} as stored", mean(losses[0]), mean(losses[1]));
    println!("divergence {:.6}, same likeliest token {:.4}", mean(divergence), mean(f64::from(equal)));
    Ok(())
}

fn log_probabilities(logits: &[f32]) -> Vec<f64> {
    let largest = logits.iter().copied().map(f64::from).fold(f64::MIN, f64::max);
    let sum: f64 = logits.iter().map(|&logit| (f64::from(logit) - largest).exp()).sum();
    logits.iter().map(|&logit| f64::from(logit) - largest - sum.ln()).collect()
}

fn likeliest(row: &[f64]) -> Option<usize> {
    (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b]))
}
