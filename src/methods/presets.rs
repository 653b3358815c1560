//! Presets: named settings of a method's switches, chosen by measurement or by a paper. [`PRESETS`] has a row for each.

use crate::error::{MootError, Result};
use crate::methods::switches::Typed;
use crate::methods::{Built, Row};

/// A row of [`PRESETS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// As typed after `--preset`.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// The method's name.
    pub method: &'static str,
    /// Its switches that differ from the method's defaults, as typed.
    pub switches: &'static [(&'static str, &'static str)],
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
