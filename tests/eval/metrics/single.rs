//! SQuAD's metrics, yes/no questions and multiple choice, by hand.

use super::{answered, is, of, over};
use moot::answers::words::squad;
use moot::question::{Gold, Label};
use moot::transcript::{CallRecord, Parsed, QuestionRecord};

/// As `normalize_answer` of SQuAD's evaluation script 1.1 gives them.
#[test]
fn squad_normalisation() {
    for (text, want) in [
        ("The  Beatles!", "beatles"),
        ("Jean-Paul", "jeanpaul"),
        ("U.S.", "us"),
        ("A", ""),
        ("an apple, the pear", "apple pear"),
        ("theatre", "theatre"),
        ("the–end", "–end"),
        ("caf\u{e9} \"L'A\"", "café la"),
        ("€ 5", "€ 5"),
        ("...", ""),
        ("", ""),
    ] {
        assert_eq!(squad(text).join(" "), want, "{text:?}");
    }
}

/// HotpotQA's script gives nothing for "yes, both are" where "yes" is right; SQuAD's gives half.
#[test]
fn yes_and_no_share_tokens_with_themselves_alone() {
    for (alias, given, squad, hotpot) in [
        ("yes", "yes, both are", 0.5, 0.0),
        ("yes both", "yes", 2.0 / 3.0, 0.0),
        ("yes", "Yes.", 1.0, 1.0),
        ("no", "yes", 0.0, 0.0),
        ("Orrin Hale", "Hale", 2.0 / 3.0, 2.0 / 3.0),
    ] {
        let mut record = answered("x", &[], &[], &[given]);
        record.question.gold = Some(Gold::any_of([alias.to_owned()]));
        is("squad-f1", &[&record], squad);
        is("hotpot-f1", &[&record], hotpot);
    }
}

/// Aliases, answers given, squad-em, squad-f1.
type Row = (&'static [&'static str], &'static [&'static str], f64, f64);

#[test]
fn exact_match_and_token_f1() {
    let rows: &[Row] = &[
        (&["Orrin Hale"], &["the Orrin Hale."], 1.0, 1.0),
        // Not contained but equal: the strict reading of SQuAD.
        (&["1884"], &["It opened in 1884"], 0.0, 0.4),
        (&["Orrin Hale", "Hale"], &["Hale"], 1.0, 1.0),
        // Best over aliases: 2 of 3 tokens against 2 of 4.
        (&["Orrin P Hale", "Hale Orrin X Y"], &["Orrin Hale"], 0.0, 0.8),
        // A token counts as often as both have it: precision 1 / 2, recall 1 / 1.
        (&["ost"], &["ost ost"], 0.0, 2.0 / 3.0),
        (&["Lenn"], &["Harrow"], 0.0, 0.0),
        // A list is one text.
        (&["Lenn"], &["Lenn", "Harrow"], 0.0, 2.0 / 3.0),
        (&["Lenn"], &[], 0.0, 0.0),
        (&["the"], &["a"], 1.0, 1.0),
    ];
    for (aliases, given, em, f1) in rows {
        let mut record = answered("x", &[], &[], given);
        record.question.gold = Some(Gold::any_of(aliases.iter().map(|&alias| alias.to_owned())));
        is("squad-em", &[&record], *em);
        is("squad-f1", &[&record], *f1);
    }
    // Two required answers are no answer of SQuAD's.
    assert_eq!(of("squad-em", &answered("x", &["a1", "b1"], &[], &["a1"])), None);
    let mut malformed = answered("x", &["Lenn"], &[], &["Lenn"]);
    malformed.conclusion.as_mut().unwrap().malformed = true;
    is("squad-f1", &[&malformed], 0.0);
}

#[test]
fn yes_and_no() {
    for (gold, given, right) in [
        ("yes", "Yes.", 1.0),
        ("yes", "yes, since 1884", 1.0),
        ("yes", "True", 1.0),
        ("no", "No, it does not", 1.0),
        ("no", "Nobody knows", 0.0),
        ("no", "yes", 0.0),
        // Both words: no answer.
        ("no", "no or yes", 0.0),
        ("yes", "It is so", 0.0),
    ] {
        is("yes-no-em", &[&answered("x", &[gold], &[], &[given])], right);
    }
    assert_eq!(of("yes-no-em", &answered("x", &["Lenn"], &[], &["yes"])), None);
    let yes = [("yes", "yes"), ("yes", "no"), ("yes", "yes"), ("no", "yes")]
        .map(|(gold, given)| answered("x", &[gold], &[], &[given]));
    let all: Vec<_> = yes.iter().collect();
    is("yes-no-em", &all, 0.5);
    is("accuracy-yes", &all, 2.0 / 3.0);
    is("accuracy-no", &all, 0.0);
    assert_eq!(of("accuracy-no", &yes[0]), None);
}

#[test]
fn multiple_choice() {
    for (given, right) in [
        ("Ost", 1.0),
        ("a", 1.0),
        ("(A)", 1.0),
        ("A. the Ost", 1.0),
        // The letter of another option before the text: the text counts.
        ("B. Ost", 1.0),
        ("It crosses the Ost.", 1.0),
        ("Ost or Lenn", 0.0),
        ("B", 0.0),
        ("D", 0.0),
        ("Ostend", 0.0),
    ] {
        let mut record = answered("x", &["Ost"], &[], &[given]);
        record.question.options = ["Ost", "Lenn", "Harrow Water"].map(str::to_owned).to_vec();
        is("choice-accuracy", &[&record], right);
    }
    assert_eq!(of("choice-accuracy", &answered("x", &["Ost"], &[], &["Ost"])), None);
}

/// RA-RAG's table 1: an answer is right, planted by a document, none, or none of these.
#[test]
fn answers_of_one_source_are_right_planted_or_hallucinated() {
    for (given, planted, hallucinated) in
        [(&["Lenn"][..], 0.0, 0.0), (&["the Harrow"][..], 1.0, 0.0), (&["Orrin"][..], 0.0, 1.0), (&[][..], 0.0, 0.0)]
    {
        let mut record = answered("x", &[], &[], given);
        record.question.gold = Some(Gold::any_of(["Lenn".to_owned()]));
        record.question.documents[0].label = Some(Label { kind: "misinfo".into(), answer: "Harrow".into() });
        is("answer-planted", &[&record], planted);
        is("answer-hallucinated", &[&record], hallucinated);
        record.question.documents[0].label = Some(Label { kind: "correct".into(), answer: "Lenn".into() });
        assert!(of("answer-planted", &record).is_none(), "no document is labelled misinfo");
        is("answer-hallucinated", &[&record], if given.is_empty() || given == ["Lenn"] { 0.0 } else { 1.0 });
    }
}

/// RA-RAG's table 9: the concluded answer is right if its class has the right one.
#[test]
fn an_answer_is_right_by_its_class() {
    let mut record = answered("x", &[], &[], &["in the second season"]);
    record.question.gold = Some(Gold::any_of(["Season two".to_owned()]));
    let call = |number: usize, document: usize, answer: &str| CallRecord {
        number,
        document: Some(document),
        parsed: Parsed::Answer { answer: Some(answer.into()), explanation: String::new() },
        ..record.calls[0].clone()
    };
    let calls = vec![call(0, 0, "in the second season"), call(1, 1, "season two"), call(2, 2, "season six")];
    record.calls = calls;
    let of = |record: &mut QuestionRecord, supporters: &[usize], calls: &[usize]| {
        let conclusion = record.conclusion.as_mut().unwrap();
        (conclusion.answers[0].supporters, conclusion.calls) = (supporters.to_vec(), calls.to_vec());
        is("squad-em", &[&*record], 0.0);
        over("class-em", &[&*record]).unwrap()
    };
    assert_eq!(of(&mut record, &[0, 1], &[0, 1, 2]), 1.0);
    assert_eq!(of(&mut record, &[0], &[0, 1, 2]), 0.0, "of another class");
    assert_eq!(of(&mut record, &[0, 1], &[0, 2]), 0.0, "not counted by the vote");
    record.conclusion.as_mut().unwrap().malformed = true;
    is("class-em", &[&record], 0.0);
    is("class-em", &[&answered("x", &["Lenn"], &[], &["Lenn"])], 1.0);
}

/// Multi-LLM verification's table 6.
#[test]
fn replies_that_give_the_majority_answer_are_counted() {
    let mut record = answered("x", &[], &[], &["Lenn"]);
    let answer =
        |answer: Option<&str>| Parsed::Answer { answer: answer.map(str::to_owned), explanation: String::new() };
    let call = record.calls[0].clone();
    let replies =
        [answer(Some("lenn.")), answer(Some("Harrow")), answer(Some("Lenn")), answer(None), Parsed::Malformed];
    record.calls = replies.into_iter().map(|parsed| CallRecord { parsed, ..call.clone() }).collect();
    record.conclusion.as_mut().unwrap().calls = vec![0, 1, 2, 3, 4];
    is("majority-count", &[&record], 2.0);
    record.conclusion.as_mut().unwrap().calls = vec![0];
    assert!(of("majority-count", &record).is_none(), "one reply is no majority");
}
