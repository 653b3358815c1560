//! `moot models verify`: reads models again, byte by byte.

use super::local::{self, offline};
use crate::cli::terminal::columns::table;
use crate::cli::terminal::output::{self, under_home};
use crate::cli::terminal::tell;
use crate::error::{MootError, Result};
use moot_models::source;
use serde::Serialize;
use std::path::PathBuf;

/// Read models again and compare their SHA-256 with the catalog's, the hub's or the one that was noted first
///
/// Elsewhere a hash is remembered with the size, times and inode of its file, so that it is computed once.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A short name, a file, a folder or hf:org/repo; all models of the catalog that are here by default
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

/// One file.
#[derive(Serialize)]
struct Row {
    name: String,
    path: PathBuf,
    sha256: String,
    /// The source of the hash that it was compared with.
    known: String,
}

/// Reads the models and prints what they were compared with.
///
/// # Errors
/// A name that is not known or not here; the first file that differs, after all were read.
pub(crate) fn run(args: &Args) -> Result<()> {
    let options = offline()?;
    let names = if args.names.is_empty() { local::names() } else { args.names.clone() };
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    for name in names {
        let copies = source::copies(&name, &options)?;
        if copies.is_empty() && !args.names.is_empty() {
            return Err(MootError::Usage(format!("{name} is not here; `moot models pull {name}` fetches it")));
        }
        for copy in copies {
            match source::verify(&name, &copy, &options.cache) {
                Ok(files) => rows.extend(files.into_iter().map(|file| Row {
                    name: name.clone(),
                    path: file.path,
                    sha256: file.sha256,
                    known: file.by.to_string(),
                })),
                Err(error) => wrong.push(error),
            }
        }
    }
    if args.json {
        output::print_pretty_json(&rows)?;
    } else if rows.is_empty() && wrong.is_empty() {
        output::print("no model of the catalog is here\n")?;
    } else {
        let cells = |row: &Row| {
            let short = row.sha256.get(..12).unwrap_or(&row.sha256);
            let path = under_home(&row.path).display().to_string();
            vec![row.name.clone(), short.to_owned(), row.known.clone(), path]
        };
        output::print(&table(&rows.iter().map(cells).collect::<Vec<_>>()))?;
    }
    let mut wrong = wrong.into_iter();
    let first = wrong.next();
    wrong.for_each(|error| tell(&error.to_string()));
    first.map_or(Ok(()), |error| Err(error.into()))
}
