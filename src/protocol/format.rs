//! A reply format: how a reply is constrained, and how it is read.

use crate::error::Result;
use crate::generation::{Finish, Grammar, Schema};
use crate::prompts::File;
use crate::transcript::Parsed;
use crate::unicode;
use serde_json::Value;
use std::sync::Arc;

/// A row of [`FORMATS`](crate::protocol::formats::FORMATS): what a role must reply. The wording is in its prompt.
pub struct Format {
    /// Names the format in records.
    pub name: &'static str,
    /// A description, one line.
    pub about: &'static str,
    /// The explanation is before the answer, so a reply that is cut has a whole explanation.
    pub explains_first: bool,
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

impl Format {
    /// Its files.
    pub fn files(&self) -> impl Iterator<Item = File> + use<> {
        self.grammar.into_iter().chain(self.schema)
    }

    /// The grammar of a reply in this format, rendered with `values` where there are any.
    ///
    /// # Errors
    /// `MootError::Prompt` for values that the grammar names and `values` lacks.
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
        // Questions and documents are composed too: equal texts are then equal bytes.
        (self.parse)(&unicode::nfc(reply), finish, values).unwrap_or(Parsed::Malformed)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        // A derived comparison would compare addresses of functions, which two functions may share.
        self.name == other.name
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Format({})", self.name)
    }
}
