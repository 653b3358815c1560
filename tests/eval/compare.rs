//! Compared records, against rows worked out by hand.

use super::{answered, call, header};
use crate::cli::program::{moot, run, text};
use moot::eval::compare::{Compared, Cost, Options, Outcomes, changed, compare, slices, tables};
use moot::eval::pairs::content;
use moot::eval::record::Writer;
use moot::eval::record::reader::Record;
use moot::generation::Usage;
use moot::question::{Document, Origin};
use moot::transcript::Parsed;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A record whose questions have these answers; gold is "yes", and an even id is of the slice "even".
fn record(name: &str, method: &str, answers: &[(usize, &str)]) -> Record {
    let question = |&(id, answer): &(usize, &str)| {
        let mut record = answered(&format!("q{id}"), &["yes"], &["no"], &[answer]);
        record.question.slices = vec![if id % 2 == 0 { "even" } else { "odd" }.to_owned()];
        record.calls.insert(0, agent(answer));
        record
    };
    let mut header = header();
    header.method = method.into();
    Record { path: PathBuf::from(name), header, questions: answers.iter().map(question).collect(), torn: false }
}

/// A malformed reply of an agent where the answer is "maybe".
fn agent(answer: &str) -> moot::transcript::CallRecord {
    let parsed = if answer == "maybe" { Parsed::Malformed } else { Parsed::Text(answer.into()) };
    let usage = Usage { prompt: 100, reused: 60, computed: 40, generated: 20 };
    moot::transcript::CallRecord { role: "agent".into(), usage, seconds: 1.5, ..call(0, answer, parsed) }
}

fn two() -> [Record; 2] {
    [
        record("runs/a.jsonl", "echo", &[(1, "yes"), (2, "no"), (3, "maybe"), (4, "yes"), (5, "yes")]),
        record("runs/b.jsonl", "madam-rag", &[(4, "no"), (3, "yes"), (2, "yes"), (1, "Yes!"), (6, "yes")]),
    ]
}

fn compared(records: &[Record], options: &Options) -> Compared {
    compare(records, options).unwrap()
}

fn row<'a>(compared: &'a Compared, part: usize, metric: &str) -> &'a moot::eval::compare::Contrast {
    let against = compared.parts[part].sides[1].against.as_ref().unwrap();
    against.rows.iter().find(|row| row.metric == metric).unwrap()
}

#[test]
fn wins_losses_and_ties_are_counted_by_question() {
    let compared = compared(&two(), &Options::default());
    let against = compared.parts[0].sides[1].against.as_ref().unwrap();
    assert_eq!((against.pairs, against.unpaired), (4, 2));
    // em of q1..q4: 1 0 0 1 against 1 1 1 0.
    let em = row(&compared, 0, "em");
    assert_eq!(em.outcomes, Some(Outcomes { wins: 2, losses: 1, ties: 1 }));
    let difference = em.difference.unwrap();
    assert!((difference.mean - 0.25).abs() < 1e-12 && difference.n == 4);
    assert!(difference.low < 0.0 && difference.high > 0.0, "{difference:?}");
    // Of malformed replies fewer is better: one at q3 against none.
    assert_eq!(row(&compared, 0, "malformed-replies").outcomes, Some(Outcomes { wins: 1, losses: 0, ties: 3 }));
    assert_eq!(row(&compared, 0, "calls").outcomes, Some(Outcomes { wins: 0, losses: 0, ties: 4 }));
    let values: Vec<f64> = compared.parts[0].sides.iter().map(|side| side.values[0].1.unwrap().mean).collect();
    assert!((values[0] - 0.6).abs() < 1e-12 && (values[1] - 0.8).abs() < 1e-12, "each over its own questions");
}

#[test]
fn a_metric_says_which_value_is_better() {
    let [first, mut other] = two();
    for question in &mut other.questions {
        question.calls[0].taken_from = Some(0);
    }
    let metrics = ["calls-taken-over", "claims", "unknown"].map(str::to_owned).to_vec();
    let compared = compared(&[first, other], &Options { metrics, ..Options::default() });
    // A call that is not made is a gain.
    assert_eq!(row(&compared, 0, "calls-taken-over").outcomes, Some(Outcomes { wins: 4, losses: 0, ties: 0 }));
    assert_eq!(row(&compared, 0, "unknown").outcomes, Some(Outcomes { wins: 0, losses: 0, ties: 4 }));
    assert_eq!(row(&compared, 0, "claims").outcomes, None);
}

#[test]
fn costs_are_listed_by_role() {
    let compared = compared(&two(), &Options::default());
    let cost = |role: &str, calls, malformed, each: Usage, seconds| {
        let mut usage = Usage::default();
        (0..5).for_each(|_| usage += each);
        Cost { role: role.into(), calls, malformed, usage, seconds }
    };
    let (small, large) = (
        Usage { prompt: 10, reused: 4, computed: 6, generated: 2 },
        Usage { prompt: 100, reused: 60, computed: 40, generated: 20 },
    );
    let mut both = small;
    both += large;
    let want =
        [cost("agent", 5, 1, large, 7.5), cost("aggregator", 5, 0, small, 2.5), cost("in all", 10, 1, both, 10.0)];
    assert_eq!(compared.parts[0].sides[0].costs, want);
}

#[test]
fn a_slice_is_a_part_of_its_own() {
    let records = two();
    assert_eq!(slices(&records), ["even", "odd"]);
    let options = Options { slices: slices(&records), ..Options::default() };
    let compared = compared(&records, &options);
    assert_eq!(
        compared.parts.iter().map(|part| part.slice.as_deref()).collect::<Vec<_>>(),
        [None, Some("even"), Some("odd")]
    );
    assert_eq!(row(&compared, 1, "em").outcomes, Some(Outcomes { wins: 1, losses: 1, ties: 0 }));
    assert_eq!(row(&compared, 2, "em").outcomes, Some(Outcomes { wins: 1, losses: 0, ties: 1 }));
    let unknown = compare(&records, &Options { slices: vec!["prime".into()], ..Options::default() }).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "no slice is called \"prime\" (known: even, odd, gold-retrieved, gold-not-retrieved, factual, misinformation, irrelevant, gold-conflict)"
    );
}

#[test]
fn other_questions_are_refused_with_the_numbers() {
    let [a, mut b] = two();
    let refused =
        |a: &Record, b: &Record| compare(&[a.clone(), b.clone()], &Options::default()).unwrap_err().to_string();
    // The same ids with other gold answers, under the same dataset's hash.
    b.questions[0].question.gold = None;
    let said = refused(&a, &b);
    assert!(
        said.starts_with(
            "runs/b.jsonl: expected the questions of runs/a.jsonl: some.jsonl (3 questions, SHA-256 abababababab...)"
        ),
        "{said}"
    );
    assert!(
        said.contains(
            "of 5 and 5 questions recorded, 3 are the same by id and content, 1 have the same id and other content"
        ),
        "{said}"
    );
    let [a, mut b] = two();
    b.header.dataset.as_mut().unwrap().sha256 = "cd".repeat(32);
    let said = refused(&a, &b);
    assert!(
        said.contains("SHA-256 cdcdcdcdcdcd...): of 5 and 5")
            && said.contains("4 are the same by id and content, 0 have"),
        "{said}"
    );
    assert!(said.ends_with("--across-datasets compares those"), "{said}");
    let across = Options { across_datasets: true, ..Options::default() };
    assert_eq!(compare(&[a.clone(), b.clone()], &across).unwrap().parts[0].sides[1].against.as_ref().unwrap().pairs, 4);
    let other = record("c.jsonl", "c", &[(7, "yes")]);
    assert!(compare(&[a, other], &across).unwrap_err().to_string().contains("0 are the same"));
}

/// Two methods may be given other passages for the same question; a dataset's own documents are part of it.
#[test]
fn retrieved_documents_are_no_part_of_a_question() {
    let question = answered("q", &["yes"], &[], &["yes"]).question;
    let mut retrieved = question.clone();
    let origin = Origin { file: "a.txt".into(), id: None, line: None, page: None, characters: 0..4 };
    retrieved.documents.push(Document {
        name: "a".into(),
        text: "More".into(),
        origin: Some(origin),
        ..Document::default()
    });
    assert_eq!(content(&question), content(&retrieved));
    retrieved.documents[0].text.push('!');
    assert_ne!(content(&question), content(&retrieved));
}

#[test]
fn questions_that_changed_are_found() {
    let [a, b] = two();
    let ids = |metric: &str| -> Vec<String> {
        changed(&a, &b, metric).unwrap().iter().map(|change| change.first.question.id.clone()).collect()
    };
    // q1: "yes" and "Yes!" are the same answer.
    assert_eq!(ids("em"), ["q2", "q3", "q4"]);
    let [first, ..] = &changed(&a, &b, "em").unwrap()[..] else { panic!() };
    assert_eq!(first.values, Some((0.0, 1.0)));
    assert!(changed(&a, &b, "f1-corpus").unwrap_err().to_string().contains("no value by question"));
    assert!(changed(&a, &b, "eem").unwrap_err().to_string().contains("no metric is called \"eem\""));
}

#[test]
fn columns_have_the_shortest_names_that_differ() {
    let names = |records: &[Record]| -> Vec<String> {
        compared(records, &Options::default()).records.into_iter().map(|record| record.name).collect()
    };
    let [a, b] = two();
    assert_eq!(names(&[a.clone(), b]), ["echo", "madam-rag"]);
    let mut larger = a.clone();
    larger.header.model.name = "larger".into();
    assert_eq!(names(&[a.clone(), larger]), ["echo scripted", "echo larger"]);
    let mut elsewhere = a.clone();
    elsewhere.path = "other/b.jsonl".into();
    elsewhere.header.settings.seed = 4;
    let both = compared(&[a.clone(), elsewhere.clone()], &Options::default());
    assert_eq!(both.records[1].name, "b");
    assert_eq!(both.records[1].settings, [("settings.seed".to_owned(), "0".to_owned(), "4".to_owned())]);
    elsewhere.path = "other/a.jsonl".into();
    assert_eq!(names(&[a, elsewhere]), ["runs/a.jsonl", "other/a.jsonl"]);
}

/// Hostile names stay text in every format.
#[test]
fn tables_are_tables_in_every_format() {
    let [a, mut b] = two();
    b.header.label = Some("<b>|x\u{1b}[31m".into());
    let compared = compared(&[a, b], &Options { slices: vec!["even".into()], ..Options::default() });
    let terminal = moot::cli::compare::terminal::tables(&compared, 200);
    assert!(!terminal.contains('\u{1b}'));
    let em = terminal.lines().filter(|line| line.starts_with("em ")).collect::<Vec<_>>();
    assert!(em[1].ends_with("2-1-1") && em[1].contains("+0.250 ["), "{terminal}");
    assert_eq!(em.len(), 4, "values and differences of two parts");
    let markdown = tables::markdown(&compared);
    assert!(markdown.contains("| &lt;b>\\|x \\[31m |") && !markdown.contains("<b>"), "{markdown}");
    let columns: Vec<usize> =
        markdown.lines().filter(|line| line.starts_with("| em ")).map(|line| line.matches(" |").count()).collect();
    assert_eq!(columns, [3, 3, 3, 3]);
    let csv = tables::csv(&compared).unwrap();
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let head = rows.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    let of = |row: &csv::StringRecord, name: &str| row[head.iter().position(|field| field == name).unwrap()].to_owned();
    let em = rows
        .iter()
        .find(|row| of(row, "metric") == "em" && of(row, "first") == "echo" && of(row, "slice").is_empty())
        .unwrap();
    assert_eq!(
        [of(em, "difference"), of(em, "wins"), of(em, "losses"), of(em, "ties"), of(em, "pairs")],
        ["0.25", "2", "1", "1", "4"]
    );
    // Costs by role are rows too: calls as n, tokens from the cache apart.
    let cost = |metric: &str| {
        let found = rows.iter().find(|row| of(row, "metric") == metric && of(row, "slice").is_empty()).unwrap();
        (of(found, "value"), of(found, "n"), of(found, "wins"))
    };
    let calls = compared.parts[0].sides[0].costs[0].calls;
    let none = String::new();
    assert_eq!(cost("aggregator: calls"), (calls.to_string(), calls.to_string(), none.clone()));
    assert_eq!(cost("aggregator: reused-tokens"), ((4 * calls).to_string(), calls.to_string(), none));
}

fn written(folder: &Path, name: &str, record: &Record) {
    let mut writer = Writer::open(&folder.join(name), &record.header).unwrap();
    record.questions.iter().for_each(|question| writer.append(question).unwrap());
}

#[test]
fn the_program_compares_and_shows_both_debates() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = two();
    written(folder.path(), "a.jsonl", &a);
    written(folder.path(), "b.jsonl", &b);
    let compare = |more: &[&str]| {
        let mut command = moot(["compare", "a.jsonl", "b.jsonl"].into_iter().chain(more.iter().copied()));
        command.current_dir(folder.path());
        command
    };
    let said = text(&run(compare(&[])).stdout);
    assert!(said.starts_with("echo: a.jsonl, echo with scripted, 5 of 3 questions\n"), "{said}");
    assert!(said.contains("Difference from echo\n") && said.contains("Cost by role\n"), "{said}");
    let json: Value =
        serde_json::from_slice(&run(compare(&["--format", "json", "--all-slices", "--metric", "all"])).stdout).unwrap();
    assert_eq!(json["parts"].as_array().unwrap().len(), 3);
    assert_eq!(json["parts"][0]["sides"][1]["against"]["rows"][0]["outcomes"]["wins"], 2);

    let changes = text(&run(compare(&["--changed"])).stdout);
    assert!(changes.starts_with("echo and madam-rag: 3 of 4 questions differ\n"), "{changes}");
    let beside: Vec<&str> = changes.lines().filter(|line| line.contains(" │ ")).collect();
    assert!(
        beside.iter().any(|line| line.contains("What of q2?") && line.matches("What of q2?").count() == 2),
        "{changes}"
    );
    let widths: Vec<usize> = beside.iter().map(|line| line.split(" │ ").next().unwrap().chars().count()).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "{changes}");
    let one = text(&run(compare(&["--changed", "q1"])).stdout);
    assert!(one.contains("What of q1?") && !one.contains("What of q2?"), "{one}");
    let json: Value = serde_json::from_slice(&run(compare(&["--changed", "--format", "json"])).stdout).unwrap();
    assert_eq!((&json[0]["question"], &json[0]["first"]["outcome"]), (&"q2".into(), &"no".into()));

    let mut other = b.clone();
    other.header.dataset.as_mut().unwrap().sha256 = "cd".repeat(32);
    fs::remove_file(folder.path().join("b.jsonl")).unwrap();
    written(folder.path(), "b.jsonl", &other);
    let refused = compare(&[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("4 are the same by id and content"), "{refused:?}");
    assert_eq!(moot(["compare", "a.jsonl"]).current_dir(folder.path()).output().unwrap().status.code(), Some(2));
}
