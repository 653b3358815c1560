//! Scored labels: probabilities from the labeller's scores, quotes with the label given, weights of a file.

use super::{BRIDGE, claims, hold, prompt, question, typed};
use moot::assess::{Assessment, Neither, html, markdown, score};
use moot::llm::scripted::Scripted;
use moot::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply};
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::labelling::weights::{LabelWeights, LogOdds, Quantities};
use moot::question::{Claim, ClaimRelation, LabelFault, Question};
use serde_json::json;

fn asked() -> Question {
    let claim = Claim { text: "The bridge at Orm opened in 1931.".into(), ..Claim::default() };
    Question { claims: vec![claim], ..question("", &BRIDGE) }
}

/// Weights that take each label's score as its log-odds.
fn plain() -> serde_json::Value {
    let odds = |supports: f64, contradicts: f64| json!({ "intercept": 0.0, "supports": supports, "contradicts": contradicts, "overlap": 0.0 });
    json!({
        "moot_label_weights": 1, "model": "", "sha256": "", "prompt": "", "pairs": 0,
        "supports": odds(1.0, 0.0), "contradicts": odds(0.0, 1.0),
    })
}

/// One word where the label is asked for, else a quote of the document.
fn scored(call: &Call) -> String {
    let prompt = prompt(call);
    let document = prompt.split("Document:").nth(1).unwrap();
    let (word, quote) = match (document.contains("planned"), document.contains("1947")) {
        (true, _) => ("SUPPORTS", "It opened in 1931."),
        (_, true) => ("CONTRADICTS", "Orm's bridge opened in 1947, after the war."),
        _ => ("IRRELEVANT", "Soup is served at noon."),
    };
    if prompt.contains("Reply SUPPORTS, CONTRADICTS or IRRELEVANT.") {
        return word.into();
    }
    format!("Label: {word}\nQuote: \"{quote}\"\nReason: So it says.")
}

fn switches(weights: &str) -> [(&'static str, &str); 2] {
    [("labels", "scored"), ("label-weights", weights)]
}

#[test]
fn the_most_probable_label_counts_and_its_quote_is_requested() {
    let llm = Scripted::new(scored).with_scores(|_, _| 0.0);
    let weights = plain().to_string();
    let record = hold(&asked(), &switches(&weights), Tools::new(&llm), &Settings::default());
    let labels = &claims(&record)[0].labels;
    use ClaimRelation::{Contradicts, Irrelevant, Supports};
    let found: Vec<_> = labels.iter().map(|label| (label.relation, label.fault)).collect();
    assert_eq!(found, [(Supports, None), (Contradicts, None), (Irrelevant, None)]);
    // The chosen word has a log-probability of 0, the others of -1: e / (e + 2).
    let share = 1.0 / (1.0 + 2.0 * (-1.0_f32).exp());
    assert!(labels.iter().all(|label| (label.probability.unwrap() - share).abs() < 1e-6), "{labels:?}");
    assert_eq!(labels[1].quote.as_ref().unwrap().text, "Orm's bridge opened in 1947, after the war.");
    assert_eq!(labels[0].reason, "So it says.");
    // Three scores, then the quotes of two; both are calls of their label.
    assert_eq!(record.calls.len(), 5);
    assert_eq!((labels[0].calls.as_slice(), labels[1].calls.as_slice()), (&[0, 3][..], &[1, 4][..]));
    assert_eq!((labels[2].calls.as_slice(), &labels[2].quote), (&[2][..], &None));
    assert_eq!(
        (record.calls[4].format_values["decided"].as_str(), record.calls[4].document),
        (Some("CONTRADICTS"), Some(1))
    );
    // Up to its last paragraph the prompt of a quote is that of its score.
    let shared = |number: usize| record.calls[number].messages[0].content.rsplit_once('\n').unwrap().0.to_owned();
    assert!(record.calls[4].messages[0].content.starts_with(&shared(1)));
    assert!(claims(&record)[0].conflicts());
}

#[test]
fn a_reply_of_another_label_has_no_quote_for_this_one() {
    let llm = Scripted::new(|call| match scored(call) {
        said if said.starts_with("Label: CONTRADICTS") => said.replace("CONTRADICTS", "SUPPORTS"),
        said => said,
    });
    let llm = llm.with_scores(|_, _| 0.0);
    let record = hold(&asked(), &switches(&plain().to_string()), Tools::new(&llm), &Settings::default());
    let label = &claims(&record)[0].labels[1];
    assert_eq!((label.relation, label.fault), (ClaimRelation::Contradicts, Some(LabelFault::Unquoted)));
}

#[test]
fn without_quotes_a_label_is_one_call_and_counts() {
    let llm = Scripted::new(scored).with_scores(|_, _| 0.0);
    let weights = plain().to_string();
    let typed = [&switches(&weights)[..], &[("quotes", "none")]].concat();
    let record = hold(&asked(), &typed, Tools::new(&llm), &Settings::default());
    assert_eq!(record.calls.len(), 3);
    let scores = score::scores(claims(&record), Neither::LeftOut);
    assert_eq!((scores.conflicting, scores.unquoted), (1, 0));
    let shown = Assessment::of(&record, Neither::LeftOut).unwrap();
    assert_eq!((shown.claims[0].supporters.len(), shown.claims[0].contradictors.len()), (1, 1));
    for page in [html::page(&shown), markdown::page(&shown)] {
        assert!(page.contains("without a quote of the document") && page.contains("probability 0.58"), "{page}");
    }
}

#[test]
fn a_malformed_score_is_a_malformed_label() {
    let llm = Scripted::new(|_| "Perhaps.".into()).with_scores(|_, _| 0.0);
    let record = hold(&asked(), &[("labels", "scored")], Tools::new(&llm), &Settings::default());
    assert!(claims(&record)[0].labels.iter().all(|label| label.fault == Some(LabelFault::Malformed)));
    assert_eq!(record.calls.len(), 3, "no quote of a malformed label");
}

#[test]
fn weights_decide_beside_the_scores() {
    let odds = |intercept, supports, contradicts, overlap| LogOdds { intercept, supports, contradicts, overlap };
    let weights: LabelWeights = serde_json::from_value(plain()).unwrap();
    let weights =
        LabelWeights { supports: odds(1.0, 0.5, 0.0, 2.0), contradicts: odds(-1.0, 0.0, 0.0, 0.0), ..weights };
    let pair = Quantities { supports: -2.0, contradicts: 3.0, overlap: 0.5 };
    // Log-odds of 1 - 1 + 1 = 1, of -1, and 0.
    let powers = [1.0_f64.exp(), (-1.0_f64).exp(), 1.0];
    let sum: f64 = powers.iter().sum();
    let found = weights.probabilities(&pair);
    assert!(found.iter().zip(powers).all(|(found, power)| (found - power / sum).abs() < 1e-9), "{found:?}");
}

#[test]
fn weights_of_another_model_prompt_or_form_are_refused() {
    let llm = Scripted::new(scored).with_scores(|_, _| 0.0);
    let failed = |weights: &serde_json::Value, llm: &Scripted| {
        let text = weights.to_string();
        let built = match methods::build("conflict-score", &typed(&switches(&text))) {
            Ok(built) => built,
            Err(error) => return error.to_string(),
        };
        built.answer(&asked(), Tools::new(llm), &Settings::default(), &Silent).unwrap_err().to_string()
    };
    let with = |name: &str, value: serde_json::Value| {
        let mut weights = plain();
        weights[name] = value;
        weights
    };
    for (weights, part) in [
        (with("model", json!("other-7b")), "fitted to the model other-7b, found scripted"),
        (with("prompt", json!("0123456789abcdef")), "fitted to the prompt 01234567, found "),
        (with("prompt", json!("\u{65e5}\u{672c}\u{8a9e}")), "fitted to the prompt \u{65e5}\u{672c}\u{8a9e}, found "),
        (with("moot_label_weights", json!(2)), "found version 2"),
        (with("supports", json!({ "intercept": 0.0 })), "found missing field"),
        (with("more", json!(1)), "unknown field `more`"),
    ] {
        let error = failed(&weights, &llm);
        assert!(error.contains(part) && error.lines().count() == 1, "{error}");
    }
    let mute = Scripted::new(scored).with_capabilities(Capabilities { logprobs: false, ..Capabilities::ALL });
    assert!(failed(&plain(), &mute).contains("expected a model that gives log-probabilities"));
}

/// A scripted model under the hash of another.
struct Named(Scripted, ModelIdentity);

impl Llm for Named {
    fn identity(&self) -> &ModelIdentity {
        &self.1
    }

    fn capabilities(&self, role: &str) -> Capabilities {
        self.0.capabilities(role)
    }

    fn is_deterministic(&self, role: &str) -> bool {
        self.0.is_deterministic(role)
    }

    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<moot::Result<Reply>> {
        self.0.answer(calls, on_failure, on_reply)
    }
}

/// The model of the program's weights is scored without being asked to, unless switches of replies are set.
#[test]
fn the_programs_weights_are_of_the_default_model_and_of_todays_prompt() {
    let weights = LabelWeights::program();
    let row = moot::protocol::Row::named("conflict-score").unwrap();
    let file = row.files().find(|file| file.name == "conflict_score/scored.jinja").unwrap();
    assert_eq!(weights.prompt, file.sha256(), "fit the weights again: benches/results/claims.md has the commands");
    assert!(!weights.model.is_empty() && weights.pairs > 0);
    let identity = ModelIdentity { name: "any name".into(), sha256: weights.sha256, ..ModelIdentity::default() };
    let llm = |sha256: &str| {
        let script =
            |call: &Call| if prompt(call).contains("Reply SUPPORTS") { scored(call) } else { super::labeller(call) };
        let identity = ModelIdentity { sha256: sha256.to_owned(), context: 4096, ..identity.clone() };
        Named(Scripted::new(script).with_scores(|_, _| 0.0), identity)
    };
    let is_scored = |llm: &Named, typed: &[(&str, &str)]| {
        let record = hold(&asked(), typed, Tools::new(llm), &Settings::default());
        claims(&record)[0].labels.iter().all(|label| label.probability.is_some())
    };
    let fitted = llm(&identity.sha256);
    assert!(is_scored(&fitted, &[]) && is_scored(&fitted, &[("quotes", "words")]));
    for typed in [("labels", "labeller"), ("order", "quote-first"), ("together", "true"), ("quotes", "any")] {
        assert!(!is_scored(&fitted, &[typed]), "{typed:?}");
    }
    assert!(!is_scored(&llm("00ff"), &[]) && !is_scored(&llm(""), &[]));
    assert!(is_scored(&llm("00ff"), &[("labels", "scored")]));
}
