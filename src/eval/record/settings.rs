//! How two headers differ in what can change a number.

use super::header::Header;
use serde_json::Value;

/// The fields of two headers that differ and can change a number, each with both values in short: everything but how files
/// are called.
#[must_use]
pub(crate) fn differences(recorded: &Header, now: &Header) -> Vec<(String, String, String)> {
    let comparable = |header: &Header| {
        // Through text and back, as the recorded one went: a parsed fraction may differ from its source in the last bit.
        let text = serde_json::to_vec(header).unwrap_or_default();
        let mut header: Header = serde_json::from_slice(&text).unwrap_or_else(|_| header.clone());
        if let Some(dataset) = &mut header.dataset {
            dataset.name.clear();
        }
        // The switches and the hashes of prompts contain the same facts.
        header.preset = None;
        header.own_prompts.clear();
        for model in header.roles.values_mut().chain([&mut header.model]) {
            if !model.sha256.is_empty() {
                model.name.clear();
            }
        }
        serde_json::to_value(header).unwrap_or_default()
    };
    let mut recorded = recorded.clone();
    // Records of earlier programs have no recipe of the arithmetic; without this exception they could not be continued.
    for (role, model) in &mut recorded.roles {
        model.recipe = recorded_or(&model.recipe, &now.model_of(role).recipe);
    }
    recorded.model.recipe = recorded_or(&recorded.model.recipe, &now.model.recipe);
    let mut found = Vec::new();
    collect("", &comparable(&recorded), &comparable(now), &mut found);
    found
}

fn recorded_or(recorded: &str, now: &str) -> String {
    if recorded.is_empty() { now } else { recorded }.to_owned()
}

fn collect(name: &str, recorded: &Value, now: &Value, found: &mut Vec<(String, String, String)>) {
    match (recorded, now) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let inner = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                collect(&inner, a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null), found);
            }
        }
        _ if recorded == now => {}
        _ => found.push((name.to_owned(), brief(recorded), brief(now))),
    }
}

/// The start of a hash is enough to distinguish it from another.
fn brief(value: &Value) -> String {
    let text = match value {
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    };
    crate::jsonl::shortened(&text)
}
