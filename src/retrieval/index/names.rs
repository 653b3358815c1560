//! Distinct names of sources and dates, by number.

use crate::unicode;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Bytes per passage in `columns.bin`: source and date as indices into `names.json`, from 1; 0 means none.
pub(super) const COLUMNS: usize = 8;

/// The distinct names of one segment, in the order in which they were first seen.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Names {
    pub(super) sources: Vec<String>,
    pub(super) dates: Vec<String>,
}

/// Assigns a number to each distinct name.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    numbers: HashMap<String, u32>,
    pub(super) names: Vec<String>,
}

impl Numbered {
    /// The number of `name`, from 1; 0 for `None`.
    pub(super) fn number(&mut self, name: Option<&str>) -> u32 {
        let Some(name) = name else { return 0 };
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        self.names.push(name.to_owned());
        let number = u32::try_from(self.names.len()).expect("fewer names than passages of a segment (bug)");
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Whether `name` has a number, in any canonically equivalent form.
    pub(super) fn has(&self, name: &str) -> bool {
        let same = |known: &String| unicode::nfc(known) == unicode::nfc(name);
        self.numbers.contains_key(name) || self.names.iter().any(same)
    }
}
