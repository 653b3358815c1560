//! The tables, a file a paper, with the numbers that the papers print.

mod conflictscore;
mod drag;
mod madam_rag;
mod ra_rag;
mod ra_rag_figures;
mod verification;

use super::table::PaperTable;

/// Every table, in the order of the papers.
pub fn all() -> impl Iterator<Item = &'static PaperTable> {
    let first = madam_rag::TABLES.iter().chain(&drag::TABLES).chain(&conflictscore::TABLES);
    first.chain(&verification::TABLES).chain(&ra_rag::TABLES).chain(&ra_rag_figures::FIGURES)
}
