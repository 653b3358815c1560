//! One step of a normaliser.

use serde_json::Value;
use tokenizers::pattern::Pattern;
use tokenizers::utils::SysRegex;
use tokenizers::{NormalizedString, Normalizer, NormalizerWrapper, Offsets};

/// A text on which a step is tried when it is read.
const PROBE: &str = "a b";

/// A step of a normaliser.
#[derive(Debug)]
pub(super) enum NormalizerStep {
    /// The crate's own.
    Known(NormalizerWrapper),
    /// Replaces what a regular expression matches. The crate's own panics in a later step where the match is empty.
    Replace { regex: SysRegex, content: String },
}

impl NormalizerStep {
    /// Reads a step of a `tokenizer.json`.
    ///
    /// # Errors
    /// The crate's reason; a pattern that matches an empty text.
    pub(super) fn read(step: &Value) -> tokenizers::Result<Self> {
        let read = match (step["type"] == "Replace", step["pattern"]["Regex"].as_str(), step["content"].as_str()) {
            (true, Some(pattern), Some(content)) => {
                Self::Replace { regex: SysRegex::new(pattern)?, content: content.to_owned() }
            }
            (true, ..) if step["pattern"]["String"] == "" => return Err(EMPTY.into()),
            _ => Self::Known(serde_json::from_value(step.clone())?),
        };
        read.apply(&mut NormalizedString::from(PROBE))?;
        Ok(read)
    }

    /// Normalises `text`.
    ///
    /// # Errors
    /// The crate's reason; a match that is empty.
    pub(super) fn apply(&self, text: &mut NormalizedString) -> tokenizers::Result<()> {
        match self {
            Self::Known(step) => step.normalize(text),
            Self::Replace { regex, content } => text.replace(SomeText(regex), content),
        }
    }
}

const EMPTY: &str = "a pattern that matches an empty text";

/// Matches of a pattern, none of which is empty.
struct SomeText<'a>(&'a SysRegex);

impl Pattern for SomeText<'_> {
    fn find_matches(&self, inside: &str) -> tokenizers::Result<Vec<(Offsets, bool)>> {
        let matches = self.0.find_matches(inside)?;
        let empty = matches.iter().any(|&((start, end), is_match)| is_match && start == end);
        if empty { Err(EMPTY.into()) } else { Ok(matches) }
    }
}
