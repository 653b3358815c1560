//! Methods, their prompts and formats.

mod reply;
