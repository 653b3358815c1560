//! `moot models info`: describes a model and its memory needs; a model not on this machine is described by the catalog.

use super::local::offline;
use crate::cli::args::values;
use crate::cli::terminal::columns::table;
use crate::cli::terminal::output;
use crate::cli::terminal::output::under_home;
use crate::error::{MootError, Result};
use crate::memory::{self, Memory};
use crate::units::{compact, readable};
use moot_models::arch;
use moot_models::memory::{Footprint, Needed, StoredType};
use moot_models::source::{self, Catalog, CatalogEntry, Copy, Options, ShapeFrom};
use moot_models::weights::Weights;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Describe a model: architecture, weights, quantisation, context, tokenizer, licence, and the memory it needs
///
/// Never uses the network; for a model that is not on this machine, prints the catalog's figures.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A short name of the catalog, a .gguf file, a model folder, or hf:org/repo (also with /file.gguf and @revision)
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Number of agents at once
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = values::count, allow_negative_numbers = true)]
    pub agents: usize,
    /// Tokens per agent, prompt and reply together
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = values::count, allow_negative_numbers = true)]
    pub tokens: usize,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The description.
#[derive(Debug, Serialize)]
struct Info {
    name: String,
    /// Whether the model is on this machine and the figures are the file's; otherwise they are the catalog's.
    here: bool,
    path: Option<PathBuf>,
    /// Where it is, or where it can be fetched.
    sources: Vec<String>,
    architecture: String,
    /// What the catalog's shape was compared with or taken from; `None` if the figures are the file's.
    shape_from: Option<ShapeFrom>,
    parameters: u64,
    types: Vec<StoredType>,
    file_bytes: u64,
    /// The file's, else the catalog's.
    sha256: Option<String>,
    context: usize,
    tokenizer: Option<String>,
    licence: Option<String>,
    memory: Plan,
}

/// Memory for a number of agents.
#[derive(Debug, Serialize)]
struct Plan {
    agents: usize,
    tokens: usize,
    #[serde(flatten)]
    needed: Needed,
    total: u64,
    available: u64,
    fits: bool,
    /// If it does not fit, a setting that would.
    instead: Option<String>,
}

/// Prints the description.
///
/// # Errors
/// An unknown name, an invalid file, more tokens than the model's context.
pub(crate) fn run(args: &Args) -> Result<()> {
    let options = offline()?;
    let catalog = Catalog::embedded();
    // `find` says what an encoder is for; `copies` would find its files, and they are no language model.
    if catalog.has_encoder(&args.name) {
        catalog.find(&args.name)?;
    }
    let copy = source::copies(&args.name, &options)?.into_iter().next();
    let entry = catalog.find(&args.name).ok();
    let entry = entry.as_deref();
    let info = match (copy, entry) {
        (Some(copy), entry) => here(args, &copy, entry, &options)?,
        (None, Some(entry)) => planned(args, entry),
        (None, None) => {
            let name = &args.name;
            return Err(MootError::Usage(format!("{name} is not here; `moot models pull {name}` fetches it")));
        }
    };
    if args.tokens > info.context {
        let (tokens, context) = (args.tokens, info.context);
        return Err(MootError::Usage(format!(
            "--tokens {tokens}: expected at most {context}, the context of {}",
            args.name
        )));
    }
    if args.json { output::print_pretty_json(&info) } else { output::print(&text(&info)) }
}

/// The description of a copy on this machine.
fn here(args: &Args, copy: &Copy, entry: Option<&CatalogEntry>, options: &Options) -> Result<Info> {
    let weights = Weights::open(&copy.path)?;
    let footprint = Footprint::of(&weights)?;
    let spec = arch::spec(&weights)?;
    let own_licence = match &weights {
        Weights::Gguf(gguf) => gguf.metadata().optional_str("general.license")?.map(str::to_owned),
        Weights::Safetensors(_) | Weights::Random(_) => None,
    };
    Ok(Info {
        name: args.name.clone(),
        here: true,
        path: Some(copy.path.clone()),
        sources: vec![copy.source.to_string()],
        architecture: spec.architecture.to_owned(),
        shape_from: None,
        memory: plan(args, &footprint),
        parameters: footprint.parameters(),
        types: footprint.types,
        file_bytes: copy.bytes,
        sha256: Some(source::model_hash(&copy.path, &options.cache)?),
        context: spec.context,
        tokenizer: tokenizer(&weights, &copy.path),
        licence: entry.map(|entry| entry.licence.clone()).or(own_licence),
    })
}

/// The description of a model that is not on this machine.
fn planned(args: &Args, entry: &CatalogEntry) -> Info {
    let footprint = Footprint::planned(&entry.shape, &entry.quant);
    let hubs = entry.hub.iter().map(|address| format!("hub ({address})"));
    let wheels = entry.wheels.iter().map(|wheels| format!("wheels ({})", wheels.requirement(1)));
    Info {
        name: args.name.clone(),
        here: false,
        path: None,
        sources: hubs.chain(wheels).collect(),
        architecture: entry.shape.model_type.clone(),
        shape_from: Some(entry.shape_from),
        memory: plan(args, &footprint),
        parameters: footprint.parameters(),
        file_bytes: entry.size.unwrap_or_else(|| footprint.stored_bytes()),
        types: footprint.types,
        sha256: entry.sha256.clone(),
        context: entry.shape.max_position_embeddings,
        tokenizer: None,
        licence: Some(entry.licence.clone()),
    }
}

fn plan(args: &Args, footprint: &Footprint) -> Plan {
    let needed = footprint.needed(&memory::load(args.agents, args.tokens));
    let memory = Memory::here();
    let check = memory::check(&args.name, footprint, needed, memory);
    Plan {
        agents: args.agents,
        tokens: args.tokens,
        needed,
        total: needed.total(),
        available: memory.available,
        fits: check.is_ok(),
        instead: check.err().and_then(|error| error.hint()),
    }
}

/// The kind of vocabulary, as its file says.
fn tokenizer(weights: &Weights, path: &Path) -> Option<String> {
    match weights {
        Weights::Gguf(gguf) => {
            let metadata = gguf.metadata();
            let model = metadata.optional_str("tokenizer.ggml.model").ok()??;
            let kind = match model {
                "gpt2" => "byte-level BPE",
                "llama" => "SentencePiece",
                other => other,
            };
            let splitter = metadata.optional_str("tokenizer.ggml.pre").ok().flatten();
            let size = metadata.strings("tokenizer.ggml.tokens").map_or(0, <[_]>::len);
            Some(format!("{kind}{}, {size} tokens", splitter.map_or(String::new(), |pre| format!(" ({pre})"))))
        }
        Weights::Safetensors(_) => path.join("tokenizer.json").exists().then(|| "tokenizer.json".to_owned()),
        Weights::Random(_) => None,
    }
}

fn text(info: &Info) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, what: String| rows.push(vec![name.to_owned(), what]);
    let about = if info.here { "" } else { "about " };
    row("model", if info.here { info.name.clone() } else { format!("{} (not here: the catalog's plan)", info.name) });
    if let Some(path) = &info.path {
        row("path", under_home(path).display().to_string());
    }
    for (i, source) in info.sources.iter().enumerate() {
        row(if i == 0 { "from" } else { "" }, source.clone());
    }
    row("architecture", info.architecture.clone());
    if let Some(from) = info.shape_from {
        row("shape", from.about().to_owned());
    }
    row("weights", format!("{} ({})", compact(info.parameters), info.parameters));
    for (i, stored) in info.types.iter().enumerate() {
        let StoredType { name, tensors, weights, bytes, held_as } = stored;
        let held_as = held_as.map_or(String::new(), |held| format!(", {held} on a GPU"));
        let name_of_row = if i == 0 { "stored as" } else { "" };
        row(
            name_of_row,
            format!("{name}{held_as}: {tensors} tensors, {}, {about}{}", compact(*weights), readable(*bytes)),
        );
    }
    row("file", format!("{about}{}", readable(info.file_bytes)));
    row("sha256", info.sha256.clone().unwrap_or_else(|| "the hub's own, when it is fetched".to_owned()));
    row("context", format!("{} tokens", info.context));
    if let Some(tokenizer) = &info.tokenizer {
        row("tokenizer", tokenizer.clone());
    }
    row("licence", info.licence.clone().unwrap_or_else(|| "not said".to_owned()));
    let plan = &info.memory;
    let Needed { weights, kv, working } = plan.needed;
    row("memory", format!("about {} for {} agents of {} tokens", readable(plan.total), plan.agents, plan.tokens));
    row(
        "",
        format!("{} weights, {} keys and values, {} to work in", readable(weights), readable(kv), readable(working)),
    );
    let verdict = match &plan.instead {
        None => "it fits".to_owned(),
        Some(instead) => format!("it does not fit; {instead}"),
    };
    row("", format!("{} available: {verdict}", readable(plan.available)));
    table(&rows)
}
