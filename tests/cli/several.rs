//! The program with several models: together, in turn, here and elsewhere.

use super::program::{DEMO, THREE, Workspace, moot, reads_like_a_record, run, text, with_context};
use crate::llm::server::{Server, reply};
use moot::eval::record::reader::Record;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

const QWEN2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/golden/tiny/qwen2.gguf");

/// A workspace with a second model.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    fs::write(workspace.path("other.gguf"), with_context(&fs::read(QWEN2).unwrap(), "qwen2", 8192)).unwrap();
    workspace
}

fn with_models<'a>(workspace: &Workspace, model: &str, typed: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = moot(typed);
    command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
    command.args(["--model", model, "--offline", "--kv-memory", "64M", "--max-tokens", "8", "--rounds", "2"]);
    command
}

#[test]
fn models_that_take_turns_reply_as_models_together() {
    let workspace = workspace();
    let run_in = |memory: &str, output: &str| {
        let typed = ["run", THREE, "-o", output, "--memory", memory, "--temperature", "1", "--in-flight", "3"];
        let said = text(&run(with_models(&workspace, "agent=tiny.gguf,aggregator=other.gguf", typed)).stderr);
        (said, Record::read(&workspace.path(output)).unwrap())
    };
    let (said, together) = run_in("1G", "together.jsonl");
    assert!(said.contains("all models stay loaded") && said.contains("agent: tiny.gguf, "), "{said}");
    let (said, turns) = run_in("350M", "turns.jsonl");
    assert!(said.contains("models take turns") && said.contains("aggregator: other.gguf, "), "{said}");
    assert_eq!(turns.header, together.header);
    let header = &turns.header;
    assert_eq!((header.model.architecture.as_str(), header.roles.len()), ("llama", 1));
    assert_eq!(header.model_of("aggregator").architecture, "qwen2");
    assert_ne!(header.model_of("agent").sha256, header.model_of("aggregator").sha256);
    let replies = |record: &Record| {
        let mut all: Vec<(String, Vec<String>)> = record
            .questions
            .iter()
            .map(|q| (q.question.id.clone(), q.calls.iter().map(|call| call.reply.clone()).collect()))
            .collect();
        all.sort();
        all
    };
    assert_eq!(replies(&turns), replies(&together));
    reads_like_a_record(&workspace.path("turns.jsonl"), 3);
    // Another model for a role is another run.
    let typed = ["run", THREE, "-o", "turns.jsonl", "--memory", "1G", "--temperature", "1"];
    let other = with_models(&workspace, "tiny.gguf", typed).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("other settings: roles {\"aggregator\""), "{}", text(&other.stderr));
}

/// A folder whose context is shorter than it claims, since its positions are scaled anew beyond.
fn rescaled(workspace: &Workspace) {
    let (from, to) = (Path::new(QWEN2).with_extension(""), workspace.path("rescaled"));
    fs::create_dir(&to).unwrap();
    for file in ["model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let mut config: Value = serde_json::from_slice(&fs::read(from.join("config.json")).unwrap()).unwrap();
    config["max_position_embeddings"] = 16384.into();
    let factors = vec![1.0; 8];
    config["rope_parameters"] = json!({
        "rope_type": "longrope", "rope_theta": 1e6, "short_factor": factors, "long_factor": factors,
        "original_max_position_embeddings": 8192,
    });
    fs::write(to.join("config.json"), config.to_string()).unwrap();
}

#[test]
fn missing_abilities_are_reported_once_for_each_model() {
    let workspace = workspace();
    rescaled(&workspace);
    let note = "rescaled: context is 8192 tokens instead of the 16384 of its file";
    let ask = |model: &str, memory: &'static [&'static str]| {
        let typed = ["ask", "When?", "--method", "madam-rag", "--docs", DEMO].iter().chain(memory).copied();
        text(&run(with_models(&workspace, model, typed)).stderr)
    };
    let several = "agent=tiny.gguf,aggregator=rescaled";
    let mut bench =
        moot(["lab", "bench", "--model", "rescaled", "--offline", "--rows", "1", "--prompt", "8", "--generate", "2"]);
    let bench = text(
        &run({
            bench.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path("")).args(["--kv-memory", "16M"]);
            bench
        })
        .stderr,
    );
    let turns = ask(several, &["--memory", "350M"]);
    assert!(turns.contains("models take turns"), "{turns}");
    for said in [bench, turns, ask("rescaled", &[]), ask(several, &["--memory", "1G"])] {
        assert_eq!(said.matches(note).count(), 1, "{said}");
    }
}

#[test]
fn a_model_elsewhere_joins_the_debate_and_its_key_is_nowhere() {
    let workspace = workspace();
    let server = Server::start(|_, _, stream| {
        reply(stream, r#"{"answers": ["1931"], "explanation": "A server said so."}"#);
    });
    let model = format!("tiny.gguf,aggregator={}#tiny", server.base);
    let mut command = with_models(
        &workspace,
        &model,
        ["ask", "When?", "--method", "madam-rag", "--json", "--think", "4", "--docs", DEMO],
    );
    let output = run({
        command.env("MOOT_API_KEY", "sk-secret");
        command
    });
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert!(!printed.contains("sk-secret") && !said.contains("sk-secret"));
    assert!(server.received()[0].head.to_ascii_lowercase().contains("authorization: bearer sk-secret"));
    assert!(said.contains("#tiny: answers") && said.contains("tiny.gguf has no thinking mode"), "{said}");
    fs::write(workspace.path("asked.jsonl"), &printed).unwrap();
    let record = Record::read(&workspace.path("asked.jsonl")).unwrap();
    assert_eq!(record.header.model_of("aggregator").name, format!("{}#tiny", server.base));
    assert_eq!(record.header.settings.think, 4);
    assert_eq!(record.questions[0].conclusion.as_ref().unwrap().answers[0].text, "1931");
    let debate = text(&run(moot(["record", "show", workspace.path("asked.jsonl").to_str().unwrap()])).stdout);
    assert!(debate.contains("A server said so."), "{debate}");
}

#[test]
fn impossible_runs_are_refused_in_one_line() {
    let workspace = workspace();
    let ask = ["ask", "When?", "--method", "madam-rag", "--docs", DEMO];
    let elsewhere = "http://192.0.2.1/v1#m";
    for (model, typed, code, said) in [
        ("tiny.gguf,judge=other.gguf", &ask[..], 2, "madam-rag has no role \"judge\" (it has: agent, aggregator)"),
        ("agent=tiny.gguf", &ask[..], 2, "no model for the role \"aggregator\""),
        (elsewhere, &ask[..], 2, "the network is off (--offline)"),
        ("http://127.0.0.1:1/v1#m", &ask[..], 1, "no server listens there"),
        (
            "agent=tiny.gguf,aggregator=other.gguf",
            &["ask", "When?", "--method", "madam-rag", "--docs", DEMO, "--memory", "60M"],
            1,
            "needs ",
        ),
    ] {
        let output = with_models(&workspace, model, typed.iter().copied()).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{model}: {stderr}");
        assert!(stderr.contains(said), "{model}: {stderr}");
    }
    let mut bench = moot(["lab", "bench", "--model", "agent=tiny.gguf,aggregator=other.gguf", "--offline"]);
    let output = bench.current_dir(workspace.path("")).output().unwrap();
    assert!(text(&output.stderr).contains("moot lab bench has no roles"), "{}", text(&output.stderr));
}

/// The records of a folder: name, calls.
fn records(folder: &Path) -> Vec<(String, usize)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<(String, usize)> = files
        .map(|path| {
            let calls = Record::read(&path).unwrap().questions.iter().map(|q| q.calls.len()).sum();
            (path.file_name().unwrap().to_string_lossy().into_owned(), calls)
        })
        .collect();
    found.sort();
    found
}

/// Two presets of one method with two models: four records, shared prefixes, and nothing asked again by the same command.
#[test]
fn several_methods_and_models_are_a_record_each() {
    let workspace = workspace();
    let run_of = |methods: &str, models: &str| {
        let mut command = moot(["run", THREE, "-o", "runs", "--preset", methods, "--model", models]);
        command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
        // The same prompts in all of them.
        command.args(["--offline", "--kv-memory", "64M", "--max-tokens", "8", "--wording", "tuned"]);
        text(&run(command).stderr)
    };
    let said = run_of("one-round,every-answer", "tiny.gguf,other.gguf");
    let found = records(&workspace.path("runs"));
    let names = ["every-answer.other", "every-answer.tiny", "one-round.other", "one-round.tiny"];
    assert_eq!(found.iter().map(|(name, _)| name.trim_end_matches(".jsonl")).collect::<Vec<_>>(), names);
    let documents: usize = Record::read(&workspace.path("runs").join("one-round.tiny.jsonl"))
        .unwrap()
        .questions
        .iter()
        .map(|q| q.question.documents.len())
        .sum();
    assert_eq!(
        found.iter().map(|(_, calls)| *calls).collect::<Vec<_>>(),
        [documents, documents, documents + 3, documents + 3]
    );
    let shared: Vec<usize> = said
        .lines()
        .filter_map(|line| line.strip_suffix(" prompt tokens were computed once for several methods")?.parse().ok())
        .collect();
    assert!(shared.len() == 2 && shared.iter().all(|&tokens| tokens > 100), "{said}");
    let again = run_of("one-round,every-answer", "tiny.gguf,other.gguf");
    assert_eq!(again.matches("0 questions (3 recorded before)").count(), 4, "{again}");
    // One more method later goes into the same folder.
    let more = run_of("every-answer,one-round,paper", "tiny.gguf");
    assert_eq!(more.matches("0 questions (3 recorded before)").count(), 2, "{more}");
    assert_eq!(records(&workspace.path("runs")).len(), 5);
    let compared = run(moot(
        ["compare"]
            .into_iter()
            .chain(["runs/one-round.tiny.jsonl", "runs/paper.tiny.jsonl"])
            .map(|word| if word == "compare" { word.to_owned() } else { workspace.path(word).display().to_string() })
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str),
    ));
    assert!(text(&compared.stdout).contains("pairs (only in one)"));
}

#[test]
fn several_methods_that_cannot_be_are_refused_before_a_model_is_loaded() {
    let workspace = workspace();
    let refused = |typed: &[&str]| {
        let mut command = moot(["run", THREE].into_iter().chain(typed.iter().copied()));
        command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
        let output = command.args(["--offline"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{typed:?}");
        text(&output.stderr)
    };
    for (typed, said) in [
        (&["-o", "x.jsonl", "--method", "madam-rag,concatenated"][..], "expected a folder for 2 records"),
        (&["-o", "runs", "--method", "closed-book,closed-book"], "closed-book is given twice"),
        (&["-o", "runs", "--method", "closed-book,shouting"], "no method is called \"shouting\""),
        (&["-o", "runs", "--method", "closed-book,concatenated", "--rounds", "2"], "has a switch \"rounds\""),
        (&["-o", "runs", "--model", "tiny.gguf,tiny.gguf"], "tiny.gguf is given twice"),
        (
            &["-o", "runs", "--method", "closed-book,concatenated", "--answers", "a.csv"],
            "expected one method and one model",
        ),
        (
            &["-o", "runs", "--method", "madam-rag,concatenated", "--model", "agent=tiny.gguf,aggregator=other.gguf"],
            "several methods",
        ),
        (&["--answers", "a.txt"], ".csv or .jsonl"),
    ] {
        let found = refused(typed);
        assert!(found.contains(said), "{typed:?}: {found}");
    }
    // The second model is looked for before the first one runs.
    let missing = refused_by(&workspace, &["-o", "runs", "--model", "tiny.gguf,nowhere.gguf"]);
    assert!(missing.contains("nowhere.gguf") && !missing.contains("loaded in"), "{missing}");
}

fn refused_by(workspace: &Workspace, typed: &[&str]) -> String {
    let mut command = moot(["run", THREE].into_iter().chain(typed.iter().copied()));
    command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
    let output = command.args(["--offline"]).output().unwrap();
    assert!(!output.status.success());
    text(&output.stderr)
}

/// Questions alone, a folder of files, and a table of answers: no gold, no `-o`.
#[test]
fn questions_without_gold_get_answers_with_citations() {
    let workspace = workspace();
    fs::write(
        workspace.path("mine.jsonl"),
        "{\"question\":\"When did the bridge open?\"}\n{\"question\":\"Who built the bridge?\"}\n",
    )
    .unwrap();
    let batch = || {
        let mut command =
            moot(["run", "mine.jsonl", "--corpus", DEMO, "--answers", "answers.csv", "--model", "tiny.gguf"]);
        command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
        command.args([
            "--offline",
            "--kv-memory",
            "64M",
            "--max-tokens",
            "8",
            "--method",
            "majority-vote",
            "--embedder",
            "none",
        ]);
        text(&run(command).stderr)
    };
    let said = batch();
    assert!(said.contains("answers.csv: ") && said.contains(" of 2 questions answered"), "{said}");
    let table = fs::read_to_string(workspace.path("answers.csv")).unwrap();
    assert!(table.starts_with("id,question,outcome,answer,supported_by,"), "{table}");
    assert!(table.lines().count() >= 3 && table.contains("When did the bridge open?"), "{table}");
    let record = workspace.path("answers.record.jsonl");
    assert_eq!(Record::read(&record).unwrap().questions.len(), 2);
    let score = text(&run(moot(["score", record.to_str().unwrap()])).stdout);
    let words: Vec<&str> = score.split_whitespace().collect();
    assert!(words.join(" ").contains("no question has gold answers"), "{score}");
    fs::remove_file(workspace.path("answers.csv")).unwrap();
    assert!(batch().contains("0 questions (2 recorded before)"));
    assert_eq!(fs::read_to_string(workspace.path("answers.csv")).unwrap(), table, "from the record");
}
