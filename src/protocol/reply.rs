//! Parsers of replies, one a format of [`formats`](crate::protocol::formats).
//!
//! A parser reads replies that a grammar constrained and free ones alike: strict about the marker, tolerant of case, white
//! space and Markdown's emphasis. A chatty reply is read from its first marker on; without one it is malformed.

use crate::answers::unknown::is_unknown;
use crate::answers::words::Level;
use crate::generation::Finish;
use crate::protocol::list::{self, one_line};
use crate::retrieval::chunk::sentences::sentences;
use crate::transcript::Parsed;
use serde::Deserialize;
use serde_json::Value;

/// The fields of an object of any of the schemas.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    about: Option<String>,
    answer: Option<String>,
    answers: Option<Vec<String>>,
    choice: Option<String>,
    explanation: Option<String>,
    argument: Option<String>,
    action: Option<String>,
    old: Option<String>,
    new: Option<String>,
    items: Option<Vec<String>>,
}

fn said(object: &str) -> Option<Said> {
    serde_json::from_str(object.trim()).ok()
}

pub(super) fn answer_line(object: &str) -> Option<String> {
    let said = said(object)?;
    Some(format!("Answer: {}. Explanation: {}", one_line(&said.answer?), one_line(&said.explanation?)))
}

pub(super) fn answers_line(object: &str) -> Option<String> {
    let said = said(object)?;
    Some(format!(
        "All Correct Answers: {}. Explanation: {}",
        list::written(&said.answers?),
        one_line(&said.explanation?)
    ))
}

pub(super) fn list_line(object: &str) -> Option<String> {
    Some(format!("Answers: {}", list::written(&said(object)?.answers?)))
}

pub(super) fn items_line(object: &str) -> Option<String> {
    Some(format!("Items: {}", list::written(&said(object)?.items?)))
}

pub(super) fn choice_line(object: &str) -> Option<String> {
    Some(one_line(&said(object)?.choice?))
}

pub(super) fn short_line(object: &str) -> Option<String> {
    Some(one_line(&said(object)?.answer?))
}

pub(super) fn thought_line(object: &str) -> Option<String> {
    let said = said(object)?;
    Some(format!("Thought: {}\nAnswer: {}", one_line(&said.explanation?), one_line(&said.answer?)))
}

pub(super) fn about_line(object: &str) -> Option<String> {
    let said = said(object)?;
    Some(format!("About: {}\nAnswer: {}", one_line(&said.about?), one_line(&said.answer?)))
}

pub(super) fn query_action_line(object: &str) -> Option<String> {
    let said = said(object)?;
    let (argument, new) = (one_line(&said.argument?), one_line(&said.new?));
    let action = match said.action?.as_str() {
        "optimise" => format!("Query Optimization: {} -> {new}", said.old?),
        "expand" => format!("Query Expansion: {new}"),
        _ => return None,
    };
    Some(format!("Argument: {argument}\n{action}"))
}

/// Whether a reply was cut within its line `at` of so many: the line is not whole.
fn is_cut(finish: Finish, at: usize, lines: usize) -> bool {
    finish == Finish::Length && at + 1 == lines
}

pub(super) fn parse_short(reply: &str, finish: Finish) -> Option<Parsed> {
    let reply = reply.trim_start();
    let first = reply.lines().next()?;
    // A line that was begun after the answer shows that the answer is whole.
    if finish == Finish::Length && !reply.contains('\n') {
        return None;
    }
    let answer = undress(after_marker(first, "answer").unwrap_or(first));
    if Level::Voted.words(answer).is_empty() {
        return None;
    }
    let answer = (!is_unknown(answer)).then(|| answer.to_owned());
    Some(Parsed::Answer { answer, explanation: String::new() })
}

pub(super) fn parse_thought(reply: &str, finish: Finish) -> Option<Parsed> {
    parse_after(reply, "thought", finish)
}

pub(super) fn parse_about(reply: &str, finish: Finish) -> Option<Parsed> {
    parse_after(reply, "about", finish)
}

/// An answer after lines that begin with `marker`. The last `Answer:` counts: the lines before it may quote one.
fn parse_after(reply: &str, marker: &str, finish: Finish) -> Option<Parsed> {
    let lines: Vec<&str> = reply.trim_start().lines().collect();
    // At most two stars may precede the marker: a thought may quote the marker within its line.
    let at = lines.iter().rposition(|line| find_marker(line, "answer").is_some_and(|(at, _)| at <= 2))?;
    if is_cut(finish, at, lines.len()) && !reply.ends_with('\n') {
        return None;
    }
    let explanation = lines[..at].join(" ");
    let explanation = after_marker(&explanation, marker).unwrap_or(&explanation).trim().to_owned();
    // `Stop`, because the cut was checked above: `parse_short` would refuse a single line of a reply that was cut.
    match parse_short(lines[at], Finish::Stop)? {
        Parsed::Answer { answer, .. } => Some(Parsed::Answer { answer, explanation }),
        other => Some(other),
    }
}

/// A reply that was cut within its action is malformed: half a query would be searched for.
pub(super) fn parse_query_action(reply: &str, finish: Finish, values: &Value) -> Option<Parsed> {
    let queries: Vec<&str> = values.get("queries")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let argument = after_marker(reply, "argument").unwrap_or(reply);
    let argument = argument.lines().next().unwrap_or_default().trim();
    let lines: Vec<&str> = reply.lines().collect();
    let actions = ["query optimization", "query optimisation", "query expansion"];
    let acts = |line: &str| actions.iter().any(|marker| find_marker(line, marker).is_some());
    let mut acting = lines.iter().enumerate().filter(|(_, line)| acts(line));
    let (at, line) = acting.next()?;
    if acting.next().is_some() || is_cut(finish, at, lines.len()) && !reply.ends_with('\n') {
        return None; // exactly one action, and all of it
    }
    let mut fields = serde_json::Map::new();
    fields.insert("argument".into(), argument.into());
    let change = after_marker(line, "query optimization").or_else(|| after_marker(line, "query optimisation"));
    let new = if let Some(change) = change {
        let (index, new) = optimised(change, &queries)?;
        fields.insert("action".into(), "optimise".into());
        fields.insert("old".into(), index.into());
        new
    } else {
        fields.insert("action".into(), "expand".into());
        after_marker(line, "query expansion")?
    };
    let new = bare_query(new);
    if Level::Voted.words(new).is_empty() {
        return None;
    }
    fields.insert("new".into(), new.into());
    Some(Parsed::Fields(fields))
}

/// Most arrows of a reply that are tried: what precedes each is compared with all queries.
const MAX_ARROWS: usize = 32;

/// The index of the old query, and the new query. A query may contain an arrow, so the first arrow after a known query
/// counts.
fn optimised<'a>(change: &'a str, queries: &[&str]) -> Option<(usize, &'a str)> {
    let arrows = change.match_indices("->").take(MAX_ARROWS).chain(change.match_indices('→').take(MAX_ARROWS));
    arrows.into_iter().find_map(|(at, arrow)| {
        let old = bare_query(&change[..at]);
        let index = queries.iter().position(|query| Level::Voted.equal(query, old))?;
        Some((index, &change[at + arrow.len()..]))
    })
}

/// A query without brackets, quotes and space around it.
fn bare_query(text: &str) -> &str {
    text.trim_matches(|c: char| is_dress(c) || matches!(c, '[' | ']'))
}

/// The options that a call offered, from its format values.
fn options(values: &Value) -> Vec<&str> {
    let options = values.get("options").and_then(Value::as_array);
    options.map(|options| options.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// The option that equals `text` up to white space.
fn chosen_exactly(text: &str, values: &Value) -> Option<usize> {
    let (options, line) = (options(values), one_line(text));
    let position = |same: &dyn Fn(&str) -> bool| options.iter().position(|option| same(option));
    position(&|option| option == text).or_else(|| position(&|option| one_line(option) == line))
}

/// The option that equals `text` up to case and the punctuation around it.
fn chosen(text: &str, values: &Value) -> Option<usize> {
    let (options, bare) = (options(values), undress(text));
    let words = Level::Voted.words(bare);
    let position = |same: &dyn Fn(&str) -> bool| options.iter().position(|option| same(option));
    chosen_exactly(text, values)
        .or_else(|| position(&|option| !bare.is_empty() && undress(option) == bare))
        .or_else(|| position(&|option| !words.is_empty() && Level::Voted.words(option) == words))
}

/// An option may have several lines, or hold the marker itself, so the whole reply is compared first. A reply that was cut may
/// be the beginning of another option.
pub(super) fn parse_choice(reply: &str, finish: Finish, values: &Value) -> Option<Parsed> {
    let option = chosen_exactly(reply, values).or_else(|| {
        let first = reply.trim().lines().next()?;
        chosen(after_marker(first, "choice").unwrap_or(first), values)
    })?;
    let all = options(values);
    let longer = |other: &&str| *other != all[option] && other.starts_with(all[option]);
    if finish == Finish::Length && all.iter().any(longer) {
        return None;
    }
    Some(Parsed::Choice { option, explanation: String::new() })
}

pub(super) fn parse_answer(reply: &str, finish: Finish) -> Option<Parsed> {
    let (answer, explanation) = part_explanation(after_marker(reply, "answer")?, finish)?;
    let answer = undress(answer);
    if Level::Voted.words(answer).is_empty() {
        return None;
    }
    let answer = (!is_unknown(answer)).then(|| answer.to_owned());
    Some(Parsed::Answer { answer, explanation })
}

pub(super) fn parse_answers(reply: &str, marker: &str, finish: Finish) -> Option<Parsed> {
    let after = after_marker(reply, marker);
    if let Some(list) = after.and_then(|after| after.trim_start_matches(is_dress).strip_prefix('[')) {
        let list::Read { items: answers, rest: Some(rest) } = list::read(list)? else { return None };
        // An item without words is not an answer; a list of such items alone is not a list of answers.
        let (said, empty): (Vec<String>, Vec<String>) =
            answers.into_iter().partition(|answer| !Level::Voted.words(answer).is_empty());
        if said.is_empty() && !empty.is_empty() {
            return None;
        }
        let known = said.into_iter().filter(|answer| !is_unknown(answer));
        let explanation = after_marker(rest, "explanation").unwrap_or(rest);
        return Some(Parsed::Answers {
            answers: Level::Voted.without_repeats(known),
            explanation: whole_sentences(explanation.trim_start_matches(['.', ',', ';', '*', '_']), finish),
        });
    }
    // The papers' prompt asks for the bare word where no answer is correct, so it needs no marker.
    let (word, explanation) = part_explanation(after.unwrap_or(reply), finish)?;
    is_unknown(word).then_some(Parsed::Answers { answers: Vec::new(), explanation })
}

/// The text after the first `marker:` in `text`.
fn after_marker<'a>(text: &'a str, marker: &str) -> Option<&'a str> {
    find_marker(text, marker).map(|(_, after)| after)
}

/// Where the first `marker:` begins and what follows it, whatever its case; one inside a longer word does not count. The colon may be
/// a full-width one, which models write in a grammar that forbids the other, and in Chinese.
fn find_marker<'a>(text: &'a str, marker: &str) -> Option<(usize, &'a str)> {
    let starts = text.char_indices().scan(' ', |before, (at, c)| Some((at, std::mem::replace(before, c))));
    // `strip_marker` skips white space: tried within a run of it too, it would take quadratic time.
    let in_space = |at: usize, before: char| before.is_whitespace() && text[at..].starts_with(char::is_whitespace);
    starts
        .filter(|&(at, before)| !before.is_alphanumeric() && (at == 0 || !in_space(at, before)))
        .find_map(|(at, _)| Some((at, strip_marker(&text[at..], marker)?)))
}

fn strip_marker<'a>(text: &'a str, marker: &str) -> Option<&'a str> {
    let mut rest = text;
    for word in marker.split(' ') {
        let (head, tail) = rest.trim_start().split_at_checked(word.len())?;
        rest = head.eq_ignore_ascii_case(word).then_some(tail)?;
    }
    rest.trim_start_matches(is_star).strip_prefix([':', '\u{ff1a}'])
}

/// Markdown's emphasis, and the space around it.
fn is_star(c: char) -> bool {
    c.is_whitespace() || matches!(c, '*' | '_')
}

/// Parts an answer from its explanation: at the marker or at the end of the line, whichever is first. `None` where the
/// reply was cut before either.
fn part_explanation(text: &str, finish: Finish) -> Option<(&str, String)> {
    let text = text.trim_start_matches(is_dress);
    let marker = find_marker(text, "explanation");
    let Some(end) = marker.map(|(at, _)| at).into_iter().chain(text.find('\n')).min() else {
        return (finish == Finish::Stop).then(|| (text, String::new()));
    };
    let explanation = marker.map_or(&text[end..], |(_, after)| after.trim_start_matches(is_star));
    Some((&text[..end], whole_sentences(explanation, finish)))
}

/// An explanation without the sentence that the limit of tokens cut. If it is the only sentence, its beginning stays,
/// with an ellipsis. The record has the whole reply.
fn whole_sentences(explanation: &str, finish: Finish) -> String {
    let text = explanation.trim();
    let ended = text.trim_end_matches(['"', '”', '’', '\'', ')']).ends_with(['.', '!', '?', '…', '。']);
    if finish == Finish::Stop || ended || text.is_empty() {
        return text.to_owned();
    }
    match sentences(text).as_slice() {
        [.., last, _] => text[..last.end].trim_end().to_owned(),
        _ => format!("{text}…"),
    }
}

/// An answer without what a model may put around it: stars, quotes, the braces of the format, the full stop.
fn undress(answer: &str) -> &str {
    answer.trim_matches(is_dress).trim_end_matches('.').trim_matches(is_dress)
}

fn is_dress(c: char) -> bool {
    c.is_whitespace() || matches!(c, '*' | '`' | '"' | '“' | '”' | '{' | '}')
}
