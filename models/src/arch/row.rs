//! A row of the table of architectures.

use super::config::Config;
use crate::error::Result;
use crate::spec::DecoderSpec;
use crate::weights::Metadata;

/// A row of [`ARCHS`](super::ARCHS).
pub struct Arch {
    /// Its name in this program; with `from_gguf`, GGUF's `general.architecture` too.
    pub name: &'static str,
    /// `model_type` in config.json.
    pub model_type: &'static str,
    /// A description, one line.
    pub about: &'static str,
    /// Reads a GGUF's metadata. None where GGUF files count it to another row.
    pub from_gguf: Option<fn(&Metadata) -> Result<DecoderSpec>>,
    /// Reads a config.json.
    pub from_config: fn(&Config) -> Result<DecoderSpec>,
}
