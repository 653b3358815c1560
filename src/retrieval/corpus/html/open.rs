//! The stack of open elements of a page, as far as it decides which text is visible.
//!
//! Follows the tree construction of the HTML standard (section 13.2.6) where it changes visibility: implied end tags,
//! scopes, and formatting elements that are reopened after the block that contained them. No tree is built.

use super::region::Region;
use super::sheet::Marks;
use super::style::Style;

/// Maximum number of open elements; browsers limit the depth of their tree to the same number.
pub(super) const MAX_OPEN: usize = 512;

/// Elements without content.
const VOID: &[&str] = &[
    "area", "base", "basefont", "br", "col", "embed", "frame", "hr", "image", "img", "input", "keygen", "link", "meta",
    "param", "source", "track", "wbr",
];

/// Formatting elements: they stay open after the end tag of an enclosing element.
const FORMATTING: &[&str] =
    &["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// Elements that bound the scope of an end tag, unless the end tag is that of a table part.
const SCOPES: &[&str] = &["applet", "caption", "marquee", "object", "table", "td", "template", "th"];

const TABLE_PARTS: &[&str] = &["caption", "table", "tbody", "td", "tfoot", "th", "thead", "tr"];

/// Elements whose start ends an open `p`.
const ENDS_P: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "details",
    "dialog",
    "dd",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "li",
    "listing",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "plaintext",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "ul",
    "xmp",
];

/// Visibility of an element's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sight {
    /// Neither the element nor its content is rendered; descendants cannot change that.
    gone: bool,
    /// `visibility: hidden`; a descendant can be visible again.
    invisible: bool,
    /// Font size of zero; a descendant can set another.
    sizeless: bool,
}

impl Sight {
    fn within(self, style: Style) -> Self {
        Self {
            gone: self.gone || style.gone,
            invisible: style.invisible.unwrap_or(self.invisible),
            sizeless: style.sizeless.unwrap_or(self.sizeless),
        }
    }

    pub(super) fn hides(self) -> bool {
        self.gone || self.invisible || self.sizeless
    }
}

struct Element {
    name: String,
    style: Style,
    sight: Sight,
    region: Region,
    in_table: bool,
    marks: Marks,
}

/// The stack of open elements. Inline elements are on it only where they can change visibility or region.
#[derive(Default)]
pub(super) struct Open {
    elements: Vec<Element>,
}

/// More than [`MAX_OPEN`] elements are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooDeep;

impl Open {
    /// Visibility of text at the current position.
    pub(super) fn sight(&self) -> Sight {
        self.elements.last().map_or(Sight::default(), |element| element.sight)
    }

    /// Region of text at the current position.
    pub(super) fn region(&self) -> Region {
        self.elements.last().map_or(Region::default(), |element| element.region)
    }

    /// Whether the current position is in a table.
    pub(super) fn in_table(&self) -> bool {
        self.elements.last().is_some_and(|element| element.in_table)
    }

    /// Marks of the elements around the current position.
    pub(super) fn marks(&self) -> Marks {
        self.elements.last().map_or(Marks::default(), |element| element.marks)
    }

    /// Handles a start tag, behind [`Open::implied_ends`]. `empty` for a self-closing tag, as in SVG; `own`: its marks;
    /// `region`: that of the element by the one around it.
    ///
    /// # Errors
    /// [`TooDeep`].
    pub(super) fn start(
        &mut self,
        name: &str,
        style: Style,
        own: u64,
        empty: bool,
        region: impl FnOnce(Region) -> Region,
    ) -> Result<(), TooDeep> {
        if empty || VOID.contains(&name) {
            return Ok(());
        }
        let outer = self.sight();
        let sight = outer.within(style);
        let around = self.region();
        let region = region(around);
        let in_table = self.in_table() || name == "table";
        let marks = Marks { own, all: self.marks().all | own };
        let ends = ENDS_P.contains(&name) || SCOPES.contains(&name) || TABLE_PARTS.contains(&name) || name == "ruby";
        let counts = ends || own != 0;
        // An element that ends no other and hides nothing is not pushed, so that unclosed ones do not fill the stack.
        if !counts && sight == outer && region == around && !outer.hides() && !self.holds_hidden() {
            return Ok(());
        }
        if self.elements.len() >= MAX_OPEN {
            return Err(TooDeep);
        }
        self.elements.push(Element { name: name.to_owned(), style, sight, region, in_table, marks });
        Ok(())
    }

    /// Handles an end tag.
    pub(super) fn end(&mut self, name: &str) {
        let stops: &[&str] = if TABLE_PARTS.contains(&name) { &["table", "template"] } else { SCOPES };
        let Some(at) = self.find(&[name], stops) else { return };
        if FORMATTING.contains(&name) {
            self.elements.remove(at);
            self.look_again(at);
        } else {
            self.close(at);
        }
    }

    fn holds_hidden(&self) -> bool {
        // What is shown within a hidden element is pushed too: else the end of an inner `div` would end the outer one.
        self.elements.iter().any(|element| element.sight.hides())
    }

    /// Closes the elements that cannot contain an element called `name`.
    pub(super) fn implied_ends(&mut self, name: &str) {
        let (ended, stops): (&[&str], &[&str]) = match name {
            "li" => (&["li"], &["ul", "ol", "menu", "table", "td", "th"]),
            "dd" | "dt" => (&["dd", "dt"], &["dl", "table", "td", "th"]),
            "option" | "optgroup" => (&["option"], &["select", "datalist", "table", "td", "th"]),
            "td" | "th" => (&["td", "th", "caption"], &["table", "tr"]),
            "tr" => (&["tr", "caption"], &["table", "tbody", "thead", "tfoot"]),
            "tbody" | "thead" | "tfoot" => (&["tbody", "thead", "tfoot", "caption"], &["table"]),
            "body" => (&["head"], &[]),
            "a" => (&["a"], &["table", "td", "th"]),
            "rp" | "rt" | "rb" | "rtc" => (&["rp", "rt", "rb"], &["ruby"]),
            _ => (&[], &[]),
        };
        if !ended.is_empty()
            && let Some(at) = self.find(ended, stops)
        {
            self.close(at);
        }
        if ENDS_P.contains(&name)
            && let Some(at) = self.find(&["p"], SCOPES)
        {
            self.close(at);
        }
    }

    /// The innermost open element of these names, searched down to the first element of `stops`.
    fn find(&self, names: &[&str], stops: &[&str]) -> Option<usize> {
        for (at, element) in self.elements.iter().enumerate().rev() {
            if names.contains(&element.name.as_str()) {
                return Some(at);
            }
            if stops.contains(&element.name.as_str()) {
                return None;
            }
        }
        None
    }

    /// Closes the element at `at` and those inside it. Hidden formatting elements stay open, except across the end of a
    /// table cell.
    fn close(&mut self, at: usize) {
        let cell = SCOPES.contains(&self.elements[at].name.as_str());
        let mut position = 0;
        self.elements.retain(|element| {
            position += 1;
            let goes_on = !cell && position - 1 != at && FORMATTING.contains(&element.name.as_str());
            position - 1 < at || (goes_on && element.sight.hides())
        });
        self.look_again(at);
    }

    /// Visibility and marks of the elements from `at` on, where one around them has ended.
    fn look_again(&mut self, at: usize) {
        for at in at..self.elements.len() {
            let outer = at.checked_sub(1).map(|outer| &self.elements[outer]);
            let (sight, marks) = outer.map(|outer| (outer.sight, outer.marks)).unwrap_or_default();
            let element = &mut self.elements[at];
            element.sight = sight.within(element.style);
            element.marks.all = marks.all | element.marks.own;
        }
    }
}
