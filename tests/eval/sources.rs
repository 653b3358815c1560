//! Weights of sources against values worked out by hand.

use moot::answers::align::Compared;
use moot::eval::sources::merge::Gathered;
use moot::eval::sources::pairs::{pairs, tail};
use moot::eval::sources::reliability::Prior;
use moot::eval::sources::report::Report;
use moot::eval::sources::simulate::World;
use moot::eval::sources::{Evidence, Row, Table, answers_of, estimate, fit, note_classes, winner};
use moot::question::{Answer, Conclusion, Document, Question};
use moot::sources::{EstimatorSettings, QuestionAnswers, SourceAnswer, SourceEstimate, SourceWeights, VERSION};
use moot::transcript::{CallRecord, Parsed, QuestionRecord};
use std::collections::BTreeSet;
use std::path::Path;

pub(super) fn quick() -> EstimatorSettings {
    EstimatorSettings { resamples: 0, ..EstimatorSettings::default() }
}

/// One question a line: what a, b, c, ... answered; `-` is "I don't know", a blank was not asked.
pub(super) fn questions(lines: &[&str]) -> Vec<QuestionAnswers> {
    let question = |(number, line): (usize, &&str)| {
        let said = line.chars().enumerate().filter(|(_, answer)| *answer != ' ');
        let answer = |answer: char| SourceAnswer {
            answer: (answer != '-').then(|| answer.to_string()),
            ..SourceAnswer::default()
        };
        let source = |index: usize| String::from(char::from(b'a' + u8::try_from(index).unwrap()));
        QuestionAnswers {
            id: format!("q{number}"),
            text: format!("Question {number}?"),
            answers: said.map(|(index, said)| (source(index), answer(said))).collect(),
            ..QuestionAnswers::default()
        }
    };
    lines.iter().enumerate().map(question).collect()
}

pub(super) fn near(found: f64, want: f64) {
    assert!((found - want).abs() < 1e-9, "{found}, wanted {want}");
}

pub(super) fn weight(weights: &SourceWeights, source: &str) -> f64 {
    weights.sources[source].weight.unwrap()
}

/// Votes of 1: X, X, Y, and a tie that is half right for a and for c; w = 0.625, 1, 0.375. Then X, X, Y, X; w = 0.75, 1,
/// 0.25; the third iteration changes nothing.
pub(super) const THREE: [&str; 4] = ["XXY", "XXY", "XYY", "X-Y"];

#[test]
fn the_iteration_is_the_papers() {
    let weights = estimate(questions(&THREE), &quick());
    assert_eq!((weights.iterations, weights.converged, weights.questions), (3, true, 4));
    for (source, w, v) in [("a", 0.75, 1.25), ("b", 1.0, 2.0), ("c", 0.25, -0.25)] {
        near(weights.sources[source].agreement.unwrap(), w);
        near(weight(&weights, source), v);
    }
    assert_eq!((weights.sources["b"].answers, weights.sources["b"].asked), (3, 4));

    let once = estimate(questions(&THREE), &EstimatorSettings { iterations: 1, ..quick() });
    assert!(!once.converged && Report::new(&once).notes().iter().any(|note| note.contains("did not converge")));
    for (source, v) in [("a", 0.875), ("b", 2.0), ("c", 0.125)] {
        near(weight(&once, source), v);
    }
    let nine = estimate(questions(&THREE), &EstimatorSettings { sources: Some(9), ..quick() });
    for (source, v) in [("a", 5.75), ("b", 8.0), ("c", 1.25)] {
        near(weight(&nine, source), v);
    }
}

#[test]
fn a_question_that_no_source_answers_counts_for_none() {
    let with = estimate(questions(&[&THREE[..], &["---", "-  "]].concat()), &quick());
    assert_eq!(with.questions, 4);
    near(weight(&with, "a"), 1.25);
    assert_eq!((with.sources["a"].answers, with.sources["a"].asked), (4, 6));
}

#[test]
fn the_order_of_sources_and_their_names_do_not_matter() {
    // Turned round, c is a.
    let turned = estimate(questions(&["YXX", "YXX", "YYX", "Y-X"]), &quick());
    near(weight(&turned, "c"), 1.25);
    near(weight(&turned, "a"), -0.25);
}

#[test]
fn a_negative_vote_counts_against_its_answer() {
    let row = [Some(0), Some(0), Some(1)];
    assert_eq!(winner(&row, &[1.0, -0.6, 0.5]), Some(1));
    assert_eq!(winner(&row, &[1.0, -0.4, 0.5]), Some(0));
    assert_eq!(winner(&[None, None, Some(2)], &[1.0, 1.0, -1.0]), Some(2));
    assert_eq!(winner(&[None, None, None], &[1.0; 3]), None);
    // 1 against 0.5 + 0.5: the heavier source's answer; of equal sources the earlier one's.
    assert_eq!(winner(&[Some(0), Some(1), Some(0)], &[0.5, 1.0, 0.5]), Some(1));
    assert_eq!(winner(&[Some(0), Some(1), None], &[1.0; 3]), Some(0));
}

#[test]
fn each_bad_input_is_one_line() {
    let notes = |lines: &[&str]| Report::new(&estimate(questions(lines), &quick())).notes();
    assert_eq!(
        notes(&["XX-", "XX-"]),
        ["\"c\" never answered (2 questions asked): no estimate, it votes with the mean of the others, 2.00"]
    );
    let never = estimate(questions(&["XX-"]), &quick());
    assert_eq!((never.sources["c"].weight, never.vote(Some("c"))), (None, 2.0));
    let once = notes(&["XXX", "XX-", "XX-"]);
    assert_eq!(once, ["\"c\" answered once of 3: its weight rests on one question"]);
    // Neither has an edge, whatever its name.
    let opposed = estimate(questions(&["XY", "ZX", "XY", "YZ", "XY"]), &quick());
    near(weight(&opposed, "a"), 0.0);
    near(weight(&opposed, "b"), 0.0);
    let told = Report::new(&opposed).notes();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("differ on all 5 questions") && told[0].contains("no vote decides between them"),
        "{told:?}"
    );
    // Of two sources alone any number of questions is enough to say so.
    let three = notes(&["XY"; 3]);
    assert_eq!(three.len(), 1, "{three:?}");
    assert!(
        three[0].starts_with("\"a\" and \"b\" differ on all 3 questions that both answered, and no third"),
        "{three:?}"
    );
    assert!(notes(&["XY"])[2].contains("differ on the one question that both answered"), "{:?}", notes(&["XY"]));
    assert!(notes(&["XYX", "XYX", "XYX"]).iter().all(|note| !note.contains("differ")));
    let below = notes(&THREE);
    assert!(below.iter().any(|note| note.contains("\"c\" has a weight below 0")), "{below:?}");
}

#[test]
fn weights_of_another_corpus_are_reported_in_one_line() {
    let estimate = SourceEstimate { weight: Some(1.0), ..SourceEstimate::default() };
    let none = SourceEstimate::default();
    let sources = [("a".to_owned(), estimate), ("b".to_owned(), estimate), ("c".to_owned(), none)].into();
    let weights = SourceWeights { sources, ..SourceWeights::default() };
    let told = |asked: &[&str]| weights.unknown("w.json", &asked.iter().copied().collect::<BTreeSet<_>>());
    assert_eq!(told(&["a", "b"]), None);
    assert_eq!(
        told(&["a", "c", "x"]).unwrap(),
        "w.json has no weight for 2 of 3 sources (\"c\", \"x\"): they vote with the mean of its weights, 1.00"
    );
    let other = told(&["x", "y"]).unwrap();
    assert!(other.starts_with("w.json belongs to another corpus: it has weights of \"a\", \"b\", \"c\""), "{other}");
    assert!(told(&[]).unwrap().contains("no document names its source"));
}

/// Documents of source and text; a reply of each, in their order.
fn record(documents: &[(&str, &str)], replies: &[Parsed]) -> QuestionRecord {
    let document = |&(source, text): &(&str, &str)| Document {
        text: text.into(),
        source: (!source.is_empty()).then(|| source.to_owned()),
        ..Document::default()
    };
    let call = |(number, parsed): (usize, &Parsed)| CallRecord {
        number,
        round: 1,
        document: Some(number),
        parsed: parsed.clone(),
        ..CallRecord::default()
    };
    QuestionRecord {
        question: Question {
            id: "q".into(),
            text: "When?".into(),
            documents: documents.iter().map(document).collect(),
            ..Question::default()
        },
        calls: replies.iter().enumerate().map(call).collect(),
        ..QuestionRecord::default()
    }
}

fn answer(text: &str) -> Parsed {
    Parsed::Answer { answer: Some(text.into()), explanation: String::new() }
}

#[test]
fn answers_that_the_documents_do_not_hold_are_dropped() {
    let documents =
        [("a", "It opened in 1931."), ("a", "A fine bridge."), ("b", "Soup."), ("c", "In 1932."), ("", "1933")];
    let unknown = Parsed::Answer { answer: None, explanation: String::new() };
    let replies = [unknown, answer("1931"), answer("1940"), answer("I don't know."), answer("1933")];
    let found = answers_of(&record(&documents, &replies), Some(0.9), Compared::Words);
    let said = |source: &str| (found.answers[source].answer.as_deref(), found.answers[source].dropped);
    // a's second call gives what its first document holds; b answers from memory.
    assert_eq!((said("a"), said("b"), said("c")), ((Some("1931"), false), (Some("1940"), true), (None, false)));
    assert_eq!(found.answers.len(), 3, "a document without a source is left out");
    assert_eq!(answers_of(&record(&documents, &replies), None, Compared::Words).answers["b"].counted(), Some("1940"));
    // The first answer that counts, not the first.
    let replies = [answer("1940"), answer("1931"), answer("soup"), Parsed::Malformed, answer("1933")];
    let found = answers_of(&record(&documents, &replies), Some(0.9), Compared::Words);
    assert_eq!(found.answers["a"].counted(), Some("1931"));
    assert_eq!((found.answers["b"].counted(), found.answers["c"].counted()), (Some("soup"), None));
    let weights = estimate(vec![found], &quick());
    assert_eq!((weights.sources["a"].answers, weights.sources["a"].dropped), (1, 0));
}

#[test]
fn classes_of_a_run_by_meaning_are_kept() {
    let documents = [("a", "In 1931."), ("b", "In thirty-one."), ("c", "In 1932."), ("d", "In 1931.")];
    let replies = [answer("1931"), answer("thirty-one"), answer("1932"), answer("soup")];
    let mut record = record(&documents, &replies);
    let stands = |text: &str, supporters: &[usize]| Answer { supporters: supporters.to_vec(), ..Answer::new(text) };
    let (answers, rejected) = (vec![stands("1931", &[0, 1])], vec![stands("1932", &[2])]);
    record.conclusion = Some(Conclusion { answers, rejected, ..Conclusion::default() });
    let mut found = answers_of(&record, Some(0.9), Compared::Words);
    assert_eq!(Table::of(std::slice::from_ref(&found)).rows, [vec![Some(0), Some(1), Some(2), None]]);
    note_classes(&mut found, &record);
    assert_eq!(Table::of(std::slice::from_ref(&found)).rows, [vec![Some(0), Some(0), Some(1), None]]);
    assert_eq!(found.answers["b"].answer.as_deref(), Some("thirty-one"), "the answer stays");
    let line = serde_json::to_string(&found).unwrap();
    assert!(line.contains(r#""b":{"answer":"thirty-one","equal_to":"1931"},"c":{"answer":"1932"}"#), "{line}");
}

#[test]
fn merging_is_estimating_from_all_at_once() {
    let all = questions(&THREE);
    let settings = EstimatorSettings { resamples: 50, ..EstimatorSettings::default() };
    let whole = estimate(all.clone(), &settings);
    let (first, second) = (estimate(all[..2].to_vec(), &settings), estimate(all[2..].to_vec(), &settings));
    let mut gathered = Gathered::default();
    gathered.add_all(first.clone(), Path::new("a.json")).unwrap();
    gathered.add_all(second, Path::new("b.json")).unwrap();
    assert_eq!(estimate(gathered.questions.clone(), &settings), whole);
    assert_eq!(gathered.replaced, 0);
    // The same question again: the later answer counts, the other sources' answers stay.
    let mut again = all[0].clone();
    again.answers.retain(|source, _| source == "c");
    again.answers.get_mut("c").unwrap().answer = Some("X".into());
    gathered.add(again);
    assert_eq!((gathered.replaced, gathered.questions.len()), (1, 4));
    assert_eq!(gathered.questions[0].answers["c"].counted(), Some("X"));
    assert_eq!(gathered.questions[0].answers["a"].counted(), Some("X"));
    // Weights alone cannot be merged.
    let bare = SourceWeights { answers: Vec::new(), ..first };
    let refused = gathered.add_all(bare, Path::new("old.json")).unwrap_err().to_string();
    assert!(refused.starts_with("old.json: expected weights together with the answers"), "{refused}");
}

#[test]
fn intervals_come_from_questions_drawn_with_replacement() {
    let settings = EstimatorSettings { resamples: 200, ..EstimatorSettings::default() };
    let same = estimate(questions(&["XXY"; 6]), &settings);
    assert_eq!((same.sources["a"].interval, same.sources["c"].interval), (Some((2.0, 2.0)), Some((-1.0, -1.0))));
    let mixed = questions(&["XXY", "XXX", "XYX", "XXX", "YXX", "XXX", "XX-", "XXX"]);
    let weights = estimate(mixed.clone(), &settings);
    let (low, high) = weights.sources["a"].interval.unwrap();
    assert!(low < weight(&weights, "a") && weight(&weights, "a") < high, "{low} {high}");
    assert_eq!(estimate(mixed.clone(), &settings), weights);
    let intervals = |seed| {
        let estimate = estimate(mixed.clone(), &EstimatorSettings { seed, resamples: 20, ..settings });
        estimate.sources.values().map(|source| source.interval).collect::<Vec<_>>()
    };
    assert_eq!(intervals(1), intervals(1));
    assert!((1..5).any(|seed| intervals(seed) != intervals(0)), "the draws do not depend on the seed");
    assert_eq!(estimate(questions(&["X-"]), &settings).sources["b"].interval, None);
}

#[test]
fn a_pair_is_compared_with_what_its_weights_explain() {
    near(tail(3, 2, 0.5), 0.5);
    near(tail(2, 1, 0.1), 0.19);
    near(tail(4, 4, 0.3), 0.0081);
    assert_eq!((tail(5, 0, 0.2), tail(5, 1, 0.0), tail(5, 5, 1.0)), (1.0, 0.0, 1.0));
    let table = Table::of(&questions(&["XXY", "XYZ", "X-Y", "YYX"]));
    // Three answers to a question at most, so two wrong ones: 0.5 * 0.4 + 0.5 * 0.6 / 2 = 0.35.
    let found = pairs(&table.rows, &[Some(0.5), Some(0.4), None]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].sources, found[0].both, found[0].agreed), ((0, 1), 3, 2));
    near(found[0].expected, 0.35);
    // 3 * 0.35^2 * 0.65 + 0.35^3.
    near(found[0].coincidence, 0.28175);
}

/// Hammers (0.9) and copies of a spammer that repeat all they copy, drawn once.
fn with_copies(honest: usize, copies: usize) -> Vec<Row> {
    let (prior, questions) = (Prior::SpammerHammer(0), (60, 0));
    World { sources: honest, prior, copies, coverage: (0.8, 0.8), questions, ..World::default() }.draw(11).estimate
}

/// The estimate believes the copies, and says that the honest sources agree more than it can explain.
#[test]
fn copies_of_a_liar_outvote_the_others_and_the_pairs_show_it() {
    let rows = with_copies(4, 5);
    let votes = fit(&Evidence { rows: &rows, ..Evidence::default() }, 9, 9.0, &quick()).votes;
    let right = rows.iter().filter(|row| winner(row, &votes) == Some(0)).count();
    assert!(right < 20, "{right}");
    let letters =
        |row: &Row| row.iter().map(|said| said.map_or('-', |c| char::from(b'A' + u8::try_from(c).unwrap()))).collect();
    let lines: Vec<String> = rows.iter().map(letters).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let weights = estimate(questions(&lines), &quick());
    assert!(weights.sources["a"].weight < weights.sources["e"].weight);
    let notes = Report::new(&weights).notes();
    assert!(notes.iter().any(|note| note.starts_with("\"a\" and \"b\" agree more often")), "{notes:?}");
}

#[test]
fn the_question_that_costs_a_source_most_comes_first() {
    let weights = estimate(questions(&THREE), &quick());
    let costs = Report::new(&weights).costs("c");
    // Without c: X has 1.25 + 2 twice, then 1.25; on the third question c agrees with the estimate.
    let told: Vec<(&str, &str, &str)> =
        costs.iter().map(|cost| (&*cost.question, &*cost.own, &*cost.estimated)).collect();
    assert_eq!(told, [("Question 0?", "Y", "X"), ("Question 1?", "Y", "X"), ("Question 3?", "Y", "X")]);
    near(costs[0].margin, 3.25);
    near(costs[2].margin, 1.25);
    assert!(Report::new(&weights).costs("b").is_empty() && Report::new(&weights).costs("x").is_empty());
}

#[test]
fn a_file_of_the_first_form_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.json");
    let old = r#"{"moot_sources": 1, "estimator": "x", "records": [], "questions": 1, "iterations": 2, "converged": true,
        "sources": {"a": {"weight": 1.5, "agreement": 0.5, "answers": 1, "asked": 2}}}"#;
    std::fs::write(&path, old).unwrap();
    let (weights, identity) = SourceWeights::read(&path).unwrap();
    assert_eq!((weights.vote(Some("a")), weights.moot_sources, &*identity.name), (1.5, VERSION, "w.json"));
    assert!(Report::new(&weights).pairs().is_empty());
    // Settings of earlier versions name an estimator; sources that were taken for copies are refused.
    let settings = r#", "settings": {"estimator": "paper", "sources": null, "iterations": 7, "tolerance": 1e-9, "resamples": 0, "seed": 1}}"#;
    std::fs::write(&path, format!("{}{settings}", old.trim_end().strip_suffix('}').unwrap())).unwrap();
    assert_eq!(SourceWeights::read(&path).unwrap().0.settings.unwrap().iterations, 7);
    std::fs::write(&path, old.replace("\"asked\": 2", "\"asked\": 2, \"voice\": 3")).unwrap();
    let refused = SourceWeights::read(&path).unwrap_err().to_string();
    assert!(refused.contains("unknown field `voice`"), "{refused}");
    let interval =
        |low: f64, high: f64| old.replace("\"asked\": 2", &format!("\"asked\": 2, \"interval\": [{low}, {high}]"));
    std::fs::write(&path, interval(-1.0, 2.0)).unwrap();
    SourceWeights::read(&path).unwrap();
    for (text, found) in [
        (old.replace("1.5", "1e300"), "expected a weight from -1 to 1e9 for \"a\", found 1e300"),
        (old.replace("1.5", "-1.5"), "found -1.5"),
        (old.replace("0.5", "7.5"), "expected an agreement from 0 to 1 for \"a\", found 7.5"),
        (old.replace("0.5", "-3"), "found -3.0"),
        (old.replace("\"answers\": 1", "\"answers\": 99"), "found 99 of 2"),
        (old.replace("\"asked\": 2", "\"asked\": 2, \"dropped\": 3"), "found 3 of 2"),
        (old.replace("\"asked\": 2", "\"asked\": 2, \"lone\": 2"), "found 2 of 1"),
        (interval(9.0, 1.0), "expected an interval of weights from low to high for \"a\", found [9.0, 1.0]"),
        (interval(-2.0, 1.0), "found [-2.0, 1.0]"),
        (old.replace("1.5", "\"x\""), "expected weights of sources"),
        (old.replace(": 1, \"est", ": 2, \"est"), "found version 2"),
    ] {
        std::fs::write(&path, text).unwrap();
        let line = SourceWeights::read(&path).unwrap_err().to_string();
        assert!(line.contains(found) && !line.contains('\n'), "{line}");
    }
}

/// A file of weights may spell a name in other code points than the documents do.
#[test]
fn equivalent_names_are_one_source() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.json");
    let estimate = SourceEstimate { weight: Some(2.0), ..SourceEstimate::default() };
    let other = SourceEstimate { weight: Some(4.0), ..SourceEstimate::default() };
    let weights = SourceWeights {
        moot_sources: VERSION,
        sources: [("Cafe\u{301}".to_owned(), estimate), ("Bar".to_owned(), other)].into(),
        ..SourceWeights::default()
    };
    std::fs::write(&path, serde_json::to_string(&weights).unwrap()).unwrap();
    let (weights, _) = SourceWeights::read(&path).unwrap();
    assert_eq!(["Café", "Cafe\u{301}", "Cafe"].map(|name| weights.vote(Some(name))), [2.0, 2.0, 3.0]);
}
