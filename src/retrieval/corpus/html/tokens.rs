//! The tokenizer of the HTML standard (html5gum), with the attributes that are read and no others: what a tag or a fault of
//! the markup takes in memory is bounded by its bytes.

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::emitters::{Emitter, ForwardingEmitter};
use html5gum::{Error, Readable, Reader, Span, StringReader, Tokenizer};
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

/// Attributes that are read.
const ATTRIBUTES: &[&str] = &[
    "class",
    "colspan",
    "content",
    "epub:type",
    "hidden",
    "href",
    "id",
    "itemprop",
    "media",
    "name",
    "open",
    "popover",
    "property",
    "rel",
    "role",
    "rowspan",
    "style",
];

/// Attributes of one tag at most: the tokenizer's states call each other for each of them, and a stack has an end.
pub(super) const MAX_ATTRIBUTES: usize = 128;

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

pub(super) fn tokens(markup: &str) -> Tokenizer<Bounded<'_>, Quiet> {
    let attributes = Rc::new(Cell::new(0));
    let collector = Collector { in_tag: Rc::clone(&attributes), ..Collector::default() };
    let mut quiet = Quiet(CallbackEmitter::new(collector));
    // Otherwise the tokenizer reads the content of scripts as markup.
    quiet.0.naively_switch_states(true);
    Tokenizer::new_with_emitter(Bounded { markup: markup.to_reader(), attributes }, quiet)
}

/// A tag has more than [`MAX_ATTRIBUTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMany;

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {MAX_ATTRIBUTES} attributes in a tag")
    }
}

impl std::error::Error for TooMany {}

/// The markup, up to a tag of too many attributes.
pub(super) struct Bounded<'a> {
    markup: StringReader<'a>,
    /// Attributes of the tag that is being read.
    attributes: Rc<Cell<usize>>,
}

impl Bounded<'_> {
    fn check(&self) -> Result<(), TooMany> {
        if self.attributes.get() > MAX_ATTRIBUTES { Err(TooMany) } else { Ok(()) }
    }
}

impl Reader for Bounded<'_> {
    type Error = TooMany;

    fn read_byte(&mut self) -> Result<Option<u8>, TooMany> {
        self.check()?;
        let Ok(byte) = self.markup.read_byte();
        Ok(byte)
    }

    fn read_until<'b>(&'b mut self, needle: &[u8], buffer: &'b mut [u8; 4]) -> Result<Option<&'b [u8]>, TooMany> {
        self.check()?;
        let Ok(bytes) = self.markup.read_until(needle, buffer);
        Ok(bytes)
    }

    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, TooMany> {
        self.check()?;
        let Ok(read) = self.markup.try_read_string(text, case_sensitive);
        Ok(read)
    }
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
    /// Attributes of the tag so far, known ones or not, of end tags too.
    in_tag: Rc<Cell<usize>>,
}

impl Callback<Token, usize> for Collector {
    fn handle_event(&mut self, event: CallbackEvent<'_>, span: Span<usize>) -> Option<Token> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let is_attribute = matches!(event, CallbackEvent::AttributeName { .. } | CallbackEvent::AttributeValue { .. });
        if !is_attribute {
            self.in_tag.set(0);
        }
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.name = text(name);
                self.attributes.clear();
            }
            CallbackEvent::AttributeName { name } => {
                self.in_tag.set(self.in_tag.get() + 1);
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
