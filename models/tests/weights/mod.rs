//! Files made byte by byte, sound and unsound, and the errors when they are opened.

mod blocks;
mod codebook;
mod dense;
mod gguf;
mod random;
mod safetensors;
mod split;

use std::path::{Path, PathBuf};

/// A file with `bytes` in a folder of its own, which lives as long as the first of the pair.
pub(crate) fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Asserts that the message names the file and everything in `parts`.
pub(crate) fn assert_says(error: &moot_models::ModelError, path: &Path, parts: &[&str]) {
    let message = error.to_string();
    assert!(message.contains(&path.display().to_string()), "{message:?} does not name {}", path.display());
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
    assert!(!message.contains('\n'), "{message:?} has more than one line");
}

/// xorshift64*: the same bytes in every run.
pub(crate) fn random_bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_F491_4F6C_DD1D).to_le_bytes()[7]
    };
    (0..count).map(|_| next()).collect()
}

/// A GGUF file under construction; every number in it can be made wrong.
#[derive(Clone)]
pub(crate) struct Builder {
    pub(crate) magic: [u8; 4],
    pub(crate) version: u32,
    pub(crate) tensor_count: Option<u64>,
    pub(crate) value_count: Option<u64>,
    pub(crate) alignment: usize,
    values: Vec<Vec<u8>>,
    tensors: Vec<Vec<u8>>,
    data: Vec<u8>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            magic: *b"GGUF",
            version: 3,
            tensor_count: None,
            value_count: None,
            alignment: 32,
            values: vec![],
            tensors: vec![],
            data: vec![],
        }
    }

    /// A metadata field of type number `kind` with the value's bytes as given.
    pub(crate) fn value(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        self.values.push([&text(key), &kind.to_le_bytes()[..], value].concat());
        self
    }

    pub(crate) fn string(self, key: &str, value: &str) -> Self {
        self.value(key, 8, &text(value))
    }

    /// An array of element type `kind` that claims `count` elements and holds `elements`.
    pub(crate) fn array(self, key: &str, kind: u32, count: u64, elements: &[u8]) -> Self {
        self.value(key, 9, &[&kind.to_le_bytes()[..], &count.to_le_bytes(), elements].concat())
    }

    /// A tensor entry alone; `dims` innermost first, as the file has them.
    pub(crate) fn entry(mut self, name: &str, dims: &[u64], kind: u32, offset: u64) -> Self {
        let mut bytes = text(name);
        bytes.extend((dims.len() as u32).to_le_bytes());
        bytes.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
        bytes.extend(kind.to_le_bytes());
        bytes.extend(offset.to_le_bytes());
        self.tensors.push(bytes);
        self
    }

    /// A tensor with its data.
    pub(crate) fn tensor(mut self, name: &str, dims: &[u64], kind: u32, data: &[u8]) -> Self {
        self.data.resize(self.data.len().next_multiple_of(self.alignment), 0);
        let offset = self.data.len() as u64;
        self.data.extend(data);
        self.entry(name, dims, kind, offset)
    }

    pub(crate) fn build(&self) -> Vec<u8> {
        let mut out = self.magic.to_vec();
        out.extend(self.version.to_le_bytes());
        out.extend(self.tensor_count.unwrap_or(self.tensors.len() as u64).to_le_bytes());
        out.extend(self.value_count.unwrap_or(self.values.len() as u64).to_le_bytes());
        out.extend(self.values.concat());
        out.extend(self.tensors.concat());
        if !self.tensors.is_empty() {
            out.resize(out.len().next_multiple_of(self.alignment), 0);
        }
        out.extend(&self.data);
        out
    }
}

/// A length and that many bytes.
pub(crate) fn text(value: &str) -> Vec<u8> {
    [&(value.len() as u64).to_le_bytes()[..], value.as_bytes()].concat()
}
