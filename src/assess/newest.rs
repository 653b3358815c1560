//! The newest documents for and against a claim.

use crate::dates::Date;
use serde::Serialize;

/// The newest date for a claim and the newest against it, one of which is later than all dates of the other side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Newest {
    /// As the document has it.
    #[serde(rename = "for")]
    pub supporting: String,
    /// As the document has it.
    #[serde(rename = "against")]
    pub contradicting: String,
    /// Whether the later one is against the claim.
    pub contradicted: bool,
}

impl Newest {
    /// From the dates of the documents of both sides, as written. `None` where a side has none that can be read, and where
    /// the latest date of one side is not later than all of the other, to the precision that both have.
    pub(super) fn of<'a>(
        supporting: impl Iterator<Item = &'a str>,
        contradicting: impl Iterator<Item = &'a str>,
    ) -> Option<Self> {
        let (with, against) = (read(supporting), read(contradicting));
        let latest = |side: &[(Date, &'a str)]| side.iter().copied().max_by_key(|(date, _)| date.sort_key());
        let ((newest_with, supporting), (newest_against, contradicting)) = (latest(&with)?, latest(&against)?);
        let later = |date: Date, others: &[(Date, &str)]| others.iter().all(|(other, _)| date.order(*other).is_gt());
        // Both cannot hold: each date would be later than the other.
        let contradicted = match (later(newest_with, &against), later(newest_against, &with)) {
            (_, true) => true,
            (true, false) => false,
            (false, false) => return None,
        };
        Some(Self { supporting: supporting.to_owned(), contradicting: contradicting.to_owned(), contradicted })
    }

    /// "contradicted by a newer document (2024; for it 2019)".
    #[must_use]
    pub fn words(&self) -> String {
        let Self { supporting, contradicting, contradicted } = self;
        if *contradicted {
            format!("contradicted by a newer document ({contradicting}; for it {supporting})")
        } else {
            format!("supported by a newer document ({supporting}; against it {contradicting})")
        }
    }
}

/// The dates that can be read, with their texts.
fn read<'a>(written: impl Iterator<Item = &'a str>) -> Vec<(Date, &'a str)> {
    written.filter_map(|written| Some((Date::of_document(written)?, written))).collect()
}
