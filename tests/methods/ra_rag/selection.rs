//! Which sources are asked, and in which stage.

use super::{asked, held, honest, record, shown, six, stand, stands, years};
use crate::methods::prompt;
use moot::llm::scripted::Scripted;
use moot::transcript::{Parsed, QuestionRecord};
use moot::{MootError, Result};

#[test]
fn rrss_asks_as_many_as_are_still_needed_until_kappa_sources_have_answered() {
    let (question, weights) = six();
    let kappa = |kappa: &str| held(&[("kappa", kappa)], &question, &weights, &honest());
    assert_eq!(kappa("1").stages, [(0, 0)]);
    assert_eq!(kappa("2").stages, [(0, 0), (0, 1), (1, 2)]);
    let three = kappa("3");
    // Of a, b, c one is missing: d, which knows nothing, then e.
    assert_eq!(three.stages, [(0, 0), (0, 1), (0, 2), (1, 3), (2, 4)]);
    assert_eq!(stands(&three.conclusion.answers), [stand("1931", &[0], &[2, 4])]);
    assert_eq!(stands(&three.conclusion.rejected), [stand("1932", &[2, 4], &[0])]);
    assert_eq!(three.conclusion.calls, [0, 1, 2, 3, 4]);
    // Four answer in all, so there is nothing left to ask for a fifth.
    assert_eq!(kappa("5").stages, [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 5)]);
    assert_eq!(kappa("5").conclusion.answers[0].text, "1932");
    assert_eq!(held(&[], &question, &weights, &honest()).stages.len(), 6, "kappa is 4 by default");
}

#[test]
fn rss_asks_the_heaviest_sources_and_all_asks_every_source() {
    let (question, weights) = six();
    let selection = |name: &str| held(&[("variant", name), ("kappa", "3")], &question, &weights, &honest());
    let rss = selection("rss");
    assert_eq!(rss.stages, [(0, 0), (0, 1), (0, 2)]);
    assert_eq!(stands(&rss.conclusion.answers), [stand("1931", &[0], &[2])]);
    let all = selection("wmv");
    assert_eq!(all.stages, (0..6).map(|index| (0, index)).collect::<Vec<_>>());
    assert_eq!(stands(&all.conclusion.answers), [stand("1932", &[2, 4, 5], &[0])]);
}

#[test]
fn a_malformed_reply_counts_as_unknown() {
    let question = years(&[("a", "1931"), ("b", "1932"), ("c", "1933")]);
    let weights = [("a", 3.0), ("b", 2.0), ("c", 1.0)];
    let bad = held(&[("kappa", "1")], &question, &weights, &Scripted::list(["...", "1932"]));
    assert_eq!(bad.stages, [(0, 0), (1, 1)]);
    assert_eq!(bad.record.calls[0].parsed, Parsed::Malformed);
    assert_eq!(stands(&bad.conclusion.answers), [stand("1932", &[1], &[])]);
    assert!(!bad.conclusion.malformed);
    let worse = held(&[("kappa", "1")], &question, &weights, &Scripted::new(|_| String::new()));
    assert_eq!(worse.stages, [(0, 0), (1, 1), (2, 2)]);
    assert!(worse.conclusion.malformed && worse.conclusion.answers.is_empty() && worse.conclusion.rejected.is_empty());
    assert_eq!(worse.conclusion.calls, [0, 1, 2]);
}

fn refused(result: (QuestionRecord, Option<MootError>)) -> Result<()> {
    assert!(result.0.conclusion.is_none());
    result.1.map_or(Ok(()), Err)
}

#[test]
fn no_document_one_and_thirty() {
    let Err(MootError::Question(line)) = refused(record(&[], &asked([]), &[], &honest())) else { panic!("refused") };
    assert!(line.starts_with("ra-rag needs at least 1 document"), "{line}");
    let one = held(&[], &asked([("", "It opened in 1931.")]), &[], &honest());
    assert_eq!(one.stages, [(0, 0)]);
    assert_eq!(stands(&one.conclusion.answers), [stand("1931", &[0], &[])]);
    // Ten sources of three documents each; only the last document of each has the year.
    let names: Vec<String> = (0..10).map(|i| format!("s{i}")).collect();
    let document = |i: usize| (names[i % 10].as_str(), if i < 20 { "A bridge." } else { "Opened in 1931." });
    let many = asked((0..30).map(document));
    let weights: Vec<(&str, f64)> =
        names.iter().map(|name| (name.as_str(), if name == "s9" { 2.0 } else { 1.0 })).collect();
    let four = held(&[], &many, &weights, &honest());
    assert_eq!(four.stages, [(0, 9), (0, 0), (0, 1), (0, 2)]);
    assert_eq!(stands(&four.conclusion.answers), [stand("1931", &[0, 1, 2, 9, 10, 11, 12, 19, 20, 21, 22, 29], &[])]);
    assert_eq!(held(&[("variant", "wmv")], &many, &[], &honest()).stages.len(), 10);
}

#[test]
fn a_call_that_fails_fails_the_question_and_is_named() {
    let llm = Scripted::failing(|call| match shown(prompt(call)).contains("1932") {
        true => Err(MootError::Question(format!("{}: refused", call.what))),
        false => Ok("unknown".into()),
    });
    let question = years(&[("a", "1931"), ("b", "1932"), ("c", "1933")]);
    let (kept, error) = record(&[("kappa", "1")], &question, &[], &llm);
    assert_eq!(error.unwrap().to_string(), "reader of d1, round 1: refused");
    assert!(kept.conclusion.is_none());
    assert_eq!(kept.calls.len(), 1, "what was answered before is recorded");
}

#[test]
fn replies_may_come_in_any_order() {
    let (question, weights) = six();
    let there = held(&[], &question, &weights, &honest());
    let back = held(&[], &question, &weights, &honest().backwards());
    assert_eq!((there.conclusion, there.stages), (back.conclusion, back.stages));
}
