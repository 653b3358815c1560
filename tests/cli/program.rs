//! The program itself, in processes of its own, on a tiny model whose replies are senseless and quick.

use moot::MootError;
use moot::eval::record::reader::Record;
use moot::protocol::ctx::Silent;
use moot::question::{Document, Question};
use moot::workspace::models::RuntimeOptions;
use moot::workspace::{Control, MethodOptions, Plan, PlanOptions};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Three questions, in the format of RAMDocs.
pub(crate) const THREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/three.jsonl");
pub(super) const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo");
const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/golden/tiny/llama.gguf");

/// The program, without the variables of the tester's environment.
pub(crate) fn moot<'a>(typed: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_moot"));
    command.args(typed).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for variable in [
        "MOOT_API_KEY",
        "OPENAI_API_KEY",
        "MOOT_MODEL",
        "MOOT_CPU",
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
    ] {
        command.env_remove(variable);
    }
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) fn run(mut command: Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    output
}

/// A folder with a tiny model in it, and a cache.
pub(crate) struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        let workspace = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(workspace.path("tiny.gguf"), with_context(&fs::read(TINY).unwrap(), "llama", 8192)).unwrap();
        workspace
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `typed` and then the arguments that keep the model small and quick.
    pub(crate) fn moot<'a>(&'a self, typed: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = moot(typed);
        command.env("MOOT_CACHE", self.folder.path()).current_dir(self.folder.path());
        command.args(["--model", "tiny.gguf", "--offline", "--kv-memory", "64M"]);
        command.args(["--max-tokens", "8", "--rounds", "2"]);
        command
    }

    /// `moot run` over `set.jsonl`: the three questions, `times` over.
    pub(crate) fn run_of(&self, times: usize, output: &str) -> Command {
        fs::write(self.path("set.jsonl"), fs::read_to_string(THREE).unwrap().repeat(times)).unwrap();
        let mut command = self.moot(["run", "set.jsonl"]);
        command.args(["-o", output, "--in-flight", "2"]);
        command
    }
}

/// The model file with another context length: its own is too short for a debate's prompts.
pub(crate) fn with_context(gguf: &[u8], architecture: &str, tokens: u32) -> Vec<u8> {
    const U32: [u8; 4] = [4, 0, 0, 0];
    let key = format!("{architecture}.context_length");
    let at = gguf.windows(key.len()).position(|window| window == key.as_bytes());
    let value = at.unwrap() + key.len() + U32.len();
    assert_eq!(gguf[value - 4..value], U32, "the type before the value");
    let mut changed = gguf.to_vec();
    changed[value..value + 4].copy_from_slice(&tokens.to_le_bytes());
    changed
}

/// Whole lines of a record that is being written.
fn lines(path: &Path) -> usize {
    fs::read(path).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count())
}

/// Waits until the record at `path` has `wanted` lines more than the header; false where the child ended before.
pub(crate) fn wait_for(child: &mut Child, path: &Path, wanted: usize) -> bool {
    let start = Instant::now();
    while lines(path) < wanted + 1 {
        assert!(start.elapsed() < Duration::from_secs(600), "no progress");
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// The replies to each question, by its id.
fn replies(path: &Path) -> BTreeMap<String, Vec<String>> {
    let record = Record::read(path).unwrap();
    let said = |q: moot::transcript::QuestionRecord| (q.question.id, q.calls.into_iter().map(|c| c.reply).collect());
    record.questions.into_iter().map(said).collect()
}

/// From a program: a plan with options of the model, and a way to stop.
#[test]
fn a_program_opens_a_plan() {
    let workspace = Workspace::new();
    let model = workspace.path("tiny.gguf").display().to_string();
    let runtime = RuntimeOptions { offline: true, kv_memory: Some(64 << 20), ..RuntimeOptions::default() };
    let method = MethodOptions { name: Some("madam-rag".into()), max_tokens: Some(4), ..MethodOptions::default() };
    let options = PlanOptions { model, runtime, method, ..PlanOptions::default() };
    let control = Control::default();
    let opened = moot::Workspace::open(Plan::of(options.clone(), &control).unwrap(), &control).unwrap();
    let documents = vec![Document { text: "In 1884.".into(), ..Document::default() }];
    let question = Question { id: "q".into(), text: "When?".into(), documents, ..Question::default() };
    let record = opened.answer(&question, &Silent).unwrap();
    assert!(record.calls.iter().all(|call| call.max_tokens == 4) && !record.calls.is_empty());
    let small = RuntimeOptions { kv_memory: Some(1), ..options.runtime.clone() };
    let plan = Plan::of(PlanOptions { runtime: small, ..options }, &control).unwrap();
    assert!(moot::Workspace::open(plan, &control).is_err());
    control.cancel.cancel();
    assert!(matches!(opened.answer(&question, &Silent), Err(MootError::Interrupted)));
    assert!(matches!(opened.ask(&Silent), Err(MootError::Usage(_))), "the plan has no question");
}

/// Seeded sampling looks at every bit of the logits, not only at the largest.
#[test]
fn replies_depend_neither_on_threads_nor_on_the_instruction_set() {
    let workspace = Workspace::new();
    let replies_of = |name: &str, threads: &str, table: &str| {
        let mut command = workspace.run_of(1, name);
        command.args(["--threads", threads, "--temperature", "1", "--free-form"]).env("MOOT_CPU", table);
        run(command);
        replies(&workspace.path(name))
    };
    let expected = replies_of("one.jsonl", "1", "portable");
    assert!(expected.values().flatten().any(|reply| !reply.is_empty()));
    for (i, table) in moot_models::kernels::cpu::tables().iter().enumerate() {
        assert_eq!(replies_of(&format!("{i}.jsonl"), "3", table.name), expected, "{}", table.name);
    }
}

/// Code that computes before the model is opened must not start the threads, because their number is set later.
#[test]
fn a_bench_and_a_corpus_take_the_threads_they_are_given() {
    let workspace = Workspace::new();
    let mut bench = moot(["lab", "bench", "--model", "tiny.gguf", "--offline", "--json", "--rows", "1"]);
    bench.args(["--threads", "3", "--kv-memory", "64M", "--prompt", "20", "--generate", "2"]);
    bench.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
    let measured: Value = serde_json::from_slice(&run(bench).stdout).unwrap();
    // Not two: that is the default on two cores.
    assert_eq!(measured["threads"], 3);

    fs::write(workspace.path("notes.txt"), "The bridge was closed in 1998.").unwrap();
    let mut ask = moot(["ask", "When was it closed?", "--corpus", "notes.txt", "--embedder", "none"]);
    ask.args(["--retriever", "bm25", "--threads", "2", "--max-tokens", "4", "--model", "tiny.gguf"]);
    ask.args(["--offline", "--kv-memory", "64M"]).env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
    run(ask);
}

#[test]
fn a_killed_run_continues_with_the_same_result() {
    let workspace = Workspace::new();
    let path = workspace.path("out.jsonl");
    let mut child = workspace.run_of(8, "out.jsonl").spawn().unwrap();
    assert!(wait_for(&mut child, &path, 40), "the run was over before it could be killed");
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = fs::read(&path).unwrap();
    let whole = killed.iter().rposition(|&byte| byte == b'\n').unwrap() + 1;

    let resumed = run(workspace.run_of(8, "out.jsonl"));
    assert!(text(&resumed.stderr).contains(" recorded before)"), "{}", text(&resumed.stderr));
    assert!(fs::read(&path).unwrap().starts_with(&killed[..whole]), "what was finished has changed");
    run(workspace.run_of(8, "at_once.jsonl"));
    let both = [replies(&path), replies(&workspace.path("at_once.jsonl"))];
    assert_eq!(both[0].len(), 24);
    assert_eq!(both[0], both[1]);

    let again = run(workspace.run_of(8, "out.jsonl"));
    assert!(text(&again.stderr).contains("0 questions (24 recorded before)"), "{}", text(&again.stderr));
    reads_like_a_record(&path, 24);
}

/// `score`, `show` and `calls` of a record of `questions`.
pub(super) fn reads_like_a_record(path: &Path, questions: usize) {
    let path = path.to_str().unwrap();
    let scores: Value = serde_json::from_slice(&run(moot(["score", path, "--json"])).stdout).unwrap();
    let em = scores["records"][0]["metrics"]["em"]["mean"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&em), "{scores}");
    assert!(text(&run(moot(["score", path])).stdout).to_lowercase().contains("f1"));
    assert_eq!(text(&run(moot(["record", "show", path])).stdout).lines().count(), questions);
    let debate = text(&run(moot(["record", "show", path, "1"])).stdout);
    assert!(debate.contains("Round 1") && debate.contains("Conclusion"), "{debate}");
    assert_eq!(moot(["record", "show", path, "no such question"]).output().unwrap().status.code(), Some(2));

    let mut stages: BTreeMap<String, i64> = BTreeMap::new();
    for line in text(&run(moot(["record", "calls", path])).stdout).lines() {
        let call: Value = serde_json::from_str(line).unwrap();
        let last = stages.entry(call["question"].as_str().unwrap().to_owned()).or_insert(0);
        assert!(call["stage"].as_i64().unwrap() >= *last, "stages go forward");
        *last = call["stage"].as_i64().unwrap();
        assert!(call["completion_tokens"].as_u64().unwrap() <= call["max_tokens"].as_u64().unwrap());
    }
    assert_eq!(stages.len(), questions);
}

#[test]
fn recorded_calls_run_again_at_their_lengths() {
    let workspace = Workspace::new();
    run(workspace.run_of(2, "out.jsonl"));
    let calls = text(&run(moot(["record", "calls", workspace.path("out.jsonl").to_str().unwrap()])).stdout);
    fs::write(workspace.path("calls.jsonl"), &calls).unwrap();
    let lengths = calls.lines().map(|line| {
        let call: Value = serde_json::from_str(line).unwrap();
        call["completion_tokens"].as_u64().unwrap()
    });
    let lengths: Vec<u64> = lengths.collect();
    let bench = |file: &str| {
        let mut command = moot(["lab", "bench", "--calls", file, "--in-flight", "2", "--json", "--model", "tiny.gguf"]);
        command.args(["--offline", "--kv-memory", "64M"]).current_dir(workspace.path(""));
        command.env("MOOT_CACHE", workspace.path("")).output().unwrap()
    };
    let measured: Value = serde_json::from_slice(&bench("calls.jsonl").stdout).unwrap();
    assert_eq!(measured["questions"], 6);
    assert_eq!(measured["calls"], lengths.len());
    assert_eq!(measured["generated_tokens"], lengths.iter().sum::<u64>());
    assert!(measured["computed_tokens"].as_u64() < measured["prompt_tokens"].as_u64());

    let refused = bench("out.jsonl");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("out.jsonl:1: expected a call"), "{}", text(&refused.stderr));
}

#[test]
fn a_pipe_that_is_closed_early_is_no_error() {
    let workspace = Workspace::new();
    // More calls than any pipe's buffer holds.
    run(workspace.run_of(12, "out.jsonl"));
    let path = workspace.path("out.jsonl");
    let path = path.to_str().unwrap();
    assert!(run(moot(["record", "calls", path])).stdout.len() > 1 << 17);
    let mut child = moot(["record", "calls", path]).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn json_prints_a_record() {
    let workspace = Workspace::new();
    let printed =
        text(&run(workspace.moot(["ask", "When?", "--json", "--method", "madam-rag", "--docs", DEMO])).stdout);
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [header, debate] = &lines[..] else { panic!("{} lines", lines.len()) };
    assert_eq!(header["moot_record"], 2);
    assert_eq!(header["model"]["architecture"], "llama");
    assert_eq!(header["model"]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(debate["question"]["documents"].as_array().unwrap().len(), 4);
    for call in debate["calls"].as_array().unwrap() {
        let tokens = |name: &str| call["usage"][name].as_u64().unwrap();
        assert_eq!(tokens("prompt"), tokens("reused") + tokens("computed"));
        assert!(!call["taken_from"].is_null() || (1..=8).contains(&tokens("generated")));
    }
    // The printed record is a file as `moot run` writes it.
    fs::write(workspace.path("asked.jsonl"), &printed).unwrap();
    let debate = text(&run(moot(["record", "show", workspace.path("asked.jsonl").to_str().unwrap()])).stdout);
    assert!(debate.starts_with("When?\n"), "{debate}");
}

#[test]
fn colours_stay_out_of_pipes() {
    let workspace = Workspace::new();
    let ask = |set: &[(&str, &str)]| {
        let mut command = workspace.moot(["ask", "When?", "--method", "madam-rag", "--docs", DEMO]);
        command.envs(set.iter().copied());
        let output = run(command);
        text(&output.stdout) + &text(&output.stderr)
    };
    assert!(!ask(&[]).contains('\u{1b}'));
    // There are colours to take away, and NO_COLOR takes them away even from where they are forced.
    assert!(ask(&[("CLICOLOR_FORCE", "1")]).contains('\u{1b}'));
    assert!(!ask(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
}

/// The engine's counts are printed with --full only, in lines that fit the terminal.
#[test]
fn the_steps_of_the_engine_are_shown_in_full_alone() {
    let workspace = Workspace::new();
    let ask = |more: &[&str]| {
        let mut command =
            workspace.moot(["ask", "When?", "--method", "madam-rag", "--docs", DEMO].iter().chain(more).copied());
        command.env("COLUMNS", "60");
        text(&run(command).stdout)
    };
    let short = ask(&[]);
    assert!(!short.contains("forward passes") && !short.contains("Round 1") && short.contains("Conclusion"), "{short}");
    let full = ask(&["--full"]);
    assert!(full.contains("Round 1"), "{full}");
    let steps = full.split("Steps  ").nth(1).unwrap();
    let squeezed = steps.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed.contains("forward passes") && squeezed.contains("padded batches would have computed"), "{full}");
    assert!(steps.lines().count() > 1 && steps.lines().all(|line| line.chars().count() <= 60), "{full}");
}

#[test]
fn exit_codes_are_as_people_expect() {
    let workspace = Workspace::new();
    let out = workspace.path("out.jsonl");
    let out = out.to_str().unwrap();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["--version"], 0, ""),
        (&["ask", "--help"], 0, ""),
        (&[], 2, "Usage"),
        (&["shout"], 2, "unrecognized subcommand"),
        (&["ask", "When?", "--docs", DEMO, "--temperature", "warm"], 2, "invalid value"),
        (&["run", THREE, "-o", out, "--method", "shouting"], 2, "known: madam-rag"),
        (&["run", THREE, "-o", out, "--rounds", "0"], 2, "a whole number from 1"),
        (&["run", "nowhere.jsonl", "-o", out], 1, "nowhere.jsonl"),
        (&["ask", "When?", "--docs", DEMO, "--model", "no/such.gguf"], 1, "no/such.gguf"),
    ];
    for (typed, code, said) in cases {
        let output = moot(typed.iter().copied()).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{typed:?}: {stderr}");
        assert!(stderr.contains(said) && stderr.is_empty() == said.is_empty(), "{typed:?}: {stderr}");
    }
}

/// Errors are recorded, and the exit code says that there are some.
#[test]
fn a_run_with_errors_exits_with_an_error() {
    let workspace = Workspace::new();
    // The model's own context is too short for any of the prompts.
    fs::copy(TINY, workspace.path("tiny.gguf")).unwrap();
    let output = workspace.run_of(1, "out.jsonl").output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: out.jsonl: 3 of 3 questions ended in an error ("), "{said}");
    assert!(said.contains("the context of the model is 256)") && said.contains("--retry-errors"), "{said}");
    let questions = Record::read(&workspace.path("out.jsonl")).unwrap().questions;
    assert!(questions.len() == 3 && questions.iter().all(|question| question.error.is_some()));
}

/// Requests that could never fit in the key-value memory are found before the first question is asked.
#[test]
fn too_little_memory_for_one_request_is_refused_before_the_run() {
    let workspace = Workspace::new();
    let run_with = |memory: &str| {
        fs::write(workspace.path("set.jsonl"), fs::read_to_string(THREE).unwrap()).unwrap();
        let mut command = moot(["run", "set.jsonl", "-o", "out.jsonl", "--max-tokens", "8", "--rounds", "1"]);
        command.args(["--model", "tiny.gguf", "--offline", "--kv-memory", memory]);
        command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path("")).output().unwrap()
    };
    let refused = run_with("256K");
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("error: question ") && said.contains(", aggregator, round "), "{said}");
    assert!(said.contains("to generate), the key-value memory is ") && said.contains("raise --kv-memory"), "{said}");
    assert!(!said.contains("questions in"), "{said}");
    assert!(
        Record::read(&workspace.path("out.jsonl")).unwrap().questions.is_empty(),
        "nothing is recorded as an answer"
    );
    let enough = run_with("64M");
    assert!(enough.status.success(), "{}", text(&enough.stderr));
    assert_eq!(Record::read(&workspace.path("out.jsonl")).unwrap().questions.len(), 3);
}
