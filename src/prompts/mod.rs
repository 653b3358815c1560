//! Prompts and grammars: files beside this one, compiled in, rendered strictly, hashed into every record.

use crate::error::{MootError, Result};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

/// One prompt or grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Its path below `src/prompts`.
    pub name: &'static str,
    /// All of it; the first line names paper and departures.
    pub text: &'static str,
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(File { name: $name, text: include_str!($name) }),*]
    };
}

/// Every prompt (`.jinja`), every grammar (`.lark`) and every schema (`.jsonc`: its first line is a comment) there is.
pub const FILES: &[File] = files![
    "closed_book/answerer.jinja",
    "concatenated/reader.jinja",
    "madam_rag/agent.jinja",
    "madam_rag/aggregator.jinja",
    "reply/answer.jsonc",
    "reply/answer.lark",
    "reply/answers.jsonc",
    "reply/answers.lark",
    "reply/list.jsonc",
    "reply/list.lark",
];

/// The file called `name`.
///
/// # Errors
/// [`MootError::UnknownName`] with all known names.
pub fn file(name: &str) -> Result<&'static File> {
    FILES.iter().find(|file| file.name == name).ok_or_else(|| MootError::UnknownName {
        kind: "prompt",
        name: name.to_owned(),
        known: FILES.iter().map(|file| file.name).collect::<Vec<_>>().join(", "),
    })
}

/// Renders the prompt called `name`. A value that the prompt names and `values` lacks is an error; text is inserted as
/// it is, neither escaped nor read as a template; white space at the end is dropped.
///
/// # Errors
/// [`MootError::Prompt`] with the file and what is wrong in it; [`MootError::UnknownName`].
pub fn render(name: &str, values: impl Serialize) -> Result<String> {
    let file = file(name)?;
    let failed = |e: minijinja::Error| MootError::Prompt { file: name.to_owned(), reason: one_line(&e) };
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(failed)?);
    let text = environment.render_named_str(name, file.text, Serde(values)).map_err(failed)?;
    Ok(text.trim_end().to_owned())
}

/// Hex SHA-256 of each file in `names`, for the record's header.
///
/// # Errors
/// [`MootError::UnknownName`].
pub fn hashes(names: &[&str]) -> Result<BTreeMap<String, String>> {
    names.iter().map(|name| Ok(((*name).to_owned(), sha256(file(name)?)))).collect()
}

fn sha256(file: &File) -> String {
    Sha256::digest(file.text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes all that is written (bug)");
        hex
    })
}

fn one_line(error: &minijinja::Error) -> String {
    error.to_string().lines().collect::<Vec<_>>().join(" ")
}
