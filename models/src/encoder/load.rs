//! From a folder's tensors to an [`Encoder`].

use super::family::Family;
use super::spec::{EncoderSpec, RelativePositions};
use super::{Batches, Block, Encoder, Layer, Norm};
use crate::error::{ModelError, Result};
use crate::weights::Weights;
use candle_core::quantized::GgmlDType;
use candle_core::{DType, Device, Tensor};
use moot_kernels::ops::add_norm::add_norm;
use moot_kernels::{Activation, Relative, Weight};
use std::cell::RefCell;
use std::collections::HashSet;
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
        let bare = weights.contains("embeddings.word_embeddings.weight");
        let prefix = if bare { "" } else { family.prefix };
        Self { weights, options, prefix, used: RefCell::default() }
    }

    /// # Errors
    /// A tensor that is missing, of another shape, of a type that holds no floats or with a number that is not finite.
    pub(super) fn encoder(&self, family: &Family, spec: EncoderSpec) -> Result<Encoder> {
        let (hidden, eps) = (spec.hidden, spec.norm_eps);
        let word_embeddings = self.table("embeddings.word_embeddings.weight", [spec.vocab, hidden])?;
        let positions = spec.positions.map(|at| self.table("embeddings.position_embeddings.weight", [at.rows, hidden]));
        let segments = (spec.segments > 0)
            .then(|| self.table("embeddings.token_type_embeddings.weight", [spec.segments, hidden]))
            .transpose()?;
        let norm = self.norm("embeddings.LayerNorm", hidden)?;
        let relative = spec.relative.map(|relative| self.relative_table(relative, hidden, eps)).transpose()?;
        let blocks = (0..spec.layers).map(|index| self.block(index, family, &spec, relative.as_ref()));
        let blocks = blocks.collect::<Result<_>>()?;
        let device = self.options.device.clone();
        // A GPU computes behind this thread. Its errors are returned here and not by the first batch.
        device.synchronize()?;
        Ok(Encoder {
            word_embeddings,
            positions: positions.transpose()?,
            segments,
            norm,
            blocks,
            turn: Mutex::new(()),
            device,
            spec,
        })
    }

    fn block(&self, index: usize, family: &Family, spec: &EncoderSpec, relative: Option<&Tensor>) -> Result<Block> {
        let at = |part: &str| format!("encoder.layer.{index}.{part}");
        let own = |part: &str| self.inner(&at(&format!("attention.self.{part}")), spec.hidden, spec.hidden);
        let [query, key, value] = family.projections.map(own);
        let (query, key) = (query?, key?);
        let relative = match (relative, spec.relative) {
            (Some(table), Some(positions)) => {
                Some(self.relative(&at("attention.self."), table, positions, spec, family)?)
            }
            _ => None,
        };
        Ok(Block {
            query,
            key,
            value: value?,
            relative,
            attention_output: self.inner(&at("attention.output.dense"), spec.hidden, spec.hidden)?,
            attention_norm: self.norm(&at("attention.output.LayerNorm"), spec.hidden)?,
            inner: self.inner(&at("intermediate.dense"), spec.intermediate, spec.hidden)?,
            outer: self.inner(&at("output.dense"), spec.hidden, spec.intermediate)?,
            outer_norm: self.norm(&at("output.LayerNorm"), spec.hidden)?,
        })
    }

    /// The vectors of all distances, `[2 * span, hidden]`, normed where the model does.
    fn relative_table(&self, relative: RelativePositions, hidden: usize, eps: f32) -> Result<Tensor> {
        let table = self.dense(&self.under("encoder.rel_embeddings.weight"), &[2 * relative.span, hidden])?;
        if !relative.normed {
            return Ok(table);
        }
        let Norm { weight, bias } = self.norm("encoder.LayerNorm", hidden)?;
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
        let [query, key, _] = family.projections;
        let names = if positions.shared { [key, query] } else { ["pos_key_proj", "pos_query_proj"] };
        let project = |name: &str| {
            let layer = self.layer(&self.under(&format!("{at}{name}")), spec.hidden, spec.hidden, Precision::F32)?;
            Ok::<_, ModelError>(layer.apply(table, Activation::None)?)
        };
        let middle = spec.context - 1;
        let distances = -(middle as i64)..=middle as i64;
        let of_distance = distances.map(|distance| positions.row(distance)).collect();
        Ok(Relative { key: project(names[0])?, query: project(names[1])?, of_distance, middle })
    }

    fn under(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// A layer of the encoder, stored with the precision of the options.
    fn inner(&self, name: &str, outputs: usize, inputs: usize) -> Result<Layer> {
        self.layer(&self.under(name), outputs, inputs, self.options.precision)
    }

    /// The layer whose tensors are `name.weight` and `name.bias`.
    pub(super) fn layer(&self, name: &str, outputs: usize, inputs: usize, precision: Precision) -> Result<Layer> {
        let bias = self.dense(&format!("{name}.bias"), &[outputs])?;
        Ok(Layer { weight: self.matrix(&format!("{name}.weight"), outputs, inputs, precision)?, bias })
    }

    fn matrix(&self, name: &str, outputs: usize, inputs: usize, precision: Precision) -> Result<Weight> {
        self.note(name);
        if !self.options.device.is_cpu() {
            return Ok(Weight::new(&self.dense(name, &[outputs, inputs])?)?);
        }
        let rows = self.weights.rows(name, outputs, inputs)?;
        let read = |row: usize, out: &mut [f32]| rows.read(row, out);
        let integers = match precision {
            Precision::Int16 => Weight::from_rows_as_i16(outputs, inputs, read),
            Precision::F32 => None,
        };
        let weight = integers.unwrap_or_else(|| Weight::from_rows(outputs, inputs, read));
        rows.check_read()?;
        Ok(weight)
    }

    fn norm(&self, name: &str, hidden: usize) -> Result<Norm> {
        let name = self.under(name);
        // TensorFlow's names, which early conversions kept.
        let either = |new: &str, old: &str| {
            let (new, old) = (format!("{name}.{new}"), format!("{name}.{old}"));
            if !self.weights.contains(&new) && self.weights.contains(&old) { old } else { new }
        };
        let (weight, bias) = (either("weight", "gamma"), either("bias", "beta"));
        Ok(Norm { weight: self.dense(&weight, &[hidden])?, bias: self.dense(&bias, &[hidden])? })
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

    fn dense(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        self.note(name);
        self.weights.dense(name, shape, DType::F32, &self.options.device)
    }

    fn note(&self, name: &str) {
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
