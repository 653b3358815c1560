//! The real GGUF files, from wherever the program keeps those it has fetched:
//! `cargo test --release -p moot-models -- --ignored golden_logits::real`

use super::{argmax, golden, held};
use crate::cached;
use moot_models::arch::names::Naming;
use moot_models::arch::tensors;
use moot_models::tokenizer::{Segment, Tokenizer};
use moot_models::weights::Weights;
use moot_models::{DType, Decoder, Device, LoadOptions, Recipe, Residency, arch};
use safetensors::{Dtype, tensor::TensorView};
use serde::Deserialize;
use serde_json::json;
use std::path::Path;

/// Relative difference allowed to the mean next-token loss.
const LOSS_TOLERANCE: f64 = 0.005;

/// How weights are held, and what is then allowed: a step counts only where the reference's two largest logits lie
/// further apart than `gap`, in logits, and at least `compared` of 100 steps must count.
#[derive(Clone, Copy)]
struct Held {
    residency: Residency,
    gap: f32,
    compared: usize,
}

/// The file's numbers: below the gap the order of the sums decides.
const WIDENED: Held = Held { residency: Residency::Dense, gap: 0.02, compared: 95 };

/// Activations in bytes: their rounding moves a logit by some hundredths.
const STORED: Held = Held { residency: Residency::AsStored, gap: 0.5, compared: 70 };

/// Continuations are compared this far.
const STEPS: usize = 16;

/// `tests/golden/real/<alias>.json`; its maker says how each number came about.
#[derive(Deserialize)]
struct Reference {
    loss: Loss,
    greedy: Vec<Greedy>,
}

#[derive(Deserialize)]
struct Loss {
    window: usize,
    /// In nats a token.
    mean: f64,
    window_means: Vec<f64>,
    /// One more than windows x window: the last is only ever a target.
    ids: Vec<u32>,
}

#[derive(Deserialize)]
struct Greedy {
    prompt: String,
    ids: Vec<u32>,
    continuation: Vec<u32>,
    /// Per step, the reference's largest logit less its second.
    gaps: Vec<f32>,
}

fn reference(alias: &str) -> Reference {
    let text = std::fs::read_to_string(golden("real").join(format!("{alias}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// `-ln softmax(row)[target]`, in f64 as in the reference.
fn surprise(row: &[f32], target: u32) -> f64 {
    let largest = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let sum: f64 = row.iter().map(|&logit| (f64::from(logit) - largest).exp()).sum();
    sum.ln() + largest - f64::from(row[target as usize])
}

/// The decoder alone: a base model has no chat template.
fn decoder(alias: &str, residency: Residency) -> Decoder {
    loaded(alias, &held(residency))
}

fn loaded(alias: &str, options: &LoadOptions) -> Decoder {
    let weights = Weights::open(&cached(alias)).unwrap();
    Decoder::load(arch::spec(&weights).unwrap(), &weights, options).unwrap()
}

fn check_loss(alias: &str) {
    for recipe in [Recipe::Int8, Recipe::Bf16] {
        check_loss_by(alias, recipe);
    }
    check_divergence(alias);
}

/// Mean divergence of the next token's distribution from that of widened weights, in nats, and the share of positions with the
/// same likeliest token.
fn divergence(widened: &[Vec<f32>], found: &[Vec<f32>]) -> (f64, f64) {
    let (mut divergence, mut same) = (0.0, 0.0);
    for (widened, found) in widened.iter().zip(found) {
        let probabilities = |row: &[f32]| {
            let largest = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            let powers: Vec<f64> = row.iter().map(|&logit| (f64::from(logit) - largest).exp()).collect();
            let sum: f64 = powers.iter().sum();
            powers.into_iter().map(|power| power / sum).collect::<Vec<f64>>()
        };
        let pairs = probabilities(widened).into_iter().zip(probabilities(found));
        divergence += pairs.map(|(p, q)| if p > 0.0 { p * (p / q.max(1e-300)).ln() } else { 0.0 }).sum::<f64>();
        same += f64::from(u8::from(argmax(widened) == argmax(found)));
    }
    (divergence / widened.len() as f64, same / widened.len() as f64)
}

/// Asserts that prompts in bf16 are nearer to the file's numbers than in int8. `--nocapture` shows how near.
#[allow(clippy::print_stdout)]
fn check_divergence(alias: &str) {
    let Loss { window, window_means, ids, .. } = reference(alias).loss;
    let windows = || (0..window_means.len().min(4)).map(|number| &ids[number * window..][..window]);
    let rows =
        |decoder: &Decoder| windows().map(|ids| decoder.forward_alone(ids).unwrap()).collect::<Vec<_>>().concat();
    let widened = rows(&decoder(alias, Residency::Dense));
    let [int8, bf16] = [Recipe::Int8, Recipe::Bf16].map(|recipe| {
        let found = rows(&loaded(alias, &LoadOptions { recipe, ..held(Residency::AsStored) }));
        divergence(&widened, &found)
    });
    println!("{alias}: divergence and equal likeliest tokens in int8 {int8:.6?}, in bf16 {bf16:.6?}");
    assert!(bf16.0 < int8.0 && bf16.1 >= int8.1, "{alias}: int8 {int8:?}, bf16 {bf16:?}");
}

fn check_loss_by(alias: &str, recipe: Recipe) {
    let reference = reference(alias);
    let decoder = loaded(alias, &LoadOptions { recipe, ..held(Residency::AsStored) });
    let Loss { window, mean, window_means, ids } = reference.loss;
    let of_window = |start: usize| {
        let rows = decoder.forward_alone(&ids[start..start + window]).unwrap();
        assert_eq!(rows.len(), window, "rows");
        let targets = &ids[start + 1..];
        rows.iter().zip(targets).map(|(row, &target)| surprise(row, target)).sum::<f64>() / window as f64
    };
    let found: Vec<f64> = (0..window_means.len()).map(|number| of_window(number * window)).collect();
    let found_mean = found.iter().sum::<f64>() / found.len() as f64;
    assert!(
        (found_mean / mean - 1.0).abs() <= LOSS_TOLERANCE,
        "{alias}, {recipe:?}: loss {found_mean}, expected {mean}; by window {found:.4?}, expected {window_means:.4?}"
    );
}

/// Steps compared and steps that differ, as text. Every step is fed the reference's own tokens, so that one near-tie
/// taken the other way does not spoil the steps after it.
fn compare_continuation(decoder: &Decoder, gap: f32, run: &Greedy) -> (usize, Vec<String>) {
    let fed = [&run.ids[..], &run.continuation[..STEPS - 1]].concat();
    let rows = decoder.forward_alone(&fed).unwrap();
    let clear: Vec<usize> = (0..STEPS).filter(|&step| run.gaps[step] > gap).collect();
    let differ = clear.iter().filter_map(|&step| {
        let (found, expected) = (argmax(&rows[run.ids.len() - 1 + step]), run.continuation[step]);
        let (prompt, gap) = (&run.prompt, run.gaps[step]);
        (found != expected).then(|| format!("{prompt:?}, step {step}: token {found}, expected {expected} (gap {gap})"))
    });
    let differ = differ.collect();
    (clear.len(), differ)
}

fn check_greedy(alias: &str, held: Held) {
    let reference = reference(alias);
    let decoder = decoder(alias, held.residency);
    assert_eq!(reference.greedy.len(), 20);
    let runs: Vec<_> = reference.greedy.iter().map(|run| compare_continuation(&decoder, held.gap, run)).collect();
    let differ: Vec<_> = runs.iter().flat_map(|(_, differ)| differ).collect();
    assert!(differ.is_empty(), "{alias}: {differ:#?}");
    // If the tolerance excused many steps, the comparison above would prove little.
    let compared: usize = runs.iter().map(|(compared, _)| compared).sum();
    assert!(
        compared * 100 >= held.compared * STEPS * runs.len(),
        "{alias}: only {compared} steps are clear enough to compare"
    );
}

#[test]
#[ignore = "needs the real model in the cache"]
fn smollm2_135m_loss() {
    check_loss("smollm2-135m");
}

#[test]
#[ignore = "needs the real model in the cache"]
fn smollm2_135m_greedy() {
    check_greedy("smollm2-135m", WIDENED);
}

#[test]
#[ignore = "needs the real model in the cache"]
fn smollm2_135m_greedy_as_stored() {
    check_greedy("smollm2-135m", STORED);
}

#[test]
#[ignore = "needs the real model in the cache"]
fn qwen25_coder_05b_loss() {
    check_loss("qwen2.5-coder-0.5b");
}

#[test]
#[ignore = "needs the real model in the cache"]
fn qwen25_coder_05b_greedy() {
    check_greedy("qwen2.5-coder-0.5b", WIDENED);
}

#[test]
#[ignore = "needs the real model in the cache"]
fn qwen25_coder_05b_greedy_as_stored() {
    check_greedy("qwen2.5-coder-0.5b", STORED);
}

#[test]
#[ignore = "needs the real model in the cache"]
fn qwen25_coder_15b_loss() {
    check_loss("qwen2.5-coder-1.5b");
}

#[test]
#[ignore = "needs the real model in the cache"]
fn qwen25_coder_15b_greedy() {
    check_greedy("qwen2.5-coder-1.5b", WIDENED);
}

#[test]
#[ignore = "needs the real model in the cache"]
fn qwen25_coder_15b_greedy_as_stored() {
    check_greedy("qwen2.5-coder-1.5b", STORED);
}

/// In windows of 1,000 tokens, longer than the model's window of attention.
#[test]
#[ignore = "needs the real model in the cache"]
fn gemma_3_270m_loss() {
    check_loss("gemma-3-270m-base");
}

#[test]
#[ignore = "needs the real model in the cache"]
fn gemma_3_270m_greedy() {
    check_greedy("gemma-3-270m-base", WIDENED);
}

#[test]
#[ignore = "needs the real model in the cache"]
fn gemma_3_270m_greedy_as_stored() {
    check_greedy("gemma-3-270m-base", STORED);
}

/// The same weights as a folder of safetensors, without a tokenizer. Rows of queries and keys are put from pairs into
/// halves, as transformers has them.
fn write_folder(weights: &Weights, folder: &Path) {
    let spec = arch::spec(weights).unwrap();
    let widened = tensors::tensors(&spec).map(|(name, shape)| {
        let tensor = weights.dense(&Naming::Gguf.name(name), &shape, DType::F32, &Device::Cpu).unwrap();
        let numbers = tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        let name = Naming::FOLDER.name(name);
        let width = shape[shape.len() - 1];
        let row = |row| if name.contains("q_proj") || name.contains("k_proj") { spec.file_row(row) } else { row };
        let rows = (0..numbers.len() / width).flat_map(|at| &numbers[row(at) * width..][..width]);
        let bytes: Vec<u8> = rows.flat_map(|number| number.to_le_bytes()).collect();
        (name, shape, bytes)
    });
    let tensors: Vec<_> = widened.collect();
    let views =
        tensors.iter().map(|(name, shape, bytes)| (name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
    std::fs::write(folder.join("model.safetensors"), safetensors::serialize(views, None).unwrap()).unwrap();
    let config = json!({
        "model_type": "llama", "hidden_size": spec.hidden, "num_hidden_layers": spec.layers,
        "num_attention_heads": spec.heads, "num_key_value_heads": spec.kv_heads, "rms_norm_eps": spec.norm_eps,
        "intermediate_size": spec.intermediate, "max_position_embeddings": spec.context, "rope_theta": spec.rope.theta,
    });
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
}

#[test]
#[ignore = "needs the real model in the cache, and 540 MB for a while"]
fn smollm2_135m_is_the_same_model_as_safetensors() {
    let folder = tempfile::tempdir().unwrap();
    let alias = "smollm2-135m";
    write_folder(&Weights::open(&cached(alias)).unwrap(), folder.path());
    let load = |path: &Path| {
        let weights = Weights::open(path).unwrap();
        // Only the GGUF's blocks have a kernel that brings activations to bytes.
        let dense = LoadOptions { residency: Residency::Dense, ..LoadOptions::default() };
        Decoder::load(arch::spec(&weights).unwrap(), &weights, &dense).unwrap()
    };
    let (gguf, folder) = (load(&cached(alias)), load(folder.path()));
    for run in &reference(alias).greedy[..4] {
        let fed = [&run.ids[..], &run.continuation[..STEPS - 1]].concat();
        let (found, expected) = (folder.forward_alone(&fed).unwrap(), gguf.forward_alone(&fed).unwrap());
        let clear = (0..STEPS).filter(|&step| run.gaps[step] > WIDENED.gap).map(|step| run.ids.len() - 1 + step);
        for row in clear {
            assert_eq!(argmax(&found[row]), argmax(&expected[row]), "{:?}, row {row}", run.prompt);
        }
    }
}

/// Ids, largest logits and greedy text of Gemma 3 270M (base, Q4_K_M), computed by numpy in f32 from the dequantised file.
#[test]
#[ignore = "needs the real model in the cache"]
fn gemma_3_270m_logits() {
    type Case<'a> = (&'a str, &'a [u32], &'a [(u32, f32)], &'a str);
    let cases: [Case<'_>; 3] = [
        (
            "The capital of France is",
            &[2, 818, 5279, 529, 7001, 563],
            &[(506, 19.091), (496, 18.548), (9079, 18.269), (886, 18.113), (3224, 17.784)],
            " the capital of the country of France. It is the largest",
        ),
        (
            "Pride and Prejudice was written by",
            &[2, 203_460, 532, 233_276, 691, 5267, 684],
            &[(18_821, 30.884), (17_187, 26.745), (33_400, 26.394)],
            " Jane Austen. It was published in 1813",
        ),
        ("2, 4, 6, 8,", &[2, 236_778, 236_764, 236_743, 236_812], &[], " 10, 12, 14,"),
    ];
    let weights = Weights::open(&cached("gemma-3-270m-base")).unwrap();
    let Weights::Gguf(gguf) = &weights else { panic!("expected a GGUF") };
    let tokenizer = Tokenizer::from_gguf(gguf.metadata()).unwrap();
    let decoder = decoder("gemma-3-270m-base", Residency::Dense);
    for (text, ids, largest, greedy) in cases {
        let prompt = tokenizer.encode_prompt(&[Segment::Content(text.into())]).unwrap();
        assert_eq!(prompt[..ids.len()], *ids, "{text}");
        let mut row = decoder.forward_alone(&prompt).unwrap().pop().unwrap();
        for (token, expected) in largest {
            let found = row[*token as usize];
            assert!((found - expected).abs() < 2e-3, "{text}: token {token}: expected {expected}, found {found}");
        }
        let mut sequence = prompt.clone();
        let mut written = String::new();
        while written.len() < greedy.len() {
            sequence.push(argmax(&row));
            written = tokenizer.decode_text(&sequence[prompt.len()..]);
            row = decoder.forward_alone(&sequence).unwrap().pop().unwrap();
        }
        assert_eq!(written, greedy, "{text}");
    }
}
