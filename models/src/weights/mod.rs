//! Weights on disk, as named tensors: GGUF and safetensors behind one type.

mod blocks;
mod codebook;
mod cursor;
mod gguf;
mod mapped;
mod metadata;
mod random;
mod rows;
mod safetensors;
mod split;
mod widen;

pub use blocks::{ElementType, held_type, type_name, type_named};
pub use codebook::Codebook;
pub use gguf::{Gguf, TensorInfo};
pub use mapped::map;
pub use memmap2::Mmap;
pub use metadata::{Metadata, Value};
pub use random::{Random, RandomOptions, storage_of};
pub use rows::{Order, Rows};
pub use safetensors::Safetensors;

use crate::arch::names::{BlockTensor, Folder, Name, Naming, Text};
use crate::error::{ModelError, Result};
use crate::spec::DecoderSpec;
use ::safetensors::Dtype;
use candle_core::quantized::GgmlDType;
use candle_core::{DType, Device, Tensor};
use rows::Source;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Endings of files that Python's pickle writes, and of formats from before GGUF.
const PICKLES: [&str; 6] = ["bin", "pt", "pth", "ckpt", "pkl", "pickle"];

/// The weights of one model: mapped files, or random numbers that are made when they are read.
#[derive(Debug)]
pub enum Weights {
    /// A GGUF file or the files of a split one, tokenizer and configuration included.
    Gguf(Gguf),
    /// A folder of safetensors; configuration and tokenizer lie beside them.
    Safetensors(Safetensors),
    /// Random weights in a catalog shape, for benchmarks.
    Random(Random),
}

/// One tensor as it is stored, or as it is held where that differs. `dtype` is `None` for a type that is not handled.
struct Stored<'a> {
    shape: &'a [usize],
    dtype: Option<GgmlDType>,
    source: Source<'a>,
}

impl Weights {
    /// Opens a `.gguf` file or a folder of safetensors.
    ///
    /// # Errors
    /// As [`Gguf::open`] and [`Safetensors::open`].
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Safetensors::open(path).map(Self::Safetensors);
        }
        if path.extension().is_some_and(|extension| extension == "safetensors") && path.is_file() {
            return Err(ModelError::NotAModel {
                path: path.to_owned(),
                expected: "a .gguf file, or the folder that holds model.safetensors and config.json".into(),
                found: "one safetensors file: name its folder instead".into(),
            });
        }
        refuse_pickle(path)?;
        Gguf::open(path).map(Self::Gguf)
    }

    /// The names of their tensors.
    #[must_use]
    pub fn naming(&self) -> Naming {
        let has = |naming: Naming, name| self.contains(&naming.name(name));
        match self {
            Self::Gguf(_) if has(Naming::GgufLfm2, Name::OutputNorm) && !has(Naming::Gguf, Name::OutputNorm) => {
                Naming::GgufLfm2
            }
            Self::Gguf(_) | Self::Random(_) => Naming::Gguf,
            Self::Safetensors(_) if has(Naming::HuggingFaceLfm2, Name::OutputNorm) => Naming::HuggingFaceLfm2,
            Self::Safetensors(_) => {
                let embeds = |text: &Text| {
                    has(Naming::HuggingFace(Folder { text: *text, experts_beside: false }), Name::Embedding)
                };
                let text = Text::WITH_IMAGES.into_iter().find(embeds).unwrap_or_default();
                let beside = Folder { text, experts_beside: true };
                let experts_beside = has(Naming::HuggingFace(beside), Name::Block(0, BlockTensor::ExpertsGateUp));
                Naming::HuggingFace(Folder { text, experts_beside })
            }
        }
    }

    /// Random weights in the shape of `spec`.
    #[must_use]
    pub fn random(spec: &DecoderSpec, options: RandomOptions) -> Self {
        Self::Random(Random::new(spec, options))
    }

    /// The files that hold the weights.
    pub fn files(&self) -> Box<dyn Iterator<Item = &Path> + '_> {
        match self {
            Self::Gguf(gguf) => Box::new(gguf.files()),
            Self::Safetensors(folder) => Box::new(folder.files()),
            Self::Random(_) => Box::new(std::iter::empty()),
        }
    }

    /// The file or folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Gguf(gguf) => gguf.path(),
            Self::Safetensors(folder) => folder.path(),
            Self::Random(random) => random.path(),
        }
    }

    /// Whether there is a tensor `name`.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::Gguf(gguf) => gguf.tensor_info(name).is_some(),
            Self::Safetensors(folder) => folder.entry(name).is_some(),
            Self::Random(random) => random.tensor(name).is_some(),
        }
    }

    /// The names of all tensors, sorted.
    pub fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Gguf(gguf) => Box::new(gguf.tensors().map(|(name, _)| name)),
            Self::Safetensors(folder) => Box::new(folder.names()),
            Self::Random(random) => Box::new(random.names()),
        }
    }

    /// The shape of tensor `name`, row-major, outermost first.
    ///
    /// # Errors
    /// [`ModelError::MissingTensor`].
    pub fn shape(&self, name: &str) -> Result<Vec<usize>> {
        self.stored(name).map(|stored| stored.shape.to_vec())
    }

    /// The element type of tensor `name` as its file calls it: "BF16", "`Q4_K`".
    ///
    /// # Errors
    /// [`ModelError::MissingTensor`].
    pub fn stored_type(&self, name: &str) -> Result<String> {
        let type_name = match self {
            Self::Gguf(gguf) => gguf.tensor_info(name).map(|info| info.dtype.name().to_owned()),
            Self::Safetensors(folder) => folder.entry(name).map(|entry| match entry.is_mxfp4() {
                true => ElementType::Codebook(Codebook::Mxfp4).name().to_owned(),
                false => entry.dtype.to_string(),
            }),
            Self::Random(random) => random.tensor(name).map(|(_, tensor)| type_name(tensor.dtype).to_owned()),
        };
        type_name.ok_or_else(|| self.missing(name))
    }

    /// Tensor `name` of `shape`, dequantised or widened to `dtype`, on `device`.
    ///
    /// # Errors
    /// [`ModelError::MissingTensor`], [`ModelError::Shape`], [`ModelError::ElementType`] for a type that holds no
    /// floats, [`ModelError::NotFinite`], [`ModelError::Tensor`] when the device refuses.
    pub fn dense(&self, name: &str, shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
        let inputs = shape.last().copied().unwrap_or(1);
        let outputs = shape.iter().rev().skip(1).product();
        let dense = self.matrix(name, shape, [outputs, inputs])?.dense(dtype, device)?;
        dense.reshape(shape).map_err(ModelError::from)
    }

    /// The rows of matrix `name`, `[outputs, inputs]`.
    ///
    /// # Errors
    /// [`ModelError::MissingTensor`], [`ModelError::Shape`], [`ModelError::ElementType`] for a type that holds no
    /// floats.
    pub fn rows(&self, name: &str, outputs: usize, inputs: usize) -> Result<Rows<'_>> {
        self.matrix(name, &[outputs, inputs], [outputs, inputs])
    }

    /// The rows of `count` matrices `[outputs, inputs]` that lie one after the other in tensor `name`.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn stacked(&self, name: &str, [count, outputs, inputs]: [usize; 3]) -> Result<Rows<'_>> {
        self.matrix(name, &[count, outputs, inputs], [count * outputs, inputs])
    }

    fn matrix(&self, name: &str, shape: &[usize], matrix: [usize; 2]) -> Result<Rows<'_>> {
        let stored = self.stored(name)?;
        if stored.shape != shape {
            return Err(ModelError::Shape {
                path: self.path().to_owned(),
                tensor: name.to_owned(),
                expected: shape.to_vec(),
                found: stored.shape.to_vec(),
            });
        }
        let dtype = stored.dtype.ok_or_else(|| self.unsupported(name))?;
        Ok(Rows::new(self.path(), name, stored.source, dtype, matrix))
    }

    fn stored(&self, name: &str) -> Result<Stored<'_>> {
        let stored = match self {
            Self::Gguf(gguf) => gguf.tensor_info(name).map(|info| Stored {
                shape: &info.shape,
                dtype: Some(info.dtype.held_as()),
                source: match info.dtype {
                    ElementType::Native(_) => Source::Bytes(gguf.bytes(info)),
                    ElementType::Codebook(codebook) => Source::Codebook(codebook, gguf.bytes(info)),
                },
            }),
            Self::Safetensors(folder) => folder.entry(name).map(|entry| Stored {
                shape: &entry.shape,
                dtype: match entry.is_mxfp4() {
                    true => Some(ElementType::Codebook(Codebook::Mxfp4).held_as()),
                    false => float_type(entry.dtype),
                },
                source: match folder.scales(entry) {
                    Some(scales) => Source::SplitMxfp4 { codes: folder.bytes(entry), scales },
                    None => Source::Bytes(folder.bytes(entry)),
                },
            }),
            Self::Random(random) => random.tensor(name).map(|(shape, tensor)| Stored {
                shape,
                dtype: Some(tensor.dtype),
                source: Source::Random(tensor),
            }),
        };
        stored.ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> ModelError {
        ModelError::MissingTensor { path: self.path().to_owned(), tensor: name.to_owned() }
    }

    fn unsupported(&self, name: &str) -> ModelError {
        ModelError::ElementType {
            path: self.path().to_owned(),
            tensor: name.to_owned(),
            found: self.stored_type(name).unwrap_or_default(),
            supported: safetensors::SUPPORTED_TYPES,
        }
    }
}

/// Refuses a file by its ending, unless it begins as a GGUF file does: reading a pickle runs code.
fn refuse_pickle(path: &Path) -> Result<()> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if !PICKLES.contains(&&*ending) || !path.is_file() {
        return Ok(());
    }
    let mut magic = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    if read.is_ok() && &magic == b"GGUF" {
        return Ok(());
    }
    Err(ModelError::NotAModel {
        path: path.to_owned(),
        expected: "a .gguf file or a folder of safetensors".into(),
        found: format!(
            "a .{ending} file, a pickle, which is never read because reading one runs code: convert it to safetensors"
        ),
    })
}

/// The plain float types of both formats under one name; `None` for anything else.
fn float_type(dtype: Dtype) -> Option<GgmlDType> {
    match dtype {
        Dtype::F32 => Some(GgmlDType::F32),
        Dtype::F16 => Some(GgmlDType::F16),
        Dtype::BF16 => Some(GgmlDType::BF16),
        _ => None,
    }
}
