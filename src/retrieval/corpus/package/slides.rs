//! Presentations (Office Open XML, ISO/IEC 29500, PresentationML): the slides in their order, each with its speaker's notes.
//!
//! Left out are hidden slides, numbers, dates and footers of slides, struck text, and the fallback of an alternative that was
//! already read.

use super::relations;
use super::xml::{self, Tag, Visit};
use super::{Fault, Package, Read, Text, fault};
use crate::retrieval::corpus::document::{Fields, Position};
use crate::retrieval::corpus::flow::{Gap, Story};
use crate::retrieval::corpus::marks::Marks;
use crate::retrieval::corpus::notes::Notes;
use crate::unicode::baseline::Shift;

const PRESENTATION: &str = "ppt/presentation.xml";
/// Most slides of a presentation.
const MAX_SLIDES: usize = 10_000;
/// Kinds of placeholders that hold no text of the slide.
const LEFT_OUT: &[&str] = &["sldNum", "dt", "ftr", "hdr", "sldImg"];

/// The slides of a presentation.
///
/// # Errors
/// An archive that is not a presentation, that is broken or exceeds the limits. A slide that is missing or broken is
/// reported in the notes.
pub(super) fn read(bytes: Vec<u8>) -> Result<Read, Fault> {
    const WHAT: &str = "a presentation (.pptx)";
    let mut package = Package::open(bytes, WHAT)?;
    let mut notes = Notes::default();
    let mut order = Order::default();
    xml::read(PRESENTATION, &package.needed(PRESENTATION, WHAT)?, &mut order)?;
    if order.slides.len() > MAX_SLIDES {
        return Err(fault(format!("at most {MAX_SLIDES} slides"), order.slides.len().to_string()));
    }
    let parts = relations::of(&mut package, PRESENTATION)?;
    let core = package.optional("docProps/core.xml", &mut notes)?;
    let title = core.and_then(|core| xml::first_value("docProps/core.xml", &core, "title", &mut notes));
    let mut texts = Vec::new();
    for (at, id) in order.slides.iter().enumerate() {
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let Some((_, name)) = parts.get(id) else {
            notes.add(format!("slide {number} is missing"));
            continue;
        };
        if let Some(text) = slide(&mut package, number, name, &mut notes)? {
            let fields = Fields { title: title.clone(), ..Fields::default() };
            texts.push(Text { fields, text, position: Position::Page(number), marks: Marks::default() });
        }
    }
    package.note_unread(&["ppt/media/", "ppt/embeddings/", "ppt/charts/chart", "ppt/diagrams/data"], &mut notes);
    Ok(Read { texts, notes })
}

/// The text of a slide and its notes; `None` where it cannot be read.
fn slide(package: &mut Package, number: u32, name: &str, notes: &mut Notes) -> Result<Option<String>, Fault> {
    let before = notes.clone();
    let Some(markup) = package.optional(name, notes)? else {
        if *notes == before {
            notes.add(format!("slide {number} is missing"));
        }
        return Ok(None);
    };
    let mut reading = Reading::default();
    xml::read_or_note(name, &markup, &mut reading, notes);
    if reading.hidden {
        notes.add(format!("slide {number} is hidden and left out"));
        return Ok(None);
    }
    let mut text = reading.story.finish();
    let related = relations::of(package, name)?;
    let Some((_, name)) = related.values().find(|(kind, _)| kind == "notesSlide") else { return Ok(Some(text)) };
    if let Some(markup) = package.optional(name, notes)? {
        let mut spoken = Reading::default();
        xml::read_or_note(name, &markup, &mut spoken, notes);
        let spoken = spoken.story.finish();
        if !spoken.is_empty() {
            text = format!("{text}\n\nNotes: {spoken}").trim_start().to_owned();
        }
    }
    Ok(Some(text))
}

/// Relation ids of the slides, in order.
#[derive(Default)]
struct Order {
    slides: Vec<String>,
}

impl Visit for Order {
    fn start(&mut self, tag: &Tag<'_>) {
        if tag.name() == "sldId" {
            self.slides.extend(tag.prefixed("id"));
        }
    }

    fn end(&mut self, _: &str) {}

    fn letters(&mut self, _: &str) {}
}

/// A slide or its notes being read.
#[derive(Default)]
struct Reading {
    story: Story,
    hidden: bool,
    /// Open elements that are left out.
    out: usize,
    /// The open shape is a placeholder whose text is left out.
    unread_shape: bool,
    level: Option<Shift>,
    /// The run is struck through.
    struck: bool,
    /// Open elements of letters.
    texts: usize,
}

impl Visit for Reading {
    fn start(&mut self, tag: &Tag<'_>) {
        let name = tag.name();
        let is_number =
            || tag.value("type").is_some_and(|kind| kind.starts_with("slidenum") || kind.starts_with("datetime"));
        if self.out > 0 || name == "Fallback" || (name == "fld" && is_number()) {
            self.out += 1;
            return;
        }
        match name.as_str() {
            "sld" => self.hidden = tag.value("show").is_some_and(|show| matches!(show.as_str(), "0" | "false")),
            "sp" => self.unread_shape = false,
            "ph" => self.unread_shape = tag.value("type").is_some_and(|kind| LEFT_OUT.contains(&kind.as_str())),
            "p" => self.story.start_paragraph(),
            "r" => (self.level, self.struck) = (None, false),
            // In thousandths of a percent above the line.
            "rPr" => {
                self.struck = tag.value("strike").is_some_and(|strike| strike != "noStrike");
                self.level =
                    match tag.value("baseline").and_then(|value| value.trim_end_matches('%').parse::<f64>().ok()) {
                        Some(percent) if percent > 0.0 => Some(Shift::Raised),
                        Some(percent) if percent < 0.0 => Some(Shift::Lowered),
                        _ => None,
                    }
            }
            "t" => self.texts += 1,
            "tbl" => self.story.start_table(),
            "tr" => self.story.start_row(),
            "tc" => {
                self.story.start_cell();
                let begins = tag.count("rowSpan") > 1;
                if begins || tag.is("vMerge") {
                    self.story.join_cell(begins);
                }
            }
            "br" => self.story.flow().widen(Gap::Line),
            "tab" => self.story.flow().widen(Gap::Space),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.out > 0 {
            self.out -= 1;
            return;
        }
        match name {
            "p" => self.story.end_paragraph(),
            "r" => self.struck = false,
            "t" => self.texts = self.texts.saturating_sub(1),
            "tc" => self.story.end_cell(),
            "tr" => self.story.flow().widen(Gap::Paragraph),
            "tbl" => self.story.end_table(),
            "sp" => self.unread_shape = false,
            _ => {}
        }
    }

    fn letters(&mut self, text: &str) {
        if self.texts > 0 && self.out == 0 && !self.unread_shape && !self.struck {
            self.story.flow().push_at(text, self.level);
        }
    }
}
