//! Text as it is written: into the page, or into the run above or below the line that is open, each piece with its markup.

use super::Reading;
use super::content::Context;
use super::references::{decode, reference};
use super::text::Source;
use crate::retrieval::corpus::flow::Gap;
use crate::retrieval::text::BOM;

impl Reading<'_> {
    pub(super) fn characters(&mut self, text: &str, from: usize, to: usize) {
        // A byte-order mark counts in positions and is not text.
        let (text, from) = match text.strip_prefix(BOM).filter(|_| from == 0) {
            Some(rest) => (rest, BOM.len_utf8()),
            None => (text, from),
        };
        if self.raised.as_ref().is_some_and(|run| !run.is_open()) {
            self.settle(text.chars().next());
        }
        // U+2062, between factors: without a sign 5 and 3 are 53.
        if text == "\u{2062}" && self.math.is_open() {
            return self.insert("\u{b7}");
        }
        // A span that does not fit the text would be the tokenizer's mistake; the whole text is then one run.
        let source = self.markup.get(from..to).unwrap_or_default();
        let rest = self.align(text, source, from);
        if !rest.is_empty() {
            let to = to.clamp(from, self.markup.len().max(from));
            self.push(rest, Source { from, to, same: false });
        }
    }

    /// Splits `value` into runs that equal the markup `source`, which begins at byte `from`, and decoded character
    /// references. Returns the rest of `value` that does not match.
    pub(super) fn align<'v>(&mut self, value: &'v str, source: &str, from: usize) -> &'v str {
        let (mut value, mut at) = (value, 0);
        while at < source.len() {
            let rest = &source[at..];
            let run = rest.find(['&', '\r']).unwrap_or(rest.len());
            let (length, decoded) = match rest.as_bytes()[run.min(rest.len() - 1)] {
                _ if run > 0 => (run, None),
                b'\r' => (1 + usize::from(rest[1..].starts_with('\n')), Some("\n".to_owned())),
                _ => {
                    let reference = reference(rest);
                    (reference.len(), Some(decode(reference)))
                }
            };
            let made = decoded.as_deref().unwrap_or(&rest[..length]);
            let Some(left) = value.strip_prefix(made) else { return value };
            let (start, same) = (from + at, made == &rest[..length]);
            self.push(made, Source { from: start, to: start + length, same });
            (value, at) = (left, at + length);
        }
        value
    }

    /// Adds text to the run above or below the line, or to the page.
    pub(super) fn push(&mut self, text: &str, source: Source) {
        let too_long = match self.raised.as_mut().filter(|run| run.is_open()) {
            Some(run) => run.push(text, source),
            None => {
                let context = self.context();
                self.text.push(text, source, context);
                false
            }
        };
        if too_long {
            self.settle(None);
        }
    }

    /// Adds the character that the markup encodes.
    pub(super) fn insert(&mut self, sign: &str) {
        if !self.open.sight().hides() {
            if self.raised.as_ref().is_some_and(|run| !run.is_open()) {
                self.settle(sign.chars().next());
            }
            self.push(sign, Source { from: self.at, to: self.at, same: false });
        }
    }

    pub(super) fn end_ruby_text(&mut self) {
        if std::mem::replace(&mut self.in_ruby_text, false) {
            self.insert(")");
        }
    }

    /// Writes the run above or below the line, in front of the character `after`.
    pub(super) fn settle(&mut self, after: Option<char>) {
        if let Some(run) = self.raised.take() {
            let context = self.context();
            run.write(&mut self.text, after, context);
        }
    }

    /// Records white space, which ends a run above or below the line; a block ends a ruby and a button too.
    pub(super) fn break_off(&mut self, gap: Gap) {
        if gap > Gap::Space {
            self.end_ruby_text();
        }
        self.settle(None);
        self.text.widen(gap);
    }

    pub(super) fn context(&self) -> Context {
        Context {
            region: self.open.region(),
            in_link: self.link.is_some(),
            in_table: self.open.in_table(),
            in_button: self.in_button,
        }
    }
}
