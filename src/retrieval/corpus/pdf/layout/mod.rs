//! Text of a page from its letters and their positions.
//!
//! Letters become words and rows (`rows`), rows become parts in reading order (`columns`), parts become text (`text`). Letters
//! of each direction are laid out for themselves.

mod columns;
mod direction;
mod glyph;
mod gutter;
mod judge;
mod ragged;
mod rows;
mod text;

use super::matrix::Matrix;
use super::reply::PageText;
use columns::cut;
use direction::is_backwards;
use glyph::Glyph;
use text::Letters;
use unicode_normalization::UnicodeNormalization;

/// Degrees by which directions may differ that are laid out together; scanned pages are askew.
const ASKEW: f64 = 5.0;

/// Letters that are written in one direction.
#[derive(Debug)]
struct Written {
    /// The direction, in units of [`ASKEW`] degrees.
    angle: i32,
    direction: (f64, f64),
    glyphs: Vec<Glyph>,
}

/// Collects the letters of a page in the order in which it draws them.
#[derive(Debug, Default)]
pub(super) struct Layout {
    written: Vec<Written>,
    /// Letters without a Unicode value.
    unknown: usize,
}

/// A letter as a page draws it.
pub(super) struct Drawn {
    /// Its text; `None` if its font has no Unicode value for it.
    pub(super) text: Option<String>,
    /// Start and end of its part of the line, and the direction of its line, in the coordinates of `matrix`.
    pub(super) start: (f64, f64),
    pub(super) end: (f64, f64),
    pub(super) direction: (f64, f64),
    /// Its font's size, in the coordinates of `matrix`.
    pub(super) size: f64,
    pub(super) matrix: Matrix,
}

impl Layout {
    pub(super) fn letter(&mut self, drawn: Drawn) {
        let Drawn { text, start, end, direction, size, matrix } = drawn;
        let Some(text) = text else {
            self.unknown += 1;
            return;
        };
        let (plain, is_blank) = (glyph::plain(&text), text.chars().all(|c| c.is_whitespace() || c.is_control()));
        if plain.is_empty() && !is_blank {
            return;
        }
        let (ux, uy) = matrix.direction(direction);
        let angle = (uy.atan2(ux).to_degrees() / ASKEW).round() as i32;
        let at = self.written.iter().position(|written| written.angle == angle).unwrap_or_else(|| {
            self.written.push(Written { angle, direction: (ux, uy), glyphs: Vec::new() });
            self.written.len() - 1
        });
        let written = &mut self.written[at];
        let (ux, uy) = written.direction;
        let along = |(x, y): (f64, f64)| x * ux + y * uy;
        let (start, end) = (matrix.point(start), matrix.point(end));
        let y = start.1 * ux - start.0 * uy;
        let glyph = Glyph { text: plain, x0: along(start), x1: along(end), y, size: matrix.height(size) };
        // A letter at infinity, or without a size, is not seen.
        if [glyph.x0, glyph.x1, glyph.y, glyph.size].iter().all(|number| number.is_finite()) && glyph.size > 0.0 {
            written.glyphs.push(glyph);
        }
    }

    /// The text of this page alone. Hyphens at the ends of lines are kept: their removal needs the words of the whole
    /// file.
    pub(super) fn finish(mut self) -> PageText {
        self.written.sort_by_key(|written| std::cmp::Reverse(written.glyphs.len()));
        let mut page = PageText { unknown: self.unknown, ..PageText::default() };
        for written in self.written {
            let (text, is_uncertain) = lay_out(written.glyphs);
            page.is_uncertain |= is_uncertain;
            if !page.text.is_empty() && !text.is_empty() {
                page.text.push_str("\n\n");
            }
            page.text.push_str(&text);
        }
        page
    }
}

/// The text of letters of one direction, and whether its order is uncertain.
fn lay_out(glyphs: Vec<Glyph>) -> (String, bool) {
    let glyphs = glyph::without_unmoved_blanks(glyph::join_marks(glyphs));
    let columns::Parts { parts, is_uncertain } = cut(rows::rows(&glyphs), &glyphs);
    let mut text = text::text(&parts, &glyphs, Letters::Visual);
    if is_backwards(&text) {
        text = text::text(&parts, &glyphs, Letters::Logical);
    }
    (text.nfc().collect(), is_uncertain)
}
