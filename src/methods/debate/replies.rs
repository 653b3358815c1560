//! An agent's reply, and how the aggregator and the other agents read it.

use crate::answers::words::Level;
use crate::protocol::passages::provenance;
use crate::question::Question;
use crate::transcript::CallRecord;
use std::borrow::Cow;

/// Agents that an answer of `history=answers` names, and characters of its reason: with 30 documents whole lines would be
/// several times as long as a document.
const NAMED: usize = 3;
const REASON: usize = 160;

/// An agent's name, reply and evidence, as the others read them.
#[derive(Clone)]
pub(super) struct Agent {
    /// As [`name`] gives it.
    pub name: String,
    /// Its last reply.
    pub call: CallRecord,
    /// The sentence of its document that the others read instead of its explanation.
    pub quote: Option<String>,
}

impl Agent {
    /// Its name and its reply, malformed or not, as the others read them.
    pub(super) fn spoken(&self) -> String {
        let name = &self.name;
        match self.call.answer().zip(self.quote.as_ref()) {
            Some((answer, quote)) => format!("{name}: Answer: {answer}. Explanation: {quote}"),
            None => format!("{name}: {}", self.line()),
        }
    }

    /// Its reply as recorded; "unknown" if its document does not have the answer.
    pub(super) fn line(&self) -> Cow<'_, str> {
        match (&self.call.not_held, self.call.explanation()) {
            (Some(_), Some(reason)) => format!("Answer: unknown. Explanation: {reason}").into(),
            _ => self.call.reply.trim().into(),
        }
    }
}

/// The name of the agent of document `index`, and with `dated` where the document comes from: `Agent 1 (council, 1884-05-12)`.
pub(super) fn name(question: &Question, index: usize, dated: bool) -> String {
    let known = provenance(&question.documents[index]).filter(|_| dated);
    let known = known.map(|known| format!(" {known}")).unwrap_or_default();
    format!("Agent {}{known}", index + 1)
}

/// The answers of these agents, each once, as the others read them: `1931, say Agent 1 (council, 1931), Agent 4: ` and
/// the reason of the first that has one. A year and a day of that year are two answers here: joined, they would
/// attribute the day to agents that gave the year alone.
pub(super) fn answers<'a>(agents: impl Iterator<Item = &'a Agent>) -> Vec<String> {
    let given: Vec<(&str, &Agent)> = agents.filter_map(|agent| Some((agent.call.answer()?, agent))).collect();
    let line = |answer: String| {
        let with = || given.iter().filter(|(stance, _)| Level::Voted.equal(&answer, stance)).map(|(_, agent)| *agent);
        let mut names: Vec<String> = with().map(|agent| agent.name.clone()).collect();
        let says = if names.len() == 1 { "says" } else { "say" };
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let explained = || with().filter_map(|agent| agent.call.explanation()).find(|text| !text.is_empty());
        let reason = with().find_map(|agent| agent.quote.clone()).or_else(|| Some(begin(explained()?, REASON)));
        let reason = reason.map(|text| format!(": {text}")).unwrap_or_default();
        format!("{answer}, {says} {}{more}{reason}", names.join(", "))
    };
    Level::Voted.without_repeats(given.iter().map(|(stance, _)| (*stance).to_owned())).into_iter().map(line).collect()
}

/// `text`, or its first words in at most `most` characters and an ellipsis.
fn begin(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most).collect();
    format!("{}...", cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words))
}
