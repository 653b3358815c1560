//! `--format` of commands that have a page: `moot conflict` and `moot contradictions`.

use crate::error::{MootError, Result};
use clap::ValueEnum;
use std::path::Path;

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For a terminal
    Text,
    /// One JSON object
    Json,
    /// Markdown
    Markdown,
    /// One self-contained HTML page
    Html,
}

impl Form {
    /// The form of a file by its ending.
    ///
    /// # Errors
    /// Another ending.
    pub(in crate::cli) fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("html" | "htm") => Ok(Self::Html),
            Some("md" | "markdown") => Ok(Self::Markdown),
            Some("json") => Ok(Self::Json),
            _ => Err(MootError::Usage(format!("-o {}: expected a name in .html, .md or .json", path.display()))),
        }
    }
}
