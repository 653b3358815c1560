//! The user's reply formats, for the user's prompts: an expression that finds the answers, another row of
//! [`FORMATS`](crate::protocol::formats::FORMATS), a grammar.

use crate::error::{MootError, Result};
use crate::protocol::format::Format;
use crate::protocol::formats::{ABOUT, ANSWER, ANSWERS, FREE, FREE_GRAMMAR, ITEMS, LIST, SHORT, THOUGHT};
use crate::protocol::free::compiled;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Formats whose replies give one answer, and those whose replies give several. A user's format may replace one of the
/// same kind.
const ONE: [&Format; 4] = [&ANSWER, &SHORT, &THOUGHT, &ABOUT];
const SEVERAL: [&Format; 3] = [&ANSWERS, &LIST, &ITEMS];

/// A format of the user's for the replies to one prompt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnFormat {
    /// The files as they were read, by their ending.
    pub(crate) text: Arc<str>,
    pub(crate) grammar: Option<Arc<str>>,
    read: Read,
}

/// How replies are read.
#[derive(Debug, Clone, PartialEq)]
enum Read {
    Row(&'static Format),
    Expressions(Map<String, Value>),
}

impl OwnFormat {
    /// Reads the lines `format: NAME`, `answer: EXPRESSION`, `explanation: EXPRESSION` and `unknown: EXPRESSION`. Empty lines and
    /// lines that begin with `#` are left out.
    ///
    /// # Errors
    /// The number of the line, and the text expected there.
    pub(crate) fn parse(text: &str, grammar: Option<&str>) -> std::result::Result<Self, (usize, String)> {
        let (mut name, mut expressions) = (None, Map::new());
        let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
        for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let expected = || (number, "format:, answer:, explanation: or unknown:, and its value".to_owned());
            let (key, value) =
                line.split_once(':').map(|(key, value)| (key.trim(), value.trim())).ok_or_else(expected)?;
            match key {
                _ if value.is_empty() => return Err(expected()),
                "format" => name = Some((number, value)),
                "answer" | "explanation" | "unknown" => {
                    compiled(value).map_err(|reason| (number, format!("a regular expression ({reason})")))?;
                    if expressions.insert(key.to_owned(), value.into()).is_some() {
                        return Err((number, format!("one line `{key}:`")));
                    }
                }
                _ => return Err(expected()),
            }
        }
        let (number, name) = name.ok_or_else(|| (1, "a line `format: NAME`".to_owned()))?;
        let read = if name == FREE.name {
            if !expressions.contains_key("answer") {
                return Err((number, "a line `answer: EXPRESSION`, since the format is free".to_owned()));
            }
            Read::Expressions(expressions)
        } else {
            let row = ONE.into_iter().chain(SEVERAL).find(|row| row.name == name);
            let names = || ONE.iter().chain(&SEVERAL).map(|row| row.name).collect::<Vec<_>>().join(", ");
            let row = row.ok_or_else(|| (number, format!("free, or one of {}", names())))?;
            if grammar.is_some() || !expressions.is_empty() {
                let why = format!("free, where there are expressions or a grammar: {name} has its own");
                return Err((number, why));
            }
            Read::Row(row)
        };
        Ok(Self { text: text.into(), grammar: grammar.map(Arc::from), read })
    }

    /// The format and its values for a call of `prompt`, in place of the program's format `theirs`.
    ///
    /// # Errors
    /// [`MootError::Usage`] where replies in `theirs` give no answers, or this one gives them in another number.
    pub(crate) fn instead_of(&self, theirs: &'static Format, prompt: &str) -> Result<(&'static Format, Value)> {
        let several = SEVERAL.contains(&theirs);
        if !several && !ONE.contains(&theirs) {
            return Err(MootError::Usage(format!(
                "the format of your own for {prompt}: expected a prompt whose replies give answers, found the format {}",
                theirs.name
            )));
        }
        match &self.read {
            Read::Row(row) if SEVERAL.contains(row) == several => Ok((row, Value::Null)),
            Read::Row(row) => {
                let same =
                    if several { SEVERAL.map(|row| row.name).join(", ") } else { ONE.map(|row| row.name).join(", ") };
                Err(MootError::Usage(format!(
                    "the format of your own for {prompt}: expected {same} or free, found {}",
                    row.name
                )))
            }
            Read::Expressions(expressions) => {
                let mut values = expressions.clone();
                values.insert("list".into(), several.into());
                let Some(grammar) = &self.grammar else { return Ok((&FREE, values.into())) };
                values.insert("grammar".into(), json!(&**grammar));
                Ok((&FREE_GRAMMAR, values.into()))
            }
        }
    }
}
