//! Visibility of an element by its declarations of style. Colours are ignored, and of positions all but those far outside.

use super::cascade::Cascade;
use super::length;
use super::place::{self, Place};
use crate::unicode::baseline::Shift;

/// Values of `display`; a declaration with another one is ignored, as in CSS.
#[rustfmt::skip]
const DISPLAYS: &[&str] = &[
    "-webkit-box", "-webkit-flex", "block", "contents", "flex", "flow", "flow-root", "grid", "inherit", "initial", "inline",
    "inline-block", "inline-flex", "inline-grid", "inline-table", "list-item", "math", "none", "revert", "revert-layer", "ruby",
    "run-in", "table", "table-caption", "table-cell", "table-column", "table-column-group", "table-footer-group",
    "table-header-group", "table-row", "table-row-group", "unset",
];

#[rustfmt::skip]
const SIZES: &[&str] = &[
    "initial", "large", "larger", "medium", "small", "smaller", "x-large", "x-small", "xx-large", "xx-small", "xxx-large",
];

/// Font size in pixels below which text counts as hidden.
const READABLE: f64 = 1.0;

/// Settings of an element; `None` where it sets nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Style {
    /// Whether `display` is `none`.
    pub(super) undisplayed: Option<bool>,
    /// Transparent, `content-visibility: hidden`, struck through, clipped, without extent or far outside, which no descendant
    /// changes.
    pub(super) gone: bool,
    /// `visibility`.
    pub(super) invisible: Option<bool>,
    /// Whether `font-size` or `font` set a size too small to read.
    pub(super) sizeless: Option<bool>,
    /// `vertical-align`.
    pub(super) level: Option<Shift>,
}

/// Declarations of the properties that count.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Declared {
    undisplayed: Cascade<bool>,
    transparent: Cascade<bool>,
    skipped: Cascade<bool>,
    struck: Cascade<bool>,
    place: Place,
    invisible: Cascade<Option<bool>>,
    sizeless: Cascade<Option<bool>>,
    level: Cascade<Option<Shift>>,
}

impl Style {
    /// Whether an element of this style is not seen.
    pub(super) fn hides(self) -> bool {
        self.gone || self.undisplayed == Some(true) || self.invisible == Some(true) || self.sizeless == Some(true)
    }
}

impl Declared {
    /// Parses declarations, as of a `style` attribute; `None` where no property of them counts.
    pub(super) fn read(declarations: &str) -> Option<Self> {
        let text = plain(declarations);
        let mut declared = Self::default();
        let mut counts = false;
        for declaration in text.split(';') {
            let Some((property, value)) = declaration.split_once(':') else { continue };
            let (value, flag) = value.split_once('!').unwrap_or((value, ""));
            counts |= declared.declare(property.trim(), value.trim(), flag.trim() == "important");
        }
        counts.then_some(declared)
    }

    /// Takes the declarations of a later or stronger rule.
    pub(super) fn take(&mut self, stronger: &Self) {
        self.undisplayed.take(stronger.undisplayed);
        self.transparent.take(stronger.transparent);
        self.skipped.take(stronger.skipped);
        self.struck.take(stronger.struck);
        self.place.take(&stronger.place);
        self.invisible.take(stronger.invisible);
        self.sizeless.take(stronger.sizeless);
        self.level.take(stronger.level);
    }

    /// The style that the declarations give an element.
    pub(super) fn style(&self) -> Style {
        let is_gone = [self.transparent, self.skipped, self.struck].iter().any(|property| property.value == Some(true));
        Style {
            undisplayed: self.undisplayed.value,
            gone: is_gone || self.place.is_unseen(),
            invisible: self.invisible.value.flatten(),
            sizeless: self.sizeless.value.flatten(),
            level: self.level.value.unwrap_or_else(|| self.place.level()),
        }
    }

    /// Takes a declaration; `false` where its property does not count.
    fn declare(&mut self, property: &str, value: &str, important: bool) -> bool {
        match property {
            "display" => {
                let valid = !value.is_empty() && value.split_whitespace().all(|word| DISPLAYS.contains(&word));
                self.undisplayed.declare(valid.then_some(value == "none"), important);
            }
            "opacity" => self.transparent.declare(length::value(value, 1.0).map(|opacity| opacity < 0.05), important),
            "content-visibility" => {
                let valid = ["hidden", "visible", "auto"].contains(&value);
                self.skipped.declare(valid.then_some(value == "hidden"), important);
            }
            "text-decoration" | "text-decoration-line" => {
                self.struck.declare(Some(value.split_whitespace().any(|word| word == "line-through")), important);
            }
            "visibility" => self.invisible.declare(invisible(value), important),
            "font-size" => self.sizeless.declare(sizeless(value), important),
            "font" => {
                // The size comes behind the weight, which may be a number too.
                let size = value.split_whitespace().rev().map(|part| part.split('/').next().unwrap_or_default());
                self.sizeless.declare(size.map(sizeless).find(Option::is_some).flatten(), important);
            }
            "vertical-align" => {
                let level = match value {
                    "super" => Some(Shift::Raised),
                    "sub" => Some(Shift::Lowered),
                    // A percentage is one of the line's height.
                    _ => length::value(value, 1.2 * length::EM).and_then(place::shift),
                };
                self.level.declare(Some(level), important);
            }
            _ => return self.place.declare(property, value, important),
        }
        true
    }
}

/// `Some(None)` inherits; `None` for a value that is not valid.
fn invisible(value: &str) -> Option<Option<bool>> {
    match value {
        "visible" | "initial" => Some(Some(false)),
        "hidden" | "collapse" => Some(Some(true)),
        "inherit" | "unset" | "revert" => Some(None),
        _ => None,
    }
}

/// Whether a font size is too small to read, as [`invisible`].
fn sizeless(size: &str) -> Option<Option<bool>> {
    if ["inherit", "unset", "revert"].contains(&size) {
        return Some(None);
    }
    if SIZES.contains(&size) {
        return Some(Some(false));
    }
    let pixels = length::value(size, length::EM)?;
    // Only zero needs no unit.
    let bare = size.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    (!bare || pixels == 0.0).then_some(Some(pixels < READABLE))
}

/// `text` in lower case, without comments, with escapes resolved (CSS Syntax, section 4.3.7).
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.find("*/").map_or("", |end| &comment[end + 2..]);
            continue;
        }
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            plain.push(c.to_ascii_lowercase());
            continue;
        }
        let digits = rest.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
        if let Ok(code) = u32::from_str_radix(&rest[..digits], 16) {
            plain.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER).to_ascii_lowercase());
            rest = &rest[digits..];
            rest = rest.strip_prefix(|c: char| c.is_ascii_whitespace()).unwrap_or(rest);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{Declared, Shift, Style};

    #[test]
    fn declarations() {
        let displayed = |is: bool| Style { undisplayed: Some(!is), ..Style::default() };
        let gone = Style { gone: true, ..Style::default() };
        let sizeless = |is| Style { sizeless: Some(is), ..Style::default() };
        let invisible = |is| Style { invisible: Some(is), ..Style::default() };
        for (text, expected) in [
            ("display:none", displayed(false)),
            ("color: red; DISPLAY : None !important;", displayed(false)),
            ("dis/* a */play:n\\6f ne", displayed(false)),
            ("display:none;display:block", displayed(true)),
            ("display:none;display:blok", displayed(false)),
            ("display:none!important;display:block", displayed(false)),
            ("display:inline flow-root", displayed(true)),
            ("opacity:0.0", gone),
            ("opacity:calc(1 - 1)", gone),
            ("opacity:0%;opacity:much", gone),
            ("text-decoration: red line-through", gone),
            ("text-decoration: line-through; text-decoration: none", Style::default()),
            ("visibility:hidden", invisible(true)),
            ("visibility:hidden;visibility:hiden", invisible(true)),
            ("visibility:visible", invisible(false)),
            ("font-size:0", sizeless(true)),
            ("font-size:0.5px", sizeless(true)),
            ("font-size:calc(0px)", sizeless(true)),
            ("font-size:0;font-size:5", sizeless(true)),
            ("font-size:min(0.1em, 1px)", sizeless(false)),
            ("font-size:0.9em", sizeless(false)),
            ("font-size:large", sizeless(false)),
            ("font: bold 0/0 a", sizeless(true)),
            ("font: 400 0 a", sizeless(true)),
            ("font: 12px/1.5 serif", sizeless(false)),
            ("position:absolute;left:-9999px", gone),
            ("clip:rect(0 0 0 0)", gone),
            ("height:0;overflow:hidden", gone),
            ("height:0;overflow:hidden;height:auto", Style::default()),
            ("vertical-align:0.4em", Style { level: Some(Shift::Raised), ..Style::default() }),
            ("vertical-align:-30%", Style { level: Some(Shift::Lowered), ..Style::default() }),
            ("vertical-align:-1px", Style::default()),
            ("position:relative;top:-.4em", Style { level: Some(Shift::Raised), ..Style::default() }),
            ("vertical-align:super", Style { level: Some(Shift::Raised), ..Style::default() }),
            ("opacity:.9;line-height:0;\\", Style::default()),
        ] {
            assert_eq!(Declared::read(text).unwrap_or_default().style(), expected, "{text}");
        }
    }
}
