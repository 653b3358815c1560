//! Sources and dates of all passages, for filters and for search by source.

use super::files::torn;
use super::names::{COLUMNS, Numbered};
use super::segment::Segment;
use crate::error::{MootError, Result};
use crate::retrieval::{Filter, SourceCount};

/// Sources and dates of every passage of an index: 8 bytes per passage, loaded by the first search that needs them.
pub(super) struct Columns {
    sources: Vec<u32>,
    dates: Vec<u32>,
    source_names: Numbered,
    date_names: Numbered,
}

impl Columns {
    pub(super) fn read(segments: &[Segment]) -> Result<Self> {
        let total = segments.iter().map(|segment| segment.count).sum();
        let mut columns = Self {
            sources: Vec::with_capacity(total),
            dates: Vec::with_capacity(total),
            source_names: Numbered::default(),
            date_names: Numbered::default(),
        };
        for segment in segments {
            columns.append(segment)?;
        }
        Ok(columns)
    }

    fn append(&mut self, segment: &Segment) -> Result<()> {
        let names = segment.names()?;
        let numbers = |numbered: &mut Numbered, names: &[String]| -> Vec<u32> {
            // Number 0 is no name.
            [None].into_iter().chain(names.iter().map(|name| Some(name.as_str()))).map(|n| numbered.number(n)).collect()
        };
        let sources = numbers(&mut self.source_names, &names.sources);
        let dates = numbers(&mut self.date_names, &names.dates);
        for pair in segment.columns().as_chunks::<COLUMNS>().0 {
            let [a, b, c, d, e, f, g, h] = *pair;
            let (source, date) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
            let (Some(source), Some(date)) = (sources.get(source as usize), dates.get(date as usize)) else {
                return Err(torn(
                    &segment.path("columns.bin"),
                    format!("names {source} and {date} are not in names.json"),
                ));
            };
            self.sources.push(*source);
            self.dates.push(*date);
        }
        Ok(())
    }

    /// The number of the passage's source.
    pub(super) fn source(&self, id: u64) -> u32 {
        self.sources[id as usize]
    }

    /// The sources by their names, with the number of passages of each; passages without a source first.
    pub(super) fn counted(&self) -> Vec<SourceCount> {
        let mut passages = vec![0_u64; self.source_names.names.len() + 1];
        self.sources.iter().for_each(|&source| passages[source as usize] += 1);
        let names = [None].into_iter().chain(self.source_names.names.iter().cloned().map(Some));
        let mut counted: Vec<SourceCount> = names
            .zip(passages)
            .filter(|(_, passages)| *passages > 0)
            .map(|(source, passages)| SourceCount { source, passages })
            .collect();
        counted.sort_by(|a, b| a.source.cmp(&b.source));
        counted
    }

    /// The passages that `filter` admits; `None` for all.
    ///
    /// # Errors
    /// [`MootError::UnknownName`] for a source that no passage has.
    pub(super) fn allowed(&self, filter: &Filter) -> Result<Option<Allowed>> {
        if filter.is_empty() {
            return Ok(None);
        }
        for wanted in &filter.sources {
            if !self.source_names.has(wanted) {
                return Err(self.unknown(wanted));
            }
        }
        let table = |names: &[String], allows: &dyn Fn(Option<&str>) -> bool| -> Vec<bool> {
            [None].into_iter().chain(names.iter().map(|name| Some(name.as_str()))).map(allows).collect()
        };
        let sources = table(&self.source_names.names, &|source| filter.admits_source(source));
        let dates = table(&self.date_names.names, &|date| filter.admits_date(date));
        let pairs = self.sources.iter().zip(&self.dates);
        Ok(Some(Allowed::collect(pairs.map(|(source, date)| sources[*source as usize] && dates[*date as usize]))))
    }

    /// Number of passages that `filter` rejects because their dates cannot be compared; those of other sources not counted.
    pub(super) fn undated(&self, filter: &Filter) -> u64 {
        let name = |names: &[String], number: u32| (number as usize).checked_sub(1).map(|at| names[at].clone());
        let pairs = self.sources.iter().zip(&self.dates).filter(|(source, date)| {
            filter.is_undated(name(&self.date_names.names, **date).as_deref())
                && filter.admits_source(name(&self.source_names.names, **source).as_deref())
        });
        pairs.count() as u64
    }

    fn unknown(&self, wanted: &str) -> MootError {
        const SHOWN: usize = 8;
        let mut known: Vec<&str> = self.source_names.names.iter().map(String::as_str).collect();
        // Longest common prefix first.
        let shared =
            |name: &str| name.chars().zip(wanted.chars()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
        known.sort_by_key(|name| std::cmp::Reverse(shared(name)));
        let more = if known.len() > SHOWN { format!(", and {} more", known.len() - SHOWN) } else { String::new() };
        known.truncate(SHOWN);
        let known = if known.is_empty() { "none".into() } else { format!("{}{more}", known.join(", ")) };
        MootError::UnknownName { kind: "source", name: wanted.into(), known }
    }
}

/// One bit per passage: whether a filter admits it.
pub(super) struct Allowed {
    bits: Vec<u64>,
    count: usize,
}

impl Allowed {
    fn collect(flags: impl Iterator<Item = bool>) -> Self {
        let (mut bits, mut count) = (Vec::new(), 0);
        for (id, flag) in flags.enumerate() {
            if id % 64 == 0 {
                bits.push(0);
            }
            bits[id / 64] |= u64::from(flag) << (id % 64);
            count += usize::from(flag);
        }
        Self { bits, count }
    }

    pub(super) fn has(&self, id: u64) -> bool {
        self.bits[(id / 64) as usize] >> (id % 64) & 1 == 1
    }

    /// Number of admitted passages.
    pub(super) fn count(&self) -> usize {
        self.count
    }
}
