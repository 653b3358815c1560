//! The address of a collection.

use crate::error::{MootError, Result};
use crate::llm::remote;
use std::fmt;

/// A server's REST interface and a collection there: `http://host:6333#name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    base: String,
    collection: String,
}

impl Address {
    /// Whether `name` is an address rather than a folder.
    #[must_use]
    pub(crate) fn is_one(name: &str) -> bool {
        remote::Address::is_one(name)
    }

    /// Reads `http://host:6333#name`.
    ///
    /// # Errors
    /// [`MootError::Usage`] if it is not a server's address, names no collection, or contains a user, a password or a query,
    /// which must not appear in a record.
    pub fn parse(typed: &str) -> Result<Self> {
        // The typed text may contain a secret, so messages do not repeat it.
        let wrong = |what: &str| MootError::Usage(format!("the address {what}: expected http://host:6333#collection"));
        let (base, collection) = typed.split_once('#').unwrap_or((typed, ""));
        if base.contains(['@', '?']) {
            return Err(wrong("holds a user, a password or a query (keys go into MOOT_QDRANT_KEY)"));
        }
        let uri = base.parse::<ureq::http::Uri>().map_err(|_| wrong("is none"))?;
        let authority = uri.authority().filter(|authority| !authority.host().is_empty());
        let authority = authority.ok_or_else(|| wrong("names no host"))?;
        let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"));
        let scheme = scheme.ok_or_else(|| wrong("is neither http nor https"))?;
        let sound = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if collection.is_empty() || !collection.chars().all(sound) {
            return Err(wrong("names no collection (letters, digits, _, - and .)"));
        }
        let base = format!("{scheme}://{authority}{}", uri.path().trim_end_matches('/'));
        Ok(Self { base, collection: collection.to_owned() })
    }

    pub(super) fn is_loopback(&self) -> bool {
        remote::Address { base: self.base.clone(), model: None }.is_loopback()
    }

    pub(super) fn collection_url(&self) -> String {
        format!("{}/collections/{}", self.base, self.collection)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.base, self.collection)
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn addresses_are_read_as_people_type_them() {
        let address = Address::parse("https://host/qdrant/#wiki_2018").unwrap();
        assert_eq!(address.collection_url(), "https://host/qdrant/collections/wiki_2018");
        assert_eq!(address.to_string(), "https://host/qdrant#wiki_2018");
        assert!(Address::parse("http://127.0.0.1:6333#a").unwrap().is_loopback());
        for typed in ["http://host:6333", "http://host#a/b", "http://u:secret@host#a", "ftp://host#a", "http://#a"] {
            let refused = Address::parse(typed).unwrap_err().to_string();
            assert!(!refused.contains("secret") && refused.contains("http://host:6333#collection"), "{refused}");
        }
    }
}
