//! Summary and charts against numbers worked out by hand.

use super::{input, simple, written};
use crate::eval::{answered, call, header};
use moot::eval::record::Header;
use moot::question::{Document, Estimate, Label};
use moot::transcript::{CallRecord, Parsed, QuestionRecord};
use serde_json::json;
use std::collections::BTreeMap;

fn flat(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Rows of the table of numbers below a chart.
fn rows(page: &str, title: &str, metric: &str) -> Vec<Vec<String>> {
    let figure = page
        .split("<figure ")
        .find(|figure| {
            figure.contains(&format!("<h3>{title}</h3>")) && figure.starts_with(&format!("data-metric=\"{metric}\""))
        })
        .unwrap_or_else(|| panic!("no chart {title}"));
    let body = figure.split_once("<tbody>").unwrap().1.split_once("</tbody>").unwrap().0;
    body.split("<tr>").skip(1).map(cells).collect()
}

/// The text between two tags: "<th scope=\"row\">a</th><td>1</td>".
fn cells(row: &str) -> Vec<String> {
    let texts = row.split('<').filter_map(|tag| Some(tag.split_once('>')?.1.trim()));
    texts.filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// Level and value of each row.
fn first(rows: &[Vec<String>]) -> Vec<(&str, &str)> {
    rows.iter().map(|row| (row[1].as_str(), row[2].as_str())).collect()
}

fn labelled(id: &str, kinds: &[(&str, &str)], answers: &[&str]) -> QuestionRecord {
    let mut record = answered(id, &["one", "two"], &["bad"], answers);
    let document = |&(kind, answer): &(&str, &str)| Document {
        name: kind.into(),
        text: format!("{kind} {answer}"),
        label: Some(Label { kind: kind.into(), answer: answer.into() }),
        ..Document::default()
    };
    record.question.documents = kinds.iter().map(document).collect();
    record
}

/// Questions with options: the charts and the list of questions agree on what is right.
#[test]
fn questions_with_options_are_drawn_by_the_option_chosen() {
    let chosen = |id: &str, documents: usize, answer: &str| {
        let mut record = labelled(id, &vec![("correct", "one"); documents], &[answer]);
        record.question.options = vec!["one".into(), "two".into()];
        record.question.gold.as_mut().unwrap().answers = vec![vec!["one".into()]];
        record
    };
    // "(A)" names the first option, and no answer is written so.
    let questions = vec![chosen("q1", 1, "(A)"), chosen("q2", 2, "(B)")];
    let page = written(vec![input("echo.jsonl", header(), questions)]);
    assert_eq!(
        first(&rows(&page, "By number of documents", "choice-accuracy")),
        [("1", "1.000"), ("2", "0.000")],
        "{page}"
    );
    assert!(!page.contains("data-metric=\"em\""));
    let choice = |stage, option| {
        let parsed = Parsed::Choice { option, explanation: String::new() };
        CallRecord {
            number: stage,
            format_values: json!({ "options": ["one", "two"] }),
            ..call(stage, "reply", parsed)
        }
    };
    let mut debated = chosen("q3", 1, "one");
    debated.calls = vec![choice(0, 1), choice(1, 0)];
    debated.conclusion.as_mut().unwrap().calls = vec![1];
    let page = written(vec![input("echo.jsonl", header(), vec![debated])]);
    assert_eq!(first(&rows(&page, "By rounds", "choice-accuracy")), [("1", "0.000"), ("2", "1.000")]);
}

#[test]
fn the_summary_has_values_differences_and_counts() {
    let page =
        flat(&written(vec![simple("echo", &["yes", "no", "yes", "yes"]), simple("other", &["no", "no", "no", "no"])]));
    // 3 of 4 against none: the interval of the difference leaves out 0.
    assert!(
        page.contains("<span class=\"number\">0.750</span> <span class=\"interval\">0.250 to 1.000</span>"),
        "values"
    );
    assert!(page.contains("<span class=\"number\">-0.750<span class=\"clear\""), "differences");
    assert!(page.contains("data-label=\"W–L–T\">0–3–1</td>"), "wins, losses, ties");
    // 12 tokens a call, one call a question.
    let page = written(vec![simple("echo", &["yes", "no"]), simple("other", &["no", "no"])]);
    assert_eq!(first(&rows(&page, "Score against tokens", "yes-no-em")), [("12", "0.500"), ("12", "0.000")]);
    assert!(!flat(&written(vec![simple("echo", &["yes"])])).contains("Difference from the first"), "one record alone");
}

#[test]
fn charts_group_questions_by_documents_misinformation_and_imbalance() {
    let (one, two, bad) = (("correct", "one"), ("correct", "two"), ("misinfo", "bad"));
    let questions = vec![
        labelled("1", &[one, two], &["one", "two"]),
        labelled("2", &[one, two, bad], &["one", "bad"]),
        labelled("3", &[one, one, two], &["one"]),
        labelled("4", &[one, one, two], &["one", "two"]),
    ];
    let page = written(vec![input("a.jsonl", header(), questions)]);
    assert_eq!(first(&rows(&page, "By number of documents", "em")), [("2", "1.000"), ("3", "0.333")]);
    assert_eq!(first(&rows(&page, "By misinformation", "em")), [("0", "0.667"), ("1", "0.000")]);
    assert_eq!(first(&rows(&page, "By imbalance of evidence", "em")), [("0", "0.500"), ("1", "0.500")]);
    // F1 of the second is 0.5 (P 1/2, R 1/2), of the third 2/3.
    assert_eq!(first(&rows(&page, "By misinformation", "f1")), [("0", "0.889"), ("1", "0.500")]);
    assert!(page.contains("Score against tokens: there is one record alone"));
    assert!(page.contains("By rounds: no record concludes in several rounds"));
}

#[test]
fn charts_by_rounds_count_a_debate_that_ended_on() {
    let verdict = |stage, answers: &[&str]| {
        let answers = answers.iter().map(|&text| text.to_owned()).collect();
        call(stage, "reply", Parsed::Answers { answers, explanation: String::new() })
    };
    let mut longer = answered("1", &["yes"], &["no"], &["yes"]);
    longer.calls = vec![verdict(0, &["no"]), verdict(1, &["yes"])];
    longer.conclusion.as_mut().unwrap().calls = vec![1];
    for (number, call) in longer.calls.iter_mut().enumerate() {
        call.number = number;
    }
    let mut ended = answered("2", &["yes"], &["no"], &["yes"]);
    ended.calls = vec![verdict(0, &["yes"])];
    ended.conclusion.as_mut().unwrap().calls = vec![0];
    let page = written(vec![input("a.jsonl", header(), vec![longer, ended])]);
    assert_eq!(first(&rows(&page, "By rounds", "yes-no-em")), [("1", "0.500"), ("2", "1.000")]);
    // Records that differ only in their rounds are one line.
    let with = |rounds: usize, answer: &str| {
        let mut input = simple("echo", &[answer]);
        input.record.path = format!("{rounds}.jsonl").into();
        input.record.header = Header { switches: json!({ "rounds": rounds }), ..input.record.header };
        input
    };
    let page = written(vec![with(1, "no"), with(3, "yes")]);
    assert_eq!(first(&rows(&page, "By rounds", "yes-no-em")), [("1", "0.000"), ("3", "1.000")]);
    // Those of another limit of tokens are a line of their own.
    let long = |rounds: usize, answer: &str| {
        let mut input = with(rounds, answer);
        input.record.path = format!("{rounds}-long.jsonl").into();
        input.record.header.settings.max_tokens = 512;
        input
    };
    let page = written(vec![with(1, "no"), with(3, "yes"), long(1, "yes"), long(2, "no")]);
    let found = rows(&page, "By rounds", "yes-no-em");
    assert_eq!(first(&found), [("1", "0.000"), ("3", "1.000"), ("1", "1.000"), ("2", "0.000")]);
    let names: Vec<&str> = found.iter().map(|row| row[0].as_str()).collect();
    assert!(names[0] == names[1] && names[2] == names[3] && names[1] != names[2], "{names:?}");
    let page = written(vec![with(1, "no"), long(3, "yes")]);
    assert!(page.contains("no two differ in their number alone"));
}

#[test]
fn probabilities_are_drawn_beside_the_share_of_right_answers() {
    let estimated = |id: &str, answers: &[(&str, f64)]| {
        let texts: Vec<&str> = answers.iter().map(|(text, _)| *text).collect();
        let mut record = answered(id, &["yes"], &["no"], &texts);
        for (answer, &(_, probability)) in record.conclusion.as_mut().unwrap().answers.iter_mut().zip(answers) {
            let (about, features) = (String::new(), BTreeMap::new());
            answer.estimate = Some(Estimate { probability, about, features, conflict: None });
        }
        record
    };
    let questions = vec![estimated("1", &[("yes", 0.93), ("no", 0.31)]), estimated("2", &[("yes", 0.38), ("no", 1.0)])];
    let page = written(vec![input("a.jsonl", header(), questions)]);
    assert_eq!(first(&rows(&page, "Calibration", "")), [("35", "0.500"), ("95", "0.500")]);
    // |0.31 + 0.38 - 1| / 4 + |0.93 + 1 - 1| / 4; sqrt(2 / pi) (sqrt(0.31 0.69 + 0.38 0.62) + sqrt(0.93 0.07)) / 4
    assert!(page.contains("Expected calibration error, ten bins (") && page.contains(": 0.310 (0.185)."), "{page}");
    assert!(!written(vec![simple("echo", &["yes", "no"])]).contains("<h3>Calibration</h3>"));
    let mut chosen = estimated("3", &[("B", 0.95)]);
    chosen.question.options = ["no", "yes"].map(str::to_owned).to_vec();
    let page = written(vec![input("a.jsonl", header(), vec![chosen])]);
    assert_eq!(first(&rows(&page, "Calibration", "")), [("95", "1.000")], "an option is chosen by its letter too");
}

#[test]
fn without_gold_answers_there_are_no_charts() {
    let mut input = simple("echo", &["yes"]);
    input.record.questions[0].question.gold = None;
    let page = written(vec![input]);
    assert!(page.contains("No charts: no question has gold answers.") && !page.contains("<figure"));
}

#[test]
fn runs_have_settings_hashes_and_whether_lines_were_changed() {
    let mut inputs = vec![simple("echo", &["yes"]), simple("other", &["yes"])];
    inputs[1].ledger.altered = vec![4, 7];
    inputs[1].record.header.settings.seed = 5;
    let page = flat(&written(inputs));
    assert!(page.contains("<dt>Last hash of the record</dt><dd>0f0f"), "hash");
    assert!(page.contains("all 9 lines have the hash that they were written with"));
    assert!(page.contains("2 lines were changed after they were written, first line 4"));
    assert!(page.contains("<dt>settings.seed</dt><dd>5 <span class=\"interval\">first: 0</span></dd>"), "differs");
    assert!(page.contains("<dd class=\"hash\">cdcd"), "prompts");
}
