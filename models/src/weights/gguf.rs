//! GGUF files, versions 2 and 3: the header is parsed with every number checked, the tensors stay in the mapped file.
//!
//! Format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>. Candle has a reader of its own; this one
//! exists because a header is untrusted: every number of it is compared with the bytes that are there before anything is
//! allocated, skipped or multiplied by it.

use super::blocks::{self, ElementType, SUPPORTED_TYPES};
use super::cursor::Cursor;
use super::mapped::MappedFile;
use super::{Metadata, Value, split};
use crate::error::{ModelError, Result, shortened};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Array elements a file's metadata may hold in all. An element of one byte becomes eight here, so the file's length
/// alone would let 1 GB of zeros ask for 8 GB. The largest vocabularies in use have 256k tokens and 500k merges.
const MAX_ARRAY_ELEMENTS: usize = 1 << 24;

/// Longest key or tensor name in bytes. The specification allows keys of 65535 and tensors' names of 64, none in use is
/// longer than a hundred, and a message that repeats one should fit a screen.
const MAX_NAME: usize = 1024;

/// ggml's own limit.
const MAX_DIMS: u32 = 4;

/// Alignment of a file that does not state it.
const DEFAULT_ALIGNMENT: usize = 32;

/// Where one tensor lies in its file and how it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Row-major, outermost first (the file has it innermost first).
    pub shape: Vec<usize>,
    /// Block type in the file.
    pub dtype: ElementType,
    /// First byte, from the start of the file; a multiple of 8.
    pub offset: usize,
    /// Length in bytes.
    pub bytes: usize,
    /// The file among those of a split model, from 0.
    pub shard: usize,
}

/// An open GGUF file, or all files of a split model: metadata in memory, tensors mapped.
#[derive(Debug)]
pub struct Gguf {
    /// As named.
    path: PathBuf,
    shards: Vec<MappedFile>,
    /// The first file's.
    metadata: Metadata,
    tensors: BTreeMap<String, TensorInfo>,
}

impl Gguf {
    /// Maps `path` and reads its header; of a split model, `path` may be any file, and all are mapped.
    ///
    /// # Errors
    /// [`ModelError::Io`] when the system refuses; [`ModelError::Format`] naming the field or tensor that is not as a
    /// sound file has it; [`ModelError::ElementType`] for a tensor of a type that cannot be read;
    /// [`ModelError::MissingShard`], and [`ModelError::Field`] for a file that is not part of the others.
    pub fn open(path: &Path) -> Result<Self> {
        let one = Self::of(MappedFile::open(path, "GGUF")?)?;
        match split::count(&one.metadata)? {
            1 => Ok(one),
            count => Self::open_all(path, &split::shards(path, &one.metadata, count)?),
        }
    }

    /// A file that is in memory; `origin` stands for it in messages.
    ///
    /// # Errors
    /// As [`Self::open`]; a part of a split model is refused.
    pub fn from_bytes(origin: &Path, bytes: Vec<u8>) -> Result<Self> {
        let one = Self::of(MappedFile::in_memory(origin, bytes))?;
        match split::count(&one.metadata)? {
            1 => Ok(one),
            _ => Err(one.metadata.wrong("split.count", "1 in a file that is in memory")),
        }
    }

    fn open_all(path: &Path, files: &[PathBuf]) -> Result<Self> {
        let mut all =
            Self { path: path.to_owned(), shards: vec![], metadata: Metadata::default(), tensors: BTreeMap::new() };
        for (index, file) in files.iter().enumerate() {
            let part = Self::of(MappedFile::open(file, "GGUF")?)?;
            split::check(&part.metadata, index, files.len())?;
            for (name, info) in part.tensors {
                if all.tensors.contains_key(&name) {
                    let cursor = Cursor::new(file, &[]);
                    return Err(cursor.wrong(&format!("tensor {name}"), "one entry in all files", "a second one"));
                }
                all.tensors.insert(name, TensorInfo { shard: index, ..info });
            }
            all.shards.extend(part.shards);
            if index == 0 {
                all.metadata = part.metadata;
            }
        }
        let found = all.tensors.len();
        match all.metadata.optional_usize(split::TENSORS)? {
            Some(count) if count != found => {
                Err(all.metadata.wrong(split::TENSORS, &format!("{found}, the tensors of all files")))
            }
            _ => Ok(all),
        }
    }

    fn of(file: MappedFile) -> Result<Self> {
        let mut header = Header { cursor: Cursor::new(file.path(), file.bytes()), array_elements: 0 };
        let (tensor_count, value_count) = header.counts()?;
        let values = header.values(value_count)?;
        let alignment = header.alignment(&values)?;
        let mut tensors = header.tensors(tensor_count)?;
        header.resolve_offsets(&mut tensors, alignment, file.bytes().len())?;
        let path = file.path().to_owned();
        let metadata = Metadata::new(path.clone(), values);
        Ok(Self { path, metadata, tensors, shards: vec![file] })
    }

    /// The file that was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All files, in order.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.shards.iter().map(MappedFile::path)
    }

    /// All metadata.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Where tensor `name` lies, when it is there.
    #[must_use]
    pub fn tensor_info(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name)
    }

    /// All tensors in name order.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &TensorInfo)> {
        self.tensors.iter().map(|(name, info)| (name.as_str(), info))
    }

    /// The stored bytes of a tensor of this file.
    pub(super) fn bytes(&self, info: &TensorInfo) -> &[u8] {
        &self.shards[info.shard].bytes()[info.offset..info.offset + info.bytes]
    }
}

/// The header while it is being read.
struct Header<'a> {
    cursor: Cursor<'a>,
    array_elements: usize,
}

impl Header<'_> {
    /// Magic, version, tensor count, metadata count.
    fn counts(&mut self) -> Result<(usize, usize)> {
        let magic = self.cursor.take(4, "magic")?;
        if magic != b"GGUF" {
            return Err(self.cursor.wrong("magic", "the bytes \"GGUF\"", format!("\"{}\"", magic.escape_ascii())));
        }
        let version = self.cursor.u32("version")?;
        if version.swap_bytes() == 3 {
            return Err(self.cursor.wrong("version", "a little-endian file", "a big-endian one"));
        }
        if !(2..=3).contains(&version) {
            return Err(self.cursor.wrong("version", "2 or 3", version.to_string()));
        }
        // The smallest tensor entry: name length, dimension count, type, offset. The smallest value: key length, type, one byte.
        let tensors = self.cursor.count(8 + 4 + 4 + 8, "tensor count")?;
        let values = self.cursor.count(8 + 4 + 1, "metadata count")?;
        Ok((tensors, values))
    }

    fn values(&mut self, count: usize) -> Result<BTreeMap<String, Value>> {
        let mut values = BTreeMap::new();
        for index in 0..count {
            let key = self.name(&format!("key of metadata field {index}"))?;
            let location = format!("metadata field {key}");
            let kind = self.cursor.u32(&location)?;
            let value = self.value(kind, &location)?;
            if values.insert(key, value).is_some() {
                return Err(self.cursor.wrong(&location, "one value", "a second one"));
            }
        }
        Ok(values)
    }

    fn name(&mut self, location: &str) -> Result<String> {
        let name = self.cursor.text(location)?;
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(self.cursor.wrong(location, format!("1 to {MAX_NAME} bytes"), name.len().to_string()));
        }
        if name.contains(char::is_control) {
            return Err(self.cursor.wrong(location, "a name without control characters", shortened(name)));
        }
        Ok(name.to_owned())
    }

    /// One value of the specification's type number `kind`.
    fn value(&mut self, kind: u32, location: &str) -> Result<Value> {
        let cursor = &mut self.cursor;
        Ok(match kind {
            0 => Value::Unsigned(cursor.fixed::<1>(location)?[0].into()),
            1 => Value::Signed(i8::from_le_bytes(cursor.fixed(location)?).into()),
            2 => Value::Unsigned(u16::from_le_bytes(cursor.fixed(location)?).into()),
            3 => Value::Signed(i16::from_le_bytes(cursor.fixed(location)?).into()),
            4 => Value::Unsigned(cursor.u32(location)?.into()),
            5 => Value::Signed(i32::from_le_bytes(cursor.fixed(location)?).into()),
            6 => Value::Float(f32::from_le_bytes(cursor.fixed(location)?).into()),
            7 => Value::Bool(self.boolean(location)?),
            8 => Value::String(cursor.text(location)?.to_owned()),
            9 => self.array(location)?,
            10 => Value::Unsigned(cursor.u64(location)?),
            11 => Value::Signed(i64::from_le_bytes(cursor.fixed(location)?)),
            12 => Value::Float(f64::from_le_bytes(cursor.fixed(location)?)),
            _ => return Err(self.cursor.wrong(location, "a value type from 0 to 12", kind.to_string())),
        })
    }

    fn boolean(&mut self, location: &str) -> Result<bool> {
        match self.cursor.fixed::<1>(location)?[0] {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.cursor.wrong(location, "a boolean, 0 or 1", other.to_string())),
        }
    }

    fn array(&mut self, location: &str) -> Result<Value> {
        let kind = self.cursor.u32(location)?;
        let smallest = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8 | 10..=12 => 8,
            9 => {
                return Err(self.cursor.wrong(
                    location,
                    "an array of numbers, booleans or strings",
                    "an array of arrays",
                ));
            }
            _ => return Err(self.cursor.wrong(location, "an element type from 0 to 12", kind.to_string())),
        };
        let count = self.cursor.count(smallest, location)?;
        self.array_elements += count;
        if self.array_elements > MAX_ARRAY_ELEMENTS {
            let found = format!("{} up to here", self.array_elements);
            return Err(self.cursor.wrong(
                location,
                format!("at most {MAX_ARRAY_ELEMENTS} elements in all arrays"),
                found,
            ));
        }
        let cursor = &mut self.cursor;
        Ok(match kind {
            0 => Value::UnsignedArray(cursor.numbers(count, location, |b: [u8; 1]| b[0].into())?),
            1 => Value::SignedArray(cursor.numbers(count, location, |b| i8::from_le_bytes(b).into())?),
            2 => Value::UnsignedArray(cursor.numbers(count, location, |b| u16::from_le_bytes(b).into())?),
            3 => Value::SignedArray(cursor.numbers(count, location, |b| i16::from_le_bytes(b).into())?),
            4 => Value::UnsignedArray(cursor.numbers(count, location, |b| u32::from_le_bytes(b).into())?),
            5 => Value::SignedArray(cursor.numbers(count, location, |b| i32::from_le_bytes(b).into())?),
            6 => Value::FloatArray(cursor.numbers(count, location, |b| f32::from_le_bytes(b).into())?),
            7 => Value::BoolArray((0..count).map(|_| self.boolean(location)).collect::<Result<_>>()?),
            10 => Value::UnsignedArray(cursor.numbers(count, location, u64::from_le_bytes)?),
            11 => Value::SignedArray(cursor.numbers(count, location, i64::from_le_bytes)?),
            12 => Value::FloatArray(cursor.numbers(count, location, f64::from_le_bytes)?),
            _ => Value::StringArray(
                (0..count).map(|_| Ok(cursor.counted_bytes(location)?.to_vec())).collect::<Result<_>>()?,
            ),
        })
    }

    /// The alignment of tensor data. The specification asks for a multiple of 8; candle's block types need 4 at most,
    /// so with it every block of a mapped file is where a reference to it may point.
    fn alignment(&self, values: &BTreeMap<String, Value>) -> Result<usize> {
        let field = "general.alignment";
        let number = match values.get(field) {
            None => return Ok(DEFAULT_ALIGNMENT),
            Some(Value::Unsigned(number)) => usize::try_from(*number).ok(),
            Some(_) => None,
        };
        number.filter(|n| n.is_power_of_two() && *n >= 8).ok_or_else(|| {
            let found = match values.get(field) {
                Some(Value::Unsigned(number)) => number.to_string(),
                other => other.map_or("nothing", Value::kind).to_owned(),
            };
            self.cursor.wrong(&format!("metadata field {field}"), "a power of two of at least 8", found)
        })
    }

    /// The table of tensors; offsets are still counted from the start of the data.
    fn tensors(&mut self, count: usize) -> Result<BTreeMap<String, TensorInfo>> {
        let mut tensors = BTreeMap::new();
        for index in 0..count {
            let name = self.name(&format!("name of tensor {index}"))?;
            let location = format!("tensor {name}");
            let info = self.tensor(&name, &location)?;
            if tensors.insert(name, info).is_some() {
                return Err(self.cursor.wrong(&location, "one entry", "a second one"));
            }
        }
        Ok(tensors)
    }

    fn tensor(&mut self, name: &str, location: &str) -> Result<TensorInfo> {
        let dims = self.cursor.u32(location)?;
        if dims > MAX_DIMS {
            return Err(self.cursor.wrong(location, format!("at most {MAX_DIMS} dimensions"), dims.to_string()));
        }
        let mut sizes = (0..dims).map(|_| self.cursor.u64(location)).collect::<Result<Vec<_>>>()?;
        let type_number = self.cursor.u32(location)?;
        let dtype = blocks::of_number(type_number).map_err(|found| ModelError::ElementType {
            path: self.cursor.path().to_owned(),
            tensor: name.to_owned(),
            found,
            supported: SUPPORTED_TYPES,
        })?;
        let offset = self.cursor.u64(location)?;
        sizes.reverse();
        let (shape, bytes) = stored_size(&sizes, dtype).ok_or_else(|| {
            let expected = format!("whole rows of blocks of {} elements, countable in 64 bits", dtype.block_size());
            self.cursor.wrong(location, expected, format!("shape {sizes:?} of type {}", dtype.name()))
        })?;
        let offset = usize::try_from(offset)
            .map_err(|_| self.cursor.wrong(location, "an offset this machine can address", offset.to_string()))?;
        Ok(TensorInfo { shape, dtype, offset, bytes, shard: 0 })
    }

    /// Makes offsets relative to the start of the file; refuses tensors that are unaligned, outside the file, or overlap.
    fn resolve_offsets(
        &self,
        tensors: &mut BTreeMap<String, TensorInfo>,
        alignment: usize,
        length: usize,
    ) -> Result<()> {
        let start = self.cursor.position().checked_next_multiple_of(alignment);
        for (name, info) in tensors.iter_mut() {
            let location = format!("tensor {name}");
            if !info.offset.is_multiple_of(alignment) {
                let expected = format!("an offset that is a multiple of {alignment}");
                return Err(self.cursor.wrong(&location, expected, info.offset.to_string()));
            }
            let first = start.and_then(|start| start.checked_add(info.offset));
            let end = first.and_then(|first| first.checked_add(info.bytes)).filter(|end| *end <= length);
            let (Some(first), Some(_)) = (first, end) else {
                let expected = format!("{} bytes at offset {} of the tensor data", info.bytes, info.offset);
                return Err(self.cursor.wrong(&location, expected, format!("a file of {length} bytes")));
            };
            info.offset = first;
        }
        // In this order an overlap is one of neighbours.
        let mut by_offset: Vec<_> = tensors.iter().collect();
        by_offset.sort_by_key(|(_, info)| info.offset);
        for pair in by_offset.windows(2) {
            let [(before, info), (after, next)] = [pair[0], pair[1]];
            if info.offset + info.bytes > next.offset {
                let found = format!("bytes that belong to tensor {before} too");
                return Err(self.cursor.wrong(&format!("tensor {after}"), "bytes of its own", found));
            }
        }
        Ok(())
    }
}

/// Shape and length in bytes; `None` where a dimension is 0, a row is not a whole number of blocks, or the product
/// overflows.
fn stored_size(sizes: &[u64], dtype: ElementType) -> Option<(Vec<usize>, usize)> {
    let shape: Vec<usize> = sizes.iter().map(|n| usize::try_from(*n).ok()).collect::<Option<_>>()?;
    let elements = shape.iter().try_fold(1usize, |product, n| product.checked_mul(*n))?;
    let row = shape.last().copied().unwrap_or(1);
    if elements == 0 || !row.is_multiple_of(dtype.block_size()) {
        return None;
    }
    let bytes = (elements / dtype.block_size()).checked_mul(dtype.type_size())?;
    Some((shape, bytes))
}
