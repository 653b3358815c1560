//! Unusable replies and inputs: malformed replies, failed calls, questions without documents, switches that contradict
//! each other.

use super::*;

#[test]
fn malformed_and_unknown_replies_are_no_choice() {
    fn script(number: usize, call: &Call) -> Result<String> {
        match number {
            _ if verifies(call) => years(number, call),
            1 => Ok("I think it was 1932.".into()),
            2 => Ok("Answer: unknown. Explanation: They differ.".into()),
            _ => years(number, call),
        }
    }
    let (record, answers, _) = concluded(&[], &two(), &models(script));
    assert_eq!(record.calls[0].parsed, Parsed::Malformed);
    let want = format!("{CONTEXTS}\n\nCandidate 1: Answer: 1934. Explanation: Says 3.");
    assert_eq!(asked_at_last(&record.calls[3]), want);
    assert_eq!(answers, ["1934"]);

    // No choices at all: the verifier is still asked, and may answer.
    fn none(number: usize, call: &Call) -> Result<String> {
        let _ = number;
        Ok(if verifies(call) { "Answer: 1932. Explanation: Context 1." } else { "no format" }.into())
    }
    let (record, answers, _) = concluded(&[], &two(), &models(none));
    assert!(asked_at_last(&record.calls[3]).ends_with("open?\n\nNo candidate gave an answer."));
    assert_eq!(answers, ["1932"]);

    // The verifier's reply alone decides; of a majority, all.
    fn verifier(number: usize, call: &Call) -> Result<String> {
        if verifies(call) { Ok("It is 1932".into()) } else { years(number, call) }
    }
    let (record, answers, rejected) = concluded(&[], &two(), &models(verifier));
    assert!(record.conclusion.unwrap().malformed && answers.is_empty());
    assert_eq!(rejected.len(), 3);
    let (record, answers, _) = concluded(&[("conclude", "majority")], &two(), &models(verifier));
    assert!(!record.conclusion.unwrap().malformed && answers == ["1932"]);
    let (record, ..) = concluded(&[("conclude", "majority")], &two(), &Scripted::new(|_| "no format".into()));
    assert!(record.conclusion.unwrap().malformed);
}

#[test]
fn a_failed_candidate_leaves_the_others_and_a_failed_verifier_fails_the_question() {
    fn one(number: usize, call: &Call) -> Result<String> {
        if number == 2 { Err(MootError::Question("gone".into())) } else { years(number, call) }
    }
    let (record, answers, _) = concluded(&[], &two(), &models(one));
    assert_eq!(record.calls.len(), 3);
    let failed = Event::Failure {
        stage: 0,
        what: "candidate-2, round 1".into(),
        role: "candidate-2".into(),
        error: "gone".into(),
    };
    assert_eq!(record.events, [failed]);
    assert_eq!(answers, ["1934"]);

    fn all(_: usize, _: &Call) -> Result<String> {
        Err(MootError::Question("gone".into()))
    }
    let (record, error) = held(&[], &two(), &models(all));
    assert!(record.calls.is_empty() && error.unwrap().to_string() == "gone");
    fn last(number: usize, call: &Call) -> Result<String> {
        if verifies(call) { Err(MootError::Question("gone".into())) } else { years(number, call) }
    }
    let (record, error) = held(&[], &two(), &models(last));
    assert_eq!((record.calls.len(), error.unwrap().to_string()), (3, "gone".to_owned()));
    // An error that would fail every question ends the run.
    fn lost(number: usize, call: &Call) -> Result<String> {
        if number == 2 { Err(MootError::Engine("lost".into())) } else { years(number, call) }
    }
    assert!(matches!(held(&[], &two(), &models(lost)).1, Some(MootError::Engine(_))));
}

#[test]
fn no_document_one_and_thirty() {
    let (_, error) = held(&[], &asked(&[]), &models(years));
    assert!(error.unwrap().to_string().starts_with("verification needs at least 1 document"));
    let (record, answers, _) = concluded(&[], &asked(&[("www.roads.example", "It opened in 1932.")]), &models(years));
    assert!(!prompt_of(&record, 0).contains("Context 2"));
    assert_eq!(answers, ["1934"]);
    let thirty = vec![("www.roads.example", "It opened in 1932."); 30];
    let (record, ..) = concluded(&[], &asked(&thirty), &models(years));
    assert!(record.calls.iter().all(|call| call.messages[0].content.contains("Context 30 from www.roads.example: It")));
    assert_eq!(record.calls.len(), 4);
}

#[test]
fn switches_that_contradict_each_other_are_refused() {
    for (switches, said) in [
        (&[("rounds", "0"), ("candidates", "3")][..], "without rounds nothing selects"),
        (&[("prompt", "context"), ("explanations", "true")], "this prompt gives no explanations"),
        (&[("one-model", "true"), ("prompt", "context")], "expected no switch prompt"),
        (&[("candidates", "10")], "from 1 to 9"),
        (&[("rounds", "3")], "from 0 to 2"),
    ] {
        let refused = usage_error(methods::build("verification", &typed(switches)));
        assert!(refused.contains(said), "{refused}");
    }
    let label = |switches: &[(&str, &str)]| methods::build("verification", &typed(switches)).unwrap().values.label();
    assert_eq!(label(&[]), None);
    assert_eq!(label(&[("rounds", "0")]), Some("verification (single model)"));
    assert_eq!(label(&[("one-model", "true")]), Some("verification (one model)"));
    assert_eq!(label(&[("conclude", "majority")]), Some("verification (majority)"));
}
