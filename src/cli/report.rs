//! `moot report`: records as one HTML page.

use crate::cli::report_page;
use crate::cli::terminal::columns::printable;
use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::files;
use crate::report::{self, Options};
use crate::units::plural;
use std::io::Read;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  moot report madam.jsonl -o report.html
  moot report madam.jsonl concatenated.jsonl closed.jsonl -o report.html --title \"RAMDocs, 100 questions\"
  moot report madam.jsonl ra-rag.jsonl --all-slices -o report.html";

/// Write records as one HTML page: summary, charts, every debate, settings and hashes
///
/// The page opens from the disk in any browser and asks no server for anything. Each record is compared with the first one of
/// its dataset, as `moot compare` does.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Records, as `moot run -o` writes them
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// The page to write; a file that is there and no page of moot is not overwritten
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The heading [default: the dataset and the methods]
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub title: String,
    /// Metrics of the tables, by the names that `moot score` prints, or `all`; by default the headline metrics that apply
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub metric: Vec<String>,
    /// Also compare the questions of this slice; may be repeated
    #[arg(long, value_name = "NAME")]
    pub slice: Vec<String>,
    /// Also compare the questions of each slice
    #[arg(long, conflicts_with = "slice")]
    pub all_slices: bool,
    /// Compare records of different datasets on the questions that both have
    #[arg(long)]
    pub across_datasets: bool,
}

/// Writes the page.
///
/// # Errors
/// A record that cannot be read, an unknown metric or slice, a file that cannot be written or is not a page.
pub(crate) fn run(args: &Args) -> Result<()> {
    let records: Vec<_> = args.records.iter().map(|path| ("RECORD", path.as_path())).collect();
    files::outputs::distinct(&[("-o", &args.output)], &records)?;
    check(&args.output)?;
    let inputs = report_page::read(&args.records)?;
    let (records, debates) = (inputs.len(), inputs.iter().map(|input| input.record.questions.len()).sum::<usize>());
    let compare = report_page::options(&inputs, &args.metric, &args.slice, args.all_slices, args.across_datasets);
    let page = report::page(inputs, &Options { title: args.title.clone(), compare, changed: false })?;
    files::outputs::write(&args.output, page.as_bytes())?;
    let size = page.len() as f64 / 1e6;
    let path = printable(&args.output.display().to_string());
    let (records, debates) = (plural(records, "record", "records"), plural(debates, "debate", "debates"));
    output::print(&format!("{path}: {records}, {debates}, {size:.1} MB\n"))
}

/// Refuses an output that is there and was not written by this command: a record may be named by mistake.
fn check(path: &Path) -> Result<()> {
    files::outputs::check(path)?;
    if !path.exists() {
        return Ok(());
    }
    let mut start = Vec::new();
    let read = files::open(path)?.take(2048).read_to_end(&mut start);
    read.map_err(|e| MootError::io(path, "read", e))?;
    let head = String::from_utf8_lossy(&start);
    if start.is_empty() || head.starts_with("<!doctype html>") && head.contains("name=\"generator\" content=\"moot ") {
        return Ok(());
    }
    let (expected, found) = ("a new file, or a page that `moot report` wrote".to_owned(), "another file".to_owned());
    Err(MootError::Input { path: path.into(), line: None, expected, found })
}
