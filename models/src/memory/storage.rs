//! Storage types of a file: bits per weight, and the types of a planned file.

use serde::Serialize;
use std::collections::BTreeMap;

/// One storage type and its size: bits a weight in a file, and bits a weight in the panels that the CPU's kernels read.
pub(super) struct Storage {
    name: &'static str,
    /// Bits a weight in a file.
    pub(super) stored: f64,
    /// The type that a GPU holds it as, where that is another one.
    held_as: Option<&'static str>,
    /// Bits a weight in the panels.
    pub(super) packed: f64,
}

const fn storage(name: &'static str, stored: f64, packed: f64) -> Storage {
    Storage { name, stored, held_as: None, packed }
}

/// A type with a codebook, which is `Q8_0` on a GPU.
const fn held_as_q8_0(name: &'static str, stored: f64, packed: f64) -> Storage {
    Storage { name, stored, held_as: Some("Q8_0"), packed }
}

/// Every storage type. Panels keep the width of the codes, except that codes of two and three bits take four, and each
/// scale of a nested type takes a byte.
const STORAGES: [Storage; 16] = [
    storage("F32", 32.0, 32.0),
    storage("F16", 16.0, 16.0),
    storage("BF16", 16.0, 16.0),
    storage("Q8_0", 8.5, 8.5),
    storage("Q6_K", 6.5625, 6.5625),
    storage("Q5_K", 5.5, 5.625),
    storage("Q5_1", 6.0, 6.0),
    storage("Q5_0", 5.5, 5.5),
    storage("Q4_K", 4.5, 4.625),
    storage("Q4_1", 5.0, 5.0),
    storage("Q4_0", 4.5, 4.5),
    storage("Q3_K", 3.4375, 4.5625),
    storage("Q2_K", 2.625, 5.125),
    held_as_q8_0("IQ4_NL", 4.5, 4.5),
    held_as_q8_0("IQ4_XS", 4.25, 4.5),
    held_as_q8_0("MXFP4", 4.25, 4.25),
];

/// Bits of a type that is not in the table: those of the widest type.
pub(super) const WIDEST: f64 = 32.0;

/// Tensors of one storage type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredType {
    /// "Q4_K", "F32".
    #[serde(rename = "type")]
    pub name: String,
    /// Number of tensors.
    pub tensors: usize,
    /// Number of weights in them.
    pub weights: u64,
    /// Their bytes in the file.
    pub bytes: u64,
    /// The type that a GPU holds them as, where that is another one: "Q8_0" for "IQ4_XS".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_as: Option<&'static str>,
}

/// The type in which llama.cpp stores a matrix of `columns` in a file of kind `quant`. Blocks of 256 need rows of a
/// multiple of 256; other rows are stored in a type of blocks of 32.
pub(super) fn planned_type(quant: &str, columns: usize, important: bool) -> &'static str {
    let whole = columns.is_multiple_of(256);
    match (quant, important, whole) {
        ("F16", ..) => "F16",
        ("BF16", ..) => "BF16",
        ("Q8_0", ..) | (_, true, false) => "Q8_0",
        (_, true, true) => "Q6_K",
        ("Q4_1", ..) => "Q4_1",
        ("Q4_0", ..) => "Q4_0",
        ("MXFP4", ..) => "MXFP4",
        // All but the experts.
        ("MXFP4_MOE", ..) => "Q8_0",
        ("IQ4_XS", _, true) => "IQ4_XS",
        ("IQ4_XS" | "IQ4_NL", ..) => "IQ4_NL",
        (_, false, false) => "Q5_0",
        (_, false, true) => "Q4_K",
    }
}

/// The row of the type called `name`.
pub(super) fn kind(name: &str) -> Option<&'static Storage> {
    STORAGES.iter().find(|storage| storage.name == name)
}

/// Counts `tensors` tensors of `weights` weights in all under their type.
pub(super) fn add(types: &mut BTreeMap<String, StoredType>, name: &str, tensors: usize, weights: u64) {
    let bits = kind(name).map_or(WIDEST, |storage| storage.stored);
    let entry = types.entry(name.to_owned()).or_insert_with(|| StoredType {
        name: name.to_owned(),
        tensors: 0,
        weights: 0,
        bytes: 0,
        held_as: kind(name).and_then(|storage| storage.held_as),
    });
    entry.tensors += tensors;
    entry.weights += weights;
    entry.bytes += (weights as f64 * bits / 8.0) as u64;
}

/// The types, the most bytes first.
pub(super) fn sorted(types: BTreeMap<String, StoredType>) -> Vec<StoredType> {
    let mut types: Vec<StoredType> = types.into_values().collect();
    types.sort_by_key(|stored| std::cmp::Reverse(stored.bytes));
    types
}
