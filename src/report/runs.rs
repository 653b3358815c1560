//! Settings and hashes of a record, for the template.

use super::part::Part;
use crate::escape;
use crate::eval::record::Header;
use crate::eval::record::reader::{Ledger, Record};
use crate::llm::ModelIdentity;
use serde_json::{Value, json};

/// One record of a part: a list of named settings, and its tables.
pub(super) fn run(part: &Part, number: usize) -> Value {
    let described = &part.compared.records[number];
    let (record, ledger) = (&part.records[number], &part.ledgers[number]);
    let header = &record.header;
    json!({
        "name": escape::line(&described.name),
        "key": crate::eval::chart::legend(number),
        "settings": settings(record, ledger),
        "switches": pairs(&header.switches),
        "prompts": header.prompts.iter().map(|(name, hash)| (escape::line(name), escape::line(hash))).collect::<Vec<_>>(),
        "own": header.own_prompts.iter().map(|(name, text)| (escape::line(name), escape::lines(text))).collect::<Vec<_>>(),
        "differs": described.settings.iter().map(|(field, there, here)| {
            [field, there, here].map(|text| escape::line(text))
        }).collect::<Vec<_>>(),
    })
}

fn settings(record: &Record, ledger: &Ledger) -> Vec<(String, String)> {
    let header: &Header = &record.header;
    let mut list: Vec<(&str, String)> = vec![
        ("Record", record.path.display().to_string()),
        ("Written by", format!("{}, record version {}", header.program, header.moot_record)),
        ("Method", header.shown_method()),
    ];
    if let Some(dataset) = &header.dataset {
        list.push(("Dataset", format!("{}, {} questions", dataset.name, dataset.questions)));
        list.push(("Dataset SHA-256", dataset.sha256.clone()));
    }
    list.push(("Model", model(&header.model)));
    if !header.model.sha256.is_empty() {
        list.push(("Model SHA-256", header.model.sha256.clone()));
    }
    list.extend(header.roles.iter().map(|(role, identity)| {
        ("Model of a role", format!("{role}: {}, SHA-256 {}", model(identity), identity.sha256))
    }));
    let sampling = pairs(&json!(header.settings)).into_iter().map(|(name, value)| format!("{name} {value}"));
    list.push(("Sampling and limits", sampling.collect::<Vec<_>>().join(", ")));
    list.extend(header.retriever.as_ref().map(|retriever| ("Retriever", pairs_line(&json!(retriever)))));
    list.extend(header.wanted.as_ref().map(|wanted| ("Passages wanted", pairs_line(&json!(wanted)))));
    list.extend(
        header
            .weights
            .as_ref()
            .map(|weights| ("Source weights", format!("{}, SHA-256 {}", weights.name, weights.sha256))),
    );
    list.extend(header.classifier.as_ref().map(|classifier| ("Entailment", pairs_line(&json!(classifier)))));
    list.extend(header.embedder.as_ref().map(|embedder| ("Embedder", embedder.clone())));
    list.extend(
        header.replayed.as_ref().map(|replayed| ("Replayed from the record with last hash", replayed.chain.clone())),
    );
    if !ledger.chain.is_empty() {
        list.push(("Last hash of the record", ledger.chain.clone()));
    }
    list.push(("Integrity", integrity(record, ledger)));
    list.into_iter().map(|(name, value)| (name.to_owned(), escape::line(&value))).collect()
}

fn integrity(record: &Record, ledger: &Ledger) -> String {
    let hashes = match (record.header.moot_record, ledger.altered.first()) {
        (0..=2, _) => "this version of records has no hashes".to_owned(),
        (_, None) => format!("all {} lines have the hash that they were written with", ledger.lines),
        (_, Some(line)) => {
            format!("{} lines were changed after they were written, first line {line}", ledger.altered.len())
        }
    };
    if record.torn { format!("{hashes}; the last line was cut short and is left out") } else { hashes }
}

fn model(identity: &ModelIdentity) -> String {
    let recipe = if identity.recipe.is_empty() { String::new() } else { format!(", recipe {}", identity.recipe) };
    format!("{} ({}, context {}{recipe})", identity.name, identity.architecture, identity.context)
}

/// An object's fields, one line each.
fn pairs(value: &Value) -> Vec<(String, String)> {
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let Some(fields) = value.as_object() else { return Vec::new() };
    fields.iter().map(|(name, value)| (escape::line(name), escape::line(&shown(value)))).collect()
}

fn pairs_line(value: &Value) -> String {
    pairs(value).into_iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}
