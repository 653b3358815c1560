//! Replies of any text, of which regular expressions of the user's find the answers.

use crate::answers::unknown::is_unknown;
use crate::generation::Finish;
use crate::transcript::Parsed;
use regex::{Captures, Regex, RegexBuilder};
use serde_json::Value;

/// Most bytes of a compiled expression.
const COMPILED: usize = 1 << 20;

/// The compiled expression, or the reason that it is invalid.
pub(crate) fn compiled(expression: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(expression).size_limit(COMPILED).build();
    // The crate draws the expression over several lines; the last one has the reason.
    built.map_err(|error| error.to_string().lines().last().unwrap_or_default().trim().to_owned())
}

/// The match of an expression: its first group, or the whole match if it has no group.
fn found<'a>(captures: &Captures<'a>) -> &'a str {
    captures.get(1).or_else(|| captures.get(0)).map_or("", |found| found.as_str()).trim()
}

/// Reads a reply by the expressions in `values`. Of one answer the last match counts, since reasons come first. A match at
/// the end of a reply that was cut may be cut itself.
pub(crate) fn parse_free(reply: &str, finish: Finish, values: &Value) -> Option<Parsed> {
    let expression = |name: &str| values.get(name).and_then(Value::as_str).map(compiled);
    let answer = expression("answer")?.ok()?;
    let explanation = match expression("explanation") {
        Some(expression) => {
            expression.ok()?.captures(reply).map(|found_in| found(&found_in).to_owned()).unwrap_or_default()
        }
        None => reply.trim().to_owned(),
    };
    let several = values.get("list").and_then(Value::as_bool).unwrap_or(false);
    let none = || match several {
        true => Parsed::Answers { answers: Vec::new(), explanation: explanation.clone() },
        false => Parsed::Answer { answer: None, explanation: explanation.clone() },
    };
    if expression("unknown").is_some_and(|unknown| unknown.is_ok_and(|unknown| unknown.is_match(reply))) {
        return Some(none());
    }
    let whole = |captures: &Captures<'_>| {
        finish != Finish::Length || captures.get(0).is_some_and(|found| found.end() < reply.trim_end().len())
    };
    let matches: Vec<Captures<'_>> = answer.captures_iter(reply).collect();
    if matches.is_empty() || !matches.iter().all(whole) {
        return None;
    }
    let mut answers: Vec<String> = matches.iter().map(|one| found(one).to_owned()).collect();
    answers.retain(|answer| !answer.is_empty() && !is_unknown(answer));
    Some(match (several, answers.pop()) {
        (_, None) => none(),
        (false, last) => Parsed::Answer { answer: last, explanation },
        (true, Some(last)) => Parsed::Answers { answers: answers.into_iter().chain([last]).collect(), explanation },
    })
}
