//! XML as a stream of elements and letters.
//!
//! Entities are the five of XML and character references; a document type declares none, so none expands.

use super::archive::{Fault, fault};
use crate::retrieval::corpus::flow::first_words;
use crate::retrieval::corpus::notes::Notes;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::QName;
use quick_xml::{Reader, XmlVersion};
use std::borrow::Cow;

/// Maximum open elements.
const MAX_OPEN: usize = 512;

/// Receives the elements of a part. Names come without their namespace's prefix.
pub(in crate::retrieval::corpus) trait Visit {
    /// An element begins; the ones that enclose it are open.
    fn start(&mut self, tag: &Tag<'_>);
    /// The last element that began ends.
    fn end(&mut self, name: &str);
    /// Letters within it.
    fn letters(&mut self, text: &str);
}

/// The start of an element.
pub(in crate::retrieval::corpus) struct Tag<'a>(BytesStart<'a>);

impl Tag<'_> {
    /// Its name without prefix.
    pub(in crate::retrieval::corpus) fn name(&self) -> String {
        self.0.local_name().as_ref().to_owned()
    }

    /// The value of its attribute `name` (without prefix).
    pub(in crate::retrieval::corpus) fn value(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        // Duplicates are the writer's mistake; the first counts.
        attributes.with_checks(false);
        let found = attributes.flatten().find(|attribute| attribute.key.local_name().as_ref() == name)?;
        found.normalized_value(XmlVersion::Implicit1_0).ok().map(Cow::into_owned)
    }

    /// The value of its attribute `name` that has a prefix: relations are `r:id` beside an `id` of another meaning.
    pub(in crate::retrieval::corpus) fn prefixed(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        attributes.with_checks(false);
        let is_it = |key: QName<'_>| key.prefix().is_some() && key.local_name().as_ref() == name;
        let found = attributes.flatten().find(|attribute| is_it(attribute.key))?;
        found.normalized_value(XmlVersion::Implicit1_0).ok().map(Cow::into_owned)
    }

    /// Whether its attribute `name` is "true", "1" or "on".
    pub(in crate::retrieval::corpus) fn is(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| matches!(value.as_str(), "true" | "1" | "on"))
    }

    /// Its attribute `name` as a count; 1 without it.
    pub(in crate::retrieval::corpus) fn count(&self, name: &str) -> usize {
        self.value(name).and_then(|count| count.parse().ok()).unwrap_or(1)
    }
}

/// Passes the content of the part `name` to `visitor`.
///
/// # Errors
/// XML that is not well-formed; more than [`MAX_OPEN`] open elements.
pub(in crate::retrieval::corpus) fn read(name: &str, text: &str, visitor: &mut impl Visit) -> Result<(), Fault> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = Reader::from_str(text);
    // Visitors count starts against ends.
    reader.config_mut().expand_empty_elements = true;
    let mut open = 0_usize;
    loop {
        let event = reader
            .read_event()
            .map_err(|e| fault(format!("XML in {name}"), format!("{e} (at byte {})", reader.error_position())))?;
        match event {
            Event::Start(tag) => {
                open += 1;
                if open > MAX_OPEN {
                    return Err(fault(format!("at most {MAX_OPEN} open elements in {name}"), "more"));
                }
                visitor.start(&Tag(tag));
            }
            Event::End(tag) => {
                open = open.saturating_sub(1);
                visitor.end(tag.local_name().as_ref());
            }
            Event::Text(text) => visitor.letters(&text.xml10_content()),
            Event::CData(text) => visitor.letters(&text.xml10_content()),
            Event::GeneralRef(reference) => {
                if let Some(letter) = letter(&reference) {
                    visitor.letters(letter.encode_utf8(&mut [0; 4]));
                }
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// As [`read`]; where the part is broken, what was read until there is kept, and `notes` say so.
pub(in crate::retrieval::corpus) fn read_or_note(name: &str, text: &str, visitor: &mut impl Visit, notes: &mut Notes) {
    if let Err((expected, found)) = read(name, text, visitor) {
        notes.add(format!("{name} is read in part: expected {expected}, found {found}"));
    }
}

/// The first text of the elements called `wanted`, if there is one.
pub(in crate::retrieval::corpus) fn first_value(
    part: &str,
    text: &str,
    wanted: &str,
    notes: &mut Notes,
) -> Option<String> {
    match values(part, text, &[wanted]) {
        Ok(values) => values.into_iter().next().map(|(_, value)| value),
        Err((expected, found)) => {
            notes.add(format!("{part} is not read: expected {expected}, found {found}"));
            None
        }
    }
}

/// The letter of a reference; an entity that a document type would have to declare has none.
fn letter(reference: &BytesRef<'_>) -> Option<char> {
    if reference.is_char_ref() {
        return reference.resolve_char_ref().ok().flatten();
    }
    match reference.xml10_content().as_ref() {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

/// The texts of the elements called one of `names`, in the order of the part; of each the first words.
///
/// # Errors
/// As [`read`].
pub(in crate::retrieval::corpus) fn values(
    part: &str,
    text: &str,
    names: &[&str],
) -> Result<Vec<(String, String)>, Fault> {
    struct Values<'n> {
        names: &'n [&'n str],
        found: Vec<(String, String)>,
        inside: bool,
    }
    impl Visit for Values<'_> {
        fn start(&mut self, tag: &Tag<'_>) {
            let name = tag.name();
            self.inside = self.names.contains(&name.as_str());
            if self.inside {
                self.found.push((name, String::new()));
            }
        }
        fn end(&mut self, _: &str) {
            self.inside = false;
        }
        fn letters(&mut self, text: &str) {
            if let Some((_, value)) = self.found.last_mut().filter(|_| self.inside) {
                value.push_str(text);
            }
        }
    }
    let mut values = Values { names, found: Vec::new(), inside: false };
    read(part, text, &mut values)?;
    let found = values.found.into_iter().map(|(name, value)| (name, first_words(&value)));
    Ok(found.filter(|(_, value)| !value.is_empty()).collect())
}
