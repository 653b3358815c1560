//! Limits on the bytes that a PDF file decodes to.

use super::decode::{Filter, decoded_length};
use super::output::MAX_STREAM;
use super::reply::Refusal;
use super::widths;
use hayro_font::hayro_syntax::Filter as Named;
use hayro_font::hayro_syntax::object::{Array, Dict, Number, Object, ObjectIdentifier, Stream};
use hayro_font::hayro_syntax::page::Page;
use std::collections::HashSet;

/// Decoded bytes of one file that stay in memory while it is read.
const MAX_KEPT: usize = 512 << 20;
/// Decoded bytes of one file in all; a form counts each time it is drawn.
const MAX_DECODED: usize = 4 << 30;
/// Text of one file.
const MAX_TEXT: usize = 64 << 20;
/// Maximum letters of a page; a newspaper's has some 50,000.
pub(super) const MAX_LETTERS: usize = 1_000_000;
/// Maximum columns of a predictor, for which a row is allocated.
pub(super) const MAX_COLUMNS: u64 = 1 << 20;
/// Maximum depth from a font's dictionary to its streams.
const FONT_DEPTH: usize = 6;
/// Widths of letters that all fonts of a file list.
const MAX_WIDTHS: usize = 4 << 20;
/// Memory that hayro takes for each byte of a font's map from codes to letters: `<0><0>` becomes two ranges on the heap.
const MAP_EXPANSION: usize = 8;

/// The bound that a file exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    /// Decoded bytes of one stream.
    Stream,
    /// Decoded bytes in memory.
    Kept,
    /// Decoded bytes in all.
    Decoded,
    /// Bytes of text.
    Text,
    /// Letters of one page.
    Letters,
    /// Objects that overlap in the file.
    Overlapping,
    /// Widths of letters in fonts.
    Widths,
    /// A predictor whose rows have no bytes.
    Predictor,
    /// Nodes of the page tree that have the same children.
    PageTree,
}

impl Excess {
    pub(super) fn refusal(self) -> Refusal {
        let mib = |bytes: usize| format!("{} MiB", bytes >> 20);
        let (expected, found) = match self {
            Self::Stream => (format!("a PDF whose streams decode to at most {} each", mib(MAX_STREAM)), "more in one"),
            Self::Kept => (format!("a PDF that decodes to at most {}", mib(MAX_KEPT)), "more"),
            Self::Decoded => (format!("a PDF whose pages decode to at most {}", mib(MAX_DECODED)), "more"),
            Self::Text => (format!("a PDF of at most {} of text", mib(MAX_TEXT)), "more"),
            Self::Letters => (format!("a PDF of at most {MAX_LETTERS} letters on a page"), "more"),
            Self::Overlapping => ("a PDF that can be read".to_owned(), "one whose objects overlap"),
            Self::Widths => (format!("a PDF whose fonts list at most {MAX_WIDTHS} widths"), "more"),
            Self::Predictor => ("a PDF whose predictors have columns and colours".to_owned(), "none"),
            Self::PageTree => ("a PDF whose page tree is a tree".to_owned(), "nodes with the same children"),
        };
        Refusal::new(expected, found)
    }
}

/// The bytes that a file may still decode.
pub(super) struct Budget {
    kept: usize,
    decoded: usize,
    text: usize,
    widths: usize,
    /// Streams of fonts already charged.
    fonts: HashSet<ObjectIdentifier>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { kept: MAX_KEPT, decoded: MAX_DECODED, text: MAX_TEXT, widths: MAX_WIDTHS, fonts: HashSet::new() }
    }

    /// Takes `bytes` that stay in memory.
    pub(super) fn keep(&mut self, bytes: usize) -> Result<(), Excess> {
        self.kept = self.kept.checked_sub(bytes).ok_or(Excess::Kept)?;
        self.decode(bytes)
    }

    fn decode(&mut self, bytes: usize) -> Result<(), Excess> {
        self.decoded = self.decoded.checked_sub(bytes).ok_or(Excess::Decoded)?;
        Ok(())
    }

    /// Takes `bytes` of text.
    pub(super) fn text(&mut self, bytes: usize) -> Result<(), Excess> {
        self.text = self.text.checked_sub(bytes).ok_or(Excess::Text)?;
        Ok(())
    }

    /// Charges the content of `page`, which hayro decodes whole and keeps.
    pub(super) fn page(&mut self, page: &Page<'_>) -> Result<(), Excess> {
        let dict = page.raw();
        if let Some(stream) = dict.get::<Stream<'_>>(b"Contents") {
            return self.keep(length(&stream)?);
        }
        let Some(parts) = dict.get::<Array<'_>>(b"Contents") else { return Ok(()) };
        // hayro puts a space behind each part.
        parts.iter::<Stream<'_>>().try_for_each(|stream| self.keep(length(&stream)? + 1))
    }

    /// Charges a form, which is decoded each time it is drawn.
    pub(super) fn form(&mut self, stream: &Stream<'_>) -> Result<(), Excess> {
        self.decode(length(stream)?)
    }

    /// Charges a font: its tables, and each of its streams once.
    pub(super) fn font(&mut self, dict: &Dict<'_>) -> Result<(), Excess> {
        self.tables(dict)?;
        let descendants = dict.get::<Array<'_>>(b"DescendantFonts");
        if let Some(descendant) = descendants.and_then(|fonts| fonts.iter::<Dict<'_>>().next()) {
            self.tables(&descendant)?;
        }
        self.font_part(&Object::Dict(dict.clone()), 0)
    }

    /// Charges what hayro builds anew for each font, shared in the file or not: maps, names and widths.
    fn tables(&mut self, dict: &Dict<'_>) -> Result<(), Excess> {
        for key in [&b"ToUnicode"[..], b"Encoding", b"CIDToGIDMap"] {
            match dict.get::<Object<'_>>(key) {
                Some(Object::Stream(stream)) => self.keep(length(&stream)?.saturating_mul(MAP_EXPANSION))?,
                Some(Object::Dict(encoding)) => {
                    let names = encoding.get::<Array<'_>>(b"Differences").map_or(0, |names| names.data().len());
                    self.keep(names.saturating_mul(MAP_EXPANSION))?;
                }
                _ => {}
            }
        }
        let programs = dict.get::<Dict<'_>>(b"CharProcs").map_or(0, |programs| programs.data().len());
        self.keep(programs.saturating_mul(MAP_EXPANSION))?;
        let listed = widths::listed(dict);
        self.widths = self.widths.checked_sub(listed).ok_or(Excess::Widths)?;
        Ok(())
    }

    fn font_part(&mut self, object: &Object<'_>, depth: usize) -> Result<(), Excess> {
        if depth > FONT_DEPTH {
            return Ok(());
        }
        let dict = match object {
            Object::Stream(stream) => {
                if self.fonts.insert(stream.obj_id()) {
                    self.keep(length(stream)?)?;
                }
                stream.dict().clone()
            }
            Object::Dict(dict) => dict.clone(),
            Object::Array(array) => return array.iter().try_for_each(|part| self.font_part(&part, depth + 1)),
            _ => return Ok(()),
        };
        // hayro decodes no other streams of a font; images of glyphs (Type 3) are not decoded for text.
        const PARTS: &[&[u8]] =
            &[b"DescendantFonts", b"FontDescriptor", b"FontFile", b"FontFile2", b"FontFile3", b"UseCMap"];
        let parts = PARTS.iter().filter_map(|key| dict.get::<Object<'_>>(key));
        parts.collect::<Vec<_>>().iter().try_for_each(|part| self.font_part(part, depth + 1))
    }
}

/// Bytes that hayro will decode `stream` to.
fn length(stream: &Stream<'_>) -> Result<usize, Excess> {
    let filters: Vec<Filter> = stream.filters().iter().map(|filter| known(*filter)).collect();
    if filters.contains(&Filter::Picture) {
        return Ok(0);
    }
    let mut early = true;
    let mut look = |parameters: &Dict<'_>| {
        early &= parameters.get::<u8>(b"EarlyChange") != Some(0);
        if parameters.get::<usize>(b"Columns").is_some_and(|columns| columns as u64 > MAX_COLUMNS) {
            return Err(Excess::Stream);
        }
        // hayro divides by the bytes of a row.
        const SIZES: [&[u8]; 3] = [b"Columns", b"Colors", b"BitsPerComponent"];
        let empty = |key: &&[u8]| parameters.get::<Number>(*key).is_some_and(|size| size.as_f64() < 1.0);
        if parameters.get::<u8>(b"Predictor").is_some_and(|kind| kind > 1) && SIZES.iter().any(empty) {
            return Err(Excess::Predictor);
        }
        Ok(())
    };
    for key in [&b"DP"[..], b"DecodeParms"] {
        match stream.dict().get::<Object<'_>>(key) {
            Some(Object::Dict(parameters)) => look(&parameters)?,
            Some(Object::Array(all)) => all.iter::<Dict<'_>>().try_for_each(|parameters| look(&parameters))?,
            _ => {}
        }
    }
    decoded_length(&filters, early, &stream.raw_data()).map_err(|_| Excess::Stream)
}

fn known(filter: Named) -> Filter {
    match filter {
        Named::AsciiHexDecode => Filter::Hex,
        Named::Ascii85Decode => Filter::Base85,
        Named::LzwDecode => Filter::Lzw,
        Named::FlateDecode => Filter::Flate,
        Named::RunLengthDecode => Filter::RunLength,
        Named::Crypt => Filter::Crypt,
        Named::CcittFaxDecode | Named::Jbig2Decode | Named::DctDecode | Named::JpxDecode => Filter::Picture,
    }
}
