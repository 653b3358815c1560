//! Split models that are not whole, or have wrong names.

use super::{Builder, assert_says};
use moot_models::ModelError;
use moot_models::weights::Gguf;
use std::path::PathBuf;

/// The file `number` of three, whose metadata says what `no`, `count` and `tensors` are.
fn shard(number: usize, no: u16, count: u16, tensors: i32) -> Vec<u8> {
    let builder = Builder::new()
        .value("split.no", 2, &no.to_le_bytes())
        .value("split.count", 2, &count.to_le_bytes())
        .value("split.tensors.count", 5, &tensors.to_le_bytes());
    builder.tensor(&format!("t{number}"), &[4], 0, &[number as u8; 16]).build()
}

struct Model {
    folder: tempfile::TempDir,
}

impl Model {
    fn new() -> Self {
        let model = Self { folder: tempfile::tempdir().unwrap() };
        (1..=3).for_each(|number| model.write(number, &shard(number, number as u16 - 1, 3, 3)));
        model
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("m-{number:05}-of-00003.gguf"))
    }

    fn write(&self, number: usize, bytes: &[u8]) {
        std::fs::write(self.path(number), bytes).unwrap();
    }
}

#[test]
fn files_are_joined_in_order_whichever_is_named() {
    let model = Model::new();
    for number in 1..=3 {
        let gguf = Gguf::open(&model.path(number)).unwrap();
        assert_eq!(gguf.path(), model.path(number));
        assert_eq!(
            gguf.tensors().map(|(name, info)| (name, info.shard)).collect::<Vec<_>>(),
            [("t1", 0), ("t2", 1), ("t3", 2)]
        );
        assert_eq!(gguf.metadata().usize("split.no").unwrap(), 0);
        assert!(gguf.files().eq((1..=3).map(|number| model.path(number)).collect::<Vec<_>>().iter()));
    }
}

#[test]
fn a_missing_file_is_named() {
    let model = Model::new();
    std::fs::remove_file(model.path(2)).unwrap();
    let error = Gguf::open(&model.path(3)).unwrap_err();
    assert_says(&error, &model.path(3), &["one of 3 files", "missing from its folder: m-00002-of-00003.gguf"]);
    assert!(error.hint().unwrap().contains("same folder"));
    std::fs::remove_file(model.path(1)).unwrap();
    assert_says(&Gguf::open(&model.path(3)).unwrap_err(), &model.path(3), &["m-00001", "m-00002"]);
    assert!(matches!(Gguf::open(&model.path(1)).unwrap_err(), ModelError::Io { .. }));
}

#[test]
fn files_of_other_models_and_renamed_ones_are_refused() {
    let refused = |bytes: &[u8], named: usize, at: usize, parts: &[&str]| {
        let model = Model::new();
        model.write(at, bytes);
        assert_says(&Gguf::open(&model.path(named)).unwrap_err(), &model.path(at), parts);
    };
    refused(&shard(2, 0, 3, 3), 1, 2, &["split.no", "expected 1", "found 0"]);
    refused(&shard(2, 1, 4, 3), 1, 2, &["split.count", "expected 3", "found 4"]);
    refused(&shard(3, 1, 3, 3), 1, 3, &["split.no", "expected 2"]);
    refused(&shard(1, 1, 3, 3), 1, 2, &["tensor t1", "a second one"]);
    refused(&shard(1, 0, 3, 4), 2, 1, &["split.tensors.count", "expected 3", "found 4"]);
    refused(&shard(1, 0, 9, 3), 1, 1, &["split.count", "-of-00009.gguf", "found 9"]);

    let model = Model::new();
    let renamed = model.folder.path().join("model.gguf");
    std::fs::copy(model.path(1), &renamed).unwrap();
    assert_says(&Gguf::open(&renamed).unwrap_err(), &renamed, &["split.count", "<name>-<number>-of-00003.gguf"]);
    // A file that is whole may be called anything.
    let whole = model.folder.path().join("x-00001-of-00002.gguf");
    std::fs::write(&whole, Builder::new().tensor("t", &[4], 0, &[0; 16]).build()).unwrap();
    Gguf::open(&whole).unwrap();
}
