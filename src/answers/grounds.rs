//! Whether documents hold an answer, and whether a prompt's worked example gives it.
//!
//! No paper asks for it. Small models take their answer from the worked example of their prompt or from a document's title, and
//! make up years. `settle` marks and refuses answers by it.

use crate::answers::unknown::is_unknown;
use crate::answers::words::numbers::{LoneOne, in_digits};
use crate::answers::words::{Level, Words};
use crate::dates;
use crate::question::{Answer, Document, Mark};
use crate::unicode;
use std::collections::HashSet;

/// Answers that documents need not hold: yes and no, and the options of a multiple-choice question.
#[must_use]
pub(crate) fn is_choice(answer: &str, options: &[String]) -> bool {
    let words = Level::Voted.normalised(answer);
    ["yes", "no", "true", "false"].contains(&words.as_str())
        || options.iter().any(|option| Level::Voted.equal(option, answer))
}

/// The content of documents: the words and the dates of their texts, and their own dates. Titles and sources are
/// labels: an answer that only they have is not a statement of a document.
#[derive(Debug, Default)]
pub struct Held {
    /// The words of each document, in order.
    words: Vec<Words>,
    /// The words of titles and sources.
    labels: Vec<Words>,
    /// Each document in folded case, for scripts without spaces.
    folded: Vec<String>,
    all: HashSet<String>,
    dates: Vec<dates::Date>,
    /// Each document has an agent that answers for it.
    agents: bool,
}

impl Held {
    /// Of these documents; `agents` says whether each has an agent that answers for it.
    #[must_use]
    pub fn of<'a>(documents: impl IntoIterator<Item = &'a Document>, agents: bool) -> Self {
        let mut held = Self { agents, ..Self::default() };
        for document in documents {
            let date = document.date.iter().map(String::as_str);
            let whole = std::iter::once(own_text(document)).chain(date).collect::<Vec<_>>().join("\n");
            let words = Level::Assessed.words(&whole);
            held.add_words(&words);
            let labels = [&document.title, &document.source].into_iter().flatten();
            held.labels.extend(labels.map(|label| Level::Assessed.words(label)));
            held.dates.extend(dates::found_in(&whole));
            held.words.push(words);
            held.folded.push(unicode::folded(&whole).into_owned());
        }
        held
    }

    /// With the words of the question, which an answer may say again.
    #[must_use]
    pub fn asked(mut self, question: &str) -> Self {
        self.add_words(&Level::Assessed.words(question));
        self
    }

    /// Adds words, and the numbers that they spell.
    fn add_words(&mut self, words: &Words) {
        let words: Vec<&str> = words.iter().collect();
        self.all.extend(in_digits(&words, LoneOne::Always));
        self.all.extend(words.into_iter().map(str::to_owned));
    }

    /// A document's title or source has the answer's words next to each other.
    pub(crate) fn is_labelled(&self, answer: &str) -> bool {
        let words = Level::Assessed.words(answer);
        self.labels.iter().any(|label| words.within(label))
    }

    /// A document has the answer's words next to each other, or the answer is a date that a document gives, in this precision or
    /// a better one.
    #[must_use]
    pub fn holds(&self, answer: &str) -> bool {
        let words = Level::Assessed.words(answer);
        // CJK scripts begin here. They have no spaces: an answer may be a part of what `words` takes for one word.
        let spaceless = answer.chars().any(|c| c >= '\u{2e80}').then(|| unicode::folded(answer.trim()));
        self.words.iter().any(|document| words.within(document))
            || dates::read(answer)
                .iter()
                .any(|date| self.dates.iter().any(|known| known == date || date.is_part_of(known)))
            || spaceless.is_some_and(|answer| self.folded.iter().any(|document| document.contains(&*answer)))
    }

    /// The documents together have every number of the answer, and two thirds of its other words; short words do not count, and
    /// endings may differ.
    #[must_use]
    pub fn grounds(&self, answer: &str) -> bool {
        if self.holds(answer) {
            return true;
        }
        // Compared word by word, the numbers of a date would be found in other dates.
        if !dates::read(answer).is_empty() {
            return false;
        }
        let words = in_digits(&Level::Assessed.words(answer).iter().collect::<Vec<_>>(), LoneOne::First);
        let (numbers, words): (Vec<&String>, Vec<&String>) =
            words.iter().partition(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let telling: Vec<&String> = words.into_iter().filter(|word| word.chars().count() > SHORT).collect();
        let found = telling.iter().filter(|word| self.has_word(word)).count();
        numbers.iter().all(|number| self.all.contains(*number)) && found * 3 >= telling.len() * 2
    }

    fn has_word(&self, word: &str) -> bool {
        self.all.contains(word) || self.all.iter().any(|known| differ_in_ending(known, word))
    }

    /// The marks of an answer; `choice` says that its words need not occur in a document. Empty without documents.
    #[must_use]
    pub fn marks(&self, answer: &Answer, choice: bool) -> Vec<Mark> {
        let alone = self.agents && answer.supporters.is_empty() && answer.mentions.is_empty();
        let invented = !choice && !self.grounds(&answer.text);
        let marks = [(alone, Mark::NoSupporter), (invented, Mark::NotInDocuments)];
        marks.into_iter().filter(|(applies, _)| *applies && !self.words.is_empty()).map(|(_, mark)| mark).collect()
    }
}

/// Characters of words that do not count ("of", "his").
const SHORT: usize = 3;

/// The text of a document without the title that [`documents`](crate::retrieval::documents()) puts before a passage's text.
fn own_text(document: &Document) -> &str {
    let (text, title) = (document.text.as_str(), document.title.as_deref().filter(|_| document.origin.is_some()));
    title.and_then(|title| text.strip_prefix(title)?.strip_prefix('\n')).unwrap_or(text)
}

/// The words are the same but for up to three letters at the end, after four that they share: "opened", "opening".
fn differ_in_ending(a: &str, b: &str) -> bool {
    const ENDING: usize = 3;
    const SHARED: usize = 4;
    let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let longest = a.chars().count().max(b.chars().count());
    shared >= SHARED && longest - shared <= ENDING
}

/// The worked example of a prompt.
#[derive(Debug, Default)]
pub(crate) struct Example {
    /// The words of each answer in it.
    answers: Vec<Words>,
    /// All its words, between [`OPENS`] and [`CLOSES`]. Empty for prompts with several examples, whose text would match too many
    /// answers.
    words: Words,
}

/// The lines around a worked example.
const OPENS: &str = "Here is an example.";
const CLOSES: &str = "Now do the same";

/// The markers before an answer, in a worked example and in its candidates.
const BEFORE: [&str; 5] = ["nswer: ", "nswer is: ", "Reply: ", "nswers: ", "answer=\""];

impl Example {
    /// The worked example of a prompt's file; of several the answers. Placeholders in braces are no answers.
    pub(crate) fn of(file: &str) -> Self {
        let words = file.split_once(OPENS).map(|(_, after)| after.split(CLOSES).next().unwrap_or_default());
        let mut answers = Vec::new();
        for line in file.lines().filter(|line| !line.contains('{')) {
            for before in BEFORE {
                line.match_indices(before).for_each(|(at, _)| answers.extend(given(&line[at + before.len()..])));
            }
            if let Some((_, said)) = line.strip_prefix("Candidate ").and_then(|rest| rest.split_once(": ")) {
                answers.extend(given(said));
            }
        }
        let mut answers: Vec<Words> = answers
            .into_iter()
            .filter(|answer| !is_unknown(answer))
            .map(|answer| Level::Assessed.words(answer))
            .collect();
        answers.retain(|answer| !answer.is_empty());
        Self { answers, words: words.map(|words| Level::Assessed.words(words)).unwrap_or_default() }
    }

    /// The words are an answer of the example, or several words of it.
    pub(crate) fn gives(&self, words: &Words) -> bool {
        self.answers.iter().any(|answer| answer == words) || words.len() > 1 && words.within(&self.words)
    }
}

/// The answer is one that the worked example of a prompt's file gives, or several words next to each other of that example.
#[must_use]
pub fn is_of_worked_example(file: &str, answer: &str) -> bool {
    Example::of(file).gives(&Level::Assessed.words(answer))
}

/// The answers at the beginning of `text`: a JSON list, or what comes before the end of its sentence.
fn given(text: &str) -> Vec<&str> {
    if let Some((list, _)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return list.split("\", \"").collect();
    }
    vec![text.split(". ").next().unwrap_or_default()]
}
