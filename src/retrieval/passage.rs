//! The types of retrieval (passages, filters, hits) and its two traits, [`Embedder`] and [`Retriever`].

use crate::dates::Date;
use crate::error::Result;
use crate::question::{Hit, Passage};
use crate::unicode;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Whether a text is embedded as a query or as a passage: models use different prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// A query.
    Query,
    /// A passage.
    Passage,
}

/// Text to vectors. Normalised vectors have length 1, so that a dot product is a cosine.
pub trait Embedder: Send + Sync {
    /// Vectors of `texts`, in their order: `[texts, dimension]`, row-major. A text's vector does not depend on the other
    /// texts.
    ///
    /// # Errors
    /// Failures of the model.
    fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<f32>>;

    /// Length of a vector.
    fn dimension(&self) -> usize;

    /// Identity of the embedder: name, hash of the weights, pooling and prefixes. An index stores it and refuses others.
    fn identity(&self) -> &str;

    /// Tokens of `texts`, special ones and prefixes included; `None` where they are not known.
    fn tokens(&self, texts: &[&str], side: Side) -> Option<usize> {
        let _ = (texts, side);
        None
    }

    /// Number of texts so far that were longer than the model's limit: only their beginnings were embedded.
    fn truncated(&self) -> u64 {
        0
    }
}

/// Restricts retrieval by source and date.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// Any of these sources; empty means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Not before this date, inclusive: ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Not after this date, inclusive; "2018" takes the whole year.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl Filter {
    /// Admits every passage.
    pub const NONE: Self = Self { sources: Vec::new(), from: None, until: None };

    /// Whether every passage may be found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.from.is_none() && self.until.is_none()
    }

    /// Whether the filter admits `passage`.
    #[must_use]
    pub fn admits(&self, passage: &Passage) -> bool {
        self.admits_source(passage.source.as_deref()) && self.admits_date(passage.date.as_deref())
    }

    /// Whether the filter admits passages of `source`: canonically equivalent names are one.
    #[must_use]
    pub fn admits_source(&self, source: Option<&str>) -> bool {
        self.sources.is_empty()
            || source
                .is_some_and(|source| self.sources.iter().any(|wanted| unicode::nfc(wanted) == unicode::nfc(source)))
    }

    /// Whether dates are wanted and `date` cannot be compared: it is missing, or does not begin with a year.
    #[must_use]
    pub(crate) fn is_undated(&self, date: Option<&str>) -> bool {
        (self.from.is_some() || self.until.is_some()) && date.and_then(Date::iso).is_none()
    }

    /// Checks that `from` and `until` are dates, and that `from` is not after `until`.
    ///
    /// # Errors
    /// The reason, for a message.
    pub fn check(&self) -> std::result::Result<(), String> {
        for (option, date) in [("--from", &self.from), ("--until", &self.until)] {
            if let Some(date) = date {
                check_date(date).map_err(|expected| format!("{option} {date}: {expected}"))?;
            }
        }
        match (&self.from, &self.until) {
            (Some(from), Some(until)) if compares(Date::iso(from), until, Ordering::is_gt) => {
                Err(format!("expected --from before --until, found {from} and {until}"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the filter admits passages of `date`, by [`Date::order`]. A date filter rejects passages without a date, or with
    /// one that does not begin with a year.
    #[must_use]
    pub(crate) fn admits_date(&self, date: Option<&str>) -> bool {
        let date = date.and_then(Date::iso);
        self.from.as_deref().is_none_or(|from| compares(date, from, Ordering::is_ge))
            && self.until.as_deref().is_none_or(|until| compares(date, until, Ordering::is_le))
    }
}

/// Checks a date that a filter is to compare: a year, a month or a day of the calendar.
///
/// # Errors
/// The expected form, for a message.
pub(crate) fn check_date(date: &str) -> std::result::Result<(), String> {
    let wrong = || Err("expected a date, as 2018, 2018-05 or 2018-05-31".to_owned());
    let parts: Vec<&str> = date.split('-').collect();
    let digits = |part: &&str, length: usize| part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
    if parts.len() > 3 || !parts.iter().zip([4, 2, 2]).all(|(part, length)| digits(part, length)) {
        return wrong();
    }
    let number = |at: usize| parts.get(at).and_then(|part| part.parse::<u32>().ok());
    let (year, month, day) = (number(0).unwrap_or_default(), number(1), number(2));
    if month.is_some_and(|month| !(1..=12).contains(&month)) {
        return Err("expected a month from 01 to 12".to_owned());
    }
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        Some(2) if leap => 29,
        Some(2) => 28,
        Some(4 | 6 | 9 | 11) => 30,
        _ => 31,
    };
    match day {
        Some(day) if !(1..=days).contains(&day) => Err(format!("expected a day from 01 to {days}")),
        _ => Ok(()),
    }
}

/// Whether `date` and `bound`, both known, are in the wanted order.
fn compares(date: Option<Date>, bound: &str, wanted: fn(Ordering) -> bool) -> bool {
    date.zip(Date::iso(bound)).is_some_and(|(date, bound)| wanted(date.order(bound)))
}

/// How many passages to retrieve, and which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Passages in all, or of each source.
    pub top: usize,
    /// `top` of each source rather than of all.
    pub by_source: bool,
    /// Admitted passages.
    pub filter: Filter,
    /// Fold near-duplicates: only the best is returned, with the others in [`Hit::copies`].
    pub fold: bool,
}

impl Wanted {
    /// Candidates to begin with: near-duplicates are folded afterwards.
    pub(crate) fn candidates(&self) -> usize {
        /// Candidates per wanted passage if near-duplicates are folded.
        const SPARE: usize = 4;
        if self.fold { self.top.saturating_mul(SPARE) } else { self.top }
    }
}

/// Which index answered, and which embedder; goes into every record that retrieves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RetrieverIdentity {
    /// Hex SHA-256 of the index's manifest, or the address of a server's collection.
    pub index: String,
    /// The embedder of the vectors with the hash of its weights; absent for word search alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// The reranker that orders the results, with the hash of its weights and the number of candidates; absent without
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reranker: Option<String>,
    /// "dense", "lexical", "hybrid"; with ", approximate" where a share of the vectors is read, and ", cut off" where irrelevant
    /// passages are left out.
    pub mode: String,
}

/// A source of the searched passages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceCount {
    /// Its name; `None` for passages without a source.
    pub source: Option<String>,
    /// Passages that have it.
    pub passages: u64,
}

/// Finds passages.
pub trait Retriever: Send + Sync {
    /// The best passages for `query`, best first; with [`Wanted::by_source`] grouped by source, each group best first.
    /// Ties go to the passage that was indexed first.
    ///
    /// # Errors
    /// An index that cannot be read, an embedder or a server that fails.
    fn retrieve(&self, query: &str, wanted: &Wanted) -> Result<Vec<Hit>>;

    /// One list a query, in their order. An index answers several queries in one pass over its vectors.
    ///
    /// # Errors
    /// As [`Retriever::retrieve`].
    fn retrieve_all(&self, queries: &[&str], wanted: &Wanted) -> Result<Vec<Vec<Hit>>> {
        queries.iter().map(|query| self.retrieve(query, wanted)).collect()
    }

    /// The sources of all passages by their names, passages without a source first; `None` where they are not known.
    ///
    /// # Errors
    /// An index that cannot be read.
    fn sources(&self) -> Result<Option<Vec<SourceCount>>> {
        Ok(None)
    }

    /// The index searched and the model that embeds queries, for the record.
    fn identity(&self) -> RetrieverIdentity;
}

#[cfg(test)]
mod tests {
    use super::{Filter, check_date};
    use crate::question::{Origin, Passage};

    fn passage(source: &str, date: &str) -> Passage {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let origin = Origin { file: "a.txt".into(), id: None, line: None, page: None, characters: 0..1 };
        Passage {
            text: "a".into(),
            title: None,
            source: given(source),
            date: given(date),
            url: None,
            notes: Vec::new(),
            origin,
        }
    }

    #[test]
    fn sources_and_dates_are_filtered() {
        let some = |text: &str| Some(text.to_owned());
        let filter = Filter { sources: vec!["a".into(), "b".into()], from: some("1998-05"), until: some("2018") };
        for (source, date, admitted) in [
            ("a", "1998-05-01", true),
            ("b", "2018-12-31", true),
            ("c", "2000", false),
            ("", "2000", false),
            ("a", "1998-04-30", false),
            ("a", "1998", true),
            ("a", "2019-01-01", false),
            ("a", "", false),
            ("a", "May 2000", false),
            ("a", "20001231", false),
        ] {
            assert_eq!(filter.admits(&passage(source, date)), admitted, "{source} {date}");
        }
        let decomposed = Filter { sources: vec!["Cafe\u{301}".into()], ..Filter::NONE };
        assert!(decomposed.admits_source(Some("Café")) && !decomposed.admits_source(Some("Cafe")));
        assert!(Filter::default().admits(&passage("", "")));
        assert!(filter.is_undated(None) && filter.is_undated(Some("May 2000")) && !filter.is_undated(Some("1998")));
        assert!(!Filter::default().is_undated(None));
        assert!(filter.check().is_ok());
        assert!(Filter { from: some("2019"), until: some("2018-05"), ..Filter::NONE }.check().is_err());
    }

    #[test]
    fn dates_of_filters_are_those_of_the_calendar() {
        for sound in ["2018", "2018-12", "2018-05-31", "2024-02-29", "2000-02-29"] {
            assert_eq!(check_date(sound), Ok(()), "{sound}");
        }
        for (wrong, said) in [
            ("2024-13", "month"),
            ("2024-00", "month"),
            ("2023-02-29", "day from 01 to 28"),
            ("1900-02-29", "day from 01 to 28"),
            ("2024-04-31", "day from 01 to 30"),
            ("2024-1", "a date"),
            ("May 2000", "a date"),
            ("2024-01-01-01", "a date"),
        ] {
            assert!(check_date(wrong).unwrap_err().contains(said), "{wrong}");
        }
    }
}
