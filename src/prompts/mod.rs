//! Prompts and grammars: files beside this one, compiled in, rendered strictly, hashed into every record.

use crate::error::{MootError, Result};
use crate::escape;
use crate::generation::Segment;
use crate::units::hex;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// One prompt (`.jinja`), grammar (`.lark`) or schema (`.jsonc`: its first line is a comment). Rows of tables hold them, with
/// static texts; a text that replaces one is borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File<T = &'static str> {
    /// Its path below `src/prompts`.
    pub name: &'static str,
    /// All of it; the first line names paper and departures.
    pub text: T,
}

/// The file of this name below `src/prompts`, compiled in.
#[macro_export]
macro_rules! prompt_file {
    ($name:literal) => {
        $crate::prompts::File {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/prompts/", $name)),
        }
    };
}

impl<T: AsRef<str>> File<T> {
    /// Renders the file as a template. A value that it names and `values` lacks is an error; text is inserted as it is,
    /// neither escaped nor read as a template; white space at the end is dropped.
    ///
    /// # Errors
    /// [`MootError::Prompt`] with the file and what is wrong in it.
    pub fn render(&self, values: impl Serialize) -> Result<String> {
        let text = self.rendered(values, &mut self.environment()?)?;
        Ok(text.trim_end().to_owned())
    }

    /// Renders the file as a raw prompt: what the file says is scaffold, in which control tokens are recognised; what is
    /// inserted is content, in which none is.
    ///
    /// # Errors
    /// As [`File::render`].
    pub fn render_segments(&self, values: impl Serialize) -> Result<Vec<Segment>> {
        if self.text.as_ref().contains([MARK_OPEN, MARK_CLOSE]) {
            return Err(self.wrong("a raw prompt must not hold the characters U+F8FE and U+F8FF"));
        }
        let inserted: Arc<Mutex<Vec<String>>> = Arc::default();
        let mut environment = self.environment()?;
        let kept = inserted.clone();
        // A mark is rendered instead of each inserted text, so that no text can be mistaken for scaffold.
        environment.set_formatter(move |out, _, value| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            write!(out, "{MARK_OPEN}{}{MARK_CLOSE}", kept.len()).map_err(minijinja::Error::from)?;
            kept.push(value.to_string());
            Ok(())
        });
        let text = self.rendered(values, &mut environment)?;
        let inserted = inserted.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(segments(text.trim_end(), &inserted))
    }

    /// Whether the file parses as a template. Values that it names and that will be missing are found when it is rendered.
    ///
    /// # Errors
    /// As [`File::render`].
    pub fn check(&self) -> Result<()> {
        let environment = self.environment()?;
        environment.template_from_named_str(self.name, self.text.as_ref()).map_err(|e| self.wrong(&one_line(&e)))?;
        Ok(())
    }

    /// The values that the file names: "question", "document". Empty for one that does not parse.
    #[must_use]
    pub fn values(&self) -> BTreeSet<String> {
        let named = |environment: &Environment<'_>| {
            let template = environment.template_from_named_str(self.name, self.text.as_ref()).ok()?;
            Some(template.undeclared_variables(false).into_iter().collect())
        };
        self.environment().ok().and_then(|environment| named(&environment)).unwrap_or_default()
    }

    /// Hex SHA-256 of the file's text.
    #[must_use]
    pub fn sha256(&self) -> String {
        hex(&Sha256::digest(self.text.as_ref().as_bytes()))
    }

    fn environment(&self) -> Result<Environment<'static>> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.add_filter("quoted", |text: String| serde_json::Value::String(text).to_string());
        // A tag alone on its line leaves no line in the prompt.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|e| self.wrong(&one_line(&e)))?);
        Ok(environment)
    }

    fn rendered(&self, values: impl Serialize, environment: &mut Environment<'static>) -> Result<String> {
        let values = Value::from(Serde(values));
        environment.render_named_str(self.name, self.text.as_ref(), values.clone()).map_err(|e| {
            let missing = (e.kind() == ErrorKind::UndefinedError).then(|| self.missing(&values, environment)).flatten();
            self.wrong(&missing.map_or_else(|| one_line(&e), |missing| one_line_of(&missing, e.line())))
        })
    }

    /// The names in the file that no value has, and those that are there; `None` where only a part of a value is missing.
    fn missing(&self, values: &Value, environment: &Environment<'static>) -> Option<String> {
        let template = environment.template_from_named_str(self.name, self.text.as_ref()).ok()?;
        let mut known: Vec<String> = values.try_iter().ok()?.map(|name| name.to_string()).collect();
        known.sort_unstable();
        let global = |name: &String| environment.globals().any(|(known, _)| known == name);
        let mut missing: Vec<String> = template.undeclared_variables(false).into_iter().collect();
        missing.retain(|name| !known.contains(name) && !global(name));
        // The names come from a hash set: an error has one text in every run.
        missing.sort_unstable();
        let missing: Vec<String> = missing.iter().map(|name| format!("{name:?}")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { escape::excerpt(&known.join(", ")) };
        (!missing.is_empty()).then(|| format!("no value is called {} (this prompt has: {known})", missing.join(" or ")))
    }

    fn wrong(&self, reason: &str) -> MootError {
        MootError::Prompt { file: self.name.to_owned(), reason: reason.to_owned() }
    }
}

/// Around the number of an inserted text while a raw prompt is rendered.
const MARK_OPEN: char = '\u{f8fe}';
const MARK_CLOSE: char = '\u{f8ff}';

fn segments(text: &str, inserted: &[String]) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut push = |segment: Segment| {
        if !segment.text().is_empty() {
            segments.push(segment);
        }
    };
    let mut rest = text;
    while let Some((scaffold, after)) = rest.split_once(MARK_OPEN) {
        let (number, after) = after.split_once(MARK_CLOSE).expect("a mark that was opened is closed (bug)");
        push(Segment::Scaffold(scaffold.to_owned()));
        let text = number.parse::<usize>().ok().and_then(|number| inserted.get(number));
        push(Segment::Content(text.expect("a mark has the number of an inserted text (bug)").clone()));
        rest = after;
    }
    push(Segment::Scaffold(rest.to_owned()));
    segments
}

/// Hex SHA-256 of each of `files`, by name, for the record's header.
#[must_use]
pub fn hashes<T: AsRef<str>>(files: impl IntoIterator<Item = File<T>>) -> BTreeMap<String, String> {
    files.into_iter().map(|file| (file.name.to_owned(), file.sha256())).collect()
}

/// Hex SHA-256 of a text.
pub(crate) fn hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// The reason after its line of the template, where that is known.
fn one_line_of(reason: &str, line: Option<usize>) -> String {
    line.map_or_else(|| reason.to_owned(), |line| format!("line {line}: {reason}"))
}

fn one_line(error: &minijinja::Error) -> String {
    error.to_string().lines().collect::<Vec<_>>().join(" ")
}
