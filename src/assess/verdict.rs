//! The conclusion of a debate for readers: answers with the documents for and against each, what agrees at less
//! precision, who withdrew, which answers were given up, and how often each answer was given.
//!
//! A function of a record, old ones included: supporters and opponents are matched again by [`equality`], and marks are made
//! again.

use crate::answers::equality::{self, Likeness};
use crate::answers::grounds::{Held, is_choice};
use crate::answers::words::Level;
use crate::question::{Answer, Conclusion, Document, Estimate, Mark};
use crate::retrieval::chunk::sentences::sentences;
use crate::transcript::{CallRecord, Parsed, QuestionRecord};
use std::collections::BTreeMap;

/// The verdict of one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The concluded answers; dates that agree are one answer.
    pub answers: Vec<Stand>,
    /// Answers of agents that were not concluded.
    pub rejected: Vec<Stand>,
    /// Concluded answers that were refused ([`Conclusion::refused`]).
    pub refused: Vec<String>,
    /// Each answer that agents gave last with its number of agents, most first; then those that gave none.
    pub tally: Vec<(String, usize)>,
    /// Agents that had an answer and ended without one.
    pub withdrawn: Vec<Withdrawal>,
    /// Answers of earlier rounds that no agent holds at the end and that the conclusion does not name.
    pub given_up: Vec<GivenUp>,
    /// Documents whose agents never had an answer.
    pub silent: Vec<usize>,
    /// Documents whose agents' last reply does not keep its format.
    pub malformed: Vec<usize>,
}

/// An answer with the documents for and against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stand {
    /// The most precise form of it.
    pub text: String,
    /// Other concluded forms of it, less precise.
    pub also: Vec<String>,
    /// Documents for it.
    pub supporters: Vec<Voice>,
    /// Documents against it.
    pub opponents: Vec<Voice>,
    /// Documents that mention it, where no agent spoke for them.
    pub mentions: Vec<usize>,
    /// Its missing support in the documents.
    pub marks: Vec<Mark>,
    /// Its probability, where the method estimates it.
    pub estimate: Option<Estimate>,
}

/// A document with what its agent said last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voice {
    /// The document's number, from 0.
    pub document: usize,
    /// Of a supporter the other precision in which it gives the answer; of an opponent its own answer.
    pub said: Option<String>,
}

/// An answer that its agent took back: later it had none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withdrawal {
    /// The document's number, from 0.
    pub document: usize,
    /// The last answer it gave.
    pub said: String,
    /// The last round in which it gave it.
    pub round: usize,
}

/// An answer that agents gave in an earlier round and changed to another one. No agent gave it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    /// As the first of them gave it.
    pub said: String,
    /// The numbers of their documents, from 0.
    pub documents: Vec<usize>,
    /// Their last answer; `None` for a malformed reply, or none after another answer.
    pub now: Option<String>,
}

impl Verdict {
    /// The verdict of `record`; `None` without a conclusion.
    #[must_use]
    pub fn of(record: &QuestionRecord) -> Option<Self> {
        let conclusion = record.conclusion.as_ref()?;
        let agents = Agents::of(&record.calls);
        let documents = || record.question.documents.iter().chain(&record.retrieved);
        // Calls that label claims speak for documents too, but give no answers: no document is an agent there.
        let answered = record.calls.iter().any(|call| matches!(call.parsed, Parsed::Answer { .. }));
        let held = Held::of(documents(), answered && !agents.last.is_empty()).asked(&record.question.text);
        let stands = |answers: &[Answer]| stands(answers, conclusion, &agents, &held, &record.question.options);
        Some(Self {
            answers: stands(&conclusion.answers),
            // Marks are of concluded answers alone, as in the record.
            rejected: stands(&conclusion.rejected)
                .into_iter()
                .map(|stand| Stand { marks: Vec::new(), ..stand })
                .collect(),
            refused: conclusion.refused.clone(),
            tally: agents.tally(),
            withdrawn: agents.withdrawn(),
            given_up: agents.given_up(conclusion),
            silent: agents.silent(),
            malformed: agents.last_where(|call| call.parsed == Parsed::Malformed),
        })
    }
}

/// The answers of a list, those that are one date together.
fn stands(
    answers: &[Answer],
    conclusion: &Conclusion,
    agents: &Agents<'_>,
    held: &Held,
    options: &[String],
) -> Vec<Stand> {
    let texts: Vec<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
    // An answer without words is a class of its own.
    let mut firsts = equality::distinct(texts.iter().copied());
    firsts.extend(texts.iter().filter(|text| Level::Assessed.words(text).is_empty()));
    let of = |first: &&str| -> Vec<&Answer> {
        let joins = |answer: &&Answer| {
            firsts.iter().find(|other| equality::like(other, &answer.text) || **other == answer.text) == Some(first)
        };
        answers.iter().filter(joins).collect()
    };
    firsts.iter().map(|first| stand(first, &of(first), conclusion, agents, held, options)).collect()
}

fn stand(
    first: &str,
    joined: &[&Answer],
    conclusion: &Conclusion,
    agents: &Agents<'_>,
    held: &Held,
    options: &[String],
) -> Stand {
    let numbers = |of: fn(&Answer) -> &Vec<usize>| -> Vec<usize> {
        let mut numbers: Vec<usize> = joined.iter().flat_map(|answer| of(answer)).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let agrees = |&number: &usize| agents.answer(number).is_some_and(|said| equality::agree(said, first));
    // An agent whose answer agrees with this one counts for it, also where the conclusion lists it against this wording.
    let (agreeing, opponents): (Vec<usize>, Vec<usize>) =
        numbers(|answer| &answer.opponents).into_iter().partition(agrees);
    let mut supporters = numbers(|answer| &answer.supporters);
    supporters.extend(agreeing);
    supporters.sort_unstable();
    supporters.dedup();
    let text = equality::most_precise(first, supporters.iter().filter_map(|&number| agents.answer(number)));
    let otherwise = |number: usize| {
        let said = agents.answer(number)?;
        matches!(equality::likeness(said, text), Likeness::LessPrecise | Likeness::MorePrecise).then(|| said.to_owned())
    };
    let mentions = numbers(|answer| &answer.mentions);
    let whole = Answer { supporters: supporters.clone(), mentions: mentions.clone(), ..Answer::new(text) };
    let also = joined.iter().map(|answer| answer.text.as_str()).filter(|other| *other != text);
    let estimates = joined.iter().filter_map(|answer| answer.estimate.as_ref());
    let best = estimates.reduce(|best, other| if other.probability > best.probability { other } else { best });
    Stand {
        estimate: best.cloned(),
        marks: held.marks(&whole, is_choice(text, options)),
        also: also.map(str::to_owned).collect(),
        supporters: supporters.into_iter().map(|document| Voice { document, said: otherwise(document) }).collect(),
        opponents: opponents
            .into_iter()
            // A document may support one form of a joined answer and oppose another: it is for the answer.
            .filter(|number| !whole.supporters.contains(number))
            .map(|document| Voice {
                document,
                // A source answers by a call for its first document; its others have the conclusion's view alone.
                said: view(conclusion, document).or(agents.answer(document)).map(str::to_owned),
            })
            .collect(),
        mentions,
        text: text.to_owned(),
    }
}

/// The first answer that a document supports.
fn view(conclusion: &Conclusion, number: usize) -> Option<&str> {
    let stands = |answer: &&Answer| answer.supporters.contains(&number);
    conclusion.answers.iter().chain(&conclusion.rejected).find(stands).map(|answer| answer.text.as_str())
}

/// The replies of each document's agent.
struct Agents<'a> {
    /// All calls that speak for a document, in the order asked.
    calls: Vec<(usize, &'a CallRecord)>,
    /// The last call of each.
    last: BTreeMap<usize, &'a CallRecord>,
    /// The last answer of each, with its round.
    answers: BTreeMap<usize, (&'a str, usize)>,
}

impl<'a> Agents<'a> {
    fn of(calls: &'a [CallRecord]) -> Self {
        let of_documents = || calls.iter().filter_map(|call| Some((call.document?, call)));
        let given = of_documents().filter_map(|(document, call)| Some((document, (call.answer()?, call.round))));
        Self { calls: of_documents().collect(), last: of_documents().collect(), answers: given.collect() }
    }

    /// The answer that a document's agent gave last; none where its last reply has none.
    fn answer(&self, document: usize) -> Option<&'a str> {
        self.last.get(&document)?.answer()
    }

    fn last_where(&self, keep: impl Fn(&CallRecord) -> bool) -> Vec<usize> {
        self.last.iter().filter(|(_, call)| keep(call)).map(|(&document, _)| document).collect()
    }

    /// Documents whose agents end without an answer.
    fn unknowing(&self) -> Vec<usize> {
        self.last_where(|call| matches!(call.parsed, Parsed::Answer { answer: None, .. }))
    }

    fn silent(&self) -> Vec<usize> {
        self.unknowing().into_iter().filter(|document| !self.answers.contains_key(document)).collect()
    }

    fn withdrawn(&self) -> Vec<Withdrawal> {
        let of = |document: usize| {
            let (said, round) = self.answers.get(&document)?;
            Some(Withdrawal { document, said: (*said).to_owned(), round: *round })
        };
        self.unknowing().into_iter().filter_map(of).collect()
    }

    /// Answers of earlier rounds that neither an agent's last reply nor the conclusion has. One that its agent took back, and
    /// had no other after, is a withdrawal.
    fn given_up(&self, conclusion: &Conclusion) -> Vec<GivenUp> {
        let last = self.last.keys().filter_map(|&document| self.answer(document));
        let listed = conclusion.answers.iter().chain(&conclusion.rejected).map(|answer| answer.text.as_str());
        let kept: Vec<&str> = last.chain(listed).chain(conclusion.refused.iter().map(String::as_str)).collect();
        let withdrawn = self.withdrawn();
        let mut given_up: Vec<GivenUp> = Vec::new();
        for &(document, call) in &self.calls {
            let Some(said) = call.answer().filter(|said| !kept.iter().any(|kept| equality::agree(kept, said))) else {
                continue;
            };
            // A later call of another role about the document, as an examiner's, takes no answer back.
            let same = |other: &&CallRecord| other.role == call.role && other.round > call.round;
            let Some(last) = self.last.get(&document).copied().filter(same) else { continue };
            if withdrawn.iter().any(|other| other.document == document && equality::like(&other.said, said)) {
                continue;
            }
            let now = last.answer().map(str::to_owned);
            match given_up.iter_mut().find(|known| equality::like(&known.said, said) && known.now == now) {
                Some(known) if known.documents.contains(&document) => {}
                Some(known) => known.documents.push(document),
                None => given_up.push(GivenUp { said: said.to_owned(), documents: vec![document], now }),
            }
        }
        given_up.iter_mut().for_each(|answer| answer.documents.sort_unstable());
        given_up
    }

    fn tally(&self) -> Vec<(String, usize)> {
        let given: Vec<&str> = self.last.keys().filter_map(|&document| self.answer(document)).collect();
        let mut tally: Vec<(String, usize)> =
            equality::distinct(given.iter().copied()).iter().map(|answer| ((*answer).to_owned(), 0)).collect();
        for answer in given {
            if let Some((_, count)) = tally.iter_mut().find(|(known, _)| equality::like(known, answer)) {
                *count += 1;
            }
        }
        tally.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let malformed = self.last_where(|call| call.parsed == Parsed::Malformed).len();
        let without = [("unknown", self.unknowing().len()), ("malformed", malformed)];
        tally.extend(without.into_iter().filter(|(_, count)| *count > 0).map(|(what, count)| (what.to_owned(), count)));
        tally
    }
}

/// The sentence of a document that shows an answer: of those that hold the answer's words, or its date, the one that
/// shares most words with `question`. In the document's own characters.
#[must_use]
pub fn quoted<'a>(document: &'a Document, answer: &str, question: &str) -> Option<&'a str> {
    let asked = Level::Assessed.words(question);
    let shares = |sentence: &str| Level::Assessed.words(sentence).iter().filter(|word| asked.has(word)).count();
    let holds = |sentence: &&str| {
        let alone = Document { text: (*sentence).to_owned(), ..Document::default() };
        Held::of([&alone], false).holds(answer)
    };
    // From the last to the first, since of equals `max_by_key` takes the last.
    let all = sentences(&document.text).into_iter().rev().map(|range| &document.text[range]);
    all.filter(holds).max_by_key(|sentence| shares(sentence))
}
