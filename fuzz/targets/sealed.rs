//! Records whose header and hashes fit their changed lines, so that what stands behind those checks is reached.

use crate::random::Random;
use moot::eval::record::VERSION;
use moot::methods;
use moot::prompts;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Gives the lines of a record of today's version today's hashes of prompts, and hashes of the lines, in the order that the
/// reader wants. Lines that are no JSON objects stay as they are; so do records of other versions, which have no hashes.
pub(crate) fn sealed(record: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Result<Map<String, Value>, &[u8]>> = record
        .split_inclusive(|&byte| byte == b'\n')
        .map(|line| serde_json::from_slice(line).map_err(|_| line))
        .collect();
    match lines.first_mut() {
        Some(Ok(header)) if header.get("moot_record") == Some(&json!(VERSION)) => renew(header),
        _ => return record.to_vec(),
    }
    let (mut last, mut bytes) = (String::new(), Vec::new());
    for line in lines {
        match line {
            Ok(fields) => last = link(fields, &last, &mut bytes),
            Err(line) => bytes.extend_from_slice(line),
        }
    }
    bytes
}

/// Puts the hashes of this program's prompts into a header: grammars of other hashes are refused, and files change often.
fn renew(header: &mut Map<String, Value>) {
    let name = header.get("method").and_then(Value::as_str).unwrap_or_default();
    if let Some(row) = methods::METHODS.iter().find(|row| row.name == name) {
        header.insert("prompts".into(), json!(prompts::hashes(row.files())));
    }
}

/// Appends a line with its hash, which is returned.
fn link(mut fields: Map<String, Value>, last: &str, bytes: &mut Vec<u8>) -> String {
    fields.shift_remove("chain");
    let times = fields.shift_remove("times");
    let mut content = Value::Object(fields).to_string();
    content.pop();
    let hash = Sha256::new().chain_update(last).chain_update(&content).finalize();
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let times = times.map(|times| format!(",\"times\":{times}")).unwrap_or_default();
    bytes.extend_from_slice(format!("{content},\"chain\":\"{hash}\"{times}}}\n").as_bytes());
    hash
}

/// Changes a value of a line to another one of its kind, which a parser of typed fields accepts more often than any value.
pub(super) fn typed(line: &mut Vec<u8>, random: &mut Random, words: &[&str]) {
    let Ok(mut tree) = serde_json::from_slice::<Value>(line) else { return };
    let mut pool = Vec::new();
    collect(&tree, &mut pool);
    if let Some(value) = some_value(&mut tree, random) {
        *value = alike(value, &pool, random, words);
    }
    *line = tree.to_string().into_bytes();
    line.push(b'\n');
}

fn collect(tree: &Value, pool: &mut Vec<Value>) {
    pool.push(tree.clone());
    match tree {
        Value::Array(items) => items.iter().for_each(|item| collect(item, pool)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, pool)),
        _ => {}
    }
}

/// A value below the root, the deeper the less likely.
fn some_value<'a>(tree: &'a mut Value, random: &mut Random) -> Option<&'a mut Value> {
    let count = match &*tree {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    if count == 0 || random.below(5) == 0 {
        return Some(tree);
    }
    let at = random.below(count);
    let child = match tree {
        Value::Array(items) => items.get_mut(at),
        Value::Object(fields) => fields.values_mut().nth(at),
        _ => None,
    };
    some_value(child?, random)
}

/// A value of the kind of `value`.
fn alike(value: &Value, pool: &[Value], random: &mut Random, words: &[&str]) -> Value {
    let kind = std::mem::discriminant(value);
    let others: Vec<&Value> = pool.iter().filter(|other| std::mem::discriminant(*other) == kind).collect();
    match value {
        Value::Bool(set) => json!(!set),
        Value::Number(_) if random.below(2) == 0 => json!(*random.pick(&[0, 1, 2, 3, 7, 1 << 20])),
        Value::String(text) if random.below(2) == 0 => json!(format!("{text}{}", random.pick(words))),
        Value::Array(items) if !items.is_empty() && random.below(2) == 0 => {
            let at = random.below(items.len());
            let mut items = items.clone();
            if random.below(2) == 0 {
                drop(items.remove(at));
            } else {
                items.push(items[at].clone());
            }
            Value::Array(items)
        }
        _ => (*random.pick(&others)).clone(),
    }
}
