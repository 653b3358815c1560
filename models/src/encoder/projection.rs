//! Layers behind the pooling of sentence-transformers (`Dense`), as EmbeddingGemma has two.

use super::Layer;
use super::family::MOST;
use crate::arch::Config;
use crate::error::{ModelError, Result};
use crate::weights::{Safetensors, Weights};
use candle_core::{DType, Device, Tensor};
use moot_kernels::{Activation, Weight};
use std::path::Path;

/// One layer, on the CPU in f32: it reads one vector a text.
#[derive(Debug)]
pub(super) struct Projection {
    layer: Layer,
    activation: Activation,
}

impl Projection {
    /// The layers of `folders` in the folder `path`, one behind the other, the first over `inputs` numbers.
    ///
    /// # Errors
    /// A file, field or tensor that is missing, malformed or not supported, or sizes that do not follow each other.
    pub(super) fn all(path: &Path, folders: &[String], mut inputs: usize) -> Result<Vec<Self>> {
        let read = |folder: &String| {
            let layer = Self::read(&path.join(folder), inputs)?;
            inputs = layer.outputs();
            Ok(layer)
        };
        folders.iter().map(read).collect()
    }

    fn read(folder: &Path, inputs: usize) -> Result<Self> {
        let config = Config::open(&folder.join("config.json"))?;
        if config.usize("in_features")? != inputs {
            return Err(config.wrong("in_features", &format!("{inputs}, the length of the vectors before")));
        }
        let activation = match config.optional_str("activation_function")?.unwrap_or("torch.nn.modules.activation.Tanh")
        {
            "torch.nn.modules.linear.Identity" => Activation::None,
            "torch.nn.modules.activation.Tanh" => Activation::Tanh,
            _ => {
                let expected = "torch.nn.modules.linear.Identity or torch.nn.modules.activation.Tanh";
                return Err(config.wrong("activation_function", expected));
            }
        };
        for field in ["module_input_name", "module_output_name"] {
            config.refuse(field, |value| value == "sentence_embedding", "\"sentence_embedding\"")?;
        }
        let outputs = config.usize("out_features")?;
        if !(1..=MOST).contains(&outputs) {
            return Err(config.wrong("out_features", &format!("a number from 1 to {MOST}")));
        }
        let has_bias = !config.has("bias") || config.flag("bias")?;
        let file = folder.join("model.safetensors");
        if !file.exists() {
            return Err(ModelError::NotAModel {
                path: folder.to_owned(),
                expected: "model.safetensors, the weights of a layer behind the pooling".into(),
                found: "none".into(),
            });
        }
        let weights = Weights::Safetensors(Safetensors::open(folder)?);
        let known = |name: &str| name == "linear.weight" || (has_bias && name == "linear.bias");
        if let Some(tensor) = weights.names().find(|name| !known(name)) {
            return Err(ModelError::UnusedTensor {
                path: file,
                tensor: tensor.to_owned(),
                architecture: "a layer behind the pooling",
            });
        }
        let dense = |name: &str, shape: &[usize]| weights.dense(name, shape, DType::F32, &Device::Cpu);
        let weight = Weight::new(&dense("linear.weight", &[outputs, inputs])?)?;
        let bias = has_bias.then(|| dense("linear.bias", &[outputs])).transpose()?;
        Ok(Self { layer: Layer { weight, bias }, activation })
    }

    /// Numbers of a result.
    pub(super) fn outputs(&self) -> usize {
        self.layer.weight.outputs()
    }

    /// `[texts, inputs]` to `[texts, outputs]`, row-major.
    pub(super) fn apply(&self, vectors: Vec<f32>) -> Result<Vec<f32>> {
        let (inputs, count) = (self.layer.weight.inputs(), vectors.len());
        if count == 0 {
            return Ok(vectors);
        }
        let vectors = Tensor::from_vec(vectors, (count / inputs, inputs), &Device::Cpu)?;
        Ok(self.layer.apply(&vectors, self.activation)?.flatten_all()?.to_vec1()?)
    }
}
