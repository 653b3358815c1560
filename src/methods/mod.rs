//! Methods that answer a question from documents: one file a method, one row a file.

use crate::error::{MootError, Result};
use crate::protocol::own_prompts::Replaceable;
use crate::protocol::presets::Preset;
use crate::protocol::switches::Typed;
use crate::protocol::{Built, Row, entailment};

pub mod astute_rag;
pub mod closed_book;
pub mod concatenated;
pub mod conflict_report;
pub mod conflict_score;
pub mod drag;
pub mod flare;
pub mod ircot;
pub mod iter_retgen;
pub mod mad;
pub mod madam_rag;
pub mod majority_vote;
pub mod naive_rag;
pub mod ra_rag;
pub mod ra_rag_long;
pub mod regenerated_rag;
pub mod self_consistency;
pub mod self_rag;
pub mod self_reflection;
pub mod source_isolated_arbitration;
pub mod speculative_rag;
pub mod sure;
pub mod truthful_judge;
pub mod verification;

/// Every method there is.
pub static METHODS: &[&Row] = &[
    &madam_rag::ROW,
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
];

/// The table of methods as README prints it, in Markdown.
#[must_use]
pub fn readme_table() -> String {
    let line = |row: &&Row| format!("| `{}` | {} | {} |\n", row.name, row.about, row.paper);
    let lines: String = METHODS.iter().map(line).collect();
    format!("| method | what it is | source |\n|---|---|---|\n{lines}")
}

impl Row {
    /// The method called `name`.
    ///
    /// # Errors
    /// [`MootError::UnknownName`] with all known names.
    pub fn named(name: &str) -> Result<&'static Self> {
        METHODS.iter().copied().find(|row| row.name == name).ok_or_else(|| MootError::UnknownName {
            kind: "method",
            name: name.to_owned(),
            known: METHODS.iter().map(|row| row.name).collect::<Vec<_>>().join(", "),
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

/// The preset of `moot ask` where neither a method nor a preset is typed.
pub const ASK: &str = "debate";

/// Every preset there is.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "debate",
        about: "MADAM-RAG whose agents, if they know something, read the others' answers with sources or quotes, and their own",
        method: "madam-rag",
        switches: &[
            ("history", "answers"),
            ("own-reply", "true"),
            ("ask-again", "needed"),
            ("grounded", "true"),
            ("evidence", "auto"),
            ("provenance", "true"),
        ],
    },
    Preset { name: "paper", about: "MADAM-RAG as section 4 of its paper has it", method: "madam-rag", switches: &[] },
    Preset {
        name: "peers",
        about: "MADAM-RAG with the history of its appendix E: agents read each other's replies",
        method: "madam-rag",
        switches: &[("history", "peers")],
    },
    Preset {
        name: "one-round",
        about: "MADAM-RAG's first round and its aggregator, without a debate",
        method: "madam-rag",
        switches: &[("rounds", "1")],
    },
    Preset {
        name: "every-answer",
        about: "MADAM-RAG's first round alone: every answer that a document's agent gives, without aggregator and debate",
        method: "madam-rag",
        switches: &[("rounds", "1"), ("aggregator", "false")],
    },
];

impl Preset {
    /// The preset called `name`.
    ///
    /// # Errors
    /// [`MootError::UnknownName`] with all known names.
    pub fn named(name: &str) -> Result<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| MootError::UnknownName {
            kind: "preset",
            name: name.to_owned(),
            known: PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// Builds its method. Switches in `typed` go before the preset's.
    ///
    /// # Errors
    /// As [`Row::build`].
    pub fn build(&self, typed: &Typed) -> Result<Built> {
        let own = self.switches.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let mut switches: Typed = own.collect();
        switches.extend(typed.clone());
        Ok(Built { preset: Some(self.name), ..Row::named(self.method)?.build(&switches)? })
    }
}

/// Every prompt of every method, entailment's among them, by name: what can be replaced.
#[must_use]
pub fn replaceable() -> Replaceable {
    let files = METHODS.iter().flat_map(|row| row.prompts.iter().copied()).chain([entailment::PROMPT]);
    files.map(|file| (file.name, file)).collect()
}
