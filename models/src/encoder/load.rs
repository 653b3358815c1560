//! From a folder's tensors to an [`Encoder`].

use super::family::{Family, Gate, OuterNorm, Projections};
use super::spec::{EncoderSpec, RelativePositions};
use super::{Batches, Block, Encoder, Layer, Norm};
use crate::error::{ModelError, Result};
use crate::layers::Rotary;
use crate::weights::Weights;
use candle_core::quantized::GgmlDType;
use candle_core::{DType, Device, Tensor};
use moot_kernels::ops::add_norm::add_norm;
use moot_kernels::{Activation, DistanceBias, FreedOn, Relative, Weight};
use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Mutex;

/// Storage of an encoder's matrices on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Integers of twelve bits and a sign, stored in 16, with one scale for 128 of them: twice the speed of f32, and vectors
    /// whose cosine to the reference is above 0.99999. With 8-bit integers, twice as fast again, it stays below 0.9999.
    #[default]
    Int16,
    /// The numbers of the file as f32: the reference.
    F32,
}

/// Device and storage of an encoder.
#[derive(Debug, Clone)]
pub struct EncoderOptions {
    /// The device of the tensors. On a GPU matrices are f32.
    pub device: Device,
    /// How matrices are held.
    pub precision: Precision,
    /// Tokens that are computed together: bounds the memory between layers.
    pub tokens: usize,
}

impl Default for EncoderOptions {
    fn default() -> Self {
        Self { device: Device::Cpu, precision: Precision::default(), tokens: Batches::TOKENS }
    }
}

impl EncoderOptions {
    /// Defaults for `device`: on a GPU more tokens are computed together than fit a processor's caches.
    #[must_use]
    pub fn on(device: Device) -> Self {
        let tokens = if device.is_cpu() { Batches::TOKENS } else { Batches::GPU_TOKENS };
        Self { device, tokens, ..Self::default() }
    }
}

/// Reads tensors by name and keeps track of which were read.
pub(super) struct Loader<'a> {
    pub(super) weights: &'a Weights,
    pub(super) options: &'a EncoderOptions,
    prefix: &'static str,
    used: RefCell<HashSet<String>>,
}

impl<'a> Loader<'a> {
    /// The tensors of `family` have its prefix, or none where the file holds the encoder alone.
    pub(super) fn new(weights: &'a Weights, family: &Family, options: &'a EncoderOptions) -> Self {
        let bare = weights.contains(&format!("{}.weight", family.names.words));
        let prefix = if bare { "" } else { family.prefix };
        Self { weights, options, prefix, used: RefCell::default() }
    }

    /// # Errors
    /// A tensor that is missing, of another shape, of a type that holds no floats or with a number that is not finite.
    pub(super) fn encoder(&self, family: &Family, spec: EncoderSpec) -> Result<Encoder> {
        let (hidden, eps) = (spec.hidden, spec.norm_eps);
        let word_embeddings = self.table(&format!("{}.weight", family.names.words), [spec.vocab, hidden])?;
        let positions = spec.positions.map(|at| self.table(family.names.positions, [at.rows, hidden])).transpose()?;
        let segments =
            (spec.segments > 0).then(|| self.table(family.names.segments, [spec.segments, hidden])).transpose()?;
        let norm = self.norm(family.names.norm, hidden, spec.biases)?;
        let bias = self.distance_bias(family, &spec)?;
        let relative = spec.relative.map(|relative| self.relative_table(relative, hidden, eps)).transpose()?;
        let blocks = (0..spec.layers).map(|index| self.block(index, family, &spec, relative.as_ref()));
        let blocks = blocks.collect::<Result<_>>()?;
        let device = self.options.device.clone();
        // GPU work is asynchronous: synchronise so that load errors surface here, not in the first batch.
        device.synchronize()?;
        Ok(Encoder {
            word_embeddings,
            positions,
            segments,
            norm,
            bias,
            blocks,
            rotary: spec
                .rotary
                .as_ref()
                .map(|rotary| [&rotary.full, &rotary.local].map(|rope| Rotary::new(Some(rope), spec.head_dim))),
            turn: Mutex::new(()),
            _on_device: FreedOn::new(&device),
            device,
            spec,
        })
    }

    fn block(&self, index: usize, family: &Family, spec: &EncoderSpec, relative: Option<&Tensor>) -> Result<Block> {
        let names = family.names;
        let at = |part: &str| format!("{}{index}.{part}", names.block);
        let (hidden, wide, attended) = (spec.hidden, spec.intermediate, spec.heads * spec.head_dim);
        let part = |name: &str, rows: Range<usize>, shape: [usize; 2]| {
            self.part(&self.under(&at(name)), rows, shape, self.options.precision, spec.biases)
        };
        let [query, key, value] = match names.projections {
            Projections::Apart(projections) => projections.map(|name| part(name, 0..attended, [attended, hidden])),
            Projections::Fused(name) => {
                [0, 1, 2].map(|i| part(name, i * attended..(i + 1) * attended, [3 * attended, hidden]))
            }
        };
        let relative = match (relative, spec.relative) {
            (Some(table), Some(positions)) => Some(self.relative(&at(""), table, positions, spec, family)?),
            _ => None,
        };
        let (inner, gate) = match names.gate {
            Gate::None => (part(names.inner, 0..wide, [wide, hidden])?, None),
            Gate::Behind => {
                let rows = |rows: Range<usize>| part(names.inner, rows, [2 * wide, hidden]);
                (rows(0..wide)?, Some(rows(wide..2 * wide)?))
            }
            Gate::Own(gate) => {
                let whole = |name: &str| part(name, 0..wide, [wide, hidden]);
                (whole(names.inner)?, Some(whole(gate)?))
            }
        };
        let outer = part(names.outer, 0..hidden, [hidden, wide])?;
        let outer_norm = match names.outer_norm {
            OuterNorm::Own(name) => at(name),
            OuterNorm::Next { block, .. } if index + 1 < spec.layers => format!("{}{}.{block}", names.block, index + 1),
            OuterNorm::Next { last, .. } => last.to_owned(),
        };
        Ok(Block {
            query: query?,
            key: key?,
            value: value?,
            relative,
            local: spec.rotary.as_ref().is_some_and(|rotary| rotary.is_local[index]),
            attention_output: part(names.attention_output, 0..hidden, [hidden, attended])?,
            attention_norm: self.norm(&at(names.attention_norm), hidden, spec.biases)?,
            inner,
            gate,
            outer,
            outer_norm: self.norm(&outer_norm, hidden, spec.biases)?,
        })
    }

    /// The numbers of all distances that two tokens of a text can have.
    fn distance_bias(&self, family: &Family, spec: &EncoderSpec) -> Result<Option<DistanceBias>> {
        let Some(buckets) = spec.distances else { return Ok(None) };
        let by_bucket = self.dense(&self.under(family.names.bias), &[buckets.count, spec.heads])?;
        let middle = spec.context - 1;
        let rows = (-(middle as i64)..=middle as i64).map(|distance| buckets.bucket(distance) as u32);
        let rows = Tensor::from_iter(rows, &self.options.device)?;
        Ok(Some(DistanceBias { values: by_bucket.index_select(&rows, 0)?.t()?.contiguous()?, middle }))
    }

    /// The vectors of all distances, `[2 * span, hidden]`, normed where the model does.
    fn relative_table(&self, relative: RelativePositions, hidden: usize, eps: f32) -> Result<Tensor> {
        let table = self.dense(&self.under("encoder.rel_embeddings.weight"), &[2 * relative.span, hidden])?;
        if !relative.normed {
            return Ok(table);
        }
        let Norm { weight, bias } = self.norm("encoder.LayerNorm", hidden, true)?;
        Ok(add_norm(&table, &table.zeros_like()?, &weight, &bias, eps)?)
    }

    /// Distances' vectors as keys and queries of one block: they depend on no text.
    fn relative(
        &self,
        at: &str,
        table: &Tensor,
        positions: RelativePositions,
        spec: &EncoderSpec,
        family: &Family,
    ) -> Result<Relative> {
        let names = match family.names.projections {
            Projections::Apart([query, key, _]) if positions.shared => [key, query],
            _ => ["attention.self.pos_key_proj", "attention.self.pos_query_proj"],
        };
        let project = |name: &str| {
            let layer = self.layer(&self.under(&format!("{at}{name}")), spec.hidden, spec.hidden, Precision::F32)?;
            Ok::<_, ModelError>(layer.apply(table, Activation::None)?)
        };
        let middle = spec.context - 1;
        let distances = -(middle as i64)..=middle as i64;
        let of_distance = distances.map(|distance| positions.row(distance)).collect();
        Ok(Relative { key: project(names[0])?, query: project(names[1])?, of_distance, middle })
    }

    /// The name of one of the encoder's tensors in the file.
    pub(super) fn under(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The layer whose tensors are `name.weight` and `name.bias`.
    pub(super) fn layer(&self, name: &str, outputs: usize, inputs: usize, precision: Precision) -> Result<Layer> {
        self.part(name, 0..outputs, [outputs, inputs], precision, true)
    }

    /// A layer from the `rows` of a tensor of `shape`: one of several that it holds, or all.
    pub(super) fn part(
        &self,
        name: &str,
        rows: Range<usize>,
        shape: [usize; 2],
        precision: Precision,
        has_bias: bool,
    ) -> Result<Layer> {
        let bias = || -> Result<Tensor> {
            Ok(self.dense(&format!("{name}.bias"), &shape[..1])?.narrow(0, rows.start, rows.len())?)
        };
        let bias = has_bias.then(bias).transpose()?;
        Ok(Layer { weight: self.matrix(&format!("{name}.weight"), rows, shape, precision)?, bias })
    }

    fn matrix(&self, name: &str, part: Range<usize>, shape: [usize; 2], precision: Precision) -> Result<Weight> {
        self.note(name);
        if !self.options.device.is_cpu() {
            let all = self.dense(name, &shape)?;
            return Ok(Weight::new(&all.narrow(0, part.start, part.len())?.contiguous()?)?);
        }
        let (outputs, inputs) = (part.len(), shape[1]);
        let rows = self.weights.rows(name, shape[0], inputs)?.slice(part);
        let read = |row: usize, out: &mut [f32]| rows.read(row, out);
        let integers = match precision {
            Precision::Int16 => Weight::from_rows_as_i16(outputs, inputs, read),
            Precision::F32 => None,
        };
        let weight = integers.unwrap_or_else(|| Weight::from_rows(outputs, inputs, read));
        rows.check_read()?;
        Ok(weight)
    }

    pub(super) fn norm(&self, name: &str, hidden: usize, has_bias: bool) -> Result<Norm> {
        self.norm_at(&self.under(name), hidden, has_bias)
    }

    /// The norm whose tensors are `name.weight` and `name.bias`; without a bias, zeros.
    pub(super) fn norm_at(&self, name: &str, hidden: usize, has_bias: bool) -> Result<Norm> {
        // TensorFlow's names, which early conversions kept.
        let either = |new: &str, old: &str| {
            let (new, old) = (format!("{name}.{new}"), format!("{name}.{old}"));
            if !self.weights.contains(&new) && self.weights.contains(&old) { old } else { new }
        };
        let weight = self.dense(&either("weight", "gamma"), &[hidden])?;
        let bias = if has_bias { self.dense(&either("bias", "beta"), &[hidden])? } else { weight.zeros_like()? };
        Ok(Norm { weight, bias })
    }

    /// A table whose rows are selected, in the file's type where Candle can select from it.
    fn table(&self, name: &str, shape: [usize; 2]) -> Result<Tensor> {
        let name = self.under(name);
        self.note(&name);
        let dtype = match self.weights.rows(&name, shape[0], shape[1])?.dtype() {
            GgmlDType::F16 => DType::F16,
            GgmlDType::BF16 => DType::BF16,
            _ => DType::F32,
        };
        self.weights.dense(&name, &shape, dtype, &self.options.device)
    }

    /// Row `row` of a table of `shape`: `[1, columns]`.
    pub(super) fn part_of_table(&self, name: &str, row: usize, shape: [usize; 2]) -> Result<Tensor> {
        self.note(name);
        let rows = self.weights.rows(name, shape[0], shape[1])?.slice(row..row + 1);
        let dense = rows.dense(DType::F32, &self.options.device)?;
        rows.check_read()?;
        Ok(dense)
    }

    pub(super) fn dense(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        self.note(name);
        self.weights.dense(name, shape, DType::F32, &self.options.device)
    }

    /// Notes that `name` was read, or is known and needs not be.
    pub(super) fn note(&self, name: &str) {
        self.used.borrow_mut().insert(name.to_owned());
    }

    /// # Errors
    /// [`ModelError::UnusedTensor`] for a tensor that was not read and is not one of [`Family::unused`]: the model is not
    /// what its configuration says.
    pub(super) fn nothing_left(&self, family: &Family) -> Result<()> {
        let used = self.used.borrow();
        let known = |name: &str| family.unused.iter().any(|beginning| name.starts_with(beginning));
        match self.weights.names().find(|name| !used.contains(*name) && !known(name)) {
            None => Ok(()),
            Some(tensor) => Err(ModelError::UnusedTensor {
                path: self.weights.path().to_owned(),
                tensor: tensor.to_owned(),
                architecture: family.name,
            }),
        }
    }
}
