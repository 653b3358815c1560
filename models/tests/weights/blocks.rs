//! Every element type against the `gguf` package's own dequantisation: `tests/golden/blocks/make.py`.

use candle_core::{DType, Device};
use moot_models::weights::Weights;
use safetensors::SafeTensors;
use std::path::Path;

#[test]
fn every_type_is_read_as_the_gguf_package_reads_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/blocks");
    let weights = Weights::open(&folder.join("blocks.gguf")).unwrap();
    let bytes = std::fs::read(folder.join("blocks.expected.safetensors")).unwrap();
    let expected = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(expected.len(), 16);
    for (name, expected) in expected.tensors() {
        assert_eq!(weights.stored_type(&name).unwrap(), name);
        let found = weights.dense(&name, &[2, 512], DType::F32, &Device::Cpu).unwrap();
        let found = found.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        let expected = expected.data().chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap()));
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            let tolerance = match &name[..] {
                "IQ4_NL" | "MXFP4" => 0.0,
                // A scale is rounded to 11 bits.
                "IQ4_XS" => expected.abs() * 2f32.powi(-11),
                // A product of two or three numbers and one sum: the last bits may differ, relative to the summands.
                _ => 1e-6 * expected.abs().max(1.0),
            };
            let close = (found - expected).abs() <= tolerance;
            assert!(close, "{name}[{index}]: expected {expected}, found {found}");
        }
    }
}
