//! The charts of a report: score against tokens, by documents, by misinformation, by imbalance, by rounds (MADAM-RAG, Figures
//! 3 and 4).

use super::part::Part;
use super::values::value;
use crate::answers::words::Level;
use crate::error::Result;
use crate::eval::chart::{Chart, Point, Scale, Series, legend, short};
use crate::eval::judgement;
use crate::eval::record::reader::Record;
use crate::eval::record::{Header, differences};
use crate::eval::stats::{Estimate, RESAMPLES, bootstrap};
use crate::question::{Answer, Conclusion, Question};
use crate::transcript::{CallRecord, Parsed, QuestionRecord};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The metrics that are drawn: the one that says what is right, and F1.
fn metrics(part: &Part) -> [(&'static str, &'static str); 2] {
    [judgement::metric(part.records.iter().flat_map(|record| &record.questions)), ("f1", "F1")]
}

/// As `eval::scores` draws: the same records give the same intervals.
const SEED: u64 = 0;

/// A question's position on an x axis; `None` where it has none.
type GroupOf = fn(&QuestionRecord) -> Option<usize>;

/// A chart over levels of questions.
struct Kind {
    title: &'static str,
    x: &'static str,
    about: &'static str,
    level: GroupOf,
}

const KINDS: [Kind; 3] = [
    Kind {
        title: "By number of documents",
        x: "documents of a question",
        about: "Questions grouped by how many documents were read.",
        level: |record| Some(record.question.documents.len() + record.retrieved.len()).filter(|&count| count > 0),
    },
    Kind {
        title: "By misinformation",
        x: "documents labelled as misinformation",
        about: "MADAM-RAG, Figure 4b: questions grouped by their number of documents with a wrong answer.",
        level: misinformation,
    },
    Kind {
        title: "By imbalance of evidence",
        x: "more documents for one right answer than for another",
        about: "MADAM-RAG, Figure 4a: questions with several right answers, grouped by how much better the best supported \
                one is supported than the least supported one.",
        level: imbalance,
    },
];

/// All charts of a part that have something to show, for the template; and a line for each of the others.
pub(super) fn figures(part: &Part) -> Result<(Vec<Value>, Vec<String>)> {
    let (mut figures, mut missing) = (Vec::new(), Vec::new());
    let [(right, _), _] = metrics(part);
    let scored = part.records.iter().flat_map(|record| &record.questions).any(|q| value(right, q).is_some());
    if !scored {
        return Ok((figures, vec!["No charts: no question has gold answers.".into()]));
    }
    let tokens =
        |metric| part.records.iter().enumerate().map(|(index, record)| against_tokens(index, record, metric)).collect();
    if part.records.len() < 2 {
        missing.push("Score against tokens: there is one record alone.".into());
    } else {
        figures.push(figure(
            part,
            (
                "Score against tokens",
                "tokens a question, prompt and generated",
                "One point a record; further left is cheaper, higher is better.",
            ),
            Scale::Logarithmic,
            &tokens,
        )?);
    }
    for kind in &KINDS {
        let lines = |metric: &'static str| -> Vec<Series> {
            part.records.iter().enumerate().map(|(index, record)| by_level(index, record, kind.level, metric)).collect()
        };
        let words = (kind.title, kind.x, kind.about);
        if levels(&lines(right)) < 2 {
            missing.push(format!("{}: all questions are alike in this, or the dataset does not say.", kind.title));
        } else {
            figures.push(figure(part, words, Scale::Levels, &lines)?);
        }
    }
    let rounds = |metric: &'static str| by_rounds(part, metric);
    if levels(&rounds(right)) < 2 {
        missing
            .push("By rounds: no record concludes in several rounds, and no two differ in their number alone.".into());
    } else {
        let about = "MADAM-RAG, Figure 3: the answers that the concluding role gave after each round, those of debates that had \
                     ended counted on; and records that differ in their number of rounds alone.";
        figures.push(figure(part, ("By rounds", "rounds", about), Scale::Levels, &rounds)?);
    }
    Ok((figures, missing))
}

fn levels(series: &[Series]) -> usize {
    let mut all: Vec<u64> = series.iter().flat_map(|line| line.points.iter().map(|point| point.x.to_bits())).collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}

/// One figure: a chart a metric, with the numbers as a table.
fn figure(
    part: &Part,
    (title, x, about): (&str, &str, &str),
    scale: Scale,
    lines: &dyn Fn(&'static str) -> Vec<Series>,
) -> Result<Value> {
    let mut charts = Vec::new();
    for (metric, name) in metrics(part) {
        let series: Vec<Series> = lines(metric).into_iter().filter(|line| !line.points.is_empty()).collect();
        let rows: Vec<Value> =
            series.iter().flat_map(|line| line.points.iter().map(|point| row(part, line, point))).collect();
        let chart = Chart { x: x.into(), y: name.into(), scale, top: None, diagonal: false, series };
        charts.push(json!({ "metric": metric, "name": name, "svg": chart.svg()?, "rows": rows }));
    }
    Ok(json!({ "title": title, "x": x, "about": about, "charts": charts }))
}

/// A row of the table of numbers.
pub(super) fn row(part: &Part, line: &Series, point: &Point) -> Value {
    let Estimate { mean, low, high, n } = point.y;
    let name = crate::escape::line(&part.compared.records[line.index].name);
    json!([name, short(point.x), format!("{mean:.3}"), format!("{low:.3} to {high:.3}"), n])
}

/// The legend: a marker and a name a record.
pub(super) fn legends(part: &Part) -> Vec<Value> {
    let names = part.compared.records.iter().map(|record| crate::escape::line(&record.name));
    names.enumerate().map(|(index, name)| json!({ "name": name, "key": legend(index) })).collect()
}

fn sorted(record: &Record) -> Vec<&QuestionRecord> {
    let mut questions: Vec<&QuestionRecord> = record.questions.iter().collect();
    questions.sort_by(|a, b| a.question.id.cmp(&b.question.id));
    questions
}

fn against_tokens(index: usize, record: &Record, metric: &str) -> Series {
    let questions = sorted(record);
    let values: Vec<f64> = questions.iter().filter_map(|question| value(metric, question)).collect();
    let spent =
        questions.iter().flat_map(|question| &question.calls).map(|call| call.usage.prompt + call.usage.generated);
    let mean = spent.sum::<usize>() as f64 / questions.len().max(1) as f64;
    // The axis is logarithmic: a record without calls stands at 1.
    let point = bootstrap(&values, RESAMPLES, SEED).map(|y| Point { x: mean.max(1.0), y });
    Series { index, points: point.into_iter().collect() }
}

fn by_level(index: usize, record: &Record, level: GroupOf, metric: &str) -> Series {
    let mut groups: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for question in sorted(record) {
        if let (Some(level), Some(score)) = (level(question), value(metric, question)) {
            groups.entry(level).or_default().push(score);
        }
    }
    let point =
        |(level, scores): (usize, Vec<f64>)| Some(Point { x: level as f64, y: bootstrap(&scores, RESAMPLES, SEED)? });
    Series { index, points: groups.into_iter().filter_map(point).collect() }
}

fn misinformation(record: &QuestionRecord) -> Option<usize> {
    let labels: Vec<&str> =
        record.question.documents.iter().filter_map(|d| Some(d.label.as_ref()?.kind.as_str())).collect();
    // Other labels, as "supporting", do not count misinformation: no value, rather than 0.
    let known = labels.iter().any(|kind| ["correct", "misinfo", "noise"].contains(kind));
    known.then(|| labels.iter().filter(|&&kind| kind == "misinfo").count())
}

/// Documents of the best supported right answer less those of the least supported one, by the dataset's labels.
fn imbalance(record: &QuestionRecord) -> Option<usize> {
    let gold = record.question.gold.as_ref().filter(|gold| gold.all_required)?;
    let supporting = |aliases: &Vec<String>| {
        let of_it = |document: &&crate::question::Document| {
            let label = document.label.as_ref().filter(|label| label.kind == "correct");
            label.is_some_and(|label| aliases.iter().any(|alias| Level::Scored.equal(alias, &label.answer)))
        };
        record.question.documents.iter().filter(of_it).count()
    };
    let counts: Vec<usize> = gold.answers.iter().map(supporting).filter(|&count| count > 0).collect();
    (counts.len() > 1).then(|| counts.iter().max().zip(counts.iter().min()).map_or(0, |(most, least)| most - least))
}

/// Lines of records whose concluding role answers in each round, and of records that differ in `rounds` alone.
fn by_rounds(part: &Part, metric: &str) -> Vec<Series> {
    let within = part.records.iter().enumerate().map(|(index, record)| {
        let most = record.questions.iter().flat_map(|question| verdicts(question)).map(|call| call.round).max();
        let point = |round: usize| {
            let values: Vec<f64> = sorted(record).iter().filter_map(|q| after(q, round, metric)).collect();
            Some(Point { x: round as f64, y: bootstrap(&values, RESAMPLES, SEED)? })
        };
        let points = (1..=most.filter(|&most| most > 1).unwrap_or(0)).filter_map(point).collect();
        Series { index, points }
    });
    within.chain(between(part, metric)).collect()
}

/// The answers of the concluding role, one a round, where it answered in rounds.
fn verdicts(record: &QuestionRecord) -> Vec<&CallRecord> {
    let Some(last) = record.concluding().first().copied().filter(|call| call.document.is_none()) else {
        return Vec::new();
    };
    record.calls.iter().filter(|call| call.role == last.role && call.prompt == last.prompt).collect()
}

/// The metric as if the debate had ended after `round`.
fn after(record: &QuestionRecord, round: usize, metric: &str) -> Option<f64> {
    let verdicts = verdicts(record);
    let Some(call) = verdicts.iter().filter(|call| call.round <= round).max_by_key(|call| call.round) else {
        return value(metric, record);
    };
    let (answers, malformed) = match &call.parsed {
        Parsed::Answers { answers, .. } => (answers.clone(), false),
        Parsed::Answer { answer, .. } => (answer.iter().cloned().collect(), false),
        Parsed::Choice { .. } => (call.chosen().map(str::to_owned).into_iter().collect(), false),
        _ => (Vec::new(), true),
    };
    let answers = answers.iter().map(|text| Answer::new(text)).collect();
    // The metrics that are drawn read gold answers and options alone.
    let Question { gold, options, .. } = record.question.clone();
    let then = QuestionRecord {
        question: Question { gold, options, ..Question::default() },
        conclusion: Some(Conclusion { answers, malformed, ..Conclusion::default() }),
        ..QuestionRecord::default()
    };
    value(metric, &then)
}

/// Lines of records that differ in `rounds` alone.
fn between(part: &Part, metric: &str) -> Vec<Series> {
    let mut groups: Vec<Vec<(u64, usize)>> = Vec::new();
    for (index, record) in part.records.iter().enumerate() {
        let Some(rounds) = record.header.switches["rounds"].as_u64() else { continue };
        let header = |index: usize| &part.records[index].header;
        match groups.iter_mut().find(|group| differ_in_rounds_alone(header(group[0].1), &record.header)) {
            Some(group) => group.push((rounds, index)),
            None => groups.push(vec![(rounds, index)]),
        }
    }
    let line = |mut records: Vec<(u64, usize)>| {
        records.sort_unstable();
        records.dedup_by_key(|(rounds, _)| *rounds);
        let index = records.first().filter(|_| records.len() > 1)?.1;
        let point = |&(rounds, index): &(u64, usize)| {
            let scores: Vec<f64> = sorted(&part.records[index]).iter().filter_map(|q| value(metric, q)).collect();
            Some(Point { x: rounds as f64, y: bootstrap(&scores, RESAMPLES, SEED)? })
        };
        Some(Series { index, points: records.iter().filter_map(point).collect() })
    };
    groups.into_iter().filter_map(line).collect()
}

/// Whether the settings of both that can change a number differ at most in `rounds`. The program's version and records whose
/// replies were reused are no settings.
fn differ_in_rounds_alone(one: &Header, two: &Header) -> bool {
    const ALLOWED: [&str; 4] = ["switches.rounds", "moot_record", "program", "reused"];
    differences(one, two).iter().all(|(field, ..)| ALLOWED.contains(&field.as_str()))
}
