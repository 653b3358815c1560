//! Majority vote over the first-round replies of MADAM-RAG's agents: a baseline of debates.

use crate::answers::equality;
use crate::answers::vote;
use crate::error::Result;
use crate::generation::Sampling;
use crate::protocol::equality::Equality;
use crate::protocol::formats::ANSWER;
use crate::protocol::readers::{AGENT, SAMPLING, agent};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use crate::transcript::{CallRecord, Parsed};

/// Majority vote's row.
pub(crate) static ROW: Row = Row {
    name: "majority-vote",
    paper: "Retrieval-Augmented Generation with Conflicting Evidence (arXiv 2504.13079), section 4 (round 1 alone); Self-Consistency (arXiv 2203.11171), section 2",
    about: "every document's agent answers once, and the answer of most documents wins",
    protocol: "\
1. Each agent reads the question and its own document, and gives an answer with an explanation (MADAM-RAG's round 1).
2. With several samples a document, the document's answer is the one that most of its samples give.
3. Documents vote, with their source's weight where weights are given (`--source-weights`); unknown and malformed replies do not.
   A negative weight counts against its answer; an answer without a positive sum is not concluded.
   `equality` says which answers are equal. Ties go to the answer of the earlier document.
4. `keep` says what is concluded: the winner, every answer with a vote of two or more (where there is none, the winner),
   or every answer.",
    calls: "documents x samples; equality=entailment without a classifier adds one for each ordered pair of answers",
    headline: "",
    prompts: &[AGENT],
    formats: &[&ANSWER],
    roles: &["agent"],
    switches: &[
        Switch { name: "samples", about: "replies a document; several are sampled", kind: Kind::Count(1, 64), default: "1" },
        Switch {
            name: "keep",
            about: "which answers are concluded",
            kind: Kind::Choice(&["winner", "two", "all"]),
            default: "winner",
        },
        crate::protocol::equality::SWITCH,
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs { equality: true, embedder: true, ..Needs::DOCUMENTS },
    build,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Winner,
    Two,
    All,
}

struct MajorityVote {
    samples: usize,
    keep: Keep,
    equality: Equality,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let keep = match values.choice("keep") {
        "two" => Keep::Two,
        "all" => Keep::All,
        _ => Keep::Winner,
    };
    Ok(Box::new(MajorityVote { samples: values.count("samples"), keep, equality: Equality::of(values) }))
}

impl Method for MajorityVote {
    fn weighs(&self) -> bool {
        true
    }

    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let sampled = self.samples > 1 && ctx.settings().sampling == Sampling::Greedy;
        let asks: Vec<_> = (0..question.documents.len())
            .map(|index| {
                let ask = agent(question, index, 1, None).samples(self.samples);
                if sampled { ask.sampling(SAMPLING) } else { ask }
            })
            .collect();
        let replies = ctx.ask_all(&asks)?;
        let all: Vec<&str> = replies.iter().filter_map(CallRecord::answer).collect();
        let classes = self.equality.classes(question, &all, ctx)?;
        let mut equal = equality::by_first(&all, &classes).into_iter();
        // `equal` has the texts of answers alone: a reply without one takes none.
        let said: Vec<Option<&str>> = replies.iter().map(|call| call.answer().and_then(|_| equal.next())).collect();
        let stances: Vec<Option<&str>> = said.chunks(self.samples).map(of_document).collect();
        let given = stances.iter().enumerate().filter_map(|(number, stance)| Some(((*stance)?, ctx.vote(number))));
        let votes = vote::weighted_classes(given);
        let least = match self.keep {
            // No sum reaches it: the winner is taken below.
            Keep::Winner => f64::INFINITY,
            Keep::Two => 2.0,
            Keep::All => 0.0,
        };
        let mut concluded: Vec<String> =
            votes.iter().filter(|(_, votes)| *votes > 0.0 && *votes >= least).map(|(text, _)| text.clone()).collect();
        if concluded.is_empty() {
            concluded.extend(votes.first().filter(|(_, votes)| *votes > 0.0).map(|(text, _)| text.clone()));
        }
        let (answers, rejected) = vote::by_stance(&concluded, &stances);
        let malformed = replies.iter().all(|call| call.parsed == Parsed::Malformed);
        let calls = replies.iter().map(|call| call.number).collect();
        Ok(Conclusion { answers, rejected, malformed, rounds: 1, calls, ..Conclusion::default() })
    }
}

/// The answer that most of a document's samples give.
fn of_document<'a>(samples: &[Option<&'a str>]) -> Option<&'a str> {
    let votes = vote::weighted_classes(samples.iter().copied().flatten().map(|text| (text, 1.0)));
    let (winner, _) = votes.first()?;
    samples.iter().copied().flatten().find(|stance| stance == winner)
}
