//! A model that was found, and where.

use super::address::HubAddress;
use std::fmt;
use std::path::PathBuf;

/// A model that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The file or folder.
    pub path: PathBuf,
    /// The source that had it.
    pub source: SourceUsed,
}

/// The source that had the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceUsed {
    /// The user named the path.
    Path,
    /// This program's cache.
    Cache,
    /// The hub's cache on this machine.
    HubCache(HubAddress),
    /// The hub.
    Hub(HubAddress),
    /// Python wheels: the first package, and the number of packages.
    Wheels {
        /// Name and version of the first.
        package: String,
        /// Number of packages.
        count: usize,
    },
}

impl fmt::Display for SourceUsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => write!(f, "the path given"),
            Self::Cache => write!(f, "cache"),
            Self::HubCache(address) => write!(f, "hub cache ({address})"),
            Self::Hub(address) => write!(f, "hub ({address})"),
            Self::Wheels { package, count: 1 } => write!(f, "wheels ({package})"),
            Self::Wheels { package, count } => write!(f, "wheels ({package} and {} more)", count - 1),
        }
    }
}
