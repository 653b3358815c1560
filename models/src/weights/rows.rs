//! A matrix as it is stored: read by the row, from any thread.

use super::codebook::{Codebook, Unfit};
use super::random::RandomTensor;
use super::{ElementType, blocks, widen};
use crate::error::{ModelError, Result};
use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use candle_core::{DType, Device, Tensor};
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where a tensor's bytes come from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// A file.
    Bytes(&'a [u8]),
    /// A file, in a type that is read as `Q8_0`.
    Codebook(Codebook, &'a [u8]),
    /// They are made when they are asked for.
    Random(RandomTensor),
}

/// Maps a row of the loaded matrix to the stored row.
pub type Order<'a> = &'a (dyn Fn(usize) -> usize + Sync);

/// No row with a number that is not finite was read so far.
const NONE: usize = usize::MAX;

/// Rows of a stored matrix. Reading a row with a number that is not finite records it; the caller checks with
/// [`Self::check_read`] after reading.
#[derive(Debug)]
pub struct Rows<'a> {
    path: &'a Path,
    name: String,
    source: Source<'a>,
    dtype: GgmlDType,
    inputs: usize,
    range: Range<usize>,
    unsound: AtomicUsize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        path: &'a Path,
        name: &str,
        source: Source<'a>,
        dtype: GgmlDType,
        [outputs, inputs]: [usize; 2],
    ) -> Self {
        let unsound = AtomicUsize::new(NONE);
        Self { path, name: name.to_owned(), source, dtype, inputs, range: 0..outputs, unsound }
    }

    /// The rows of `range` alone, counted from the first row here: one of several projections in a tensor.
    #[must_use]
    pub fn slice(mut self, range: Range<usize>) -> Self {
        debug_assert!(range.start <= range.end && range.end <= self.range.len());
        self.range = self.range.start + range.start..self.range.start + range.end;
        self
    }

    /// Rows and their width.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.range.len(), self.inputs)
    }

    /// Block type of the bytes that [`Self::stored`] returns: of a type with a codebook, `Q8_0`.
    #[must_use]
    pub fn dtype(&self) -> GgmlDType {
        self.dtype
    }

    /// Row `row` as it is stored, or as `Q8_0` where its type has a codebook: a whole number of blocks.
    #[must_use]
    pub fn stored(&self, row: usize) -> Cow<'a, [u8]> {
        let bytes = self.bytes(row..row + 1);
        if !blocks::finite(&bytes, self.dtype) {
            self.unsound.fetch_min(row, Ordering::Relaxed);
        }
        bytes
    }

    /// Widens row `row` into `out`, which has the matrix's `inputs` elements.
    pub fn read(&self, row: usize, out: &mut [f32]) {
        widen::row_to_f32(&self.stored(row), self.dtype, out);
    }

    /// The bits of row `row`, whose elements are f16 or bf16.
    pub fn bits(&self, row: usize, out: &mut [u16]) {
        for (out, bytes) in out.iter_mut().zip(self.stored(row).as_chunks().0) {
            *out = u16::from_le_bytes(*bytes);
        }
    }

    /// # Errors
    /// [`ModelError::NotFinite`] where one of the rows read so far holds such a number; [`ModelError::BlockScale`] where one
    /// has a codebook and a scale that `Q8_0` cannot hold.
    pub fn check_read(&self) -> Result<()> {
        match self.unsound.load(Ordering::Relaxed) {
            NONE => Ok(()),
            row => Err(self.unsound(row)),
        }
    }

    /// All rows, widened to `dtype`, on `device`: `[rows, inputs]`.
    ///
    /// # Errors
    /// [`ModelError::NotFinite`], [`ModelError::BlockScale`]; [`ModelError::Tensor`] when the device refuses.
    pub fn dense(&self, dtype: DType, device: &Device) -> Result<Tensor> {
        let bytes = self.sound_bytes()?;
        widen::tensor(&bytes, self.dtype, &[self.range.len(), self.inputs], dtype, device).map_err(|e| self.refused(e))
    }

    /// Whether Candle multiplies by rows as they are stored on a GPU: not plain floats, nor types without a fast kernel.
    #[must_use]
    pub fn multiplies_as_stored(&self) -> bool {
        self.dtype.block_size() > 1 && !matches!(self.dtype, GgmlDType::Q8_1 | GgmlDType::Q8K)
    }

    /// All rows as they are stored; `None` where they are not [multiplied](Self::multiplies_as_stored) so.
    ///
    /// # Errors
    /// As [`Self::dense`].
    pub fn quantized(&self, device: &Device) -> Result<Option<QTensor>> {
        Self::quantized_together(&[(self, &|row| row)], device)
    }

    /// All rows of `parts` as they are stored, those of one behind those of the other, each with row `order(i)` as row `i`;
    /// `None` where one is not [multiplied](Self::multiplies_as_stored) so, or types or widths differ.
    ///
    /// # Errors
    /// As [`Self::dense`].
    pub fn quantized_together(parts: &[(&Self, Order<'_>)], device: &Device) -> Result<Option<QTensor>> {
        let Some((first, _)) = parts.first() else { return Ok(None) };
        let alike = |part: &Self| (part.dtype, part.inputs) == (first.dtype, first.inputs);
        if !first.multiplies_as_stored() || !parts.iter().all(|(part, _)| alike(part)) {
            return Ok(None);
        }
        let bytes = match parts {
            [(part, order)] => part.in_order(order)?,
            _ => {
                let each = parts.iter().map(|(part, order)| part.in_order(order)).collect::<Result<Vec<_>>>()?;
                Cow::Owned(each.concat())
            }
        };
        let rows = parts.iter().map(|(part, _)| part.range.len()).sum();
        let storage = QStorage::from_data(bytes, device, first.dtype);
        let tensor = storage.and_then(|storage| QTensor::new(storage, (rows, first.inputs)));
        tensor.map(Some).map_err(|e| first.refused(e))
    }

    /// The stored bytes with row `order(i)` as row `i`.
    fn in_order(&self, order: Order<'_>) -> Result<Cow<'a, [u8]>> {
        let bytes = self.sound_bytes()?;
        if (0..self.range.len()).all(|row| order(row) == row) {
            return Ok(bytes);
        }
        let width = blocks::bytes_of(self.inputs, self.dtype);
        let rows = (0..self.range.len()).flat_map(|row| &bytes[order(row) * width..][..width]);
        Ok(Cow::Owned(rows.copied().collect()))
    }

    fn sound_bytes(&self) -> Result<Cow<'a, [u8]>> {
        let bytes = self.bytes(0..self.range.len());
        if blocks::finite(&bytes, self.dtype) {
            return Ok(bytes);
        }
        let finite = |row: &[u8]| blocks::finite(row, self.dtype);
        let row = bytes.chunks_exact(blocks::bytes_of(self.inputs, self.dtype)).position(|row| !finite(row));
        Err(self.unsound(row.expect("the bytes are rows (bug)")))
    }

    fn bytes(&self, rows: Range<usize>) -> Cow<'a, [u8]> {
        let rows = self.range.start + rows.start..self.range.start + rows.end;
        match &self.source {
            Source::Bytes(bytes) => {
                let width = blocks::bytes_of(self.inputs, self.dtype);
                Cow::Borrowed(&bytes[rows.start * width..rows.end * width])
            }
            Source::Codebook(codebook, bytes) => {
                Cow::Owned(codebook.to_q8_0(encoded(*codebook, bytes, self.inputs, &rows), rows.len()))
            }
            Source::Random(tensor) => Cow::Owned(tensor.rows(rows)),
        }
    }

    /// The error for row `row`, which was read and is not finite.
    fn unsound(&self, row: usize) -> ModelError {
        let (path, tensor, row) = (self.path.to_owned(), self.name.clone(), self.range.start + row);
        if let Source::Codebook(codebook, bytes) = &self.source {
            let unfit = codebook.unfit(encoded(*codebook, bytes, self.inputs, &(row..row + 1)));
            if let Some((block, found @ (Unfit::TooLarge(_) | Unfit::Power(_)))) = unfit {
                let dtype = ElementType::Codebook(*codebook).name();
                return ModelError::BlockScale { path, tensor, row, block, dtype, found: found.to_string() };
            }
        }
        ModelError::NotFinite { path, tensor, row: Some(row) }
    }

    fn refused(&self, source: candle_core::Error) -> ModelError {
        let source = moot_kernels::without_backtrace(source);
        ModelError::Tensor { what: format!("{}: tensor {}", self.path.display(), self.name), source }
    }
}

/// The stored bytes of `rows` of a matrix of `inputs` columns.
fn encoded<'a>(codebook: Codebook, bytes: &'a [u8], inputs: usize, rows: &Range<usize>) -> &'a [u8] {
    let width = inputs / codebook.block_size() * codebook.type_size();
    &bytes[rows.start * width..rows.end * width]
}
