//! Probabilities of labels: scored beginnings of a reply, and labels that are not sure enough.

use super::{BRIDGE, claims, hold, labeller, question};
use moot::assess::{Neither, score};
use moot::generation::Segment;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Tools};
use moot::question::{Claim, ClaimRelation, LabelFault, Question};

fn asked() -> Question {
    let claim = Claim { text: "The bridge at Orm opened in 1931.".into(), ..Claim::default() };
    Question { claims: vec![claim], ..question("", &BRIDGE) }
}

/// Each word of a scored beginning has a log-probability of its own; "Label:" is common to all three.
fn score_of(word: &str) -> f32 {
    match word {
        "SUPPORTS" => 0.5_f32.ln(),
        "CONTRADICTS" => 0.3_f32.ln(),
        "IRRELEVANT" => 0.1_f32.ln(),
        _ => -2.0,
    }
}

#[test]
fn labels_below_the_probability_do_not_count() {
    let llm = Scripted::new(labeller).with_scores(|_, word| score_of(word));
    let record = hold(&asked(), &[("sure", "0.4")], Tools::new(&llm), &Settings::default());
    let labels = &claims(&record)[0].labels;
    let near = |probability: Option<f32>, want: f32| (probability.unwrap() - want).abs() < 1e-5;
    assert!(near(labels[0].probability, 5.0 / 9.0), "{:?}", labels[0]);
    assert!(near(labels[1].probability, 3.0 / 9.0) && near(labels[2].probability, 1.0 / 9.0));
    use ClaimRelation::{Contradicts, Irrelevant, Supports};
    let found: Vec<_> = labels.iter().map(|label| (label.relation, label.fault)).collect();
    assert_eq!(found, [(Supports, None), (Contradicts, Some(LabelFault::Unsure)), (Irrelevant, None)]);
    assert!(labels[1].quote.is_some(), "what was quoted is still shown");
    let scores = score::scores(claims(&record), Neither::LeftOut);
    assert_eq!((scores.unsure, scores.conflicting, scores.cs_r), (1, 0, Some(0.0)));
    // Three labels, then three scored words for each, after the very prompt of the label.
    let scored: Vec<_> = record.calls.iter().filter(|call| call.score).collect();
    assert_eq!((record.calls.len(), scored.len()), (12, 9));
    for (call, first) in scored.iter().zip([0, 0, 0, 1, 1, 1, 2, 2, 2].map(|index| &record.calls[index])) {
        let label_first = first.messages[0].content.clone();
        assert_eq!((&call.messages[0].content, call.document), (&label_first, first.document));
    }
    let words: Vec<&str> = scored[..3]
        .iter()
        .map(|call| match call.prefill.as_slice() {
            [Segment::Content(text)] => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(words, ["Label: SUPPORTS", "Label: CONTRADICTS", "Label: IRRELEVANT"]);
    assert_eq!(labels[1].calls, [1], "the concluding call is the one that labelled");
    // Without the switch nothing is scored.
    let record = hold(&asked(), &[], Tools::new(&llm), &Settings::default());
    assert!(record.calls.len() == 3 && claims(&record)[0].labels.iter().all(|label| label.probability.is_none()));
    assert!(claims(&record)[0].conflicts());
}

#[test]
fn reasons_can_be_left_out_if_the_label_comes_first() {
    let values = |reasons: bool| {
        serde_json::json!({
            "pieces": ["It opened."], "least": 5, "words": false, "label_first": true, "reasons": reasons,
        })
    };
    let accepts = |reasons: bool, reply: &str| {
        crate::protocol::formats::accepts(&moot::protocol::claims::CLAIM_LABEL, &values(reasons), reply)
    };
    let short = "Label: SUPPORTS\nQuote: \"It opened.\"";
    assert!(accepts(false, short) && !accepts(true, short));
    let long = format!("{short}\nReason: So it says.");
    assert!(accepts(true, &long) && !accepts(false, &long));
    let llm = Scripted::new(labeller);
    let record = hold(&asked(), &[("reasons", "false")], Tools::new(&llm), &Settings::default());
    assert!(record.calls.iter().all(|call| call.format_values["reasons"] == false));
    let both = super::typed(&[("order", "quote-first"), ("reasons", "false")]);
    let error = methods::build("conflict-score", &both).err().unwrap().to_string();
    assert!(error.contains("expected order label-first"), "{error}");
}

/// A reply that was cut inside of its quote is no label. It is scored too, so that in a replay the calls of
/// the other labels keep their seeds.
#[test]
fn a_cut_reply_is_scored_to_no_effect() {
    let llm = Scripted::new(|call| match super::prompt(call).contains("after the war") {
        true => format!("Label: CONTRADICTS\nQuote: \"{}", "Orm's bridge ".repeat(200)),
        false => labeller(call),
    });
    let llm = llm.with_scores(|_, word| score_of(word));
    let record = hold(&asked(), &[("sure", "0.4")], Tools::new(&llm), &Settings::default());
    let labels = &claims(&record)[0].labels;
    assert_eq!((labels[1].fault, labels[1].probability), (Some(LabelFault::Malformed), None));
    assert!(labels[0].counts() && labels[2].probability.is_some());
    assert_eq!(record.calls.iter().filter(|call| call.score).count(), 9);
    assert_eq!(record.calls[1].finish, moot::generation::Finish::Length);
}
