//! MADAM-RAG ("Retrieval-Augmented Generation with Conflicting Evidence", section 4): one agent a document, rounds of
//! debate, an aggregator that keeps every valid answer and drops the false ones.

use crate::answers::vote;
use crate::answers::words::Level;
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{ANSWER, ANSWERS};
use crate::protocol::presets::Preset;
use crate::protocol::readers::{AGENT, agent};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use crate::transcript::{CallRecord, Parsed};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

const AGENT_TUNED: File = prompt_file!("madam_rag/agent_tuned.jinja");
const AGGREGATOR: File = prompt_file!("madam_rag/aggregator.jinja");
const AGGREGATOR_TUNED: File = prompt_file!("madam_rag/aggregator_tuned.jinja");

/// MADAM-RAG's row.
pub static ROW: Row = Row {
    name: "madam-rag",
    paper: "Retrieval-Augmented Generation with Conflicting Evidence (arXiv 2504.13079), section 4 and appendix E",
    about: "one agent a document; they debate in rounds, an aggregator concludes",
    protocol: "\
1. Round 1: each agent reads the question and its own document, and gives an answer with an explanation.
2. The aggregator reads all replies, in an order drawn by the seed once a question (`shuffle`), and lists all correct answers.
3. Later rounds: each agent also reads the history, after its document: the aggregator's last reply, or the other agents'
   last replies (`history=peers`).
4. The debate ends when every agent keeps its answer (`stop`), or after the last round. The last list is the conclusion
   (`verdict=reused`: that of the round before, where every answer was kept); without an aggregator every agent's last answer,
   with source weights those with a positive sum of votes, largest first.
A malformed reply is read by the others as it is, supports nothing and keeps nothing; a malformed last list leaves no answer.",
    calls: "rounds x (documents + 1), at most; without an aggregator rounds x documents",
    headline: "RAMDocs strict EM: Llama-3.3-70B 34.40, Qwen2.5-72B 26.40 (table 1)",
    prompts: &[AGENT, AGGREGATOR, AGENT_TUNED, AGGREGATOR_TUNED],
    formats: &[&ANSWER, &ANSWERS],
    roles: &["agent", "aggregator"],
    switches: &[
        Switch { name: "rounds", about: "debate rounds at most", kind: Kind::Count(1, 16), default: "3" },
        Switch {
            name: "history",
            about: "history shown to agents in later rounds: the aggregator's reply (section 4), or the other agents' (appendix E)",
            kind: Kind::Choice(&["aggregate", "peers"]),
            default: "aggregate",
        },
        Switch {
            name: "shuffle",
            about: "whether the aggregator reads the replies shuffled, as in section 4, or in the documents' order",
            kind: Kind::Flag,
            default: "true",
        },
        Switch {
            name: "aggregator",
            about: "whether an aggregator concludes; without one, history is peers and every last answer is concluded",
            kind: Kind::Flag,
            default: "true",
        },
        Switch {
            name: "wording",
            about: "the instructions of appendix E, or those chosen by measurements with small models",
            kind: Kind::Choice(&["paper", "tuned"]),
            default: "paper",
        },
        Switch {
            name: "stop",
            about: "when an agent keeps its answer: it is equal, or one of the two texts is within the other (reference code)",
            kind: Kind::Choice(&["equal", "substring"]),
            default: "equal",
        },
        Switch {
            name: "verdict",
            about: "the conclusion of a round in which every agent kept its answer: asked for (section 4), or that of the round before (reference code)",
            kind: Kind::Choice(&["asked", "reused"]),
            default: "asked",
        },
    ],
    presets: &[
        Preset { name: "paper", about: "section 4 and appendix E of the paper", switches: &[] },
        Preset {
            name: "tuned",
            about: "the paper's protocol with the prompts chosen by measurements (benches/results/prompts.md)",
            switches: &[("wording", "tuned")],
        },
        Preset {
            name: "reference-code",
            about: "as the authors' script runs it: peers, no shuffle, a stop by substring, the verdict before it reused",
            switches: &[("history", "peers"), ("shuffle", "false"), ("stop", "substring"), ("verdict", "reused")],
        },
        Preset {
            name: "peers",
            about: "the history of appendix E and of the reference code: agents read each other's replies",
            switches: &[("history", "peers")],
        },
        Preset {
            name: "one-round",
            about: "the first round and the aggregator, without a debate",
            switches: &[("rounds", "1")],
        },
        Preset {
            name: "every-answer",
            about: "the tuned first round alone: every answer that a document's agent gives, without aggregator and debate",
            switches: &[("rounds", "1"), ("aggregator", "false"), ("wording", "tuned")],
        },
    ],
    max_tokens: 128,
    needs: Needs::DOCUMENTS,
    build,
};

/// The part of the round before that agents of a later round read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum History {
    /// The aggregator's answers and explanation (section 4).
    Aggregate,
    /// The other agents' replies (appendix E and the reference code).
    Peers,
}

struct MadamRag {
    rounds: usize,
    history: History,
    shuffle: bool,
    aggregator: bool,
    agent: File,
    aggregate: File,
    keeps: fn(&CallRecord, &CallRecord) -> bool,
    /// The verdict before the round in which every agent keeps its answer is the last one.
    reuses: bool,
}

/// Without an aggregator agents can read only each other.
fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let aggregator = values.flag("aggregator");
    if !aggregator && !values.is_typed("history") {
        values.set("history", "peers");
    }
    let history = if values.choice("history") == "peers" { History::Peers } else { History::Aggregate };
    if !aggregator && history == History::Aggregate {
        return Err(values.wrong("without an aggregator there is no history `aggregate`: expected history peers"));
    }
    let (rounds, shuffle) = (values.count("rounds"), values.flag("shuffle"));
    let tuned = values.choice("wording") == "tuned";
    Ok(Box::new(MadamRag {
        rounds,
        history,
        shuffle,
        aggregator,
        agent: if tuned { AGENT_TUNED } else { AGENT },
        aggregate: if tuned { AGGREGATOR_TUNED } else { AGGREGATOR },
        keeps: if values.choice("stop") == "substring" { keeps_within } else { keeps },
        reuses: values.choice("verdict") == "reused",
    }))
}

impl Method for MadamRag {
    fn weighs(&self) -> bool {
        !self.aggregator
    }

    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let mut replies: Vec<CallRecord> = Vec::new();
        let mut verdict: Option<CallRecord> = None;
        let mut waiting: Option<Ask> = None;
        let mut round = 0;
        loop {
            round += 1;
            let mut stage: Vec<Ask> = waiting.take().into_iter().collect();
            let aggregating = stage.len();
            let told = |index| self.lines_read_by(index, &replies, verdict.as_ref());
            stage.extend((0..question.documents.len()).map(|index| {
                let told = told(index);
                Ask { prompt: self.agent, ..agent(question, index, round, told.as_deref()) }
            }));
            let mut made = ctx.ask_all(&stage)?;
            let now = made.split_off(aggregating);
            verdict = made.pop().or(verdict);

            // Section 4's early stop.
            let converged = round > 1 && replies.iter().zip(&now).all(|(before, now)| (self.keeps)(before, now));
            let last = converged || round == self.rounds;
            replies = now;
            if self.aggregator && !(converged && self.reuses) {
                let ask = self.aggregate(question, round, &replies, ctx);
                // Peers do not read the verdict, so it is asked for together with their next round.
                if last || self.history == History::Aggregate {
                    verdict = Some(ctx.ask(ask)?);
                } else {
                    waiting = Some(ask);
                }
            }
            if last {
                let replies: Vec<&CallRecord> = replies.iter().collect();
                return Ok(Conclusion {
                    rounds: round,
                    converged,
                    ..conclude(question, &replies, verdict.as_ref(), ctx)
                });
            }
        }
    }
}

impl MadamRag {
    /// The lines of the round before that the agent of document `index` reads; `None` in round 1, and where there is no other
    /// agent.
    fn lines_read_by(&self, index: usize, replies: &[CallRecord], verdict: Option<&CallRecord>) -> Option<Vec<String>> {
        let lines: Vec<String> = match self.history {
            History::Aggregate => {
                verdict.map(|call| format!("Aggregator: {}", call.reply.trim())).into_iter().collect()
            }
            History::Peers => {
                spoken(replies).enumerate().filter(|(other, _)| *other != index).map(|(_, line)| line).collect()
            }
        };
        (!lines.is_empty()).then_some(lines)
    }

    fn aggregate(&self, question: &Question, round: usize, replies: &[CallRecord], ctx: &Ctx<'_>) -> Ask {
        let mut lines: Vec<String> = spoken(replies).collect();
        if self.shuffle {
            shuffle(&mut lines, ctx);
        }
        let values = json!({ "question": question.text, "replies": lines });
        Ask::new("aggregator", self.aggregate, values, &ANSWERS).round(round)
    }
}

/// The replies as the aggregator and the other agents read them, malformed ones too.
fn spoken(replies: &[CallRecord]) -> impl Iterator<Item = String> + '_ {
    replies.iter().enumerate().map(|(index, call)| format!("Agent {}: {}", index + 1, call.reply.trim()))
}

/// Shuffles the lines of an aggregator, since a model may favour what it reads first or last (section 4). All rounds of a
/// question have one order, so that a verdict changes where replies do, not where their order does.
fn shuffle(lines: &mut [String], ctx: &Ctx<'_>) {
    lines.shuffle(&mut ChaCha8Rng::seed_from_u64(ctx.seed("shuffle", 1, 0)));
}

/// Whether the agent's reply `now` gives the answer that it gave `before`; a malformed reply keeps nothing.
fn keeps(before: &CallRecord, now: &CallRecord) -> bool {
    match (before.answer(), now.answer()) {
        (Some(before), Some(now)) => Level::Voted.equal(before, now),
        _ => is_unknown(before) && is_unknown(now),
    }
}

/// As [`keeps`], but one of the two answers within the other is enough, letter by letter, as the reference code compares. An
/// answer that says nothing is the word "unknown".
fn keeps_within(before: &CallRecord, now: &CallRecord) -> bool {
    let said = |call: &CallRecord| match &call.parsed {
        Parsed::Answer { answer, .. } => Some(answer.as_deref().unwrap_or("unknown").to_lowercase()),
        _ => None,
    };
    said(before).zip(said(now)).is_some_and(|(before, now)| before.contains(&now) || now.contains(&before))
}

/// Whether the agent replied in its format that its document does not give the answer.
fn is_unknown(call: &CallRecord) -> bool {
    matches!(call.parsed, Parsed::Answer { answer: None, .. })
}

/// The conclusion from the agents' last replies and the last verdict; without a verdict, the joined answers of the
/// agents.
fn conclude(question: &Question, replies: &[&CallRecord], verdict: Option<&CallRecord>, ctx: &Ctx<'_>) -> Conclusion {
    let stances: Vec<Option<&str>> = replies.iter().map(|call| call.answer()).collect();
    let (concluded, explanation, malformed) = match verdict.map(|call| &call.parsed) {
        Some(Parsed::Answers { answers, explanation }) => (answers.clone(), explanation.clone(), false),
        Some(_) => (Vec::new(), String::new(), true),
        None => joined(question, replies, ctx),
    };
    let (answers, rejected) = vote::by_stance(&concluded, &stances);
    let calls = match verdict {
        Some(verdict) => vec![verdict.number],
        None => replies.iter().map(|call| call.number).collect(),
    };
    Conclusion { answers, rejected, explanation, malformed, calls, ..Conclusion::default() }
}

/// Without an aggregator: every agent's answer once; with source weights those with a positive sum of votes, the largest
/// first. Malformed only where no agent's reply could be read.
fn joined(question: &Question, replies: &[&CallRecord], ctx: &Ctx<'_>) -> (Vec<String>, String, bool) {
    let given: Vec<(usize, &str, &str)> =
        replies.iter().filter_map(|call| Some((call.document?, call.answer()?, call.explanation()?))).collect();
    let answers = if ctx.weights().is_some() {
        let voted = vote::weighted(given.iter().map(|(document, answer, _)| (*answer, ctx.vote(*document))));
        voted.into_iter().filter(|(_, votes)| *votes > 0.0).map(|(answer, _)| answer).collect()
    } else {
        Level::Voted.without_repeats(given.iter().map(|(_, answer, _)| (*answer).to_owned()))
    };
    let reasons = given.iter().map(|(document, _, reason)| format!("{}: {reason}", question.documents[*document].name));
    let explanation = reasons.collect::<Vec<_>>().join("\n");
    (answers, explanation, replies.iter().all(|call| call.parsed == Parsed::Malformed))
}
