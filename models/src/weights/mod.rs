//! Weights on disk, as named tensors: GGUF and safetensors behind one type.

mod cursor;
mod gguf;
mod mapped;
mod metadata;
mod safetensors;
mod widen;

pub use gguf::{Gguf, TensorInfo};
pub use metadata::{Metadata, Value};
pub use safetensors::Safetensors;

use crate::error::{ModelError, Result};
use ::safetensors::Dtype;
use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use candle_core::{DType, Device, Tensor};
use std::borrow::Cow;
use std::path::Path;

/// The weights of one model, mapped.
#[derive(Debug)]
pub enum Weights {
    /// One GGUF file, tokenizer and configuration included.
    Gguf(Gguf),
    /// A folder of safetensors; configuration and tokenizer lie beside them.
    Safetensors(Safetensors),
}

/// One tensor as it is stored. `dtype` is `None` for a type that is not handled.
struct Stored<'a> {
    shape: &'a [usize],
    dtype: Option<GgmlDType>,
    bytes: &'a [u8],
}

/// A matrix as it is stored, read a row at a time from any thread.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    bytes: &'a [u8],
    dtype: GgmlDType,
    row_bytes: usize,
}

impl<'a> Rows<'a> {
    /// Widens row `row` into `out`, which has the matrix's `inputs` places.
    pub fn read(&self, row: usize, out: &mut [f32]) {
        widen::row_to_f32(self.stored(row), self.dtype, out);
    }

    /// The bytes of row `row` as they are stored.
    #[must_use]
    pub fn stored(&self, row: usize) -> &'a [u8] {
        &self.bytes[row * self.row_bytes..][..self.row_bytes]
    }

    /// The bits of row `row`, whose elements are f16 or bf16.
    pub fn bits(&self, row: usize, out: &mut [u16]) {
        for (out, bytes) in out.iter_mut().zip(self.stored(row).as_chunks().0) {
            *out = u16::from_le_bytes(*bytes);
        }
    }

    /// Their type.
    #[must_use]
    pub fn dtype(&self) -> GgmlDType {
        self.dtype
    }
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
        Gguf::open(path).map(Self::Gguf)
    }

    /// The file or folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Gguf(gguf) => gguf.path(),
            Self::Safetensors(folder) => folder.path(),
        }
    }

    /// Whether there is a tensor `name`.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::Gguf(gguf) => gguf.tensor_info(name).is_some(),
            Self::Safetensors(folder) => folder.entry(name).is_some(),
        }
    }

    /// The names of all tensors, sorted.
    pub fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Gguf(gguf) => Box::new(gguf.tensors().map(|(name, _)| name)),
            Self::Safetensors(folder) => Box::new(folder.names()),
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
            Self::Gguf(gguf) => gguf.tensor_info(name).map(|info| gguf::type_name(info.dtype).to_owned()),
            Self::Safetensors(folder) => folder.entry(name).map(|entry| entry.dtype.to_string()),
        };
        type_name.ok_or_else(|| self.missing(name))
    }

    /// Tensor `name` of `shape`, dequantised or widened to `dtype`, on `device`.
    ///
    /// # Errors
    /// [`ModelError::MissingTensor`], [`ModelError::Shape`], [`ModelError::ElementType`] for a type that holds no
    /// floats, [`ModelError::Tensor`] when the device refuses.
    pub fn dense(&self, name: &str, shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
        let stored = self.shaped(name, shape)?;
        let stored_dtype = stored.dtype.ok_or_else(|| self.unsupported(name))?;
        let tensor = match (stored_dtype, dtype) {
            (GgmlDType::F16, DType::F16) => Tensor::from_vec(widen::to_f16(stored.bytes), shape, &Device::Cpu),
            (GgmlDType::BF16, DType::BF16) => Tensor::from_vec(widen::to_bf16(stored.bytes), shape, &Device::Cpu),
            _ => Tensor::from_vec(widen::to_f32(stored.bytes, stored_dtype), shape, &Device::Cpu),
        };
        let placed = tensor.and_then(|tensor| tensor.to_dtype(dtype)).and_then(|tensor| tensor.to_device(device));
        placed.map_err(|source| self.refused(name, source))
    }

    /// The rows of matrix `name`, `[outputs, inputs]`, to be widened one by one; `None` where a row is no whole number
    /// of blocks.
    ///
    /// # Errors
    /// As [`Self::dense`].
    pub fn rows(&self, name: &str, outputs: usize, inputs: usize) -> Result<Option<Rows<'_>>> {
        let stored = self.shaped(name, &[outputs, inputs])?;
        let dtype = stored.dtype.ok_or_else(|| self.unsupported(name))?;
        if !inputs.is_multiple_of(dtype.block_size()) {
            return Ok(None);
        }
        Ok(Some(Rows { bytes: stored.bytes, dtype, row_bytes: inputs / dtype.block_size() * dtype.type_size() }))
    }

    /// Tensor `name` of `shape` as it is stored, where that is a block-quantised type; `None` where it is plain floats.
    ///
    /// # Errors
    /// [`ModelError::MissingTensor`], [`ModelError::Shape`], [`ModelError::Tensor`] when the device refuses.
    pub fn quantized(&self, name: &str, shape: &[usize], device: &Device) -> Result<Option<QTensor>> {
        let stored = self.shaped(name, shape)?;
        let Some(dtype) = stored.dtype.filter(|dtype| dtype.block_size() > 1) else { return Ok(None) };
        let tensor = QStorage::from_data(Cow::Borrowed(stored.bytes), device, dtype)
            .and_then(|storage| QTensor::new(storage, shape));
        tensor.map(Some).map_err(|source| self.refused(name, source))
    }

    fn stored(&self, name: &str) -> Result<Stored<'_>> {
        let stored = match self {
            Self::Gguf(gguf) => gguf.tensor_info(name).map(|info| Stored {
                shape: &info.shape,
                dtype: Some(info.dtype),
                bytes: gguf.bytes(info),
            }),
            Self::Safetensors(folder) => folder.entry(name).map(|entry| Stored {
                shape: &entry.shape,
                dtype: float_type(entry.dtype),
                bytes: folder.bytes(entry),
            }),
        };
        stored.ok_or_else(|| self.missing(name))
    }

    fn shaped(&self, name: &str, shape: &[usize]) -> Result<Stored<'_>> {
        let stored = self.stored(name)?;
        if stored.shape == shape {
            return Ok(stored);
        }
        Err(ModelError::Shape {
            path: self.path().to_owned(),
            tensor: name.to_owned(),
            expected: shape.to_vec(),
            found: stored.shape.to_vec(),
        })
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

    fn refused(&self, name: &str, source: candle_core::Error) -> ModelError {
        ModelError::Tensor { what: format!("{}: tensor {name}", self.path().display()), source }
    }
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
