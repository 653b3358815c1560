//! The method of a recorded run as this program has it. The names of earlier programs are mapped here and nowhere else.

use crate::error::Result;
use crate::eval::record::header::Header;
use crate::methods::REMOVED;
use crate::protocol::switches::Typed;
use crate::protocol::{Built, Row};
use serde_json::Value;
use std::collections::BTreeMap;

/// Switches that `madam-rag` had until its departures from the paper became a method of their own, which is removed. Each has the
/// value that is the paper's protocol, which was its default.
const MOVED: [(&str, &str); 6] = [
    ("order", "document-first"),
    ("own-reply", "false"),
    ("ask-again", "all"),
    ("grounded", "false"),
    ("evidence", "explanation"),
    ("provenance", "false"),
];

/// The method of a header: its row, its switches as they would be typed today, and whether its prompts have moved.
///
/// - `madam-rag` with one of [`MOVED`] at another value, or with `history=answers`, is the method that was removed.
/// - `madam-rag` with all of [`MOVED`] at the paper's value is `madam-rag` without them. Without the switch `wording` it had the
///   prompts that are `wording=tuned` today, under the names of today's others.
/// - `majority-vote` had `provenance`, which is left out: its votes depend on replies alone. A call that is made anew shows
///   neither source nor date.
/// - ConflictScore's methods had `sure`, a least probability of labels, which is left out: labels below it count.
pub struct RecordedMethod {
    /// The method's row.
    pub row: &'static Row,
    typed: Typed,
    tuned: bool,
}

impl RecordedMethod {
    /// The method of a run with this header.
    ///
    /// # Errors
    /// As [`Row::named`] for a method that this program does not have.
    pub fn of(header: &Header) -> Result<Self> {
        let mut typed = as_typed(&header.switches);
        let mut name = header.method.as_str();
        let mut tuned = false;
        match name {
            "madam-rag" if departs(&typed) => name = REMOVED,
            "madam-rag" => {
                MOVED.iter().for_each(|(name, _)| drop(typed.remove(*name)));
                tuned = !typed.contains_key("wording");
                typed.entry("wording".to_owned()).or_insert_with(|| "tuned".to_owned());
            }
            "majority-vote" => drop(typed.remove("provenance")),
            "conflict-score" | "conflict-report" | "regenerated-rag" => drop(typed.remove("sure")),
            _ => {}
        }
        let row = Row::named(name)?;
        // A default is not typed: what depends on another switch is resolved again.
        let default = |name: &str| row.switches.iter().find(|switch| switch.name == name).map(|switch| switch.default);
        typed.retain(|name, value| default(name) != Some(value));
        Ok(Self { row, typed, tuned })
    }

    /// The method with its recorded switches and the program's prompts.
    ///
    /// # Errors
    /// As [`Row::build`].
    pub fn build(&self) -> Result<Built> {
        self.row.build(&self.typed)
    }

    /// The prompts, grammars and schemas of the method that are other files now than in `header`.
    #[must_use]
    pub fn other_files(&self, header: &Header, hashes: &BTreeMap<String, String>) -> Vec<String> {
        let recorded = renamed(&header.prompts, |name| self.file(name));
        hashes.iter().filter(|(name, hash)| recorded.get(*name) != Some(hash)).map(|(name, _)| name.clone()).collect()
    }

    /// The user's prompts in `header`, by today's names.
    #[must_use]
    pub fn own_prompts(&self, header: &Header) -> BTreeMap<String, String> {
        renamed(&header.own_prompts, |name| self.file(name))
    }

    /// Today's name of a recorded file.
    fn file(&self, recorded: &str) -> String {
        match recorded.strip_prefix("madam_rag/").filter(|_| self.tuned) {
            Some(file) => format!("madam_rag/{}_tuned.jinja", file.trim_end_matches(".jinja")),
            None => recorded.to_owned(),
        }
    }
}

/// Whether these switches of `madam-rag` are not the paper's.
fn departs(typed: &Typed) -> bool {
    let differs = |(name, value): &(&str, &str)| typed.get(*name).is_some_and(|typed| typed != value);
    MOVED.iter().any(differs) || typed.get("history").is_some_and(|history| history == "answers")
}

fn renamed(files: &BTreeMap<String, String>, name: impl Fn(&str) -> String) -> BTreeMap<String, String> {
    files.iter().map(|(file, text)| (name(file), text.clone())).collect()
}

/// Recorded switches as they would be typed.
fn as_typed(switches: &Value) -> Typed {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    switches.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
}

impl Header {
    /// The method as tables show it: its label where it has one, else its name; and the preset that it was built from, with
    /// `changed` where its switches are not the preset's of today. Then `wording tuned` where the prompts are not the
    /// paper's, unless the preset's name says so.
    #[must_use]
    pub fn shown_method(&self) -> String {
        let mut shown = self.label.as_ref().unwrap_or(&self.method).clone();
        if let Some(preset) = &self.preset {
            let changed = self.differs_from(preset).unwrap_or(false);
            shown.push_str(&format!(", preset {preset}{}", if changed { ", changed" } else { "" }));
        }
        if self.switches["wording"] == "tuned" && self.preset.as_deref() != Some("tuned") {
            shown.push_str(", wording tuned");
        }
        shown
    }

    /// Whether the switches are other ones than those of the method's preset.
    fn differs_from(&self, preset: &str) -> Result<bool> {
        let method = RecordedMethod::of(self)?;
        let today = method.row.build_preset(method.row.preset(preset)?, &Typed::new())?;
        Ok(method.build()?.values.json() != today.values.json())
    }
}
