//! Letters with their positions.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Maximum part of a blank's width by which a letter is away from its start that is drawn as if the blank were not there.
const UNMOVED: f64 = 0.2;

/// A letter, or a white space. Coordinates are along and across the direction of its text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Glyph {
    /// In reading order: one character, or several of a ligature. Empty for white space.
    pub(super) text: String,
    /// Start and end along the line.
    pub(super) x0: f64,
    pub(super) x1: f64,
    /// Its line.
    pub(super) y: f64,
    /// Height of the font.
    pub(super) size: f64,
}

impl Glyph {
    pub(super) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether `self` and `other` are drawn at the same position.
    fn covers(&self, other: &Self) -> bool {
        let shared = self.x1.min(other.x1) - self.x0.max(other.x0);
        let narrow = (self.x1 - self.x0).min(other.x1 - other.x0);
        let size = self.size.max(other.size);
        // A mark without a width is at the end of its letter.
        (shared > 0.5 * narrow || (narrow <= 0.0 && shared >= -0.1 * size)) && (self.y - other.y).abs() < 0.6 * size
    }
}

/// The text of a glyph, without control characters; ligatures and letters shaped for their position are
/// replaced with plain letters. Empty for white space.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            // Latin ligatures; presentation forms of Hebrew and Arabic.
            '\u{fb00}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' => plain.extend(letter.nfkc()),
            letter if is_ignored(letter) || letter.is_whitespace() => {}
            letter => plain.push(letter),
        }
    }
    plain
}

/// Characters without an appearance: controls, and marks of direction, which positions replace.
pub(super) fn is_ignored(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

/// Joins marks that are drawn at the position of the letter before or after them to that letter, as TeX and OCR place
/// accents.
pub(super) fn join_marks(glyphs: Vec<Glyph>) -> Vec<Glyph> {
    let mut joined: Vec<Glyph> = Vec::with_capacity(glyphs.len());
    let mut glyphs = glyphs.into_iter().peekable();
    while let Some(glyph) = glyphs.next() {
        let Some(mark) = mark(&glyph.text) else {
            joined.push(glyph);
            continue;
        };
        let is_base = |base: &&mut Glyph| base.text.chars().any(char::is_alphabetic) && base.covers(&glyph);
        // Both orders occur. A combining mark follows its letter in most files.
        if let Some(base) = joined.last_mut().filter(is_base) {
            base.text = accented(&base.text, mark);
        } else if let Some(base) = glyphs.peek_mut().filter(is_base) {
            base.text = accented(&base.text, mark);
        } else {
            joined.push(glyph);
        }
    }
    joined
}

/// Leaves out blanks in whose width the next letter is drawn, close to the one before: soft hyphens that are not shown are drawn
/// so.
pub(super) fn without_unmoved_blanks(glyphs: Vec<Glyph>) -> Vec<Glyph> {
    let is_unmoved = |at: usize| {
        let (Some(before), Some(after)) = (at.checked_sub(1).and_then(|at| glyphs.get(at)), glyphs.get(at + 1)) else {
            return false;
        };
        let blank = &glyphs[at];
        let near = |x: f64, other: f64| (x - other).abs() < UNMOVED * (blank.x1 - blank.x0);
        let is_line = |other: &Glyph| !other.is_blank() && (other.y - blank.y).abs() < UNMOVED * blank.size;
        is_line(before) && is_line(after) && near(before.x1, blank.x0) && near(after.x0, blank.x0)
    };
    let kept: Vec<bool> = (0..glyphs.len()).map(|at| !glyphs[at].is_blank() || !is_unmoved(at)).collect();
    glyphs.into_iter().zip(kept).filter_map(|(glyph, kept)| kept.then_some(glyph)).collect()
}

/// A letter with a mark; letters without a dot get one back, because the mark replaces it.
fn accented(base: &str, mark: char) -> String {
    let dotted = base.chars().map(|letter| match letter {
        '\u{131}' => 'i',
        '\u{237}' => 'j',
        letter => letter,
    });
    dotted.chain([mark]).nfc().collect()
}

/// The combining form of a mark that is drawn as a glyph of its own.
fn mark(text: &str) -> Option<char> {
    let mut letters = text.chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else { return None };
    Some(match letter {
        '`' | '\u{2cb}' => '\u{300}',
        '\u{b4}' | '\u{2ca}' => '\u{301}',
        '^' | '\u{2c6}' => '\u{302}',
        '~' | '\u{2dc}' => '\u{303}',
        '\u{af}' | '\u{2c9}' => '\u{304}',
        '\u{2d8}' => '\u{306}',
        '\u{2d9}' => '\u{307}',
        '\u{a8}' => '\u{308}',
        '\u{2da}' | '\u{b0}' => '\u{30a}',
        '\u{2dd}' => '\u{30b}',
        '\u{2c7}' => '\u{30c}',
        '\u{b8}' => '\u{327}',
        '\u{2db}' => '\u{328}',
        letter if is_combining_mark(letter) => letter,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Glyph, join_marks, plain, without_unmoved_blanks};

    fn joined(letters: &[(&str, f64, f64)]) -> String {
        let glyph = |&(text, x0, x1): &(&str, f64, f64)| Glyph { text: text.into(), x0, x1, y: 0.0, size: 10.0 };
        join_marks(letters.iter().map(glyph).collect()).iter().map(|glyph| glyph.text.as_str()).collect()
    }

    #[test]
    fn marks_at_the_position_of_a_letter_are_joined_to_it() {
        assert_eq!(joined(&[("f", 0.0, 3.0), ("\u{b4}", 3.2, 8.2), ("e", 3.0, 7.4)]), "f\u{e9}");
        assert_eq!(joined(&[("f", 0.0, 3.0), ("e", 3.0, 7.4), ("\u{b4}", 3.2, 8.2)]), "f\u{e9}");
        assert_eq!(joined(&[("\u{a8}", 0.0, 5.0), ("\u{131}", 1.0, 4.0)]), "\u{ef}");
        assert_eq!(joined(&[("\u{2c7}", 0.0, 5.0), ("C", 0.0, 7.0)]), "\u{10c}");
        assert_eq!(joined(&[("e", 0.0, 4.4), ("\u{301}", 4.4, 4.4)]), "\u{e9}");
        assert_eq!(joined(&[("\u{5d1}", 0.0, 5.0), ("\u{5b8}", 1.0, 3.0)]), "\u{5d1}\u{5b8}");
    }

    #[test]
    fn marks_beside_a_letter_stay() {
        assert_eq!(joined(&[("x", 0.0, 5.0), ("^", 5.0, 10.0), ("2", 10.0, 15.0)]), "x^2");
        assert_eq!(
            joined(&[("2", 0.0, 5.0), ("0", 5.0, 10.0), ("\u{b0}", 10.0, 14.0), ("C", 14.0, 21.0)]),
            "20\u{b0}C"
        );
    }

    #[test]
    fn a_blank_that_moves_nothing_goes() {
        let blanks = |letters: &[(&str, f64, f64)]| {
            let glyph = |&(text, x0, x1): &(&str, f64, f64)| Glyph { text: text.into(), x0, x1, y: 0.0, size: 10.0 };
            let glyphs = without_unmoved_blanks(letters.iter().map(glyph).collect());
            glyphs.iter().filter(|glyph| glyph.is_blank()).count()
        };
        assert_eq!(blanks(&[("a", 0.0, 5.0), ("", 5.0, 7.5), ("b", 5.0, 10.0)]), 0);
        assert_eq!(blanks(&[("a", 0.0, 5.0), ("", 5.0, 7.5), ("b", 7.0, 12.0)]), 1);
        assert_eq!(blanks(&[("a", 0.0, 0.0), ("", 0.0, 0.0), ("b", 0.0, 0.0)]), 1, "a font without widths");
    }

    #[test]
    fn letters_are_plain() {
        assert_eq!(plain("\u{fb01}\u{fb03}\u{200f}\u{a0}"), "fiffi");
        assert_eq!(plain("\u{fefb}"), "\u{644}\u{627}");
        assert_eq!(plain(" \t\u{7}"), "");
        assert_eq!(plain("\u{ad}"), "\u{ad}");
    }
}
