//! A matrix as it is stored: read by the row, from any thread.

use super::codebook::{self, Codebook, Unfit};
use super::random::RandomTensor;
use super::{ElementType, blocks, widen};
use crate::error::{ModelError, Result};
use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use candle_core::{DType, Device, Tensor};
use moot_kernels::{BlockType, PackedBlocks, Packing, Part};
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
    /// MXFP4 of which a file has the codes in one tensor and the scales in another.
    SplitMxfp4 { codes: &'a [u8], scales: &'a [u8] },
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
    /// Rows of the source.
    range: Range<usize>,
    /// Distance of a row to the next, in rows of the source.
    step: usize,
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
        Self { path, name: name.to_owned(), source, dtype, inputs, range: 0..outputs, step: 1, unsound }
    }

    /// The rows of `range` alone, counted from the first row here: one of several projections in a tensor.
    #[must_use]
    pub fn slice(mut self, range: Range<usize>) -> Self {
        debug_assert!(range.start <= range.end && range.end <= self.range.len() && self.step == 1);
        self.range = self.range.start + range.start..self.range.start + range.end;
        self
    }

    /// Every `step`-th row, from the first: one of `step` projections whose rows take turns.
    #[must_use]
    pub fn every(mut self, step: usize) -> Self {
        self.step *= step.max(1);
        self
    }

    /// Number of rows.
    fn len(&self) -> usize {
        self.range.len().div_ceil(self.step)
    }

    /// Rows and their width.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.len(), self.inputs)
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

    /// The type of blocks as which the CPU's kernels hold rows whose type has a codebook.
    #[must_use]
    pub fn on_cpu(&self) -> Option<BlockType> {
        match self.source {
            Source::Bytes(_) | Source::Random(_) => None,
            Source::Codebook(codebook, _) => Some(codebook.on_cpu()),
            Source::SplitMxfp4 { .. } => Some(Codebook::Mxfp4.on_cpu()),
        }
    }

    /// Row `row` in blocks of [`Self::on_cpu`].
    #[must_use]
    pub fn stored_on_cpu(&self, row: usize) -> Vec<u8> {
        let at = self.range.start + row * self.step;
        let held = self.encoded(&(at..at + 1)).and_then(|(codebook, bytes)| codebook.to_cpu(&bytes));
        held.unwrap_or_else(|| {
            self.unsound.fetch_min(row, Ordering::Relaxed);
            vec![0; self.inputs / 16 * 17]
        })
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
        widen::tensor(&bytes, self.dtype, &[self.len(), self.inputs], dtype, device).map_err(|e| self.refused(e))
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
        if !first.multiplies_as_stored() || !Self::alike(parts) {
            return Ok(None);
        }
        let bytes = match parts {
            [(part, order)] => part.in_order(order)?,
            _ => {
                let each = parts.iter().map(|(part, order)| part.in_order(order)).collect::<Result<Vec<_>>>()?;
                Cow::Owned(each.concat())
            }
        };
        let rows = parts.iter().map(|(part, _)| part.len()).sum();
        let storage = QStorage::from_data(bytes, device, first.dtype);
        let tensor = storage.and_then(|storage| QTensor::new(storage, (rows, first.inputs)));
        tensor.map(Some).map_err(|e| first.refused(e))
    }

    /// Whether types and widths are equal.
    fn alike(parts: &[(&Self, Order<'_>)]) -> bool {
        parts.windows(2).all(|pair| (pair[0].0.dtype, pair[0].0.inputs) == (pair[1].0.dtype, pair[1].0.inputs))
    }

    /// All rows of `parts`, as [`Self::quantized_together`], packed for our kernels; `None` where widths differ
    /// or the packing does not fit.
    ///
    /// # Errors
    /// As [`Self::dense`]; no kernel takes such blocks.
    pub fn packed_together(
        parts: &[(&Self, Order<'_>)],
        packing: Packing,
        device: &Device,
    ) -> Result<Option<PackedBlocks>> {
        let Some((first, _)) = parts.first() else { return Ok(None) };
        if parts.iter().any(|(part, _)| part.inputs != first.inputs) {
            return Ok(None);
        }
        // Each row of the packed matrix, and where it comes from.
        let rows: Vec<(&Self, usize)> =
            parts.iter().flat_map(|(part, order)| (0..part.len()).map(move |row| (*part, order(row)))).collect();
        let row = |row: usize| {
            let (part, at) = rows[row];
            part.stored(at)
        };
        let of_one_type = parts.chunk_by(|(one, _), (next, _)| one.dtype == next.dtype);
        let of_one_type: Vec<Part> = of_one_type
            .map(|parts| Part { blocks: parts[0].0.dtype, outputs: parts.iter().map(|(part, _)| part.len()).sum() })
            .collect();
        if !packing.fits(&of_one_type) {
            return Ok(None);
        }
        let packed = PackedBlocks::pack(of_one_type, packing, first.inputs, row, device);
        parts.iter().try_for_each(|(part, _)| part.check_read())?;
        packed.map(Some).map_err(|e| first.refused(e))
    }

    /// The stored bytes with row `order(i)` as row `i`.
    fn in_order(&self, order: Order<'_>) -> Result<Cow<'a, [u8]>> {
        let bytes = self.sound_bytes()?;
        if (0..self.len()).all(|row| order(row) == row) {
            return Ok(bytes);
        }
        let width = blocks::bytes_of(self.inputs, self.dtype);
        let rows = (0..self.len()).flat_map(|row| &bytes[order(row) * width..][..width]);
        Ok(Cow::Owned(rows.copied().collect()))
    }

    fn sound_bytes(&self) -> Result<Cow<'a, [u8]>> {
        let bytes = self.bytes(0..self.len());
        if blocks::finite(&bytes, self.dtype) {
            return Ok(bytes);
        }
        let finite = |row: &[u8]| blocks::finite(row, self.dtype);
        let row = bytes.chunks_exact(blocks::bytes_of(self.inputs, self.dtype)).position(|row| !finite(row));
        Err(self.unsound(row.expect("the bytes are rows (bug)")))
    }

    fn bytes(&self, rows: Range<usize>) -> Cow<'a, [u8]> {
        if self.step > 1 && rows.len() > 1 {
            return Cow::Owned(rows.flat_map(|row| self.bytes(row..row + 1).into_owned()).collect());
        }
        let first = self.range.start + rows.start * self.step;
        let rows = first..first + rows.len();
        match &self.source {
            Source::Bytes(bytes) => {
                let width = blocks::bytes_of(self.inputs, self.dtype);
                Cow::Borrowed(&bytes[rows.start * width..rows.end * width])
            }
            Source::Random(tensor) => Cow::Owned(tensor.rows(rows)),
            Source::Codebook(..) | Source::SplitMxfp4 { .. } => match self.encoded(&rows) {
                Some((codebook, bytes)) => Cow::Owned(codebook.to_q8_0(&bytes, rows.len())),
                None => Cow::Borrowed(&[]),
            },
        }
    }

    /// The stored bytes of `rows` of the source, where its type has a codebook: a whole number of its blocks.
    fn encoded(&self, rows: &Range<usize>) -> Option<(Codebook, Cow<'a, [u8]>)> {
        match self.source {
            Source::Bytes(_) | Source::Random(_) => None,
            Source::Codebook(codebook, bytes) => {
                let width = self.inputs / codebook.block_size() * codebook.type_size();
                Some((codebook, Cow::Borrowed(&bytes[rows.start * width..rows.end * width])))
            }
            Source::SplitMxfp4 { codes, scales } => {
                let width = self.inputs / Codebook::Mxfp4.block_size();
                let of = |bytes: &'a [u8], width: usize| &bytes[rows.start * width..rows.end * width];
                Some((Codebook::Mxfp4, Cow::Owned(codebook::joined_mxfp4(of(codes, 16 * width), of(scales, width)))))
            }
        }
    }

    /// The error for row `row`, which was read and is not finite.
    fn unsound(&self, row: usize) -> ModelError {
        let (path, tensor, row) = (self.path.to_owned(), self.name.clone(), self.range.start + row * self.step);
        if let Some((codebook, bytes)) = self.encoded(&(row..row + 1))
            && let Some((block, found @ (Unfit::TooLarge(_) | Unfit::Power(_)))) = codebook.unfit(&bytes)
        {
            let dtype = ElementType::Codebook(codebook).name();
            return ModelError::BlockScale { path, tensor, row, block, dtype, found: found.to_string() };
        }
        ModelError::NotFinite { path, tensor, row: Some(row) }
    }

    fn refused(&self, source: candle_core::Error) -> ModelError {
        let source = moot_kernels::without_backtrace(source);
        ModelError::Tensor { what: format!("{}: tensor {}", self.path.display(), self.name), source }
    }
}
