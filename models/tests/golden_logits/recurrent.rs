//! Tiny models with recurrent states: Qwen3.5 and LFM2, dense and with experts.

use super::architectures::{check, check_folder, load};
use super::{golden, reference};
use moot_models::kernels::StateRows;
use moot_models::kernels::ops::delta_net::HeadOrder;
use moot_models::kernels::ops::short_conv::ConvShape;
use moot_models::{
    Batch, DecoderSpec, DenseLayers, ExpertTensors, Experts, QkNorm, Recurrence, Residency, Scoring, SequenceRows,
};
use safetensors::SafeTensors;

#[test]
fn qwen35_with_more_heads_of_values_than_of_keys() {
    let (folder, gguf) = check("qwen35");
    assert_eq!(folder.layer_kinds, gguf.layer_kinds);
    assert_eq!((folder.rope.dims, gguf.rope.dims, gguf.layers, gguf.prediction_blocks), (8, 8, 5, 1));
    let heads = |spec: &DecoderSpec| {
        let delta = spec.recurrence.and_then(Recurrence::delta);
        delta.map(|delta| (delta.key_heads, delta.value_heads, delta.order))
    };
    assert_eq!(heads(&folder), Some((2, 6, HeadOrder::Grouped)));
    assert_eq!(heads(&gguf), Some((2, 6, HeadOrder::Tiled)));
}

/// Published folders have the experts of a layer in one tensor, gate and up of each under one another.
#[test]
fn qwen35_with_experts_and_one_that_every_token_goes_through() {
    let (folder, gguf) = check("qwen35moe");
    for spec in [&folder, &gguf] {
        assert_eq!(spec.experts, Some(Experts { shared: Some(48), ..Experts::of(8, 2) }));
        assert_eq!((spec.intermediate, spec.recurrent_layers()), (32, 2));
    }
    let stored = [folder.layout.experts, gguf.layout.experts];
    assert_eq!(stored, [ExpertTensors::StackedFused, ExpertTensors::Stacked]);
}

/// The folder's width is computed from a stated one, and its layers with attention are numbered; the GGUF has a number of
/// heads for each layer.
#[test]
fn lfm2_with_short_convolutions() {
    let (folder, gguf) = check("lfm2");
    assert_eq!(folder.layer_kinds, gguf.layer_kinds);
    for spec in [folder, gguf] {
        assert_eq!(spec.recurrence, Some(Recurrence::ShortConv(ConvShape { channels: 48, taps: 3 })));
        assert_eq!((spec.intermediate, spec.recurrent_layers(), spec.kv_heads), (64, 3, 1));
        assert_eq!((spec.qk_norm, spec.kind(4).recurrent), (QkNorm::PerHead, true));
    }
}

#[test]
fn lfm2_with_experts_behind_its_first_layer() {
    let (folder, gguf) = check("lfm2moe");
    for spec in [&folder, &gguf] {
        let dense = Some(DenseLayers { layers: 1, width: 80 });
        assert_eq!(spec.experts, Some(Experts { scoring: Scoring::Sigmoid, dense, ..Experts::of(8, 2) }));
        assert_eq!(spec.recurrence, Some(Recurrence::ShortConv(ConvShape { channels: 64, taps: 4 })));
        assert_eq!((spec.intermediate, spec.dense_width(0), spec.recurrent_layers()), (32, 80, 3));
    }
    let stored = [folder.layout.experts, gguf.layout.experts];
    assert_eq!(stored, [ExpertTensors::Separate, ExpertTensors::Stacked]);
}

/// Its tensors for images, and those that predict a second token, are left alone.
#[test]
fn qwen35_beside_a_part_for_images() {
    let spec = check_folder("qwen35-images");
    assert_eq!((spec.recurrent_layers(), spec.kv_layers(), spec.rope.dims), (4, 1, 8));
}

/// A prompt in chunks beside the same prompt, whose second sequence goes on from the state that the first one left at
/// its 32nd token.
#[test]
fn recurrent_rows_have_the_same_bits_in_chunks_and_from_a_saved_state() {
    let names = ["qwen35", "qwen35.gguf", "qwen35-images", "qwen35moe", "qwen35moe.gguf"];
    for name in names.into_iter().chain(["lfm2", "lfm2.gguf", "lfm2moe", "lfm2moe.gguf"]) {
        let folder = name.trim_end_matches(".gguf");
        let bytes = std::fs::read(golden("architectures").join(folder).join("expected.safetensors")).unwrap();
        let ids = reference(&SafeTensors::deserialize(&bytes).unwrap(), 2).ids;
        let decoder = load(&golden("architectures").join(name), Residency::AsStored);
        let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let alone: Vec<Vec<u32>> = decoder.forward_alone(&ids).unwrap().iter().map(|row| bits(row)).collect();
        let kv = decoder.kv_cache_with_states(8, 3).unwrap();
        let rows = |start: usize, len: usize, pages: [u32; 4]| SequenceRows { start, len, pages: pages.to_vec() };
        let [one, other] = [[0, 1, 2, 3], [0, 1, 4, 5]];
        let to = |from: u32, to: u32| StateRows { from: Some(from), to, saves: Vec::new() };
        let first = StateRows { from: None, to: 0, saves: vec![(32, 2)] };
        let batch = Batch::new(ids[..39].to_vec(), vec![rows(0, 39, one)], vec![]).with_states(vec![first]);
        decoder.forward(&batch, &kv).unwrap();
        let late = Batch::new(ids[32..39].to_vec(), vec![rows(32, 7, other)], vec![]).with_states(vec![to(2, 1)]);
        decoder.forward(&late, &kv).unwrap();
        for (start, len) in [(39, 1), (40, 13), (53, 8)] {
            let part = &ids[start..start + len];
            let sequences = vec![rows(start, len, one), rows(start, len, other)];
            let batch = Batch::new([part, part].concat(), sequences, (0..2 * len as u32).collect())
                .with_states(vec![to(0, 0), to(1, 1)]);
            let found: Vec<Vec<f32>> = decoder.forward(&batch, &kv).unwrap().to_vec2().unwrap();
            for (row, found) in found.iter().enumerate() {
                assert_eq!(bits(found), alone[start + row % len], "{name}, position {}", start + row % len);
            }
        }
        let stateless = Batch::new(ids[..1].to_vec(), vec![rows(0, 1, one)], vec![0]);
        assert!(decoder.forward(&stateless, &kv).is_err(), "{name}: a batch without states");
    }
}
