//! The newest documents for and against a claim.

use super::assessment::{Evidence, Source};
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
    /// `from` is the number of the document that states the claim, which speaks for it. `None` where a side has no dated
    /// document, and where neither is later to the precision that both dates have.
    pub(super) fn of(
        documents: &[Source],
        from: Option<usize>,
        supporters: &[Evidence],
        contradictors: &[Evidence],
    ) -> Option<Self> {
        let numbers = |side: &[Evidence]| side.iter().map(|evidence| evidence.document).collect::<Vec<_>>();
        let (mut supporting, contradicting) = (numbers(supporters), numbers(contradictors));
        supporting.extend(from.filter(|from| !contradicting.contains(from)));
        let latest = |numbers: &[usize]| {
            let written = numbers.iter().filter_map(|number| documents.get(number - 1)?.date.as_deref());
            let dated = written.filter_map(|written| Some((Date::of_document(written)?, written)));
            dated.max_by_key(|(date, _)| date.sort_key())
        };
        let ((a, supporting), (b, contradicting)) = (latest(&supporting)?, latest(&contradicting)?);
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
