//! Spans of documents that a page marks: the words of answers, and what agents and labels quote.

use crate::escape;
use crate::question::Conclusion;
use crate::transcript::QuestionRecord;
use crate::unicode;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;

/// Characters of a quotation at least: a shorter one is a single word, which would be marked all over the text.
const SHORTEST_QUOTE: usize = 8;
/// Most spans of one answer in one document.
const MOST: usize = 20;

/// A document's text for searching: characters, and the same folded, one for one.
struct Text {
    characters: Vec<char>,
    folded: Vec<char>,
}

/// The character that `c` is compared as: folded where that is one character.
fn fold(c: char) -> char {
    if c.is_whitespace() {
        return ' ';
    }
    let mut bytes = [0; 4];
    let folded = unicode::unmarked(c.encode_utf8(&mut bytes));
    let mut characters = folded.chars();
    characters.next().filter(|_| characters.next().is_none()).unwrap_or(c)
}

impl Text {
    fn new(text: &str) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let folded = characters.iter().map(|&c| fold(c)).collect();
        Self { characters, folded }
    }

    /// Where `words` occur as whole words, whatever their case.
    fn occurrences(&self, words: &str) -> Vec<Range<usize>> {
        let wanted: Vec<char> = words.trim().chars().map(fold).collect();
        let mut found = Vec::new();
        if wanted.is_empty() || wanted.len() > self.folded.len() {
            return found;
        }
        let part_of_word =
            |at: Option<usize>| at.and_then(|at| self.folded.get(at)).is_some_and(|c| c.is_alphanumeric());
        let mut at = 0;
        while at + wanted.len() <= self.folded.len() && found.len() < MOST {
            let end = at + wanted.len();
            let whole = || !part_of_word(at.checked_sub(1)) && !part_of_word(Some(end));
            if self.folded[at..end] == wanted[..] && whole() {
                found.push(at..end);
                at = end;
            } else {
                at += 1;
            }
        }
        found
    }

    /// Offsets in UTF-16 units of the text as the page has it, which lacks what cannot be seen.
    fn shown(&self, range: &Range<usize>) -> [usize; 2] {
        let until = |end: usize| {
            let before: String = self.characters[..end.min(self.characters.len())].iter().collect();
            escape::lines(&before).encode_utf16().count()
        };
        [until(range.start), until(range.end)]
    }
}

/// Spans by document number: `[start, end, kind]` in UTF-16 units of the text as shown. Kinds: "answer" (words of a
/// concluded answer), "other" (of one not concluded), "quote" (words between quotation marks in a reply about this document).
pub(super) fn of(record: &QuestionRecord) -> BTreeMap<usize, Vec<Value>> {
    let empty = Conclusion::default();
    let conclusion = record.conclusion.as_ref().unwrap_or(&empty);
    let count = record.question.documents.len() + record.retrieved.len();
    let mut marks = BTreeMap::new();
    for number in 0..count {
        let Some(document) = record.document(number) else { continue };
        let text = Text::new(&document.text);
        let mut spans: Vec<(Range<usize>, &str)> = Vec::new();
        for (kind, answers) in [("answer", &conclusion.answers), ("other", &conclusion.rejected)] {
            for answer in answers {
                spans.extend(text.occurrences(&answer.text).into_iter().map(|range| (range, kind)));
            }
        }
        let about = record.calls.iter().filter(|call| call.document.is_none_or(|document| document == number));
        for call in about {
            for quotation in quotations(&call.reply) {
                spans.extend(text.occurrences(quotation).into_iter().map(|range| (range, "quote")));
            }
        }
        spans.sort_by_key(|(range, kind)| (range.start, range.end, *kind));
        spans.dedup();
        if !spans.is_empty() {
            let shown = spans.iter().map(|(range, kind)| {
                let [start, end] = text.shown(range);
                json!([start, end, kind])
            });
            marks.insert(number, shown.collect());
        }
    }
    marks
}

/// A range of characters of a document as the page counts: UTF-16 units of the text as shown.
pub(super) fn shown(document: &str, range: &Range<usize>) -> [usize; 2] {
    Text::new(document).shown(range)
}

/// The text between double quotation marks, straight or curved.
fn quotations(reply: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = reply;
    while let Some(at) = rest.find(['"', '“']) {
        let Some(open) = rest[at..].chars().next() else { break };
        let inside = &rest[at + open.len_utf8()..];
        let Some(end) = inside.find(if open == '"' { '"' } else { '”' }) else { break };
        let quotation = inside[..end].trim();
        if quotation.chars().count() >= SHORTEST_QUOTE {
            found.push(quotation);
        }
        rest = inside[end..].strip_prefix(['"', '”']).unwrap_or(&inside[end..]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Text, quotations, shown};

    #[test]
    fn words_are_found_whole_and_in_any_case() {
        let text = Text::new("Opened in 1889; the 18890 did not. It OPENED\nIN 1889");
        assert_eq!(text.occurrences("1889"), [10..14, 48..52]);
        assert_eq!(text.occurrences(" opened in 1889 "), [0..14, 38..52]);
        assert!(
            text.occurrences("").is_empty()
                && text.occurrences("1889 and more than the text has in it, by far and wide").is_empty()
        );
    }

    #[test]
    fn offsets_are_those_of_the_text_as_shown() {
        // A zero-width space is left out, an emoji is two units, a bidi control one space.
        let text = "\u{200b}a\u{1f600}\u{202e}bc";
        assert_eq!(shown(text, &(4..6)), [4, 6]);
        assert_eq!(shown(text, &(0..99)), [0, 6]);
    }

    #[test]
    fn quotations_of_both_kinds_are_found() {
        let reply = "It says \"opened in 1889\" and “closed in 1901”, but \"no\" and \"an open end";
        assert_eq!(quotations(reply), ["opened in 1889", "closed in 1901"]);
    }
}
