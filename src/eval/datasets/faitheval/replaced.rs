//! The answers that false documents give in the place of the right one, found by comparing documents.

use crate::answers::words::Level;
use crate::question::Document;
use std::ops::Range;

/// Words before and after an answer by which its position is recognised in another document.
const AROUND: usize = 3;
/// Most words of an answer.
const LONGEST: usize = 8;

/// The texts that documents without a right answer have in its position: between the same words as in a document that has it. Empty
/// where no two documents are alike around it.
pub(super) fn answers(documents: &[Document], right: &[String]) -> Vec<String> {
    let holds = |document: &&Document| right.iter().any(|answer| Level::Scored.contains(&document.text, answer));
    let (with, without): (Vec<&Document>, Vec<&Document>) = documents.iter().partition(holds);
    let mut found = Vec::new();
    for false_one in without {
        let other = Words::of(&false_one.text);
        let mut candidates = with.iter().flat_map(|document| {
            let words = Words::of(&document.text);
            right.iter().filter_map(|answer| words.replaced_in(&Words::of(answer), &other)).collect::<Vec<_>>()
        });
        found.extend(candidates.next());
    }
    Level::Scored.without_repeats(found)
}

/// The words of a text, in lower case and without punctuation around them, where each is, and whether a sentence ends after it.
struct Words<'a> {
    text: &'a str,
    spans: Vec<Range<usize>>,
    forms: Vec<String>,
    ends: Vec<bool>,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        let mut words = Self { text, spans: Vec::new(), forms: Vec::new(), ends: Vec::new() };
        for word in text.split_whitespace() {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            if !bare.is_empty() {
                let start = bare.as_ptr() as usize - text.as_ptr() as usize;
                words.spans.push(start..start + bare.len());
                words.forms.push(bare.to_lowercase());
                words.ends.push(
                    word[bare.as_ptr() as usize - word.as_ptr() as usize + bare.len()..].contains(['.', '!', '?']),
                );
            }
        }
        words
    }

    /// The text of `other` between the words that are around `answer` here.
    fn replaced_in(&self, answer: &Self, other: &Self) -> Option<String> {
        let length = answer.forms.len();
        let starts = (0..self.forms.len().saturating_sub(length.saturating_sub(1)))
            .filter(|&at| length > 0 && self.forms[at..at + length] == answer.forms[..]);
        starts.filter_map(|at| other.between(self.before(at), self.after(at + length))).next()
    }

    /// Whether a sentence begins at the word.
    fn begins(&self, at: usize) -> bool {
        at == 0 || self.ends[at - 1]
    }

    /// The words of the same sentence before one.
    fn before(&self, at: usize) -> &[String] {
        let start = (at.saturating_sub(AROUND)..=at).rev().find(|&at| self.begins(at));
        &self.forms[start.unwrap_or(at.saturating_sub(AROUND))..at]
    }

    /// The words of the same sentence from one on.
    fn after(&self, at: usize) -> &[String] {
        let last = self.forms.len().min(at + AROUND);
        let end = (at..last).find(|&at| self.begins(at)).unwrap_or(last);
        &self.forms[at..end]
    }

    /// The text between `before` and `after`; where one of the two is empty, from the beginning or to the end of a sentence.
    fn between(&self, before: &[String], after: &[String]) -> Option<String> {
        // Fewer words around it would match by chance.
        if before.len() + after.len() < AROUND {
            return None;
        }
        let begins = |at: &usize| match before.is_empty() {
            true => self.begins(*at),
            false => *at >= before.len() && self.forms[at - before.len()..*at] == *before,
        };
        let ends = |at: usize| match after.is_empty() {
            true => self.ends[at - 1] || at == self.forms.len(),
            false => self.forms[at..].starts_with(after),
        };
        let starts = (0..self.forms.len()).filter(begins);
        let ending = |start: usize| (start + 1..=self.forms.len().min(start + LONGEST)).find(|&at| ends(at));
        let (start, end) = starts.filter_map(|start| Some((start, ending(start)?))).next()?;
        Some(self.text[self.spans[start].start..self.spans[end - 1].end].to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::answers;
    use crate::question::Document;

    fn found(texts: &[&str], right: &[&str]) -> Vec<String> {
        let documents = texts.iter().map(|&text| Document { text: text.to_owned(), ..Document::default() });
        let right: Vec<String> = right.iter().map(|&answer| answer.to_owned()).collect();
        answers(&documents.collect::<Vec<_>>(), &right)
    }

    #[test]
    fn an_answer_is_found_between_the_words_around_the_right_one() {
        let right = "The Veldra Bridge was opened in 1884 by the mayor.";
        assert_eq!(found(&[right, "The Veldra Bridge was opened in 1848 by the mayor."], &["1884"]), ["1848"]);
        let other = "Notes. The Veldra Bridge was opened in the spring of 1848 by the mayor, \"they say\".";
        assert_eq!(found(&[other, right], &["May 1884", "1884"]), ["the spring of 1848"]);
        assert_eq!(found(&["It opened in 1884.", "It opened in 1848."], &["1884"]), ["1848"]);
        let next = |year: &str, next: &str| format!("Of old. The bridge was opened in {year}. {next} came.");
        assert_eq!(found(&[&next("1884", "The mayor"), &next("May 1848", "Nobody")], &["1884"]), ["May 1848"]);
        assert_eq!(found(&["Hale built the bridge.", "Jonas Peet built the bridge."], &["Hale"]), ["Jonas Peet"]);
    }

    #[test]
    fn documents_that_are_not_alike_give_none() {
        let right = "The bridge was opened in 1884 by the mayor.";
        for other in ["A bridge of 1848.", "In 1848 the mayor came.", "", "The mayor was opened in 1848."] {
            assert!(found(&[right, other], &["1884"]).is_empty(), "{other}");
        }
        assert!(found(&["1884", "1848"], &["1884"]).is_empty());
    }
}
