//! Statements and their parameters.

use crate::question::Passage;
use crate::retrieval::collection::store::days;
use crate::retrieval::passage::{Filter, Wanted};
use crate::unicode;
use postgres::types::ToSql;
use std::collections::BTreeSet;

/// A parameter of a statement.
type Parameter = Box<dyn ToSql + Sync>;

/// Most rows of a search by source.
const MOST_BY_SOURCE: usize = 65_536;
/// Columns of a row.
const COLUMNS: usize = 6;

/// Of the table `$1`: whether it is there, its comment, the type of its vectors, and whether these have an approximate index.
pub(super) fn described() -> &'static str {
    "SELECT to_regclass($1::text) IS NOT NULL, obj_description(to_regclass($1::text)::oid, 'pg_class'), \
     (SELECT format_type(atttypid, atttypmod) FROM pg_attribute \
      WHERE attrelid = to_regclass($1::text) AND attname = 'embedding' AND NOT attisdropped), \
     EXISTS (SELECT FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam \
      WHERE indrelid = to_regclass($1::text) AND amname IN ('hnsw', 'ivfflat') AND indisvalid)"
}

/// The statement that stores `rows` rows, or replaces them.
pub(super) fn insertion(table: &str, rows: usize) -> String {
    let row = |row: usize| {
        let [id, source, from, until, passage, vector] = std::array::from_fn(|column| row * COLUMNS + column + 1);
        // The inner type is that of the parameter: the client sends neither json nor vectors.
        format!(
            "(${id}::bigint, ${source}::text, ${from}::integer, ${until}::integer, ${passage}::text::json, \
             ${vector}::real[]::vector)"
        )
    };
    let rows = (0..rows).map(row).collect::<Vec<_>>().join(", ");
    // A statement whose outcome was lost with its connection is sent again.
    format!(
        "INSERT INTO {table} (id, source, date_from, date_until, passage, embedding) VALUES {rows} \
         ON CONFLICT (id) DO UPDATE SET source = excluded.source, date_from = excluded.date_from, \
         date_until = excluded.date_until, passage = excluded.passage, embedding = excluded.embedding"
    )
}

/// Its parameters. `vectors`: `[passages, dimension]`.
pub(super) fn values(first: u64, passages: &[Passage], vectors: &[f32]) -> Vec<Parameter> {
    let dimension = (vectors.len() / passages.len().max(1)).max(1);
    let mut values: Vec<Parameter> = Vec::with_capacity(passages.len() * COLUMNS);
    for (id, (passage, vector)) in (first..).zip(passages.iter().zip(vectors.chunks_exact(dimension))) {
        let days = passage.date.as_deref().and_then(days);
        values.push(Box::new(i64::try_from(id).unwrap_or(i64::MAX)));
        values.push(Box::new(passage.source.clone()));
        values.push(Box::new(days.map(|(from, _)| from)));
        values.push(Box::new(days.map(|(_, until)| until)));
        values.push(Box::new(serde_json::to_string(passage).expect("a passage is plain data (bug)")));
        values.push(Box::new(vector.to_vec()));
    }
    values
}

/// Parameters as the client takes them.
pub(super) fn references(parameters: &[Parameter]) -> Vec<&(dyn ToSql + Sync)> {
    parameters.iter().map(|parameter| &**parameter as &(dyn ToSql + Sync)).collect()
}

/// A search: its rows are number, passage and score.
pub(super) struct Search {
    text: String,
    parameters: Vec<Parameter>,
}

impl Search {
    /// An approximate index serves the order by distance alone; an `exact` search orders equal distances by number.
    pub(super) fn new(table: &str, vector: &[f32], wanted: &Wanted, limit: usize, exact: bool) -> Self {
        let mut parameters: Vec<Parameter> = vec![Box::new(vector.to_vec())];
        let admitted = admitted(&wanted.filter, &mut parameters);
        // pgvector's operator gives the negative dot product, so that an ascending order has the best first.
        let distance = "embedding <#> $1::real[]::vector";
        let text = if wanted.by_source {
            format!(
                "SELECT id, passage::text, score FROM (SELECT id, passage, -({distance}) AS score, \
                 row_number() OVER (PARTITION BY source ORDER BY {distance}, id) AS place FROM {table}{admitted}) ranked \
                 WHERE place <= {limit} ORDER BY score DESC, id LIMIT {MOST_BY_SOURCE}"
            )
        } else {
            let ties = if exact { ", id" } else { "" };
            format!(
                "SELECT id, passage::text, -({distance}) FROM {table}{admitted} ORDER BY {distance}{ties} LIMIT {limit}"
            )
        };
        Self { text, parameters }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        references(&self.parameters)
    }
}

/// The equivalent of [`Filter::admits`]; empty if everything is admitted. Its parameters are added.
fn admitted(filter: &Filter, parameters: &mut Vec<Parameter>) -> String {
    let mut all = Vec::new();
    let mut add = |parameter: Parameter| {
        parameters.push(parameter);
        parameters.len()
    };
    if !filter.sources.is_empty() {
        // As typed, and as new passages have it.
        let sources = filter.sources.iter().flat_map(|source| [source.clone(), unicode::nfc(source).into_owned()]);
        let sources: Vec<String> = sources.collect::<BTreeSet<_>>().into_iter().collect();
        all.push(format!("source = ANY (${})", add(Box::new(sources))));
    }
    if let Some((from, _)) = filter.from.as_deref().and_then(days) {
        all.push(format!("date_until >= ${}", add(Box::new(from))));
    }
    if let Some((_, until)) = filter.until.as_deref().and_then(days) {
        all.push(format!("date_from <= ${}", add(Box::new(until))));
    }
    if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) }
}

#[cfg(test)]
mod tests {
    use super::Search;
    use crate::retrieval::{Filter, Wanted};

    #[test]
    fn a_filter_is_a_condition_with_parameters() {
        let all = Wanted { top: 3, by_source: false, filter: Filter::NONE, fold: false };
        let plain = Search::new("\"t\"", &[1.0], &all, 3, true);
        assert!(!plain.text().contains("WHERE") && plain.text().ends_with("::vector, id LIMIT 3"));
        let filter = Filter {
            sources: vec!["Cafe\u{301}'; DROP TABLE t".into()],
            from: Some("1998-05".into()),
            until: Some("2003".into()),
        };
        let search = Search::new("\"t\"", &[1.0], &Wanted { filter, ..all }, 3, false);
        let condition = "WHERE source = ANY ($2) AND date_until >= $3 AND date_from <= $4 ORDER";
        assert!(search.text().contains(condition) && !search.text().contains("DROP"), "{}", search.text());
        assert_eq!(search.parameters().len(), 4);
    }
}
