//! `moot prompts compare`: variants of one prompt on a dataset, against the prompt in use.

use crate::cli::interrupt::Interrupt;
use crate::cli::method::{self, Resolved};
use crate::cli::run::{Prepared, run_all};
use crate::cli::tooling::{ClassifierArgs, Tooling};
use crate::cli::{fetching::tell, model, output, retrieve, values};
use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::datasets::{self, Dataset};
use crate::eval::record::Writer;
use crate::eval::record::reader::Record;
use crate::eval::reuse::Replies;
use crate::eval::variants::{Compared, Half, MOST};
use crate::llm::once::Once;
use crate::prompts::File;
use crate::protocol::Row;
use crate::protocol::ctx::Tools;
use crate::protocol::own_prompts::text;
use crate::transcript::CallRecord;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  moot prompts compare ramdocs.jsonl -o agents/ --role agent --variant quote.jinja --variant short.jinja --rounds 1
  moot prompts compare ramdocs.jsonl -o agents/ --role agent --variant quote.jinja --rounds 1 --half confirm";

/// Compare variants of one prompt on one half of a dataset; the same command resumes a stopped comparison
///
/// Variant 0 is the prompt in use: the program's, or the one of --prompts. Each variant has a record in the folder, written as
/// `moot run` writes it. The variants go side by side: calls with the same prompt are made once, and what prompts begin with
/// in common is computed once.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A dataset file, as `moot run` reads it
    #[arg(value_name = "DATASET")]
    pub dataset: PathBuf,
    /// The folder of records, one a variant; records that exist are continued
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// The prompt that varies: its file, with or without folder and ending (moot prompts list METHOD)
    #[arg(long, value_name = "PROMPT")]
    pub role: String,
    /// A prompt file to compare with the one in use; up to five
    #[arg(long, value_name = "FILE", required = true)]
    pub variant: Vec<PathBuf>,
    /// The questions to compare on, by a hash of their ids: choose, confirm or both
    #[arg(long, value_name = "HALF", default_value = "choose")]
    pub half: String,
    /// Only the first N questions of the half
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// The dataset or the form of the file, where they are not detected
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Questions asked at once
    #[arg(long, value_name = "N", default_value = "8", value_parser = values::count, allow_negative_numbers = true)]
    pub in_flight: usize,
    /// Ask the questions that were recorded with an error again
    #[arg(long)]
    pub retry_errors: bool,
    /// Take the replies to calls that this record holds and that are sent alike; the model answers the others
    #[arg(long, value_name = "RECORD")]
    pub reuse: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// How the question is answered.
    #[command(flatten)]
    pub method: method::Args,
    /// Where to find documents.
    #[command(flatten)]
    pub retrieve: retrieve::Args,
    /// What classifies pairs.
    #[command(flatten)]
    pub classifier: ClassifierArgs,
    /// Which model, and on what.
    #[command(flatten)]
    pub model: model::Args,
}

/// One prompt and what it is called.
struct Variant {
    name: String,
    resolved: Resolved,
    record: PathBuf,
}

/// Runs every variant, then prints the comparison.
///
/// # Errors
/// A name that no prompt of the method has, a variant that cannot be read or is given twice, a dataset that cannot be read; what ends a run.
pub fn run(args: &Args) -> Result<()> {
    let half = Half::named(&args.half)?;
    let variants = variants(args)?;
    let dataset = half_of(args, half)?;
    std::fs::create_dir_all(&args.output).map_err(|e| MootError::io(&args.output, "create", e))?;
    let interrupt = Interrupt::listen()?;
    let tooling = Tooling::open(&args.model, &args.retrieve, &args.classifier, &variants[0].resolved, &interrupt)?;
    interrupt.answering();
    let (name, count) = (dataset.identity.name.clone(), dataset.questions.len());
    let (dataset, replies) = (Arc::new(dataset), Arc::new(Replies::read(&args.reuse)?));
    let names: Vec<String> = variants.iter().map(|variant| variant.name.clone()).collect();
    let paths: Vec<PathBuf> = variants.iter().map(|variant| variant.record.clone()).collect();
    let prepared: Vec<Prepared> = variants.into_iter().map(|variant| of(args, &dataset, &replies, variant)).collect();
    // A record that cannot be continued is found before its calls are taken over.
    for (prepared, path) in prepared.iter().zip(&paths) {
        Writer::open_for(path, &prepared.header(tooling.tools()), args.retry_errors)?;
    }
    let calls = paths.iter().map(|path| recorded(path)).collect::<Result<Vec<_>>>()?.concat();
    tell(&format!("{} variants, {count} questions", names.len()));
    let once = Once::new(tooling.tools().llm, &calls);
    run_all(&prepared, Tools { llm: &once, ..tooling.tools() }, &interrupt.stop)?;
    if once.shared() > 0 {
        tell(&format!("{} calls were those of another variant", once.shared()));
    }
    let records = paths.iter().map(|path| Record::read(path)).collect::<Result<Vec<_>>>()?;
    tooling.report();
    let compared = Compared::new(names, records, &dataset.questions);
    if args.json {
        return output::print(&format!("{}\n", escape::json(&compared.json().to_string())));
    }
    let head = format!("{} of {name}, {count} questions ({})\n\n", args.role, half.name());
    output::print(&escape::lines(&(head + &compared.table())))
}

/// The questions of the half, the first ones where there is a limit.
fn half_of(args: &Args, half: Half) -> Result<Dataset> {
    let options = args.format.iter().try_fold(datasets::Options::default(), |options, typed| options.format(typed))?;
    let mut dataset = datasets::load_with(&args.dataset, &options)?;
    dataset.questions.retain(|question| half.holds(&question.id));
    dataset.questions.truncate(args.limit.unwrap_or(usize::MAX));
    if dataset.questions.is_empty() {
        let expected = format!("questions of the half `{}`", half.name());
        return Err(MootError::Input { path: args.dataset.clone(), line: None, expected, found: "none".into() });
    }
    Ok(dataset)
}

/// The calls of a record's finished questions.
fn recorded(path: &Path) -> Result<Vec<CallRecord>> {
    Ok(Record::read(path)?.questions.into_iter().flat_map(|question| question.calls).collect())
}

fn of(args: &Args, dataset: &Arc<Dataset>, replies: &Arc<Replies>, variant: Variant) -> Prepared {
    let (dataset, replies) = (dataset.clone(), replies.clone());
    let (in_flight, retry_errors) = (args.in_flight, args.retry_errors);
    let Variant { resolved, record: output, .. } = variant;
    Prepared { dataset, resolved, output, answers: None, in_flight, retry_errors, dry_run: false, replies }
}

/// Variant 0, then one for each file.
fn variants(args: &Args) -> Result<Vec<Variant>> {
    if args.variant.len() + 1 > MOST {
        return Err(MootError::Usage(format!(
            "--variant: expected at most {} files beside the prompt in use, found {}",
            MOST - 1,
            args.variant.len()
        )));
    }
    let resolved = args.method.resolve()?;
    let file = prompt_of(resolved.row(), &args.role)?;
    let role = stem(Path::new(file.name));
    let record = |name: &str| args.output.join(format!("{role}.{name}.jsonl"));
    let mut variants = vec![Variant { name: "in-use".into(), resolved, record: record("in-use") }];
    for path in &args.variant {
        let resolved = args.method.resolve()?;
        let mut prompts = resolved.method.prompts.clone();
        prompts.replace(file, &text(path)?)?;
        let resolved = Resolved { method: resolved.method.with_prompts(prompts)?, ..resolved };
        let name = stem(path);
        let text_of = |resolved: &Resolved| resolved.method.prompts.of(file).text.to_owned();
        for other in &variants {
            let wrong = |found: &str| MootError::Input {
                path: path.clone(),
                line: None,
                expected: "a variant of another name and text than the others".into(),
                found: format!("{found} of `{}`", other.name),
            };
            if other.name == name {
                return Err(wrong("the name"));
            }
            if text_of(&other.resolved) == text_of(&resolved) {
                return Err(wrong("the text"));
            }
        }
        variants.push(Variant { record: record(&name), name, resolved });
    }
    Ok(variants)
}

/// The prompt of that name: the file of the method, with or without folder and ending.
fn prompt_of(row: &'static Row, role: &str) -> Result<File> {
    let asked = role.trim_end_matches(".jinja");
    let named = |file: &&File| file.name.trim_end_matches(".jinja") == asked || stem(Path::new(file.name)) == asked;
    row.prompts.iter().find(named).copied().ok_or_else(|| MootError::UnknownName {
        kind: "prompt of the method",
        name: role.to_owned(),
        known: row.prompts.iter().map(|file| file.name).collect::<Vec<_>>().join(", "),
    })
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
