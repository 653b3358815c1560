//! Word documents (Office Open XML, ISO/IEC 29500): body, footnotes and endnotes.
//!
//! Left out is what a reader does not see: hidden text (`vanish`, by the run or by its style), deleted and moved-away text,
//! instructions of fields, comments, headers and footers, and the fallback of an alternative that was already read.

use super::xml::{self, Tag, Visit};
use super::{Fault, Package, Text};
use crate::retrieval::corpus::document::Fields;
use crate::retrieval::corpus::flow::{Flow, Gap};
use std::collections::HashSet;

/// Elements that are left out with all they hold. Deleted text has elements of its own (`delText`), which are not read.
const LEFT_OUT: &[&str] = &["moveFrom", "Fallback", "instrText", "sectPr"];

/// The text of a document.
///
/// # Errors
/// An archive that is no Word document, that is broken or exceeds the limits.
pub(super) fn read(bytes: Vec<u8>) -> Result<Vec<Text>, Fault> {
    const WHAT: &str = "a Word document (.docx)";
    let mut package = Package::open(bytes, WHAT)?;
    let body = package.needed("word/document.xml", WHAT)?;
    // All parts are decoded, within the limits, before any is read.
    let styles = package.part("word/styles.xml")?;
    let mut notes = Vec::new();
    for name in ["word/footnotes.xml", "word/endnotes.xml"] {
        notes.extend(package.part(name)?.map(|part| (name, part)));
    }
    let core = package.part("docProps/core.xml")?;
    let mut hidden = Styles::default();
    if let Some(styles) = styles {
        xml::read("word/styles.xml", &styles, &mut hidden)?;
    }
    let mut reading = Reading { hidden: hidden.names, ..Reading::default() };
    xml::read("word/document.xml", &body, &mut reading)?;
    for (name, part) in notes {
        xml::read(name, &part, &mut reading)?;
    }
    // The dates of the properties are the file's, not the document's.
    let title = match core {
        Some(core) => xml::values("docProps/core.xml", &core, &["title"])?.into_iter().next().map(|(_, title)| title),
        None => None,
    };
    Ok(vec![Text { fields: Fields { title, ..Fields::default() }, text: reading.flow.finish() }])
}

/// Styles whose text is hidden.
#[derive(Default)]
struct Styles {
    names: HashSet<String>,
    style: Option<String>,
}

impl Visit for Styles {
    fn start(&mut self, tag: &Tag<'_>) {
        match tag.name().as_str() {
            "style" => self.style = tag.value("styleId"),
            name => {
                if let Some(style) = self.style.as_ref().filter(|_| hides(name, tag) == Some(true)) {
                    self.names.insert(style.clone());
                }
            }
        }
    }

    fn end(&mut self, name: &str) {
        if name == "style" {
            self.style = None;
        }
    }

    fn letters(&mut self, _: &str) {}
}

/// Whether a property hides its run; `None` where it says nothing of it.
fn hides(name: &str, tag: &Tag<'_>) -> Option<bool> {
    match name {
        "vanish" => Some(tag.value("val").is_none_or(|value| !matches!(value.as_str(), "0" | "false" | "off"))),
        // In half points: below 1 pt nothing can be read.
        "sz" => tag.value("val").and_then(|value| value.parse::<u32>().ok()).filter(|size| *size < 2).map(|_| true),
        _ => None,
    }
}

#[derive(Default)]
struct Reading {
    flow: Flow,
    hidden: HashSet<String>,
    /// Open elements that are left out.
    out: usize,
    /// For each open paragraph and run, whether it is hidden.
    runs: Vec<bool>,
    /// Open properties of paragraphs, whose run properties are those of the paragraph mark.
    properties: usize,
    /// Open elements of letters, and open cells.
    texts: usize,
    cells: usize,
}

impl Reading {
    fn seen(&self) -> bool {
        self.out == 0 && !self.runs.contains(&true)
    }

    /// Sets whether the last open paragraph or run is hidden.
    fn hide(&mut self, hidden: bool) {
        if let Some(run) = self.runs.last_mut() {
            *run = hidden;
        }
    }

    /// Whether the style that `tag` names is hidden.
    fn is_hidden(&self, tag: &Tag<'_>) -> bool {
        tag.value("val").is_some_and(|style| self.hidden.contains(&style))
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
            "p" | "r" => self.runs.push(false),
            "pPr" => self.properties += 1,
            "t" => self.texts += 1,
            "tc" => self.cells += 1,
            "tab" | "ptab" if self.properties == 0 => self.flow.widen(Gap::Space),
            "br" | "cr" => self.flow.widen(Gap::Line),
            "noBreakHyphen" if self.seen() => self.flow.push("-"),
            "pStyle" if self.is_hidden(tag) => self.hide(true),
            // Run properties of a paragraph's properties concern the mark alone.
            "rStyle" if self.properties == 0 && self.is_hidden(tag) => self.hide(true),
            name if self.properties == 0 => hides(name, tag).into_iter().for_each(|hidden| self.hide(hidden)),
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
                self.flow.widen(if self.cells > 0 { Gap::Space } else { Gap::Paragraph });
            }
            "r" => drop(self.runs.pop()),
            "pPr" => self.properties = self.properties.saturating_sub(1),
            "t" => self.texts = self.texts.saturating_sub(1),
            "tc" => {
                self.cells = self.cells.saturating_sub(1);
                self.flow.widen(Gap::Space);
            }
            "tr" | "tbl" => self.flow.widen(Gap::Paragraph),
            _ => {}
        }
    }

    fn letters(&mut self, text: &str) {
        if self.texts > 0 && self.seen() {
            self.flow.push(text);
        }
    }
}
