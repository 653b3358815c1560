//! GGUF metadata as typed values: every getter names the file, the field, what was expected and what is there.

use crate::error::{ModelError, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One metadata value of a GGUF file.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Any unsigned integer width.
    Unsigned(u64),
    /// Any signed integer width.
    Signed(i64),
    /// f32 or f64.
    Float(f64),
    /// One byte, 0 or 1.
    Bool(bool),
    /// UTF-8 text.
    String(String),
    /// Unsigned integers of one width.
    UnsignedArray(Vec<u64>),
    /// Signed integers of one width.
    SignedArray(Vec<i64>),
    /// Floats of one width.
    FloatArray(Vec<f64>),
    /// Booleans.
    BoolArray(Vec<bool>),
    /// Texts: a vocabulary, a merge table. Bytes, since vocabularies exist that are not UTF-8.
    StringArray(Vec<Vec<u8>>),
}

impl Value {
    /// The kind, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unsigned(_) => "an unsigned integer",
            Self::Signed(_) => "a signed integer",
            Self::Float(_) => "a float",
            Self::Bool(_) => "a boolean",
            Self::String(_) => "a string",
            Self::UnsignedArray(_) => "an array of unsigned integers",
            Self::SignedArray(_) => "an array of signed integers",
            Self::FloatArray(_) => "an array of floats",
            Self::BoolArray(_) => "an array of booleans",
            Self::StringArray(_) => "an array of strings",
        }
    }
}

/// All metadata of one GGUF file.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    path: PathBuf,
    values: BTreeMap<String, Value>,
}

impl Metadata {
    /// Wraps values read from `path`.
    #[must_use]
    pub fn new(path: PathBuf, values: BTreeMap<String, Value>) -> Self {
        Self { path, values }
    }

    /// The file these values came from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The value of `field`, where there is one.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.values.get(field)
    }

    /// All fields in name order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// A non-negative integer of any width.
    ///
    /// # Errors
    /// [`ModelError::Field`] when absent, negative or of another kind.
    pub fn usize(&self, field: &str) -> Result<usize> {
        self.optional_usize(field)?.ok_or_else(|| self.wrong(field, "a non-negative integer"))
    }

    /// As [`Self::usize`], `None` when the field is absent.
    ///
    /// # Errors
    /// [`ModelError::Field`] when negative or of another kind.
    pub fn optional_usize(&self, field: &str) -> Result<Option<usize>> {
        let number = match self.get(field) {
            None => return Ok(None),
            Some(Value::Unsigned(n)) => usize::try_from(*n).ok(),
            Some(Value::Signed(n)) => usize::try_from(*n).ok(),
            Some(_) => None,
        };
        number.map(Some).ok_or_else(|| self.wrong(field, "a non-negative integer"))
    }

    /// A finite float; integers are taken too. `None` when the field is absent.
    ///
    /// # Errors
    /// [`ModelError::Field`] when of another kind or not finite.
    pub fn optional_f64(&self, field: &str) -> Result<Option<f64>> {
        let number = match self.get(field) {
            None => return Ok(None),
            Some(Value::Float(x)) => Some(*x),
            #[allow(clippy::cast_precision_loss)] // a float was meant: no such field is near 2^53
            Some(Value::Unsigned(n)) => Some(*n as f64),
            Some(_) => None,
        };
        let finite = number.filter(|x| x.is_finite());
        finite.map(Some).ok_or_else(|| self.wrong(field, "a finite number"))
    }

    /// A boolean; `None` when the field is absent.
    ///
    /// # Errors
    /// [`ModelError::Field`] when of another kind.
    pub fn optional_bool(&self, field: &str) -> Result<Option<bool>> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::Bool(b)) => Ok(Some(*b)),
            Some(_) => Err(self.wrong(field, "a boolean")),
        }
    }

    /// An array of booleans; `None` when the field is absent.
    ///
    /// # Errors
    /// [`ModelError::Field`] when of another kind.
    pub fn optional_bools(&self, field: &str) -> Result<Option<&[bool]>> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::BoolArray(all)) => Ok(Some(all)),
            Some(_) => Err(self.wrong(field, "an array of booleans")),
        }
    }

    /// An array of non-negative integers; `None` when the field is absent or one number.
    ///
    /// # Errors
    /// [`ModelError::Field`] when a number is negative.
    pub fn optional_usizes(&self, field: &str) -> Result<Option<Vec<usize>>> {
        let numbers: Option<Vec<usize>> = match self.get(field) {
            Some(Value::UnsignedArray(all)) => all.iter().map(|&n| usize::try_from(n).ok()).collect(),
            Some(Value::SignedArray(all)) => all.iter().map(|&n| usize::try_from(n).ok()).collect(),
            _ => return Ok(None),
        };
        numbers.map(Some).ok_or_else(|| self.wrong(field, "non-negative integers"))
    }

    /// A text.
    ///
    /// # Errors
    /// [`ModelError::Field`] when absent or of another kind.
    pub fn str(&self, field: &str) -> Result<&str> {
        match self.get(field) {
            Some(Value::String(s)) => Ok(s),
            _ => Err(self.wrong(field, "a string")),
        }
    }

    /// As [`Self::str`], `None` when the field is absent.
    ///
    /// # Errors
    /// [`ModelError::Field`] when of another kind.
    pub fn optional_str(&self, field: &str) -> Result<Option<&str>> {
        if self.get(field).is_none() { Ok(None) } else { self.str(field).map(Some) }
    }

    /// An array of byte strings.
    ///
    /// # Errors
    /// [`ModelError::Field`] when absent or of another kind.
    pub fn strings(&self, field: &str) -> Result<&[Vec<u8>]> {
        match self.get(field) {
            Some(Value::StringArray(a)) => Ok(a),
            _ => Err(self.wrong(field, "an array of strings")),
        }
    }

    /// The error for `field` not being `expected`.
    #[must_use]
    pub fn wrong(&self, field: &str, expected: &str) -> ModelError {
        let found = match self.get(field) {
            None => "nothing".to_owned(),
            Some(Value::Signed(n)) => n.to_string(),
            Some(Value::Unsigned(n)) => n.to_string(),
            Some(Value::Float(x)) => x.to_string(),
            Some(Value::String(s)) => format!("{:?}", s.chars().take(60).collect::<String>()),
            Some(other) => other.kind().to_owned(),
        };
        ModelError::Field { path: self.path.clone(), field: field.to_owned(), expected: expected.to_owned(), found }
    }
}
