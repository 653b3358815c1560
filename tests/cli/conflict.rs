//! `moot conflict`: every form of input and output on the tiny model, whose labels are senseless, and what goes wrong.

use super::program::{THREE, Workspace, moot, text};
use moot::eval::record::Writer;
use moot::eval::record::reader::Record;
use moot::question::{Answer, ClaimRelation, Conclusion};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};

pub(super) fn workspace() -> Workspace {
    let workspace = Workspace::new();
    fs::write(workspace.path("council.txt"), "The bridge at Orm was planned.\nIt opened\nin 1931 <b>.\n").unwrap();
    fs::write(workspace.path("diary.md"), "---\ntitle: The diary\n---\nIt opened in 1947. Über den Fluss.\n").unwrap();
    fs::write(workspace.path("answer.txt"), "The bridge at Orm opened in 1931. It is long.\n").unwrap();
    workspace
}

fn command(workspace: &Workspace, name: &str, typed: &str) -> std::process::Command {
    let mut command = moot([name]);
    command.args(typed.split(' ').filter(|word| !word.is_empty()));
    command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
    command.args(["--model", "tiny.gguf", "--offline", "--kv-memory", "64M"]);
    command
}

pub(super) fn on_the_tiny_model(workspace: &Workspace, name: &str, typed: &str) -> Output {
    command(workspace, name, typed).output().unwrap()
}

pub(super) fn conflict(workspace: &Workspace, typed: &str, stdin: Option<&str>) -> Output {
    let mut command = command(workspace, "conflict", typed);
    let Some(stdin) = stdin else { return command.output().unwrap() };
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn printed(workspace: &Workspace, typed: &str, stdin: Option<&str>) -> String {
    let output = conflict(workspace, typed, stdin);
    assert!(output.status.success(), "{typed}: {}", text(&output.stderr));
    text(&output.stdout)
}

pub(super) fn refused(workspace: &Workspace, typed: &str, stdin: Option<&str>, parts: &[&str]) {
    let output = conflict(workspace, typed, stdin);
    let said = text(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{typed}: {said}");
    let line = said.lines().find(|line| line.starts_with("error: ")).expect(&said);
    assert!(parts.iter().all(|part| line.contains(part)), "{typed}: {said}");
}

#[test]
fn a_text_is_compared_with_documents_and_printed_in_every_form() {
    let workspace = workspace();
    let docs = "answer.txt --docs council.txt diary.md --claims whole -o out.jsonl";
    let page = printed(&workspace, docs, None);
    assert!(page.contains("1   The bridge at Orm opened in 1931. It is long."), "{page}");
    assert!(
        page.contains("CS-C  ") && page.contains("2 The diary") && page.contains("2 labels (2 by labeller, model tiny"),
        "{page}"
    );
    assert!(!page.contains('\u{1b}'), "no colours in a pipe");
    refused(&workspace, docs, None, &["out.jsonl: exists already"]);
    // Other commands read the record; every quote is in its document.
    let record = Record::read(&workspace.path("out.jsonl")).unwrap();
    assert_eq!((record.header.method.as_str(), record.questions.len()), ("conflict-score", 1));
    let question = &record.questions[0];
    let claims = question.conclusion.as_ref().unwrap().claims.as_ref().unwrap();
    for label in claims.iter().flat_map(|claim| &claim.labels) {
        assert!(label.counts(), "a grammar held the reply: {label:?}");
        assert_eq!(label.quote.is_some(), label.relation != ClaimRelation::Irrelevant);
        let document = &question.document(label.document).unwrap().text;
        assert!(label.quote.as_ref().is_none_or(|quote| quote.stands_in(document)), "{label:?}");
    }
    let said = |typed: &[&str]| {
        let mut command = moot(typed.iter().copied());
        let output = command.current_dir(workspace.path("")).env("MOOT_CACHE", workspace.path("")).output().unwrap();
        assert!(output.status.success(), "{typed:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(said(&["record", "show", "out.jsonl"]).contains("CS-C  "));
    assert_eq!(said(&["record", "calls", "out.jsonl"]).lines().count(), 2);
    assert!(said(&["score", "out.jsonl"]).contains("cs-c"));
    let model = workspace.path("tiny.gguf").display().to_string();
    assert!(said(&["record", "verify", "out.jsonl", "--offline", "--model", &model]).contains("all the same"));

    let again = "answer.txt --docs council.txt diary.md --claims whole";
    let json: Value = serde_json::from_str(&printed(&workspace, &format!("{again} --format json"), None)).unwrap();
    assert_eq!((json["claims"].as_array().unwrap().len(), &json["documents"][1]["name"]), (1, &"The diary".into()));
    let html = printed(&workspace, &format!("{again} --format html"), None);
    assert!(html.starts_with("<!doctype html>") && html.contains("&lt;b&gt;") && !html.contains("1931 <b>"), "{html}");
    assert!(printed(&workspace, &format!("{again} --format markdown"), None).starts_with("# Claims and evidence\n"));
    // From standard input, and with every other switch.
    let all = "- --docs council.txt diary.md --claims whole --order label-first --quotes words";
    assert!(printed(&workspace, all, Some("It opened in 1931.\n")).contains("1   It opened in 1931.\n"));
    let together = "- --docs council.txt diary.md --claims whole --together --labels entailment --neither zero";
    assert!(printed(&workspace, together, Some("橋は1931年に開いた。")).contains("橋は1931年に開いた。"));
}

#[test]
fn answers_of_a_record_documents_alone_and_a_corpus() {
    let workspace = workspace();
    let output = workspace.run_of(1, "madam.jsonl").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    refused(&workspace, "--record madam.jsonl", None, &["3 questions", "-o FILE"]);
    refused(&workspace, "--record madam.jsonl nothing", None, &["no question", "\"nothing\""]);
    let record = Record::read(&workspace.path("madam.jsonl")).unwrap();
    // The tiny model concludes nothing meaningful: the first question is given an answer, the second loses its own.
    let mut questions = record.questions.clone();
    // Two were in flight: the record has them as they ended, numbers are those of the dataset.
    questions.sort_by_key(|question| question.place);
    let answers = [vec![Answer::new("In 1931.")], Vec::new()];
    for (question, answers) in questions.iter_mut().zip(answers) {
        question.conclusion = Some(Conclusion { answers, ..Conclusion::default() });
    }
    let mut writer = Writer::open(&workspace.path("answered.jsonl"), &record.header).unwrap();
    questions[..2].iter().for_each(|question| writer.append(question).unwrap());
    drop(writer);
    let page = printed(&workspace, "--record answered.jsonl 1 --claims whole", None);
    assert!(page.contains("1   The answer to the question") && page.contains("CS-C"), "{page}");
    refused(&workspace, "--record answered.jsonl 2", None, &["an answer and documents"]);
    let output = conflict(&workspace, "--record answered.jsonl -o all.jsonl --claims whole --docs council.txt", None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("1 questions without an answer or documents"), "{}", text(&output.stderr));
    let all = Record::read(&workspace.path("all.jsonl")).unwrap();
    assert_eq!(all.questions.iter().map(|one| one.question.documents.len()).collect::<Vec<_>>(), [1]);
    // Without a text the documents are compared with each other.
    let json = printed(&workspace, "--docs council.txt diary.md --per-document 1 --format json", None);
    let json: Value = serde_json::from_str(&json).unwrap();
    let claims = json["claims"].as_array().unwrap();
    assert!(!claims.is_empty(), "{json}");
    for claim in claims {
        let count = |kind: &str| claim[kind].as_array().map_or(0, Vec::len);
        let labels: usize = ["supporters", "contradictors", "irrelevant", "unsupported"].map(count).iter().sum();
        assert!(labels == 2 && (1..=2).contains(&claim["from"].as_u64().unwrap()), "{claim}");
    }
    let page = printed(&workspace, "answer.txt --against council.txt diary.md --embedder none --claims whole", None);
    assert!(page.contains("council.txt:"), "the passage's lines in its file: {page}");
    let reranker = "models/tests/golden/encoders/bert-reranker";
    let typed = "answer.txt --against council.txt diary.md --embedder none --claims whole --reranker";
    let output = conflict(&workspace, &format!("{typed} {}/{reranker}", env!("CARGO_MANIFEST_DIR")), None);
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && notes.contains("reranked in"), "{notes}");
}

#[test]
fn impossible_comparisons_are_reported_before_a_model_is_loaded() {
    let workspace = workspace();
    fs::write(workspace.path("empty.txt"), " \n").unwrap();
    fs::write(workspace.path("bytes.txt"), b"ab\x01\x02\xff").unwrap();
    let documents = fs::read_to_string(THREE).unwrap();
    fs::write(workspace.path("set.jsonl"), documents).unwrap();
    for (typed, stdin, parts) in [
        ("answer.txt", None, &["nothing to compare with", "--docs"][..]),
        ("--docs council.txt", None, &["one document", "expected a text"]),
        ("--against council.txt", None, &["a corpus has no claims"]),
        ("empty.txt --docs council.txt", None, &["empty.txt", "a text with claims", "an empty text"]),
        ("answer.txt --docs empty.txt", None, &["empty.txt", "an empty document"]),
        ("answer.txt --docs council.txt --labels both", None, &["labels both needs", "--classifier"]),
        ("answer.txt --docs council.txt --together --quotes words", None, &["expected no switch quotes"]),
        ("- --docs council.txt", Some(" \n"), &["an empty text"]),
        ("bytes.txt --docs council.txt", None, &["bytes.txt", "a binary file"]),
        ("nowhere.txt --docs council.txt", None, &["nowhere.txt"]),
        ("set.jsonl --docs council.txt", None, &["set.jsonl", "a text", ".jsonl"]),
        ("answer.txt --docs nowhere", None, &["nowhere"]),
        ("answer.txt --record x.jsonl", None, &["RESPONSE", "cannot be used with", "--record"]),
        ("--record answer.txt", None, &["answer.txt:1", "a record of moot"]),
        ("answer.txt --docs council.txt --rounds 2", None, &["conflict-score has no switch \"rounds\""]),
        ("answer.txt --docs council.txt --certain 7", None, &["switch certain", "from 0.34 to 1"]),
        ("answer.txt --docs council.txt -o nowhere/out.jsonl", None, &["nowhere/out.jsonl", "folder"]),
    ] {
        refused(&workspace, typed, stdin, parts);
    }
    refused(&workspace, "answer.txt --docs council.txt --format pdf", None, &["'pdf'"]);
    // Longer than the context: the message has both numbers.
    fs::write(workspace.path("long.txt"), "It opened in 1931. ".repeat(900)).unwrap();
    refused(&workspace, "long.txt --docs council.txt", None, &["decomposer, round 1: needs", "8192"]);
}

#[test]
fn two_hundred_documents_and_one_that_is_labelled_in_parts() {
    let workspace = workspace();
    fs::create_dir(workspace.path("many")).unwrap();
    for n in 0..200 {
        fs::write(workspace.path(&format!("many/{n:03}.txt")), format!("Document {n} says little.")).unwrap();
    }
    fs::write(workspace.path("long.txt"), "It opened in 1931. ".repeat(900)).unwrap();
    let typed = "answer.txt --docs many long.txt --claims whole --order label-first --format json";
    let json: Value = serde_json::from_str(&printed(&workspace, typed, None)).unwrap();
    assert_eq!((&json["scores"]["labels"], &json["scores"]["failed"]), (&201.into(), &0.into()));
    assert_eq!(json["notes"][0], "long.txt does not fit into the labeller's context: its parts are labelled");
}

/// The labels of a run's answers are made once, and are stored beside its record.
#[test]
fn a_record_is_scored_with_labels_that_are_made_once() {
    let workspace = workspace();
    fs::write(workspace.path("set.jsonl"), fs::read_to_string(THREE).unwrap()).unwrap();
    let run = "set.jsonl -o run.jsonl --method regenerated-rag --set feedback=none --max-tokens 12";
    let run = on_the_tiny_model(&workspace, "run", run);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let score = |typed: &str| {
        let mut command = moot(["score", "run.jsonl"]);
        command.args(typed.split(' ').filter(|word| !word.is_empty()));
        command
            .env("MOOT_CACHE", workspace.path(""))
            .current_dir(workspace.path(""))
            .args(["--offline"])
            .output()
            .unwrap()
    };
    let refused = |typed: &str, parts: &[&str]| {
        let said = score(typed);
        let line = text(&said.stderr);
        assert!(!said.status.success() && parts.iter().all(|part| line.contains(part)), "{typed}: {line}");
    };
    let before = fs::read(workspace.path("run.jsonl")).unwrap();
    refused("--claims whole", &["claims: expected --conflict"]);
    refused("--conflict --rounds 2", &["conflict-score has no switch"]);
    let first = score("--conflict --claims whole --model tiny.gguf --kv-memory 64M");
    assert!(first.status.success(), "{}", text(&first.stderr));
    let table = text(&first.stdout);
    assert!(table.lines().any(|line| line.starts_with("cs-c ")), "{table}");
    assert!(
        text(&first.stderr).contains("conflict-score by tiny.gguf in run.conflict.jsonl"),
        "{}",
        text(&first.stderr)
    );
    assert!(!text(&score("").stdout).lines().any(|line| line.starts_with("cs-c ")), "not without being asked");
    // Again: no model is opened, and nothing is written.
    let labels = fs::read(workspace.path("run.conflict.jsonl")).unwrap();
    let again = score("--conflict --claims whole --model nowhere.gguf");
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert_eq!(text(&again.stdout), table);
    assert_eq!(fs::read(workspace.path("run.conflict.jsonl")).unwrap(), labels);
    assert_eq!(fs::read(workspace.path("run.jsonl")).unwrap(), before, "the record stays as it was");
    // Other switches, and other answers, are refused with what to do.
    refused("--conflict --model nowhere.gguf", &["run.conflict.jsonl", "or no such file", "\"whole\""]);
    let other =
        String::from_utf8(labels.clone()).unwrap().replacen("\"responses\":[\"", "\"responses\":[\"Not so. ", 1);
    fs::write(workspace.path("run.conflict.jsonl"), other).unwrap();
    refused("--conflict --claims whole --model nowhere.gguf", &["run.conflict.jsonl"]);
    // A record that was cut is completed.
    let kept = labels.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(2).unwrap().0 + 1;
    fs::write(workspace.path("run.conflict.jsonl"), &labels[..kept]).unwrap();
    let rest = score("--conflict --claims whole --model tiny.gguf --kv-memory 64M");
    assert!(rest.status.success(), "{}", text(&rest.stderr));
    assert_eq!(text(&rest.stdout), table);
    let judged = score("--judge --all --model tiny.gguf --kv-memory 64M");
    assert!(text(&judged.stdout).lines().any(|line| line.starts_with("truthful ")), "{}", text(&judged.stderr));
    assert!(workspace.path("run.judge.jsonl").exists());
}

/// Records with probabilities are listed by bin; for others the message says that there are none.
#[test]
fn calibration_is_printed_on_request() {
    let workspace = workspace();
    let csv = "id,evidence,claim,label,question\n1,It opened in 1931.,It opened in 1931.,Supports,When?\n";
    fs::write(workspace.path("pairs.csv"), csv).unwrap();
    for (switch, want) in [("labels=scored", "CONTRADICTS from"), ("labels=labeller", "no label has a probability")] {
        let out = format!("{switch}.jsonl");
        let typed = format!("pairs.csv -o {out} --method conflict-score --set {switch}");
        let output = on_the_tiny_model(&workspace, "run", &typed);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let score = moot(["score", &out, "--calibration"]).current_dir(workspace.path("")).output().unwrap();
        assert!(text(&score.stdout).contains(want), "{}{}", text(&score.stdout), text(&score.stderr));
    }
}

/// regenerated-rag labelled its first answer: here the second one is labelled, and both free answers are judged.
/// Questions that no mean includes are reported.
#[test]
fn answers_given_again_are_scored_as_well() {
    let workspace = workspace();
    fs::write(workspace.path("set.jsonl"), fs::read_to_string(THREE).unwrap()).unwrap();
    let run = "set.jsonl -o run.jsonl --method regenerated-rag --set feedback=none --max-tokens 12";
    let run = on_the_tiny_model(&workspace, "run", run);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let record = Record::read(&workspace.path("run.jsonl")).unwrap();
    let mut questions = record.questions.clone();
    let again = |rejected: Vec<Answer>| Conclusion {
        answers: vec![Answer::new("In 1931.")],
        rejected,
        claims: Some(Vec::new()),
        ..Conclusion::default()
    };
    questions[0].conclusion = Some(again(vec![Answer::new("In 1947.")]));
    questions[0].calls[0].prompt = "regenerated_rag/again.jinja".into();
    questions[1].conclusion = Some(again(Vec::new()));
    questions[2].conclusion = Some(Conclusion { malformed: true, ..Conclusion::default() });
    let mut writer = Writer::open(&workspace.path("again.jsonl"), &record.header).unwrap();
    questions.iter().for_each(|question| writer.append(question).unwrap());
    drop(writer);
    let score = |typed: &str| {
        let mut command = moot(["score", "again.jsonl"]);
        command.args(typed.split(' ')).env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
        let output = command.args(["--offline", "--model", "tiny.gguf", "--kv-memory", "64M"]).output().unwrap();
        assert!(output.status.success(), "{typed}: {}", text(&output.stderr));
        text(&output.stderr)
    };
    let asked = |name: &str| -> Vec<(String, String)> {
        let record = Record::read(&workspace.path(name)).unwrap();
        record.questions.into_iter().map(|one| (one.question.id, one.question.responses.concat())).collect()
    };
    let id = |workspace: usize| questions[workspace].question.id.clone();
    let said = score("--conflict --claims whole");
    assert!(said.contains("1 questions are left out of conflict-score: no answer"), "{said}");
    assert_eq!(asked("again.conflict.jsonl"), [(id(0), "In 1931.".to_owned())]);
    let said = score("--judge --all");
    assert!(!said.contains("left out"), "{said}");
    let mut judged = asked("again.judge.jsonl");
    judged.sort();
    let mut want = vec![
        (id(0), "In 1931.".to_owned()),
        (format!("{} (first answer)", id(0)), "In 1947.".to_owned()),
        (id(1), "In 1931.".to_owned()),
    ];
    want.sort();
    assert_eq!(judged, want);
    // The malformed answer of the third question is in the mean, as neither truthful nor informative.
    let mut all = moot(["score", "again.jsonl", "--judge", "--json"]);
    all.args(["--offline", "--model", "tiny.gguf", "--kv-memory", "64M"]).env("MOOT_CACHE", workspace.path(""));
    let scores = text(&all.current_dir(workspace.path("")).output().unwrap().stdout);
    let scores: Value = serde_json::from_str(&scores).unwrap_or_else(|e| panic!("{e}: {scores}"));
    assert!(scores.to_string().contains("truthful"), "{scores}");
    // Of two answers one claim is made: broken down, each would conflict with the documents of the other.
    questions[1].conclusion = Some(Conclusion {
        answers: vec![Answer::new("1931"), Answer::new("1968")],
        explanation: "Two bridges.".into(),
        ..Conclusion::default()
    });
    let mut writer = Writer::open(&workspace.path("two.jsonl"), &record.header).unwrap();
    writer.append(&questions[1]).unwrap();
    drop(writer);
    let mut labelled = moot(["score", "two.jsonl", "--conflict"]);
    labelled.args(["--offline", "--model", "tiny.gguf", "--kv-memory", "64M"]).env("MOOT_CACHE", workspace.path(""));
    assert!(labelled.current_dir(workspace.path("")).output().unwrap().status.success());
    let beside = Record::read(&workspace.path("two.conflict.jsonl")).unwrap();
    let claims = beside.questions[0].conclusion.as_ref().unwrap().claims.as_ref().unwrap();
    assert!(claims.len() == 1 && claims[0].text.ends_with(" is: 1931; or: 1968"), "{claims:?}");
    let changes =
        moot(["score", "run.jsonl", "again.jsonl", "--changes"]).current_dir(workspace.path("")).output().unwrap();
    let table = text(&changes.stdout);
    let row = table.lines().skip_while(|line| !line.starts_with("answers of run.jsonl")).nth(2).unwrap_or_default();
    assert_eq!(row.split_whitespace().take(2).collect::<Vec<_>>(), ["again.jsonl", "3"], "{table}");
    let alone = moot(["score", "run.jsonl", "--changes"]).current_dir(workspace.path("")).output().unwrap();
    assert!(!alone.status.success() && text(&alone.stderr).contains("expected two records"), "{}", text(&alone.stderr));
}

/// Verdicts are kept beside the record, and noise would be taken for a model's.
#[test]
fn random_weights_judge_nothing_that_is_kept() {
    let workspace = workspace();
    fs::write(workspace.path("set.jsonl"), fs::read_to_string(THREE).unwrap()).unwrap();
    let run = "set.jsonl -o run.jsonl --method regenerated-rag --set feedback=none --max-tokens 12";
    assert!(on_the_tiny_model(&workspace, "run", run).status.success());
    let mut command = moot(["score", "run.jsonl", "--judge", "--offline", "--model", "smollm2-135m"]);
    let output = command.args(["--weights", "random:q8_0"]).current_dir(workspace.path("")).output().unwrap();
    assert!(!output.status.success());
    let message = text(&output.stderr);
    assert!(message.contains("--weights random: expected weights of a model"), "{message}");
}

/// Where every answer is malformed nothing is judged, and no model is opened: both metrics are 0, not missing.
#[test]
fn answers_that_are_all_malformed_are_neither_truthful_nor_informative() {
    let workspace = workspace();
    fs::write(workspace.path("set.jsonl"), fs::read_to_string(THREE).unwrap()).unwrap();
    let run = "set.jsonl -o run.jsonl --method regenerated-rag --set feedback=none --max-tokens 12";
    let run = on_the_tiny_model(&workspace, "run", run);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let record = Record::read(&workspace.path("run.jsonl")).unwrap();
    let mut questions = record.questions.clone();
    questions
        .iter_mut()
        .for_each(|question| question.conclusion = Some(Conclusion { malformed: true, ..Conclusion::default() }));
    // Without right answers nothing can be said of an answer.
    questions[2].question.gold = None;
    let mut writer = Writer::open(&workspace.path("bad.jsonl"), &record.header).unwrap();
    questions.iter().for_each(|question| writer.append(question).unwrap());
    drop(writer);
    let mut score = moot(["score", "bad.jsonl", "--judge", "--json", "--offline", "--model", "nowhere.gguf"]);
    let output = score.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path("")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let scores: Value = serde_json::from_slice(&output.stdout).unwrap();
    for metric in ["truthful", "informative"] {
        let found = &scores["records"][0]["metrics"][metric];
        assert_eq!((found["mean"].as_f64(), found["n"].as_u64()), (Some(0.0), Some(2)), "{metric}: {scores}");
    }
    assert!(text(&output.stderr).contains("1 questions are left out of truthful-judge"), "{}", text(&output.stderr));
    assert!(!workspace.path("bad.judge.jsonl").exists());
}
