//! Word documents (Office Open XML, ISO/IEC 29500): body, footnotes and endnotes.
//!
//! Left out is what a reader does not see: hidden text (`vanish`, by the run or by its style), deleted and moved-away text,
//! instructions of fields, comments, headers and footers, and the fallback of an alternative that was already read; and
//! text that is struck through, because it no longer holds.

use super::styles::{Look, Styles};
use super::symbols;
use super::xml::{self, Tag, Visit};
use super::{Fault, Package, Read, Text};
use crate::retrieval::corpus::document::{Fields, Position};
use crate::retrieval::corpus::flow::{Gap, Story};
use crate::retrieval::corpus::notes::Notes;
use crate::unicode::baseline::Shift;

/// Elements that are left out with all they hold. Deleted text has elements of its own (`delText`), which are not read; `rt` is
/// the reading of an ideograph; `rPrChange` and `pPrChange` hold the properties of before.
const LEFT_OUT: &[&str] = &["moveFrom", "Fallback", "instrText", "sectPr", "rt", "rPrChange", "pPrChange"];

/// Parts of notes, and the elements that refer to them.
const FOOTNOTES: [(&str, &str); 2] =
    [("word/footnotes.xml", "footnoteReference"), ("word/endnotes.xml", "endnoteReference")];

/// The text of a document.
///
/// # Errors
/// An archive that is not a Word document, that is broken or exceeds the limits.
pub(super) fn read(bytes: Vec<u8>) -> Result<Read, Fault> {
    const WHAT: &str = "a Word document (.docx)";
    let mut package = Package::open(bytes, WHAT)?;
    let mut notes = Notes::default();
    let body = package.needed("word/document.xml", WHAT)?;
    // All parts are decoded, within the limits, before any is read.
    let styles = package.part("word/styles.xml")?;
    let mut footnotes = Vec::new();
    for (name, reference) in FOOTNOTES {
        footnotes.push((name, reference, package.optional(name, &mut notes)?));
    }
    let core = package.optional("docProps/core.xml", &mut notes)?;
    let mut known = Definitions::default();
    if let Some(styles) = styles {
        xml::read("word/styles.xml", &styles, &mut known)?;
    }
    let mut reading = Reading { styles: known.styles, ..Reading::default() };
    xml::read("word/document.xml", &body, &mut reading)?;
    for (name, reference, part) in footnotes {
        reading.start_part();
        match part {
            Some(part) => xml::read_or_note(name, &part, &mut reading, &mut notes),
            None => {
                // A broken one was noted.
                let is_noted = notes.lines().iter().any(|note| note.starts_with(name));
                if reading.referred.contains(&reference) && !is_noted {
                    notes.add(format!("{name} is missing"));
                }
            }
        }
    }
    if reading.chunks > 0 {
        notes.add(format!("embedded documents are not read: {}", reading.chunks));
    }
    package.note_unread(&["word/media/", "word/embeddings/", "word/charts/chart", "word/diagrams/data"], &mut notes);
    // The dates of the properties are the file's, not the document's.
    let title = core.and_then(|core| xml::first_value("docProps/core.xml", &core, "title", &mut notes));
    let fields = Fields { title, ..Fields::default() };
    let (text, marks) = reading.story.finish_with_marks();
    Ok(Read { texts: vec![Text { fields, text, position: Position::Extracted, marks }], notes })
}

impl Look {
    /// Takes the property `name` of a run, if it is one of these.
    fn set(&mut self, name: &str, tag: &Tag<'_>) {
        let on = || tag.value("val").is_none_or(|value| !matches!(value.as_str(), "0" | "false" | "off"));
        match name {
            "vanish" => self.hidden = Some(on()),
            "strike" => self.struck = Some(on()),
            "dstrike" => self.struck_twice = Some(on()),
            // In half points: below 1 pt nothing can be read.
            "sz" => self.tiny = tag.value("val").and_then(|value| value.parse::<u32>().ok()).map(|size| size < 2),
            "vertAlign" => {
                self.level = Some(match tag.value("val").as_deref() {
                    Some("superscript") => Some(Shift::Raised),
                    Some("subscript") => Some(Shift::Lowered),
                    _ => None,
                });
            }
            // In half points above the line.
            "position" => match tag.value("val").and_then(|value| value.parse::<i32>().ok()) {
                Some(points) if points > 0 => self.level = Some(Some(Shift::Raised)),
                Some(points) if points < 0 => self.level = Some(Some(Shift::Lowered)),
                _ => {}
            },
            _ => {}
        }
    }
}

/// The definitions of styles being read.
#[derive(Default)]
struct Definitions {
    styles: Styles,
    open: Option<(String, Look, Option<String>)>,
}

impl Visit for Definitions {
    fn start(&mut self, tag: &Tag<'_>) {
        match tag.name().as_str() {
            "style" => self.open = tag.value("styleId").map(|style| (style, Look::default(), None)),
            "basedOn" => self.open.iter_mut().for_each(|(_, _, base)| *base = tag.value("val")),
            name => self.open.iter_mut().for_each(|(_, look, _)| look.set(name, tag)),
        }
    }

    fn end(&mut self, name: &str) {
        if name == "style"
            && let Some((style, look, base)) = self.open.take()
        {
            self.styles.define(&style, look, base);
        }
    }

    fn letters(&mut self, _: &str) {}
}

#[derive(Default)]
struct Reading {
    story: Story,
    styles: Styles,
    /// Open elements that are left out.
    out: usize,
    /// For each open paragraph and run, how it is shown.
    runs: Vec<Look>,
    /// Levels of the open parts of formulas: `10^6` is an element with a base and a superscript.
    formula: Vec<Shift>,
    /// The degree of a root whose radicand has not begun.
    degree: Option<String>,
    /// Open properties of paragraphs, whose run properties are those of the paragraph mark.
    properties: usize,
    /// Open elements of letters.
    texts: usize,
    /// Elements of [`FOOTNOTES`] in the body.
    referred: Vec<&'static str>,
    /// Documents that are to be inserted.
    chunks: usize,
}

impl Reading {
    /// Ends what a part that broke off left open: it would hide or join the text of the next one.
    fn start_part(&mut self) {
        let Self { story, styles, referred, chunks, .. } = std::mem::take(self);
        *self = Self { story, styles, referred, chunks, ..Self::default() };
        self.story.end_part();
    }

    fn seen(&self) -> bool {
        self.out == 0 && self.runs.iter().all(|run| run.is_seen())
    }

    /// The last open paragraph or run.
    fn with_run(&mut self, change: impl FnOnce(&mut Look)) {
        if let Some(run) = self.runs.last_mut() {
            change(run);
        }
    }

    /// The look of the style that `tag` names.
    fn style(&self, tag: &Tag<'_>) -> Look {
        tag.value("val").map_or(Look::default(), |style| self.styles.look(&style))
    }

    fn push(&mut self, text: &str) {
        let level = self.runs.last().and_then(|run| run.level.flatten()).or_else(|| self.formula.last().copied());
        self.story.flow().push_at(text, level);
    }

    /// Begins the radicand of the open root, if it has not begun: "\u{221a}(2)", "\u{b3}\u{221a}(27)".
    fn start_radicand(&mut self) {
        if let Some(degree) = self.degree.take().filter(|_| self.seen()) {
            self.push(&symbols::root(&degree));
            self.push("(");
        }
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
            "altChunk" => self.chunks += 1,
            "footnoteReference" | "endnoteReference" if self.seen() => {
                let known = FOOTNOTES.iter().map(|(_, reference)| *reference).find(|known| *known == name);
                self.referred.extend(known.filter(|known| !self.referred.contains(known)));
            }
            "tbl" => self.story.start_table(),
            "tr" => self.story.start_row(),
            "tc" => self.story.start_cell(),
            "vMerge" => self.story.join_cell(tag.value("val").is_some_and(|how| how == "restart")),
            "gridSpan" => self.story.widen_cell(tag.count("val")),
            "txbxContent" => self.story.open_box(),
            "sup" => self.formula.push(Shift::Raised),
            "sub" => self.formula.push(Shift::Lowered),
            "rad" => self.degree = Some(String::new()),
            "e" => self.start_radicand(),
            "f" if self.seen() => self.story.flow().part_numbers(),
            "sym" if self.seen() => {
                let symbol = symbols::symbol(tag.value("font").as_deref(), tag.value("char").as_deref());
                self.push(&symbol.to_string());
            }
            // Within the properties of a paragraph a tab is a tab stop.
            "tab" | "ptab" if self.properties == 0 => self.story.flow().widen(Gap::Space),
            "br" | "cr" => self.story.flow().widen(Gap::Line),
            "noBreakHyphen" if self.seen() => self.push("-"),
            "pStyle" => {
                // A paragraph's level is that of its mark alone.
                let style = Look { level: None, ..self.style(tag) };
                self.with_run(|run| *run = run.over(style));
            }
            // Run properties of a paragraph's properties concern the mark alone.
            "rStyle" if self.properties == 0 => {
                let style = self.style(tag);
                self.with_run(|run| *run = run.over(style));
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
            "tr" => self.story.flow().widen(Gap::Paragraph),
            "tbl" => self.story.end_table(),
            "txbxContent" => self.story.close_box(),
            "sup" | "sub" => drop(self.formula.pop()),
            "rad" if self.seen() => self.push(")"),
            // The numerator of a fraction.
            "num" if self.seen() => self.push("/"),
            _ => {}
        }
    }

    fn letters(&mut self, text: &str) {
        if self.texts == 0 || !self.seen() {
            return;
        }
        if let Some(degree) = &mut self.degree {
            degree.push_str(text);
        } else {
            self.push(text);
        }
    }
}
