//! Switches of methods: a table a method, one way to type them, resolved values that are recorded.

use crate::error::{MootError, Result};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A row of [`Row::switches`](crate::protocol::Row::switches).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Switch {
    /// As typed: `--set NAME=VALUE` or `--NAME VALUE`.
    pub name: &'static str,
    /// A description, one line.
    pub about: &'static str,
    /// The values accepted.
    pub kind: Kind,
    /// The default, as it would be typed.
    pub default: &'static str,
}

/// The kind of a switch's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number between two bounds, both included.
    Count(usize, usize),
    /// A number between two bounds, both included.
    Number(f64, f64),
    /// "true" or "false".
    Flag,
    /// One of these.
    Choice(&'static [&'static str]),
    /// A JSON object, or "none". On the command line the name of a file that has it, so that records hold the object itself.
    Object,
}

impl Kind {
    /// The expected value, for an error.
    #[must_use]
    pub fn expected(self) -> String {
        match self {
            Self::Count(least, most) => format!("a whole number from {least} to {most}"),
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::Flag => "true or false".into(),
            Self::Object => "a file with a JSON object, or none".into(),
            Self::Choice(choices) => match choices {
                [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
                _ => choices.concat(),
            },
        }
    }

    fn read(self, typed: &str) -> Option<Value> {
        match self {
            Self::Count(least, most) => {
                typed.parse::<usize>().ok().filter(|n| (least..=most).contains(n)).map(Value::from)
            }
            Self::Number(least, most) => {
                typed.parse::<f64>().ok().filter(|n| (least..=most).contains(n)).map(Value::from)
            }
            Self::Flag => typed.parse::<bool>().ok().map(Value::from),
            Self::Choice(choices) => choices.contains(&typed).then(|| Value::from(typed)),
            Self::Object if typed == "none" => Some(Value::from(typed)),
            Self::Object => serde_json::from_str(typed).ok().map(Value::Object),
        }
    }
}

/// Switches as typed, by name.
pub type Typed = BTreeMap<String, String>;

/// Every switch of one method with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    method: &'static str,
    values: Map<String, Value>,
    typed: Typed,
    label: Option<&'static str>,
}

impl Values {
    /// Resolves what was typed for a method with this table.
    ///
    /// # Errors
    /// [`MootError::Usage`] for a switch that the method does not have, or a value that the switch does not take.
    pub fn resolve(method: &'static str, table: &'static [Switch], typed: &Typed) -> Result<Self> {
        if let Some(name) = typed.keys().find(|name| table.iter().all(|switch| switch.name != name.as_str())) {
            let has = match table {
                [] => "it has none".to_owned(),
                _ => format!("it has: {}", table.iter().map(|switch| switch.name).collect::<Vec<_>>().join(", ")),
            };
            return Err(MootError::Usage(format!("{method} has no switch {name:?} ({has})")));
        }
        let mut values = Map::new();
        for switch in table {
            let text = typed.get(switch.name).map_or(switch.default, String::as_str);
            let value = switch.kind.read(text).ok_or_else(|| {
                let (name, expected) = (switch.name, switch.kind.expected());
                MootError::Usage(format!("{method}, switch {name}: expected {expected}, found {text:?}"))
            })?;
            values.insert(switch.name.to_owned(), value);
        }
        Ok(Self { method, values, typed: typed.clone(), label: None })
    }

    /// Whether the switch was typed, so that its value is not a default.
    #[must_use]
    pub fn is_typed(&self, name: &str) -> bool {
        self.typed.contains_key(name)
    }

    /// Replaces a default that depends on another switch.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        debug_assert!(self.values.contains_key(name), "a switch of the table (bug)");
        self.values.insert(name.to_owned(), value);
    }

    /// Names the variant that these values make of the method, where it differs from its paper: "self-rag (prompted)".
    pub(crate) fn set_label(&mut self, label: &'static str) {
        self.label = Some(label);
    }

    /// The name that records and tables show instead of the method's.
    #[must_use]
    pub fn label(&self) -> Option<&'static str> {
        self.label
    }

    /// The value of a [`Kind::Count`].
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        self.value(name).as_u64().and_then(|n| usize::try_from(n).ok()).expect("a count is a whole number (bug)")
    }

    /// The value of a [`Kind::Number`].
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        self.value(name).as_f64().expect("a number is one (bug)")
    }

    /// The value of a [`Kind::Flag`].
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.value(name).as_bool().expect("a flag is true or false (bug)")
    }

    /// The value of a [`Kind::Choice`].
    #[must_use]
    pub fn choice(&self, name: &str) -> &str {
        self.value(name).as_str().expect("a choice is a text (bug)")
    }

    /// The value of a [`Kind::Object`]; `None` for none.
    #[must_use]
    pub fn object(&self, name: &str) -> Option<&Map<String, Value>> {
        self.value(name).as_object()
    }

    /// All values, for the record.
    #[must_use]
    pub fn json(&self) -> Value {
        Value::Object(self.values.clone())
    }

    /// An error about one switch of this method.
    #[must_use]
    pub fn wrong(&self, reason: &str) -> MootError {
        MootError::Usage(format!("{}: {reason}", self.method))
    }

    fn value(&self, name: &str) -> &Value {
        self.values.get(name).expect("a switch of the method's table (bug)")
    }
}
