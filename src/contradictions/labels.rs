//! Labels of pairs: each statement becomes a question that the other document answers, and each document is asked whether the
//! other's statement is true. Code compares the answers.
//!
//! Asked whether two statements contradict each other, a model of 1.5B replies hardly better than chance without examples, and not
//! well enough with twelve. It reads an answer off a text, so that is what it is asked for (`benches/results/contradictions.md`).

use super::claims::{Claim, READER};
use super::folder::Folder;
use super::journal::Journal;
use super::pairs::Pair;
use super::said::Said;
use super::stage::Stage;
use super::value::value;
use crate::error::Result;
use crate::generation::Logprobs;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::Ask;
use crate::protocol::formats::{CHOICE, SHORT, TEXT};
use crate::protocol::scored::{TOKENS, TOP, log_odds, probability};
use crate::transcript::{CallRecord, Parsed};
use serde_json::{Value, json};

/// The role that answers questions about pairs.
pub const JUDGE: &str = "judge";

/// Prompts of a question, of its answer and of the examination of a statement.
pub(super) const PAIR_PROMPTS: [File; 3] = [
    prompt_file!("contradictions/question.jinja"),
    prompt_file!("contradictions/answer.jinja"),
    prompt_file!("contradictions/exam.jinja"),
];

const OPTIONS: [&str; 2] = ["yes", "no"];

/// Pairs labelled at once.
const BATCH: usize = 24;

/// The largest log-odds of an examination.
const MOST: f64 = 5.0;

/// Tokens of a question, and of an answer.
const LENGTH: usize = 32;

/// Finished work on pairs.
pub(super) struct Journals {
    pub(super) questions: Journal<String>,
    pub(super) labels: Journal<Said>,
}

/// The model's replies for each pair, in the order of `pairs`; `None` for a pair with a failed call.
pub(super) fn all(
    folder: &Folder,
    claims: &[Claim],
    pairs: &[Pair],
    journals: &mut Journals,
    stage: &Stage<'_>,
) -> Result<Vec<Option<Said>>> {
    let asking = Asking { folder, claims };
    let keys: Vec<String> = pairs.iter().map(|pair| asking.key(pair, stage)).collect();
    let open: Vec<usize> = (0..pairs.len()).filter(|&index| journals.labels.get(&keys[index]).is_none()).collect();
    let known = pairs.len() - open.len();
    stage.labelling(known, pairs.len());
    for (number, batch) in open.chunks(BATCH).enumerate() {
        let batched: Vec<&Pair> = batch.iter().map(|&index| &pairs[index]).collect();
        let said = asking.label(&batched, &mut journals.questions, stage)?;
        let labelled = batch.iter().zip(said).filter_map(|(&index, said)| Some((keys[index].clone(), said?)));
        journals.labels.add(labelled.collect())?;
        stage.labelling((known + number * BATCH + batch.len()).min(pairs.len()), pairs.len());
    }
    Ok(keys.iter().map(|key| journals.labels.get(key).cloned()).collect())
}

struct Asking<'a> {
    folder: &'a Folder,
    claims: &'a [Claim],
}

impl Asking<'_> {
    /// The directions of a pair: whose statement is asked about, and whose document answers.
    fn directions(pair: &Pair) -> [(usize, usize); 2] {
        [(pair.of.0, pair.of.1), (pair.of.1, pair.of.0)]
    }

    /// Hash of everything that decides what is said of a pair.
    fn key(&self, pair: &Pair, stage: &Stage<'_>) -> String {
        let [one, other] = Self::directions(pair);
        let asks = [self.question(one), self.question(other), self.answer(one, ""), self.answer(other, "")];
        let exams = [self.exam(one), self.exam(other)];
        let keys: Vec<String> = asks.iter().chain(&exams).map(|ask| stage.key(ask)).collect();
        super::journal::key(&keys.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn label(&self, pairs: &[&Pair], questions: &mut Journal<String>, stage: &Stage<'_>) -> Result<Vec<Option<Said>>> {
        let directions: Vec<(usize, usize)> = pairs.iter().flat_map(|pair| Self::directions(pair)).collect();
        let asks: Vec<Ask> = directions.iter().map(|&direction| self.question(direction)).collect();
        let keys: Vec<String> = asks.iter().map(|ask| stage.key(ask)).collect();
        let mut open: Vec<usize> = (0..asks.len()).filter(|&index| questions.get(&keys[index]).is_none()).collect();
        open.sort_by(|a, b| keys[*a].cmp(&keys[*b]));
        open.dedup_by(|a, b| keys[*a] == keys[*b]);
        open.sort_unstable();
        let asked: Vec<Ask> = open.iter().map(|&index| asks[index].clone()).collect();
        let replies = stage.ask(&asked)?;
        let written = replies.into_iter().zip(&open).filter_map(|(reply, &index)| match reply?.parsed {
            Parsed::Text(text) => Some((keys[index].clone(), text.lines().next().unwrap_or_default().to_owned())),
            _ => None,
        });
        questions.add(written.collect())?;
        // A pair of which a question is missing is not labelled: its call is made again in the next run.
        let question = |at: usize| questions.get(&keys[at]).map(String::as_str);
        let both: Vec<Option<[&str; 2]>> =
            (0..pairs.len()).map(|pair| Some([question(2 * pair)?, question(2 * pair + 1)?])).collect();
        let seconds: Vec<Ask> = pairs
            .iter()
            .zip(&both)
            .filter_map(|(pair, questions)| Some((Self::directions(pair), (*questions)?)))
            .flat_map(|(directions, questions)| {
                let asks = |(direction, question)| [self.answer(direction, question), self.exam(direction)];
                directions.into_iter().zip(questions).flat_map(asks)
            })
            .collect();
        let replies = stage.ask(&seconds)?;
        let mut replies = replies.chunks_exact(4);
        Ok(both.into_iter().map(|questions| said(questions?, replies.next()?)).collect())
    }

    /// A claim with what stands beside it.
    fn shown(&self, claim: usize) -> Value {
        let claim = &self.claims[claim];
        let source = &self.folder.sources[claim.source()];
        json!({
            "title": source.name(),
            "date": source.date,
            "heading": claim.heading,
            "before": claim.before,
            "text": claim.text,
            "after": claim.after,
            "subject": claim.subject,
        })
    }

    fn with(&self, claim: usize, more: &[(&str, Value)]) -> Value {
        let mut values = self.shown(claim);
        more.iter().for_each(|(name, value)| values[*name] = value.clone());
        values
    }

    /// The question that the first claim answers: about the value by which it differs from the second.
    fn question(&self, (own, other): (usize, usize)) -> Ask {
        let value = value(&self.claims[own], &self.claims[other]);
        Ask::new(READER, PAIR_PROMPTS[0], self.with(own, &[("value", json!(value))]), &TEXT).max_tokens(LENGTH)
    }

    /// What the second claim's document answers to it.
    fn answer(&self, (_, other): (usize, usize), question: &str) -> Ask {
        let values = self.with(other, &[("question", json!(question))]);
        Ask::new(JUDGE, PAIR_PROMPTS[1], values, &SHORT).max_tokens(LENGTH)
    }

    /// Whether the first claim is true according to the second's document.
    fn exam(&self, (own, other): (usize, usize)) -> Ask {
        let values = self.with(other, &[("statement", json!(self.claims[own].text)), ("asked", json!("true"))]);
        Ask::new(JUDGE, PAIR_PROMPTS[2], values, &CHOICE)
            .options(OPTIONS)
            .max_tokens(TOKENS)
            .logprobs(Logprobs { top: TOP, ..Logprobs::default() })
    }
}

/// What was said in reply to the four calls after a pair's questions; `None` where one failed.
fn said(questions: [&str; 2], replies: &[Option<CallRecord>]) -> Option<Said> {
    let replies = replies.iter().map(Option::as_ref).collect::<Option<Vec<_>>>()?;
    let answer = |at: usize| replies[2 * at].answer().map(str::to_owned);
    let truth = |at: usize| log_odds(probability(replies[2 * at + 1], OPTIONS), MOST);
    Some(Said {
        questions: questions.map(str::to_owned),
        answers: [answer(0), answer(1)],
        truth: (truth(0) + truth(1)) / 2.0,
    })
}
