//! Embedder arguments of the commands on indexes.

use crate::workspace::EmbedderOptions;

/// Embedder arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct EmbedderArgs {
    /// Embedder: a name of the catalog, a folder, a GGUF file, hf:org/repo, or "none" for BM25 only; by default all-minilm-l6-v2 for a
    /// new index, otherwise the index's own
    #[arg(long, value_name = "NAME")]
    pub embedder: Option<String>,
    /// Device of the embedder: cpu, cuda, cuda:N or metal. Search an index with the device that built it: the vectors'
    /// last digits differ
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,
    /// Never use the network
    #[arg(long)]
    pub offline: bool,
}

impl EmbedderArgs {
    /// As the workspace takes them.
    #[must_use]
    pub(crate) fn options(&self) -> EmbedderOptions {
        EmbedderOptions { name: self.embedder.clone(), device: self.device.clone(), offline: self.offline }
    }
}
