//! The address of a table.

use crate::error::{MootError, Result};
use std::fmt;

/// Most bytes of a name: PostgreSQL cuts names at 63, those of the table's indexes too.
const LONGEST: usize = 48;
/// Schemes of an address.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// A table of a PostgreSQL database: `postgres://user@host:5432/database#table`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The system's user where none is named.
    user: Option<String>,
    host: String,
    port: u16,
    database: String,
    schema: Option<String>,
    name: String,
}

impl Table {
    /// Whether `name` is an address of a database rather than a folder.
    #[must_use]
    pub(crate) fn is_one(name: &str) -> bool {
        SCHEMES.iter().any(|scheme| name.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
    }

    /// Reads `postgres://user@host:5432/database#table`; the table may be `schema.table`.
    ///
    /// # Errors
    /// [`MootError::Usage`] if it is not such an address, or contains a password or a query, which must not appear in a
    /// record.
    pub fn parse(typed: &str) -> Result<Self> {
        // The typed text may contain a secret, so messages do not repeat it.
        let wrong = |what: &str| {
            MootError::Usage(format!("the address {what}: expected postgres://user@host:5432/database#table"))
        };
        let (base, table) = typed.split_once('#').unwrap_or((typed, ""));
        let uri = base.parse::<ureq::http::Uri>().map_err(|_| wrong("is none"))?;
        let authority = uri.authority().ok_or_else(|| wrong("names no host"))?;
        let user = authority.as_str().rsplit_once('@').map(|(user, _)| user);
        if user.is_some_and(|user| user.contains(':')) || uri.query().is_some() {
            return Err(wrong("holds a password or a query (the password goes into MOOT_POSTGRES_PASSWORD)"));
        }
        if user.is_some_and(|user| !is_name(user)) {
            return Err(wrong("names no user (letters, digits, _, - and .)"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let database = uri.path().trim_start_matches('/');
        if host.is_empty() {
            return Err(wrong("names no host"));
        }
        if !is_name(database) {
            return Err(wrong("names no database (letters, digits, _, - and .)"));
        }
        let (schema, name) = table.split_once('.').map_or((None, table), |(schema, name)| (Some(schema), name));
        if ![schema.unwrap_or("public"), name].into_iter().all(|part| is_name(part) && !part.contains('.')) {
            return Err(wrong("names no table (letters, digits, _ and -, perhaps behind a schema and a point)"));
        }
        Ok(Self {
            user: user.map(str::to_owned),
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(5432),
            database: database.to_owned(),
            schema: schema.map(str::to_owned),
            name: name.to_owned(),
        })
    }

    /// Settings of a connection, without the password.
    pub(super) fn config(&self) -> postgres::Config {
        let mut config = postgres::Config::new();
        config.host(&self.host).port(self.port).dbname(&self.database).application_name("moot");
        if let Some(user) = &self.user {
            config.user(user);
        }
        config
    }

    /// The table in SQL, quoted.
    pub(super) fn quoted(&self) -> String {
        // The characters that are allowed need no escape.
        self.schema.iter().chain([&self.name]).map(|part| format!("\"{part}\"")).collect::<Vec<_>>().join(".")
    }

    /// A name for an index of the table on `field`, quoted.
    pub(super) fn index(&self, field: &str) -> String {
        format!("\"{}_{field}\"", self.name)
    }
}

fn is_name(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEMES[0])?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        write!(f, "{host}:{}/{}#", self.port, self.database)?;
        self.schema.as_ref().map_or(Ok(()), |schema| write!(f, "{schema}."))?;
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn addresses_are_read_as_people_type_them() {
        for (typed, shown, quoted) in [
            ("postgres://me@host/wiki#pages", "postgres://me@host:5432/wiki#pages", "\"pages\""),
            (
                "PostgreSQL://[::1]:5433/wiki#own.pages_2",
                "postgres://[::1]:5433/wiki#own.pages_2",
                "\"own\".\"pages_2\"",
            ),
        ] {
            let table = Table::parse(typed).unwrap();
            assert_eq!((table.to_string().as_str(), table.quoted().as_str()), (shown, quoted));
            assert_eq!(Table::parse(shown).unwrap(), table);
            assert!(Table::is_one(typed));
        }
    }

    #[test]
    fn a_secret_in_an_address_is_refused_and_not_repeated() {
        for typed in [
            "postgres://me:secret@host/wiki#pages",
            "postgres://host/wiki?password=secret#pages",
            "postgres://host/wiki",
            "postgres://host/wiki#pages\"; DROP TABLE secret",
            "postgres://host/#pages",
            "postgres:///wiki#pages",
            "postgres://host/wiki#a.b.c",
        ] {
            let refused = Table::parse(typed).unwrap_err().to_string();
            assert!(!refused.contains("secret") && refused.contains("postgres://user@host:5432"), "{typed}: {refused}");
        }
    }
}
