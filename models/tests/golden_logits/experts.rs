//! The number of experts whose weights a step reads, against the choices of transformers' routers.

use super::architectures::load;
use super::{golden, reference};
use moot_models::{Batch, Residency, SequenceRows};
use safetensors::SafeTensors;

/// Distinct experts, summed over layers: of one token, of four, and of the 17 of the second golden sequence. The shared
/// expert is none of them, and the first layer of LFM2 has none.
#[test]
fn a_step_reads_each_expert_that_its_tokens_use_once() {
    for (name, expected) in [
        ("qwen3moe", [4, 12, 15]),
        ("qwen35moe", [6, 14, 23]),
        ("gpt-oss", [12, 20, 24]),
        ("lfm2moe", [6, 14, 20]),
        ("gemma4-moe", [8, 23, 31]),
    ] {
        let bytes = std::fs::read(golden("architectures").join(name).join("expected.safetensors")).unwrap();
        let ids = reference(&SafeTensors::deserialize(&bytes).unwrap(), 1).ids;
        for file in [name.to_owned(), format!("{name}.gguf")] {
            let decoder = load(&golden("architectures").join(&file), Residency::Dense);
            let read = |ids: &[u32]| {
                let before = decoder.feed_forwards().experts_read;
                decoder.forward_alone(ids).unwrap();
                decoder.feed_forwards().experts_read - before
            };
            assert_eq!([read(&[3]), read(&[3, 40, 7, 21]), read(&ids)], expected, "{file}");
            assert_eq!(read(&[3]), decoder.experts_of_a_token(), "{file}");
        }
    }
}

/// Rows of a step share what they read; the same tokens in steps of their own do not.
#[test]
fn rows_of_a_step_share_their_experts() {
    let decoder = load(&golden("architectures/qwen3moe"), Residency::Dense);
    let kv = decoder.kv_cache(2).unwrap();
    let row = |page: u32| SequenceRows { start: 0, len: 1, pages: vec![page] };
    let read = |batch: &Batch| {
        let before = decoder.feed_forwards().experts_read;
        decoder.forward(batch, &kv).unwrap();
        decoder.feed_forwards().experts_read - before
    };
    assert_eq!(read(&Batch::new(vec![3, 3], vec![row(0), row(1)], vec![0, 1])), 4);
    let apart: usize = (0..2).map(|page| read(&Batch::new(vec![3], vec![row(page)], vec![0]))).sum();
    assert_eq!(apart, 8);
}
