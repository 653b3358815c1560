//! Critiques in words, for models without the tokens.

use super::*;

#[test]
fn prompted_asks_in_words_and_records_it() {
    let prompted = typed(&[("prompted", "true")]);
    let (conclusion, calls) = answer("self-rag", &prompted, &four(), &Scripted::new(in_words));
    assert_eq!(calls.len(), 2 + 4 + 12 + 1);
    assert!(calls[..2].iter().all(|call| call.score && call.messages == calls[0].messages));
    let judged = &calls[6..9];
    assert!(judged.iter().all(|call| call.document == Some(0) && call.round == 2));
    let support = &judged[1].messages[0].content;
    assert!(support.contains("Document: She was born in 1931.") && support.contains("Response: Answer: 1931."));
    let told = &calls[18].messages[0].content;
    assert!(
        told.contains("Response 1 (relevance 1.00, support 0.50, utility 0.50, score 1.75): Answer: 1931."),
        "{told}"
    );
    assert!(
        told.contains("Response 2 (relevance 0.00, support 0.00, utility 0.50, score 0.25): Answer: unk"),
        "{told}"
    );
    assert_eq!(conclusion.unwrap().answers[0].supporters, [0]);

    let label = |switches: &Typed| methods::build("self-rag", switches).unwrap().values.label();
    assert_eq!((label(&prompted), label(&Typed::new())), (Some("self-rag (prompted)"), None));
    let original = typed(&[("prompted", "true"), ("selection", "original"), ("sequence-score", "true")]);
    let (conclusion, calls) = answer("self-rag", &original, &four(), &Scripted::new(in_words));
    assert_eq!((calls.len(), conclusion.unwrap().answers[0].text.as_str()), (18, "1931"));
}

#[test]
fn prompted_answers_from_memory_without_a_need_to_retrieve() {
    let prompted = typed(&[("prompted", "true")]);
    // P("yes") is 0.0074 where "no" is likelier by 4.9, and 0.27 where it is by 1: the threshold is 0.2.
    let scored = |no: f32| Scripted::new(in_words).with_scores(move |_, text| if text == "no" { no } else { -5.0 });
    let (conclusion, calls) = answer("self-rag", &prompted, &four(), &scored(-0.1));
    assert!(calls.len() == 3 && !calls[2].messages[0].content.contains("Document:"));
    assert!(conclusion.unwrap().answers.is_empty(), "unknown");
    assert_eq!(answer("self-rag", &prompted, &four(), &scored(-4.0)).1.len(), 19);
    // A model that cannot score text decides by its reply.
    let says = |call: &Call| if prompt(call).contains("looked up") { "no".into() } else { in_words(call) };
    let llm = Scripted::new(says).with_capabilities(Capabilities { scores: false, ..Capabilities::ALL });
    let (record, _) = record(&prompted, &four(), Tools::new(&llm));
    assert_eq!(record.calls.len(), 2);
    assert_eq!(record.calls[0].format_values["options"], serde_json::json!(["yes", "no"]));
    assert!(matches!(&record.events[..], [Event::Fallback { what, .. }] if what.contains("cannot score text")));
}
