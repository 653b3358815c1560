//! `moot index search`: retrieves passages for queries.

use crate::cli::args::corpus::{FilterArgs, Retrieved, Toggle};
use crate::cli::args::embedder;
use crate::cli::args::values;
use crate::cli::terminal::columns::{printable, wrap};
use crate::cli::terminal::interrupt;
use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::files;
use crate::question::Passage;
use crate::retrieval::index::Mode;
use crate::retrieval::{Filter, Hit, Wanted};
use crate::workspace::{IndexSearchOptions, RerankerOptions};
use serde::Serialize;
use std::fmt::Write;
use std::io::Read;
use std::path::PathBuf;

/// Queries per batch: an exact search reads every vector once for all of them.
const TOGETHER: usize = 64;

/// Print the best passages of an index for a query
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The index
    #[arg(value_name = "DIR", group = "searched")]
    pub dir: PathBuf,
    /// The query
    #[arg(value_name = "QUERY", required_unless_present = "queries", conflicts_with = "queries")]
    pub query: Option<String>,
    /// Search for each line of this file instead; results are numbered from 1
    #[arg(long, value_name = "FILE")]
    pub queries: Option<PathBuf>,
    /// Search mode; hybrid if the index has vectors and BM25
    #[arg(long, value_name = "HOW")]
    pub retriever: Option<Retrieved>,
    /// Number of passages, in all or of each source
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = values::count, allow_negative_numbers = true)]
    pub top: usize,
    /// Sources and dates.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Do not fold near-duplicates
    #[arg(long)]
    pub no_fold: bool,
    /// Leave out passages that are not about the query
    #[arg(long, value_name = "ON", default_value = "on")]
    pub cutoff: Toggle,
    /// Exact search: read every vector, even if the index groups them
    #[arg(long)]
    pub exact: bool,
    /// The constant k of reciprocal rank fusion, for --retriever hybrid
    #[arg(long, value_name = "K", default_value_t = 60.0, value_parser = values::number::<f32>)]
    pub rrf_k: f32,
    /// Print one JSON object per passage
    #[arg(long)]
    pub json: bool,
    /// The embedder.
    #[command(flatten)]
    pub embedder: embedder::EmbedderArgs,
    /// Read the candidates of each search with this reranker (a name of the catalog, a folder, hf:org/repo), and keep the
    /// most relevant; it is on the device of the embedder
    #[arg(long, value_name = "NAME")]
    pub reranker: Option<String>,
    /// Passages that the reranker reads, in all or of each source [default: 50, or 5 of each source]
    #[arg(long, value_name = "N", value_parser = values::count, requires = "reranker", allow_negative_numbers = true)]
    pub reranker_candidates: Option<usize>,
}

/// Searches and prints.
///
/// # Errors
/// An index that cannot be read or was made by another embedder; a source that no passage has.
pub(crate) fn run(args: &Args) -> Result<()> {
    let queries = queries(args)?;
    let control = interrupt::listen()?;
    let index = args.options().open(&control)?;
    for (first, some) in (1..).step_by(TOGETHER).zip(queries.chunks(TOGETHER)) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        for (number, (query, found)) in (first..).zip(some.iter().zip(index.search(&some)?)) {
            let several = args.queries.is_some().then_some(number);
            let printed = match several {
                _ if args.json => json(&found, several)?,
                Some(number) => {
                    format!(
                        "{number}. {}\n{}\n",
                        printable(query),
                        output::lines(&text(&found, args.cutoff, output::columns()))
                    )
                }
                None => output::lines(&text(&found, args.cutoff, output::columns())),
            };
            if output::write(printed.as_bytes())?.is_break() {
                return Ok(());
            }
        }
    }
    index.note_counts(&control);
    Ok(())
}

impl Args {
    /// As the workspace takes them.
    fn options(&self) -> IndexSearchOptions {
        let FilterArgs { by_source, source, from, until } = self.filter.clone();
        let filter = Filter { sources: source, from, until };
        let embedder = self.embedder.options();
        let (device, offline) = (embedder.device.clone(), embedder.offline);
        let (name, candidates) = (self.reranker.clone(), self.reranker_candidates);
        IndexSearchOptions {
            dir: self.dir.clone(),
            mode: self.retriever.map(Mode::from),
            wanted: Wanted { top: self.top, by_source, filter, fold: !self.no_fold },
            cutoff: self.cutoff == Toggle::On,
            exact: self.exact,
            constant: self.rrf_k,
            embedder,
            reranker: RerankerOptions { name, device, candidates, offline },
        }
    }
}

/// The queries: one, or the lines of a file.
fn queries(args: &Args) -> Result<Vec<String>> {
    let Some(path) = &args.queries else {
        let query = args.query.clone().filter(|query| !query.trim().is_empty());
        return query
            .map(|query| vec![query])
            .ok_or_else(|| MootError::Usage("expected something to look for, found an empty query".into()));
    };
    let wrong = |line, expected: &str, found: &str| {
        let (path, expected, found) = (path.clone(), expected.to_owned(), found.to_owned());
        Err(MootError::Input { path, line, expected, found })
    };
    let mut bytes = Vec::new();
    files::open(path)?.read_to_end(&mut bytes).map_err(|e| MootError::io(path, "read", e))?;
    let Ok(text) = String::from_utf8(bytes) else { return wrong(None, "UTF-8 text", "something else") };
    let queries: Vec<String> = text.lines().map(str::to_owned).collect();
    match queries.iter().position(|query| query.trim().is_empty()) {
        Some(at) => wrong(Some(at + 1), "a query", "an empty line"),
        None if queries.is_empty() => wrong(None, "a query a line", "an empty file"),
        None => Ok(queries),
    }
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<usize>,
    score: f32,
    #[serde(flatten)]
    passage: &'a Passage,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    copies: &'a [Passage],
}

fn json(found: &[Hit], query: Option<usize>) -> Result<String> {
    let mut lines = String::new();
    for found in found {
        let line = Line { query, score: found.score, passage: &found.passage, copies: &found.copies };
        lines.push_str(&output::json(&line)?);
    }
    Ok(lines)
}

fn text(found: &[Hit], cutoff: Toggle, columns: usize) -> String {
    match (found, cutoff) {
        ([], Toggle::On) => return "nothing found (--cutoff off shows the nearest passages)\n".into(),
        ([], Toggle::Off) => return "nothing found\n".into(),
        _ => {}
    }
    let mut out = String::new();
    for (number, found) in (1..).zip(found) {
        let passage = &found.passage;
        let head =
            [passage.title.clone(), passage.source.clone(), passage.date.clone(), Some(passage.origin.to_string())];
        let head: Vec<String> = head.iter().flatten().map(|part| printable(part)).collect();
        let _ = writeln!(out, "{number}  {:.4}  {}", found.score, head.join(" | "));
        for line in wrap(&printable(&passage.text), columns.saturating_sub(4)) {
            let _ = writeln!(out, "    {line}");
        }
        for copy in &found.copies {
            let source = copy.source.as_deref().map_or(String::new(), |source| format!("{} | ", printable(source)));
            let _ = writeln!(out, "    the same: {source}{}", printable(&copy.origin.to_string()));
        }
    }
    out
}
