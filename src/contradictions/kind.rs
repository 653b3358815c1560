//! The kind of a contradiction, by its signals. It is displayed and decides nothing.

use super::quantities::Relation;
use super::signals::Signals;
use serde::{Deserialize, Serialize};

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Another number of the same thing.
    Number,
    /// Another date of the same event.
    Date,
    /// Another name.
    Name,
    /// One denies what the other says.
    Negation,
    /// One says that something changed, or was going to: the other may be out of date.
    Superseded,
    /// They may hold for different times or parts.
    Scope,
    /// Anything else.
    Statement,
}

impl Kind {
    /// Of two claims that contradict each other.
    pub(super) fn of(signals: &Signals) -> Self {
        let number = signals.quantities == Relation::Differ;
        let date = signals.dates == Relation::Differ;
        match () {
            // Another number at another date may hold for another time.
            () if (number && date) || signals.years_differ || signals.scopes_differ => Self::Scope,
            () if signals.changed => Self::Superseded,
            () if number => Self::Number,
            () if date => Self::Date,
            () if signals.negated || signals.denied || signals.opposed => Self::Negation,
            () if signals.names_differ => Self::Name,
            () => Self::Statement,
        }
    }

    /// In words.
    #[must_use]
    pub fn told(self) -> &'static str {
        match self {
            Self::Number => "different number",
            Self::Date => "different date",
            Self::Name => "different name",
            Self::Negation => "negation",
            Self::Superseded => "superseded",
            Self::Scope => "different scope",
            Self::Statement => "different statement",
        }
    }
}
