//! A field of a server's reply, which may be of another form than the protocol says.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A value of any form, of which no more is kept than is read: of an object the fields of `T`.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Field<T = IgnoredAny> {
    Text(String),
    Whole(u64),
    List(Vec<Field<T>>),
    // In a box, so that a long list of something else takes little.
    Object(Box<T>),
    /// Missing, or of another form.
    #[default]
    Other,
}

impl<T> Field<T> {
    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn whole(&self) -> Option<usize> {
        if let Self::Whole(number) = self { usize::try_from(*number).ok() } else { None }
    }

    pub(super) fn list(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    pub(super) fn object(&self) -> Option<&T> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any(PhantomData))
    }
}

struct Any<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Any<T> {
    type Value = Field<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Field::Text(text.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Field::Whole(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Field::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Field::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Field::Other)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Field::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Field::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Field::Object(Box::new(object)))
    }
}

#[cfg(test)]
mod tests {
    use super::Field;
    use serde::Deserialize;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Entry {
        id: Field,
        size: Field,
    }

    #[test]
    fn values_of_another_form_are_ignored() {
        let text = r#"[{"id":"a","size":3,"more":{"x":[1]}},{"id":{"b":1},"size":-3.5},null,[[]],"c",true,{}]"#;
        let read: Field<Entry> = serde_json::from_str(text).unwrap();
        let ids: Vec<_> = read.list().iter().map(|entry| entry.object().and_then(|entry| entry.id.text())).collect();
        assert_eq!(ids, [Some("a"), None, None, None, None, None, None]);
        assert_eq!(read.list()[0].object().and_then(|entry| entry.size.whole()), Some(3));
        assert_eq!(read.list()[1].object().and_then(|entry| entry.size.whole()), None);
        assert_eq!((read.list()[4].text(), read.text()), (Some("c"), None));
        assert!(size_of::<Field<Entry>>() <= 32);
    }
}
