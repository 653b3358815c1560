//! `moot models where` and `moot models rm`: the copies on this machine.

use super::local::{names, offline};
use crate::cli::terminal::columns::table;
use crate::cli::terminal::output;
use crate::cli::terminal::output::under_home;
use crate::error::{MootError, Result};
use crate::escape;
use crate::units::readable;
use moot_models::source::{self, Copy, Options, SourceUsed};
use serde::Serialize;
use std::path::PathBuf;

/// Print the cache folders and every copy of a model or an encoder in them
#[derive(Debug, clap::Args)]
pub(crate) struct WhereArgs {
    /// One model; by default all on this machine
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Remove a model or an encoder from the cache
///
/// From moot's own cache only, unless --hub is given.
#[derive(Debug, clap::Args)]
pub(crate) struct RmArgs {
    /// A short name of the catalog, or hf:org/repo (also with /file.gguf and @revision)
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Also from the hub's cache, which other programs share
    #[arg(long)]
    pub hub: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Where {
    cache: PathBuf,
    hub_cache: PathBuf,
    hub: String,
    models: Vec<ModelCopy>,
}

/// A copy of a model.
#[derive(Serialize)]
struct ModelCopy {
    name: String,
    source: String,
    path: PathBuf,
    bytes: u64,
}

/// Prints the cache folders and the copies.
///
/// # Errors
/// An unknown name.
pub(crate) fn run_where(args: &WhereArgs) -> Result<()> {
    let options = offline()?;
    let names = match &args.name {
        Some(name) => vec![name.clone()],
        None => names(),
    };
    let mut models = Vec::new();
    for name in names {
        let copies = source::copies(&name, &options)?;
        models.extend(copies.into_iter().map(|copy| model_copy(&name, copy)));
    }
    let locations = source::cache_locations(&options);
    let found = Where { cache: locations.cache, hub_cache: locations.hub_cache, hub: locations.endpoint, models };
    if args.json {
        return output::print_pretty_json(&found);
    }
    let mut text = String::new();
    if args.name.is_none() {
        let row = |name: &str, what: String| vec![name.to_owned(), what];
        text += &table(&[
            row("cache", under_home(&found.cache).display().to_string()),
            row("hub cache", under_home(&found.hub_cache).display().to_string()),
            row("hub", found.hub.clone()),
        ]);
        text += "\n";
    }
    if found.models.is_empty() {
        text += &args.name.as_ref().map_or("no model of the catalog is here\n".to_owned(), |name| {
            let name = escape::line(name);
            format!("{name} is not here; `moot models pull {name}` fetches it\n")
        });
    }
    let rows: Vec<Vec<String>> = found.models.iter().map(cells).collect();
    output::print(&(text + &table(&rows)))
}

fn model_copy(name: &str, copy: Copy) -> ModelCopy {
    ModelCopy { name: name.to_owned(), source: copy.source.to_string(), path: copy.path, bytes: copy.bytes }
}

fn cells(model_copy: &ModelCopy) -> Vec<String> {
    vec![model_copy.name.clone(), readable(model_copy.bytes), under_home(&model_copy.path).display().to_string()]
}

#[derive(Serialize)]
struct Removed {
    name: String,
    removed: Vec<PathBuf>,
    freed: u64,
}

/// Removes copies and prints the bytes freed.
///
/// # Errors
/// The model is not on this machine, or only in the hub's cache and `--hub` is not given.
pub(crate) fn run_rm(args: &RmArgs) -> Result<()> {
    let options = offline()?;
    let copies = source::copies(&args.name, &options)?;
    let (chosen, kept): (Vec<Copy>, Vec<Copy>) =
        copies.into_iter().partition(|copy| args.hub || !matches!(copy.source, SourceUsed::HubCache(_)));
    if chosen.is_empty() {
        return Err(nothing(&args.name, &kept, &options));
    }
    let mut done = Removed { name: args.name.clone(), removed: vec![], freed: 0 };
    for copy in chosen {
        done.freed += source::remove(&copy)?;
        done.removed.push(copy.path);
    }
    if args.json {
        return output::print_pretty_json(&done);
    }
    let mut text: String = done
        .removed
        .iter()
        .map(|path| format!("removed {}\n", escape::line(&under_home(path).display().to_string())))
        .collect();
    text += &format!("{} freed\n", readable(done.freed));
    if !kept.is_empty() {
        text += &format!("{} stay in the hub's cache, which other programs share: --hub removes them\n", size(&kept));
    }
    output::print(&text)
}

/// The error that says why nothing was removed.
fn nothing(name: &str, kept: &[Copy], options: &Options) -> MootError {
    MootError::Usage(if kept.is_empty() {
        format!("{name} is not here: there is no copy in {}", source::cache_locations(options).cache.display())
    } else {
        format!("{name} is in the hub's cache, which other programs share: --hub removes it there ({})", size(kept))
    })
}

/// The bytes of `copies`, in words.
fn size(copies: &[Copy]) -> String {
    readable(copies.iter().map(|copy| copy.bytes).sum())
}
