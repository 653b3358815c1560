//! Tiny models of Gemma 4, from a folder and from a GGUF file.

use super::architectures::{check, check_folder, load};
use super::{golden, reference};
use moot_models::{
    Batch, DecoderSpec, ExpertTensors, Experts, Heads, LayerInputs, Residency, RopeScaling, SequenceRows, Values,
};
use safetensors::SafeTensors;

/// Asserts that a folder and a GGUF give the same spec.
fn assert_alike(folder: &DecoderSpec, gguf: &DecoderSpec) {
    assert_eq!(folder.layer_kinds, gguf.layer_kinds);
    assert_eq!((&folder.rope, &folder.window_rope), (&gguf.rope, &gguf.window_rope));
    assert_eq!((folder.window_heads, folder.values, folder.experts), (gguf.window_heads, gguf.values, gguf.experts));
    assert_eq!((folder.layer_inputs, folder.shared_kv_layers), (gguf.layer_inputs, gguf.shared_kv_layers));
    let widths = |spec: &DecoderSpec| (0..spec.layers).map(|layer| spec.dense_width(layer)).collect::<Vec<_>>();
    assert_eq!((widths(folder), folder.logit_cap), (widths(gguf), gguf.logit_cap));
}

#[test]
fn gemma4_with_inputs_of_each_layer_and_layers_without_keys() {
    let (folder, gguf) = check("gemma4");
    assert_alike(&folder, &gguf);
    assert_eq!((folder.layer_inputs, folder.values), (Some(LayerInputs { width: 16 }), Values::Normed));
    assert_eq!((folder.heads_of(0), folder.heads_of(2)), (heads(2, 16), heads(2, 32)));
    assert_eq!((0..8).map(|layer| folder.kv_layer(layer)).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 3, 3, 4]);
    assert_eq!([4, 5].map(|layer| folder.dense_width(layer)), [40, 80]);
    assert_eq!((folder.last_storing_layer(), folder.kv_layers()), (4, 5));
    assert_eq!((&folder.rope.scaling, folder.rope.dims), (&RopeScaling::FirstPairs { pairs: 4 }, 32));
    assert!(folder.logit_cap.is_some());
}

#[test]
fn gemma4_with_experts_beside_and_values_that_are_keys() {
    let (folder, gguf) = check("gemma4-moe");
    assert_alike(&folder, &gguf);
    assert_eq!(folder.values, Values::NormedKeysInFullLayers);
    assert_eq!(folder.experts, Some(Experts { beside: Some(40), ..Experts::of(8, 2) }));
    assert_eq!((folder.heads_of(0), folder.heads_of(1)), (heads(2, 16), heads(1, 32)));
    assert_eq!((folder.intermediate, folder.layout.experts), (32, ExpertTensors::StackedFused));
}

fn heads(kv: usize, dim: usize) -> Heads {
    Heads { queries: 4, kv, dim }
}

/// Its tensors for images and sounds are left alone.
#[test]
fn gemma4_beside_parts_for_images_and_sounds() {
    let spec = check_folder("gemma4-images");
    assert_eq!((spec.layers, spec.layer_inputs, spec.shared_kv_layers), (3, None, 0));
}

/// The 12B calls its parts otherwise; its text is computed alike.
#[test]
fn gemma4_of_one_model_for_text_images_and_sounds() {
    let (from, to) = (golden("architectures/gemma4-images"), tempfile::tempdir().unwrap());
    let config = std::fs::read_to_string(from.join("config.json")).unwrap();
    let renamed = config.replace("\"gemma4\"", "\"gemma4_unified\"").replace("gemma4_text", "gemma4_unified_text");
    assert_eq!(renamed.matches("gemma4_unified").count(), 2);
    std::fs::write(to.path().join("config.json"), renamed).unwrap();
    std::fs::copy(from.join("model.safetensors"), to.path().join("model.safetensors")).unwrap();
    let logits = [&from, to.path()].map(|path| load(path, Residency::Dense).forward_alone(&[3, 40, 7, 21]).unwrap());
    assert_eq!(logits[0], logits[1]);
}

/// Behind the last layer with keys and values of its own only rows with wanted logits are computed: with the bits of a pass that
/// wants all, in any order and beside another sequence.
#[test]
fn rows_that_are_not_wanted_end_behind_the_last_keys() {
    for name in ["gemma4", "gemma4.gguf"] {
        let bytes = std::fs::read(golden("architectures/gemma4/expected.safetensors")).unwrap();
        let ids = reference(&SafeTensors::deserialize(&bytes).unwrap(), 2).ids;
        let decoder = load(&golden("architectures").join(name), Residency::AsStored);
        let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let [one, other] = [ids.clone(), ids.iter().rev().copied().collect()];
        let alone = [&one, &other].map(|ids| decoder.forward_alone(ids).unwrap());
        let kv = decoder.kv_cache(8).unwrap();
        let len = ids.len();
        let sequence = |first: u32| SequenceRows { start: 0, len, pages: (first..first + 4).collect() };
        let wanted = vec![len as u32 - 1, 20, 21, 22, len as u32 + 3, 2 * len as u32 - 1];
        let before = decoder.feed_forwards().applied;
        let batch = Batch::new([&one[..], &other].concat(), vec![sequence(0), sequence(4)], wanted.clone());
        let found: Vec<Vec<f32>> = decoder.forward(&batch, &kv).unwrap().to_vec2().unwrap();
        for (row, found) in wanted.iter().map(|&row| row as usize).zip(&found) {
            assert_eq!(bits(found), bits(&alone[row / len][row % len]), "{name}, row {row}");
        }
        assert_eq!(decoder.feed_forwards().applied - before, 8);
        let none = Batch::new(one.clone(), vec![sequence(0)], vec![]);
        decoder.forward(&none, &kv).unwrap();
        assert_eq!(decoder.feed_forwards().applied - before, 8 + 4, "{name}: all end at the fifth layer's keys");
    }
}
