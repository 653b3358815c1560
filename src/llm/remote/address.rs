//! The address of a remote model, and the key that its server asks for.

use crate::error::{MootError, Result};
use crate::escape;
use std::fmt;
use std::ops::Range;

/// A server that speaks the OpenAI API, and the name of a model there: `http://host:8000/v1#name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Up to and with the API's version, without a slash at its end: `http://host:8000/v1`.
    pub base: String,
    /// The model's name at the server; `None` for the only one that it serves.
    pub model: Option<String>,
}

impl Address {
    /// Whether `name` is an address, not a file or the name of a local model.
    #[must_use]
    pub(crate) fn is_one(name: &str) -> bool {
        ["http://", "https://"]
            .iter()
            // `get`, not an index: a character of several bytes may lie across that place.
            .any(|scheme| name.get(..scheme.len()).is_some_and(|s| s.eq_ignore_ascii_case(scheme)))
    }

    /// Parses `http://host:8000/v1#name`. The default path is `/v1`, the default name that of the server's only model.
    ///
    /// # Errors
    /// [`MootError::Usage`] if it is not an address of a server, or holds something that must not be in a record: a
    /// user, a password, a query.
    pub fn parse(typed: &str) -> Result<Self> {
        let (base, model) = typed.split_once('#').map_or((typed, None), |(base, model)| (base, Some(model.trim())));
        // The typed address may hold a secret, so that the error does not repeat it.
        let wrong = |what: &str| {
            Err(MootError::Usage(format!("the model's address {what}: expected http://host:port/v1#model-name")))
        };
        if base.contains('@') || base.contains('?') {
            return wrong(
                "holds a user, a password or a query, which would end up in records (keys go into MOOT_API_KEY)",
            );
        }
        let Ok(uri) = base.parse::<ureq::http::Uri>() else { return wrong("is none") };
        let scheme = uri.scheme_str().unwrap_or_default();
        let Some(authority) = uri.authority().filter(|authority| !authority.host().is_empty()) else {
            return wrong("names no host");
        };
        if !matches!(scheme, "http" | "https") {
            return wrong("is neither http nor https");
        }
        let path = uri.path().trim_end_matches('/');
        // The address of the endpoint itself is taken too.
        let path = if path.is_empty() { "/v1" } else { path.strip_suffix("/chat/completions").unwrap_or(path) };
        let model = model.filter(|model| !model.is_empty()).map(str::to_owned);
        Ok(Self { base: format!("{scheme}://{}{path}", authority.as_str()), model })
    }

    /// Whether the server runs on this machine: no proxy is used, and a key does not cross a network.
    #[must_use]
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.base.parse::<ureq::http::Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
        let host = host.unwrap_or_default();
        // `Uri::host` keeps the brackets of an IPv6 address, which `IpAddr` does not parse.
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    fn is_private(&self) -> bool {
        self.base.starts_with("https://") || self.is_loopback()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.model {
            Some(model) => write!(f, "{}#{model}", self.base),
            None => f.write_str(&self.base),
        }
    }
}

/// Shorter keys are placeholders ("EMPTY", "none"), which servers ask for that check none: they are words of replies too.
const SHORTEST_SECRET: usize = 8;

/// The secret that a server requires. It is sent in one header and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key; `None` for an empty one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The key for `address`: `MOOT_API_KEY` for any server; else `OPENAI_API_KEY`, which is often set for another
    /// program and so is sent only over https or to this machine.
    #[must_use]
    pub(crate) fn from_environment(address: &Address) -> Option<Self> {
        let read = |name: &str| std::env::var(name).ok().and_then(|text| Self::new(&text));
        read("MOOT_API_KEY").or_else(|| read("OPENAI_API_KEY").filter(|_| address.is_private()))
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// The secret itself, for a protocol that asks for it.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }

    /// `text` without the key, in case a server repeats it.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        let (mut hidden, mut end) = (String::with_capacity(text.len()), 0);
        for span in self.spans_in(text) {
            hidden.push_str(&text[end..span.start]);
            hidden.push_str("(the key)");
            end = span.end;
        }
        hidden.push_str(&text[end..]);
        hidden
    }

    /// Whether `text` holds the key.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        !self.spans_in(text).is_empty()
    }

    /// Where `text` holds the key, as it is, with its slashes escaped as some JSON writers do, or with characters between
    /// that are shown as nothing; in order, not overlapping. A key of fewer than
    /// [`SHORTEST_SECRET`] bytes that can be seen is not looked for.
    pub(crate) fn spans_in(&self, text: &str) -> Vec<Range<usize>> {
        if self.seen().map(char::len_utf8).sum::<usize>() < SHORTEST_SECRET {
            return Vec::new();
        }
        let (mut spans, mut at) = (Vec::new(), 0);
        while let Some(c) = text[at..].chars().next() {
            let length = if escape::is_ignorable(c) { None } else { self.length_at(&text[at..]) };
            match length {
                Some(length) => {
                    spans.push(at..at + length);
                    at += length;
                }
                None => at += c.len_utf8(),
            }
        }
        spans
    }

    /// The key's characters without those that cannot be seen.
    fn seen(&self) -> impl Iterator<Item = char> {
        self.0.chars().filter(|c| !escape::is_ignorable(*c))
    }

    /// Bytes that the key takes at the beginning of `text`; `None` where it is not there.
    fn length_at(&self, text: &str) -> Option<usize> {
        let mut seen = text.char_indices().filter(|(_, c)| !escape::is_ignorable(*c));
        let mut end = 0;
        for wanted in self.seen() {
            let (mut at, mut c) = seen.next()?;
            if (wanted, c) == ('/', '\\') {
                (at, c) = seen.next()?;
            }
            if c != wanted {
                return None;
            }
            end = at + c.len_utf8();
        }
        Some(end)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Key};

    #[test]
    fn addresses_are_read_as_people_type_them() {
        let cases = [
            ("http://host:8000/v1#name", "http://host:8000/v1", Some("name")),
            ("https://host/api/v1/", "https://host/api/v1", None),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1", None),
            ("http://[::1]:8080/#org/name:tag", "http://[::1]:8080/v1", Some("org/name:tag")),
            ("http://host/v1/chat/completions#m", "http://host/v1", Some("m")),
        ];
        for (typed, base, model) in cases {
            let address = Address::parse(typed).unwrap();
            assert_eq!((address.base.as_str(), address.model.as_deref()), (base, model), "{typed}");
        }
        for typed in ["http://", "http://user:secret@host/v1", "https://host/v1?key=secret", "http:// /", "ftp://host"]
        {
            let refused = Address::parse(typed).unwrap_err().to_string();
            assert!(!refused.contains("secret") && refused.contains("http://host:port/v1#model-name"), "{refused}");
        }
    }

    #[test]
    fn this_machine_is_known() {
        for (typed, here) in [
            ("http://localhost:1", true),
            ("http://127.0.0.2", true),
            ("http://[::1]", true),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(Address::parse(typed).unwrap().is_loopback(), here, "{typed}");
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        let key = Key::new(" sk-12345\n").unwrap();
        assert_eq!(format!("{key:?}"), "Key(..)");
        assert_eq!(key.hide_in("no such key: sk-12345."), "no such key: (the key).");
        let slashes = Key::new("/sk/123456789").unwrap();
        assert_eq!(slashes.hide_in("a \\/sk\\/123456789 b /sk/123456789"), "a (the key) b (the key)");
        let first = Key::new("/sk-123456789").unwrap();
        assert_eq!(first.hide_in("a \\/sk-123456789 b /sk-123456789."), "a (the key) b (the key).");
        assert_eq!(Key::new("EMPTY").unwrap().hide_in("EMPTY"), "EMPTY", "no secret, and a word");
        assert_eq!(Key::new("  "), None);
    }
}
