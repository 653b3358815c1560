//! The building blocks of methods: the context of a question, calls, reply formats, switches, presets and prompts.

pub mod ask;
pub(crate) mod built;
pub(crate) mod chain;
pub mod claims;
pub mod ctx;
pub mod entailment;
pub mod equality;
mod format;
pub mod formats;
mod free;
pub(crate) mod interjection;
pub mod labelling;
mod list;
mod own_format;
pub(crate) mod own_prompts;
pub mod passages;
pub mod presets;
pub(crate) mod readers;
mod reply;
pub(crate) mod row;
pub(crate) mod scored;
mod search;
mod settle;
pub(crate) mod source_readers;
mod subjects;
pub mod switches;

pub use ask::Ask;
pub use built::Built;
pub use ctx::Ctx;
pub use interjection::Interjection;
pub use own_prompts::OwnPrompts;
pub use row::{Method, Needs, Row};
