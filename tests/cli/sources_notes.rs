//! A folder of notes by three sources that disagree over twenty questions: weights from a recorded run, and `ask` with them. A
//! stand-in server reads, so no model is needed.

use super::program::{moot, text};
use crate::llm::server::{Server, reply};
use moot::eval::record::reader::Record;
use moot::sources::SourceWeights;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

const TOWNS: [&str; 20] = [
    "Aldmouth",
    "Brackwater",
    "Caskhill",
    "Dornes",
    "Elmstead",
    "Fenwick",
    "Garlow",
    "Hexley",
    "Ilverton",
    "Jarnsby",
    "Kelmore",
    "Lorrach",
    "Mirfield",
    "Norwell",
    "Oxbury",
    "Pellgrave",
    "Quarnton",
    "Rasket",
    "Selby",
    "Tarnwood",
];

/// The year in which a source says that the bridge of town `index` opened. The ledger is wrong twice, the gazette seven times
/// and the gossip fourteen times; on town 8 the latter two tell the same lie.
fn year(source: &str, index: usize) -> usize {
    match source {
        "ledger" if index < 2 => 1700 + index,
        "gazette" if (2..9).contains(&index) => 1600 + index,
        "gossip" if index == 8 => 1600 + index,
        "gossip" if index >= 6 => 1500 + index,
        _ => 1800 + index,
    }
}

const SOURCES: [&str; 3] = ["gazette", "gossip", "ledger"];

struct Notes {
    folder: tempfile::TempDir,
    server: Server,
}

impl Notes {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (source, (index, town)) in
            SOURCES.iter().flat_map(|source| TOWNS.iter().enumerate().map(move |t| (source, t)))
        {
            let notes = folder.path().join("notes").join(source);
            fs::create_dir_all(&notes).unwrap();
            let note = format!("The bridge of {town} was opened in {}.", year(source, index));
            fs::write(notes.join(format!("{town}.md")), note).unwrap();
        }
        let question = |(index, town): (usize, &&str)| {
            format!(
                "{}\n",
                json!({ "id": format!("q{index}"), "question": asked(town), "answers": [(1800 + index).to_string()] })
            )
        };
        let lines: String = TOWNS.iter().enumerate().map(question).collect();
        fs::write(folder.path().join("questions.jsonl"), lines).unwrap();
        Self { folder, server: server() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `moot COMMAND FIRST --corpus notes ...` with the stand-in server as model.
    fn moot(&self, command: &[&str], typed: &[&str]) -> Output {
        let notes = self.path("notes").display().to_string();
        let fixed = ["--corpus", &notes, "--embedder", "none", "--model", &self.server.base, "--free-form"];
        let fixed = fixed.into_iter().chain(["--method", "ra-rag"]);
        let all: Vec<&str> = command.iter().copied().chain(fixed).chain(typed.iter().copied()).collect();
        let output = moot(all).env("MOOT_CACHE", self.path("cache")).output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
        output
    }

    /// Every source answers all twenty questions.
    fn run(&self, record: &Path, typed: &[&str]) -> Output {
        let questions = self.path("questions.jsonl").display().to_string();
        let record = record.display().to_string();
        self.moot(&["run", &questions, "-o", &record], typed)
    }
}

fn asked(town: &str) -> String {
    format!("When was the bridge of {town} opened?")
}

/// Answers with the year that follows the town of the question in the documents.
fn server() -> Server {
    Server::start(|_, received, stream| {
        let (documents, question) = received.asked().rsplit_once("Question: ").unwrap();
        let town = TOWNS.iter().find(|town| question.contains(*town)).unwrap();
        let said = documents.split_once(&format!("The bridge of {town} was opened in ")).map(|(_, after)| &after[..4]);
        reply(stream, said.unwrap_or("unknown"));
    })
}

#[test]
fn planted_reliabilities_come_out_in_their_order_and_ask_uses_them() {
    let notes = Notes::new();
    let (record, weights) = (notes.path("run.jsonl"), notes.path("sources.json"));
    notes.run(&record, &["--variant", "wmv"]);
    let (record, known) = (record.display().to_string(), weights.display().to_string());
    let estimated = moot(["sources", "estimate", &record, "-o", &known]).output().unwrap();
    assert!(estimated.status.success(), "{}", text(&estimated.stderr));
    let (weights, _) = SourceWeights::read(&weights).unwrap();
    let of = |source: &str| weights.sources[source];
    assert!(SOURCES.iter().all(|source| (of(source).answers, of(source).asked) == (20, 20)), "{weights:?}");
    let weight = |source: &str| of(source).weight.unwrap();
    assert!(weight("ledger") > weight("gazette") + 1.0, "{weights:?}");
    assert!(weight("gazette") > weight("gossip") + 0.5, "{weights:?}");

    // On the ninth town two of three sources tell the same lie.
    let question = asked(TOWNS[8]);
    let answer = |typed: &[&str]| -> Value {
        let out = text(&notes.moot(&["ask", &question, "--json"], typed).stdout);
        serde_json::from_str::<Value>(out.lines().nth(1).unwrap()).unwrap()["conclusion"].take()
    };
    assert_eq!(answer(&[])["answers"][0]["text"], "1608");
    let weighed = answer(&["--source-weights", &known]);
    assert_eq!(weighed["answers"][0]["text"], "1808");
    assert_eq!(weighed["rejected"][0]["text"], "1608");
    let printed = text(&notes.moot(&["ask", &question, "--full"], &["--source-weights", &known]).stdout);
    let squeezed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed.contains(&format!("weight {:.2}", weight("ledger"))), "{printed}");
    assert!(squeezed.contains(&format!("weight {:.2}", weight("gossip"))), "{printed}");
}

#[test]
fn each_source_is_searched_by_vectors_and_it_is_recorded() {
    let notes = Notes::new();
    let tiny = concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/golden/encoders/bert");
    let header = |method: &str, typed: &[&str]| {
        let path = notes.path(&format!("{method}{}.jsonl", typed.concat().replace('/', "_")));
        let (corpus, record) = (notes.path("notes").display().to_string(), path.display().to_string());
        let questions = notes.path("questions.jsonl").display().to_string();
        let fixed =
            ["run", &questions, "-o", &record, "--corpus", &corpus, "--model", &notes.server.base, "--free-form"];
        let all: Vec<&str> = fixed.into_iter().chain(["--method", method]).chain(typed.iter().copied()).collect();
        let output = moot(all).env("MOOT_CACHE", notes.path("cache")).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let header = Record::read(&path).unwrap().header;
        let wanted = header.wanted.unwrap();
        (header.retriever.unwrap().mode, wanted.top, wanted.by_source, wanted.fold)
    };
    let mode = |mode: &str| mode.to_owned();
    assert_eq!(header("ra-rag", &["--embedder", tiny, "--limit", "1"]), (mode("dense"), 3, true, false));
    assert_eq!(
        header("ra-rag", &["--embedder", tiny, "--limit", "1", "--retriever", "hybrid", "--per-source", "2"]),
        (mode("hybrid"), 2, true, false)
    );
    assert_eq!(header("ra-rag", &["--embedder", "none", "--limit", "1"]).0, "lexical");
    assert_eq!(header("majority-vote", &["--embedder", tiny, "--limit", "1"]), (mode("hybrid"), 5, false, true));
}

#[test]
fn weights_of_another_corpus_are_reported_by_ask_and_by_run() {
    let notes = Notes::new();
    let other = notes.path("other.json");
    let estimate = |weight: f64| json!({ "weight": weight, "agreement": 0.9, "answers": 9, "asked": 9 });
    let file = |sources: Value| {
        let file = json!({
            "moot_sources": 1, "estimator": "paper", "records": [], "questions": 9, "iterations": 3, "converged": true,
            "sources": sources,
        });
        fs::write(&other, file.to_string()).unwrap();
    };
    file(json!({ "wire": estimate(2.0) }));
    let other = other.display().to_string();
    let said = "other.json belongs to another corpus: it has weights of \"wire\", found \"gazette\", \"gossip\", \"ledger\"; \
                every vote is the mean of its weights, 2.00";
    let question = asked(TOWNS[3]);
    let asked = text(&notes.moot(&["ask", &question], &["--source-weights", &other]).stderr);
    assert!(asked.contains(said), "{asked}");
    let run = text(&notes.run(&notes.path("a.jsonl"), &["--source-weights", &other]).stderr);
    assert!(run.contains(said), "{run}");
    file(json!({ "ledger": estimate(2.0) }));
    let run = text(&notes.run(&notes.path("b.jsonl"), &["--source-weights", &other]).stderr);
    assert!(
        run.contains(
            "other.json has no weight for 2 of 3 sources (\"gazette\", \"gossip\"): they vote with the mean of its weights, 2.00"
        ),
        "{run}"
    );
    assert!(!run.contains("does not read"), "{run}");
    let unread = "ra-rag ignores the source weights of other.json: they are only displayed";
    let votes = notes.run(&notes.path("c.jsonl"), &["--source-weights", &other, "--variant", "mv"]);
    assert!(text(&votes.stderr).contains(unread), "{}", text(&votes.stderr));
}

/// `--top` is the number of passages of methods that search for the question; others have a switch of their own.
#[test]
fn a_number_of_passages_that_a_method_does_not_read_is_told() {
    let notes = Notes::new();
    let said = |method: &str| {
        let path = notes.path(&format!("{method}.jsonl"));
        let (corpus, record) = (notes.path("notes").display().to_string(), path.display().to_string());
        let questions = notes.path("questions.jsonl").display().to_string();
        let fixed =
            ["run", &questions, "-o", &record, "--corpus", &corpus, "--model", &notes.server.base, "--free-form"];
        let more = ["--embedder", "none", "--limit", "1", "--top", "2", "--method", method];
        let output = moot(fixed.into_iter().chain(more)).env("MOOT_CACHE", notes.path("cache")).output().unwrap();
        text(&output.stderr)
    };
    let unread = "naive-rag ignores --top 2: passages retrieved for each query (--set per-query=2)";
    assert!(said("naive-rag").contains(unread), "{}", said("naive-rag"));
    assert!(said("ra-rag").contains("ra-rag ignores --top 2: passages retrieved of each source (--set per-source=2)"));
    assert!(!said("majority-vote").contains("does not read"));
}
