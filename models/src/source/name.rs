//! Parsing of model names.

use super::address::HubAddress;
use crate::error::{ModelError, Result};
use std::path::{Path, PathBuf};

/// Prefix of an address on a hub.
const HUB: &str = "hf:";

/// A parsed model name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// A file or folder that exists.
    Path(PathBuf),
    /// `hf:organisation/repository[/file.gguf][@revision]`.
    Hub(HubAddress),
    /// Anything else: an alias, which the catalog must have.
    Alias(String),
}

impl Name {
    /// Parses `typed`. An existing path takes precedence over an alias of the same name.
    ///
    /// # Errors
    /// [`ModelError::Io`] for a path that does not exist; [`ModelError::NotAModel`] for an incomplete address.
    pub fn parse(typed: &str) -> Result<Self> {
        if let Some(address) = typed.strip_prefix(HUB) {
            return hub_address(typed, address).map(Self::Hub);
        }
        if Path::new(typed).exists() {
            return Ok(Self::Path(typed.into()));
        }
        if typed.contains(['/', '\\']) || typed.ends_with(".gguf") {
            let source = std::fs::metadata(typed).err().unwrap_or_else(|| std::io::ErrorKind::NotFound.into());
            return Err(ModelError::Io { path: typed.into(), action: "open", source });
        }
        Ok(Self::Alias(typed.to_owned()))
    }
}

/// Parses `organisation/repository[/path/of/file.gguf][@revision]`.
fn hub_address(name: &str, address: &str) -> Result<HubAddress> {
    let (path, revision) = address.rsplit_once('@').unwrap_or((address, "main"));
    let parts: Vec<&str> = path.split('/').collect();
    let sound = |part: &&str| {
        let strange = |c: char| c == '\\' || c == '?' || c == '#' || c.is_whitespace() || c.is_control();
        !part.is_empty() && *part != "." && *part != ".." && !part.contains(strange)
    };
    let sounds = parts.iter().all(sound) && revision.split('/').all(|part| sound(&part));
    let file = match parts.len() {
        2 => Some(None),
        3.. if path.ends_with(".gguf") => Some(Some(parts[2..].join("/"))),
        _ => None,
    };
    let Some(file) = file.filter(|_| sounds) else {
        let expected = "an address like hf:organisation/repository[/file.gguf][@revision]".to_owned();
        return Err(ModelError::NotAModel { path: name.into(), expected, found: "another form".into() });
    };
    Ok(HubAddress { repo: parts[..2].join("/"), file, revision: revision.to_owned() })
}
