//! Methods that answer a question from documents: one file a method, one row a file.

use crate::error::{MootError, Result};
use crate::protocol::own_prompts::Replaceable;
use crate::protocol::presets::Preset;
use crate::protocol::switches::Typed;
use crate::protocol::{Built, Row, entailment};
use std::collections::BTreeSet;

pub(crate) mod astute_rag;
pub(crate) mod closed_book;
pub(crate) mod concatenated;
pub(crate) mod conflict_report;
pub mod conflict_score;
pub(crate) mod drag;
pub(crate) mod flare;
pub(crate) mod ircot;
pub(crate) mod iter_retgen;
pub(crate) mod mad;
pub mod madam_rag;
pub(crate) mod majority_vote;
pub(crate) mod moot;
pub(crate) mod naive_rag;
pub(crate) mod ra_rag;
pub(crate) mod ra_rag_long;
pub(crate) mod regenerated_rag;
pub(crate) mod self_consistency;
pub(crate) mod self_rag;
pub(crate) mod self_reflection;
pub(crate) mod source_isolated_arbitration;
pub(crate) mod source_pools;
pub(crate) mod speculative_rag;
pub(crate) mod sure;
pub(crate) mod truthful_judge;
pub(crate) mod verification;

/// Every method there is.
pub static METHODS: &[&Row] = &[
    &madam_rag::ROW,
    &moot::ROW,
    &concatenated::ROW,
    &closed_book::ROW,
    &self_reflection::ROW,
    &astute_rag::ROW,
    &source_isolated_arbitration::ROW,
    &self_consistency::ROW,
    &majority_vote::ROW,
    &ra_rag::ROW,
    &ra_rag_long::ROW,
    &drag::ROW,
    &naive_rag::ROW,
    &mad::ROW,
    &ircot::ROW,
    &iter_retgen::ROW,
    &flare::ROW,
    &sure::ROW,
    &self_rag::ROW,
    &speculative_rag::ROW,
    &verification::ROW,
    &conflict_score::ROW,
    &regenerated_rag::ROW,
    &conflict_report::ROW,
    &truthful_judge::ROW,
    &source_pools::ROW,
];

/// A method of earlier programs. Records that name it are read, shown and scored, but not run again.
pub(crate) const REMOVED: &str = "debate";

impl Row {
    /// The method called `name`.
    ///
    /// # Errors
    /// [`MootError::Usage`] for the method that was removed; [`MootError::UnknownName`] with all known names for others.
    pub fn named(name: &str) -> Result<&'static Self> {
        METHODS.iter().copied().find(|row| row.name == name).ok_or_else(|| match name {
            REMOVED => MootError::Usage(format!("method {REMOVED}: removed after commit 106b377, replaced by moot")),
            _ => MootError::UnknownName {
                kind: "method",
                name: name.to_owned(),
                known: METHODS.iter().map(|row| row.name).collect::<Vec<_>>().join(", "),
            },
        })
    }
}

/// Builds the method called `name`.
///
/// # Errors
/// As [`Row::named`] and [`Row::build`].
pub fn build(name: &str, typed: &Typed) -> Result<Built> {
    Row::named(name)?.build(typed)
}

/// The method of `moot ask` where neither a method nor a preset is typed.
pub const ASK: &str = "moot";

/// The method of `moot run` where neither a method nor a preset is typed.
pub const RUN: &str = "madam-rag";

/// The preset called `name`, with its method, where one method alone has a preset of that name.
///
/// # Errors
/// [`MootError::UnknownName`] with all presets where no method has it; [`MootError::Usage`] with the methods where several have.
pub fn preset(name: &str) -> Result<(&'static Row, &'static Preset)> {
    let all = || METHODS.iter().flat_map(|&row| row.presets.iter().map(move |preset| (row, preset)));
    let found: Vec<_> = all().filter(|(_, preset)| preset.name == name).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(MootError::UnknownName {
            kind: "preset",
            name: name.to_owned(),
            known: all()
                .map(|(_, preset)| preset.name)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>()
                .join(", "),
        }),
        several => {
            let methods: Vec<&str> = several.iter().map(|(row, _)| row.name).collect();
            let methods = methods.join(", ");
            Err(MootError::Usage(format!(
                "--preset {name}: several methods have a preset of this name: add --method, one of {methods}"
            )))
        }
    }
}

/// Every prompt of every method, entailment's among them, by name: all that `--prompts` can replace.
#[must_use]
pub fn replaceable() -> Replaceable {
    let files = METHODS.iter().flat_map(|row| row.prompts.iter().copied()).chain([entailment::PROMPT]);
    files.map(|file| (file.name, file)).collect()
}
