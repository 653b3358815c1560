//! A tiny model of every architecture and form of rope scaling, from a folder and from a GGUF file.

use super::continuations::continuation;
use super::{TOLERANCES, argmax, assert_close, golden, held, reference, tokens};
use moot_models::weights::Weights;
use moot_models::{
    Batch, Bias, ContextLimit, Decoder, DecoderSpec, ExpertTensors, Experts, Norms, QkNorm, Residency, RopeScaling,
    Rotation, SequenceRows, arch,
};
use safetensors::SafeTensors;
use std::path::Path;

pub(super) fn load(path: &Path, residency: Residency) -> Decoder {
    let weights = Weights::open(path).unwrap_or_else(|error| panic!("{error}"));
    let spec = arch::spec(&weights).unwrap_or_else(|error| panic!("{error}"));
    Decoder::load(spec, &weights, &held(residency)).unwrap_or_else(|error| panic!("{error}"))
}

/// Compares the model at `path` with transformers' logits of `name`; returns its spec.
fn assert_golden(path: &Path, name: &str) -> DecoderSpec {
    let bytes = std::fs::read(golden("architectures").join(name).join("expected.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let [spec, _] = TOLERANCES.map(|(residency, tolerance)| {
        let decoder = load(path, residency);
        for expected in (0..3).map(|number| reference(&file, number)) {
            let what = format!("{}, {residency:?}, {} tokens", path.display(), expected.ids.len());
            let found = decoder.forward_alone(&expected.ids).unwrap();
            if residency == Residency::AsStored && decoder.expert_bytes() > 0 && has_blocks(path) {
                assert_near(&found, &expected.logits, &what);
            } else {
                // Weights of four bits make larger activations, and so larger differences of rounding; a wrong clamp, window or sink
                // moves some logit by 0.02 at least.
                let tolerance = if has_blocks(path) { tolerance.max(1e-3) } else { tolerance };
                assert_close(&found, &expected.logits, tolerance, &what);
            }
        }
        if residency == Residency::Dense {
            assert_greedy(&decoder, (name, &file), &path.display().to_string());
        }
        decoder.spec().clone()
    });
    spec
}

/// Whether some of its matrices are multiplied by activations of eight bits.
fn has_blocks(path: &Path) -> bool {
    let weights = Weights::open(path).unwrap();
    weights.names().any(|name| weights.stored_type(name).unwrap() == "MXFP4")
}

/// Activations of eight bits leave some per cent, more where they move a router's choice between experts of about one
/// weight.
fn assert_near(found: &[Vec<f32>], expected: &[Vec<f32>], what: &str) {
    let pairs = || found.iter().flatten().zip(expected.iter().flatten());
    assert_eq!((found.len(), pairs().count()), (expected.len(), expected.iter().flatten().count()), "{what}");
    let square = |x: f32| f64::from(x).powi(2);
    let apart = pairs().map(|(found, expected)| square(found - expected)).sum::<f64>();
    let off = (apart / expected.iter().flatten().map(|x| square(*x)).sum::<f64>()).sqrt();
    assert!(off < 0.05, "{what}: off by {off}");
}

/// Compares the continuation by the largest logit, which follows `ids.1` of fixture `name`.
fn assert_greedy(decoder: &Decoder, (name, file): (&str, &SafeTensors<'_>), what: &str) {
    let Some(expected) = continuation(name, file) else { return };
    let mut sequence = tokens(file, "ids.1");
    let given = sequence.len();
    for _ in &expected {
        sequence.push(argmax(decoder.forward_alone(&sequence).unwrap().last().unwrap()));
    }
    assert_eq!(sequence[given..], expected, "{what}: greedy continuation");
}

/// Compares the folder's model, of a kind that a GGUF cannot say, with transformers' logits.
pub(super) fn check_folder(name: &str) -> DecoderSpec {
    assert_golden(&golden("architectures").join(name), name)
}

/// Compares both forms of the model with transformers' logits; returns the specs of the folder and of the GGUF.
pub(super) fn check(name: &str) -> (DecoderSpec, DecoderSpec) {
    let folder = golden("architectures");
    (assert_golden(&folder.join(name), name), assert_golden(&folder.join(format!("{name}.gguf")), name))
}

#[test]
fn llama3_rope_scaling_beyond_the_original_context() {
    check("llama3");
}

#[test]
fn llama_linear_rope_scaling_and_attention_biases() {
    check("llama-linear");
}

#[test]
fn mistral() {
    let (folder, gguf) = check("mistral");
    assert_eq!((folder.architecture, gguf.architecture), ("mistral", "llama"));
    assert_eq!((folder.context, folder.note()), (256, None));
}

/// Beyond the positions of the first training, where queries grow.
#[test]
fn ministral3_with_queries_that_grow() {
    let (folder, gguf) = check("ministral3");
    for spec in [folder, gguf] {
        let scaling = spec.query_scaling.unwrap();
        assert!((scaling.beta - 0.4).abs() < 1e-6 && scaling.original == 16.0, "{scaling:?}");
        assert!(matches!(spec.rope.scaling, RopeScaling::Yarn { magnitude, .. } if magnitude == 1.0));
    }
}

#[test]
fn qwen3() {
    let (folder, _) = check("qwen3");
    assert_ne!(folder.heads * folder.head_dim, folder.hidden);
}

#[test]
fn qwen3_yarn_rope_scaling() {
    check("qwen3-yarn");
}

/// The window is as wide as the longest sequence.
#[test]
fn phi3_up_to_its_window() {
    let (folder, gguf) = check("phi3");
    for spec in [folder, gguf] {
        assert_eq!((spec.context, spec.window, spec.limit), (256, 61, ContextLimit::Trained));
    }
}

#[test]
fn phi3_longrope_on_a_part_of_the_head() {
    let (folder, gguf) = check("phi3-long");
    for spec in [folder, gguf] {
        assert_eq!((spec.context, spec.rope.dims), (64, 24));
        assert_eq!(spec.limit, ContextLimit::ShortRope { claimed: 256 });
    }
}

#[test]
fn mistral_beyond_its_window() {
    let spec = check_folder("mistral-window");
    assert_eq!((spec.context, spec.window_of(0), spec.window_of(1)), (256, 16, 16));
}

#[test]
fn qwen2_with_windows_in_its_last_layers() {
    let spec = check_folder("qwen2-window");
    assert_eq!([0, 1, 2].map(|layer| spec.window_of(layer)), [usize::MAX, 16, 16]);
}

#[test]
fn phi3_beyond_its_window() {
    let (folder, gguf) = check("phi3-window");
    assert_eq!((folder.window_of(1), gguf.window_of(1), folder.context), (16, 16, 256));
}

#[test]
fn gemma3_from_a_folder_and_a_gguf() {
    let (folder, gguf) = check("gemma3");
    assert_eq!(folder.layer_kinds, gguf.layer_kinds);
    assert_eq!((&folder.window_rope, &folder.rope), (&gguf.window_rope, &gguf.rope));
}

#[test]
fn gemma3_in_its_older_form_with_a_scale_of_its_own() {
    let spec = check_folder("gemma3-scalar");
    assert!((spec.attention_scale - 24.0_f32.sqrt().recip()).abs() < 1e-6);
}

#[test]
fn smollm3_with_layers_that_are_not_rotated() {
    let (folder, gguf) = check("smollm3");
    assert_eq!(folder.layer_kinds, gguf.layer_kinds);
    assert_eq!(folder.kind(3).rotation, Rotation::None);
}

#[test]
fn qwen3_with_experts() {
    let (folder, gguf) = check("qwen3moe");
    assert_eq!((folder.experts, folder.intermediate), (gguf.experts, gguf.intermediate));
    assert_eq!(folder.experts, Some(Experts::of(8, 2)));
}

#[test]
fn qwen3_with_experts_whose_weights_are_not_normalised() {
    assert!(!check_folder("qwen3moe-plain").experts.unwrap().normalised);
}

/// Published folders have experts in two tensors of bytes a projection, codes and scales, in which rows of gate and up
/// take turns.
#[test]
fn gpt_oss_with_sinks_and_experts_in_mxfp4() {
    let (folder, gguf) = check("gpt-oss");
    for spec in [&folder, &gguf] {
        let experts = Experts { biased: true, ..Experts::of(8, 4) };
        assert_eq!((spec.experts, spec.intermediate, spec.attention_sinks), (Some(experts), 32, true));
        assert_eq!([0, 1, 2].map(|layer| spec.window_of(layer)), [16, usize::MAX, 16]);
        let RopeScaling::Yarn { magnitude, whole_pairs, .. } = spec.rope.scaling else { panic!("no YaRN") };
        assert!((magnitude - (1.0 + 0.1 * 8f32.ln())).abs() < 1e-6 && !whole_pairs);
    }
    let stored = [folder.layout.experts, gguf.layout.experts];
    assert_eq!(stored, [ExpertTensors::StackedInTurns, ExpertTensors::Stacked]);
}

#[test]
fn olmo2_with_norms_behind_and_over_all_heads() {
    let (folder, gguf) = check("olmo2");
    assert_eq!((folder.norms, folder.qk_norm), (Norms::Behind, QkNorm::Whole));
    assert_eq!((&folder.layer_kinds, &gguf.layer_kinds), (&vec![], &vec![]));
}

#[test]
fn olmo3_with_windows_that_are_not_scaled() {
    let (folder, gguf) = check("olmo3");
    assert_eq!((folder.architecture, gguf.architecture), ("olmo3", "olmo2"));
    assert_eq!(folder.layer_kinds, gguf.layer_kinds);
    assert_eq!((&folder.window_rope, folder.window), (&gguf.window_rope, gguf.window));
    let windowed = (0..5).map(|layer| folder.kind(layer).windowed).collect::<Vec<_>>();
    assert_eq!(windowed, [true, true, true, false, true]);
}

#[test]
fn granite_with_its_factors() {
    let (folder, gguf) = check("granite");
    for spec in [folder, gguf] {
        let scales = [spec.embedding_scale, spec.attention_scale, spec.residual_scale, spec.logit_scale];
        assert_eq!(scales, [3.0, 0.4, 0.5, 0.5]);
    }
}

#[test]
fn glm4_with_neighbours_rotated_in_half_of_a_head() {
    let (folder, gguf) = check("glm4");
    for spec in [folder, gguf] {
        assert_eq!((spec.rope.dims, spec.head_dim, spec.bias, spec.norms), (16, 32, Bias::Qkv, Norms::Around));
    }
}

/// Both files have the same blocks, which one of them has in another order.
#[test]
fn experts_in_turns_have_the_bits_of_those_apart() {
    let [folder, gguf] = ["gpt-oss", "gpt-oss.gguf"].map(|name| golden("architectures").join(name));
    for residency in [Residency::AsStored, Residency::Dense] {
        let logits = [&folder, &gguf].map(|path| load(path, residency).forward_alone(&[3, 40, 7, 21]).unwrap());
        assert_eq!(logits[0], logits[1], "{residency:?}");
    }
}

/// A prompt in chunks, beside a sequence that shares its first pages, with windows that begin within a page.
#[test]
fn rows_have_the_same_bits_in_chunks_and_beside_others() {
    for name in [
        "llama3",
        "llama3.gguf",
        "qwen3",
        "qwen3.gguf",
        "qwen3-yarn",
        "phi3",
        "phi3-long",
        "phi3-window",
        "phi3-window.gguf",
        "qwen2-window",
        "smollm3",
        "smollm3.gguf",
        "gemma3",
        "gemma3.gguf",
        "gemma3-images",
        "mistral-window",
        "ministral3",
        "ministral3.gguf",
        "ministral3-images",
        "qwen3moe",
        "qwen3moe.gguf",
        "gpt-oss",
        "gpt-oss.gguf",
        "olmo2",
        "olmo2.gguf",
        "olmo3",
        "olmo3.gguf",
        "granite",
        "granite.gguf",
        "glm4",
        "glm4.gguf",
        "gemma4",
        "gemma4.gguf",
        "gemma4-moe",
        "gemma4-moe.gguf",
        "gemma4-images",
    ] {
        let folder = golden("architectures").join(name.trim_end_matches(".gguf"));
        let bytes = std::fs::read(folder.join("expected.safetensors")).unwrap();
        let ids = reference(&SafeTensors::deserialize(&bytes).unwrap(), 2).ids;
        let decoder = load(&golden("architectures").join(name), Residency::AsStored);
        let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let alone: Vec<Vec<u32>> = decoder.forward_alone(&ids).unwrap().iter().map(|row| bits(row)).collect();
        let shared = 32;
        let kv = decoder.kv_cache(8).unwrap();
        let rows = |start: usize, len: usize, pages: [u32; 4]| SequenceRows { start, len, pages: pages.to_vec() };
        let [one, other] = [[0, 1, 2, 3], [0, 1, 4, 5]];
        decoder.forward(&Batch::new(ids[..shared].to_vec(), vec![rows(0, shared, one)], vec![]), &kv).unwrap();
        for (start, len) in [(32, 7), (39, 1), (40, 13), (53, 8)] {
            let part = &ids[start..start + len];
            let sequences = vec![rows(start, len, one), rows(start, len, other)];
            let batch = Batch::new([part, part].concat(), sequences, (0..2 * len as u32).collect());
            let found: Vec<Vec<f32>> = decoder.forward(&batch, &kv).unwrap().to_vec2().unwrap();
            for (row, found) in found.iter().enumerate() {
                assert_eq!(bits(found), alone[start + row % len], "{name}, position {}", start + row % len);
            }
        }
    }
}

#[test]
fn any_file_of_a_split_model_loads_all() {
    for number in 1..=3 {
        let path = golden("architectures/split").join(format!("qwen3-{number:05}-of-00003.gguf"));
        assert_golden(&path, "qwen3");
        assert_eq!(Weights::open(&path).unwrap().files().count(), 3);
    }
}
