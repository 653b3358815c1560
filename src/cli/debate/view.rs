//! How a debate is shown, and its styles.

use anstyle::{AnsiColor, Style};

pub(in crate::cli) const STRONG: Style = Style::new().bold();
pub(super) const WRONG: Style = AnsiColor::Red.on_default();

/// How a debate is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Width in columns, of at least 40.
    pub columns: usize,
    /// Everything: whole reasons, and every document by name, however many there are.
    pub full: bool,
    /// With the sentences that show each answer.
    pub quotes: bool,
    /// With the turns of the debate; else the conclusion alone, and what failed before it.
    pub turns: bool,
}

impl View {
    /// `columns` wide, with turns, without quotes, many documents in short.
    #[must_use]
    pub(crate) fn of(columns: usize) -> Self {
        Self { columns, full: false, quotes: false, turns: true }
    }
}
