//! The fonts of a file, each loaded once.

use super::budget::{Budget, Excess};
use hayro_font::hayro_cmap::{BfString, load_embedded};
use hayro_font::hayro_syntax::object::Dict;
use hayro_font::{CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Fonts by the address of their dictionary in the file.
pub(super) struct Fonts<'a> {
    loaded: RefCell<HashMap<(*const u8, usize), Option<Font<'a>>>>,
    /// Shares what fonts with equal dictionaries or programs have in common.
    cache: FontCache<'a>,
    /// Resolves fonts that are not embedded in the file.
    standard: FontResolverFn,
    maps: CMapResolverFn,
}

impl<'a> Fonts<'a> {
    pub(super) fn new() -> Self {
        let standard = |query: &FontQuery| {
            Some(match query {
                FontQuery::Standard(font) => font.get_font_data(),
                FontQuery::Fallback(query) => query.pick_standard_font().get_font_data(),
            })
        };
        Self {
            loaded: RefCell::default(),
            cache: FontCache::new(),
            standard: Arc::new(standard),
            maps: Arc::new(load_embedded),
        }
    }

    /// The font of `dict`, whose first use is charged to `budget`; `None` if it cannot be read.
    ///
    /// # Errors
    /// [`Excess`].
    pub(super) fn font(&self, dict: &Dict<'a>, budget: &mut Budget) -> Result<Option<Font<'a>>, Excess> {
        let data = dict.data();
        let key = (data.as_ptr(), data.len());
        if let Some(font) = self.loaded.borrow().get(&key) {
            return Ok(font.clone());
        }
        budget.font(dict)?;
        let font = self.cache.font(dict, &self.standard, &self.maps);
        self.loaded.borrow_mut().insert(key, font.clone());
        Ok(font)
    }
}

/// The text of a character code.
pub(super) fn letter(font: &Font<'_>, code: u32) -> Option<String> {
    let known = match font.glyph(font.map_code(code), code) {
        FontGlyph::Outline(glyph) => glyph.as_unicode(),
        FontGlyph::Type3(glyph) => glyph.as_unicode(),
    };
    known.map(|text| match text {
        BfString::Char(letter) => letter.to_string(),
        BfString::String(letters) => letters,
    })
}
