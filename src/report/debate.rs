//! A question with its debates as data: what the page's script builds elements from when a question is opened.

use super::marks;
use super::prompts::{Known, sent};
use super::texts::Texts;

use crate::assess::assessment::{counts, number};
use crate::assess::{Assessment, Neither, Verdict};
use crate::escape;
use crate::eval::judgement::Outcome;
use crate::eval::metrics::changes::{earlier, is_changed};
use crate::eval::metrics::{Better, METRICS, Metric, Unit};
use crate::protocol::formats::is_cut_back;
use crate::question::{Answer, Conclusion, Conflict, Document, Gold, JudgedClaim, Question};
use crate::transcript::{CallRecord, Event, Parsed, QuestionRecord};
use crate::units::plural;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// Whether a metric of one question is shown beside its outcome: one that heads reports or comparisons. Unknown, malformed and
/// error are the outcome.
fn is_shown(metric: &Metric) -> bool {
    metric.unit == Unit::Share && metric.better != Better::Less && (metric.is_headline || metric.title.is_some())
}

/// A question as the records of one group have it; `None` where a record does not have it. `texts` receives its texts.
pub(super) fn question(runs: &[Option<&QuestionRecord>], texts: &mut Texts) -> Value {
    let Some(first) = runs.iter().flatten().next() else { return Value::Null };
    let question = &first.question;
    let mut documents = Documents::default();
    let runs: Vec<Value> =
        runs.iter().map(|run| run.map_or(Value::Null, |record| debate(record, &mut documents, texts))).collect();
    without_empty(json!({
        "id": escape::line(&question.id),
        "text": texts.add(&question.text),
        "gold": question.gold.as_ref().map(|gold| gold_of(gold, texts)),
        "options": lines(&question.options),
        "responses": question.responses.iter().map(|text| texts.add(text)).collect::<Vec<_>>(),
        "slices": lines(&question.slices),
        "documents": documents.list,
        "runs": runs,
    }))
}

/// Each different document once: records of one question mostly have the same ones.
#[derive(Default)]
struct Documents {
    list: Vec<Value>,
    numbers: HashMap<String, usize>,
}

impl Documents {
    fn add(&mut self, document: &Document, texts: &mut Texts) -> usize {
        let value = document_of(document, texts);
        let list = &mut self.list;
        *self.numbers.entry(value.to_string()).or_insert_with(|| {
            list.push(value);
            list.len() - 1
        })
    }
}

fn document_of(document: &Document, texts: &mut Texts) -> Value {
    let copies = document.copies.iter().map(|copy| {
        let source = copy.source.as_ref().map(|source| format!("{source}, ")).unwrap_or_default();
        escape::line(&format!("{source}{}", copy.origin))
    });
    without_empty(json!({
        "name": escape::line(&document.name),
        "text": texts.add(&document.text),
        "source": document.source.as_deref().map(escape::line),
        "date": document.date.as_deref().map(escape::line),
        "url": document.url.as_deref().map(escape::line),
        "origin": document.origin.as_ref().map(|origin| escape::line(&origin.to_string())),
        "copies": copies.collect::<Vec<_>>(),
        "label": document.label.as_ref().map(|label| escape::line(&label.kind)),
        "holds": document.label.as_ref().map(|label| escape::line(&label.answer)),
    }))
}

fn gold_of(gold: &Gold, texts: &mut Texts) -> Value {
    let mut numbers = |answers: &[String]| answers.iter().map(|text| texts.add(text)).collect::<Vec<_>>();
    let right: Vec<Vec<usize>> = gold.answers.iter().map(|aliases| numbers(aliases)).collect();
    // Datasets name a wrong answer once for each document that has it.
    let mut wrong = numbers(&gold.wrong);
    let mut seen = HashSet::new();
    wrong.retain(|number| seen.insert(*number));
    without_empty(json!({ "right": right, "wrong": wrong, "all": gold.all_required, "none": gold.unanswerable }))
}

fn debate(record: &QuestionRecord, documents: &mut Documents, texts: &mut Texts) -> Value {
    let known = Known::of(record);
    let given = record.question.documents.iter().chain(&record.retrieved);
    let numbers: Vec<usize> = given.map(|document| documents.add(document, texts)).collect();
    let metrics: Map<String, Value> = METRICS
        .iter()
        .filter(|metric| is_shown(metric))
        .filter_map(|metric| Some((metric.name.to_owned(), json!(rounded(metric.of(record)?)))))
        .collect();
    let calls: Vec<Value> = record.calls.iter().map(|one| call(record, one, &known, texts)).collect();
    without_empty(json!({
        "outcome": Outcome::of(record),
        "metrics": metrics,
        "documents": numbers,
        "retrieved": record.retrieved.len(),
        "marks": marks::of(record),
        "conclusion": record.conclusion.as_ref().map(|conclusion| concluded(record, conclusion, texts)),
        "error": record.error.as_deref().map(escape::lines),
        "claims": claims(record, texts),
        "calls": calls,
        "events": record.events.iter().map(|one| event(one, texts)).collect::<Vec<_>>(),
        "seconds": rounded(record.seconds),
    }))
}

fn concluded(record: &QuestionRecord, conclusion: &Conclusion, texts: &mut Texts) -> Value {
    let mut answer = |answer: &Answer| {
        let judged = Outcome::of_answers(&record.question, std::slice::from_ref(&answer.text), true);
        without_empty(json!({
            "text": texts.add(&answer.text),
            "judged": judged.map(Outcome::name),
            "for": answer.supporters,
            "against": answer.opponents,
            "mentions": answer.mentions,
            "estimate": answer.estimate.as_ref().map(|estimate| {
                let percent = (estimate.probability * 100.0).round();
                let conflict = estimate.conflict.as_ref().map(Conflict::description);
                json!([percent, texts.add(&estimate.about), conflict.map(|told| texts.add(&told))])
            }),
            "lacks": answer.marks.iter().map(|mark| mark.description()).collect::<Vec<_>>(),
        }))
    };
    let answers: Vec<Value> = conclusion.answers.iter().map(&mut answer).collect();
    let rejected: Vec<Value> = conclusion.rejected.iter().map(&mut answer).collect();
    let given_up: Vec<Value> = Verdict::of(record)
        .into_iter()
        .flat_map(|verdict| verdict.given_up)
        .map(|answer| {
            let now = answer.now.as_deref().map(|now| texts.add(now));
            without_empty(json!({ "text": texts.add(&answer.said), "documents": answer.documents, "now": now }))
        })
        .collect();
    without_empty(json!({
        "answers": answers,
        "rejected": rejected,
        "given_up": given_up,
        "refused": lines(&conclusion.refused),
        "why": texts.add_some(&conclusion.explanation),
        "malformed": conclusion.malformed,
        "no_answer": conclusion.without_answer(),
        "rounds": conclusion.rounds,
        "converged": conclusion.converged,
        "calls": conclusion.calls,
        "weights": conclusion.weights.iter().map(|&weight| rounded(weight)).collect::<Vec<_>>(),
    }))
}

fn call(record: &QuestionRecord, call: &CallRecord, known: &Known<'_>, texts: &mut Texts) -> Value {
    let (said, why) = said(call);
    let before = earlier(record, call);
    let (role, prompt, format) = (escape::line(&call.role), escape::line(&call.prompt), escape::line(&call.format));
    without_empty(json!({
        "role": role,
        "round": call.round,
        "stage": call.stage,
        "document": call.document,
        "sample": call.sample,
        "kind": kind(&call.parsed),
        "said": texts.add_some(&said),
        "why": texts.add_some(&why),
        "cut": is_cut_back(call),
        "judged": judged(&record.question, call).map(Outcome::name),
        "changed": before.is_some_and(|before| is_changed(before, call)),
        "was": before.filter(|before| is_changed(before, call)).map(|before| escape::line(&self::said(before).0)),
        "prompt": prompt,
        "format": format,
        "grammar": call.grammar.as_deref().map(escape::line),
        "sent": sent(call, known, texts),
        "reply": texts.add_some(&call.reply),
        "raw": call.raw.as_deref().map(|raw| texts.add_some(raw)),
        "thoughts": call.thoughts.as_ref().map(|thoughts| texts.add_some(&thoughts.text)),
        "sampling": call.sampling,
        // As text: a number of 64 bits loses digits in JavaScript.
        "seed": call.seed.to_string(),
        "limit": call.max_tokens,
        "finish": call.finish,
        "usage": [call.usage.prompt, call.usage.reused, call.usage.generated],
        "seconds": rounded(call.seconds),
    }))
}

fn kind(parsed: &Parsed) -> &'static str {
    match parsed {
        Parsed::Answer { answer: None, .. } => "unknown",
        Parsed::Answers { answers, .. } if answers.is_empty() => "unknown",
        Parsed::Answer { .. } | Parsed::Answers { .. } => "answer",
        Parsed::Text(_) => "text",
        Parsed::Choice { .. } => "choice",
        Parsed::Fields(_) => "fields",
        Parsed::Scored => "scored",
        Parsed::Malformed => "malformed",
    }
}

/// The answer of a reply in short, and its reasons.
fn said(call: &CallRecord) -> (String, String) {
    match &call.parsed {
        Parsed::Answer { answer, explanation } => (answer.clone().unwrap_or("unknown".into()), explanation.clone()),
        Parsed::Answers { answers, explanation } if answers.is_empty() => ("unknown".into(), explanation.clone()),
        Parsed::Answers { answers, explanation } => (answers.join(" | "), explanation.clone()),
        Parsed::Text(text) => (text.clone(), String::new()),
        Parsed::Choice { explanation, .. } => (call.chosen().unwrap_or(&call.reply).to_owned(), explanation.clone()),
        Parsed::Fields(fields) => (of_fields(fields), String::new()),
        Parsed::Scored => {
            let (tokens, total) = (call.scores.len(), call.total_score());
            (format!("{tokens} tokens scored, log-probability {total:.3}"), String::new())
        }
        Parsed::Malformed => ("malformed reply".into(), call.reply.clone()),
    }
}

fn of_fields(fields: &Map<String, Value>) -> String {
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    fields.iter().map(|(name, value)| format!("{name}: {}", shown(value))).collect::<Vec<_>>().join("\n")
}

fn judged(question: &Question, call: &CallRecord) -> Option<Outcome> {
    match &call.parsed {
        Parsed::Answer { answer, .. } => Outcome::of_answers(question, answer.as_slice(), true),
        Parsed::Answers { answers, .. } => Outcome::of_answers(question, answers, false),
        _ => None,
    }
}

fn claims(record: &QuestionRecord, texts: &mut Texts) -> Value {
    let Some(assessment) = Assessment::of(record, Neither::LeftOut) else { return Value::Null };
    let judged = record.conclusion.as_ref().and_then(|conclusion| conclusion.claims.as_deref()).unwrap_or_default();
    let rows: Vec<Value> = judged
        .iter()
        .zip(&assessment.claims)
        .map(|(judged, claim)| {
            let unsupported: HashMap<usize, String> =
                claim.unsupported.iter().map(|label| (label.document - 1, label.why())).collect();
            json!({
                "text": texts.add(&judged.text),
                "from": judged.from,
                "conflict": claim.conflict,
                "labels": labels(record, judged, &unsupported, texts),
            })
        })
        .collect();
    let scores = &assessment.scores;
    json!({
        "rows": rows,
        "cs-c": number(scores.cs_c),
        "cs-r": number(scores.cs_r),
        "counts": escape::line(&counts(&assessment)),
        "responses": assessment.responses.iter().map(|text| texts.add(text)).collect::<Vec<_>>(),
    })
}

fn labels(
    record: &QuestionRecord,
    judged: &JudgedClaim,
    unsupported: &HashMap<usize, String>,
    texts: &mut Texts,
) -> Vec<Value> {
    let one = |label: &crate::question::DocumentLabel| {
        let document = record.document(label.document);
        // A record that was changed may have a quote that its document lacks.
        let quote = label.quote.as_ref().filter(|quote| document.is_some_and(|d| quote.stands_in(&d.text)));
        without_empty(json!({
            "document": label.document,
            "relation": label.relation,
            "quote": quote.zip(document).map(|(quote, d)| marks::shown(&d.text, &quote.characters)),
            "fault": unsupported.get(&label.document).map(|why| escape::line(why)),
            "why": texts.add_some(&label.reason),
            "by": escape::line(&label.by),
            "probability": label.probability.map(|p| rounded(f64::from(p))),
            "calls": label.calls,
        }))
    };
    judged.labels.iter().map(one).collect()
}

fn event(event: &Event, texts: &mut Texts) -> Value {
    let mut told = |kind: &str, text: String, more: Vec<String>| {
        let more: Vec<usize> = more.iter().map(|line| texts.add(line)).collect();
        without_empty(json!({ "stage": event.stage(), "kind": kind, "text": escape::line(&text), "more": more }))
    };
    match event {
        Event::Retrieval { queries, hits, .. } => {
            let found = queries.iter().zip(hits).map(|(query, hits)| {
                let titles = hits.iter().map(|hit| {
                    let passage = &hit.passage;
                    format!("  {:.3}  {}", hit.score, passage.title.as_deref().unwrap_or(&passage.origin.file))
                });
                std::iter::once(format!("{query:?}")).chain(titles).collect::<Vec<_>>().join("\n")
            });
            told("search", plural(queries.len(), "query", "queries"), found.collect())
        }
        Event::Entailment { pairs, relations, by, .. } => {
            let rows = pairs.iter().zip(relations).map(|(pair, relation)| {
                format!(
                    "entailment {:.2}, neutral {:.2}, contradiction {:.2}\n  premise: {}\n  hypothesis: {}",
                    relation.entailment, relation.neutral, relation.contradiction, pair.premise, pair.hypothesis
                )
            });
            told("entailment", format!("{} classified by {by}", plural(pairs.len(), "pair", "pairs")), rows.collect())
        }
        Event::Embedding { texts: count, by, .. } => {
            told("embedding", format!("{} embedded by {by}", plural(*count, "text", "texts")), vec![])
        }
        Event::Failure { what, error, .. } => told("failure", format!("{what} failed: {error}"), vec![]),
        Event::Fallback { what, dropped: Some(_), .. } => told("dropped", what.clone(), vec![]),
        Event::Fallback { what, .. } => told("fallback", what.clone(), vec![]),
    }
}

fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| escape::line(text)).collect()
}

/// Three decimals are enough to read.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// An object without `null`, `false`, empty lists, empty objects and empty texts, which the script reads as absent.
fn without_empty(value: Value) -> Value {
    let Value::Object(mut fields) = value else { return value };
    fields.retain(|_, value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::String(text) => !text.is_empty(),
        // Also 0, which is the number of the first document.
        _ => true,
    });
    Value::Object(fields)
}
