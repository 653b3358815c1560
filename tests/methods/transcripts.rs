//! Whole transcripts, with the exact prompts, of the methods whose own tests look at parts of them.

use super::record_text::is_golden;
use super::scripted::{Model, Takes};
use super::{four, held, prompt};
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::Tools;
use moot::question::Question;

/// Two documents with a source and a date, one of which replaces the other, and one without.
fn dated() -> Question {
    let mut question = four();
    for (document, (source, date)) in question.documents.iter_mut().zip([("register", "1950"), ("erratum", "1969")]) {
        (document.source, document.date) = (Some(source.into()), Some(date.into()));
    }
    question
}

/// Agents say the year of their document, the aggregator keeps one.
fn years(call: &Call) -> String {
    let asked = prompt(call);
    if call.role == "aggregator" {
        return r#"All Correct Answers: ["1968"]. Explanation: Agent 2 read the correction."#.into();
    }
    let own = asked.rsplit_once("Document: ").map_or("", |(_, own)| own);
    let own = own.lines().next().unwrap_or_default();
    match ["1931", "1968", "1913"].into_iter().find(|year| own.contains(&format!("born in {year}"))) {
        Some(year) => format!("Answer: {year}. Explanation: The document says that she was born in {year}."),
        None => "Answer: unknown. Explanation: The document is about soup.".into(),
    }
}

#[test]
fn madam_rag_as_in_its_paper() {
    let record = held("madam-rag", &[("rounds", "2")], &dated(), Tools::new(&Scripted::new(years)));
    is_golden("madam_rag.paper", &record);
}

#[test]
fn majority_vote() {
    is_golden("majority_vote", &held("majority-vote", &[], &dated(), Tools::new(&Scripted::new(years))));
}

#[test]
fn readers_of_nothing_and_of_everything() {
    for (name, method) in [("closed_book", "closed-book"), ("concatenated", "concatenated")] {
        is_golden(name, &held(method, &[], &four(), Tools::new(&Model::good(Takes::First))));
    }
}

#[test]
fn self_rag_in_words_and_speculative_rag() {
    let tools = Model::good(Takes::First);
    is_golden("self_rag.prompted", &held("self-rag", &[("prompted", "true")], &four(), Tools::new(&tools)));
    let tools = Model::good(Takes::First);
    is_golden("speculative_rag", &held("speculative-rag", &[], &four(), Tools::new(&tools)));
}
