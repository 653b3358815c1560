//! Chat templates: Jinja programs that models carry, rendered so that no content passes through them.
//!
//! A template is rendered with a placeholder instead of every content, the result is cut at the placeholders,
//! and the contents are put between the pieces. So the template's text and the content never mix, and a template that
//! does more to a content than strip white space from its ends is caught: its placeholder does not come back.
//!
//! White space at a content's ends stays outside the placeholder, so that a template may trim it.
//!
//! The language is Jinja2 as `transformers.apply_chat_template` sets it up: `trim_blocks`, `lstrip_blocks`, loop
//! controls, Python's string methods, `raise_exception`, `strftime_now`, a `tojson` without HTML escapes, and
//! `{% generation %}` blocks, which are transparent.
//!
//! A template comes with a model from anywhere, so what it can take is bounded. [`source`] bounds what the compiler, which
//! is recursive, is given: the depth of its syntax tree, names, products of constants. [`checked`] replaces every
//! instruction that takes more than a constant time by a call of [`operators`], and [`filters`] wraps filters, tests,
//! functions and methods. All of them measure their arguments and results ([`measure`]) and charge them to the [`budget`]
//! of the rendering.

mod budget;
mod chat_template;
mod checked;
mod filters;
mod measure;
mod operators;
mod slots;
mod source;
mod thoughts;

pub use chat_template::ChatTemplate;
pub use thoughts::ThoughtMarks;

/// A folder with templates of published models.
#[cfg(test)]
const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/tokenizer/templates");
