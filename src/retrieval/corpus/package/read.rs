//! The contents read from a package.

use crate::retrieval::corpus::document::{Fields, Position};
use crate::retrieval::corpus::marks::Marks;
use crate::retrieval::corpus::notes::Notes;

/// The text of a part of a package.
pub(super) struct Text {
    pub(super) fields: Fields,
    pub(super) text: String,
    pub(super) position: Position,
    pub(super) marks: Marks,
}

/// The texts of a package, and notes on what is missing from them.
pub(super) struct Read {
    pub(super) texts: Vec<Text>,
    pub(super) notes: Notes,
}
