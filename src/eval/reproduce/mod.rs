//! The papers' tables and figures: what they need, what they report, and the numbers of records next to theirs.

mod beside;
mod figure;
mod table;
mod tables;

pub use beside::{Beside, DerivedBeside, beside, derived};
pub use figure::{Drawn, drawn};
pub use table::{Column, Derivation, Derived, Figure, Needed, PaperTable, Row};
pub use tables::all as tables;

use crate::error::{MootError, Result};

impl PaperTable {
    /// The table called `name`.
    ///
    /// # Errors
    /// [`MootError::UnknownName`] with all of them.
    pub fn named(name: &str) -> Result<&'static Self> {
        tables().find(|table| table.name == name).ok_or_else(|| MootError::UnknownName {
            kind: "table",
            name: name.to_owned(),
            known: tables().map(|table| table.name).collect::<Vec<_>>().join(", "),
        })
    }
}
