//! The size of a value.
//!
//! A value that was measured has at most [`MAX_TEXT`] bytes of text, [`MAX_ITEMS`] items and [`MAX_LISTS`] levels, so
//! what makes it a constant factor larger needs no check before, only after.

use super::budget::{MAX_TEXT, Result, VALUE, charge, fits};
use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

/// Items of one value, with those of its items.
pub(super) const MAX_ITEMS: usize = 200_000;
/// Lists within lists.
const MAX_LISTS: usize = 32;
/// Objects of the language that hold values and change: within lists and within each other they would form chains of any
/// length, which are dropped recursively. No published template keeps them in a list.
const LIVE: [&str; 3] = ["::Loop", "::Macro", "::Namespace"];

/// Bytes that `value` has as text, roughly. Charges its size.
pub(super) fn measure(value: &Value) -> Result<usize> {
    measure_at(value, 0)
}

/// Measures a value that will be part of another.
pub(super) fn measure_part(value: &Value) -> Result<usize> {
    measure_at(value, 1)
}

fn measure_at(value: &Value, depth: usize) -> Result<usize> {
    let mut size = Size::default();
    size.add(value, depth)?;
    charge(size.text.saturating_add(size.items * VALUE))?;
    Ok(size.text)
}

/// Measures a result. A sequence that is computed while it is read becomes a list, so that sequences of sequences do not
/// form chains.
pub(super) fn settled(result: Value) -> Result<Value> {
    measure(&result)?;
    match result.kind() {
        ValueKind::Iterable => Ok(Value::from(result.try_iter()?.collect::<Vec<_>>())),
        _ => Ok(result),
    }
}

#[derive(Default)]
struct Size {
    /// Bytes.
    text: usize,
    /// Values in lists and maps, the outermost included.
    items: usize,
}

impl Size {
    fn add(&mut self, value: &Value, depth: usize) -> Result<()> {
        fits(depth, MAX_LISTS, "lists within lists")?;
        self.items += 1;
        fits(self.items, MAX_ITEMS, "items in one value")?;
        // The separator from the next item, so that an empty item has a size.
        let separator = if depth > 0 { 2 } else { 0 };
        let own = match value.kind() {
            ValueKind::String => value.as_str().map_or(0, str::len),
            ValueKind::Bytes => value.as_bytes().map_or(0, <[u8]>::len),
            _ if depth > 0 && is_live(value) => return Err(live(value)),
            ValueKind::Seq | ValueKind::Iterable => {
                for item in value.try_iter()? {
                    self.add(&item, depth + 1)?;
                }
                2
            }
            ValueKind::Map => {
                for key in value.try_iter()? {
                    self.add(&value.get_item(&key)?, depth + 1)?;
                    self.add(&key, depth + 1)?;
                }
                2
            }
            ValueKind::Undefined => 0,
            _ => 24,
        };
        self.text = self.text.saturating_add(separator).saturating_add(own);
        fits(self.text, MAX_TEXT, "bytes of text in one value")
    }
}

fn is_live(value: &Value) -> bool {
    value.as_object().is_some_and(|object| LIVE.iter().any(|name| object.type_name().ends_with(name)))
}

fn live(value: &Value) -> Error {
    let name = value.as_object().map_or("", |object| object.type_name()).rsplit("::").next().unwrap_or_default();
    let found = name.to_lowercase();
    let expected = "expected text, numbers, lists and maps within a list, map or namespace";
    Error::new(ErrorKind::InvalidOperation, format!("{expected}, found a {found}"))
}
