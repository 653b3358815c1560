//! Numbers of records next to those of a table.

use super::table::{Column, Derivation, Needed, PaperTable, Row};
use crate::error::Result;
use crate::eval::computed_slices;
use crate::eval::metrics::Metric;
use crate::eval::record::Header;
use crate::eval::record::reader::Record;
use crate::eval::scores;
use crate::eval::stats::Estimate;
use crate::generation::Sampling;
use crate::llm::ModelIdentity;
use serde::Serialize;
use std::collections::BTreeSet;

/// The embedder of the tables that search a corpus.
const EMBEDDER: &str = "e5-base-v2";

/// A number of the paper, and ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Beside {
    /// The row's name.
    pub name: &'static str,
    /// The row's label.
    pub row: &'static str,
    /// The column's label.
    pub column: &'static str,
    /// Published numbers, by model.
    pub published: Vec<(&'static str, f64)>,
    /// Ours, on the paper's scale; `None` where there is no record, or none of its questions has a value.
    pub ours: Option<Estimate>,
    /// The model that our number was measured with.
    pub model: Option<String>,
    /// How the row or its record differs from the paper.
    pub deviates: Vec<String>,
}

/// A number of the paper's text, and ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DerivedBeside {
    /// What it is.
    pub label: &'static str,
    /// The paper's.
    pub published: f64,
    /// Ours; `None` where a number that it is computed from is missing.
    pub ours: Option<f64>,
}

/// The table with our numbers from `record`, which has the record of a row and a dataset where there is one.
///
/// # Errors
/// A slice that a record does not have.
pub fn beside(table: &PaperTable, record: &dyn Fn(&Row, &Needed) -> Result<Option<Record>>) -> Result<Vec<Beside>> {
    let mut all = Vec::new();
    for row in table.rows {
        for needed in table.data {
            let own = record(row, needed)?;
            let model = own.as_ref().map(|record| record.header.model.name.clone());
            let deviates = deviations(table, row, own.as_ref().map(|record| &record.header));
            for (index, column) in table.columns.iter().enumerate().filter(|(_, column)| column.data == needed.name) {
                let number = |&(model, values): &(&'static str, &'static [f64])| Some((model, *values.get(index)?));
                let published: Vec<(&str, f64)> =
                    row.published.iter().filter_map(number).filter(|(_, value)| !value.is_nan()).collect();
                let ours = own.as_ref().map(|record| ours(record, column)).transpose()?.flatten();
                // A cell without a published number is left out unless there is one of ours, or the row has no published numbers
                // and no record yet.
                if published.is_empty() && ours.is_none() && (own.is_some() || !row.published.is_empty()) {
                    continue;
                }
                all.push(Beside {
                    name: row.name,
                    row: row.label,
                    column: column.label,
                    published,
                    ours,
                    model: model.clone(),
                    deviates: deviates.clone(),
                });
            }
        }
    }
    Ok(all)
}

fn ours(record: &Record, column: &Column) -> Result<Option<Estimate>> {
    let slice;
    let record = if column.slice.is_empty() {
        record
    } else {
        let computed = computed_slices::named(column.slice);
        // A short run may have no question of the slice yet.
        let within = |question: &crate::transcript::QuestionRecord| {
            question.question.slices.iter().any(|name| name == column.slice)
                || computed.is_some_and(|slice| (slice.holds)(question))
        };
        if !record.questions.iter().any(within) {
            return Ok(None);
        }
        slice = scores::slice(record, column.slice)?;
        &slice
    };
    let mut questions: Vec<_> = record.questions.iter().collect();
    questions.sort_by(|a, b| a.question.id.cmp(&b.question.id));
    let metric = Metric::named(column.metric);
    let estimate = metric.and_then(|metric| scores::estimate(metric, &questions));
    Ok(estimate.map(|e| Estimate {
        mean: e.mean * column.scale,
        low: e.low * column.scale,
        high: e.high * column.scale,
        ..e
    }))
}

/// How a row, and the run of a record, differ from the paper's.
fn deviations(table: &PaperTable, row: &Row, header: Option<&Header>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    all.extend((!row.note.is_empty()).then(|| row.note.to_owned()));
    let Some(header) = header else { return all };
    if header.settings.max_tokens != table.max_tokens {
        all.push(format!("at most {} tokens a reply instead of {}", header.settings.max_tokens, table.max_tokens));
    }
    if let Some(preset) = header.preset.as_ref().filter(|preset| *preset != "paper") {
        all.push(format!("preset {preset}"));
    }
    if !header.own_prompts.is_empty() {
        let names: Vec<&str> = header.own_prompts.keys().map(String::as_str).collect();
        all.push(format!("custom prompts: {}", names.join(", ")));
    }
    if header.settings.free_form {
        all.push("replies were not constrained by a grammar".to_owned());
    }
    if header.settings.sampling != Sampling::Greedy {
        all.push("replies were sampled".to_owned());
    }
    if table.corpus
        && let Some(retriever) = header.retriever.as_ref().filter(|retriever| retriever.mode != "dense")
    {
        all.push(format!("search was {} instead of dense and exact", retriever.mode));
    }
    if table.corpus && header.wanted.as_ref().is_some_and(|wanted| wanted.fold) {
        all.push("near-duplicates were folded".to_owned());
    }
    let embedder = header.retriever.as_ref().and_then(|retriever| retriever.embedder.as_deref());
    if let Some(embedder) = embedder.filter(|name| table.corpus && !name.contains(EMBEDDER)) {
        all.push(format!("vectors of {embedder} instead of {EMBEDDER}"));
    }
    // No number of the papers was measured with either.
    if let Some(reranker) = header.retriever.as_ref().and_then(|retriever| retriever.reranker.as_deref()) {
        all.push(format!("passages were reranked by {reranker}"));
    }
    if let Some(classifier) = &header.classifier {
        all.push(format!("classifier of pairs: {}", classifier.name));
    }
    if candidates_share_a_model(row, header) {
        all.push("candidates share a model; the paper's are GPT-4o, DeepSeek-R1 and Claude 4".to_owned());
    }
    all
}

/// Whether candidates of `verification`, each a model of its own in the paper, had one model here.
fn candidates_share_a_model(row: &Row, header: &Header) -> bool {
    let roles = row.build().map(|built| built.roles()).unwrap_or_default();
    let candidates: Vec<&String> = roles.iter().filter(|role| role.starts_with("candidate-")).collect();
    // A file may have two names.
    let file = |model: &ModelIdentity| {
        let text = if model.sha256.is_empty() { &model.name } else { &model.sha256 };
        text.clone()
    };
    let models: BTreeSet<String> = candidates.iter().map(|role| file(header.model_of(role))).collect();
    models.len() < candidates.len()
}

/// The numbers of the paper's text, computed from `all`.
#[must_use]
pub fn derived(table: &PaperTable, all: &[Beside]) -> Vec<DerivedBeside> {
    let mean = |name: &str, column: &str| {
        let of = all.iter().find(|one| one.name == name && one.column == column)?;
        of.ours.map(|estimate| estimate.mean)
    };
    let compute = |derivation: Derivation| match derivation {
        Derivation::Rows(a, b, column) => Some(mean(a, column)? - mean(b, column)?),
        Derivation::Columns(row, a, b) => Some(mean(row, a)? - mean(row, b)?),
        Derivation::Variance(row) => {
            variance(&table.columns.iter().map(|column| mean(row, column.label)).collect::<Option<Vec<_>>>()?)
        }
    };
    table
        .derived
        .iter()
        .map(|one| DerivedBeside { label: one.label, published: one.published, ours: compute(one.of) })
        .collect()
}

/// The mean squared distance from the mean; `None` for no values.
fn variance(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (!values.is_empty()).then(|| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64)
}
