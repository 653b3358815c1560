//! Splits documents into passages: whole sentences up to a budget of words. A heading stays with the sentence below it.

mod headings;
pub(crate) mod sentences;
mod words;

pub(super) use words::words;

use crate::error::{MootError, Result};
use std::ops::Range;

/// How documents are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunking {
    words: usize,
    overlap: Overlap,
}

/// Overlap of a passage with the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// This many of its last words; 0 repeats nothing.
    Words(usize),
    /// This many of its last sentences, as far as the budget has room beside the new text.
    Sentences(usize),
}

impl Default for Chunking {
    /// 100 words without overlap, as DPR splits Wikipedia (Karpukhin et al. 2020, section 4.1), but at sentence
    /// boundaries.
    fn default() -> Self {
        Self { words: 100, overlap: Overlap::Words(0) }
    }
}

impl Chunking {
    /// Passages of at most `words` words; 0 does not split documents.
    ///
    /// # Errors
    /// [`MootError::Usage`] for an overlap that leaves no room for new text, or for overlapping whole documents.
    pub fn new(words: usize, overlap: Overlap) -> Result<Self> {
        let (Overlap::Words(repeated) | Overlap::Sentences(repeated)) = overlap;
        if repeated > 0 && words == 0 {
            return Err(MootError::Usage("whole documents cannot overlap: expected an overlap of 0".into()));
        }
        if repeated > 0 && repeated >= words {
            let wrong = format!("an overlap of {repeated} leaves no room in passages of {words} words");
            return Err(MootError::Usage(format!("{wrong}: expected less than {words}")));
        }
        Ok(Self { words, overlap })
    }

    /// The settings as text, stored in an index: "100 words, overlap 1 sentences".
    #[must_use]
    pub fn describe(&self) -> String {
        match (self.words, self.overlap) {
            (0, _) => "whole documents".to_owned(),
            (words, Overlap::Words(0) | Overlap::Sentences(0)) => format!("{words} words"),
            (words, Overlap::Words(n)) => format!("{words} words, overlap {n} words"),
            (words, Overlap::Sentences(n)) => format!("{words} words, overlap {n} sentences"),
        }
    }

    /// The settings that [`Chunking::describe`] wrote; `None` for another text.
    #[must_use]
    pub fn described(text: &str) -> Option<Self> {
        if text == "whole documents" {
            return Self::new(0, Overlap::Words(0)).ok();
        }
        let (words, overlap) = text.split_once(", overlap ").map_or((text, None), |(words, lap)| (words, Some(lap)));
        let words = words.strip_suffix(" words")?.parse().ok().filter(|words| *words > 0)?;
        let overlap = match overlap.map(|overlap| overlap.split_once(' ')) {
            None => Overlap::Words(0),
            Some(Some((n, "words"))) => Overlap::Words(n.parse().ok()?),
            Some(Some((n, "sentences"))) => Overlap::Sentences(n.parse().ok()?),
            Some(_) => return None,
        };
        Self::new(words, overlap).ok()
    }

    /// The passages of `text` as byte ranges: in order, not empty, without white space at their ends. A sentence longer
    /// than the budget is split between words.
    #[must_use]
    pub fn cut(&self, text: &str) -> Vec<Range<usize>> {
        if self.words == 0 {
            let trimmed = text.trim();
            let start = text.len() - text.trim_start().len();
            return std::iter::once(start..start + trimmed.len()).filter(|whole| !whole.is_empty()).collect();
        }
        let units = units(text, self.words);
        let mut passages = Vec::new();
        let mut next = 0;
        let mut lead = Lead::default();
        while next < units.len() {
            let first = next;
            let mut total = lead.words;
            // One unit at least: the lead leaves room for it.
            while next < units.len() && (next == first || total + units[next].words <= self.words) {
                total += units[next].words;
                next += 1;
            }
            passages.push(lead.start.unwrap_or(units[first].range.start)..units[next - 1].range.end);
            if next < units.len() {
                lead = self.lead(text, &passages[passages.len() - 1], &units[..next], units[next].words);
            }
        }
        passages
    }

    /// The overlap of the next passage with `passage`, short enough for its first new unit of `new` words.
    fn lead(&self, text: &str, passage: &Range<usize>, units: &[Unit], new: usize) -> Lead {
        let room = self.words - new;
        match self.overlap {
            Overlap::Words(wanted) => {
                let inside: Vec<Range<usize>> = words(&text[passage.clone()]).collect();
                let count = wanted.min(room).min(inside.len().saturating_sub(1));
                let start = inside.get(inside.len() - count).map(|word| passage.start + word.start);
                Lead { start: start.filter(|_| count > 0), words: count }
            }
            Overlap::Sentences(wanted) => {
                // The first unit of a passage is not repeated: otherwise the passages would not advance.
                let whole = units.iter().rev().take(wanted).take_while(|unit| unit.range.start > passage.start);
                let mut lead = Lead::default();
                for unit in whole {
                    if lead.words + unit.words > room {
                        break;
                    }
                    lead = Lead { start: Some(unit.range.start), words: lead.words + unit.words };
                }
                lead
            }
        }
    }
}

/// The start of a passage that repeats the end of the one before.
#[derive(Debug, Clone, Copy, Default)]
struct Lead {
    start: Option<usize>,
    words: usize,
}

/// A sentence, or a part of one that fits the budget.
struct Unit {
    range: Range<usize>,
    words: usize,
}

fn units(text: &str, budget: usize) -> Vec<Unit> {
    let mut units = Vec::new();
    for sentence in headings::sentences_with_headings(text) {
        let mut piece: Option<Unit> = None;
        for word in words(&text[sentence.clone()]) {
            let (start, end) = (sentence.start + word.start, sentence.start + word.end);
            match &mut piece {
                Some(unit) if unit.words < budget => {
                    unit.range.end = end;
                    unit.words += 1;
                }
                full => units.extend(full.replace(Unit { range: start..end, words: 1 })),
            }
        }
        units.extend(piece);
    }
    units
}
