//! `f_align` and replies that count as unknown.

use super::{held, stand, stands, years};
use crate::methods::prompt;
use moot::answers::align::{Compared, precision as rouge_1_precision};
use moot::llm::scripted::Scripted;
use moot::transcript::Event;

#[test]
fn an_answer_that_its_source_does_not_hold_counts_as_unknown() {
    let question = years(&[("a", "Soup at noon."), ("b", "Opened in 1932."), ("c", "In 1932.")]);
    let weights = [("a", 9.0), ("b", 2.0), ("c", 1.0)];
    // The reader of the heaviest source answers from memory.
    let llm = || {
        Scripted::new(|call| match prompt(call).contains("Soup") {
            true => "opened at noon".into(),
            false => "1932".into(),
        })
    };
    let kappa = |switches: &[(&str, &str)]| held(&[&[("kappa", "1")], switches].concat(), &question, &weights, &llm());
    let aligned = kappa(&[]);
    assert_eq!(aligned.stages, [(0, 0), (1, 1)]);
    assert_eq!(stands(&aligned.conclusion.answers), [stand("1932", &[1], &[])]);
    assert!(aligned.conclusion.rejected.is_empty());
    // Two of its three words are in the document.
    for switches in [[("align", "false")], [("align-threshold", "0.66")]] {
        let kept = kappa(&switches);
        assert_eq!(kept.stages, [(0, 0)]);
        assert_eq!(stands(&kept.conclusion.answers), [stand("opened at noon", &[0], &[])]);
    }
    assert_eq!(kappa(&[("align-threshold", "0.67")]).stages.len(), 2);
}

#[test]
fn a_dropped_answer_is_an_event_and_no_fallback() {
    let question = years(&[("a", "Soup at noon."), ("b", "Opened in 1932.")]);
    let held = held(&[("kappa", "1")], &question, &[], &Scripted::list(["soup at seven", "1932"]));
    let [Event::Fallback { what, dropped: Some(0), .. }] = &held.record.events[..] else {
        panic!("{:?}", held.record.events)
    };
    assert_eq!(what, "answer \"soup at seven\" of d0 dropped: ROUGE-1 precision 0.67 is below 0.9");
    assert_eq!(held.conclusion.answers[0].text, "1932");
    let line = serde_json::to_string(&held.record.events).unwrap();
    assert!(line.contains("\"event\":\"fallback\"") && line.contains("\"dropped\":0"), "{line}");
}

#[test]
fn several_phrases_mean_unknown_and_are_not_malformed() {
    let question = years(&[("a", "I don't know."), ("b", "I do not know"), ("c", "unknown")]);
    let replies = ["I don\u{2019}t know.", "I do not know", "**Unknown**."];
    let held = held(&[("kappa", "1")], &question, &[], &Scripted::list(replies));
    assert_eq!(held.stages, [(0, 0), (1, 1), (2, 2)]);
    assert!(held.conclusion.answers.is_empty() && held.conclusion.rejected.is_empty() && !held.conclusion.malformed);
}

#[test]
fn rouge_1_precision_is_the_share_of_the_answers_words_that_the_texts_hold() {
    for (answer, texts, precision) in [
        ("African Americans", &["it helped African-Americans vote"][..], 1.0),
        ("In the chloroplasts", &["occurs in the", "Chloroplasts of cells."][..], 1.0),
        ("Andrew Garfield", &["Garfield the cat"][..], 0.5),
        // An occurrence is matched once.
        ("New York, New York", &["New York is large"][..], 0.5),
        ("1956", &["19560"][..], 0.0),
        ("東京", &["東京は首都"][..], 1.0),
        ("?!", &["?!"][..], 0.0),
        ("1931", &[][..], 0.0),
    ] {
        let found = rouge_1_precision(answer, texts.iter().copied());
        assert!((found - precision).abs() < 1e-12, "{answer}: {found}");
    }
}

#[test]
fn values_of_numbers_and_dates_are_held() {
    for (answer, text, words, values) in [
        ("3", "It has three arches.", 0.0, 1.0),
        ("two hundred", "It is 200 m long.", 0.0, 1.0),
        ("1000 m", "It is 1,000 m long.", 0.5, 1.0),
        ("1952-06-14", "It opened on June 14th, 1952.", 1.0 / 3.0, 1.0),
        ("14.6.1952", "It opened in June 1952.", 1.0 / 3.0, 1.0 / 3.0),
        ("1953", "It opened on June 14th, 1952.", 0.0, 0.0),
        ("4", "It has three arches.", 0.0, 0.0),
    ] {
        let of = |compared: Compared| compared.precision(answer, [text]);
        assert!((of(Compared::Words) - words).abs() < 1e-12, "{answer}: {}", of(Compared::Words));
        let found = of(Compared::Values);
        assert!((found - values).abs() < 1e-12 || (values < 1.0 && found < 0.9), "{answer}: {found}");
    }
}
