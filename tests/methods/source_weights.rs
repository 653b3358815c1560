//! Weights of sources in every method: in conclusions, and in the votes of documents.

use super::cases::{question, rows, shelf, texts};
use super::scripted::{Model, Takes};
use super::{four, held};
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::Typed;
use moot::question::{Answer, Question};
use moot::sources::{SourceEstimate, SourceWeights, VERSION};

fn weights(sources: &[(&str, f64)]) -> SourceWeights {
    let estimate = |weight| SourceEstimate { weight: Some(weight), ..SourceEstimate::default() };
    let sources = sources.iter().map(|&(name, weight)| (name.to_owned(), estimate(weight))).collect();
    SourceWeights { moot_sources: VERSION, sources, ..SourceWeights::default() }
}

/// The documents come from the sources a, b, c, d in turn.
fn sourced(mut question: Question) -> Question {
    for (document, source) in question.documents.iter_mut().zip(["a", "b", "c", "d"].iter().cycle()) {
        document.source = Some((*source).to_owned());
    }
    question
}

#[test]
fn every_conclusion_has_the_weight_of_each_documents_source() {
    let known = weights(&[("a", 2.0), ("b", -0.5)]);
    for row in rows() {
        let llm = Model::good(Takes::First);
        let found = shelf(&texts(3));
        let tools = Tools { weights: Some(&known), retriever: Some(&found), ..Tools::new(&llm) };
        let built = row.build(&Typed::new()).unwrap();
        let record = built.answer(&sourced(question(&texts(3))), tools, &Settings::default(), &Silent).unwrap();
        let conclusion = record.conclusion.unwrap();
        // A source that is not in the file, and a passage without one, have the mean of the known weights.
        let own: &[f64] = if record.question.documents.is_empty() { &[] } else { &[2.0, -0.5, 0.75] };
        let all: Vec<f64> = own.iter().copied().chain(record.retrieved.iter().map(|_| 0.75)).collect();
        assert_eq!(conclusion.weights, all, "{}", row.name);
    }
}

#[test]
fn without_an_aggregator_a_debate_concludes_by_weighted_votes() {
    let llm = || {
        Scripted::new(|call| {
            let year = ["1931", "1968", "1913"].into_iter().find(|year| super::prompt(call).contains(year));
            format!("Answer: {}. Explanation: So it says.", year.unwrap_or("unknown"))
        })
    };
    let concluded = |known: Option<&SourceWeights>| -> (Vec<String>, Vec<String>) {
        let tools = |llm| Tools { weights: known, ..Tools::new(llm) };
        let switches = [("aggregator", "false"), ("rounds", "1")];
        let conclusion = held("madam-rag", &switches, &sourced(four()), tools(&llm())).conclusion.unwrap();
        let texts = |answers: Vec<Answer>| answers.into_iter().map(|answer| answer.text).collect();
        (texts(conclusion.answers), texts(conclusion.rejected))
    };
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    assert_eq!(concluded(None), (owned(&["1931", "1968", "1913"]), vec![]));
    let known = weights(&[("a", 0.5), ("b", 2.0), ("c", -0.25)]);
    assert_eq!(concluded(Some(&known)), (owned(&["1968", "1931"]), owned(&["1913"])));
}

/// Weights are as large as the number of sources: with a vote of 1 an unknown source would be trusted least of ten.
#[test]
fn an_unknown_source_votes_with_the_mean_of_the_known() {
    let known = weights(&[("a", 9.0), ("b", 7.0), ("c", 8.0)]);
    assert_eq!((known.vote(Some("d")), known.vote(None), known.vote(Some("b"))), (8.0, 8.0, 7.0));
    assert_eq!(weights(&[]).vote(Some("d")), 1.0);
}
