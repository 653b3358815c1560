//! The newest documents for and against a claim.

use crate::dates::Date;
use serde::Serialize;
use std::cmp::Ordering;

/// The newest date for a claim and the newest against it, one of which is later.
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
    /// neither is later to the precision that both have.
    pub(super) fn of<'a>(
        supporting: impl Iterator<Item = &'a str>,
        contradicting: impl Iterator<Item = &'a str>,
    ) -> Option<Self> {
        let ((a, supporting), (b, contradicting)) = (latest(supporting)?, latest(contradicting)?);
        let contradicted = match b.order(a) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => return None,
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

/// The latest of these dates, as read and as written.
fn latest<'a>(written: impl Iterator<Item = &'a str>) -> Option<(Date, &'a str)> {
    let dated = written.filter_map(|written| Some((Date::of_document(written)?, written)));
    dated.max_by_key(|(date, _)| date.sort_key())
}
