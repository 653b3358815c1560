//! OpenDocument texts (ISO/IEC 26300): paragraphs, headings, tables, notes.
//!
//! Left out is what a reader does not see: text of a style with `display="none"` or of an unreadable size, hidden
//! sections, paragraphs and fields, deleted text, annotations.

use super::xml::{self, Tag, Visit};
use super::{Fault, Package, Text};
use crate::retrieval::corpus::document::Fields;
use crate::retrieval::corpus::flow::{Flow, Gap};
use std::collections::HashSet;

/// Elements that are left out with all they hold.
const LEFT_OUT: &[&str] = &["tracked-changes", "annotation", "note-citation", "script", "forms", "sequence-decls"];
const CONTENT: &str = "content.xml";

/// The text of a document.
///
/// # Errors
/// An archive that is no OpenDocument text, that is broken or exceeds the limits.
pub(super) fn read(bytes: Vec<u8>) -> Result<Vec<Text>, Fault> {
    const WHAT: &str = "an OpenDocument text (.odt)";
    let mut package = Package::open(bytes, WHAT)?;
    let content = package.needed(CONTENT, WHAT)?;
    let mut reading = Reading::default();
    // Styles are read first; the text of headers and footers, which stands among them, is not.
    if let Some(styles) = package.part("styles.xml")? {
        xml::read("styles.xml", &styles, &mut reading)?;
        reading.body = Flow::default();
    }
    xml::read(CONTENT, &content, &mut reading)?;
    // The date is the file's, not the document's.
    let title = match package.part("meta.xml")? {
        Some(meta) => xml::values("meta.xml", &meta, &["title"])?.into_iter().next().map(|(_, title)| title),
        None => None,
    };
    let (body, notes) = (reading.body.finish(), reading.notes.finish());
    let text = if notes.is_empty() { body } else { format!("{body}\n\n{notes}") };
    Ok(vec![Text { fields: Fields { title, ..Fields::default() }, text }])
}

#[derive(Default)]
struct Reading {
    body: Flow,
    notes: Flow,
    hidden: HashSet<String>,
    /// The style being defined.
    style: Option<String>,
    /// Open elements below one that is left out.
    out: usize,
    /// Open paragraphs, notes and cells.
    paragraphs: usize,
    in_notes: usize,
    cells: usize,
}

impl Reading {
    fn flow(&mut self) -> &mut Flow {
        if self.in_notes > 0 { &mut self.notes } else { &mut self.body }
    }

    /// Whether an element hides what it holds.
    fn hides(&self, name: &str, tag: &Tag<'_>) -> bool {
        let style = || tag.value("style-name").is_some_and(|style| self.hidden.contains(&style));
        match name {
            "p" | "h" | "span" => style(),
            "section" => tag.value("display").is_some_and(|display| display == "none") || style(),
            "hidden-text" | "hidden-paragraph" => tag.is("is-hidden"),
            name => LEFT_OUT.contains(&name),
        }
    }
}

/// Whether text properties hide their text.
fn unseen(tag: &Tag<'_>) -> bool {
    let small = |size: String| {
        let points = size.strip_suffix("pt").and_then(|number| number.trim().parse::<f64>().ok());
        points.is_some_and(|points| points < 1.0)
    };
    tag.value("display").is_some_and(|display| display == "none") || tag.value("font-size").is_some_and(small)
}

impl Visit for Reading {
    fn start(&mut self, tag: &Tag<'_>) {
        let name = tag.name();
        if self.out > 0 || self.hides(&name, tag) {
            self.out += 1;
            return;
        }
        match name.as_str() {
            "style" => self.style = tag.value("name"),
            "text-properties" | "section-properties" if unseen(tag) => self.hidden.extend(self.style.clone()),
            "p" | "h" => self.paragraphs += 1,
            "note-body" => self.in_notes += 1,
            "table-cell" => self.cells += 1,
            "s" | "tab" => self.flow().widen(Gap::Space),
            "line-break" => self.flow().widen(Gap::Line),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.out > 0 {
            self.out -= 1;
            return;
        }
        match name {
            "style" => self.style = None,
            "p" | "h" => {
                self.paragraphs = self.paragraphs.saturating_sub(1);
                let gap = if self.cells > 0 { Gap::Space } else { Gap::Paragraph };
                self.flow().widen(gap);
            }
            "note-body" => {
                self.flow().widen(Gap::Paragraph);
                self.in_notes = self.in_notes.saturating_sub(1);
            }
            "table-cell" => {
                self.cells = self.cells.saturating_sub(1);
                self.flow().widen(Gap::Space);
            }
            "table-row" => self.flow().widen(Gap::Paragraph),
            _ => {}
        }
    }

    fn letters(&mut self, text: &str) {
        if self.out == 0 && self.paragraphs > 0 {
            self.flow().push(text);
        }
    }
}
