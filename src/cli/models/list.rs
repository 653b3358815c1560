//! `moot models list`: every name of the catalog, models that write and encoders.

use super::local::{offline, place};
use crate::cli::terminal::columns::table;
use crate::cli::terminal::output;
use crate::error::Result;
use crate::memory::Memory;
use crate::units::{compact, readable};
use crate::workspace::models::fits;
use moot_models::memory::Footprint;
use moot_models::source::{self, Catalog, CatalogEntry, EncoderEntry, Options, ShapeFrom, Task};
use serde::Serialize;

/// The meaning of the mark behind the weights.
const LEGEND: &str = "* shape checked against the model's file; the others were not\n";

/// List the models with short names, and which are on this machine
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only those on this machine
    #[arg(long)]
    pub here: bool,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

/// An encoder's name.
#[derive(Debug, Serialize)]
struct Encoder {
    name: String,
    /// "embedder", "reranker" or "classifier".
    task: &'static str,
    licence: String,
    /// "cache" or "hub cache"; `None` if it is not on this machine.
    here: Option<&'static str>,
}

/// A name in the JSON array.
#[derive(Serialize)]
#[serde(untagged)]
enum Listed {
    Writes(Row),
    Encodes(Encoder),
}

/// One name.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    /// "text": it writes.
    task: &'static str,
    parameters: u64,
    quant: String,
    /// Bytes of the file: of the local copy, else from the catalog, else estimated.
    bytes: u64,
    /// Whether `bytes` is an estimate.
    estimated: bool,
    context: usize,
    /// What the shape was compared with or taken from.
    shape_from: ShapeFrom,
    /// Whether a debate of eight agents with 2,048 tokens each fits into the free memory.
    fits: bool,
    licence: String,
    /// "cache" or "hub cache"; `None` if it is not on this machine.
    here: Option<&'static str>,
}

/// Prints the list.
///
/// # Errors
/// There is no cache folder.
pub(crate) fn run(args: &Args) -> Result<()> {
    let (options, memory) = (offline()?, Memory::here());
    let mut rows: Vec<Row> =
        Catalog::embedded().models.iter().map(|entry| row(entry, &options, memory)).collect::<Result<_>>()?;
    rows.retain(|row| !args.here || row.here.is_some());
    let mut encoders: Vec<Encoder> =
        Catalog::embedded().encoders.iter().map(|entry| encoder(entry, &options)).collect::<Result<_>>()?;
    encoders.retain(|encoder| !args.here || encoder.here.is_some());
    if args.json {
        let listed = rows.into_iter().map(Listed::Writes).chain(encoders.into_iter().map(Listed::Encodes));
        return output::print_pretty_json(&listed.collect::<Vec<_>>());
    }
    let head = ["name", "weights", "quant", "file", "context", "fits", "licence", "here"].map(str::to_owned).to_vec();
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
    let legend = if rows.iter().any(|row| row.shape_from.is_checked()) { LEGEND } else { "" };
    output::print(&format!("{}{legend}", table(&lines)))?;
    if encoders.is_empty() {
        return Ok(());
    }
    let head = ["embedders, rerankers and classifiers", "option", "licence", "here"].map(str::to_owned).to_vec();
    let cells = |encoder: &Encoder| {
        let here = encoder.here.unwrap_or("-").to_owned();
        vec![encoder.name.clone(), format!("--{}", encoder.task), encoder.licence.clone(), here]
    };
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(encoders.iter().map(cells)).collect();
    output::print(&format!("\n{}", table(&lines)))
}

fn encoder(entry: &EncoderEntry, options: &Options) -> Result<Encoder> {
    let task = match entry.task {
        Task::Embedding => "embedder",
        Task::Nli => "classifier",
        Task::Reranker => "reranker",
    };
    let copy = source::copies(&entry.alias, options)?.into_iter().next();
    let here = copy.map(|copy| place(&copy.source));
    Ok(Encoder { name: entry.alias.clone(), task, licence: entry.licence.clone(), here })
}

fn row(entry: &CatalogEntry, options: &Options, memory: Memory) -> Result<Row> {
    let footprint = Footprint::planned(&entry.shape, &entry.quant);
    let copy = source::copies(&entry.alias, options)?.into_iter().next();
    let known = copy.as_ref().map(|copy| copy.bytes).or(entry.size);
    Ok(Row {
        name: entry.alias.clone(),
        task: "text",
        parameters: footprint.parameters(),
        quant: entry.quant.clone(),
        bytes: known.unwrap_or_else(|| footprint.stored_bytes()),
        estimated: known.is_none(),
        context: entry.shape.max_position_embeddings,
        shape_from: entry.shape_from,
        fits: fits(entry, memory),
        licence: entry.licence.clone(),
        here: copy.map(|copy| place(&copy.source)),
    })
}

fn cells(row: &Row) -> Vec<String> {
    let about = if row.estimated { "about " } else { "" };
    let mark = if row.shape_from.is_checked() { "*" } else { "" };
    vec![
        row.name.clone(),
        format!("{}{mark}", compact(row.parameters)),
        row.quant.clone(),
        format!("{about}{}", readable(row.bytes)),
        row.context.to_string(),
        if row.fits { "yes" } else { "no" }.to_owned(),
        row.licence.clone(),
        row.here.unwrap_or("-").to_owned(),
    ]
}
