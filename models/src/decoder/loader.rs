//! Tensors of a file as a decoder holds them.

use super::options::{LoadOptions, Residency};
use crate::arch::names::{Name, Naming};
use crate::error::Result;
use crate::layers::{Joined, Linear};
use crate::spec::{DecoderSpec, NormWeights, QkNorm};
use crate::weights::{Order, Rows, Weights};
use candle_core::quantized::GgmlDType;
use candle_core::{DType, Device, Tensor};
use moot_kernels::{Gate, PackedBlocks, Packing, Weight, multiplies_blocks, packs_blocks};

/// The inputs of loading that every tensor shares.
#[derive(Clone, Copy)]
pub(super) struct Loader<'a> {
    pub spec: &'a DecoderSpec,
    pub naming: Naming,
    pub weights: &'a Weights,
    pub options: &'a LoadOptions,
    /// The device that the tensors are loaded to.
    pub device: &'a Device,
}

/// Rows of a stored tensor: `rows` from row `first` on, of a tensor `[of, inputs]`.
#[derive(Clone, Copy)]
pub(super) struct TensorSlice {
    pub name: Name,
    pub of: usize,
    pub first: usize,
    pub rows: usize,
    pub inputs: usize,
    /// How many matrices the tensor has, where it has several, one after the other.
    pub stacked: Option<usize>,
    /// Distance of a row to the next, in rows of the tensor.
    pub step: usize,
}

/// A linear layer in the file.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub from: TensorSlice,
    pub bias: Option<Name>,
    pub order: RowOrder,
}

/// The order of a layer's rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowOrder {
    /// The file's.
    Stored,
    /// That of keys, which [`moot_kernels::ops::rope`] turns in an order of its own.
    Keys,
    /// That of queries, with gates behind them where attention is gated.
    Queries,
}

impl<'a> Loader<'a> {
    pub(super) fn dense(&self, name: Name, shape: &[usize]) -> Result<Tensor> {
        self.weights.dense(&self.naming.name(name), shape, self.options.dtype, self.device)
    }

    /// The numbers of a small tensor of `shape`.
    pub(super) fn numbers(&self, name: Name, shape: &[usize]) -> Result<Vec<f32>> {
        let shape = self.naming.shape(name, shape.to_vec());
        let tensor = self.weights.dense(&self.naming.name(name), &shape, DType::F32, &Device::Cpu)?;
        Ok(tensor.flatten_all()?.to_vec1()?)
    }

    /// A norm's weights, `[width]`.
    pub(super) fn norm(&self, name: Name, width: usize) -> Result<Tensor> {
        self.whole(self.dense(name, &[width])?)
    }

    /// The logits of attention that stand for no position, `[heads]` f32.
    pub(super) fn sinks(&self, name: Name) -> Result<Tensor> {
        self.weights.dense(&self.naming.name(name), &[self.spec.heads], DType::F32, self.device)
    }

    /// Norms' weights, from what is stored of them.
    fn whole(&self, stored: Tensor) -> Result<Tensor> {
        Ok(match self.spec.layout.norm_weights {
            NormWeights::Whole => stored,
            NormWeights::LessOne => (stored.to_dtype(DType::F32)? + 1.0)?.to_dtype(stored.dtype())?,
        })
    }

    /// A layer whose matrix is held dense for another use; by its blocks where kernels of ours multiply by them.
    pub(super) fn tied(&self, from: TensorSlice, dense: Weight) -> Result<Linear> {
        let source = Source { from, bias: None, order: RowOrder::Stored };
        let stored = self.rows(&source)?;
        let packs = self.keeps_blocks() && self.packs(&stored);
        let parts: [(&Rows<'_>, Order<'_>); 1] = [(&stored, &|row| row)];
        let blocks = if packs { Rows::packed_together(&parts, Packing::InOrder, self.device)? } else { None };
        Ok(match blocks {
            Some(blocks) => Linear::packed_beside(blocks, dense),
            None => Linear::dense(dense, None),
        })
    }

    pub(super) fn linear(&self, from: TensorSlice, bias: Option<Name>) -> Result<Linear> {
        self.layer(&Source { from, bias, order: RowOrder::Stored })
    }

    /// Layers of one input. Elsewhere than on the CPU, biases are left to what takes their results.
    pub(super) fn joined<const N: usize>(&self, sources: [Source; N]) -> Result<Joined<N>> {
        if self.device.is_cpu() {
            let layers = all(sources.each_ref().map(|source| self.layer(source)))?;
            return Ok(Joined::apart(layers, [const { None }; N]));
        }
        let biases = all(sources.each_ref().map(|source| self.bias(source)))?;
        let bare = sources.map(|source| Source { bias: None, ..source });
        match self.together(&bare)? {
            Some(layer) => Ok(Joined::together(layer, sources.map(|source| source.from.rows), biases)),
            None => Ok(Joined::apart(all(bare.each_ref().map(|source| self.layer(source)))?, biases)),
        }
    }

    /// A gate and what it is multiplied with, without biases.
    pub(super) fn gate_up(&self, sources: [Source; 2]) -> Result<Joined<2>> {
        if self.spec.gate == Gate::Silu && self.keeps_blocks() {
            let stored = all(sources.each_ref().map(|source| self.rows(source)))?;
            if stored.iter().all(|rows| self.packs(rows)) {
                let parts = stored.each_ref().map(|rows| (rows, &(|row| row) as Order<'_>));
                if let Some(blocks) = Rows::packed_together(&parts, Packing::Gated, self.device)? {
                    return Ok(Joined::gated(Linear::packed(blocks, None), sources.map(|source| source.from.rows)));
                }
            }
        }
        self.joined(sources)
    }

    /// One matrix of several, on a CUDA device; `None` where widths differ, or where Candle multiplies by some as stored and
    /// types differ.
    fn together(&self, sources: &[Source]) -> Result<Option<Linear>> {
        if !self.device.is_cuda() {
            return Ok(None);
        }
        if self.keeps_blocks() {
            let stored = sources.iter().map(|source| self.rows(source)).collect::<Result<Vec<_>>>()?;
            if stored.iter().any(|rows| self.packs(rows) || self.multiplies(rows)) {
                let orders: Vec<_> = sources.iter().map(|source| self.order(source)).collect();
                let parts: Vec<(&Rows<'_>, Order<'_>)> =
                    stored.iter().zip(&orders).map(|(rows, order)| (rows, order as Order<'_>)).collect();
                return self.by_blocks(&parts, None);
            }
        }
        let matrices = sources.iter().map(|source| self.widened(source)).collect::<Result<Vec<_>>>()?;
        Ok(Some(Linear::dense(self.held(&Tensor::cat(&matrices, 0)?)?, None)))
    }

    /// A matrix and its bias; quantised where the device multiplies by what is stored.
    fn layer(&self, source: &Source) -> Result<Linear> {
        let bias = self.bias(source)?;
        if self.keeps_blocks() {
            let (stored, order) = (self.rows(source)?, self.order(source));
            if let Some(layer) = self.by_blocks(&[(&stored, &order)], bias.as_ref())? {
                return Ok(layer);
            }
        }
        Ok(Linear::dense(self.matrix(source)?, bias))
    }

    /// Whether quantised matrices stay so, elsewhere than on the CPU.
    fn keeps_blocks(&self) -> bool {
        self.options.residency == Residency::AsStored && !self.options.exact && !self.device.is_cpu()
    }

    /// Whether kernels of ours multiply by `rows`.
    fn packs(&self, rows: &Rows<'_>) -> bool {
        packs_blocks(self.device) && PackedBlocks::fit(rows.dtype(), rows.shape().1, self.options.dtype)
    }

    /// Whether Candle multiplies by `rows` as they are stored.
    fn multiplies(&self, rows: &Rows<'_>) -> bool {
        multiplies_blocks(self.device) && rows.multiplies_as_stored()
    }

    /// A layer of the blocks of `parts`, one behind the other; `None` where nothing multiplies by them, or Candle and types
    /// differ.
    fn by_blocks(&self, parts: &[(&Rows<'_>, Order<'_>)], bias: Option<&Tensor>) -> Result<Option<Linear>> {
        if parts.iter().all(|(rows, _)| self.packs(rows)) {
            let packed = Rows::packed_together(parts, Packing::InOrder, self.device)?;
            return Ok(packed.map(|matrix| Linear::packed(matrix, bias.cloned())));
        }
        if !parts.iter().all(|(rows, _)| self.multiplies(rows)) {
            return Ok(None);
        }
        let stored = Rows::quantized_together(parts, self.device)?;
        Ok(stored.map(|matrix| Linear::quantized(matrix, bias.cloned())).transpose()?)
    }

    fn rows(&self, Source { from, .. }: &Source) -> Result<Rows<'a>> {
        let name = self.naming.name(from.name);
        let stored = match from.stacked {
            Some(count) => self.weights.stacked(&name, [count, from.of / count, from.inputs])?,
            None => self.weights.rows(&name, from.of, from.inputs)?,
        };
        let end = from.first + (from.rows * from.step).saturating_sub(from.step - 1);
        Ok(stored.slice(from.first..end).every(from.step))
    }

    /// Maps a row of the loaded matrix to the row of the file.
    fn order(&self, source: &Source) -> impl Fn(usize) -> usize + Sync + use<'a> {
        let (spec, order, in_order) = (self.spec, source.order, self.spec.rows_in_order());
        move |row| match order {
            RowOrder::Queries if spec.attention_gate || !in_order => spec.query_row(row),
            RowOrder::Keys if !in_order => spec.file_row(row),
            _ => row,
        }
    }

    pub(super) fn matrix(&self, source: &Source) -> Result<Weight> {
        if !self.device.is_cpu() {
            return self.held(&self.widened(source)?);
        }
        let stored = self.rows(source)?;
        let weight = self.packed(&stored, self.order(source));
        stored.check_read()?;
        Ok(weight)
    }

    /// A matrix elsewhere than on the CPU, in the working type.
    fn widened(&self, source: &Source) -> Result<Tensor> {
        let dense = self.rows(source)?.dense(self.options.dtype, self.device)?;
        let order = self.order(source);
        if (0..source.from.rows).all(|row| order(row) == row) {
            return Ok(dense);
        }
        let order = Tensor::from_iter((0..source.from.rows).map(|row| order(row) as u32), self.device)?;
        Ok(dense.index_select(&order, 0)?)
    }

    /// As it is multiplied elsewhere than on the CPU.
    pub(super) fn held(&self, dense: &Tensor) -> Result<Weight> {
        let weight = Weight::new(dense)?;
        Ok(if self.options.exact { weight.exact() } else { weight })
    }

    /// A matrix on the CPU, straight from the file's rows.
    fn packed(&self, stored: &Rows<'_>, order: impl Fn(usize) -> usize + Sync) -> Weight {
        let (outputs, inputs) = stored.shape();
        if self.options.residency == Residency::AsStored {
            if let GgmlDType::F16 | GgmlDType::BF16 = stored.dtype() {
                let dtype = if stored.dtype() == GgmlDType::F16 { DType::F16 } else { DType::BF16 };
                return Weight::from_halves(dtype, outputs, inputs, |row, out| stored.bits(order(row), out));
            }
            let blocks = match stored.on_cpu() {
                Some(of) => Weight::from_blocks(of, outputs, inputs, |row| stored.stored_on_cpu(order(row))),
                None => Weight::from_blocks(stored.dtype(), outputs, inputs, |row| stored.stored(order(row))),
            };
            if let Some(weight) = blocks {
                return weight;
            }
        }
        Weight::from_rows(outputs, inputs, |row, out| stored.read(order(row), out))
    }

    fn bias(&self, source: &Source) -> Result<Option<Tensor>> {
        let Some(name) = source.bias else { return Ok(None) };
        let rows = source.from.rows;
        match source.order {
            RowOrder::Stored => self.dense(name, &[rows]).map(Some),
            RowOrder::Keys | RowOrder::Queries => self.reordered(name, rows).map(Some),
        }
    }

    /// A vector over the rows of queries or keys, in the decoder's order.
    fn reordered(&self, name: Name, rows: usize) -> Result<Tensor> {
        let stored = self.dense(name, &[rows])?;
        if self.spec.rows_in_order() {
            return Ok(stored);
        }
        let order = Tensor::from_iter((0..rows).map(|row| self.spec.file_row(row) as u32), self.device)?;
        Ok(stored.index_select(&order, 0)?)
    }

    /// The norm of `heads` heads of queries or keys, each `dim` wide, where the model has one.
    pub(super) fn qk_norm(&self, name: Name, heads: usize, dim: usize) -> Result<Option<Tensor>> {
        match self.spec.qk_norm {
            QkNorm::None => Ok(None),
            QkNorm::PerHead => self.whole(self.reordered(name, dim)?).map(Some),
            QkNorm::Whole => self.whole(self.reordered(name, heads * dim)?).map(Some),
        }
    }
}

/// All of them, or the first error.
fn all<T: std::fmt::Debug, const N: usize>(results: [Result<T>; N]) -> Result<[T; N]> {
    let all = results.into_iter().collect::<Result<Vec<T>>>()?;
    Ok(all.try_into().expect("as many results as there were (bug)"))
}
