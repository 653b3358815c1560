//! The table of reply formats: how a reply is constrained, and how it is read.
//!
//! A format is a row of [`FORMATS`] and at most one grammar and one schema file. Both may be templates: a grammar that
//! depends on the question ("one of these options") is rendered with the call's format values.

use crate::error::{MootError, Result};
use crate::generation::Finish;
use crate::prompt_file;
use crate::protocol::claims::{CLAIM_LABEL, CLAIM_LABELS, CLAIMS};
use crate::protocol::free;
use crate::protocol::reply;
pub use crate::protocol::subjects::SUBJECTS;
use crate::transcript::{CallRecord, Parsed};

pub use crate::protocol::format::Format;

/// `Answer: X. Explanation: Y`: one answer, or "unknown".
pub static ANSWER: Format = Format {
    name: "answer",
    about: "one answer or unknown, and an explanation",
    explains_first: false,
    grammar: Some(prompt_file!("reply/answer.lark")),
    schema: Some(prompt_file!("reply/answer.jsonc")),
    line: reply::answer_line,
    parse: |text, finish, _| reply::parse_answer(text, finish),
};

/// `All Correct Answers: ["X", "Y"]. Explanation: Z`, or "unknown".
pub static ANSWERS: Format = Format {
    name: "answers",
    about: "a list of answers or unknown, and an explanation",
    explains_first: false,
    grammar: Some(prompt_file!("reply/answers.lark")),
    schema: Some(prompt_file!("reply/answers.jsonc")),
    line: reply::answers_line,
    parse: |text, finish, _| reply::parse_answers(text, "all correct answers", finish),
};

/// `Answers: ["X", "Y"]` and no explanation.
pub static LIST: Format = Format {
    name: "list",
    about: "a list of answers",
    explains_first: false,
    grammar: Some(prompt_file!("reply/list.lark")),
    schema: Some(prompt_file!("reply/list.jsonc")),
    line: reply::list_line,
    parse: |text, finish, _| reply::parse_answers(text, "answers", finish),
};

/// `Items: ["X", "Y"]`, at most `most` of them: `{"most": 6}` as format values.
pub static ITEMS: Format = Format {
    name: "items",
    about: "a list of statements or questions",
    explains_first: false,
    grammar: Some(prompt_file!("reply/items.lark")),
    schema: Some(prompt_file!("reply/items.jsonc")),
    line: reply::items_line,
    parse: |text, finish, _| reply::parse_answers(text, "items", finish),
};

/// The answer alone, or "unknown".
pub static SHORT: Format = Format {
    name: "short",
    about: "the answer alone",
    explains_first: false,
    grammar: Some(prompt_file!("reply/short.lark")),
    schema: Some(prompt_file!("reply/short.jsonc")),
    line: reply::short_line,
    parse: |text, finish, _| reply::parse_short(text, finish),
};

/// `Thought: X`, then on a line of its own `Answer: Y`.
///
/// A thought has at most 300 characters, so that 128 tokens, the least limit of the methods that use it, have room for
/// the answer. `drag` and `mad` have 256. The grammar's comment still says 128: another text would be another hash, and
/// records could not be continued.
pub static THOUGHT: Format = Format {
    name: "thought",
    about: "reasoning, then the answer",
    explains_first: true,
    grammar: Some(prompt_file!("reply/thought.lark")),
    schema: Some(prompt_file!("reply/thought.jsonc")),
    line: reply::thought_line,
    parse: |text, finish, _| reply::parse_thought(text, finish),
};

/// `About: X`, then on a line of its own `Answer: Y`, or "unknown". What the reply is about is the answer's explanation.
pub static ABOUT: Format = Format {
    name: "about",
    about: "what a document is about, then one answer or unknown",
    explains_first: true,
    grammar: Some(prompt_file!("reply/about.lark")),
    schema: Some(prompt_file!("reply/about.jsonc")),
    line: reply::about_line,
    parse: |text, finish, _| reply::parse_about(text, finish),
};

/// `Argument: X`, then one action: `Query Optimization: OLD -> NEW` or `Query Expansion: NEW`, with the pool's queries
/// as format values. Fields: `argument`, `action` ("optimise" or "expand"), `old` (the index of the old query), `new`.
///
/// An argument has at most 250 characters and a query 120, so that 128 tokens have room for both. `drag` has 256; the
/// grammar's comment still says 128, as that of [`THOUGHT`].
pub static QUERY_ACTION: Format = Format {
    name: "query-action",
    about: "an argument and one change of a query pool",
    explains_first: false,
    grammar: Some(prompt_file!("reply/query_action.lark")),
    schema: Some(prompt_file!("reply/query_action.jsonc")),
    line: reply::query_action_line,
    parse: reply::parse_query_action,
};

/// Free text: any text that is not empty.
pub static TEXT: Format = Format {
    name: "text",
    about: "free text",
    explains_first: false,
    grammar: None,
    schema: None,
    line: |_| None,
    parse: |text, _, _| (!text.trim().is_empty()).then(|| Parsed::Text(text.trim().to_owned())),
};

/// Free text that goes on from the call's prefill. Nothing means that the text had ended with the prefill.
pub(crate) static CONTINUATION: Format = Format {
    name: "continuation",
    about: "free text, or nothing where the text has ended",
    explains_first: false,
    grammar: None,
    schema: None,
    line: |_| None,
    parse: |text, _, _| Some(Parsed::Text(text.trim().to_owned())),
};

/// One of the options that the call offers: `{"options": ["yes", "no"]}` as format values.
pub static CHOICE: Format = Format {
    name: "choice",
    about: "one of the options offered",
    explains_first: false,
    grammar: Some(prompt_file!("reply/choice.lark")),
    schema: Some(prompt_file!("reply/choice.jsonc")),
    line: reply::choice_line,
    parse: reply::parse_choice,
};

/// Nothing is generated: the call is for the scores of its prefill.
pub static SCORES: Format = Format {
    name: "scores",
    about: "no reply: the prefill is scored",
    explains_first: false,
    grammar: None,
    schema: None,
    line: |_| None,
    parse: |_, _, _| Some(Parsed::Scored),
};

/// Any text, of which expressions find the answers. Format values: `answer`, `explanation` and `unknown` are expressions
/// (the last two may be missing), `list` says that every match is an answer.
pub static FREE: Format = Format {
    name: "free",
    about: "any text, of which a regular expression of the user's finds the answers",
    explains_first: false,
    grammar: None,
    schema: None,
    line: |_| None,
    parse: free::parse_free,
};

/// As [`FREE`], held to the grammar in the format value `grammar`.
pub static FREE_GRAMMAR: Format = Format {
    name: "free-grammar",
    about: "as free, under a grammar of the user's",
    explains_first: false,
    grammar: Some(prompt_file!("reply/free.lark")),
    schema: None,
    line: |_| None,
    parse: free::parse_free,
};

/// Every format there is.
pub static FORMATS: &[&Format] = &[
    &ANSWER,
    &ANSWERS,
    &LIST,
    &ITEMS,
    &SHORT,
    &THOUGHT,
    &ABOUT,
    &TEXT,
    &CONTINUATION,
    &CHOICE,
    &QUERY_ACTION,
    &SCORES,
    &CLAIMS,
    &CLAIM_LABEL,
    &CLAIM_LABELS,
    &SUBJECTS,
    &FREE,
    &FREE_GRAMMAR,
];

impl Format {
    /// The format called `name`.
    ///
    /// # Errors
    /// [`MootError::UnknownName`] with all known names.
    pub fn named(name: &str) -> Result<&'static Self> {
        FORMATS.iter().copied().find(|format| format.name == name).ok_or_else(|| MootError::UnknownName {
            kind: "format",
            name: name.to_owned(),
            known: FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", "),
        })
    }
}

/// Whether the reply of `call` ended by its limit of tokens and its explanation was cut back to whole sentences. A single
/// sentence that was cut ends with an ellipsis instead.
#[must_use]
pub fn is_cut_back(call: &CallRecord) -> bool {
    let kept = call.explanation().unwrap_or_default().trim_end();
    // Formats of earlier versions have the explanation last.
    let last = Format::named(&call.format).ok().is_none_or(|format| !format.explains_first);
    call.finish == Finish::Length
        && call.not_held.is_none()
        && !kept.is_empty()
        && !kept.ends_with('…')
        && last
        && !call.reply.trim_end().ends_with(kept)
}

#[cfg(test)]
mod tests {
    use super::{ABOUT, ANSWER, Format, is_cut_back};
    use crate::generation::Finish;
    use crate::transcript::CallRecord;
    use serde_json::Value;

    #[test]
    fn an_explanation_before_the_answer_is_not_cut_back() {
        let cut = |format: &Format, reply: &str| {
            let parsed = format.read(reply, Finish::Length, &Value::Null);
            is_cut_back(&CallRecord {
                format: format.name.into(),
                reply: reply.into(),
                finish: Finish::Length,
                parsed,
                ..CallRecord::default()
            })
        };
        assert!(cut(&ANSWER, "Answer: 1931. Explanation: The register says so. The deed was"));
        assert!(!cut(&ANSWER, "Answer: 1931. Explanation: The register says so."));
        assert!(!cut(&ABOUT, "About: the glassblower of Sandholm\nAnswer: 1931"));
    }
}
