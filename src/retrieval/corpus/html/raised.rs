//! Runs above and below the line: `sup`, `sub`, `vertical-align`, references to notes, and scripts and fractions of MathML.

use super::elements::BLOCKS;
use super::style::Style;
use super::text::{Source, Text};
use super::tokens::Tag;
use crate::retrieval::corpus::flow::Gap;
use crate::unicode::baseline::{self, Shift};

/// Bytes of a run at most; a longer one is text in another size.
const MAX_RUN: usize = 64;
/// Characters of the mark of a note at most.
const MAX_MARK: usize = 12;

/// Classes of references to notes, those of a `sup` alone, and roles.
const REFERENCES: &[&str] =
    &["footnote-ref", "footnote-reference", "footnoteref", "fnref", "noteref", "endnote-ref", "footnote-anchor"];
const MARKS: &[&str] = &["reference", "footnote", "note", "fn", "cite", "citation", "endnote"];
const ROLES: &[&str] = &["doc-noteref", "noteref"];

/// A run that is being read, or was read and waits for the character behind it.
pub(super) struct Raised {
    /// Of a reference to a note on the line, none.
    level: Option<Shift>,
    is_note: bool,
    /// The degree of a root.
    is_degree: bool,
    /// The element that it is, and elements of that name within it.
    name: String,
    depth: usize,
    ended: bool,
    pieces: Vec<(String, Source)>,
    bytes: usize,
}

impl Raised {
    /// The run that `tag` begins; `in_note_link` is set within a link whose target is on the same page.
    pub(super) fn begin(tag: &Tag, style: Style, in_note_link: bool) -> Option<Self> {
        let level = match tag.name.as_str() {
            "sup" => Some(Shift::Raised),
            "sub" => Some(Shift::Lowered),
            // A block is moved, not a run of its text.
            name => style.level.filter(|_| !BLOCKS.contains(&name)),
        };
        let is_reference = tag.says("class", REFERENCES) || tag.says("role", ROLES) || tag.says("epub:type", ROLES);
        let is_mark = level == Some(Shift::Raised) && (in_note_link || tag.says("class", MARKS));
        let is_note = is_reference || is_mark;
        let run = Self { is_note, name: tag.name.clone(), ..Self::at(level) };
        (level.is_some() || is_reference).then_some(run)
    }

    /// A script of MathML, which [`Math`] ends.
    pub(super) fn script(level: Shift) -> Self {
        Self::at(Some(level))
    }

    /// The degree of a root, which [`Math`] ends.
    pub(super) fn degree() -> Self {
        Self { is_degree: true, ..Self::at(Some(Shift::Raised)) }
    }

    fn at(level: Option<Shift>) -> Self {
        Self {
            level,
            is_note: false,
            is_degree: false,
            name: String::new(),
            depth: 1,
            ended: false,
            pieces: Vec::new(),
            bytes: 0,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.ended
    }

    /// A start tag within the run.
    pub(super) fn start(&mut self, tag: &Tag) {
        self.depth += usize::from(tag.name == self.name);
        self.is_note |= self.level == Some(Shift::Raised) && (is_same_page(tag) || tag.says("role", ROLES));
    }

    pub(super) fn end(&mut self, name: &str) {
        self.depth -= usize::from(name == self.name && self.depth > 0);
        self.ended |= self.depth == 0;
    }

    pub(super) fn finish(&mut self) {
        self.ended = true;
    }

    /// Adds text. Returns whether the run is too long.
    pub(super) fn push(&mut self, text: &str, source: Source) -> bool {
        self.bytes += text.len();
        self.pieces.push((text.to_owned(), source));
        self.bytes > MAX_RUN
    }

    /// Writes the run to `out`, which continues with `after`.
    pub(super) fn write(self, out: &mut Text, after: Option<char>, context: super::content::Context) {
        let run: String = self.pieces.iter().map(|(text, _)| text.as_str()).collect();
        let run = run.trim();
        let Some(((_, first), (_, last))) = self.pieces.first().zip(self.pieces.last()).filter(|_| !run.is_empty())
        else {
            return;
        };
        let short = self.bytes <= MAX_RUN && run.chars().count() <= MAX_MARK;
        if short && self.is_note {
            return;
        }
        if let Some(level) = self.level.filter(|_| short) {
            let source = Source { from: first.from, to: last.to, same: false };
            let text = if self.is_degree {
                out.close_up();
                format!("^(1/{run})")
            } else if self.name.is_empty() {
                out.close_up();
                baseline::script(run, level)
            } else {
                baseline::written(&out.before(), run, after, level)
            };
            return out.push(&text, source, context);
        }
        if self.level.is_some() {
            out.widen(Gap::Space);
        }
        self.pieces.iter().for_each(|(text, source)| out.push(text, *source, context));
    }
}

/// Whether a tag is a link whose target is on the same page.
pub(super) fn is_same_page(tag: &Tag) -> bool {
    tag.name == "a" && tag.value("href").is_some_and(|href| href.len() > 1 && href.starts_with('#'))
}

/// Open elements of MathML, as far as their order has a meaning.
#[derive(Default)]
pub(super) struct Math {
    depth: usize,
    /// Depth and children so far of open scripts and fractions.
    open: Vec<(usize, Kind, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Raised,
    Lowered,
    Both,
    Fraction,
    Root,
}

/// The role of an element's child.
pub(super) enum Child {
    Plain,
    Script(Shift),
    Denominator,
    Degree,
}

impl Math {
    pub(super) fn is_open(&self) -> bool {
        self.depth > 0
    }

    /// A start tag that is not closed at once.
    pub(super) fn start(&mut self, name: &str) -> Child {
        if self.depth == 0 && name != "math" {
            return Child::Plain;
        }
        let child = match self.open.last_mut() {
            Some((depth, kind, children)) if *depth == self.depth => {
                *children += 1;
                match (*kind, *children) {
                    (Kind::Raised, 2) | (Kind::Both, 3) => Child::Script(Shift::Raised),
                    (Kind::Lowered | Kind::Both, 2) => Child::Script(Shift::Lowered),
                    (Kind::Fraction, 2) => Child::Denominator,
                    (Kind::Root, 2) => Child::Degree,
                    _ => Child::Plain,
                }
            }
            _ => Child::Plain,
        };
        self.depth += 1;
        let kind = match name {
            "msup" => Some(Kind::Raised),
            "msub" => Some(Kind::Lowered),
            "msubsup" => Some(Kind::Both),
            "mfrac" => Some(Kind::Fraction),
            "mroot" => Some(Kind::Root),
            _ => None,
        };
        // Scripts of scripts are text: nothing is raised twice.
        self.open.extend(kind.filter(|_| self.open.len() < 64).map(|kind| (self.depth, kind, 0)));
        child
    }

    /// An end tag. Returns whether a script has ended.
    pub(super) fn end(&mut self, name: &str) -> bool {
        if self.depth == 0 {
            return false;
        }
        self.depth = if name == "math" { 0 } else { self.depth - 1 };
        while self.open.last().is_some_and(|(depth, _, _)| *depth > self.depth) {
            self.open.pop();
        }
        self.depth == 0 || self.open.last().is_some_and(|(depth, _, children)| *depth == self.depth && *children > 1)
    }
}
