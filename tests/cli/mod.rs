//! Subcommands, called as functions; what they print is checked in processes of their own.

mod again;
mod bad_input;
mod choice;
mod conflict;
mod conflict_correct;
mod conflict_docs;
mod conflict_weights;
mod contradictions;
mod corpus;
mod index;
mod models;
mod outputs;
mod parts;
pub(crate) mod program;
mod prompts;
mod real;
mod reproduce;
mod scores;
mod several;
mod slices;
mod sources;
mod sources_figures;
mod sources_notes;
mod update;
mod verify;

use crate::eval::{answered, header};
use crate::protocol::ctx::Shelf;
use moot::MootError;
use moot::cli::{calls, run, score, show};
use moot::eval::queries;
use moot::eval::record::Writer;
use moot::eval::record::reader::Record;
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::Tools;
use moot::retrieval::{Filter, Retriever, Wanted};
use moot::transcript::{CallRecord, QuestionRecord};
use moot::workspace::{Control, Plan};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The task of the child process: a word and a path.
const COMMAND: &str = "MOOT_TEST_COMMAND";

/// Not a test: a subcommand in a process of its own.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn child() {
    let Ok(command) = std::env::var(COMMAND) else { return };
    let (word, path) = command.split_once(' ').unwrap();
    let record = PathBuf::from(path);
    match word {
        "calls" => calls::run(&calls::Args { record }),
        "list" => show::run(&show::Args { record, question: None, full: false }),
        "show" => show::run(&show::Args { record, question: Some("2".into()), full: false }),
        "score" => score::run(&score_args(&[path, path])),
        "json" => score::run(&score_args(&[path, "--json"])),
        _ => panic!("{word}"),
    }
    .unwrap();
}

fn score_args(typed: &[&str]) -> score::Args {
    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        args: score::Args,
    }
    <Typed as clap::Parser>::parse_from([&["moot"], typed].concat()).args
}

fn spawned(word: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "-q", "cli::child"]);
    command.env(COMMAND, format!("{word} {}", path.display())).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn printed(word: &str, path: &Path) -> String {
    let output = spawned(word, path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn recorded(folder: &Path, count: usize) -> PathBuf {
    let path = folder.join("out.jsonl");
    let mut writer = Writer::open(&path, &header()).unwrap();
    for i in 0..count {
        writer.append(&answered(&format!("q{i}"), &["yes"], &["no"], &["yes", "ja"])).unwrap();
    }
    path
}

#[test]
fn calls_are_one_object_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = recorded(folder.path(), 3);
    // A call whose reply was taken from an equal one was not made.
    let mut twice = answered("q3", &["yes"], &["no"], &["yes"]);
    twice.calls.push(CallRecord { taken_from: Some(twice.calls[0].number), ..twice.calls[0].clone() });
    Writer::open(&path, &header()).unwrap().append(&twice).unwrap();
    let text = printed("calls", &path);
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(lines.len(), 4, "{text}");
    let keys: Vec<_> = lines[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["question", "stage", "role", "round", "messages", "max_tokens", "seed", "completion_tokens"]);
    assert_eq!(lines[2]["question"], "q2");
    assert_eq!(lines[2]["completion_tokens"], 2);
    assert_eq!(lines[2]["messages"][0]["role"], "user");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = recorded(folder.path(), 1);
    // Longer than any pipe's buffer.
    let long = "word ".repeat(100_000);
    let line = fs::read_to_string(&path).unwrap().replace("What?", &long);
    fs::write(&path, &line).unwrap();
    let mut child = spawned("calls", &path).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    // The test harness itself prints after the subcommand and may fail at it; the subcommand must not.
    assert!(!stderr.contains("cli/mod.rs"), "{stderr}");
}

#[test]
fn a_record_is_listed_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = recorded(folder.path(), 3);
    let list = printed("list", &path);
    assert!(list.contains("2  What of q1? \"Ünï\" -> yes; ja (right, and 1 more)\n"), "{list}");
    let debate = printed("show", &path);
    assert!(
        debate.contains("What of q1?") && debate.contains("\nGold  ") && debate.contains("  yes; wrong: no\n"),
        "{debate}"
    );
    assert!(!debate.contains('\u{1b}'), "colours in a pipe: {debate:?}");
}

#[test]
fn questions_are_listed_in_the_datasets_order_where_it_is_known() {
    let of = |id: &str, place| QuestionRecord { place, ..answered(id, &[], &[], &[]) };
    let ids = |records: &[QuestionRecord]| -> Vec<String> {
        queries::ordered(records).iter().map(|record| record.question.id.clone()).collect()
    };
    let known = [of("c", Some(2)), of("a", Some(0)), of("b", Some(1))];
    assert_eq!(ids(&known), ["a", "b", "c"]);
    assert_eq!(queries::find(&known, "3").unwrap().question.id, "c");
    // Older records have no indices, and merged parts may have the same ones: the order is the recorded one.
    assert_eq!(ids(&[of("c", None), of("a", None)]), ["c", "a"]);
    assert_eq!(ids(&[of("c", Some(1)), of("a", Some(0)), of("b", Some(0))]), ["c", "a", "b"]);
}

#[test]
fn scores_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = recorded(folder.path(), 3);
    assert!(printed("score", &path).contains("paired by question, 3 in both"));
    let text = printed("json", &path);
    let line = text.lines().find(|line| line.starts_with('{')).unwrap();
    let json: Value = serde_json::from_str(line).unwrap();
    assert_eq!(json["records"][0]["metrics"]["em"]["mean"], 1.0);
    assert_eq!(json["records"][0]["metrics"]["precision"]["mean"], 0.5);
}

#[test]
fn a_question_is_found_by_id_number_or_text() {
    let records: Vec<_> = ["7-aa", "q1", "2"].map(|id| answered(id, &[], &[], &[])).into();
    let id = |wanted: &str| queries::find(&records, wanted).map(|q| q.question.id.clone()).map_err(|e| e.to_string());
    assert_eq!(id("q1").unwrap(), "q1");
    assert_eq!(id("1").unwrap(), "7-aa");
    // An id goes before a number.
    assert_eq!(id("2").unwrap(), "2");
    assert_eq!(id("OF Q1?").unwrap(), "q1");
    assert_eq!(id("what").unwrap_err(), "3 questions hold \"what\": 1 (id 7-aa), 2 (id q1), 3 (id 2)");
    assert_eq!(id("4").unwrap_err(), "no question of the 3 recorded has the id, number or text \"4\"");
    assert!(id("0").is_err() && id("nowhere").is_err());
}

const LINE: &str = "{\"question\":\"When?\",\"documents\":[{\"text\":\"In 1902.\",\"type\":\"correct\",\"answer\":\"1902\"},\
    {\"text\":\"In 1903.\",\"type\":\"misinfo\",\"answer\":\"1903\"}],\"disambig_entity\":[],\"gold_answers\":[\"1902\"],\
    \"wrong_answers\":[\"1903\"]}\n";

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    args: run::Args,
}

fn arguments(folder: &Path, method: &str) -> run::Args {
    arguments_with(folder, method, &[])
}

fn arguments_with(folder: &Path, method: &str, more: &[&str]) -> run::Args {
    let dataset = folder.join("set.jsonl");
    fs::write(&dataset, LINE.repeat(5)).unwrap();
    let output = folder.join("out.jsonl");
    let (dataset, output) = (dataset.to_str().unwrap(), output.to_str().unwrap());
    let fixed = ["--limit", "3", "--in-flight", "2", "--max-tokens", "64", "--free-form"];
    let typed = ["run", dataset, "-o", output, "--method", method].into_iter().chain(fixed).chain(more.iter().copied());
    <Line as clap::Parser>::try_parse_from(typed).unwrap().args
}

/// The plan of a typed run.
fn prepared(args: &run::Args) -> moot::Result<Plan> {
    Plan::of(args.options()?, &Control::default())
}

/// Runs it with these tools instead of a model's.
fn ran(args: &run::Args, tools: Tools<'_>) -> moot::Result<()> {
    let reports = prepared(args)?.run(tools, &Control::default())?;
    reports.into_iter().find_map(|report| report.unanswered).map_or(Ok(()), Err)
}

#[test]
fn a_dataset_is_run_and_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let mut args = arguments(folder.path(), "concatenated");
    let llm = Scripted::new(|_| "no format at all".into());
    ran(&args, Tools::new(&llm)).unwrap();
    let record = Record::read(args.output.as_ref().unwrap()).unwrap();
    assert_eq!(record.questions.len(), 3);
    assert_eq!(record.header.dataset.as_ref().unwrap().questions, 5);
    assert!(!record.header.prompts.is_empty());
    args.limit = None;
    ran(&args, Tools::new(&llm)).unwrap();
    assert_eq!(Record::read(args.output.as_ref().unwrap()).unwrap().questions.len(), 5);
    args.method.seed = 1;
    assert!(ran(&args, Tools::new(&llm)).unwrap_err().to_string().contains("settings.seed 0 there, 1 now"));
}

/// The corpus and the settings of the search can change results, so they are recorded, and other ones begin another record.
#[test]
fn the_header_names_the_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let (llm, shelf) = (Scripted::new(|_| "no format".into()), Shelf::default());
    let searching = Tools { retriever: Some(&shelf), ..Tools::new(&llm) };
    let args = arguments(folder.path(), "concatenated");
    ran(&args, searching).unwrap();
    let header = Record::read(args.output.as_ref().unwrap()).unwrap().header;
    assert_eq!((header.retriever, header.wanted.as_ref()), (Some(shelf.identity()), Some(searching.wanted)));

    let filter = Filter { until: Some("1998".into()), ..Filter::default() };
    let wanted = Wanted { top: 9, filter, ..searching.wanted.clone() };
    let refused = ran(&args, Tools { wanted: &wanted, ..searching }).unwrap_err().to_string();
    assert!(refused.contains("wanted.top 5 there, 9 now") && refused.contains("wanted.filter.until none"), "{refused}");
    let refused = ran(&args, Tools::new(&llm)).unwrap_err().to_string();
    assert!(refused.contains("retriever"), "{refused}");
    fs::remove_file(args.output.as_ref().unwrap()).unwrap();

    let args = arguments(folder.path(), "closed-book");
    ran(&args, searching).unwrap();
    let header = Record::read(args.output.as_ref().unwrap()).unwrap().header;
    assert_eq!((header.retriever, header.wanted), (None, None), "it searches nothing");
}

#[test]
fn errors_are_asked_again_where_that_is_typed() {
    let folder = tempfile::tempdir().unwrap();
    let args = arguments(folder.path(), "concatenated");
    let errors = |args: &run::Args| {
        let questions = Record::read(args.output.as_ref().unwrap()).unwrap().questions;
        (questions.len(), questions.iter().filter(|question| question.error.is_some()).count())
    };
    // A server that refuses, and then does not.
    let open: Arc<AtomicBool> = Arc::default();
    let is_open = open.clone();
    let llm = Scripted::failing(move |_| match is_open.load(Ordering::Relaxed) {
        false => Err(MootError::Question("refused".into())),
        true => Ok(r#"All Correct Answers: ["1902"]. Explanation: x"#.into()),
    });
    let said = |result: moot::Result<()>| {
        let error = result.unwrap_err();
        (error.to_string(), error.hint().unwrap())
    };
    let (wrong, hint) = said(ran(&args, Tools::new(&llm)));
    assert!(
        wrong.contains("out.jsonl: 3 of 3 questions ended in an error (") && wrong.ends_with(": refused)"),
        "{wrong}"
    );
    assert!(hint.contains("--retry-errors"), "{hint}");
    open.store(true, Ordering::Relaxed);
    let again = said(ran(&args, Tools::new(&llm)));
    assert_eq!(again.0, wrong, "errors of an earlier run count too");
    assert_eq!(errors(&args), (3, 3), "an error is final unless it is asked for again");
    let again = arguments_with(folder.path(), "concatenated", &["--retry-errors"]);
    ran(&again, Tools::new(&llm)).unwrap();
    assert_eq!(errors(&args), (3, 0));
    let path = args.output.clone().unwrap();
    let text = printed("json", &path);
    let json: Value = serde_json::from_str(text.lines().find(|line| line.starts_with('{')).unwrap()).unwrap();
    assert_eq!(json["records"][0]["metrics"]["error"]["mean"], 0.0, "the later line counts");
}

/// A second run with the replies of the first asks nothing, says so in its header, and goes on only with them.
#[test]
fn replies_are_taken_from_an_earlier_record() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let llm = Scripted::new(|_| "no format".into());
    let args = arguments(first.path(), "concatenated");
    ran(&args, Tools::new(&llm)).unwrap();
    let output = |args: &run::Args| args.output.clone().unwrap();
    let there = output(&args).display().to_string();
    let asks = Scripted::failing(|call| Err(MootError::Question(format!("{} was asked", call.what))));
    let again = arguments_with(second.path(), "concatenated", &["--seed", "7", "--reuse", &there]);
    ran(&again, Tools::new(&asks)).unwrap();
    let (record, ledger) = Record::read_whole(&output(&args)).unwrap();
    let reused = Record::read(&output(&again)).unwrap();
    assert_eq!(reused.header.reused, [ledger.chain]);
    let replies = |record: &Record| record.questions.iter().map(|q| q.calls[0].reply.clone()).collect::<Vec<_>>();
    assert_eq!(replies(&reused), replies(&record));
    let without = arguments_with(second.path(), "concatenated", &["--seed", "7"]);
    let refused = ran(&without, Tools::new(&asks)).unwrap_err().to_string();
    assert!(refused.contains("reused"), "{refused}");
    let missing = arguments_with(second.path(), "concatenated", &["--reuse", "nowhere.jsonl"]);
    assert!(prepared(&missing).err().unwrap().to_string().contains("nowhere.jsonl"));
}

#[test]
fn an_output_that_cannot_be_the_record_is_refused_before_a_model_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let llm = Scripted::new(|_| "no format".into());
    let args = arguments(folder.path(), "closed-book");
    let refused = |args: &run::Args| prepared(args).err().unwrap().to_string();
    // The data set itself, and another file that is not a record.
    let itself = run::Args { output: Some(args.dataset.clone()), ..arguments(folder.path(), "closed-book") };
    assert!(
        refused(&itself).contains("set.jsonl: expected a file that the command does not read"),
        "{}",
        refused(&itself)
    );
    assert_eq!(fs::read_to_string(&args.dataset).unwrap(), LINE.repeat(5), "it is left alone");
    // A record of another run: the difference is reported as with a model.
    ran(&args, Tools::new(&llm)).unwrap();
    for (method, typed, said) in [
        ("closed-book", ["--seed", "1"], "settings.seed 0 there, 1 now"),
        ("concatenated", ["--seed", "0"], "method \"closed-book\" there, \"concatenated\" now"),
    ] {
        let other = arguments_with(folder.path(), method, &typed);
        assert!(refused(&other).contains(said), "{}", refused(&other));
    }
    fs::write(&args.dataset, LINE).unwrap();
    assert!(refused(&args).contains("dataset.questions 5 there, 1 now"), "{}", refused(&args));
    // An empty file, and a header that a kill cut short, are begun anew.
    for begun in ["", "{\"moot_record\":2,\"prog"] {
        let args = arguments(folder.path(), "closed-book");
        fs::write(args.output.as_ref().unwrap(), begun).unwrap();
        ran(&args, Tools::new(&llm)).unwrap();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left in the folder");
}

#[test]
fn arguments_are_checked_before_a_model_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = prepared(&arguments(folder.path(), "shouting")).err().unwrap();
    assert!(matches!(wrong, MootError::UnknownName { .. }));
    for (typed, said) in [
        (["--rounds", "2"], "closed-book has no switch \"rounds\" (it has: one-answer)"),
        (["--set", "rounds=2"], "closed-book has no switch \"rounds\" (it has: one-answer)"),
    ] {
        let args = arguments_with(folder.path(), "closed-book", &typed);
        assert_eq!(prepared(&args).err().unwrap().to_string(), said);
    }
    let gossip = arguments_with(folder.path(), "madam-rag", &["--history", "gossip"]);
    let said = "madam-rag, switch history: expected aggregate or peers, found \"gossip\"";
    assert_eq!(prepared(&gossip).err().unwrap().to_string(), said);
    let args = arguments(folder.path(), "closed-book");
    fs::write(&args.dataset, "{}").unwrap();
    assert!(prepared(&args).err().unwrap().to_string().contains("set.jsonl:1: expected an item of a known dataset"));
    assert!(!args.output.unwrap().exists());
}
