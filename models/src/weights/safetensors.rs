//! A folder of safetensors: one file, or shards and the index that says which tensor lies in which.
//!
//! Format: <https://github.com/huggingface/safetensors>. The crate checks a header (lengths, overlaps, gaps, product
//! against byte range); this file checks the index, names the culprit, and keeps the maps.

use super::mapped::MappedFile;
use crate::error::{ModelError, Result, shortened};
use safetensors::tensor::{Dtype, Metadata, SafeTensorError, TensorInfo};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Names of the element types that can be widened, for messages.
pub(super) const SUPPORTED_TYPES: &str = "F32, F16, BF16";

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Largest index read. The largest published ones (61 layers of 256 experts) have about 10 MB.
const MAX_INDEX_BYTES: u64 = 128 << 20;

/// Longest name of a tensor, in bytes, so that a message can repeat it.
const MAX_NAME: usize = 1024;

/// The location of one tensor.
#[derive(Debug)]
pub(super) struct Entry {
    shard: usize,
    pub(super) dtype: Dtype,
    /// Row-major, outermost first.
    pub(super) shape: Vec<usize>,
    start: usize,
    end: usize,
    /// The tensor of its scales, where it is the codes of a matrix in MXFP4. The shape is the matrix's.
    scales: Option<Box<Entry>>,
}

impl Entry {
    /// Whether it is the codes of a matrix in MXFP4.
    pub(super) fn is_mxfp4(&self) -> bool {
        self.scales.is_some()
    }
}

/// The open safetensors files of one folder.
#[derive(Debug)]
pub struct Safetensors {
    folder: PathBuf,
    shards: Vec<MappedFile>,
    tensors: BTreeMap<String, Entry>,
}

/// `model.safetensors.index.json`, as far as it is needed.
#[derive(serde::Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Safetensors {
    /// Maps `model.safetensors` in `folder`, or the shards that `model.safetensors.index.json` names.
    ///
    /// # Errors
    /// [`ModelError::Io`] when the system refuses; [`ModelError::Format`] naming file and tensor when a header or the
    /// index is not sound; [`ModelError::NotAModel`] when the folder has no safetensors (a pickle is never read, and the
    /// message says so).
    pub fn open(folder: &Path) -> Result<Self> {
        let mut opened = Self { folder: folder.to_owned(), shards: vec![], tensors: BTreeMap::new() };
        if folder.join(SINGLE).exists() {
            let (file, data, header) = open_shard(&folder.join(SINGLE))?;
            for (name, info) in header.tensors() {
                opened.tensors.insert(name, entry(0, data, info));
            }
            opened.shards.push(file);
            return Ok(opened.with_mxfp4());
        }
        let index_path = folder.join(INDEX);
        if !index_path.exists() {
            return Err(no_safetensors(folder));
        }
        for (shard, tensors) in read_index(&index_path)? {
            opened.add_shard(&index_path, &shard, tensors)?;
        }
        Ok(opened.with_mxfp4())
    }

    /// With `model.` before the names of a decoder that was saved without its head, as embedding models are.
    #[must_use]
    pub(crate) fn with_model_in_names(mut self) -> Self {
        if self.tensors.contains_key("embed_tokens.weight") {
            let renamed = |(name, entry)| (format!("model.{name}"), entry);
            self.tensors = std::mem::take(&mut self.tensors).into_iter().map(renamed).collect();
        }
        self
    }

    /// One file that is in memory; `origin` stands for its folder in messages.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_bytes(origin: &Path, bytes: Vec<u8>) -> Result<Self> {
        let (file, data, header) = read_shard(MappedFile::in_memory(&origin.join(SINGLE), bytes))?;
        let tensors = header.tensors().into_iter().map(|(name, info)| (name, entry(0, data, info))).collect();
        Ok(Self { folder: origin.to_owned(), shards: vec![file], tensors }.with_mxfp4())
    }

    /// Each pair of tensors of bytes `NAME_blocks`, `[.., blocks, 16]`, and `NAME_scales`, `[.., blocks]`, as the one
    /// tensor `NAME` in MXFP4, `[.., 32 * blocks]`. Others stay as they are, and no architecture uses them.
    fn with_mxfp4(mut self) -> Self {
        let codes = self.tensors.keys().filter_map(|name| name.strip_suffix("_blocks").map(str::to_owned));
        for name in codes.collect::<Vec<_>>() {
            let [of_codes, of_scales] = ["blocks", "scales"].map(|part| format!("{name}_{part}"));
            let (Some(codes), Some(scales)) = (self.tensors.get(&of_codes), self.tensors.get(&of_scales)) else {
                continue;
            };
            let [outer @ .., blocks, 16] = &codes.shape[..] else { continue };
            let Some(inputs) = blocks.checked_mul(32) else { continue };
            let shape = [outer, &[inputs]].concat();
            let alike = scales.shape == [outer, &[*blocks]].concat();
            let bytes = codes.dtype == Dtype::U8 && scales.dtype == Dtype::U8;
            if !alike || !bytes || self.tensors.contains_key(&name) {
                continue;
            }
            let scales = self.tensors.remove(&of_scales).map(Box::new);
            if let Some(codes) = self.tensors.remove(&of_codes) {
                self.tensors.insert(name, Entry { shape, scales, ..codes });
            }
        }
        self
    }

    /// Maps one shard and takes the tensors that the index looks for in it.
    fn add_shard(&mut self, index: &Path, shard: &str, tensors: Vec<String>) -> Result<()> {
        let path = self.folder.join(shard);
        if !path.exists() {
            let location = format!("tensor {}", tensors.first().map_or("", String::as_str));
            return Err(wrong(index, &location, format!("the shard {shard} beside the index"), "no such file"));
        }
        let (file, data, header) = open_shard(&path)?;
        for name in tensors {
            let info = header.info(&name).ok_or_else(|| {
                wrong(&path, &format!("tensor {name}"), "the tensor, as the index says", "no tensor of that name")
            })?;
            self.tensors.insert(name, entry(self.shards.len(), data, info));
        }
        self.shards.push(file);
        Ok(())
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The mapped files, in the order of their names.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.shards.iter().map(MappedFile::path)
    }

    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.tensors.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    pub(super) fn bytes(&self, entry: &Entry) -> &[u8] {
        &self.shards[entry.shard].bytes()[entry.start..entry.end]
    }

    /// As [`Self::bytes`], of the scales of codes in MXFP4.
    pub(super) fn scales(&self, entry: &Entry) -> Option<&[u8]> {
        entry.scales.as_ref().map(|scales| self.bytes(scales))
    }
}

fn wrong(path: &Path, location: &str, expected: impl Into<String>, found: impl Into<String>) -> ModelError {
    ModelError::Format {
        path: path.to_owned(),
        format: "safetensors",
        location: shortened(location),
        expected: expected.into(),
        found: shortened(&found.into()),
    }
}

fn entry(shard: usize, data: usize, info: &TensorInfo) -> Entry {
    let (start, end) = info.data_offsets;
    Entry { shard, dtype: info.dtype, shape: info.shape.clone(), start: data + start, end: data + end, scales: None }
}

/// Maps one file: the map, where its data starts, its header. The crate has checked that the ranges follow
/// one another from the start of the data to the end of the file and that each fits its shape.
fn open_shard(path: &Path) -> Result<(MappedFile, usize, Metadata)> {
    read_shard(MappedFile::open(path, "safetensors")?)
}

fn read_shard(file: MappedFile) -> Result<(MappedFile, usize, Metadata)> {
    let (header_length, header) =
        safetensors::SafeTensors::read_metadata(file.bytes()).map_err(|e| unsound(file.path(), file.bytes(), &e))?;
    let unfit = |name: &&String| name.is_empty() || name.len() > MAX_NAME || name.contains(char::is_control);
    if let Some(name) = header.tensors().keys().find(unfit) {
        let expected = format!("a name of 1 to {MAX_NAME} bytes without control characters");
        return Err(wrong(file.path(), "the name of a tensor", expected, name.clone()));
    }
    Ok((file, 8 + header_length, header))
}

/// The crate's reason as this package's error, with the tensor's name where one tensor is to blame.
fn unsound(path: &Path, bytes: &[u8], error: &SafeTensorError) -> ModelError {
    let location = match error {
        SafeTensorError::InvalidOffset(name) => format!("tensor {name}"),
        _ => misfit(bytes).map_or_else(|| "header".to_owned(), |name| format!("tensor {name}")),
    };
    let expected = match error {
        SafeTensorError::InvalidOffset(_) => "bytes that follow the tensor before it".to_owned(),
        SafeTensorError::MetadataIncompleteBuffer => "data as long as the header says".to_owned(),
        SafeTensorError::TensorInvalidInfo | SafeTensorError::ValidationOverflow => {
            "as many bytes as the shape takes".to_owned()
        }
        _ => "a length and a JSON table of tensors".to_owned(),
    };
    let found = match error {
        SafeTensorError::MetadataIncompleteBuffer => format!("a file of {} bytes", bytes.len()),
        other => other.to_string(),
    };
    wrong(path, &location, expected, found)
}

/// The first tensor, by name, whose shape and byte range disagree: the crate's error does not name it.
fn misfit(bytes: &[u8]) -> Option<String> {
    let length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk()?)).ok()?;
    let header = bytes.get(8..8usize.checked_add(length)?)?;
    let table: BTreeMap<String, serde_json::Value> = serde_json::from_slice(header).ok()?;
    table.into_iter().filter(|(name, _)| name != "__metadata__").find_map(|(name, value)| {
        let Ok(info) = serde_json::from_value::<TensorInfo>(value) else { return Some(name) };
        let bits = info.shape.iter().try_fold(info.dtype.bitsize(), |product, n| product.checked_mul(*n));
        let (start, end) = info.data_offsets;
        (bits.map(|bits| bits.div_ceil(8)) != end.checked_sub(start)).then_some(name)
    })
}

/// The index as shard -> tensors. A shard must be a plain file name: an index comes with the weights, from anywhere.
fn read_index(path: &Path) -> Result<BTreeMap<String, Vec<String>>> {
    let io = |source| ModelError::Io { path: path.to_owned(), action: "read", source };
    let length = std::fs::metadata(path).map_err(io)?.len();
    if length > MAX_INDEX_BYTES {
        return Err(wrong(path, "the file itself", format!("at most {MAX_INDEX_BYTES} bytes"), length.to_string()));
    }
    let text = std::fs::read(path).map_err(io)?;
    let index: Index = serde_json::from_slice(&text)
        .map_err(|e| wrong(path, "weight_map", "a JSON table from tensor to file name", e.to_string()))?;
    let mut shards = BTreeMap::<String, Vec<String>>::new();
    for (tensor, shard) in index.weight_map {
        let mut parts = Path::new(&shard).components();
        let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        if !plain || shard.contains(['/', '\\']) || !shard.ends_with(".safetensors") {
            let expected = "a file name ending in .safetensors, without a folder";
            return Err(wrong(path, &format!("tensor {tensor}"), expected, format!("{shard:?}")));
        }
        shards.entry(shard).or_default().push(tensor);
    }
    if shards.is_empty() {
        return Err(wrong(path, "weight_map", "at least one tensor", "none"));
    }
    Ok(shards)
}

/// The error for a folder without safetensors, which names what the folder has instead.
fn no_safetensors(folder: &Path) -> ModelError {
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(source) => return ModelError::Io { path: folder.to_owned(), action: "list", source },
    };
    let mut names: Vec<String> =
        listing.filter_map(|file| Some(file.ok()?.file_name().to_string_lossy().into_owned())).collect();
    names.sort();
    let ending = |endings: &[&str]| names.iter().find(|name| endings.iter().any(|ending| name.ends_with(ending)));
    let found = if let Some(gguf) = ending(&[".gguf"]) {
        format!("{gguf}, which is a model by itself: name that file instead of the folder")
    } else if let Some(pickle) = ending(&[".bin", ".pt", ".pth", ".ckpt", ".pkl"]) {
        format!("{pickle}, a pickle, which is never read because reading one runs code: convert it to safetensors")
    } else {
        "neither".to_owned()
    };
    let expected = format!("a model folder, with {SINGLE} or {INDEX}");
    ModelError::NotAModel { path: folder.to_owned(), expected, found }
}
