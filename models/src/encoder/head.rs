//! Classification heads of encoders.

use super::family::{Family, HeadNames, HeadOf};
use super::labels::labels;
use super::load::Loader;
use super::step::Step;
use super::{EncoderSpec, Layer, Norm, Packed, Pooling, Precision};
use crate::arch::Config;
use crate::error::Result;
use candle_core::Tensor;
use moot_kernels::{Activation, read_back};

/// From the vectors of a text's tokens to the logits of its classes.
#[derive(Debug)]
pub(super) enum Head {
    /// [`HeadOf::Layers`].
    Layers {
        /// The vector that is read.
        pooling: Pooling,
        dense: Layer,
        activation: Activation,
        /// The norm behind `dense`, with its epsilon.
        norm: Option<(Norm, f32)>,
        output: Layer,
    },
    /// [`HeadOf::Token`].
    Token(Layer),
    /// [`HeadOf::Step`].
    Step(Step),
}

impl Head {
    /// The head of `family`, and the names of its classes. `words` are the ids of "0" and "1", for [`HeadOf::Step`].
    ///
    /// # Errors
    /// A field or tensor that is missing, malformed or not supported.
    pub(super) fn load(
        loader: &Loader<'_>,
        family: &Family,
        spec: &EncoderSpec,
        config: &Config,
        words: [u32; 2],
    ) -> Result<(Self, Vec<String>)> {
        let hidden = spec.hidden;
        let of_output = |name: &str| -> Result<Vec<String>> {
            let rows = loader.weights.shape(&format!("{name}.weight"))?;
            labels(config, rows.first().copied().unwrap_or(0))
        };
        Ok(match family.head {
            HeadOf::Layers(names) => {
                let HeadNames { dense, bias, norm, output, gelu, activation } = names;
                let expected = if gelu { "gelu" } else { "tanh" };
                config.refuse(activation, |value| value == expected, expected)?;
                let pooling = match config.optional_str("classifier_pooling")? {
                    None | Some("cls") => Pooling::Cls,
                    Some("mean") => Pooling::Mean,
                    Some(_) => return Err(config.wrong("classifier_pooling", "cls or mean")),
                };
                let labels = of_output(output)?;
                let dense = loader.part(dense, 0..hidden, [hidden, hidden], Precision::F32, bias)?;
                let norm = norm.map(|name| loader.norm_at(name, hidden, false)).transpose()?;
                let head = Self::Layers {
                    pooling,
                    dense,
                    activation: if gelu { Activation::Gelu } else { Activation::Tanh },
                    norm: norm.map(|norm| (norm, spec.norm_eps)),
                    output: loader.layer(output, labels.len(), hidden, Precision::F32)?,
                };
                (head, labels)
            }
            HeadOf::Token(output) => {
                let labels = of_output(output)?;
                (Self::Token(loader.layer(output, labels.len(), hidden, Precision::F32)?), labels)
            }
            HeadOf::Step => {
                let labels = ["unsupported", "supported"].map(str::to_owned).to_vec();
                (Self::Step(Step::load(loader, spec, config, words)?), labels)
            }
        })
    }

    /// Logits of every text of `packed`, `[texts][labels]`, from its tokens' vectors, `[tokens, hidden]`.
    ///
    /// # Errors
    /// An operation fails.
    pub(super) fn logits(&self, states: &Tensor, packed: &Packed) -> Result<Vec<Vec<f32>>> {
        let logits = match self {
            Self::Layers { pooling, dense, activation, norm, output } => {
                let pooled = match pooling {
                    Pooling::Mean => means(states, packed)?,
                    _ => first_tokens(states, packed)?,
                };
                let mut dense = dense.apply(&pooled, *activation)?;
                if let Some((norm, eps)) = norm {
                    dense = norm.of_sum(&dense, &dense.zeros_like()?, *eps)?;
                }
                output.apply(&dense, Activation::None)?
            }
            Self::Token(output) => output.apply(&first_tokens(states, packed)?, Activation::None)?,
            Self::Step(step) => step.forward(states, &packed.texts)?,
        };
        Ok(read_back(&logits)?.to_vec2()?)
    }
}

/// The first token's vector of each text: `[texts, hidden]`.
fn first_tokens(states: &Tensor, packed: &Packed) -> candle_core::Result<Tensor> {
    let first: Vec<u32> = (0..packed.texts.count()).map(|text| packed.texts.range(text).start as u32).collect();
    states.index_select(&Tensor::new(first, states.device())?, 0)
}

/// The mean vector of each text: `[texts, hidden]`.
fn means(states: &Tensor, packed: &Packed) -> candle_core::Result<Tensor> {
    let ranges = (0..packed.texts.count()).map(|text| packed.texts.range(text));
    let means = ranges.map(|range| states.narrow(0, range.start, range.len())?.mean(0));
    Tensor::stack(&means.collect::<candle_core::Result<Vec<_>>>()?, 0)
}
