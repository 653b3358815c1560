//! `f_align`, RA-RAG's filter of answers that do not come from the documents (section 3.2): ROUGE-1 precision.

use crate::answers::unknown::is_unknown;
use crate::answers::words::Level;
use crate::answers::words::numbers::LoneOne;
use crate::dates;
use crate::transcript::{CallRecord, Parsed};
use crate::unicode;
use std::collections::HashMap;
use unicode_segmentation::UnicodeSegmentation;

/// The ROUGE-1 precision below which an answer is dropped (section 3.2).
pub(crate) const LEAST: f64 = 0.9;

/// The answer of a reply, before `f_align`; `None` is "I don't know", also in other words, a malformed reply, and an answer
/// without words. Methods, estimates and tables of answers all count by this.
#[must_use]
pub fn answer(call: &CallRecord) -> Option<&str> {
    let Parsed::Answer { answer: Some(answer), .. } = &call.parsed else { return None };
    (!is_unknown(answer) && !Level::Voted.words(answer).is_empty()).then_some(answer.as_str())
}

/// ROUGE-1 precision (Lin, 2004): the share of the answer's unigrams that the texts hold, each occurrence in the texts
/// matched at most once. 0 for an answer without unigrams.
///
/// A unigram is a run of letters and digits in lower case, without stemming; canonically equivalent runs are the same.
/// In a script without spaces it is a word of Unicode's segmentation.
#[must_use]
pub fn precision<'a>(answer: &str, texts: impl IntoIterator<Item = &'a str>) -> f64 {
    share(unigrams(answer), texts.into_iter().flat_map(unigrams))
}

/// How `f_align` compares an answer with the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compared {
    /// By unigrams, as published ([`precision`]).
    #[default]
    Words,
    /// By the values of numbers and dates: "3" is found in "three", "1000" in "1,000", and "1952-06-14" in "June 14, 1952".
    Values,
}

impl Compared {
    /// [`precision`], compared so. A date of the documents holds the less precise ones.
    #[must_use]
    pub fn precision<'a>(self, answer: &str, texts: impl IntoIterator<Item = &'a str> + Clone) -> f64 {
        let published = precision(answer, texts.clone());
        if self == Self::Words || published >= 1.0 {
            return published;
        }
        let dates = dates::read(answer);
        if !dates.is_empty() && texts.clone().into_iter().flat_map(dates::found_in).any(|date| dates.contains(&date)) {
            return 1.0;
        }
        let values = |text: &str| Level::Assessed.words(text).in_digits(LoneOne::Always).to_vec().into_iter();
        share(values(answer), texts.into_iter().flat_map(values)).max(published)
    }
}

/// The share of `answer` that `texts` hold, each occurrence in the texts matched at most once.
fn share(answer: impl Iterator<Item = String>, texts: impl Iterator<Item = String>) -> f64 {
    let mut held: HashMap<String, usize> = HashMap::new();
    for unigram in texts {
        *held.entry(unigram).or_default() += 1;
    }
    let (mut all, mut matched) = (0_usize, 0_usize);
    for unigram in answer {
        all += 1;
        if let Some(left) = held.get_mut(&unigram).filter(|left| **left > 0) {
            *left -= 1;
            matched += 1;
        }
    }
    if all == 0 { 0.0 } else { matched as f64 / all as f64 }
}

/// The unigrams of a text, in their order.
pub(crate) fn unigrams(text: &str) -> impl Iterator<Item = String> + use<> {
    let text = unicode::nfc(text);
    let unigrams: Vec<String> = text
        .unicode_words()
        .flat_map(|word| word.split(|c: char| !c.is_alphanumeric()))
        .filter(|unigram| !unigram.is_empty())
        .map(str::to_lowercase)
        .collect();
    unigrams.into_iter()
}
