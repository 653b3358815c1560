//! Stored vectors, row by row.

use crate::error::MootError;
use moot_models::ModelError;
use moot_models::kernels::{Storage, Vectors};

/// Vectors in one contiguous file, with the passages they belong to.
pub(super) struct RowGroup<'a> {
    pub(super) vectors: Vectors<'a>,
    pub(super) ids: Ids<'a>,
}

/// The passage number of each row.
pub(super) enum Ids<'a> {
    /// The first row's number; the other rows follow consecutively.
    From(u64),
    /// One number per row, u32 little-endian.
    Listed(&'a [[u8; 4]]),
}

impl Ids<'_> {
    pub(super) fn of(&self, row: usize) -> u64 {
        match self {
            Self::From(first) => first + row as u64,
            Self::Listed(ids) => u64::from(u32::from_le_bytes(ids[row])),
        }
    }
}

/// Converts an error of the kernels.
pub(super) fn kernel(e: candle_core::Error) -> MootError {
    MootError::Model(ModelError::from(e))
}

/// Finds the stored row of a passage, clustered or not.
pub(super) struct RowsOf<'a> {
    /// Row number of each clustered passage.
    row_numbers: Vec<u32>,
    grouped: Option<Vectors<'a>>,
    /// First passage and rows of each newer segment.
    fresh: Vec<(usize, Vectors<'a>)>,
}

impl<'a> RowsOf<'a> {
    pub(super) fn new(groups: Vec<RowGroup<'a>>) -> Self {
        let mut rows = Self { row_numbers: Vec::new(), grouped: None, fresh: Vec::new() };
        for group in groups {
            match group.ids {
                Ids::From(first) => rows.fresh.push((first as usize, group.vectors)),
                Ids::Listed(ids) => {
                    rows.row_numbers = vec![0; ids.len()];
                    for (row, id) in (0..).zip(ids) {
                        rows.row_numbers[u32::from_le_bytes(*id) as usize] = row;
                    }
                    rows.grouped = Some(group.vectors);
                }
            }
        }
        rows
    }

    pub(super) fn row(&self, passage: usize) -> &'a [u8] {
        if let (Some(row), Some(grouped)) = (self.row_numbers.get(passage), &self.grouped) {
            return grouped.row(*row as usize);
        }
        let after = self.fresh.partition_point(|(first, _)| *first <= passage);
        let (first, vectors) = &self.fresh[after - 1];
        vectors.row(passage - first)
    }
}

/// The vectors of an index by passage, as they are stored.
pub(in crate::retrieval) struct StoredVectors<'a> {
    pub(super) rows: RowsOf<'a>,
    pub(super) storage: Storage,
    pub(super) dimension: usize,
}

impl StoredVectors<'_> {
    /// The numbers of passage `id`, which the index has.
    pub(in crate::retrieval) fn decoded(&self, id: u64) -> Vec<f32> {
        self.storage.decode(self.rows.row(id as usize), self.dimension)
    }
}
