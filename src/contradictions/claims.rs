//! Claims: sentences that can be understood alone, because the reader has named the referents of their pronouns.

use super::folder::{Folder, Sentence};
use super::journal::{Journal, key};
use super::quantities::Numbers;
use super::stage::Stage;
use super::words::{Words, stem};
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::Ask;
use crate::protocol::formats::SUBJECTS;
use crate::question::Origin;
use crate::transcript::Parsed;
use serde_json::json;
use std::collections::{BTreeSet, HashMap};

/// The role that names the referents of pronouns.
pub const READER: &str = "reader";

/// Its prompt.
pub(super) const SUBJECTS_PROMPT: File = prompt_file!("contradictions/subjects.jinja");

/// Passages read at once.
const BATCH: usize = 24;

/// Tokens of a reply for one sentence.
const TOKENS: usize = 20;

/// A statement of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Claim {
    /// Its document and its position; further ones where other documents have the same sentence.
    pub(super) stated: Vec<(usize, Origin)>,
    /// The sentence, verbatim on one line.
    pub(super) text: String,
    /// The referent of the pronoun it begins with, in words of its document; else empty.
    pub(super) subject: String,
    pub(super) heading: String,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) words: Words,
    pub(super) numbers: Numbers,
    /// Stems of its subject; without one, of the sentence's words before its verb ([`Words::head`]).
    pub(super) head: BTreeSet<String>,
    /// Stems of its sentence, its subject and its headings.
    pub(super) known: BTreeSet<String>,
    /// Names of its subject and its headings, in lower case.
    pub(super) about: BTreeSet<String>,
    /// Years in its headings, its document's title and the file's name: it holds for these years.
    pub(super) years: BTreeSet<u32>,
}

impl Claim {
    /// Its first document.
    pub(super) fn source(&self) -> usize {
        self.stated[0].0
    }

    /// Whether this name, in lower case, is one of its sentence, its subject or its headings.
    pub(super) fn names(&self, name: &str) -> bool {
        self.words.names.contains(name) || self.about.contains(name)
    }

    /// Whether it has this name, or the word in lower case in its sentence.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.names(name) || self.words.content.contains(&stem(name))
    }

    /// A claim of this text, without document and headings.
    #[cfg(test)]
    pub(super) fn of_text(text: &str) -> Self {
        let words = Words::of(text);
        let (head, known) = (words.head(), words.content.clone());
        Self { text: text.to_owned(), head, known, numbers: Numbers::of(text), words, ..Self::default() }
    }

    /// The text that is embedded: the sentence, after its subject where the sentence does not name it.
    pub(super) fn alone(&self) -> String {
        if self.text.to_lowercase().contains(&self.subject.to_lowercase()) {
            self.text.clone()
        } else {
            format!("{}: {}", self.subject, self.text)
        }
    }
}

/// Pronouns, in lower case.
const PRONOUNS: [&str; 12] =
    ["it", "its", "he", "she", "they", "his", "her", "their", "this", "these", "those", "both"];

/// Most words of a subject.
const LONGEST: usize = 6;

/// The claims of all sentences. For a sentence that begins with a pronoun, the reader names the referent.
pub(super) fn read(folder: &Folder, journal: &mut Journal<Vec<String>>, stage: &Stage<'_>) -> Result<Vec<Claim>> {
    let passages = folder.by_passage();
    let open: Vec<usize> = (0..passages.len()).filter(|&index| !wanted(passages[index]).is_empty()).collect();
    let asks: Vec<Ask> = open.iter().map(|&index| ask(folder, passages[index])).collect();
    let keys: Vec<String> = asks.iter().map(|ask| stage.key(ask)).collect();
    let unknown: Vec<usize> = (0..asks.len()).filter(|&index| journal.get(&keys[index]).is_none()).collect();
    let known = asks.len() - unknown.len();
    stage.reading(known, asks.len());
    for (number, batch) in unknown.chunks(BATCH).enumerate() {
        let asked: Vec<Ask> = batch.iter().map(|&index| asks[index].clone()).collect();
        let replies = stage.ask(&asked)?;
        // A malformed reply gives no subjects; a failed call is made again in the next run.
        let subjects = batch.iter().zip(replies).filter_map(|(&index, reply)| match reply?.parsed {
            Parsed::Answers { answers, .. } => Some((keys[index].clone(), answers)),
            _ => Some((keys[index].clone(), Vec::new())),
        });
        journal.add(subjects.collect())?;
        stage.reading(known + number * BATCH + batch.len(), asks.len());
    }
    let mut claims = Claims::default();
    let mut named = open.iter().zip(&keys).peekable();
    for (index, sentences) in passages.iter().enumerate() {
        let subjects = named.next_if(|(open, _)| **open == index).and_then(|(_, key)| journal.get(key));
        let numbers = wanted(sentences);
        for (at, sentence) in sentences.iter().enumerate() {
            let asked = numbers.iter().position(|number| *number == at + 1);
            let subject = asked.and_then(|asked| subjects?.get(asked));
            claims.add(folder, sentence, subject.map_or("", String::as_str));
        }
    }
    Ok(claims.all)
}

/// The sentences of a passage that begin with a pronoun, numbered from 1.
fn wanted(sentences: &[Sentence]) -> Vec<usize> {
    let begins = |sentence: &Sentence| {
        let first = sentence.text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        first.is_some_and(|word| PRONOUNS.contains(&word.to_lowercase().as_str()))
    };
    (1..).zip(sentences).filter(|(_, sentence)| begins(sentence)).map(|(number, _)| number).collect()
}

fn ask(folder: &Folder, sentences: &[Sentence]) -> Ask {
    let source = &folder.sources[sentences[0].source];
    let heading = &sentences[0].heading;
    let title = source.name();
    let texts: Vec<&str> = sentences.iter().map(|sentence| sentence.text.as_str()).collect();
    let before = &sentences[0].before;
    let text = format!("{title}. {heading}. {before} {}", texts.join(" "));
    let numbers = wanted(sentences);
    let tokens = TOKENS * numbers.len();
    let values = json!({ "title": title, "heading": heading, "sentences": texts, "wanted": numbers });
    Ask::new(READER, SUBJECTS_PROMPT, values, &SUBJECTS)
        .format_values(json!({ "numbers": numbers, "text": text }))
        .max_tokens(tokens)
}

/// Claims, each once.
#[derive(Default)]
struct Claims {
    all: Vec<Claim>,
    known: HashMap<String, usize>,
}

impl Claims {
    fn add(&mut self, folder: &Folder, sentence: &Sentence, subject: &str) {
        let stated = (sentence.source, sentence.origin.clone());
        let subject = subject.trim().trim_end_matches(['.', ',', ':', ';']);
        let is_name = subject.chars().any(char::is_alphabetic) && subject.split_whitespace().count() <= LONGEST;
        let subject = if is_name { subject } else { "" };
        // With the heading: equal rows of two tables state different things.
        let same = key(&[&sentence.text.to_lowercase(), &subject.to_lowercase(), &sentence.heading.to_lowercase()]);
        if let Some(&index) = self.known.get(&same) {
            // A document that repeats a sentence is one source of it.
            if self.all[index].stated.iter().all(|(source, _)| *source != sentence.source) {
                self.all[index].stated.push(stated);
            }
            return;
        }
        self.known.insert(same, self.all.len());
        let source = &folder.sources[sentence.source];
        let title = source.title.as_deref().unwrap_or_default();
        // `Words` takes no capital at the beginning of a text for a name; behind the `x` each part's first word counts.
        let above = format!("x {subject} x {} x {title}", sentence.heading);
        let (words, over) = (Words::of(&sentence.text), Words::of(&above));
        let head = if subject.is_empty() { words.head() } else { Words::of(subject).content };
        let dates = Numbers::of(&format!("{} ; {title} ; {}", sentence.heading, source.stem())).dates;
        self.all.push(Claim {
            stated: vec![stated],
            text: sentence.text.clone(),
            subject: subject.to_owned(),
            heading: sentence.heading.clone(),
            before: sentence.before.clone(),
            after: sentence.after.clone(),
            head,
            known: words.content.union(&over.content).cloned().collect(),
            words,
            numbers: Numbers::of(&sentence.text),
            about: over.names,
            years: dates.iter().filter_map(|(date, _)| date.year()).collect(),
        });
    }
}
