//! Passages in a table of a PostgreSQL database with pgvector.
//!
//! Without an index on its vectors a table is searched exactly. A comment on the table names the embedder, and says whether
//! a push has ended.

mod faults;
mod statements;
mod table;

pub use table::Table;

use super::store::{Contents, Found, Order, Store};
use crate::error::{MootError, Result};
use crate::fault::RemoteFault;
use crate::llm::remote::fault::{Again, Fault};
use crate::llm::remote::{Key, Patience};
use crate::question::Passage;
use crate::retrieval::passage::Wanted;
use faults::fault;
use postgres::{Client, NoTls, Row};
use serde::{Deserialize, Serialize};
use statements::{Search, described, insertion, references, values};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The first version whose approximate searches go on behind a filter until enough rows are found.
const ITERATES: (u32, u32) = (0, 8);

/// A table of a PostgreSQL database.
pub struct Postgres {
    table: Table,
    password: Option<Key>,
    patience: Patience,
    /// Connections that no request uses.
    idle: Mutex<Vec<Client>>,
    /// Whether a connection was made.
    reached: AtomicBool,
}

/// The password for a server, from the environment: `MOOT_POSTGRES_PASSWORD`, else `PGPASSWORD`.
#[must_use]
pub(super) fn password_from_environment() -> Option<Key> {
    ["MOOT_POSTGRES_PASSWORD", "PGPASSWORD"].iter().find_map(|name| Key::new(&std::env::var(name).ok()?))
}

/// The comment on a table.
#[derive(Serialize, Deserialize)]
struct Comment {
    /// The embedder's identity.
    moot_embedder: String,
    /// Whether the last push has ended.
    finished: bool,
}

impl Postgres {
    /// The table, to which no connection is made yet.
    #[must_use]
    pub fn new(table: Table, password: Option<Key>, patience: Patience) -> Self {
        Self { table, password, patience, idle: Mutex::default(), reached: AtomicBool::new(false) }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Client>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `work` on a connection, again where that may help. `what` names it.
    fn ask<T>(&self, what: &str, work: impl Fn(&mut Client) -> std::result::Result<T, postgres::Error>) -> Result<T> {
        let attempt = || {
            let idle = self.idle().pop().filter(|client| !client.is_closed());
            let mut client = idle.map_or_else(|| self.connect(), Ok)?;
            let done = work(&mut client).map_err(|error| fault(&error, self.password.as_ref()));
            if client.is_closed() {
                // The others are those of the same server.
                self.idle().clear();
            } else {
                self.idle().push(client);
            }
            done
        };
        self.patience
            .persist(|| self.reached.load(Ordering::Relaxed), attempt)
            .map_err(|fault| self.error(fault.kind, format!("{what}: {}", fault.reason)))
    }

    fn connect(&self) -> std::result::Result<Client, Fault> {
        let mut config = self.table.config();
        if let Some(password) = &self.password {
            config.password(password.secret());
        }
        config.connect_timeout(self.patience.connect).tcp_user_timeout(self.patience.silence);
        let failed = |error: postgres::Error| fault(&error, self.password.as_ref());
        let mut client = config.connect(NoTls).map_err(failed)?;
        self.reached.store(true, Ordering::Relaxed);
        let version = client.query_opt("SELECT extversion FROM pg_extension WHERE extname = 'vector'", &[]);
        let Some(version) = version.map_err(failed)? else {
            let reason = "the database has no extension `vector` (pgvector; CREATE EXTENSION vector)";
            return Err(Fault::new(RemoteFault::Refused, Again::Never, reason));
        };
        let milliseconds = self.patience.silence.as_millis().min(i32::MAX as u128);
        let mut settings = format!("SET statement_timeout = {milliseconds}; ");
        if iterates(version.get(0)) {
            // pgvector has no strict order for ivfflat; what is found is sorted anyway.
            settings.push_str("SET hnsw.iterative_scan = strict_order; SET ivfflat.iterative_scan = relaxed_order;");
        }
        client.batch_execute(&settings).map_err(failed)?;
        Ok(client)
    }

    /// Writes the comment on the table.
    fn comment(&self, embedder: &str, finished: bool) -> String {
        let comment = Comment { moot_embedder: embedder.to_owned(), finished };
        // COMMENT takes no parameters: the text is a literal, in which quotes are doubled.
        let text = serde_json::to_string(&comment).expect("a comment is plain data (bug)").replace('\'', "''");
        format!("COMMENT ON TABLE {} IS '{text}';", self.table.quoted())
    }

    /// The table's description and its comment; `None` where moot did not write the comment.
    fn described(&self) -> Result<(Row, Option<Comment>)> {
        let name = self.table.quoted();
        let row = self.ask("the table", |client| client.query_one(described(), &[&name]))?;
        let comment: Option<String> = row.get(1);
        let comment = comment.and_then(|comment| serde_json::from_str(&comment).ok());
        Ok((row, comment))
    }

    fn found(&self, row: &Row) -> Result<Found> {
        let id: i64 = row.get(0);
        let passage = self.read(id, row.get(1))?;
        let score: f64 = row.get(2);
        Ok(Found { id: id.unsigned_abs(), score: score as f32, passage })
    }

    fn read(&self, id: i64, json: &str) -> Result<Passage> {
        serde_json::from_str(json).map_err(|error| self.unusable(format!("row {id} is no passage of moot's: {error}")))
    }

    fn error(&self, kind: RemoteFault, reason: String) -> MootError {
        MootError::Collection { server: self.table.to_string(), kind, reason, hint: kind.postgres_hint() }
    }
}

impl Store for Postgres {
    fn address(&self) -> String {
        self.table.to_string()
    }

    fn contents(&self) -> Result<Contents> {
        let (row, comment) = self.described()?;
        if !row.get::<_, bool>(0) {
            return Err(self.error(RemoteFault::Missing, "the table: there is none of this name".into()));
        }
        let kind: Option<String> = row.get(2);
        let size = kind.as_deref().and_then(|kind| kind.strip_prefix("vector(")?.strip_suffix(')')?.parse().ok());
        let Some(comment) = comment.filter(|_| kind.is_some()) else {
            return Err(self.unusable("expected a table that `moot index push` made, found another".into()));
        };
        Ok(Contents {
            dimension: size.ok_or_else(|| format!("a column of {}", kind.unwrap_or_default())),
            // Statements order by the operator of dot products.
            order: Ok(Order::Dot),
            embedder: Some(comment.moot_embedder),
            finished: comment.finished,
            approximate: row.get(3),
        })
    }

    /// With indexes for filters by source and date, and none on the vectors.
    fn begin(&self, dimension: usize, embedder: &str, exists: bool) -> Result<()> {
        let (table, comment) = (self.table.quoted(), self.comment(embedder, false));
        let (sources, dates) = (self.table.index("source"), self.table.index("date"));
        let create = format!(
            "CREATE TABLE {table} (id bigint PRIMARY KEY, source text, date_from integer, date_until integer, \
             passage json NOT NULL, embedding vector({dimension}) NOT NULL); \
             CREATE INDEX {sources} ON {table} (source); CREATE INDEX {dates} ON {table} (date_until, date_from);"
        );
        let statements = if exists { comment } else { format!("{create} {comment}") };
        // Statements that are sent together are one transaction.
        self.ask("the new table", |client| client.batch_execute(&statements))
    }

    fn count(&self) -> Result<u64> {
        let text = format!("SELECT count(*) FROM {}", self.table.quoted());
        let count: i64 = self.ask("the number of rows", |client| client.query_one(&text, &[]))?.get(0);
        Ok(count.unsigned_abs())
    }

    fn passage(&self, id: u64) -> Result<Option<Passage>> {
        let id = i64::try_from(id).unwrap_or(i64::MAX);
        let text = format!("SELECT passage::text FROM {} WHERE id = $1", self.table.quoted());
        let row = self.ask("a row", |client| client.query_opt(&text, &[&id]))?;
        row.map(|row| self.read(id, row.get(0))).transpose()
    }

    fn insert(&self, first: u64, passages: &[Passage], vectors: &[f32], _embedder: &str) -> Result<()> {
        if passages.is_empty() {
            return Ok(());
        }
        let text = insertion(&self.table.quoted(), passages.len());
        let values = values(first, passages, vectors);
        let parameters = references(&values);
        self.ask("new rows", |client| client.execute(&text, &parameters)).map(drop)
    }

    /// Statistics are gathered too, by which the server plans searches.
    fn finish(&self) -> Result<()> {
        let embedder = self.described()?.1.map(|comment| comment.moot_embedder).unwrap_or_default();
        let statements = format!("{} ANALYZE {}", self.comment(&embedder, true), self.table.quoted());
        self.ask("the end of the push", |client| client.batch_execute(&statements))
    }

    fn nearest(
        &self,
        vector: &[f32],
        _embedder: &str,
        wanted: &Wanted,
        limit: usize,
        exact: bool,
    ) -> Result<Vec<Found>> {
        let search = Search::new(&self.table.quoted(), vector, wanted, limit, exact);
        let parameters = search.parameters();
        let rows = self.ask("the passages", |client| {
            if !exact {
                return client.query(search.text(), &parameters);
            }
            let mut transaction = client.transaction()?;
            // LOCAL ends with the transaction: other statements use the connection afterwards.
            transaction.batch_execute("SET LOCAL enable_indexscan = off")?;
            let rows = transaction.query(search.text(), &parameters)?;
            transaction.commit()?;
            Ok(rows)
        })?;
        rows.iter().map(|row| self.found(row)).collect()
    }

    fn unusable(&self, reason: String) -> MootError {
        self.error(RemoteFault::Refused, reason)
    }
}

/// Whether pgvector of this version continues searches behind filters.
fn iterates(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= ITERATES
}

#[cfg(test)]
mod tests {
    use super::iterates;

    #[test]
    fn versions_are_numbers() {
        for (version, expected) in [("0.7.4", false), ("0.8.0", true), ("0.10.1", true), ("1.0", true), ("", false)] {
            assert_eq!(iterates(version), expected, "{version}");
        }
    }
}
