//! OpenDocument texts (ISO/IEC 26300): paragraphs, headings, tables, notes.
//!
//! Left out is what a reader does not see: text of a style with `display="none"` or of an unreadable size, hidden
//! sections, paragraphs and fields, deleted text, annotations; and text that is struck through, because it no longer holds.

use super::styles::{Look, Styles};
use super::xml::{self, Tag, Visit};
use super::{Fault, Package, Read, Text, fault};
use crate::retrieval::corpus::document::{Fields, Position};
use crate::retrieval::corpus::flow::{Gap, Story};
use crate::retrieval::corpus::notes::Notes;
use crate::unicode::baseline::Shift;

/// Elements that are left out with all they hold.
#[rustfmt::skip]
const LEFT_OUT: &[&str] = &[
    "tracked-changes", "annotation", "note-citation", "script", "forms", "sequence-decls", "ruby-text",
];
/// Elements whose paragraphs are separate from the paragraph that holds them.
#[rustfmt::skip]
const SHAPES: &[&str] = &[
    "frame", "custom-shape", "rect", "ellipse", "circle", "polygon", "regular-polygon", "polyline", "path", "line", "connector",
    "caption", "g",
];
const CONTENT: &str = "content.xml";

/// The text of a document.
///
/// # Errors
/// An archive that is not an OpenDocument text, that is encrypted, broken or exceeds the limits.
pub(super) fn read(bytes: Vec<u8>) -> Result<Read, Fault> {
    const WHAT: &str = "an OpenDocument text (.odt)";
    let mut package = Package::open(bytes, WHAT)?;
    let mut notes = Notes::default();
    refuse_encrypted(&mut package)?;
    let content = package.needed(CONTENT, WHAT)?;
    let mut reading = Reading::default();
    // Styles are read first; the text of headers and footers, which is stored among them, is not.
    if let Some(styles) = package.part("styles.xml")? {
        xml::read("styles.xml", &styles, &mut reading)?;
        reading.body = Story::default();
    }
    xml::read(CONTENT, &content, &mut reading)?;
    // The date is the file's, not the document's.
    let meta = package.optional("meta.xml", &mut notes)?;
    let title = meta.and_then(|meta| xml::first_value("meta.xml", &meta, "title", &mut notes));
    package.note_unread(&["Pictures/", "media/"], &mut notes);
    if reading.objects > 0 {
        notes.add(format!("embedded objects (formulas, charts, tables) are not read: {}", reading.objects));
    }
    let ((body, marks), footnotes) = (reading.body.finish_with_marks(), reading.notes.finish());
    let text = if footnotes.is_empty() { body } else { format!("{body}\n\n{footnotes}") };
    let fields = Fields { title, ..Fields::default() };
    Ok(Read { texts: vec![Text { fields, text, position: Position::Extracted, marks }], notes })
}

/// Refuses an OpenDocument file whose content is encrypted, by its manifest.
///
/// # Errors
/// An encrypted file; a manifest that exceeds the limits.
pub(in crate::retrieval::corpus) fn refuse_encrypted(package: &mut Package) -> Result<(), Fault> {
    let manifest = package.part("META-INF/manifest.xml")?.unwrap_or_default();
    match manifest.contains("encryption-data") {
        true => Err(fault("a document without a password", "an encrypted one")),
        false => Ok(()),
    }
}

impl Look {
    /// Takes text or section properties.
    fn take(&mut self, tag: &Tag<'_>) {
        let small = |size: String| {
            let points = size.strip_suffix("pt").and_then(|number| number.trim().parse::<f64>().ok());
            points.map(|points| points < 1.0)
        };
        // "super 58%", "sub 58%", or percent above the line.
        let level = |position: String| match position.split_whitespace().next()?.trim_end_matches('%') {
            "super" => Some(Some(Shift::Raised)),
            "sub" => Some(Some(Shift::Lowered)),
            number => number.parse::<f64>().ok().map(|percent| match percent {
                above if above > 0.0 => Some(Shift::Raised),
                below if below < 0.0 => Some(Shift::Lowered),
                _ => None,
            }),
        };
        let struck = tag.value("text-line-through-style").or_else(|| tag.value("text-line-through-type"));
        let own = Self {
            hidden: tag.value("display").map(|display| display == "none"),
            tiny: tag.value("font-size").and_then(small),
            struck: struck.map(|line| line != "none"),
            struck_twice: None,
            level: tag.value("text-position").and_then(level),
        };
        *self = own.over(*self);
    }
}

/// A style being defined: its name, its properties, and the style that it is based on.
type Definition = (String, Look, Option<String>);

#[derive(Default)]
struct Reading {
    body: Story,
    notes: Story,
    styles: Styles,
    style: Option<Definition>,
    /// Open elements below one that is left out.
    out: usize,
    in_notes: usize,
    /// The levels of the open paragraphs and spans.
    levels: Vec<Option<Shift>>,
    /// Embedded objects.
    objects: usize,
}

impl Reading {
    fn story(&mut self) -> &mut Story {
        if self.in_notes > 0 { &mut self.notes } else { &mut self.body }
    }

    /// The look of the style that `tag` names.
    fn look(&self, tag: &Tag<'_>) -> Look {
        tag.value("style-name").map_or(Look::default(), |style| self.styles.look(&style))
    }

    /// Whether an element hides what it holds.
    fn hides(&self, name: &str, tag: &Tag<'_>) -> bool {
        match name {
            "p" | "h" | "span" => !self.look(tag).is_seen(),
            "section" => tag.value("display").is_some_and(|display| display == "none") || !self.look(tag).is_seen(),
            "hidden-text" | "hidden-paragraph" => tag.is("is-hidden"),
            name => LEFT_OUT.contains(&name),
        }
    }
}

impl Visit for Reading {
    fn start(&mut self, tag: &Tag<'_>) {
        let name = tag.name();
        if self.out > 0 || self.hides(&name, tag) {
            self.out += 1;
            return;
        }
        match name.as_str() {
            "style" => {
                self.style = tag.value("name").map(|name| (name, Look::default(), tag.value("parent-style-name")));
            }
            "text-properties" | "section-properties" => self.style.iter_mut().for_each(|(_, look, _)| look.take(tag)),
            "p" | "h" => {
                self.levels.push(None);
                self.story().start_paragraph();
            }
            "span" => {
                let outer = self.levels.last().copied().flatten();
                let own = self.look(tag).level;
                self.levels.push(own.unwrap_or(outer));
            }
            "note-body" => self.in_notes += 1,
            "object" => self.objects += 1,
            "table" => self.story().start_table(),
            "table-row" => self.story().start_row(),
            // Cells that are covered by one of an earlier row or column are empty.
            "table-cell" => {
                let (columns, rows) = (tag.count("number-columns-spanned"), tag.count("number-rows-spanned"));
                self.story().start_cell_of(columns, rows);
            }
            "s" | "tab" => self.story().flow().widen(Gap::Space),
            "line-break" => self.story().flow().widen(Gap::Line),
            name if SHAPES.contains(&name) => self.story().open_box(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.out > 0 {
            self.out -= 1;
            return;
        }
        match name {
            "style" => {
                if let Some((name, look, base)) = self.style.take() {
                    self.styles.define(&name, look, base);
                }
            }
            "p" | "h" => {
                self.levels.pop();
                self.story().end_paragraph();
            }
            "span" => drop(self.levels.pop()),
            "note-body" => {
                self.story().flow().widen(Gap::Paragraph);
                self.in_notes = self.in_notes.saturating_sub(1);
            }
            "table-cell" => self.story().end_cell(),
            "table-row" => self.story().end_row(),
            "table" => self.story().end_table(),
            name if SHAPES.contains(&name) => self.story().close_box(),
            _ => {}
        }
    }

    fn letters(&mut self, text: &str) {
        let level = self.levels.last().copied().flatten();
        if self.out == 0 && self.story().in_paragraph() {
            self.story().flow().push_at(text, level);
        }
    }
}
