//! The table of reply formats: how a reply is constrained, and how it is read.
//!
//! A format is a row of [`FORMATS`] and at most one grammar and one schema file. Both may be templates: a grammar that
//! depends on the question ("one of these options") is rendered with the call's format values.

use crate::error::{MootError, Result};
use crate::generation::{Finish, Grammar, Schema};
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::claims::{CLAIM_LABEL, CLAIM_LABELS, CLAIMS};
use crate::protocol::reply;
use crate::transcript::Parsed;
use crate::unicode;
use serde_json::Value;
use std::sync::Arc;

/// A row of [`FORMATS`]: what a role must reply. The wording stands in its prompt.
pub struct Format {
    /// Names the format in records.
    pub name: &'static str,
    /// A description, one line.
    pub about: &'static str,
    /// Constrains a reply while it is decoded, in llguidance's Lark dialect; it bounds text that a small model could repeat without end.
    pub grammar: Option<File>,
    /// The same content as a JSON schema, for servers that take schemas and no grammars. It states no lengths: not every
    /// server takes them.
    pub schema: Option<File>,
    /// Turns an object that keeps the schema into the line that the grammar would have produced; `None` for another object.
    pub line: fn(object: &str) -> Option<String>,
    /// Reads a reply, with the values that the grammar was rendered with; `None` is malformed. A reply that was cut after its
    /// content was complete is as good as a whole one.
    pub parse: fn(reply: &str, finish: Finish, values: &Value) -> Option<Parsed>,
}

/// `Answer: X. Explanation: Y`: one answer, or "unknown".
pub static ANSWER: Format = Format {
    name: "answer",
    about: "one answer or unknown, and an explanation",
    grammar: Some(prompt_file!("reply/answer.lark")),
    schema: Some(prompt_file!("reply/answer.jsonc")),
    line: reply::answer_line,
    parse: |text, finish, _| reply::parse_answer(text, finish),
};

/// `All Correct Answers: ["X", "Y"]. Explanation: Z`, or "unknown".
pub static ANSWERS: Format = Format {
    name: "answers",
    about: "a list of answers or unknown, and an explanation",
    grammar: Some(prompt_file!("reply/answers.lark")),
    schema: Some(prompt_file!("reply/answers.jsonc")),
    line: reply::answers_line,
    parse: |text, finish, _| reply::parse_answers(text, "all correct answers", finish),
};

/// `Answers: ["X", "Y"]` and no explanation.
pub static LIST: Format = Format {
    name: "list",
    about: "a list of answers",
    grammar: Some(prompt_file!("reply/list.lark")),
    schema: Some(prompt_file!("reply/list.jsonc")),
    line: reply::list_line,
    parse: |text, finish, _| reply::parse_answers(text, "answers", finish),
};

/// `Items: ["X", "Y"]`, at most `most` of them: `{"most": 6}` as format values.
pub static ITEMS: Format = Format {
    name: "items",
    about: "a list of statements or questions",
    grammar: Some(prompt_file!("reply/items.lark")),
    schema: Some(prompt_file!("reply/items.jsonc")),
    line: reply::items_line,
    parse: |text, finish, _| reply::parse_answers(text, "items", finish),
};

/// The answer alone, or "unknown".
pub static SHORT: Format = Format {
    name: "short",
    about: "the answer alone",
    grammar: Some(prompt_file!("reply/short.lark")),
    schema: Some(prompt_file!("reply/short.jsonc")),
    line: reply::short_line,
    parse: |text, _, _| reply::parse_short(text),
};

/// `Thought: X`, then on a line of its own `Answer: Y`.
pub static THOUGHT: Format = Format {
    name: "thought",
    about: "reasoning, then the answer",
    grammar: Some(prompt_file!("reply/thought.lark")),
    schema: Some(prompt_file!("reply/thought.jsonc")),
    line: reply::thought_line,
    parse: |text, _, _| reply::parse_thought(text),
};

/// `Argument: X`, then one action: `Query Optimization: OLD -> NEW` or `Query Expansion: NEW`, with the pool's queries as
/// format values. Fields: `argument`, `action` ("optimise" or "expand"), `old` (the place of the old query), `new`.
pub static QUERY_ACTION: Format = Format {
    name: "query-action",
    about: "an argument and one change of a query pool",
    grammar: Some(prompt_file!("reply/query_action.lark")),
    schema: Some(prompt_file!("reply/query_action.jsonc")),
    line: reply::query_action_line,
    parse: |text, _, values| reply::parse_query_action(text, values),
};

/// Free text: any text that is not empty.
pub static TEXT: Format = Format {
    name: "text",
    about: "free text",
    grammar: None,
    schema: None,
    line: |_| None,
    parse: |text, _, _| (!text.trim().is_empty()).then(|| Parsed::Text(text.trim().to_owned())),
};

/// Free text that goes on from the call's prefill. Nothing means that the text had ended with the prefill.
pub static CONTINUATION: Format = Format {
    name: "continuation",
    about: "free text, or nothing where the text has ended",
    grammar: None,
    schema: None,
    line: |_| None,
    parse: |text, _, _| Some(Parsed::Text(text.trim().to_owned())),
};

/// One of the options that the call offers: `{"options": ["yes", "no"]}` as format values.
pub static CHOICE: Format = Format {
    name: "choice",
    about: "one of the options offered",
    grammar: Some(prompt_file!("reply/choice.lark")),
    schema: Some(prompt_file!("reply/choice.jsonc")),
    line: reply::choice_line,
    parse: |text, _, values| reply::parse_choice(text, values),
};

/// `Choice: X. Explanation: Y`: one of the options that the call offers, and why.
pub static REASONED_CHOICE: Format = Format {
    name: "reasoned-choice",
    about: "one of the options offered, and an explanation",
    grammar: Some(prompt_file!("reply/reasoned_choice.lark")),
    schema: Some(prompt_file!("reply/reasoned_choice.jsonc")),
    line: reply::reasoned_choice_line,
    parse: reply::parse_reasoned_choice,
};

/// Nothing is generated: the call is for the scores of its prefill.
pub static SCORES: Format = Format {
    name: "scores",
    about: "no reply: the prefill is scored",
    grammar: None,
    schema: None,
    line: |_| None,
    parse: |_, _, _| Some(Parsed::Scored),
};

/// Every format there is.
pub static FORMATS: &[&Format] = &[
    &ANSWER,
    &ANSWERS,
    &LIST,
    &ITEMS,
    &SHORT,
    &THOUGHT,
    &TEXT,
    &CONTINUATION,
    &CHOICE,
    &REASONED_CHOICE,
    &QUERY_ACTION,
    &SCORES,
    &CLAIMS,
    &CLAIM_LABEL,
    &CLAIM_LABELS,
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

    /// Its files.
    pub fn files(&self) -> impl Iterator<Item = File> + use<> {
        self.grammar.into_iter().chain(self.schema)
    }

    /// The grammar of a reply in this format, rendered with `values` where there are any.
    ///
    /// # Errors
    /// [`MootError::Prompt`] for values that the grammar names and `values` lacks.
    pub fn grammar(&self, values: &Value) -> Result<Option<Grammar>> {
        let Some(file) = self.grammar else { return Ok(None) };
        let lark = if values.is_null() { Arc::from(file.text) } else { Arc::from(file.render(values)?) };
        Ok(Some(Grammar { name: Arc::from(file.name), lark }))
    }

    /// The schema of a reply in this format, rendered with `values` where there are any.
    ///
    /// # Errors
    /// As [`Format::grammar`].
    pub fn schema(&self, values: &Value) -> Result<Option<Schema>> {
        let Some(file) = self.schema else { return Ok(None) };
        let text = if values.is_null() { file.text.to_owned() } else { file.render(values)? };
        let json = text.split_once('\n').map_or("", |(_comment, json)| json);
        Ok(Some(Schema { name: Arc::from(file.name), json: Arc::from(json.trim()) }))
    }

    /// Reads a reply; one that does not keep the format is [`Parsed::Malformed`].
    #[must_use]
    pub fn read(&self, reply: &str, finish: Finish, values: &Value) -> Parsed {
        (self.parse)(&unicode::nfc(reply), finish, values).unwrap_or(Parsed::Malformed)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Format({})", self.name)
    }
}
