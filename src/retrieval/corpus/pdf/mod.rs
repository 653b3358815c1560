//! Text extraction from PDF files, page by page.
//!
//! Objects, streams and fonts are read by hayro, a PDF renderer without `unsafe` that returns errors for broken files. Its
//! fonts map codes to letters and widths. This module executes a page's text operators and derives spaces, lines and
//! paragraphs from the positions of the letters.

mod budget;
mod decode;
mod inflate;
mod layout;
mod packed;

use super::document::{Fields, Position};
use super::{Document, Entry, Reader};
use crate::error::Result;
use crate::retrieval::text::{self, input};
use budget::{Budget, Excess};
use hayro_font::hayro_cmap::{BfString, load_embedded};
use hayro_font::hayro_syntax::content::TypedIter;
use hayro_font::hayro_syntax::content::ops::TypedInstruction;
use hayro_font::hayro_syntax::object::{Dict, Name, Number, Object, Stream, String as Bytes};
use hayro_font::hayro_syntax::page::Resources;
use hayro_font::hayro_syntax::{LoadPdfError, Pdf};
use hayro_font::{CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn, UNITS_PER_EM};
use layout::{Layout, Matrix};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Maximum bytes of a PDF file. The limit is high because images make files long.
const MAX_FILE: u64 = 512 << 20;
/// Maximum nesting depth of forms.
const MAX_DEPTH: usize = 16;
/// Maximum operators of one page, forms included; bounds forms that draw each other.
const MAX_OPERATORS: usize = 4_000_000;
/// Maximum depth of the graphics state stack (`q`); the standard requires 28.
const MAX_STATES: usize = 1000;

/// The pages of a PDF file.
pub(super) struct Pages {
    entry: Entry,
    /// The remaining pages, once the file was read.
    pages: Option<std::vec::IntoIter<Document>>,
}

impl Pages {
    pub(super) fn new(entry: Entry) -> Self {
        Self { entry, pages: None }
    }

    fn read(&self) -> Result<Vec<Document>> {
        let path = &self.entry.path;
        let bytes = text::bytes(path, MAX_FILE)?;
        // A panic in the PDF reader fails this file alone.
        let read = catch_unwind(AssertUnwindSafe(|| read(bytes)));
        let pdf = match read {
            Ok(Ok(pdf)) => pdf,
            Ok(Err(Unread::Excess(excess))) => {
                let (expected, found) = excess.message();
                return Err(input(path, None, &expected, found));
            }
            Ok(Err(Unread::Pdf(LoadPdfError::Decryption(_)))) => {
                return Err(input(path, None, "a PDF that opens without a password", "an encrypted one"));
            }
            Ok(Err(Unread::Pdf(LoadPdfError::Invalid))) => {
                return Err(input(path, None, "a PDF", "something else, or a broken one"));
            }
            Err(_) => return Err(input(path, None, "a PDF that can be read", "one that makes the PDF reader panic")),
        };
        let pages = pdf.pages.len();
        if pdf.pages.iter().all(|page| page.text.trim().is_empty()) {
            let unnamed: usize = pdf.pages.iter().map(|page| page.unknown).sum();
            let what = if unnamed > 0 {
                format!("{unnamed} letters without a Unicode value in its fonts (on {pages} pages)")
            } else {
                format!("only pictures (on {pages} pages)")
            };
            return Err(input(path, None, "a PDF with text", what));
        }
        let page = |(page, number): (layout::Page, u32)| {
            let fields = Fields { title: pdf.title.clone(), ..Fields::default() };
            Document::new(&self.entry, fields, page.text, Position::Page(number))
        };
        Ok(pdf.pages.into_iter().zip(1..).filter(|(page, _)| !page.text.trim().is_empty()).map(page).collect())
    }
}

impl Reader for Pages {
    fn next(&mut self) -> Option<Result<Document>> {
        if self.pages.is_none() {
            match self.read() {
                Ok(pages) => self.pages = Some(pages.into_iter()),
                Err(e) => {
                    self.pages = Some(Vec::new().into_iter());
                    return Some(Err(e));
                }
            }
        }
        self.pages.as_mut()?.next().map(Ok)
    }

    fn bytes(&self) -> u64 {
        if self.pages.is_some() { self.entry.length } else { 0 }
    }
}

/// The text of a file.
struct PdfText {
    title: Option<String>,
    pages: Vec<layout::Page>,
}

/// Reason why a file could not be read.
enum Unread {
    Pdf(LoadPdfError),
    Excess(Excess),
}

impl From<LoadPdfError> for Unread {
    fn from(error: LoadPdfError) -> Self {
        Self::Pdf(error)
    }
}

impl From<Excess> for Unread {
    fn from(excess: Excess) -> Self {
        Self::Excess(excess)
    }
}

fn read(bytes: Vec<u8>) -> std::result::Result<PdfText, Unread> {
    let mut budget = Budget::new();
    packed::measure(&bytes, &mut budget)?;
    let pdf = Pdf::new(bytes)?;
    let fonts = Fonts::new();
    let mut pages = Vec::new();
    for page in pdf.pages().iter() {
        budget.page(page)?;
        let layout = Layout::default();
        let mut machine = Machine { fonts: &fonts, layout, operators: 0, budget: &mut budget, excess: None };
        machine.run(page.typed_operations(), page.resources(), State::default(), 0);
        if let Some(excess) = machine.excess {
            return Err(excess.into());
        }
        pages.push(machine.layout.finish());
    }
    // The date in the metadata is left out: it is the file's, not the document's.
    Ok(PdfText { title: pdf.metadata().title.as_deref().and_then(title), pages })
}

/// Decodes a title: UTF-16 or UTF-8 by its byte order mark, else one byte a character (PDF 32000-1, section 7.9.2.2).
fn title(bytes: &[u8]) -> Option<String> {
    let text = match bytes {
        [0xfe, 0xff, rest @ ..] => {
            let units: Vec<u16> = rest.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
            String::from_utf16_lossy(&units)
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => bytes.iter().map(|&byte| char::from(byte)).collect(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.strip_prefix("Microsoft Word - ").unwrap_or(&text);
    (!text.is_empty()).then(|| text.to_owned())
}

/// The fonts of a file, each loaded once.
struct Fonts<'a> {
    cache: FontCache<'a>,
    /// Resolves fonts that are not embedded in the file.
    standard: FontResolverFn,
    maps: CMapResolverFn,
}

impl<'a> Fonts<'a> {
    fn new() -> Self {
        let standard = |query: &FontQuery| {
            Some(match query {
                FontQuery::Standard(font) => font.get_font_data(),
                FontQuery::Fallback(query) => query.pick_standard_font().get_font_data(),
            })
        };
        Self { cache: FontCache::new(), standard: Arc::new(standard), maps: Arc::new(load_embedded) }
    }

    fn font(&self, dict: &Dict<'a>) -> Option<Font<'a>> {
        self.cache.font(dict, &self.standard, &self.maps)
    }
}

/// The graphics state that operators change, and that `q` and `Q` save and restore (PDF 32000-1, sections 8.4 and 9.3).
#[derive(Clone)]
struct State<'a> {
    page: Matrix,
    /// Matrices of the next letter and of the start of its line.
    text: Matrix,
    line: Matrix,
    font: Option<Font<'a>>,
    size: f64,
    letter_space: f64,
    word_space: f64,
    /// Horizontal scaling; 1 for none.
    scale: f64,
    leading: f64,
    rise: f64,
}

impl Default for State<'_> {
    fn default() -> Self {
        let one = Matrix::ONE;
        Self {
            page: one,
            text: one,
            line: one,
            font: None,
            size: 1.0,
            letter_space: 0.0,
            word_space: 0.0,
            scale: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }
}

impl State<'_> {
    fn next_line(&mut self, x: f64, y: f64) {
        self.line = self.line.then(Matrix::shift(x, y));
        self.text = self.line;
    }
}

/// Executes the text operators of a page.
struct Machine<'f, 'a> {
    fonts: &'f Fonts<'a>,
    layout: Layout,
    operators: usize,
    budget: &'f mut Budget,
    /// The bound that was exceeded; the page ends there.
    excess: Option<Excess>,
}

impl<'a> Machine<'_, 'a> {
    fn run(&mut self, mut operators: TypedIter<'_>, resources: &Resources<'a>, start: State<'a>, depth: usize) {
        let mut kept: Vec<State<'a>> = Vec::new();
        let mut state = start;
        while let Some(operator) = operators.next() {
            self.operators += 1;
            if self.operators > MAX_OPERATORS || self.excess.is_some() {
                return;
            }
            match operator {
                TypedInstruction::SaveState(_) if kept.len() >= MAX_STATES => {}
                TypedInstruction::SaveState(_) => kept.push(state.clone()),
                TypedInstruction::RestoreState(_) => state = kept.pop().unwrap_or(state),
                TypedInstruction::Transform(m) => {
                    state.page = state.page.then(matrix([&m.0, &m.1, &m.2, &m.3, &m.4, &m.5]));
                }
                TypedInstruction::XObject(name) if depth < MAX_DEPTH => {
                    if let Some(form) = resources.get_x_object(name.0) {
                        self.form(&form, resources, &state, depth);
                    }
                }
                other => self.text(&other, resources, &mut state),
            }
        }
    }

    /// Whether the budget sufficed; otherwise records the bound that was exceeded.
    fn within(&mut self, charged: std::result::Result<(), Excess>) -> bool {
        self.excess = charged.err();
        self.excess.is_none()
    }

    fn font(&mut self, name: &Name<'_>, resources: &Resources<'a>) -> Option<Font<'a>> {
        let dict = resources.get_font(name)?;
        let charged = self.budget.font(&dict);
        if self.within(charged) { self.fonts.font(&dict) } else { None }
    }

    /// Executes a form, which has operators and resources as a page.
    fn form(&mut self, stream: &Stream<'a>, resources: &Resources<'a>, state: &State<'a>, depth: usize) {
        let dict = stream.dict();
        if dict.get::<Name<'_>>(b"Subtype").is_none_or(|kind| &*kind != b"Form") {
            return;
        }
        let charged = self.budget.form(stream);
        if !self.within(charged) {
            return;
        }
        let Ok(operators) = stream.decoded_data() else { return };
        let own = dict.get::<Dict<'a>>(b"Resources").map(Resources::new);
        let mut state = state.clone();
        state.page = state.page.then(Matrix(dict.get::<[f64; 6]>(b"Matrix").unwrap_or(Matrix::ONE.0)));
        self.run(TypedIter::new(&operators), own.as_ref().unwrap_or(resources), state, depth + 1);
    }

    fn text(&mut self, operator: &TypedInstruction<'_, '_>, resources: &Resources<'a>, state: &mut State<'a>) {
        match operator {
            TypedInstruction::BeginText(_) => (state.text, state.line) = (Matrix::ONE, Matrix::ONE),
            TypedInstruction::SetTextMatrix(m) => {
                state.line = matrix([&m.0, &m.1, &m.2, &m.3, &m.4, &m.5]);
                state.text = state.line;
            }
            TypedInstruction::TextFont(font) => {
                state.font = self.font(font.0, resources);
                state.size = font.1.as_f64();
            }
            TypedInstruction::CharacterSpacing(space) => state.letter_space = space.0.as_f64(),
            TypedInstruction::WordSpacing(space) => state.word_space = space.0.as_f64(),
            TypedInstruction::HorizontalScaling(scale) => state.scale = scale.0.as_f64() / 100.0,
            TypedInstruction::TextLeading(leading) => state.leading = leading.0.as_f64(),
            TypedInstruction::TextRise(rise) => state.rise = rise.0.as_f64(),
            TypedInstruction::NextLine(to) => state.next_line(to.0.as_f64(), to.1.as_f64()),
            TypedInstruction::NextLineAndSetLeading(to) => {
                state.leading = -to.1.as_f64();
                state.next_line(to.0.as_f64(), to.1.as_f64());
            }
            TypedInstruction::NextLineUsingLeading(_) => state.next_line(0.0, -state.leading),
            TypedInstruction::NextLineAndShowText(shown) => {
                state.next_line(0.0, -state.leading);
                self.show(shown.0, state);
            }
            TypedInstruction::ShowTextWithParameters(shown) => {
                (state.word_space, state.letter_space) = (shown.0.as_f64(), shown.1.as_f64());
                state.next_line(0.0, -state.leading);
                self.show(shown.2, state);
            }
            TypedInstruction::ShowText(shown) => self.show(shown.0, state),
            TypedInstruction::ShowTexts(shown) => {
                for piece in shown.0.iter::<Object<'_>>() {
                    match piece {
                        Object::String(bytes) => self.show(&bytes, state),
                        Object::Number(by) => {
                            let by = -by.as_f64() / f64::from(UNITS_PER_EM) * state.size * state.scale;
                            state.text = state.text.then(Matrix::shift(by, 0.0));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn show(&mut self, bytes: &Bytes<'_>, state: &mut State<'a>) {
        let Some(font) = state.font.clone() else { return };
        let bytes = bytes.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let (code, length) = font.read_code(bytes, at);
            at += length.max(1);
            let space = if code == 32 && length == 1 { state.word_space } else { 0.0 };
            let reach = font.code_advance(code).x / f64::from(UNITS_PER_EM) * state.size;
            let whole = state.page.then(state.text);
            let letter = letter(&font, code);
            let charged = self.budget.text(letter.as_ref().map_or(0, String::len));
            if !self.within(charged) {
                return;
            }
            self.layout.letter(letter, whole, (0.0, state.rise), (reach * state.scale, state.rise), state.size);
            let step = (reach + state.letter_space + space) * state.scale;
            state.text = state.text.then(Matrix::shift(step, 0.0));
        }
    }
}

/// The text of a character code.
fn letter(font: &Font<'_>, code: u32) -> Option<String> {
    let known = match font.glyph(font.map_code(code), code) {
        FontGlyph::Outline(glyph) => glyph.as_unicode(),
        FontGlyph::Type3(glyph) => glyph.as_unicode(),
    };
    known.map(|text| match text {
        BfString::Char(letter) => letter.to_string(),
        BfString::String(letters) => letters,
    })
}

fn matrix(numbers: [&Number; 6]) -> Matrix {
    Matrix(numbers.map(Number::as_f64))
}
