//! Code pages of RTF: that of the document and those of its fonts.

use encoding_rs::Encoding;
use std::collections::HashMap;

/// Maximum fonts of a font table.
const MAX_FONTS: usize = 4096;

/// A code page by its number, as Windows counts them.
pub(super) type Page = u16;

/// Charset of ANSI letters, that of the document's code page, and that of symbols.
const ANSI: i64 = 0;
const DEFAULT: i64 = 1;
const SYMBOL: i64 = 2;

/// The meaning of bytes beyond ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    Coded(Page),
    /// Pictures of a symbol font.
    Symbols,
}

/// The code pages of a document.
#[derive(Debug)]
pub(super) struct Fonts {
    /// Of the document (`\ansicpg`).
    page: Page,
    /// Charset or code page of each font.
    fonts: HashMap<i64, Font>,
    /// The font that the table is defining.
    defined: i64,
    /// The font of text that names none (`\deff`).
    default: i64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Font {
    charset: Option<i64>,
    page: Option<Page>,
}

impl Default for Fonts {
    fn default() -> Self {
        Self { page: 1252, fonts: HashMap::new(), defined: 0, default: 0 }
    }
}

impl Fonts {
    /// The document's code page is `number`.
    pub(super) fn set_page(&mut self, number: i64) {
        self.page = Page::try_from(number).unwrap_or_default();
    }

    /// The font of text that names none.
    pub(super) fn set_default(&mut self, font: i64) {
        self.default = font;
    }

    /// The table defines `font`.
    pub(super) fn define(&mut self, font: i64) {
        self.defined = font;
    }

    /// The font being defined has this charset.
    pub(super) fn charset(&mut self, charset: i64) {
        self.with_defined(|font| font.charset = Some(charset));
    }

    /// The font being defined has this code page.
    pub(super) fn code_page(&mut self, number: i64) {
        self.with_defined(|font| font.page = Page::try_from(number).ok());
    }

    fn with_defined(&mut self, change: impl FnOnce(&mut Font)) {
        if self.fonts.len() < MAX_FONTS || self.fonts.contains_key(&self.defined) {
            change(self.fonts.entry(self.defined).or_default());
        }
    }

    /// The letters of text without a font: titles.
    pub(super) fn of_document(&self) -> Letters {
        Letters::Coded(self.page)
    }

    /// The letters of `font`, or of the default font.
    pub(super) fn letters(&self, font: Option<i64>) -> Letters {
        let font = self.fonts.get(&font.unwrap_or(self.default)).copied().unwrap_or_default();
        match (font.page, font.charset) {
            (Some(page), _) => Letters::Coded(page),
            (None, None | Some(DEFAULT)) => Letters::Coded(self.page),
            (None, Some(SYMBOL)) => Letters::Symbols,
            // A writer that gives every font this charset does not tell charsets apart: the document's code page counts.
            (None, Some(ANSI)) if !self.has_charsets() => Letters::Coded(self.page),
            (None, Some(charset)) => Letters::Coded(page_of(charset).unwrap_or(self.page)),
        }
    }

    /// Whether a font has a charset of letters other than ANSI.
    fn has_charsets(&self) -> bool {
        self.fonts.values().any(|font| font.charset.is_some_and(|charset| !matches!(charset, ANSI..=SYMBOL)))
    }
}

/// The code page of a Windows charset.
fn page_of(charset: i64) -> Option<Page> {
    Some(match charset {
        ANSI => 1252,
        77 => 10_000,
        78 | 128 => 932,
        129 => 949,
        130 => 1361,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        254 => 437,
        255 => 850,
        _ => return None,
    })
}

/// The encoding of a code page, if it can be read.
pub(super) fn encoding(page: Page) -> Option<&'static Encoding> {
    codepage::to_encoding_no_replacement(page)
}

#[cfg(test)]
mod tests {
    use super::{Fonts, Letters};

    fn fonts(page: i64, charsets: &[i64]) -> Fonts {
        let mut fonts = Fonts::default();
        fonts.set_page(page);
        for (number, charset) in charsets.iter().enumerate() {
            fonts.define(i64::try_from(number).unwrap());
            fonts.charset(*charset);
        }
        fonts
    }

    #[test]
    fn a_font_counts_before_the_document() {
        let two = fonts(1251, &[0, 238, 1, 2]);
        assert_eq!(
            [0, 1, 2, 3, 9].map(|font| two.letters(Some(font))),
            [Letters::Coded(1252), Letters::Coded(1250), Letters::Coded(1251), Letters::Symbols, Letters::Coded(1251)]
        );
        assert_eq!(fonts(1251, &[0, 0]).letters(Some(1)), Letters::Coded(1251));
        assert_eq!(fonts(1252, &[204]).letters(None), Letters::Coded(1251));
    }
}
