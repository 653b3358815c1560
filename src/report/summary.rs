//! The comparison of records as rows for the template: headline metrics with intervals, differences, costs.

use super::part::Part;
use crate::escape;
use crate::eval::compare::{Compared, Cost, Side, SliceComparison};
use crate::eval::metrics::{METRICS, Metric, Unit};
use crate::eval::scores::figure;
use crate::eval::stats::Estimate;
use serde_json::{Value, json};

/// Metrics with a title that head a report, where they apply.
const HEADS: usize = 2;

/// Everything that the template shows of a comparison.
pub(super) fn summary(part: &Part) -> Value {
    let compared = &part.compared;
    json!({
        "first": compared.records.first().map(|record| escape::line(&record.name)),
        "several": compared.records.len() > 1,
        "parts": compared.parts.iter().map(|slice| section(compared, slice)).collect::<Vec<_>>(),
    })
}

fn section(compared: &Compared, slice: &SliceComparison) -> Value {
    let applies = |metric: &Metric| slice.sides.iter().any(|side| estimate(side, metric.name).is_some());
    let titled = METRICS.iter().filter_map(|metric| Some((metric, metric.title?)));
    let heads = titled.filter(|(metric, _)| applies(metric)).take(HEADS);
    json!({
        "slice": slice.slice.as_deref().map(escape::line),
        "panels": heads.map(|(metric, title)| panel(compared, slice, metric, title)).collect::<Vec<_>>(),
        "values": values(compared, slice),
        "differences": differences(compared, slice),
        "costs": costs(compared, slice),
    })
}

fn estimate(side: &Side, name: &str) -> Option<Estimate> {
    side.values.iter().find(|(metric, _)| *metric == name)?.1
}

/// A metric as rows with a bar each: one record a row.
fn panel(compared: &Compared, slice: &SliceComparison, metric: &Metric, title: &str) -> Value {
    let name = metric.name;
    let rows = compared.records.iter().zip(&slice.sides).enumerate().map(|(index, (record, side))| {
        let value = estimate(side, name);
        let contrast = side.against.as_ref().and_then(|against| against.rows.iter().find(|row| row.metric == name));
        let difference = contrast.and_then(|contrast| contrast.difference);
        json!({
            "name": escape::line(&record.name),
            "key": crate::eval::chart::legend(index),
            "questions": side.questions,
            "value": value.map(|e| shown(Unit::Share, e.mean, false)),
            "interval": value.map(|e| interval(Unit::Share, e, false)),
            "bar": value.map(|e| [e.low, e.mean, e.high].map(|share| (share.clamp(0.0, 1.0) * 1000.0).round() / 10.0)),
            "difference": difference.map(|e| shown(Unit::Share, e.mean, true)),
            "difference_interval": difference.map(|e| interval(Unit::Share, e, true)),
            "clear": difference.is_some_and(clear),
            "outcomes": contrast.and_then(|contrast| contrast.outcomes),
        })
    });
    json!({ "metric": name, "title": title, "formula": metric.formula, "rows": rows.collect::<Vec<_>>() })
}

fn shown(unit: Unit, number: f64, signed: bool) -> String {
    figure(unit, number, signed)
}

fn interval(unit: Unit, e: Estimate, signed: bool) -> String {
    format!("{} to {}", shown(unit, e.low, signed), shown(unit, e.high, signed))
}

/// The interval of a difference leaves out 0.
fn clear(e: Estimate) -> bool {
    e.low > 0.0 || e.high < 0.0
}

/// A table: metrics down, records across.
fn values(compared: &Compared, slice: &SliceComparison) -> Value {
    let Some(first) = slice.sides.first() else { return Value::Null };
    let applies = |index: &usize| slice.sides.iter().any(|side| side.values[*index].1.is_some());
    let rows = (0..first.values.len()).filter(applies).map(|index| {
        let name = first.values[index].0;
        let unit = Metric::named(name).map_or(Unit::Count, |metric| metric.unit);
        let cells = slice.sides.iter().map(|side| cell(unit, side.values[index].1, false)).collect::<Vec<_>>();
        json!({ "name": name, "formula": Metric::named(name).map(|metric| metric.formula), "cells": cells })
    });
    json!({ "names": names(compared), "rows": rows.collect::<Vec<_>>() })
}

fn cell(unit: Unit, estimate: Option<Estimate>, signed: bool) -> Value {
    let one = |e: Estimate| json!({ "value": shown(unit, e.mean, signed), "interval": interval(unit, e, signed), "clear": signed && clear(e) });
    estimate.map_or(Value::Null, one)
}

fn names(compared: &Compared) -> Vec<String> {
    compared.records.iter().map(|record| escape::line(&record.name)).collect()
}

/// Differences from the first record; `null` for one record alone.
fn differences(compared: &Compared, slice: &SliceComparison) -> Value {
    let others: Vec<_> = slice.sides.iter().filter_map(|side| side.against.as_ref()).collect();
    let Some(first) = others.first() else { return Value::Null };
    let applies = |index: &usize| others.iter().any(|against| against.rows[*index].difference.is_some());
    let rows = (0..first.rows.len()).filter(applies).map(|index| {
        let name = first.rows[index].metric;
        let unit = Metric::named(name).map_or(Unit::Count, |metric| metric.unit);
        let cells = others.iter().map(|against| {
            let row = &against.rows[index];
            json!({ "difference": cell(unit, row.difference, true), "outcomes": row.outcomes })
        });
        json!({ "name": name, "formula": Metric::named(name).map(|metric| metric.formula), "cells": cells.collect::<Vec<_>>() })
    });
    let pairs: Vec<Value> =
        others.iter().map(|against| json!({ "pairs": against.pairs, "unpaired": against.unpaired })).collect();
    json!({ "names": &names(compared)[1..], "pairs": pairs, "rows": rows.collect::<Vec<_>>() })
}

fn costs(compared: &Compared, slice: &SliceComparison) -> Vec<Value> {
    let row = |name: &str, cost: &Cost| {
        let Cost { role, calls, malformed, usage, seconds } = cost;
        json!({
            "record": name, "role": escape::line(role), "calls": grouped(*calls), "malformed": grouped(*malformed),
            "prompt": grouped(usage.prompt), "reused": grouped(usage.reused), "computed": grouped(usage.computed),
            "generated": grouped(usage.generated), "seconds": grouped(seconds.round().max(0.0) as usize),
        })
    };
    let of = |(name, side): (String, &Side)| side.costs.iter().map(|cost| row(&name, cost)).collect::<Vec<_>>();
    names(compared).into_iter().zip(&slice.sides).flat_map(of).collect()
}

/// "1 234 567", with narrow spaces that do not break.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}
