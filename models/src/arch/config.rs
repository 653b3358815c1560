//! config.json: typed getters.

use crate::error::{ModelError, Result, shortened};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A config.json with typed getters, as [`crate::weights::Metadata`] has.
#[derive(Debug, Clone)]
pub struct Config {
    path: PathBuf,
    /// Before every field's name in messages: "rope_scaling.".
    prefix: String,
    value: Arc<Value>,
    /// The values of fields that it lacks, where [`Self::with_defaults`] gave some.
    defaults: Option<Arc<Value>>,
}

impl Config {
    /// Reads a config.json of at most 1 MiB.
    ///
    /// # Errors
    /// The file cannot be read, is no JSON object, or is far too large to be a configuration.
    pub fn open(path: &Path) -> Result<Self> {
        const LIMIT: u64 = 1 << 20;
        let io = |action| move |source| ModelError::Io { path: path.to_owned(), action, source };
        let size = std::fs::metadata(path).map_err(io("open"))?.len();
        if size > LIMIT {
            return Err(unsound(path, &format!("{size} bytes")));
        }
        Self::parse(path, &std::fs::read(path).map_err(io("read"))?)
    }

    /// A config.json that is in memory already; `origin` stands for it in messages.
    ///
    /// # Errors
    /// It is no JSON object.
    pub fn parse(origin: &Path, json: &[u8]) -> Result<Self> {
        Self::of(origin, serde_json::from_slice(json).map_err(|e| unsound(origin, &e.to_string()))?)
    }

    /// The same fields from elsewhere: a row of the catalog. `origin` stands for them in messages.
    ///
    /// # Errors
    /// It is no JSON object.
    pub fn of(origin: &Path, value: Value) -> Result<Self> {
        if !value.is_object() {
            return Err(unsound(origin, "another JSON value"));
        }
        Ok(Self { path: origin.to_owned(), prefix: String::new(), value: Arc::new(value), defaults: None })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn get(&self, field: &str) -> Option<&Value> {
        let stated = self.value.get(field).filter(|value| !value.is_null());
        stated.or_else(|| self.defaults.as_ref()?.get(field))
    }

    /// The same fields, and those of the object `defaults` where it has none.
    pub(super) fn with_defaults(&self, defaults: Value) -> Self {
        Self { defaults: Some(Arc::new(defaults)), ..self.clone() }
    }

    pub(crate) fn has(&self, field: &str) -> bool {
        self.get(field).is_some()
    }

    /// The object under `field`, with getters of its own.
    pub(crate) fn section(&self, field: &str) -> Result<Option<Self>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        if !value.is_object() {
            return Err(self.wrong(field, "a JSON object"));
        }
        let prefix = format!("{}{field}.", self.prefix);
        Ok(Some(Self { path: self.path.clone(), prefix, value: Arc::new(value.clone()), defaults: None }))
    }

    pub(crate) fn wrong(&self, field: &str, expected: &str) -> ModelError {
        let found = self.get(field).map_or("nothing".into(), |v| v.to_string().chars().take(60).collect());
        let field = format!("{}{field}", self.prefix);
        ModelError::Field { path: self.path.clone(), field, expected: expected.into(), found }
    }

    /// A text.
    ///
    /// # Errors
    /// [`ModelError::Field`] when absent or of another kind.
    pub fn str(&self, field: &str) -> Result<&str> {
        self.get(field).and_then(Value::as_str).ok_or_else(|| self.wrong(field, "a string"))
    }

    pub(crate) fn optional_str(&self, field: &str) -> Result<Option<&str>> {
        if self.has(field) { self.str(field).map(Some) } else { Ok(None) }
    }

    pub(crate) fn usize(&self, field: &str) -> Result<usize> {
        self.optional_usize(field)?.ok_or_else(|| self.wrong(field, "a non-negative integer"))
    }

    pub(crate) fn optional_usize(&self, field: &str) -> Result<Option<usize>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let number = value.as_u64().and_then(|n| usize::try_from(n).ok());
        number.map(Some).ok_or_else(|| self.wrong(field, "a non-negative integer"))
    }

    /// A list of numbers.
    pub(super) fn optional_usizes(&self, field: &str) -> Result<Option<Vec<usize>>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let number = |n: &Value| n.as_u64().and_then(|n| usize::try_from(n).ok());
        let numbers = value.as_array().and_then(|all| all.iter().map(number).collect());
        numbers.map(Some).ok_or_else(|| self.wrong(field, "an array of non-negative integers"))
    }

    pub(crate) fn optional_i64(&self, field: &str) -> Result<Option<i64>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        value.as_i64().map(Some).ok_or_else(|| self.wrong(field, "an integer"))
    }

    /// The words of a list, or of a text that has them with `|` between; none where the field is absent.
    pub(crate) fn words(&self, field: &str) -> Result<Vec<String>> {
        let Some(value) = self.get(field) else { return Ok(Vec::new()) };
        let words = match value {
            Value::String(text) => Some(text.split('|').map(|word| word.trim().to_owned()).collect()),
            Value::Array(all) => all.iter().map(|word| word.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        words.ok_or_else(|| self.wrong(field, "words, as a list or with | between"))
    }

    /// The texts of an object whose keys are the numbers from 0 on, in their order; `None` where the field is absent.
    pub(crate) fn numbered_texts(&self, field: &str) -> Result<Option<Vec<String>>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let texts = value.as_object().and_then(|all| {
            (0..all.len()).map(|i| all.get(&i.to_string())?.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        texts.map(Some).ok_or_else(|| self.wrong(field, "a text for each number from 0 on"))
    }

    pub(crate) fn f64(&self, field: &str) -> Result<f64> {
        self.optional_f64(field)?.ok_or_else(|| self.wrong(field, "a number"))
    }

    pub(crate) fn optional_f64(&self, field: &str) -> Result<Option<f64>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        value.as_f64().map(Some).ok_or_else(|| self.wrong(field, "a number"))
    }

    pub(super) fn floats(&self, field: &str) -> Result<Vec<f32>> {
        let numbers = self.get(field).and_then(Value::as_array);
        let numbers = numbers.and_then(|all| all.iter().map(|x| x.as_f64().map(|x| x as f32)).collect());
        numbers.ok_or_else(|| self.wrong(field, "an array of numbers"))
    }

    /// A list of zeros and ones.
    pub(super) fn optional_ones(&self, field: &str) -> Result<Option<Vec<bool>>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let one = |x: &Value| x.as_u64().filter(|&x| x <= 1).map(|x| x == 1);
        let ones = value.as_array().and_then(|all| all.iter().map(one).collect());
        ones.map(Some).ok_or_else(|| self.wrong(field, "an array of 0 and 1"))
    }

    pub(crate) fn flag(&self, field: &str) -> Result<bool> {
        let Some(value) = self.get(field) else { return Ok(false) };
        value.as_bool().ok_or_else(|| self.wrong(field, "true or false"))
    }

    /// Refuses a field that would change the forward in a way not built yet.
    pub(crate) fn refuse(&self, field: &str, unless: impl Fn(&Value) -> bool, expected: &str) -> Result<()> {
        match self.get(field) {
            Some(value) if !unless(value) => Err(self.wrong(field, expected)),
            _ => Ok(()),
        }
    }

    /// The attention window, where there is one at all.
    pub(super) fn window(&self) -> Result<Option<usize>> {
        Ok(self.optional_usize("sliding_window")?.filter(|&window| window > 0))
    }
}

fn unsound(path: &Path, found: &str) -> ModelError {
    ModelError::Format {
        path: path.to_owned(),
        format: "config.json",
        location: "the file".into(),
        expected: "a JSON object of at most 1 MiB".into(),
        found: shortened(found),
    }
}
