//! `moot prompts compare`: variants of one prompt on a dataset, against the prompt in use.

use crate::cli::args::corpus;
use crate::cli::args::method;
use crate::cli::args::model;
use crate::cli::args::values;
use crate::cli::terminal::interrupt;
use crate::cli::terminal::output;
use crate::cli::terminal::runs::print_reports;
use crate::cli::terminal::tell;
use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::datasets::{self, Dataset};
use crate::eval::record::Writer;
use crate::eval::record::reader::Record;
use crate::eval::reuse::Replies;
use crate::eval::variants::{Compared, Half, MOST};
use crate::files::outputs::{self, InputPath};
use crate::llm::once::Once;
use crate::prompts::File;
use crate::protocol::Built;
use crate::protocol::own_prompts::text;
use crate::transcript::CallRecord;
use crate::workspace::{Control, MethodPlan, Plan, PlanOptions, Recording, RunOptions, Workspace};
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
    /// The prompt that varies: its file, with or without folder and ending (`moot prompts list METHOD`)
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
    /// Take the replies to equal calls from this record; the model answers the others
    #[arg(long, value_name = "RECORD")]
    pub reuse: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// The method and its settings.
    #[command(flatten)]
    pub method: method::MethodArgs,
    /// The corpus to search for documents.
    #[command(flatten)]
    pub retrieve: corpus::CorpusArgs,
    /// The classifier of pairs.
    #[command(flatten)]
    pub classifier: corpus::ClassifierArgs,
    /// Model and device.
    #[command(flatten)]
    pub model: model::ModelArgs,
}

/// One prompt and its name.
struct Variant {
    name: String,
    method: MethodPlan,
    record: PathBuf,
}

/// Runs every variant, then prints the comparison.
///
/// # Errors
/// A name that no prompt of the method has, a variant that cannot be read or is given twice, a dataset that cannot be read; what
/// ends a run.
pub fn run(args: &Args) -> Result<()> {
    let half = Half::named(&args.half)?;
    let control = interrupt::listen()?;
    let variants = variants(args, &control)?;
    let records: Vec<_> = variants.iter().map(|variant| ("-o", variant.record.as_path())).collect();
    outputs::distinct(&records, &inputs(args))?;
    let dataset = half_of(args, half)?;
    std::fs::create_dir_all(&args.output).map_err(|e| MootError::io(&args.output, "create", e))?;
    let (name, count) = (dataset.identity.name.clone(), dataset.questions.len());
    let (dataset, replies) = (Arc::new(dataset), Arc::new(Replies::read(&args.reuse)?));
    let names: Vec<String> = variants.iter().map(|variant| variant.name.clone()).collect();
    let paths: Vec<PathBuf> = variants.iter().map(|variant| variant.record.clone()).collect();
    let workspace = Workspace::open(plan(args, variants, &dataset, &replies)?, &control)?;
    // A record that cannot be continued is found before its replies are used.
    for (recording, path) in workspace.plan().batches().iter().flatten().zip(&paths) {
        Writer::open_for(path, &recording.header(workspace.tools()), args.retry_errors)?;
    }
    let calls = paths.iter().map(|path| recorded(path)).collect::<Result<Vec<_>>>()?.concat();
    tell(&format!("{} variants, {count} questions", names.len()));
    let once = Once::new(workspace.tools().llm, &calls);
    print_reports(workspace.run_by(&once)?).map_or(Ok(()), Err)?;
    if once.shared() > 0 {
        tell(&format!("{} calls were those of another variant", once.shared()));
    }
    let records = paths.iter().map(|path| Record::read(path)).collect::<Result<Vec<_>>>()?;
    workspace.note_counts();
    let compared = Compared::new(names, records, &dataset.questions);
    if args.json {
        return output::print(&format!("{}\n", escape::json(&compared.json().to_string())));
    }
    let head = format!("{} of {name}, {count} questions ({})\n\n", args.role, half.name());
    output::print(&escape::lines(&(head + &compared.table())))
}

/// Files and folders that are read, with their arguments.
fn inputs(args: &Args) -> Vec<InputPath<'_>> {
    let typed = [("DATASET", Some(&args.dataset)), ("--prompts", args.method.prompts.as_ref())];
    let typed = typed.into_iter().chain([("--source-weights", args.method.source_weights.as_ref())]);
    let typed = typed.filter_map(|(argument, path)| Some((argument, path?.as_path())));
    let variants = args.variant.iter().map(|path| ("--variant", path.as_path()));
    let reused = args.reuse.iter().map(|path| ("--reuse", path.as_path()));
    let corpus = args.retrieve.corpus.iter().map(|typed| ("--corpus", Path::new(typed)));
    typed.chain(variants).chain(reused).chain(corpus).collect()
}

/// The plan of all variants, side by side.
fn plan(args: &Args, variants: Vec<Variant>, dataset: &Arc<Dataset>, replies: &Arc<Replies>) -> Result<Plan> {
    let run = RunOptions { in_flight: args.in_flight, retry_errors: args.retry_errors, ..RunOptions::default() };
    let of = |Variant { method, record, .. }: Variant| {
        Recording::new(Arc::new(method), dataset.clone(), record, replies.clone(), &run)
    };
    let batch: Vec<Recording> = variants.into_iter().map(of).collect();
    let options = PlanOptions {
        corpus: args.retrieve.options(),
        classifier: args.classifier.options(),
        model: args.model.name(),
        runtime: args.model.runtime.options(),
        run: Some(run),
        ..PlanOptions::default()
    };
    Plan::of_batches(options, vec![batch])
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

/// Variant 0, then one for each file.
fn variants(args: &Args, control: &Control) -> Result<Vec<Variant>> {
    if args.variant.len() + 1 > MOST {
        return Err(MootError::Usage(format!(
            "--variant: expected at most {} files besides the prompt in use, found {}",
            MOST - 1,
            args.variant.len()
        )));
    }
    let options = args.method.options()?;
    let resolve = || options.resolve(crate::methods::RUN, &control.notice());
    let method = resolve()?;
    let file = prompt_of(&method.method, &args.role)?;
    let role = stem(Path::new(file.name));
    let record = |name: &str| args.output.join(format!("{role}.{name}.jsonl"));
    let mut variants = vec![Variant { name: "in-use".into(), method, record: record("in-use") }];
    for path in &args.variant {
        let method = resolve()?;
        let mut prompts = method.method.prompts.clone();
        prompts.replace(file, &text(path)?)?;
        let method = MethodPlan { method: method.method.with_prompts(prompts)?, ..method };
        let name = stem(path);
        let text_of = |method: &MethodPlan| method.method.prompts.of(file).text.to_owned();
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
            if text_of(&other.method) == text_of(&method) {
                return Err(wrong("the text"));
            }
        }
        variants.push(Variant { record: record(&name), name, method });
    }
    Ok(variants)
}

/// The prompt of that name: the file of the method, with or without folder and ending; with `wording=tuned` the tuned one where
/// there are two.
fn prompt_of(method: &Built, role: &str) -> Result<File> {
    let (row, asked) = (method.row, role.trim_end_matches(".jinja"));
    let find = |asked: &str| {
        let named = |file: &&File| file.name.trim_end_matches(".jinja") == asked || stem(Path::new(file.name)) == asked;
        row.prompts.iter().find(named).copied()
    };
    let tuned = method.values.json().get("wording").is_some_and(|wording| wording == "tuned");
    let tuned = tuned.then(|| find(&format!("{asked}_tuned"))).flatten();
    tuned.or_else(|| find(asked)).ok_or_else(|| MootError::UnknownName {
        kind: "prompt of the method",
        name: role.to_owned(),
        known: row.prompts.iter().map(|file| file.name).collect::<Vec<_>>().join(", "),
    })
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
