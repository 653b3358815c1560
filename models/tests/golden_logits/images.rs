//! Tiny folders of Gemma 3 and Ministral 3 that have a part for images, which is left alone.

use super::architectures::{check_folder, load};
use super::golden;
use moot_models::{Output, Residency, RopeScaling};
use safetensors::SafeTensors;
use std::path::Path;

/// As published: few fields, the others are those of transformers' class.
#[test]
fn gemma3_beside_a_part_for_images() {
    let spec = check_folder("gemma3-images");
    assert_eq!((spec.heads, spec.kv_heads, spec.head_dim, spec.layers), (8, 4, 16, 6));
    assert_eq!((spec.attention_scale, spec.norm_eps, spec.context), (1.0 / 16.0, 1e-6, 131_072));
    assert_eq!((spec.rope.theta, &spec.rope.scaling), (1e6, &RopeScaling::Linear { factor: 8.0 }));
    assert_eq!((spec.output, (0..6).find(|&layer| !spec.kind(layer).windowed)), (Output::Tied, Some(5)));
}

#[test]
fn ministral3_beside_a_part_for_images() {
    let spec = check_folder("ministral3-images");
    assert_eq!((spec.architecture, spec.output), ("mistral3", Output::Own));
    assert!(spec.query_scaling.is_some());
}

/// A copy of the folder `name` whose tensors are called otherwise.
fn renamed(name: &str, to: &Path, rename: impl Fn(&str) -> String) {
    let from = golden("architectures").join(name);
    std::fs::copy(from.join("config.json"), to.join("config.json")).unwrap();
    let bytes = std::fs::read(from.join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensors = file.tensors().into_iter().map(|(name, tensor)| (rename(&name), tensor));
    std::fs::write(to.join("model.safetensors"), safetensors::serialize(tensors, None).unwrap()).unwrap();
}

/// transformers has written both forms for each of them.
#[test]
fn tensors_have_names_in_an_older_and_a_newer_form() {
    let newer = |name: &str| match name.strip_prefix("language_model.") {
        Some(text) if text.starts_with("lm_head.") => text.to_owned(),
        Some(text) => text.replacen("model.", "model.language_model.", 1),
        None => format!("model.{name}"),
    };
    let older = |name: &str| match name.strip_prefix("model.language_model.") {
        Some(text) => format!("language_model.model.{text}"),
        None if name.starts_with("lm_head.") => format!("language_model.{name}"),
        None => name.replacen("model.", "", 1),
    };
    let check = |name: &str, rename: &dyn Fn(&str) -> String| {
        let to = tempfile::tempdir().unwrap();
        renamed(name, to.path(), rename);
        let paths = [golden("architectures").join(name), to.path().to_owned()];
        let logits = paths.map(|path| load(&path, Residency::Dense).forward_alone(&[3, 40, 7, 21]).unwrap());
        assert_eq!(logits[0], logits[1], "{name}");
    };
    check("gemma3-images", &newer);
    check("ministral3-images", &older);
}

/// Any other tensor would be a part of the text that is not computed.
#[test]
fn a_tensor_that_is_of_no_image_is_refused() {
    let to = tempfile::tempdir().unwrap();
    renamed("ministral3-images", to.path(), |name| name.replace("vision_tower", "visionary_tower"));
    let weights = moot_models::weights::Weights::open(to.path()).unwrap();
    let message = moot_models::arch::spec(&weights).unwrap_err().to_string();
    assert!(message.contains("visionary_tower"), "{message}");
}
