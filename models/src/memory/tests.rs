//! Plans against published sizes, and how they grow.

use super::*;
use crate::source::Catalog;

fn planned(alias: &str) -> Footprint {
    let catalog = Catalog::embedded();
    let entry = catalog.models.iter().find(|entry| entry.alias == alias);
    entry.map(|entry| Footprint::planned(&entry.shape, &entry.quant)).into_iter().next().expect("an alias (bug)")
}

/// Parameter counts as the models' cards give them, in millions.
#[test]
fn parameter_counts_agree_with_the_model_cards() {
    let cards = [
        ("smollm2-135m", 134.5),
        ("smollm2-360m", 361.8),
        ("smollm2-1.7b", 1711.0),
        ("qwen2.5-0.5b", 494.0),
        ("qwen2.5-1.5b", 1543.7),
        ("qwen2.5-3b", 3086.0),
        ("qwen2.5-7b", 7615.6),
        ("qwen2.5-14b", 14770.0),
        ("qwen2.5-32b", 32764.0),
        ("qwen2.5-72b", 72706.0),
        ("qwen3-0.6b", 596.0),
        ("qwen3-1.7b", 1720.6),
        ("qwen3-4b", 4022.5),
        ("qwen3-8b", 8190.7),
        ("qwen3-14b", 14768.0),
        ("qwen3-32b", 32762.0),
        ("llama-2-7b", 6738.4),
        ("llama-2-13b", 13015.9),
        ("llama-3.1-8b", 8030.3),
        ("llama-3.1-70b", 70553.7),
        ("llama-3.2-1b", 1235.8),
        ("llama-3.2-3b", 3212.7),
        ("mistral-7b-v0.3", 7248.0),
        ("phi-3-mini", 3821.1),
        ("selfrag-7b", 6738.5),
        ("qwen3-30b-a3b", 30532.1),
        ("gemma-3-270m", 268.1),
        ("gemma-3-1b", 999.9),
        ("lfm2-350m", 354.5),
        ("lfm2-700m", 742.5),
        ("lfm2-1.2b", 1170.3),
        ("lfm2-2.6b", 2569.3),
    ];
    for (alias, millions) in cards {
        let found = planned(alias).parameters() as f64 / 1e6;
        assert!((found / millions - 1.0).abs() < 1e-3, "{alias}: {found}");
    }
}

/// Sizes as published: SmolLM2's is exact in the catalog, the others are rounded.
#[test]
fn file_sizes_are_estimated_to_some_per_cent() {
    let files = [
        ("smollm2-135m", 98.36e6),
        ("qwen2.5-7b", 4.68e9),
        ("qwen2.5-14b", 8.99e9),
        ("qwen2.5-32b", 19.85e9),
        ("llama-2-7b", 4.08e9),
        ("llama-2-13b", 7.87e9),
        ("llama-3.1-8b", 4.92e9),
        ("llama-3.3-70b", 42.52e9),
        ("llama-3.2-1b", 0.81e9),
        ("mistral-7b-v0.3", 4.37e9),
        ("qwen3-8b", 5.03e9),
        ("lfm2.5-1.2b", 0.731e9),
        ("gemma-4-e2b", 3.43e9),
        ("gemma-4-12b", 7.12e9),
    ];
    for (alias, bytes) in files {
        let found = planned(alias).stored_bytes() as f64;
        assert!((found / bytes - 1.0).abs() < 0.05, "{alias}: {found}");
    }
}

#[test]
fn on_a_gpu_numbers_are_of_its_type_and_the_embedding_is_looked_up() {
    let cpu = planned("llama-3.1-8b");
    let stored = cpu.stored_bytes();
    let (vocab, hidden) = (cpu.vocab as u64, cpu.hidden as u64);
    let gpu = cpu.clone().on_gpu(DType::BF16, Widened::Nothing);
    assert_eq!(gpu.kv_token_bytes, cpu.kv_token_bytes);
    assert_eq!(cpu.clone().on_gpu(DType::F32, Widened::Nothing).kv_token_bytes, 2 * cpu.kv_token_bytes);
    assert_eq!(gpu.resident_bytes(Residency::Dense), 2 * cpu.parameters());
    let kept = gpu.resident_bytes(Residency::AsStored);
    // Scales of six bits have a byte each once packed. Norms are stored as f32.
    let wider: u64 = cpu.types.iter().filter(|of| of.name == "Q4_K").map(|of| of.bytes / 36).sum();
    let most = stored + wider + 2 * vocab * hidden;
    assert!(wider > 0 && kept <= most && kept > most - (2 << 20), "{kept}");
    // Of few rows the logits come from the packed matrix, of many from the widened one.
    // A captured step widens it once more.
    assert!(gpu.working_bytes(512, 64, 512) > gpu.working_bytes(512, 32, 512) + 3 * vocab * hidden);
    assert_eq!(cpu.on_gpu(DType::BF16, Widened::All).resident_bytes(Residency::AsStored), 2 * gpu.parameters());
}

#[test]
fn each_of_several_gpus_has_working_space_and_the_last_one_a_tied_output_matrix() {
    let gpus = |alias, cards| planned(alias).on_gpu(DType::BF16, Widened::All).spread_over(cards);
    let working = |cards| gpus("llama-3.1-8b", cards).working_bytes(8192, 16, 4096);
    assert_eq!(2 * working(3), 3 * working(2));
    assert!(working(2) > 3 * working(1) / 2, "{} of {}", working(2), working(1));
    let weights = |alias, cards| gpus(alias, cards).resident_bytes(Residency::AsStored);
    let tied = planned("smollm2-135m");
    assert_eq!(weights("smollm2-135m", 3) - weights("smollm2-135m", 1), 2 * (tied.vocab * tied.hidden) as u64);
    assert_eq!(weights("llama-3.1-8b", 3), weights("llama-3.1-8b", 1));
}

/// f32, for which attention has no kernel and keeps no results of spans.
#[test]
fn a_gate_that_is_composed_takes_more_of_a_gpu() {
    for (alias, widths) in [("llama-3.1-8b", 3), ("gemma-3-270m", 4), ("gpt-oss-20b", 6)] {
        let gpu = planned(alias).on_gpu(DType::F32, Widened::Nothing);
        let row = 4 * gpu.hidden + 2 * gpu.attention + widths * gpu.intermediate;
        let token = gpu.working_bytes(4097, 1, 512) - gpu.working_bytes(4096, 1, 512);
        assert_eq!(token, 4 * row as u64, "{alias}");
    }
}

/// Of f32 values, a maximum and a sum for each of 32 heads of 128, a span of 128 positions and a token.
#[test]
fn results_of_spans_on_a_gpu_grow_with_the_context_and_with_the_heads_that_share_keys() {
    const AGENTS: u64 = 64;
    let result = 4 * 32 * (128 + 2);
    let of = |model: &Footprint, positions| model.working_bytes(8192, AGENTS as usize, positions);
    let gpu = |alias, dtype| planned(alias).on_gpu(dtype, Widened::Nothing);
    // Four heads share keys and values: up to 16 tokens of an agent are few.
    let (llama3, llama2) = (gpu("llama-3.1-8b", DType::BF16), gpu("llama-2-7b", DType::BF16));
    assert_eq!(of(&llama3, 129) - of(&llama3, 128), (AGENTS + AGENTS * 16) * result);
    assert_eq!(of(&llama2, 129) - of(&llama2, 128), (AGENTS + AGENTS * 64) * result);
    // Of longer ones the few tokens have a limit, and one of each agent has none.
    assert_eq!(of(&llama3, 131_072) - of(&llama3, 65_536), AGENTS * 512 * result);
    let widened = gpu("llama-3.1-8b", DType::F32);
    assert_eq!(of(&widened, 131_072), of(&widened, 128), "there is no kernel for f32");
}

/// llama.cpp stores rows that are no multiple of 256 as `IQ4_NL` in a file of `IQ4_XS`.
#[test]
fn types_with_a_codebook_are_planned_in_four_bits() {
    let catalog = Catalog::embedded();
    let of = |alias: &str, quant: &str| Footprint::planned(&catalog.find(alias).expect("an alias (bug)").shape, quant);
    let names = |planned: &Footprint| planned.types.iter().map(|stored| stored.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&of("llama-3.1-8b", "IQ4_XS")), ["IQ4_XS", "Q6_K", "F32"]);
    assert_eq!(names(&of("smollm2-135m", "IQ4_XS")), ["IQ4_NL", "Q8_0", "IQ4_XS", "F32"]);
    let own = of("llama-3.1-8b", "IQ4_XS");
    assert!((own.stored_bytes() as f64 / 4.45e9 - 1.0).abs() < 0.05, "{}", own.stored_bytes());
    let held = own.resident_bytes(Residency::AsStored);
    assert!(held > own.stored_bytes() && held < own.stored_bytes() * 11 / 10, "{held}");
    let (gpu, q8_0) = (own.on_gpu(DType::BF16, Widened::Nothing), of("llama-3.1-8b", "Q8_0").stored_bytes());
    assert!(gpu.resident_bytes(Residency::AsStored) > q8_0 * 9 / 10, "blocks of Q8_0 on a GPU");
}

/// Of a file in which the experts alone are in MXFP4; its size is that of published files.
#[test]
fn experts_in_mxfp4_are_planned_beside_q8_0() {
    let oss = planned("gpt-oss-20b");
    let names: Vec<&str> = oss.types.iter().map(|stored| &stored.name[..]).collect();
    assert_eq!(names, ["MXFP4", "Q8_0", "F32"]);
    assert!((oss.parameters() as f64 / 20.91e9 - 1.0).abs() < 1e-3, "{}", oss.parameters());
    assert!((oss.stored_bytes() as f64 / 12.11e9 - 1.0).abs() < 0.01, "{}", oss.stored_bytes());
    assert!(oss.resident_bytes(Residency::AsStored) < oss.stored_bytes() * 101 / 100);
}

/// Gemma 3 270M: 15 of 18 layers have a window of 512 positions; keys and values of a head of 256 in f16.
#[test]
fn positions_beyond_a_window_take_memory_in_full_layers_alone() {
    let footprint = planned("gemma-3-270m");
    let layer = 2 * 256 * 2;
    assert_eq!(footprint.kv_token_bytes, 18 * layer);
    assert_eq!(footprint.groups, PageGroups { places: 3, full: 1, windowed: 5, window: 512, shares: [1, 1] });
    assert_eq!(footprint.kv_bytes(2, 160, 512), 2 * 160 * 18 * layer, "all is in the window");
    let (short, long) = (footprint.kv_bytes(1, 2048, 512), footprint.kv_bytes(1, 18_432, 512));
    assert_eq!(long - short, 16_384 * 3 * layer);
    assert_eq!(2 * long - footprint.kv_bytes(2, 18_432, 512), 512 * 15 * layer, "the tokens of a step are of one");
    let gpu = footprint.on_gpu(DType::F16, Widened::Nothing);
    assert_eq!(gpu.kv_bytes(1, 18_432, 512), 18_432 * 18 * layer);
    // Beyond the window there is a second plan of attention, whose results do not grow with the positions.
    let spans = |positions| gpu.working_bytes(64, 64, positions) - gpu.working_bytes(64, 64, 0);
    let second = spans(513) - spans(512);
    assert!(second > spans(512) * 9 / 10, "{second} beside {}", spans(512));
    assert_eq!(spans(5120) - spans(2560), spans(7680) - spans(5120));
    let (full, both) = (spans(512) / 4, spans(5120) - spans(2560));
    assert!(both < 21 * full, "{both}: the results of full layers alone grow");
}

#[test]
fn memory_grows_with_agents_and_tokens() {
    let footprint = planned("llama-3.1-8b");
    // 32 layers, keys and values of 8 heads of 128 in f16.
    assert_eq!(footprint.kv_token_bytes, 32 * 2 * 8 * 128 * 2);
    assert_eq!(footprint.kv_bytes(3, 17, 512), 3 * 32 * footprint.kv_token_bytes);
    assert_eq!(footprint.kv_bytes(usize::MAX, usize::MAX, 512), u64::MAX);
    let load = |agents, tokens| Load { agents, tokens, step_tokens: 512, residency: Residency::AsStored };
    let (one, eight) = (footprint.needed(&load(1, 2048)), footprint.needed(&load(8, 2048)));
    assert_eq!((one.weights, 8 * one.kv), (eight.weights, eight.kv));
    assert_eq!(footprint.resident_bytes(Residency::Dense), 4 * footprint.parameters());
    assert!(one.weights > footprint.stored_bytes() && one.weights < footprint.stored_bytes() * 11 / 10);
    assert!(eight.working > one.working && eight.total() == eight.weights + eight.kv + eight.working);
}
