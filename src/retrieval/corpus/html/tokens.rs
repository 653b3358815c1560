//! The tokenizer of the HTML standard (html5gum), with the attributes that are read and no others: what a tag or a fault of
//! the markup takes in memory is bounded by its bytes.

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::emitters::{Emitter, ForwardingEmitter};
use html5gum::{Error, Span, StringReader, Tokenizer};

/// Attributes that are read.
const ATTRIBUTES: &[&str] = &[
    "class",
    "content",
    "epub:type",
    "hidden",
    "href",
    "id",
    "itemprop",
    "name",
    "open",
    "popover",
    "property",
    "rel",
    "role",
    "style",
];

/// A tag or a run of text.
pub(super) enum Token {
    Start(Tag),
    End { name: String },
    Text { text: String, from: usize, to: usize },
}

/// A start tag.
pub(super) struct Tag {
    pub(super) name: String,
    attributes: Vec<(&'static str, String)>,
    pub(super) self_closing: bool,
    /// The byte of the markup behind it.
    pub(super) to: usize,
}

impl Tag {
    pub(super) fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|(known, _)| *known == name)
    }

    /// An attribute's value, unless it is blank.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let (_, value) = self.attributes.iter().find(|(known, _)| *known == name)?;
        Some(value.trim()).filter(|value| !value.is_empty())
    }

    /// Whether an attribute's value, in any case, holds one of `words` between white space.
    pub(super) fn says(&self, name: &str, words: &[&str]) -> bool {
        let found =
            |value: &str| value.split_whitespace().any(|word| words.iter().any(|w| word.eq_ignore_ascii_case(w)));
        self.value(name).is_some_and(found)
    }
}

pub(super) fn tokens(markup: &str) -> Tokenizer<StringReader<'_>, Quiet> {
    let mut quiet = Quiet(CallbackEmitter::default());
    // Otherwise the tokenizer reads the content of scripts as markup.
    quiet.0.naively_switch_states(true);
    Tokenizer::new_with_emitter(markup, quiet)
}

/// An emitter of [`Token`]s without the errors of the markup: the tokenizer has one for each control character, and holds them
/// until the text around them ends.
pub(super) struct Quiet(CallbackEmitter<Collector, Token, usize>);

impl ForwardingEmitter for Quiet {
    type Token = Token;

    fn inner(&mut self) -> &mut impl Emitter<Token = Token> {
        &mut self.0
    }

    fn emit_error(&mut self, _: Error) {}

    fn should_emit_errors(&mut self) -> bool {
        false
    }
}

/// Makes tokens of the tokenizer's events.
#[derive(Default)]
pub(super) struct Collector {
    name: String,
    attributes: Vec<(&'static str, String)>,
    /// The attribute whose value comes next is in `attributes`, as the last one.
    is_read: bool,
}

impl Callback<Token, usize> for Collector {
    fn handle_event(&mut self, event: CallbackEvent<'_>, span: Span<usize>) -> Option<Token> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.name = text(name);
                self.attributes.clear();
            }
            CallbackEvent::AttributeName { name } => {
                let known = ATTRIBUTES.iter().find(|known| known.as_bytes() == name);
                // Of an attribute that is given twice the first one counts.
                let new = known.filter(|known| !self.attributes.iter().any(|(given, _)| given == *known));
                self.is_read = new.is_some();
                self.attributes.extend(new.map(|name| (*name, String::new())));
            }
            CallbackEvent::AttributeValue { value } if self.is_read => {
                if let Some((_, given)) = self.attributes.last_mut() {
                    given.push_str(&String::from_utf8_lossy(value));
                }
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                let (name, attributes) = (std::mem::take(&mut self.name), std::mem::take(&mut self.attributes));
                return Some(Token::Start(Tag { name, attributes, self_closing, to: span.end }));
            }
            CallbackEvent::EndTag { name } => return Some(Token::End { name: text(name) }),
            CallbackEvent::String { value } => {
                return Some(Token::Text { text: text(value), from: span.start, to: span.end });
            }
            _ => {}
        }
        None
    }
}
