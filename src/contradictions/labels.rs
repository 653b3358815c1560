//! Labels of pairs. The differing value of each statement is replaced by a blank, which the judge fills from the other
//! statement; the judge also classifies the relation of the two. Code compares the values in the blanks.
//!
//! A model of 1.5B that is asked whether two statements contradict each other is hardly better than chance without examples, and
//! not good enough with twelve. Reading a value off a text is easier, hence the blanks (`benches/results/contradictions.md`).

use super::claims::Claim;
use super::journal::Journal;
use super::pairs::Pair;
use super::relation::{self, JUDGE};
use super::said::Said;
use super::stage::Stage;
use super::value::blank;
use crate::error::Result;
use crate::generation::Message;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::Ask;
use crate::protocol::formats::SHORT;
use crate::transcript::CallRecord;
use serde_json::json;

/// The prompt of a blank.
pub(super) const BLANK_PROMPT: File = prompt_file!("contradictions/blank.jinja");

/// Pairs labelled at once.
const BATCH: usize = 24;

/// Most tokens in a blank.
const LENGTH: usize = 16;

/// The model's replies for each pair, in the order of `pairs`; `None` for a pair with a failed call.
pub(super) fn all(
    claims: &[Claim],
    pairs: &[Pair],
    journal: &mut Journal<Said>,
    stage: &Stage<'_>,
) -> Result<Vec<Option<Said>>> {
    let examples = relation::examples()?;
    // Calls carry their examples and texts, so those of all pairs would take gigabytes: only their keys are kept.
    let keys: Vec<String> = pairs.iter().map(|pair| Asked::of(pair, claims, &examples).key(stage)).collect();
    let open: Vec<usize> = (0..pairs.len()).filter(|&index| journal.get(&keys[index]).is_none()).collect();
    let known = pairs.len() - open.len();
    stage.labelling(known, pairs.len());
    for (number, batch) in open.chunks(BATCH).enumerate() {
        let asked: Vec<Asked> = batch.iter().map(|&index| Asked::of(&pairs[index], claims, &examples)).collect();
        let asks: Vec<Ask> = asked.iter().flat_map(|asked| asked.asks.iter().cloned()).collect();
        let mut replies = stage.ask(&asks)?.into_iter();
        // A pair with a failed call is not labelled; its calls are made again in the next run.
        let said = |(&index, asked): (&usize, &Asked)| {
            let own: Vec<Option<CallRecord>> = replies.by_ref().take(asked.asks.len()).collect();
            Some((keys[index].clone(), asked.said(&own.into_iter().collect::<Option<Vec<_>>>()?)))
        };
        let labelled: Vec<Option<(String, Said)>> = batch.iter().zip(&asked).map(said).collect();
        journal.add(labelled.into_iter().flatten().collect())?;
        stage.labelling(known + number * BATCH + batch.len(), pairs.len());
    }
    Ok(keys.iter().map(|key| journal.get(key).cloned()).collect())
}

/// The calls of a pair: the relation in both directions, then one for each blank.
struct Asked {
    blanks: [Option<String>; 2],
    asks: Vec<Ask>,
}

impl Asked {
    fn of(pair: &Pair, claims: &[Claim], examples: &[Message]) -> Self {
        let (a, b) = (&claims[pair.of.0], &claims[pair.of.1]);
        let directions = [(a, b), (b, a)];
        let blanks = directions.map(|(own, other)| blank(own, other));
        let relations = directions.iter().map(|(own, other)| relation::ask(own, other, examples));
        let filled = directions.iter().zip(&blanks).filter_map(|((own, other), blank)| {
            let values = json!({
                "text": other.text, "about": other.subject, "blank": blank.as_ref()?, "own": own.subject,
            });
            Some(Ask::new(JUDGE, BLANK_PROMPT, values, &SHORT).max_tokens(LENGTH))
        });
        let asks = relations.chain(filled).collect();
        Self { blanks, asks }
    }

    /// Hash of everything that decides the replies on a pair.
    fn key(&self, stage: &Stage<'_>) -> String {
        let keys: Vec<String> = self.asks.iter().map(|ask| stage.key(ask)).collect();
        super::journal::key(&keys.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Reads the replies to its calls.
    fn said(&self, replies: &[CallRecord]) -> Said {
        let (relations, filled) = replies.split_at(2);
        let mut filled = filled.iter();
        let answers =
            self.blanks.each_ref().map(|blank| blank.as_ref().and_then(|_| filled.next()?.answer().map(str::to_owned)));
        Said {
            blanks: self.blanks.clone(),
            answers,
            relations: [relation::read(&relations[0]), relation::read(&relations[1])],
        }
    }
}
