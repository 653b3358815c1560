//! The formats of ConflictScore's replies: a list of claims, the label of a claim, its labels for several documents.

use crate::answers::words::Level;
use crate::generation::Finish;
use crate::prompt_file;
use crate::protocol::format::Format;
use crate::protocol::list::{self, one_line};
use crate::question::ClaimRelation;
use crate::transcript::Parsed;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// `Claims: ["X", "Y"]`, at most `most` of them: `{"most": 20}` as format values.
pub static CLAIMS: Format = Format {
    name: "claims",
    about: "a list of claims",
    explains_first: false,
    grammar: Some(prompt_file!("reply/claims.lark")),
    schema: Some(prompt_file!("reply/claims.jsonc")),
    line: claims_line,
    parse: |text, finish, _| parse_claims(text, finish),
};

/// A quote of the document, a reason and a label, a line each. Format values: `pieces` (put together, the document with
/// single spaces), `least` (characters of a quote), `words` (quotes begin and end at words, otherwise at pieces) and
/// `label_first`. Fields: `quote`, `reason`, `label`.
pub static CLAIM_LABEL: Format = Format {
    name: "claim-label",
    about: "a quote of the document, a reason, and SUPPORTS, CONTRADICTS or IRRELEVANT",
    explains_first: false,
    grammar: Some(prompt_file!("reply/claim_label.lark")),
    schema: Some(prompt_file!("reply/claim_label.jsonc")),
    line: label_line,
    parse: |text, finish, _| parse_label(text, finish),
};

/// A line for each document: its number, the label, and a quote where the label is not IRRELEVANT. Format values:
/// `documents`, each a list of pieces, and `any` for quotes of any text. Field: `labels`, a list of objects with
/// `document` (from 1), `label` and `quote`.
pub static CLAIM_LABELS: Format = Format {
    name: "claim-labels",
    about: "a label and a quote for each document",
    explains_first: false,
    grammar: Some(prompt_file!("reply/claim_labels.lark")),
    schema: Some(prompt_file!("reply/claim_labels.jsonc")),
    line: labels_line,
    parse: |text, finish, values| parse_labels(text, finish, values),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    claims: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Label {
    #[serde(default)]
    document: Option<usize>,
    quote: String,
    #[serde(default)]
    reason: Option<String>,
    label: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Labels {
    labels: Vec<Label>,
}

fn claims_line(object: &str) -> Option<String> {
    let said: Claims = serde_json::from_str(object.trim()).ok()?;
    Some(format!("Claims: {}", list::written(&said.claims)))
}

/// The lines have the order of the object's fields.
fn label_line(object: &str) -> Option<String> {
    let said: Label = serde_json::from_str(object.trim()).ok()?;
    // A struct forgets the order of the object's fields; a map of serde_json keeps it here (`preserve_order`).
    let fields: Map<String, Value> = serde_json::from_str(object.trim()).ok()?;
    let label = format!("Label: {}", one_line(&said.label));
    let quote = format!("Quote: \"{}\"", one_line(&said.quote));
    let reason = said.reason.map(|reason| format!("Reason: {}", one_line(&reason)));
    let evidence = [Some(quote), reason].into_iter().flatten();
    let lines: Vec<String> = if fields.keys().next().is_some_and(|first| first == "label") {
        std::iter::once(label).chain(evidence).collect()
    } else {
        evidence.chain([label]).collect()
    };
    Some(lines.join("\n"))
}

fn labels_line(object: &str) -> Option<String> {
    let said: Labels = serde_json::from_str(object.trim()).ok()?;
    let line = |label: &Label| {
        Some(format!("Document {}: {} \"{}\"", label.document?, one_line(&label.label), one_line(&label.quote)))
    };
    Some(said.labels.iter().map(line).collect::<Option<Vec<_>>>()?.join("\n"))
}

/// The word of a label.
#[must_use]
pub(crate) fn word(relation: ClaimRelation) -> &'static str {
    match relation {
        ClaimRelation::Supports => "SUPPORTS",
        ClaimRelation::Contradicts => "CONTRADICTS",
        ClaimRelation::Irrelevant => "IRRELEVANT",
    }
}

/// The label that `text` begins with.
#[must_use]
pub(crate) fn relation(text: &str) -> Option<ClaimRelation> {
    let word: String = text.trim_start_matches(is_dress).chars().take_while(char::is_ascii_alphabetic).collect();
    match word.to_ascii_uppercase().as_str() {
        "SUPPORTS" | "SUPPORT" | "SUPPORTED" => Some(ClaimRelation::Supports),
        "CONTRADICTS" | "CONTRADICT" | "CONTRADICTED" => Some(ClaimRelation::Contradicts),
        "IRRELEVANT" => Some(ClaimRelation::Irrelevant),
        _ => None,
    }
}

fn is_dress(c: char) -> bool {
    c.is_whitespace() || matches!(c, '*' | '_' | '`' | '"' | '\'' | '[' | '(' | '<')
}

/// The text after `marker:` if `line` begins with it; emphasis and a list's mark are ignored.
fn marked<'a>(line: &'a str, marker: &str) -> Option<&'a str> {
    let line = line.trim_start_matches(|c: char| is_dress(c) || c == '-');
    let (head, tail) = line.split_at_checked(marker.len())?;
    let tail = head.eq_ignore_ascii_case(marker).then(|| tail.trim_start_matches(['*', '_', ' ']))?;
    Some(tail.strip_prefix(':')?.trim_start_matches(['*', '_']).trim())
}

/// A text without the quotation marks around it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix(['"', '“']).and_then(|text| text.strip_suffix(['"', '”']));
    inner.unwrap_or_else(|| text.strip_prefix(['"', '“']).unwrap_or(text)).trim()
}

fn is_none(quote: &str) -> bool {
    quote.is_empty() || quote.trim_end_matches('.').eq_ignore_ascii_case("none")
}

/// Whether a quote is complete: it has both quotation marks.
fn is_closed(quote: &str) -> bool {
    let quote = quote.trim();
    quote.chars().count() > 1 && quote.starts_with(['"', '“']) && quote.ends_with(['"', '”'])
}

/// The three fields in any order; a field goes on until the next begins. The label is needed, the last one counts. A reply for or
/// against that was cut inside of its quote is malformed; a reason may be cut.
fn parse_label(reply: &str, finish: Finish) -> Option<Parsed> {
    if let Some(parsed) = parse_object(reply) {
        return Some(parsed);
    }
    let mut fields: [Option<String>; 3] = [None, None, None];
    let mut open = None;
    for line in reply.lines() {
        let of = |(field, names): (usize, &&[&str])| names.iter().find_map(|name| Some((field, marked(line, name)?)));
        let found = FIELDS.iter().enumerate().find_map(of);
        match (found, open) {
            (Some((field, rest)), _) => {
                fields[field] = Some(rest.to_owned());
                open = Some(field);
            }
            (None, Some(field)) => {
                let text = fields[field].get_or_insert_default();
                text.push('\n');
                text.push_str(line);
            }
            (None, None) => {}
        }
    }
    let [quote, reason, label] = fields;
    let label = relation(&label?)?;
    let in_quote = finish == Finish::Length && open == Some(0) && !quote.as_deref().is_some_and(is_closed);
    if in_quote && label != ClaimRelation::Irrelevant {
        return None;
    }
    Some(fields_of(label, &quote.unwrap_or_default(), &reason.unwrap_or_default()))
}

/// Names of the fields: those of the program's prompts, and those of table 7, for custom prompts.
const FIELDS: [&[&str]; 3] =
    [&["quote", "document_snippet", "snippet"], &["reason", "reasoning"], &["label", "answer"]];

fn fields_of(label: ClaimRelation, quote: &str, reason: &str) -> Parsed {
    let quote = unquoted(quote);
    let mut parsed = Map::new();
    parsed.insert("label".into(), word(label).into());
    parsed.insert("quote".into(), if is_none(quote) { "" } else { quote }.into());
    parsed.insert("reason".into(), one_line(reason).into());
    Parsed::Fields(parsed)
}

/// The object of table 7, which a custom prompt may ask for; in a code block too.
fn parse_object(reply: &str) -> Option<Parsed> {
    let text = reply.trim().trim_start_matches("```json").trim_matches('`').trim();
    let object: Map<String, Value> = serde_json::from_str(text).ok()?;
    let field = |names: &[&str]| names.iter().find_map(|name| object.get(*name)?.as_str()).unwrap_or_default();
    let [quote, reason, label] = FIELDS.map(field);
    Some(fields_of(relation(label)?, quote, reason))
}

/// A line for each of the call's documents; one that has none is left out, and malformed for its reader, as is a last line that
/// was cut inside of its quote. `None` without any.
fn parse_labels(reply: &str, finish: Finish, values: &Value) -> Option<Parsed> {
    let documents = values.get("documents").and_then(Value::as_array).map_or(0, Vec::len);
    let mut labels: Vec<Value> = Vec::new();
    let mut lines = reply.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((number, rest)) = numbered(line) else { continue };
        let Some(label) = relation(rest).filter(|_| (1..=documents).contains(&number)) else { continue };
        if labels.iter().any(|known| known["document"] == number) {
            continue;
        }
        let quote = rest.find(['"', '“']).map(|at| &rest[at..]);
        let is_cut = finish == Finish::Length && lines.peek().is_none() && !quote.is_some_and(is_closed);
        if is_cut && label != ClaimRelation::Irrelevant {
            continue;
        }
        let quote = quote.map(unquoted).filter(|quote| !is_none(quote));
        labels.push(json!({ "document": number, "label": word(label), "quote": quote.unwrap_or_default() }));
    }
    if labels.is_empty() {
        return None;
    }
    let mut parsed = Map::new();
    parsed.insert("labels".into(), labels.into());
    Some(Parsed::Fields(parsed))
}

/// `Document 3: ...` as its number and the rest.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let line = line.trim_start_matches(|c: char| is_dress(c) || c == '-');
    let (head, tail) = line.split_at_checked("document".len())?;
    let tail = head.eq_ignore_ascii_case("document").then(|| tail.trim_start())?;
    let digits = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = tail[digits..].trim_start_matches(['*', '_', ' ']).strip_prefix(':')?;
    Some((tail[..digits].parse().ok()?, rest.trim_start_matches(['*', '_', ' '])))
}

/// A JSON list behind the marker, or lines that begin as a list's do. A list that was cut keeps its whole items; without a
/// list the reply is malformed.
fn parse_claims(reply: &str, finish: Finish) -> Option<Parsed> {
    let after = reply.lines().position(|line| marked(line, "claims").is_some());
    let text = match after {
        Some(line) => reply.lines().skip(line).collect::<Vec<_>>().join("\n"),
        None => reply.to_owned(),
    };
    // A list directly follows the marker, or begins the reply: an item may hold a bracket.
    let behind = marked(&text, "claims").unwrap_or(&text).trim_start();
    let list = behind.strip_prefix('[');
    let claims = match list {
        Some(list) => items(list, finish)?,
        None => bullets(&text),
    };
    // An empty list says that the text makes no claim; a reply without a list says nothing.
    if claims.is_empty() && list.is_none() {
        return None;
    }
    let kept = claims.iter().map(|claim| one_line(claim));
    let answers = Level::Voted.without_repeats(kept);
    Some(Parsed::Answers { answers, explanation: String::new() })
}

/// The items of a list whose `[` was read. `None` where it is not a list, or has no end and was not cut.
fn items(text: &str, finish: Finish) -> Option<Vec<String>> {
    let list::Read { items, rest } = list::read(text)?;
    (rest.is_some() || finish == Finish::Length && !items.is_empty()).then_some(items)
}

fn bullets(text: &str) -> Vec<String> {
    let item = |line: &str| {
        let line = line.trim();
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let numbered = (digits > 0).then(|| line[digits..].strip_prefix(['.', ')'])).flatten();
        let item = line.strip_prefix(['-', '*', '•']).or(numbered)?.trim();
        (!item.is_empty()).then(|| item.to_owned())
    };
    text.lines().filter_map(item).collect()
}
