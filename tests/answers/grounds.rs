//! Answers that documents do not hold are marked; those of a prompt's worked example are refused.

use crate::methods::{question, typed};
use moot::answers::grounds::{Held, is_of_worked_example};
use moot::eval::metrics::cost;
use moot::llm::scripted::Scripted;
use moot::methods::{self, METHODS};
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Answer, Document, Mark, Question};
use moot::transcript::QuestionRecord;

fn documents(texts: &[&str]) -> Vec<Document> {
    texts.iter().map(|&text| Document { text: text.to_owned(), ..Document::default() }).collect()
}

/// One round of MADAM-RAG in which every agent answers by its document's last word and the aggregator says `list`.
fn concluded(question: &Question, list: &'static str) -> QuestionRecord {
    let llm = Scripted::new(move |call| match call.document {
        Some(0) => "Answer: 1931. Explanation: It says so.".into(),
        Some(_) => "Answer: unknown. Explanation: It says nothing.".into(),
        None => format!("All Correct Answers: {list}. Explanation: They say so."),
    });
    let method = methods::build("madam-rag", &typed(&[("rounds", "1")])).unwrap();
    method.answer(question, Tools::new(&llm), &Settings::default(), &Silent).unwrap()
}

#[test]
fn the_answers_of_every_worked_example_are_known() {
    let text = |name: &str| METHODS.iter().flat_map(|row| row.files()).find(|file| file.name == name).unwrap().text;
    for (file, answers) in [
        ("madam_rag/aggregator.jinja", &["cello", "trumpet", "harp", "Trumpet."][..]),
        ("concatenated/reader.jinja", &["cello", "trumpet"]),
        ("self_rag/aggregator.jinja", &["cello", "trumpet"]),
        ("speculative_rag/aggregator.jinja", &["cello", "trumpet"]),
        ("verification/verifier.jinja", &["Ilse Morrow", "Peter Lund", "1884"]),
        ("verification/verifier_plain.jinja", &["Ilse Morrow", "Peter Lund", "1884"]),
        ("iter_retgen/reader.jinja", &["Tessin"]),
        ("ircot/chain.jinja", &["Tessin", "8,400", "Gannet Records", "Greta Kern"]),
        ("flare/step.jinja", &["Tessin", "Tolm Abbey", "Brandt Works"]),
        ("ra_rag/reader.jinja", &["Turku"]),
    ] {
        for answer in answers {
            assert!(is_of_worked_example(text(file), answer), "{file}: {answer}");
        }
        for other in ["unknown", "1931", ""] {
            assert!(!is_of_worked_example(text(file), other), "{file}: {other:?}");
        }
    }
    // Several words of an example are its words too; a single one may be anything.
    let aggregator = text("madam_rag/aggregator.jinja");
    assert!(is_of_worked_example(aggregator, "the jazz musician from Port Hale"));
    assert!(!is_of_worked_example(aggregator, "orchestra"));
    assert!(!is_of_worked_example(text("madam_rag/agent.jinja"), "your answer"));
    // Words of several examples are not: there are too many.
    assert!(!is_of_worked_example(text("ircot/chain.jinja"), "the lighthouse keeper of Tessin"));
    assert!(!is_of_worked_example(text("ircot/chain.jinja"), "fruit trees"));
}

#[test]
fn a_worked_example_never_becomes_a_conclusion_unless_a_document_holds_it() {
    let asked = question(&["She was born in 1931.", "Soup is served."]);
    let record = concluded(&asked, r#"["cello", "1931", "the trumpet"]"#);
    let conclusion = record.conclusion.as_ref().unwrap();
    assert_eq!(conclusion.answers.iter().map(|answer| answer.text.as_str()).collect::<Vec<_>>(), ["1931"]);
    assert_eq!(conclusion.refused, ["cello", "the trumpet"]);
    assert!(conclusion.answers[0].marks.is_empty());
    assert_eq!(cost::fallbacks(&record), Some(2.0));
    // It is written into the record, and read from there.
    let line = serde_json::to_string(&record).unwrap();
    assert!(line.contains(r#""refused":["cello","the trumpet"]"#));
    assert_eq!(serde_json::from_str::<QuestionRecord>(&line).unwrap(), record);
    // A conclusion of nothing else is empty.
    let empty = concluded(&asked, r#"["harp"]"#).conclusion.unwrap();
    assert!(empty.answers.is_empty() && !empty.malformed);

    for holds in ["She played the cello.", "Nothing."] {
        let held = question(&["She was born in 1931.", holds]);
        let refused = concluded(&held, r#"["cello"]"#).conclusion.unwrap().refused;
        assert_eq!(refused.is_empty(), holds.contains("cello"), "{holds}");
    }
    let mut asked = asked;
    asked.text = "Did she play the cello or the viola?".into();
    assert!(concluded(&asked, r#"["cello"]"#).conclusion.unwrap().refused.is_empty(), "the question says the word");
}

#[test]
fn an_answer_without_supporter_or_ground_is_marked_in_the_record() {
    let asked = question(&["She was born in 1931.", "She lived in Sandholm."]);
    let record = concluded(&asked, r#"["1931", "Sandholm", "1950"]"#);
    let conclusion = record.conclusion.as_ref().unwrap();
    let marks: Vec<&[Mark]> = conclusion.answers.iter().map(|answer| &answer.marks[..]).collect();
    assert_eq!(marks, [&[][..], &[Mark::NoSupporter], &[Mark::NoSupporter, Mark::NotInDocuments]]);
    assert!(serde_json::to_string(&record).unwrap().contains(r#""marks":["no-supporter","not-in-documents"]"#));
    // A reader has no agents: an answer that no document mentions is not in the documents.
    let llm = Scripted::list([r#"All Correct Answers: ["1931", "1950"]. Explanation: So it is."#]);
    let method = methods::build("concatenated", &typed(&[])).unwrap();
    let read = method.answer(&asked, Tools::new(&llm), &Settings::default(), &Silent).unwrap().conclusion.unwrap();
    assert!(read.answers[0].marks.is_empty() && read.answers[1].marks == [Mark::NotInDocuments]);
}

/// "Minutes" is the title of two documents; it is not in the text of any.
#[test]
fn titles_and_sources_are_not_the_text_of_a_document() {
    let mut asked = question(&["She was born in 1931, they say.", "She lived in Sandholm."]);
    asked.documents[0].title = Some("Minutes".into());
    asked.documents[1].source = Some("Norrby Council".into());
    asked.documents[1].date = Some("1884-05-12".into());
    let record = concluded(&asked, r#"["Minutes", "Norrby Council", "1931", "1884", "Sandholm"]"#);
    let marks: Vec<(String, bool)> = record
        .conclusion
        .unwrap()
        .answers
        .into_iter()
        .map(|answer| (answer.text, answer.marks.contains(&Mark::NotInDocuments)))
        .collect();
    let expected = [("Minutes", true), ("Norrby Council", true), ("1931", false), ("1884", false), ("Sandholm", false)];
    assert_eq!(marks, expected.map(|(text, marked)| (text.to_owned(), marked)));
    // The title that stands before a passage's text was put there; a heading within a text is text.
    let origin = moot::question::Origin { file: "a.md".into(), id: None, line: None, page: None, characters: 0..9 };
    let passage = Document {
        text: "Minutes\nIt opened in 1884.".into(),
        title: Some("Minutes".into()),
        origin: Some(origin),
        ..Document::default()
    };
    assert!(!Held::of([&passage], true).grounds("Minutes") && Held::of([&passage], true).grounds("1884"));
    let given = Document { origin: None, ..passage.clone() };
    assert!(Held::of([&given], true).grounds("Minutes"));
    // Words of a title are still not taken from the worked example.
    asked.documents[0].title = Some("The cello".into());
    let conclusion = concluded(&asked, r#"["cello"]"#).conclusion.unwrap();
    assert!(conclusion.refused.is_empty() && conclusion.answers[0].marks.contains(&Mark::NotInDocuments));
}

#[test]
fn words_and_numbers_are_looked_for_in_all_documents() {
    let held = documents(&["The ferry opened on 14 June 1952 with seven boats.", "It cost 7.2 million. Isaac Newton."]);
    let held = Held::of(&held, true);
    for answer in
        ["1952", "June 1952", "14.6.1952", "7 boats", "7.2 million", "Sir Isaac Newton", "opening", "Newton, Isaac"]
    {
        assert!(held.grounds(answer), "{answer}");
    }
    for answer in
        ["1953", "15.6.1952", "72 million", "8 boats", "Isabella Newbury", "1952 boats and 3 cars", "Port Hale"]
    {
        assert!(!held.grounds(answer), "{answer}");
    }
    let spelt = documents(&["Open two days a week, for twenty-one years; no one paid 30 crowns."]);
    let held = Held::of(&spelt, true);
    for answer in ["2 days a week", "Two days", "21", "twenty one years", "thirty crowns", "no one", "one"] {
        assert!(held.grounds(answer), "{answer}");
    }
    for answer in ["3 days a week", "three days", "22", "seven", "Forty crowns"] {
        assert!(!held.grounds(answer), "{answer}");
    }
    let chinese = documents(&["它于1952年开放。"]);
    assert!(Held::of(&chinese, true).grounds("1952年") && !Held::of(&chinese, true).grounds("1953年"));
}

#[test]
fn marks_say_what_is_missing() {
    let told = documents(&["It opened in 1952."]);
    let held = Held::of(&told, true);
    let supported = Answer { supporters: vec![0], ..Answer::new("1952") };
    assert!(held.marks(&supported, false).is_empty());
    assert_eq!(held.marks(&Answer::new("1952"), false), [Mark::NoSupporter]);
    assert_eq!(held.marks(&Answer::new("1953"), false), [Mark::NoSupporter, Mark::NotInDocuments]);
    assert_eq!(held.marks(&Answer::new("yes"), true), [Mark::NoSupporter]);
    // Without agents a reader answers for all documents.
    assert_eq!(Held::of(&told, false).marks(&Answer::new("1953"), false), [Mark::NotInDocuments]);
    assert!(Held::of(&documents(&[]), true).marks(&Answer::new("1953"), false).is_empty());
}
