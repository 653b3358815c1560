//! The shape of a line of a record, checked before it is parsed: no name twice in an object, a bounded number of values, and
//! nothing but times behind the hash.
//!
//! The hash covers the text before it, and the parser reads the whole line. Without this check a field behind the hash
//! could replace a hashed one of the same name, or add one.

use crate::jsonl::{MAX_VALUES, json_fault};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

/// Values that a line may hold. A line of versions 1 and 2 holds all calls of its question.
fn most_values(inline: bool) -> usize {
    if inline { 4 * MAX_VALUES } else { MAX_VALUES }
}

/// The fields allowed behind a line's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// Nothing: a header.
    Nothing,
    /// `times`: a call or a question.
    Times,
    /// The line has no hash: versions 1 and 2.
    NoHash,
}

/// Why a line does not have the shape.
#[derive(Debug)]
pub(super) enum Fault {
    /// No JSON. A last line like this was cut short.
    NoJson(String),
    /// Expected and found.
    Wrong(String, String),
}

/// Checks `line`.
///
/// # Errors
/// It is not JSON; a name is twice in one object; there are too many values; something else than `behind` follows the
/// hash.
pub(super) fn check(line: &[u8], behind: Behind) -> Result<(), Fault> {
    let most = most_values(behind == Behind::NoHash);
    let left = Cell::new(most);
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let names = Names { left: &left }.deserialize(&mut deserializer);
    let names = names.and_then(|names| deserializer.end().map(|()| names)).map_err(|e| match e.is_data() {
        true => Fault::Wrong(format!("at most {most} values, and each name once in an object"), json_fault(&e)),
        false => Fault::NoJson(json_fault(&e)),
    })?;
    let Some(hash) = names.iter().position(|name| name == "chain").filter(|_| behind != Behind::NoHash) else {
        return Ok(());
    };
    let allowed: &[&str] = if behind == Behind::Times { &["times"] } else { &[] };
    match names[hash + 1..].iter().find(|name| !allowed.contains(&name.as_ref())) {
        None => Ok(()),
        Some(name) => {
            let expected = match behind {
                Behind::Times => "nothing but `times` behind the hash",
                Behind::Nothing | Behind::NoHash => "nothing behind the hash",
            };
            Err(Fault::Wrong(expected.to_owned(), format!("`{}`", crate::escape::excerpt(name))))
        }
    }
}

/// The names of an object in their order, empty for any other value; all objects within it are checked as well.
#[derive(Clone, Copy)]
struct Names<'a> {
    /// Values that may still come.
    left: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Names<'_> {
    type Value = Vec<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| D::Error::custom("more values"))?;
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Names<'_> {
    type Value = Vec<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut names, mut seen) = (Vec::new(), HashSet::new());
        while let Some(name) = map.next_key_seed(Name)? {
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format!("`{name}` twice")));
            }
            names.push(name);
            map.next_value_seed(self)?;
        }
        Ok(names)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(Vec::new())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }
}

/// A name, borrowed from the line unless it is written with escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Behind, Fault, check};

    fn found(line: &str, behind: Behind) -> String {
        match check(line.as_bytes(), behind) {
            Ok(()) => "sound".to_owned(),
            Err(Fault::NoJson(found)) => format!("no JSON: {found}"),
            Err(Fault::Wrong(_, found)) => found,
        }
    }

    #[test]
    fn a_name_is_once_in_its_object_however_it_is_written() {
        for behind in [Behind::Nothing, Behind::Times, Behind::NoHash] {
            assert_eq!(found(r#"{"a":{"b":1},"b":[{"a":1},{"a":"a"}]}"#, behind), "sound");
            for twice in [r#"{"a":1,"a":1}"#, r#"{"a":1,"b":2,"\u0061":3}"#, r#"{"b":[{"a":[],"c":{},"a":1}]}"#] {
                assert_eq!(found(twice, behind), "`a` twice", "{twice}");
            }
            assert!(found(r#"{"a":1"#, behind).starts_with("no JSON"));
            assert!(found(r#"{"a":1} {"a":2}"#, behind).starts_with("no JSON"));
        }
    }

    #[test]
    fn behind_the_hash_are_times_alone() {
        let line = |rest: &str| format!(r#"{{"a":1,"chain":"0"{rest}}}"#);
        for behind in [Behind::Nothing, Behind::Times, Behind::NoHash] {
            assert_eq!(found(&line(""), behind), "sound");
        }
        let times = line(r#","times":{"seconds":1}"#);
        assert_eq!((found(&times, Behind::Times), found(&times, Behind::Nothing)), ("sound".into(), "`times`".into()));
        for other in [r#","error":"x""#, r#","times":{},"label":"x""#, r#","\u006dodel":{}"#] {
            assert!(found(&line(other), Behind::Times).starts_with('`'), "{other}");
            assert_eq!(found(&line(other), Behind::NoHash), "sound", "{other}");
        }
    }

    #[test]
    fn values_are_bounded_before_memory_is_taken() {
        let line = format!("{{\"a\":[{}0]}}", "[],".repeat(crate::jsonl::MAX_VALUES));
        assert_eq!(found(&line, Behind::Times), "more values");
        assert_eq!(found(&line, Behind::NoHash), "sound");
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        assert!(found(&deep, Behind::Times).contains("recursion limit"), "{}", found(&deep, Behind::Times));
    }
}
