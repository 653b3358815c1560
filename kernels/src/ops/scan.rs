//! Dot products of queries with stored vectors: exact search reads every row once for all queries.
//!
//! Rows are bytes as in the index file, little-endian, each padded with zeros to a multiple of 16 numbers. Queries stay
//! in f32; stored numbers are widened, exactly, as they are read. The arithmetic is `cpu/scan`'s: the same bits on
//! every table and in any batch. The op is for the CPU alone: an index is searched in its memory map.

use super::cpu_table;
use crate::cpu::{ScanCall, Storage, padded};
use candle_core::{Result, bail};
use std::ops::Range;

/// Queries, padded as rows are.
#[derive(Debug, Clone)]
pub struct Queries {
    values: Vec<f32>,
    dimension: usize,
}

impl Queries {
    /// `values` are `[queries, dimension]`.
    ///
    /// # Errors
    /// Values that are not whole queries, or none.
    pub fn new(values: &[f32], dimension: usize) -> Result<Self> {
        if dimension == 0 || values.is_empty() || !values.len().is_multiple_of(dimension) {
            bail!("queries: {} numbers for vectors of {dimension}", values.len());
        }
        let padded = padded(dimension);
        let mut all = Vec::with_capacity(values.len() / dimension * padded);
        for query in values.chunks_exact(dimension) {
            all.extend_from_slice(query);
            all.resize(all.len().next_multiple_of(padded), 0.0);
        }
        Ok(Self { values: all, dimension })
    }

    /// Number of queries.
    #[must_use]
    pub fn count(&self) -> usize {
        self.values.len() / padded(self.dimension)
    }
}

/// Rows of vectors as they are stored.
#[derive(Debug, Clone, Copy)]
pub struct Vectors<'a> {
    rows: &'a [u8],
    storage: Storage,
    dimension: usize,
}

impl<'a> Vectors<'a> {
    /// `rows` are whole rows as [`Storage::encode`] makes them.
    ///
    /// # Errors
    /// Bytes that are not whole rows.
    pub fn new(rows: &'a [u8], storage: Storage, dimension: usize) -> Result<Self> {
        if dimension == 0 || !rows.len().is_multiple_of(storage.stride(dimension)) {
            let stride = storage.stride(dimension);
            bail!("{} bytes are no rows of {stride} ({dimension} numbers in {})", rows.len(), storage.name());
        }
        Ok(Self { rows, storage, dimension })
    }

    /// Number of rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rows.len() / self.storage.stride(self.dimension)
    }

    /// The bytes of one row.
    ///
    /// # Panics
    /// There is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &'a [u8] {
        let stride = self.storage.stride(self.dimension);
        &self.rows[row * stride..][..stride]
    }

    /// Dot products of every query with `rows`, to `out`: `[queries, rows]`. Runs on the calling thread; callers share
    /// rows out.
    ///
    /// # Errors
    /// Queries of another dimension, rows that are not there, an `out` of another length; a bad `MOOT_CPU`.
    pub fn scores(&self, queries: &Queries, rows: Range<usize>, out: &mut [f32]) -> Result<()> {
        if queries.dimension != self.dimension {
            bail!("queries of {} numbers, vectors of {}", queries.dimension, self.dimension);
        }
        if rows.end > self.count() || rows.start > rows.end || out.len() != queries.count() * rows.len() {
            let (count, queries) = (self.count(), queries.count());
            bail!("rows {rows:?} of {count}, {queries} queries, room for {} scores", out.len());
        }
        let call = ScanCall {
            rows: self.rows,
            storage: self.storage,
            padded: padded(self.dimension),
            queries: &queries.values,
        };
        // SAFETY: the table was chosen by what this machine can run; lengths were checked above.
        #[allow(unsafe_code)]
        unsafe {
            (cpu_table()?.scan)(&call, rows, out);
        }
        Ok(())
    }

    /// The slow reference: each product by plain arithmetic in f64.
    #[must_use]
    pub fn reference(&self, queries: &Queries, rows: Range<usize>) -> Vec<f64> {
        let mut out = Vec::with_capacity(queries.count() * rows.len());
        for query in queries.values.chunks_exact(padded(self.dimension)) {
            for row in rows.clone() {
                let row = self.storage.decode(self.row(row), self.dimension);
                out.push(row.iter().zip(query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum());
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::tests::numbers;
    use crate::cpu::{ScanCall, tables};

    fn stored(storage: Storage, count: usize, dimension: usize) -> Vec<u8> {
        let mut rows = Vec::new();
        for row in numbers(count * dimension, 5).chunks_exact(dimension) {
            storage.encode(row, &mut rows);
        }
        rows
    }

    const ALL: [Storage; 3] = [Storage::F32, Storage::F16, Storage::I8];

    #[test]
    fn every_table_gives_the_reference_and_the_same_bits() {
        for storage in ALL {
            for (count, dimension, asked) in [(1, 1, 1), (9, 16, 5), (23, 100, 4), (7, 384, 9), (5, 33, 3)] {
                let rows = stored(storage, count, dimension);
                let vectors = Vectors::new(&rows, storage, dimension).expect("whole rows");
                let queries = Queries::new(&numbers(asked * dimension, 6), dimension).expect("whole queries");
                let range = count / 4..count;
                let want = vectors.reference(&queries, range.clone());
                let mut first: Option<Vec<u32>> = None;
                for table in tables() {
                    let mut out = vec![f32::NAN; asked * range.len()];
                    let call = ScanCall { rows: &rows, storage, padded: padded(dimension), queries: &queries.values };
                    // SAFETY: `tables` lists what this machine can run; lengths are as stated.
                    #[allow(unsafe_code)]
                    unsafe {
                        (table.scan)(&call, range.clone(), &mut out);
                    }
                    for (got, want) in out.iter().zip(&want) {
                        let error = (f64::from(*got) - want).abs();
                        assert!(error < 1e-5 * dimension as f64, "{storage:?} on {table:?}: {got} for {want}");
                    }
                    let bits: Vec<u32> = out.iter().map(|x| x.to_bits()).collect();
                    assert_eq!(*first.get_or_insert_with(|| bits.clone()), bits, "{storage:?} on {table:?}");
                }
            }
        }
    }

    #[test]
    fn a_score_does_not_depend_on_the_batch() {
        let dimension = 48;
        for storage in ALL {
            let rows = stored(storage, 21, dimension);
            let vectors = Vectors::new(&rows, storage, dimension).expect("whole rows");
            let values = numbers(6 * dimension, 8);
            let mut together = vec![0.0; 6 * 21];
            vectors.scores(&Queries::new(&values, dimension).expect("whole"), 0..21, &mut together).expect("fits");
            for (q, query) in values.chunks_exact(dimension).enumerate() {
                let query = Queries::new(query, dimension).expect("whole");
                for row in 0..21 {
                    let mut alone = [0.0];
                    vectors.scores(&query, row..row + 1, &mut alone).expect("fits");
                    assert_eq!(alone[0].to_bits(), together[q * 21 + row].to_bits(), "{storage:?}, row {row}");
                }
            }
        }
    }

    #[test]
    fn rows_come_back_as_closely_as_their_type_can() {
        let vector = numbers(100, 9);
        for (storage, tolerance) in [(Storage::F32, 0.0), (Storage::F16, 5e-4), (Storage::I8, 0.5 / 127.0 + 1e-6)] {
            let mut row = Vec::new();
            storage.encode(&vector, &mut row);
            assert_eq!(row.len(), storage.stride(100));
            for (got, want) in storage.decode(&row, 100).iter().zip(&vector) {
                assert!((got - want).abs() <= tolerance, "{storage:?}: {got} for {want}");
            }
        }
        let mut zeros = Vec::new();
        Storage::I8.encode(&[0.0; 16], &mut zeros);
        assert_eq!(Storage::I8.decode(&zeros, 16), [0.0; 16]);
    }

    #[test]
    fn mismatched_shapes_are_refused() {
        let rows = stored(Storage::F16, 3, 16);
        assert!(Vectors::new(&rows[1..], Storage::F16, 16).is_err());
        let vectors = Vectors::new(&rows, Storage::F16, 16).expect("whole rows");
        let queries = Queries::new(&[0.0; 16], 16).expect("whole");
        assert!(vectors.scores(&queries, 0..4, &mut [0.0; 4]).is_err());
        assert!(vectors.scores(&queries, 0..3, &mut [0.0; 2]).is_err());
        assert!(vectors.scores(&Queries::new(&[0.0; 17], 17).expect("whole"), 0..3, &mut [0.0; 3]).is_err());
        assert!(Queries::new(&[], 16).is_err());
    }
}
