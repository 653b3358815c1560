//! How text is shown, by its own properties and by styles that are based on others.

use crate::unicode::baseline::Shift;
use std::collections::HashMap;

/// Styles that a style is based on, one by the other, at most: a loop of them ends.
const MAX_BASES: usize = 16;

/// Properties of text; `None` where they are not set.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Look {
    pub(super) hidden: Option<bool>,
    /// Too small to read.
    pub(super) tiny: Option<bool>,
    /// Struck through, by one line or by two: it no longer holds.
    pub(super) struck: Option<bool>,
    pub(super) struck_twice: Option<bool>,
    /// `Some(None)` is on the line.
    pub(super) level: Option<Option<Shift>>,
}

impl Look {
    /// These properties, and those of `base` where they are not set.
    pub(super) fn over(self, base: Self) -> Self {
        Self {
            hidden: self.hidden.or(base.hidden),
            tiny: self.tiny.or(base.tiny),
            struck: self.struck.or(base.struck),
            struck_twice: self.struck_twice.or(base.struck_twice),
            level: self.level.or(base.level),
        }
    }

    pub(super) fn is_seen(self) -> bool {
        ![self.hidden, self.tiny, self.struck, self.struck_twice].contains(&Some(true))
    }
}

/// The styles of a document by name.
#[derive(Debug, Default)]
pub(super) struct Styles {
    styles: HashMap<String, Style>,
}

#[derive(Debug, Default)]
struct Style {
    look: Look,
    base: Option<String>,
}

impl Styles {
    /// Defines a style; a later one of the same name replaces it.
    pub(super) fn define(&mut self, name: &str, look: Look, base: Option<String>) {
        self.styles.insert(name.to_owned(), Style { look, base });
    }

    /// How text of the style `name` is shown.
    pub(super) fn look(&self, name: &str) -> Look {
        let (mut look, mut next) = (Look::default(), self.styles.get(name));
        for _ in 0..MAX_BASES {
            let Some(style) = next else { break };
            look = look.over(style.look);
            next = style.base.as_ref().and_then(|base| self.styles.get(base));
        }
        look
    }
}

#[cfg(test)]
mod tests {
    use super::{Look, Shift, Styles};

    #[test]
    fn a_style_has_the_properties_of_its_bases() {
        let mut styles = Styles::default();
        let raised = Look { level: Some(Some(Shift::Raised)), ..Look::default() };
        styles.define("Mark", raised, Some("Loop".into()));
        styles.define("Loop", Look { hidden: Some(true), ..Look::default() }, Some("Mark".into()));
        styles.define("Own", Look { hidden: Some(false), ..Look::default() }, Some("Mark".into()));
        assert_eq!(styles.look("Own").level, Some(Some(Shift::Raised)));
        assert!(styles.look("Own").is_seen() && !styles.look("Mark").is_seen() && styles.look("none").is_seen());
    }
}
