//! The page: template, style, script and data put together, with a policy that allows nothing else.

use super::part::{Options, Part, slices};
use super::texts::{Texts, embedded};
use super::values::value;
use super::{calibration, debate, figures, runs, summary};
use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::compare::{answers_differ, outcome};
use crate::eval::judgement::Outcome;
use crate::eval::pairs::content;
use crate::transcript::QuestionRecord;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

const TEMPLATE: &str = include_str!("page/report.jinja");
const STYLE: &str =
    concat!(include_str!("page/style.css"), include_str!("page/summary.css"), include_str!("page/debate.css"));
/// In one function, so that nothing of it is global.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("page/elements.js"),
    include_str!("page/documents.js"),
    include_str!("page/calls.js"),
    include_str!("page/grid.js"),
    include_str!("page/claims.js"),
    include_str!("page/debate.js"),
    include_str!("page/list.js"),
    include_str!("page/main.js"),
    "})();\n"
);

/// A question of a part, as each of its records has it.
type Row<'a> = Vec<Option<&'a QuestionRecord>>;

/// The whole page.
pub(super) fn write(parts: &[Part], options: &Options) -> Result<String> {
    let mut texts = Texts::default();
    let (mut data, mut questions, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        let mut list = Vec::new();
        for row in rows(part) {
            list.push(listed(part, questions.len(), &row));
            questions.push(embedded(&debate::question(&row, &mut texts)));
        }
        groups.push(group(part)?);
        let dataset = part.records.first().and_then(|record| record.header.dataset.as_ref());
        data.push(json!({
            "name": dataset.map(|dataset| escape::line(&dataset.name)),
            "records": part.compared.records.iter().map(|record| escape::line(&record.name)).collect::<Vec<_>>(),
            "slices": slices(part),
            "questions": list,
        }));
    }
    // A browser reads a line end as one character, and the hash is of what it reads.
    let (style, script) = (STYLE.replace('\r', ""), SCRIPT.replace('\r', ""));
    let index = json!({ "groups": data, "changed": options.changed });
    let title = if options.title.trim().is_empty() { heading(parts) } else { escape::line(&options.title) };
    let context = json!({
        "title": title,
        "groups": groups,
        "program": format!("moot {}", env!("CARGO_PKG_VERSION")),
        "policy": policy(&style, &script),
        "style": style,
        "script": script,
        "index": embedded(&index),
        "texts": embedded(&texts.list()),
        "questions": questions,
    });
    render(&context)
}

fn render(context: &Value) -> Result<String> {
    let wrong =
        |e: &minijinja::Error| MootError::Usage(format!("the template of reports cannot be rendered (bug): {e:#}"));
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    // minijinja decides by the ending of a template's name, and this name has none.
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("report", TEMPLATE).map_err(|e| wrong(&e))?;
    let template = environment.get_template("report").map_err(|e| wrong(&e))?;
    template.render(Serde(context)).map_err(|e| wrong(&e))
}

/// Only this style and this script, and no request of any kind.
fn policy(style: &str, script: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())));
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(style)
    )
}

/// "ramdocs.jsonl: madam-rag, concatenated".
fn heading(parts: &[Part]) -> String {
    let one = |part: &Part| {
        let names: Vec<&str> = part.compared.records.iter().map(|record| record.method.as_str()).collect();
        let mut names: Vec<&str> = names;
        names.dedup();
        let dataset = part.records.first().and_then(|record| record.header.dataset.as_ref());
        let dataset = dataset.map_or(String::new(), |dataset| format!("{}: ", dataset.name));
        match names.as_slice() {
            few if few.len() <= 3 => format!("{dataset}{}", few.join(", ")),
            [first, rest @ ..] => format!("{dataset}{first} and {} other runs", rest.len()),
            [] => dataset,
        }
    };
    escape::line(&parts.iter().map(one).collect::<Vec<_>>().join("; "))
}

fn group(part: &Part) -> Result<Value> {
    let (mut figures, missing) = figures::figures(part)?;
    figures.extend(calibration::figure(part)?);
    let dataset = part.records.first().and_then(|record| record.header.dataset.as_ref());
    let runs = (0..part.records.len()).map(|number| runs::run(part, number));
    let mut models: Vec<String> = part.compared.records.iter().map(|record| escape::line(&record.model)).collect();
    models.dedup();
    Ok(json!({
        "dataset": dataset.map(|dataset| escape::line(&dataset.name)),
        "questions": rows(part).len(),
        "expected": dataset.map(|dataset| dataset.questions),
        "records": part.records.len(),
        "calls": summary::grouped(part.records.iter().flat_map(|record| &record.questions).map(|q| q.calls.len()).sum()),
        "models": models,
        "summary": summary::summary(part),
        "legends": figures::legends(part),
        "figures": figures,
        "missing": missing,
        "runs": runs.collect::<Vec<_>>(),
    }))
}

/// The questions of all records of a part: those of the first in their order, then those that it does not have.
fn rows(part: &Part) -> Vec<Row<'_>> {
    let mut indices: HashMap<[u8; 32], usize> = HashMap::new();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (number, record) in part.records.iter().enumerate() {
        let mut questions: Vec<&QuestionRecord> = record.questions.iter().collect();
        questions.sort_by(|a, b| natural(&a.question.id).cmp(&natural(&b.question.id)));
        for question in questions {
            let index = *indices.entry(content(&question.question)).or_insert_with(|| {
                rows.push(vec![None; part.records.len()]);
                rows.len() - 1
            });
            rows[index][number] = Some(question);
        }
    }
    rows
}

/// Ids with numbers in front in the order of these numbers.
fn natural(id: &str) -> (u64, &str) {
    let digits = id.find(|c: char| !c.is_ascii_digit()).unwrap_or(id.len());
    (id[..digits].parse().unwrap_or(u64::MAX), id)
}

/// A question in the list: what is shown, searched and filtered before its debates are opened.
fn listed(part: &Part, number: usize, row: &Row<'_>) -> Value {
    let Some(first) = row.iter().flatten().next() else { return Value::Null };
    let run = |record: &Option<&QuestionRecord>| {
        record.map_or(Value::Null, |record| {
            json!([
                Outcome::of(record),
                shortened(&escape::line(&outcome(record))),
                value("f1", record).map(|f1| (f1 * 100.0).round() / 100.0)
            ])
        })
    };
    json!({
        "number": number,
        "id": escape::line(&first.question.id),
        "text": escape::line(&first.question.text),
        "slices": first.question.slices.iter().map(|slice| escape::line(slice)).collect::<Vec<_>>(),
        "runs": row.iter().map(run).collect::<Vec<_>>(),
        "changed": part.records.len() > 1 && differ(row),
    })
}

/// Whether the records that have the question do not all answer it alike.
fn differ(row: &Row<'_>) -> bool {
    let mut records = row.iter().flatten();
    let other = |first: &QuestionRecord, record: &QuestionRecord| {
        Outcome::of(record) != Outcome::of(first) || answers_differ(first, record)
    };
    records.next().is_some_and(|first| records.any(|record| other(first, record)))
}

/// The list shows the beginning of an answer.
fn shortened(text: &str) -> String {
    const MOST: usize = 120;
    if text.chars().count() <= MOST { text.to_owned() } else { text.chars().take(MOST).chain(['…']).collect() }
}
