//! Word documents (Office Open XML, ISO/IEC 29500): body, footnotes and endnotes.
//!
//! Left out is what a reader does not see: hidden text (`vanish`, by the run or by its style), deleted and moved-away text,
//! instructions of fields, comments, headers and footers, and the fallback of an alternative that was already read.

use super::xml::{self, Tag, Visit};
use super::{Fault, Package, Read, Text};
use crate::retrieval::corpus::document::{Fields, Position};
use crate::retrieval::corpus::flow::{Gap, Story};
use crate::retrieval::corpus::notes::Notes;
use crate::unicode::baseline::Shift;
use std::collections::HashMap;

/// Elements that are left out with all they hold. Deleted text has elements of its own (`delText`), which are not read; `rt` is
/// the reading of an ideograph.
const LEFT_OUT: &[&str] = &["moveFrom", "Fallback", "instrText", "sectPr", "rt"];

/// The text of a document.
///
/// # Errors
/// An archive that is no Word document, that is broken or exceeds the limits.
pub(super) fn read(bytes: Vec<u8>) -> Result<Read, Fault> {
    const WHAT: &str = "a Word document (.docx)";
    let mut package = Package::open(bytes, WHAT)?;
    let mut notes = Notes::default();
    let body = package.needed("word/document.xml", WHAT)?;
    // All parts are decoded, within the limits, before any is read.
    let styles = package.part("word/styles.xml")?;
    let mut footnotes = Vec::new();
    for name in ["word/footnotes.xml", "word/endnotes.xml"] {
        footnotes.extend(package.optional(name, &mut notes)?.map(|part| (name, part)));
    }
    let core = package.optional("docProps/core.xml", &mut notes)?;
    let mut known = Styles::default();
    if let Some(styles) = styles {
        xml::read("word/styles.xml", &styles, &mut known)?;
    }
    let mut reading = Reading { styles: known.styles, ..Reading::default() };
    xml::read("word/document.xml", &body, &mut reading)?;
    for (name, part) in footnotes {
        reading.out = 0;
        xml::read_or_note(name, &part, &mut reading, &mut notes);
    }
    package.note_unread(&["word/media/", "word/embeddings/", "word/charts/chart", "word/diagrams/data"], &mut notes);
    // The dates of the properties are the file's, not the document's.
    let title = core.and_then(|core| xml::first_value("docProps/core.xml", &core, "title", &mut notes));
    let fields = Fields { title, ..Fields::default() };
    Ok(Read { texts: vec![Text { fields, text: reading.story.finish(), position: Position::Extracted }], notes })
}

/// How a run is shown.
#[derive(Debug, Clone, Copy, Default)]
struct Look {
    hidden: bool,
    level: Option<Shift>,
}

impl Look {
    /// Takes the property `name`, if it is one of these.
    fn set(&mut self, name: &str, tag: &Tag<'_>) {
        match name {
            "vanish" => {
                self.hidden = tag.value("val").is_none_or(|value| !matches!(value.as_str(), "0" | "false" | "off"));
            }
            // In half points: below 1 pt nothing can be read.
            "sz" => {
                self.hidden |=
                    tag.value("val").and_then(|value| value.parse::<u32>().ok()).is_some_and(|size| size < 2);
            }
            "vertAlign" => {
                self.level = match tag.value("val").as_deref() {
                    Some("superscript") => Some(Shift::Raised),
                    Some("subscript") => Some(Shift::Lowered),
                    _ => None,
                }
            }
            // In half points above the line.
            "position" => match tag.value("val").and_then(|value| value.parse::<i32>().ok()) {
                Some(points) if points > 0 => self.level = Some(Shift::Raised),
                Some(points) if points < 0 => self.level = Some(Shift::Lowered),
                _ => {}
            },
            _ => {}
        }
    }
}

/// Styles that hide, raise or lower their text.
#[derive(Default)]
struct Styles {
    styles: HashMap<String, Look>,
    open: Option<(String, Look)>,
}

impl Visit for Styles {
    fn start(&mut self, tag: &Tag<'_>) {
        match tag.name().as_str() {
            "style" => self.open = tag.value("styleId").map(|style| (style, Look::default())),
            name => self.open.iter_mut().for_each(|(_, look)| look.set(name, tag)),
        }
    }

    fn end(&mut self, name: &str) {
        if name == "style"
            && let Some((style, look)) = self.open.take().filter(|(_, look)| look.hidden || look.level.is_some())
        {
            self.styles.insert(style, look);
        }
    }

    fn letters(&mut self, _: &str) {}
}

#[derive(Default)]
struct Reading {
    story: Story,
    styles: HashMap<String, Look>,
    /// Open elements that are left out.
    out: usize,
    /// For each open paragraph and run, how it is shown.
    runs: Vec<Look>,
    /// Levels of the open parts of formulas: `10^6` is an element with a base and a superscript.
    formula: Vec<Shift>,
    /// Open properties of paragraphs, whose run properties are those of the paragraph mark.
    properties: usize,
    /// Open elements of letters.
    texts: usize,
}

impl Reading {
    fn seen(&self) -> bool {
        self.out == 0 && !self.runs.iter().any(|run| run.hidden)
    }

    /// The last open paragraph or run.
    fn with_run(&mut self, change: impl FnOnce(&mut Look)) {
        if let Some(run) = self.runs.last_mut() {
            change(run);
        }
    }

    /// The style that `tag` names, if it hides, raises or lowers.
    fn style(&self, tag: &Tag<'_>) -> Option<Look> {
        self.styles.get(&tag.value("val")?).copied()
    }

    fn push(&mut self, text: &str) {
        let level = self.runs.last().and_then(|run| run.level).or_else(|| self.formula.last().copied());
        self.story.flow().push_at(text, level);
    }
}

impl Visit for Reading {
    fn start(&mut self, tag: &Tag<'_>) {
        let name = tag.name();
        if self.out > 0 || LEFT_OUT.contains(&name.as_str()) {
            self.out += 1;
            return;
        }
        match name.as_str() {
            "p" => {
                self.runs.push(Look::default());
                self.story.start_paragraph();
            }
            "r" => self.runs.push(Look::default()),
            "pPr" => self.properties += 1,
            "t" => self.texts += 1,
            "tc" => self.story.start_cell(),
            "txbxContent" => self.story.open_box(),
            "sup" => self.formula.push(Shift::Raised),
            "sub" => self.formula.push(Shift::Lowered),
            "rad" if self.seen() => self.push("\u{221a}"),
            "tab" | "ptab" if self.properties == 0 => self.story.flow().widen(Gap::Space),
            "br" | "cr" => self.story.flow().widen(Gap::Line),
            "noBreakHyphen" if self.seen() => self.push("-"),
            "pStyle" => {
                if let Some(style) = self.style(tag) {
                    self.with_run(|run| run.hidden = style.hidden);
                }
            }
            // Run properties of a paragraph's properties concern the mark alone.
            "rStyle" if self.properties == 0 => {
                if let Some(style) = self.style(tag) {
                    self.with_run(|run| *run = style);
                }
            }
            name if self.properties == 0 => self.with_run(|run| run.set(name, tag)),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.out > 0 {
            self.out -= 1;
            return;
        }
        match name {
            "p" => {
                self.runs.pop();
                self.story.end_paragraph();
            }
            "r" => drop(self.runs.pop()),
            "pPr" => self.properties = self.properties.saturating_sub(1),
            "t" => self.texts = self.texts.saturating_sub(1),
            "tc" => self.story.end_cell(),
            "tr" | "tbl" => self.story.flow().widen(Gap::Paragraph),
            "txbxContent" => self.story.close_box(),
            "sup" | "sub" => drop(self.formula.pop()),
            // The numerator of a fraction.
            "num" if self.seen() => self.push("/"),
            _ => {}
        }
    }

    fn letters(&mut self, text: &str) {
        if self.texts > 0 && self.seen() {
            self.push(text);
        }
    }
}
