//! Arguments that several subcommands share, and their conversion into options of the plan.

pub(super) mod again;
pub(super) mod corpus;
pub(super) mod embedder;
pub(super) mod form;
pub mod method;
pub(super) mod model;
pub(super) mod plan;
mod switches;
pub(super) mod values;

pub(super) use switches::Switches;
