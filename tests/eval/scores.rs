use super::{answered, header};
use crate::cli::program::{moot, run, text};
use moot::eval::record::Writer;
use moot::eval::record::reader::Record;
use moot::eval::scores;
use moot::methods;
use std::path::PathBuf;

fn record(name: &str, answers: &[(&str, &str)]) -> Record {
    let questions = answers.iter().map(|(id, answer)| answered(id, &["yes"], &["no"], &[answer])).collect();
    Record { path: PathBuf::from(name), header: header(), questions, torn: false }
}

#[test]
fn the_order_of_lines_changes_no_number() {
    let mut a = record("a.jsonl", &[("1", "yes"), ("2", "no"), ("3", "yes"), ("4", "maybe")]);
    let forwards = scores::json(&[scores::score(&a)], &[]);
    a.questions.reverse();
    assert_eq!(scores::json(&[scores::score(&a)], &[]), forwards);
    assert_eq!(forwards["records"][0]["metrics"]["em"]["mean"], 0.5);
    assert_eq!(forwards["records"][0]["metrics"]["em"]["n"], 4);
    assert_eq!(forwards["records"][0]["questions"], 4);
}

#[test]
fn two_records_are_compared_on_what_both_have() {
    let a = record("a.jsonl", &[("1", "yes"), ("2", "no"), ("3", "yes")]);
    let b = record("b.jsonl", &[("4", "no"), ("3", "yes"), ("2", "yes")]);
    let difference = scores::compare(&a, &b);
    assert_eq!((difference.common, difference.unpaired), (2, 2));
    let json = scores::json(&[], &[difference]);
    assert_eq!(json["differences"][0]["metrics"]["em"]["mean"], 0.5);
    assert_eq!(json["differences"][0]["metrics"]["calls"]["mean"], 0.0);
}

/// Records of two datasets may have the same ids for other questions. As in `moot compare`, these are not paired.
#[test]
fn questions_of_equal_id_and_other_content_are_not_paired() {
    let folder = tempfile::tempdir().unwrap();
    let a = record("a.jsonl", &[("1", "yes"), ("2", "yes"), ("3", "yes")]);
    let mut b = record("b.jsonl", &[("1", "no"), ("2", "yes"), ("4", "yes")]);
    b.questions[0].question.text.push_str(" Another question.");
    let difference = scores::compare(&a, &b);
    assert_eq!((difference.common, difference.unpaired), (1, 4));
    assert_eq!((difference.alone, difference.other_content), (2, 1));
    let json = scores::json(&[], &[difference]);
    assert_eq!((&json["differences"][0]["common"], &json["differences"][0]["other_content"]), (&1.into(), &1.into()));
    let em = &json["differences"][0]["metrics"]["em"];
    assert_eq!((em["mean"].as_f64(), em["n"].as_u64()), (Some(0.0), Some(1)), "{em}");
    for record in [&a, &b] {
        let mut writer = Writer::open(&folder.path().join(&record.path), &record.header).unwrap();
        record.questions.iter().for_each(|question| writer.append(question).unwrap());
    }
    let score = |names: [&str; 2]| {
        let mut command = moot(["score", names[0], names[1], "--changes"]);
        command.current_dir(folder.path()).env("COLUMNS", "100");
        text(&run(command).stdout)
    };
    let said = score(["a.jsonl", "b.jsonl"]);
    let note = "paired by question, 1 in both, 2 in one alone left out, 1 with the same id and other content left out";
    let squeezed = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed.contains(note), "{said}");
    assert!(squeezed.ends_with("answers of a.jsonl questions kept corrected spoilt b.jsonl 1 1 0 0"), "{said}");
    let same = score(["a.jsonl", "a.jsonl"]);
    assert!(same.contains("B - A: paired by question, 3 in both\n") && !same.contains("other content"), "{same}");
}

/// A method whose switches make it another method is shown under its label, and compared as before.
#[test]
fn a_label_is_shown_instead_of_the_name_of_the_method() {
    let mut a = record("a.jsonl", &[("1", "yes")]);
    let unlabelled = serde_json::to_value(&a.header).unwrap();
    assert!(unlabelled.get("label").is_none());
    a.header.label = Some("echo (prompted)".into());
    assert_eq!(scores::json(&[scores::score(&a)], &[])["records"][0]["method"], "echo (prompted)");
    let described = scores::describe(&scores::score(&a));
    assert!(described.starts_with("a.jsonl: echo (prompted) on some.jsonl with scripted: "), "{described}");
    let read: moot::eval::record::Header = serde_json::from_value(serde_json::to_value(&a.header).unwrap()).unwrap();
    assert_eq!((read.shown_method().as_str(), read.method.as_str()), ("echo (prompted)", "echo"));
    // A fallback is counted in the row of the other counts.
    assert!(described.ends_with(" 0 malformed, 0 fallbacks\n"), "{described}");
    let fallback = |dropped| moot::transcript::Event::Fallback { stage: 0, what: "nothing was found".into(), dropped };
    a.questions[0].events = vec![fallback(None), fallback(Some(0)), fallback(None)];
    let described = scores::describe(&scores::score(&a));
    assert!(described.ends_with(" 0 malformed, 2 fallbacks\n"), "{described}");
    assert_eq!(scores::json(&[scores::score(&a)], &[])["records"][0]["fallbacks"], 2);
    a.header.preset = Some("loud".into());
    let described = scores::describe(&scores::score(&a));
    assert!(
        described.starts_with("a.jsonl: echo (prompted), preset loud on some.jsonl with scripted: "),
        "{described}"
    );
}

#[test]
fn questions_that_ended_in_an_error_are_counted() {
    let mut a = record("a.jsonl", &[("1", "yes"), ("2", "yes")]);
    assert!(!scores::describe(&scores::score(&a)).contains("error"));
    (a.questions[1].conclusion, a.questions[1].error) = (None, Some("the prompt is too long".into()));
    let described = scores::describe(&scores::score(&a));
    assert!(
        described.contains("2 of 3 questions, 1 ended in an error, ")
            || described.contains("2 questions, 1 ended in an error, "),
        "{described}"
    );
    assert_eq!(scores::json(&[scores::score(&a)], &[])["records"][0]["errors"], 1);
}

/// A preset with other switches typed on top of it is not that preset.
#[test]
fn a_changed_preset_is_shown_as_changed() {
    let mut header = record("a.jsonl", &[("1", "yes")]).header;
    (header.method, header.preset) = ("madam-rag".into(), Some("every-answer".into()));
    let (row, preset) = methods::preset("every-answer").unwrap();
    for (typed, shown) in [
        (&[][..], "madam-rag, preset every-answer, wording tuned"),
        (&[("rounds", "2")], "madam-rag, preset every-answer, changed, wording tuned"),
        (&[("wording", "paper")], "madam-rag, preset every-answer, changed"),
    ] {
        header.switches = row.build_preset(preset, &crate::methods::typed(typed)).unwrap().values.json();
        assert_eq!(header.shown_method(), shown);
    }
    // The table says that the prompts are not the paper's, by the preset's name where that is `tuned`.
    (header.preset, header.switches["wording"]) = (Some("tuned".into()), "tuned".into());
    assert!(header.shown_method().starts_with("madam-rag, preset tuned") && !header.shown_method().contains("wording"));
    header.preset = None;
    for (wording, shown) in [("tuned", "madam-rag, wording tuned"), ("paper", "madam-rag")] {
        header.switches["wording"] = wording.into();
        assert_eq!(header.shown_method(), shown);
    }
}

#[test]
fn slices_are_scored_alone() {
    let mut a = record("a.jsonl", &[("1", "yes"), ("2", "no"), ("3", "yes")]);
    a.questions[0].question.slices = vec!["hard".into()];
    a.questions[1].question.slices = vec!["hard".into(), "old".into()];
    let hard = scores::slice(&a, "hard").unwrap();
    let json = scores::json(&[scores::score(&hard)], &[]);
    assert_eq!(json["records"][0]["record"], "a.jsonl [hard]");
    assert_eq!(json["records"][0]["questions"], 2);
    assert_eq!(json["records"][0]["metrics"]["em"]["mean"], 0.5);
    let error = scores::slice(&a, "easy").unwrap_err().to_string();
    assert_eq!(
        error,
        "no slice is called \"easy\" (known: hard, old, gold-retrieved, gold-not-retrieved, factual, misinformation, irrelevant, gold-conflict)"
    );
}

#[test]
fn metrics_over_the_run_are_compared_in_pairs() {
    let a = record("a.jsonl", &[("1", "no"), ("2", "no"), ("3", "yes"), ("4", "yes")]);
    let b = record("b.jsonl", &[("1", "yes"), ("2", "no"), ("3", "yes"), ("4", "yes")]);
    let json = scores::json(&[scores::score(&a), scores::score(&b)], &[scores::compare(&a, &b)]);
    let of = |i: usize, name: &str| json["records"][i]["metrics"][name]["mean"].as_f64().unwrap();
    assert_eq!((of(0, "accuracy-yes"), of(1, "accuracy-yes")), (0.5, 0.75));
    let difference = &json["differences"][0]["metrics"];
    assert_eq!(difference["accuracy-yes"], difference["em"]);
    assert_eq!(difference["accuracy-yes"]["mean"], 0.25);
    assert!(difference["accuracy-yes"]["low"].as_f64().unwrap() >= 0.0);
}
