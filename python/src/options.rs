//! The groups of options and their fields, which the package sorts keyword arguments by. They are read from the program's
//! own table.

use moot::PlanOptions;
use moot::workspace::RunOptions;
use pyo3::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;

/// The fields of each group of `PlanOptions`: `method`, `corpus`, `runtime`, `run` and more.
#[pyfunction]
pub(crate) fn option_fields() -> BTreeMap<String, Vec<String>> {
    let options = PlanOptions { run: Some(RunOptions::default()), ..PlanOptions::default() };
    let Ok(Value::Object(groups)) = serde_json::to_value(options) else { return BTreeMap::new() };
    let group = |(name, value): (String, Value)| match value {
        Value::Object(fields) => Some((name, fields.into_iter().map(|(field, _)| field).collect())),
        _ => None,
    };
    groups.into_iter().filter_map(group).collect()
}
