//! Replies of models, read by the parser of a format, or by all of a method.

use super::{Bound, tokens, words};
use crate::random::Random;
use moot::Result;
use moot::generation::Finish;
use moot::jsonl::shortened;
use moot::llm::scripted::Scripted;
use moot::methods::METHODS;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::formats::FORMATS;
use moot::protocol::switches::Typed;
use moot::question::{Document, Hit, Origin, Passage, Question};
use moot::retrieval::{Retriever, RetrieverIdentity, Wanted};
use moot::transcript::{Event, Parsed};
use moot::{MootError, methods};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Parsers keep some copies of a reply. A method keeps every prompt, and its prompts hold earlier replies: no method makes
/// more than 300 calls for three documents, of which each reads some ten replies, none longer than the input. The prompts
/// themselves are fixed.
pub(super) const BOUND: Bound = Bound { fixed: 16 << 20, factor: 3000 };

/// Bytes of a reply of 128 tokens at most, as the client of remote models bounds them.
const REPLY: usize = 128 * 256 + 4096;

/// The mark between replies.
const NEXT: &str = "\n%%\n";

/// The first line is "format NAME" or "method NAME"; the rest is the reply, or replies that are given in turn.
pub(super) fn reply(bytes: &[u8]) -> Result<()> {
    let text = String::from_utf8_lossy(bytes);
    let (head, text) = text.split_once('\n').unwrap_or((&text, ""));
    match head.split_once(' ') {
        Some(("method", name)) => method(name.trim(), text),
        Some(("format", name)) => format(name.trim(), text),
        _ => Err(MootError::Usage("a first line".into())),
    }
}

fn values() -> Value {
    json!({
        "options": ["yes", "no", "in 1931", "two\nlines", "Choice: yes. Explanation: no"], "most": 6,
        "queries": ["When did it open?", "Who built it?"], "label_first": true, "reasons": true, "words": true, "least": 5,
        "pieces": ["It opened in 1931.", " It closed."], "documents": [["It opened."], ["It closed.", " Twice."]],
    })
}

fn format(name: &str, text: &str) -> Result<()> {
    let format = FORMATS.iter().find(|format| format.name == name).unwrap_or(&FORMATS[0]);
    let name = format.name;
    let values = values();
    let mut read = Parsed::Malformed;
    for finish in [Finish::Stop, Finish::Length] {
        read = format.read(text, finish, &values);
        // A reply that is read is within what was offered.
        match &read {
            Parsed::Choice { option, .. } => assert!(*option < 5, "option {option}"),
            Parsed::Fields(fields) => {
                let old = fields.get("old").and_then(Value::as_u64).unwrap_or_default();
                let labels = fields.get("labels").and_then(Value::as_array).map_or(0, Vec::len);
                assert!(old < 2 && labels <= 2, "{fields:?}");
            }
            _ => {}
        }
    }
    if let Some(line) = (format.line)(text) {
        let _ = format.read(&line, Finish::Stop, &values);
    }
    match read {
        // Free text keeps its format always: as good as refused, so that it is not an outcome of its own.
        Parsed::Malformed => Err(MootError::Usage(format!("{name} malformed"))),
        _ => Ok(()),
    }
}

fn method(name: &str, text: &str) -> Result<()> {
    let row = METHODS.iter().find(|row| row.name == name).unwrap_or(&METHODS[0]);
    let name = row.name;
    let replies: Vec<String> = text.split(NEXT).map(|reply| cut(reply).to_owned()).collect();
    let next = AtomicUsize::new(0);
    let llm = Scripted::new(move |_| replies[next.fetch_add(1, Ordering::Relaxed) % replies.len()].clone());
    let tools = Tools { retriever: Some(&Shelf), ..Tools::new(&llm) };
    let built = methods::build(row.name, &Typed::new())?;
    let (record, error) = built.record(&question(row.needs.retriever), tools, &Settings::default(), &Silent);
    let conclusion = error.map_or(Ok(record.conclusion), Err)?.expect("a conclusion or an error");
    let documents = record.question.documents.len() + record.retrieved.len();
    for answer in conclusion.answers.iter().chain(&conclusion.rejected) {
        let stands = answer.supporters.iter().chain(&answer.opponents).chain(&answer.mentions);
        assert!(stands.clone().all(|number| *number < documents), "{answer:?}");
    }
    assert!(conclusion.calls.iter().all(|number| *number < record.calls.len()));
    // A fallback is an outcome of its own, so that inputs that lead there are kept.
    let fallback = |event: &Event| if let Event::Fallback { what, .. } = event { Some(what.clone()) } else { None };
    match record.events.iter().find_map(fallback) {
        Some(what) => {
            assert!(!what.contains('\n'), "{what:?}");
            Err(MootError::Question(format!("{name}: {}", shortened(&what))))
        }
        None => Ok(()),
    }
}

/// A reply as far as its tokens may reach.
fn cut(reply: &str) -> &str {
    let mut end = reply.len().min(REPLY);
    while !reply.is_char_boundary(end) {
        end -= 1;
    }
    &reply[..end]
}

fn question(empty: bool) -> Question {
    let texts =
        ["The bridge opened in 1931.", "It opened on 12 March 1932 (not 1931). “İt” closed, twice…", " \u{301}\n"];
    let document = |(at, text): (usize, &&str)| Document {
        name: format!("{at}.txt"),
        text: (*text).to_owned(),
        source: Some(format!("source {at}")),
        ..Document::default()
    };
    let documents = if empty { Vec::new() } else { texts.iter().enumerate().map(document).collect() };
    Question { id: "q1".into(), text: "When did the bridge open?".into(), documents, ..Question::default() }
}

/// Two passages for any query.
struct Shelf;

impl Retriever for Shelf {
    fn retrieve(&self, _: &str, _: &Wanted) -> Result<Vec<Hit>> {
        let passage = |text: &str, line: u64| Passage {
            text: text.to_owned(),
            title: None,
            source: Some("shelf".into()),
            date: None,
            url: None,
            notes: Vec::new(),
            origin: Origin { file: "a.txt".into(), id: None, line: Some(line), page: None, characters: 0..9 },
        };
        let found = [passage("It opened in 1931.", 1), passage("It was closed in 1950 for repairs.", 2)];
        Ok(found.map(|passage| Hit { passage, score: 1.0, copies: Vec::new() }).into())
    }

    fn identity(&self) -> RetrieverIdentity {
        RetrieverIdentity { index: "shelf".into(), embedder: None, reranker: None, mode: "lexical".into() }
    }
}

/// Another format or method, or another word in the replies.
pub(super) fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    if random.below(6) > 0 {
        tokens(bytes, random, words::REPLY);
        return;
    }
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let head = match random.below(2) {
        0 => format!("format {}", FORMATS[random.below(FORMATS.len())].name),
        _ => format!("method {}", METHODS[random.below(METHODS.len())].name),
    };
    drop(bytes.splice(..end, head.bytes()));
}
