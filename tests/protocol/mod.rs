//! Tests of the building blocks of methods.

pub(crate) mod ctx;
mod equality;
pub(crate) mod formats;
mod gather;
mod lists;
mod own_prompts;
mod presets;
mod reply;
mod switches;
