//! Models on an NVIDIA GPU against transformers' logits, against the CPU, and rows of a batch against rows alone:
//! `cargo test --release --package moot-models --features cuda --test gpu`.
// Measurements are printed, for `--nocapture`.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use candle_core::Tensor;
use candle_core::quantized::GgmlDType;
use moot_models::arch::{self, Config, spec_of_config};
use moot_models::encoder::{Classifier, EmbeddingModel, EncoderOptions, Pair, Precision};
use moot_models::weights::{RandomOptions, Weights, storage_of};
use moot_models::{
    Batch, DType, Decoder, DecoderSpec, Device, LayerKind, LoadOptions, PAGE, Replays, Residency, SequenceRows, kernels,
};
use safetensors::SafeTensors;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn gpu() -> Device {
    kernels::open_cuda(0).unwrap_or_else(|error| panic!("expected an NVIDIA GPU: {error}"))
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn on_gpu(dtype: DType, exact: bool) -> LoadOptions {
    LoadOptions { device: gpu(), dtype, exact, ..LoadOptions::default() }
}

fn rows_of(logits: &Tensor) -> Vec<Vec<f32>> {
    kernels::read_back(logits).unwrap().to_vec2().unwrap()
}

/// `‖found - expected‖ / ‖expected‖`; not a number where one of them has a logit that is not finite.
fn apart(found: &[Vec<f32>], expected: &[Vec<f32>]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let (mut difference, mut length) = (0.0, 0.0);
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.len(), expected.len());
        for (&found, &expected) in found.iter().zip(expected) {
            difference += f64::from(found - expected).powi(2);
            length += f64::from(expected).powi(2);
        }
    }
    (difference / length).sqrt()
}

/// Numbers of a tensor of four-byte elements, and its last dimension.
fn numbers(file: &SafeTensors<'_>, name: &str) -> (usize, Vec<[u8; 4]>) {
    let tensor = file.tensor(name).unwrap();
    let words = tensor.data().chunks_exact(4).map(|bytes| bytes.try_into().unwrap());
    (*tensor.shape().last().unwrap(), words.collect())
}

/// The last matrix of gpt-oss's experts has 32 inputs, so Candle multiplies by it and rounds activations to int8.
fn of_blocks(model: &str, most: f64) -> f64 {
    if model.contains("gpt-oss") { 0.05 } else { most }
}

/// Qwen3.5's recurrent states carry the rounding of each token on.
fn of_f16(model: &str) -> f64 {
    of_blocks(model, if model.contains("qwen35") { 0.02 } else { 5e-3 })
}

/// Rounding to bf16 lets a router choose another expert now and then.
fn of_bf16(model: &str) -> f64 {
    if ["moe", "gpt-oss", "qwen35"].iter().any(|name| model.contains(name)) { 0.1 } else { 0.04 }
}

#[test]
fn logits_are_those_of_transformers() {
    let architectures = [
        "llama3",
        "llama-linear",
        "mistral",
        "qwen3",
        "qwen3-yarn",
        "phi3",
        "phi3-long",
        "phi3-window",
        "gemma3",
        "smollm3",
        "qwen3moe",
        "olmo2",
        "olmo3",
        "granite",
        "glm4",
        "lfm2",
        "lfm2moe",
        "ministral3",
        "gpt-oss",
        "qwen35",
        "qwen35moe",
        "gemma4",
        "gemma4-moe",
    ];
    let mut models: Vec<(String, String)> = Vec::new();
    for name in architectures {
        let expected = format!("architectures/{name}/expected.safetensors");
        models.extend(
            [format!("architectures/{name}"), format!("architectures/{name}.gguf")].map(|m| (m, expected.clone())),
        );
    }
    // There are no files with a window for these in GGUF.
    for name in ["mistral-window", "qwen2-window"] {
        models.push((format!("architectures/{name}"), format!("architectures/{name}/expected.safetensors")));
    }
    for name in ["llama", "qwen2"] {
        let expected = format!("tiny/{name}.expected.safetensors");
        models.extend([format!("tiny/{name}"), format!("tiny/{name}.gguf")].map(|m| (m, expected.clone())));
    }
    let mut failures = Vec::new();
    for (model, expected) in &models {
        let bytes = std::fs::read(golden(expected)).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        for (dtype, most) in
            [(DType::F32, of_blocks(model, 1e-4)), (DType::F16, of_f16(model)), (DType::BF16, of_bf16(model))]
        {
            let weights = Weights::open(&golden(model)).unwrap();
            let decoder = Decoder::load(arch::spec(&weights).unwrap(), &weights, &on_gpu(dtype, false)).unwrap();
            for number in 0..3 {
                let ids: Vec<u32> =
                    numbers(&file, &format!("ids.{number}")).1.into_iter().map(u32::from_le_bytes).collect();
                let (vocab, logits) = numbers(&file, &format!("logits.{number}"));
                let logits: Vec<f32> = logits.into_iter().map(f32::from_le_bytes).collect();
                let logits: Vec<Vec<f32>> = logits.chunks_exact(vocab).map(<[f32]>::to_vec).collect();
                let off = apart(&decoder.forward_alone(&ids).unwrap(), &logits);
                println!("{model} {dtype:?} {} tokens: {off:.1e}", ids.len());
                if off.is_nan() || off > most {
                    failures
                        .push(format!("{model}, {dtype:?}, {} tokens: off by {off:.2e}, at most {most}", ids.len()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// A model whose heads are as wide as those of real ones.
fn spec(head_dim: usize, heads: usize) -> DecoderSpec {
    spec_of(head_dim, heads, false)
}

fn spec_of(head_dim: usize, heads: usize, tied: bool) -> DecoderSpec {
    let value: Value = json!({
        "model_type": "qwen3", "vocab_size": 1000, "hidden_size": 512, "num_hidden_layers": 3, "head_dim": head_dim,
        "num_attention_heads": heads, "num_key_value_heads": 2, "intermediate_size": 1024,
        "max_position_embeddings": 1024, "rms_norm_eps": 1e-6, "rope_theta": 1e6,
        "tie_word_embeddings": tied,
    });
    spec_of_config(&Config::of(Path::new("a test"), value).unwrap()).unwrap()
}

/// The same with windows of `window` positions in every other layer.
fn windowed(head_dim: usize, heads: usize, window: usize) -> DecoderSpec {
    let spec = spec(head_dim, heads);
    let kind = |layer: usize| if layer % 2 == 0 { LayerKind::WINDOWED } else { LayerKind::FULL };
    DecoderSpec { window, layer_kinds: (0..spec.layers).map(kind).collect(), ..spec }
}

fn tokens(count: usize, from: usize) -> Vec<u32> {
    (from..from + count).map(|i| (i * 7919 % 1000) as u32).collect()
}

const FLOATS: [GgmlDType; 3] = [GgmlDType::F32, GgmlDType::F16, GgmlDType::BF16];

/// Candle's products of blocks quantise activations to int8, under one scale of half precision for 32 of them.
fn most_of(block: GgmlDType) -> f64 {
    if matches!(block, GgmlDType::Q2K | GgmlDType::Q3K) { 0.2 } else { 0.01 }
}

/// The CPU widens the weights, so it is the numbers of the file with no other rounding.
#[test]
fn every_type_of_stored_weights_gives_the_logits_of_the_cpu() {
    let on_cpu = LoadOptions { residency: Residency::Dense, ..LoadOptions::default() };
    let mut failures = Vec::new();
    for (head_dim, heads, tied) in [(64, 6, false), (128, 4, true)] {
        for (storage, most) in
            FLOATS.map(|float| (float, 0.01)).into_iter().chain(kernels::BLOCKS.map(|block| (block, most_of(block))))
        {
            let spec = || spec_of(head_dim, heads, tied);
            let weights = Weights::random(&spec(), RandomOptions { seed: 5, storage });
            let reference = Decoder::load(spec(), &weights, &on_cpu).unwrap();
            let decoder = Decoder::load(spec(), &weights, &on_gpu(DType::F16, false)).unwrap();
            // A matrix whose inputs are no multiple of 256 has another type.
            let fits = |inputs| kernels::PackedBlocks::fit(storage_of(storage, inputs), inputs, DType::F16);
            let ours = fits(512) || fits(heads * head_dim);
            assert_eq!(decoder.packed_matrices() > 0, ours, "{storage:?}");
            // Kernels differ by the number of rows.
            for ids in [tokens(1, 0), tokens(8, 3), tokens(9, 3), tokens(200, 5), tokens(600, 5)] {
                let off = apart(&decoder.forward_alone(&ids).unwrap(), &reference.forward_alone(&ids).unwrap());
                println!("heads of {head_dim}, {storage:?}, {} tokens: {off:.1e}", ids.len());
                if off.is_nan() || off > most {
                    failures.push(format!("heads of {head_dim}, {storage:?}, {} tokens: off by {off:.2e}", ids.len()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Prompt chunks and single tokens of sequences that share their first pages, in one batch, as the engine makes them.
#[test]
fn rows_of_a_batch_are_those_of_a_row_alone() {
    const SHARED: usize = 20 * PAGE;
    const OWN: usize = 3 * PAGE + 5;
    const AGENTS: usize = 8;
    let specs: [fn() -> DecoderSpec; 3] = [|| spec(64, 6), || windowed(64, 6, 100), || windowed(256, 2, 330)];
    for (spec, exact) in specs.into_iter().flat_map(|spec| [(spec, false), (spec, true)]) {
        let weights = Weights::random(&spec(), RandomOptions { seed: 5, storage: GgmlDType::F16 });
        let decoder = Decoder::load(spec(), &weights, &on_gpu(DType::F16, exact)).unwrap();
        let kv = decoder.kv_cache(20 + AGENTS * 4).unwrap();
        let pages = |agent: usize| (0..20).chain(20 + agent as u32 * 4..24 + agent as u32 * 4).collect::<Vec<u32>>();
        let ids = |agent: usize| [tokens(SHARED, 0), tokens(OWN + 1, 1000 + 100 * agent)].concat();
        let run = |ids: Vec<u32>, sequences: Vec<SequenceRows>, wanted: Vec<u32>| -> Vec<Vec<f32>> {
            rows_of(&decoder.forward(&Batch::new(ids, sequences, wanted), &kv).unwrap())
        };
        let first = SequenceRows { start: 0, len: SHARED, pages: pages(0) };
        let none = run(ids(0)[..SHARED].to_vec(), vec![first], Vec::new());
        assert!(none.is_empty());
        let part = |agent: usize, start: usize, len: usize| SequenceRows { start, len, pages: pages(agent) };
        let of_all = |start: usize, len: usize| {
            let all = (0..AGENTS).flat_map(|agent| ids(agent)[start..start + len].to_vec()).collect();
            let sequences = (0..AGENTS).map(|agent| part(agent, start, len)).collect();
            run(all, sequences, (1..=AGENTS).map(|agent| (agent * len - 1) as u32).collect())
        };
        let together = [of_all(SHARED, OWN), of_all(SHARED + OWN, 1)];
        for agent in 0..AGENTS {
            for (rows, (start, len)) in together.iter().zip([(SHARED, OWN), (SHARED + OWN, 1)]) {
                let own = ids(agent)[start..start + len].to_vec();
                let alone = run(own, vec![part(agent, start, len)], vec![len as u32 - 1]);
                let from_scratch = decoder.forward_alone(&ids(agent)[..start + len]).unwrap();
                let off = apart(&rows[agent..=agent], &from_scratch[start + len - 1..]);
                println!("exact {exact}, agent {agent}, {len} tokens: {off:.1e} from a run alone");
                assert!(off < 0.01, "agent {agent}: off by {off}");
                if exact {
                    let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(&alone[0]), bits(&rows[agent]), "agent {agent}, {len} tokens");
                }
            }
        }
    }
}

fn encoder_on_gpu() -> EncoderOptions {
    EncoderOptions { device: gpu(), precision: Precision::F32, ..EncoderOptions::default() }
}

/// What transformers gives for the encoder `name`.
fn expected_of_encoder(name: &str) -> Value {
    let expected = std::fs::read_to_string(golden("encoders").join(name).join("expected.json")).unwrap();
    serde_json::from_str(&expected).unwrap()
}

fn floats(row: &Value) -> Vec<f32> {
    row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect()
}

#[test]
fn vectors_of_texts_are_those_of_transformers() {
    for name in ["bert", "xlm-roberta", "deberta", "modernbert", "mpnet", "qwen3-embedding", "gemma3-embedding"] {
        let model = EmbeddingModel::open(&golden("encoders").join(name), &encoder_on_gpu()).unwrap();
        let expected = expected_of_encoder(name);
        let texts = expected["texts"].as_array().unwrap();
        let all: Vec<&str> = texts.iter().map(|text| text["text"].as_str().unwrap()).collect();
        let found = model.embed("", &all).unwrap();
        let expected: Vec<Vec<f32>> = texts.iter().map(|text| floats(&text["vector"])).collect();
        let rows: Vec<Vec<f32>> = found.vectors.chunks(model.dimension()).map(<[f32]>::to_vec).collect();
        let off = apart(&rows, &expected);
        println!("{name}: {off:.1e}");
        assert!(off < 1e-4, "{name}: off by {off}");
    }
}

/// Of classifiers, those of T5 among them, and of rerankers.
#[test]
fn logits_of_pairs_are_those_of_transformers() {
    for name in [
        "bert-nli",
        "roberta-nli",
        "deberta-nli",
        "modernbert-nli",
        "mpnet-nli",
        "bert-reranker",
        "xlm-roberta-reranker",
        "modernbert-reranker",
        "minicheck-t5",
        "hhem",
    ] {
        // MiniCheck's files do not say how a pair is written.
        let written = (name == "minicheck-t5").then_some("predict: {premise}</s>{hypothesis}");
        let model = Classifier::open(&golden("encoders").join(name), &encoder_on_gpu(), written).unwrap();
        let expected = expected_of_encoder(name);
        let judged = expected["pairs"].as_array().unwrap();
        let pairs: Vec<Pair<'_>> = judged
            .iter()
            .map(|pair| Pair { first: pair["first"].as_str().unwrap(), second: pair["second"].as_str().unwrap() })
            .collect();
        let expected: Vec<Vec<f32>> = judged.iter().map(|pair| floats(&pair["logits"])).collect();
        let off = apart(&model.classify(&pairs).unwrap().logits, &expected);
        println!("{name}: {off:.1e}");
        assert!(off < 1e-4, "{name}: off by {off}");
    }
}

fn bits(rows: &[Vec<f32>]) -> Vec<u32> {
    rows.iter().flatten().map(|x| x.to_bits()).collect()
}

/// Agents that share 20 pages decode on, first all of them and then five, far enough that the plan's room grows.
#[test]
fn captured_steps_give_the_bits_of_steps_that_are_enqueued() {
    const SHARED: usize = 20 * PAGE;
    const OWN: usize = 60;
    let whole: fn() -> DecoderSpec = || spec(64, 6);
    // Captured as long as the window is not exceeded.
    let within: fn() -> DecoderSpec = || windowed(64, 6, 1000);
    for (spec, storage, exact, [captured, replayed]) in [
        (whole, GgmlDType::F16, false, [3, 800]),
        (whole, GgmlDType::F16, true, [3, 800]),
        (whole, GgmlDType::Q4K, false, [3, 800]),
        (within, GgmlDType::F16, true, [1, 600]),
    ] {
        let weights = Weights::random(&spec(), RandomOptions { seed: 5, storage });
        let decoder = Decoder::load(spec(), &weights, &on_gpu(DType::BF16, exact)).unwrap();
        let kv = decoder.kv_cache(20 + 8 * OWN).unwrap();
        let mut replays = Replays::default();
        let pages = |agent: usize| {
            let own = 20 + agent * OWN;
            (0..20).chain(own as u32..(own + OWN) as u32).collect::<Vec<u32>>()
        };
        let first = SequenceRows { start: 0, len: SHARED, pages: pages(0) };
        decoder.forward(&Batch::new(tokens(SHARED, 0), vec![first], Vec::new()), &kv).unwrap();
        for position in SHARED..SHARED + OWN * PAGE {
            let agents = if position < SHARED + 50 * PAGE { 8 } else { 5 };
            let sequences = (0..agents).map(|agent| SequenceRows { start: position, len: 1, pages: pages(agent) });
            let batch = Batch::new(tokens(agents, 31 * position), sequences.collect(), (0..agents as u32).collect());
            let replayed = replays.forward(&decoder, &batch, &kv).unwrap();
            let replayed = replayed.map(|logits| rows_of(&logits));
            let enqueued = rows_of(&decoder.forward(&batch, &kv).unwrap());
            if let Some(replayed) = replayed {
                assert!(position < spec().window, "position {position}");
                assert_eq!(bits(&replayed), bits(&enqueued), "{storage:?}, exact {exact}, position {position}");
            }
        }
        println!("{storage:?}, exact {exact}: {:?} {:?}", replays.counts(), replays.refused());
        assert_eq!(replays.refused(), None);
        let counts = replays.counts();
        assert!(counts.captured >= captured && counts.replayed > replayed, "{counts:?}");
    }
}

/// Steps of two sizes write their logits to the same memory. After a release, steps are enqueued, then captured again.
#[test]
fn captured_steps_that_are_released_are_captured_again() {
    let weights = Weights::random(&spec(64, 6), RandomOptions { seed: 5, storage: GgmlDType::Q4K });
    let decoder = Decoder::load(spec(64, 6), &weights, &on_gpu(DType::BF16, false)).unwrap();
    let (kv, mut replays) = (decoder.kv_cache(5).unwrap(), Replays::default());
    let step = |replays: &mut Replays, rows: usize, position: usize| {
        let sequence = |row: usize| SequenceRows { start: position, len: 1, pages: vec![row as u32] };
        let wanted = (0..rows as u32).collect();
        let batch = Batch::new(tokens(rows, 31 * position), (0..rows).map(sequence).collect(), wanted);
        let replayed = replays.forward(&decoder, &batch, &kv).unwrap().map(|logits| rows_of(&logits));
        let enqueued = rows_of(&decoder.forward(&batch, &kv).unwrap());
        replayed.inspect(|replayed| assert_eq!(bits(replayed), bits(&enqueued), "{rows} rows")).is_some()
    };
    let both = |replays: &mut Replays, positions: std::ops::Range<usize>| -> Vec<[bool; 2]> {
        positions.map(|position| [5, 2].map(|rows| step(replays, rows, position))).collect()
    };
    assert_eq!(both(&mut replays, 0..4), [[false; 2], [false; 2], [true; 2], [true; 2]]);
    assert!(replays.release(&decoder), "a step without recurrent states may be tried again");
    assert_eq!(both(&mut replays, 4..8), [[false; 2], [false; 2], [true; 2], [true; 2]]);
    let counts = replays.counts();
    assert_eq!((counts.captured, counts.replayed, counts.refused, counts.released), (4, 4, 0, 1));
}

/// Two models on one GPU, each in a thread of its own, as a run with two models has them.
#[test]
fn two_models_at_once_compute_what_each_computes_alone() {
    let model = |seed: u64, storage| {
        let weights = Weights::random(&spec(64, 6), RandomOptions { seed, storage });
        Decoder::load(spec(64, 6), &weights, &on_gpu(DType::F16, false)).unwrap()
    };
    let (one, other) = (model(1, GgmlDType::Q4K), model(2, GgmlDType::Q5K));
    let lengths = [1, 5, 40, 100, 300];
    let run = |model: &Decoder| lengths.map(|length| bits(&model.forward_alone(&tokens(length, length)).unwrap()));
    let alone = [run(&one), run(&other)];
    std::thread::scope(|scope| {
        for (model, alone) in [(&one, &alone[0]), (&other, &alone[1])] {
            scope.spawn(move || (0..30).for_each(|_| assert_eq!(&run(model), alone)));
        }
    });
}
