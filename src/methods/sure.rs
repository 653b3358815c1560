//! SuRe (Kim et al., arXiv 2404.13081): candidate answers, a summary for each, and the candidate whose summary convinces.

use crate::answers::vote;
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{CHOICE, LIST, TEXT};
use crate::protocol::passages::{given_or_found, offered, texts};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use crate::transcript::{CallRecord, Parsed};
use serde_json::json;

const CANDIDATES: File = prompt_file!("sure/candidates.jinja");
const SUMMARY: File = prompt_file!("sure/summary.jinja");
const VALID: File = prompt_file!("sure/valid.jinja");
const RANK: File = prompt_file!("sure/rank.jinja");

/// SuRe's row.
pub(crate) static ROW: Row = Row {
    name: "sure",
    paper: "SuRe: Summarizing Retrievals using Answer Candidates for Open-domain QA of LLMs (arXiv 2404.13081), section 3",
    about: "candidate answers, a summary of the passages for each, the most convincing summary wins",
    protocol: "\
1. The retriever finds `per-query` passages for the question; without a corpus the question's documents are read.
2. The reader gives `candidates` candidate answers.
3. For each, the summariser sums the passages up in support of it.
4. The judge says of each summary whether it supports its candidate (1 or 0), and of each pair, in both orders, which summary
   is more informative (1/2 for the better one each time).
5. The candidate with the highest sum wins; ties go to the one given first. A malformed verdict on a summary counts 0, one on a
   pair 1/4 for both.
Malformed candidates leave no answer. Fallbacks: fewer than two candidates are not ranked; nothing found, an empty summary;
no verdict that can be read (the first candidate wins).",
    calls: "1 + candidates + candidates x candidates, at most (7 by default), with 1 retriever call; 1 with fewer than two",
    headline: "HotpotQA EM 19.00, StrategyQA EM 0.00: Llama-3.1-8B (DRAG, table 1)",
    prompts: &[CANDIDATES, SUMMARY, VALID, RANK],
    formats: &[&LIST, &TEXT, &CHOICE],
    roles: &["reader", "summariser", "judge"],
    switches: &[
        Switch { name: "candidates", about: "candidate answers", kind: Kind::Count(1, 8), default: "2" },
        Switch {
            name: "per-query",
            about: "passages retrieved for the question",
            kind: Kind::Count(1, 100),
            default: "10",
        },
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs::PASSAGES,
    build,
};

/// Tokens of a summary.
const SUMMARY_TOKENS: usize = 160;

struct Sure {
    candidates: usize,
    top: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(Sure { candidates: values.count("candidates"), top: values.count("per-query") }))
}

impl Method for Sure {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let numbers = given_or_found(ctx, question, self.top)?;
        if numbers.is_empty() {
            ctx.fall_back("nothing was found: candidates and summaries were written from memory");
        }
        let passages = texts(ctx, &numbers);
        let (count, options) = (self.candidates, offered(question));
        let values = json!({ "question": question.text, "passages": passages, "count": count, "options": options });
        let reader = ctx.ask(Ask::new("reader", CANDIDATES, values, &LIST))?;
        let Parsed::Answers { answers: mut candidates, .. } = reader.parsed.clone() else {
            return Ok(vote::reader(&reader, ctx.documents()));
        };
        candidates.truncate(self.candidates);
        if candidates.len() < 2 {
            if self.candidates > 1 {
                ctx.fall_back(format!(
                    "{} candidates instead of {}: nothing was ranked",
                    candidates.len(),
                    self.candidates
                ));
            }
            let concluded = vote::reader(&reader, ctx.documents());
            return Ok(Conclusion { answers: concluded.answers.into_iter().take(1).collect(), ..concluded });
        }
        let summaries: Vec<Ask> = candidates
            .iter()
            .map(|candidate| {
                let values = json!({ "question": question.text, "passages": passages, "candidate": candidate });
                Ask::new("summariser", SUMMARY, values, &TEXT).round(2).max_tokens(SUMMARY_TOKENS)
            })
            .collect();
        let summaries = ctx.ask_all(&summaries)?;
        if summaries.iter().any(|summary| summary.parsed == Parsed::Malformed) {
            ctx.fall_back("an empty summary was judged as it is");
        }
        let verdicts = ctx.ask_all(&judges(question, &candidates, &summaries))?;
        if verdicts.iter().all(|verdict| verdict.parsed == Parsed::Malformed) {
            ctx.fall_back("no verdict could be read: the first candidate won");
        }
        let scores = scores(candidates.len(), &verdicts);
        // `max_by_key` gives the last of equals: from the back, that is the first candidate.
        let best = (0..candidates.len()).rev().max_by_key(|&index| scores[index]).unwrap_or(0);
        let rejected = (0..candidates.len()).filter(|&index| index != best);
        Ok(Conclusion {
            answers: vec![vote::mentioned(&candidates[best], ctx.documents())],
            rejected: rejected.map(|index| vote::mentioned(&candidates[index], ctx.documents())).collect(),
            explanation: summaries[best].reply.trim().to_owned(),
            rounds: 1,
            calls: vec![summaries[best].number],
            ..Conclusion::default()
        })
    }
}

/// One verdict a candidate, then one an ordered pair of different candidates.
fn judges(question: &Question, candidates: &[String], summaries: &[CallRecord]) -> Vec<Ask> {
    let valid = candidates.iter().zip(summaries).map(|(candidate, summary)| {
        let values = json!({ "question": question.text, "candidate": candidate, "summary": summary.reply.trim() });
        Ask::new("judge", VALID, values, &CHOICE).round(3).options(["yes", "no"])
    });
    let rank = pairs(candidates.len()).into_iter().map(|(first, second)| {
        let (first, second) = (summaries[first].reply.trim(), summaries[second].reply.trim());
        let values = json!({ "question": question.text, "first": first, "second": second });
        Ask::new("judge", RANK, values, &CHOICE).round(3).options(["1", "2"])
    });
    valid.chain(rank).collect()
}

fn pairs(count: usize) -> Vec<(usize, usize)> {
    (0..count).flat_map(|a| (0..count).filter(move |&b| b != a).map(move |b| (a, b))).collect()
}

/// Section 3.3, in quarters: validity is 1, and so is a pair over both of its orders, so that a summary gains 1/2 from each
/// order that it wins. A verdict on a pair that cannot be read is a tie.
fn scores(count: usize, verdicts: &[CallRecord]) -> Vec<usize> {
    let chosen = |call: &CallRecord| match call.parsed {
        Parsed::Choice { option, .. } => Some(option),
        _ => None,
    };
    let valid = |call| if chosen(call) == Some(0) { 4 } else { 0 };
    let mut scores: Vec<usize> = verdicts[..count].iter().map(valid).collect();
    for ((first, second), verdict) in pairs(count).into_iter().zip(&verdicts[count..]) {
        match chosen(verdict) {
            Some(0) => scores[first] += 2,
            Some(_) => scores[second] += 2,
            None => [first, second].into_iter().for_each(|index| scores[index] += 1),
        }
    }
    scores
}
