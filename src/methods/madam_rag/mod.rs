//! MADAM-RAG ("Retrieval-Augmented Generation with Conflicting Evidence", section 4): one agent a document, rounds of
//! debate, an aggregator that keeps every valid answer and drops the false ones.

mod replies;

pub(super) use replies::{reason, stance};

use crate::answers::words::Level;
use crate::answers::{evidence, vote};
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{ANSWER, ANSWERS};
use crate::protocol::passages::{provenance, shown};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Answer, Conclusion, Question};
use crate::transcript::{CallRecord, Parsed};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use replies::Agent;
use serde_json::{Value, json};

pub(super) const AGENT: File = prompt_file!("madam_rag/agent.jinja");
const AGGREGATOR: File = prompt_file!("madam_rag/aggregator.jinja");

/// Documents contradict each other by being outdated or hearsay more than by namesakes where their sources or dates are known.
/// The paper's prompts show neither.
pub(super) const PROVENANCE: Switch = Switch {
    name: "provenance",
    about: "whether prompts show the documents' known sources and dates, and are worded for them",
    kind: Kind::Flag,
    default: "false",
};

/// MADAM-RAG's row.
pub static ROW: Row = Row {
    name: "madam-rag",
    paper: "Retrieval-Augmented Generation with Conflicting Evidence (arXiv 2504.13079), section 4 and appendix E",
    about: "one agent a document; they debate in rounds, an aggregator concludes",
    protocol: "\
1. Round 1: each agent reads the question and its own document, and gives an answer with an explanation.
2. The aggregator reads all replies, shuffled by seed, and lists all correct answers. `provenance`: all read sources and dates.
3. Later rounds: each agent also reads the history, after its document or before it (`order`): the aggregator's last reply,
   the others' replies (`peers`), or each of their answers once with agents and a reason (`answers`); with `own-reply` its own.
   With `ask-again=needed`, agents that know nothing are not asked again, nor the aggregator where no answer changed.
4. `grounded`: an answer that its agent's document does not hold is unknown. `evidence`: others read the explanation beside an
   answer, the sentence that holds it (`quote`; a fallback where none does), or that where no source or date is read (`auto`).
5. The debate ends when every agent keeps its answer, or after the last round. The aggregator's last list is the conclusion;
   without one every agent's last answer, with source weights those with a positive sum of votes, largest first.
A malformed reply is read by the others as it is, supports nothing and keeps nothing; a malformed last list leaves no answer.",
    calls: "rounds x (documents + 1), at most; without an aggregator rounds x documents",
    headline: "RAMDocs strict EM: Llama-3.3-70B 34.40, Qwen2.5-72B 26.40 (table 1)",
    prompts: &[AGENT, AGGREGATOR],
    formats: &[&ANSWER, &ANSWERS],
    roles: &["agent", "aggregator"],
    switches: &[
        Switch { name: "rounds", about: "debate rounds at most", kind: Kind::Count(1, 16), default: "3" },
        Switch {
            name: "history",
            about: "what agents of later rounds read: the aggregator's reply, the other agents', or these agents' answers",
            kind: Kind::Choice(&["aggregate", "peers", "answers"]),
            default: "aggregate",
        },
        Switch {
            name: "order",
            about: "whether agents of later rounds read their document or the history first",
            kind: Kind::Choice(&["document-first", "history-first"]),
            default: "document-first",
        },
        Switch {
            name: "own-reply",
            about: "whether agents of later rounds read their own last reply",
            kind: Kind::Flag,
            default: "false",
        },
        Switch {
            name: "ask-again",
            about: "what later rounds ask again: all, or agents with an answer, and the aggregator where an answer changed",
            kind: Kind::Choice(&["all", "needed"]),
            default: "all",
        },
        Switch {
            name: "grounded",
            about: "whether an answer that the agent's own document does not hold counts as unknown",
            kind: Kind::Flag,
            default: "false",
        },
        Switch {
            name: "evidence",
            about: "what others read beside an answer: its explanation, its document's sentence, or that if none is dated",
            kind: Kind::Choice(&["explanation", "quote", "auto"]),
            default: "explanation",
        },
        PROVENANCE,
        Switch {
            name: "aggregator",
            about: "whether an aggregator concludes; without one, history is peers and every last answer is concluded",
            kind: Kind::Flag,
            default: "true",
        },
    ],
    needs: Needs::DOCUMENTS,
    build,
};

/// What agents of a later round read of the round before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum History {
    /// The aggregator's answers and explanation (section 4).
    Aggregate,
    /// The other agents' replies (appendix E and the reference code).
    Peers,
    /// The other agents' answers, each once, with the agents that give it and the reason of the first: `peers` without
    /// repeats, replies that know nothing and malformed ones. Of no paper.
    Answers,
}

/// What the aggregator and other agents read beside an agent's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// The agent's explanation (section 4).
    Explanation,
    /// The sentence of the agent's document that holds the answer. Of no paper.
    Quote,
    /// The sentence where no prompt shows a source or a date, the explanation where one does.
    Auto,
}

struct MadamRag {
    rounds: usize,
    history: History,
    /// The history stands before the document; appendix E has it after.
    history_first: bool,
    /// Agents read their own last reply; neither section 4 nor appendix E shows it to them.
    own_reply: bool,
    /// Agents whose document does not tell are asked in the first round alone, and the verdict of the round before stands
    /// where all agents keep their answers; section 4 asks all of them in every round.
    needed_alone: bool,
    /// An agent's answer has to stand in its document; the paper takes it as it is.
    grounded: bool,
    evidence: Evidence,
    /// Prompts show known sources and dates; the paper's do not.
    provenance: bool,
    aggregator: bool,
}

/// Without an aggregator agents can read only each other.
fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let aggregator = values.flag("aggregator");
    if !aggregator && !values.is_typed("history") {
        values.set("history", "peers");
    }
    let history = match values.choice("history") {
        "peers" => History::Peers,
        "answers" => History::Answers,
        _ => History::Aggregate,
    };
    if !aggregator && history == History::Aggregate {
        return Err(
            values.wrong("without an aggregator there is no history `aggregate`: expected history peers or answers")
        );
    }
    Ok(Box::new(MadamRag {
        rounds: values.count("rounds"),
        history,
        history_first: values.choice("order") == "history-first",
        own_reply: values.flag("own-reply"),
        needed_alone: values.choice("ask-again") == "needed",
        grounded: values.flag("grounded"),
        evidence: match values.choice("evidence") {
            "quote" => Evidence::Quote,
            "auto" => Evidence::Auto,
            _ => Evidence::Explanation,
        },
        provenance: values.flag(PROVENANCE.name),
        aggregator,
    }))
}

impl Method for MadamRag {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let dated = self.provenance && is_dated(question);
        let mut agents: Vec<Agent> = Vec::new();
        let mut verdict: Option<CallRecord> = None;
        let mut waiting: Option<Ask> = None;
        let mut round = 0;
        loop {
            round += 1;
            let told = self.history(&agents, verdict.as_ref());
            let mut stage: Vec<Ask> = waiting.take().into_iter().collect();
            let aggregating = stage.len();
            let asked =
                |place: &usize| !self.needed_alone || agents.get(*place).is_none_or(|agent| !agent.knows_nothing());
            let asked: Vec<usize> = (0..question.documents.len()).filter(asked).collect();
            stage
                .extend(asked.iter().map(|&place| agent(question, place, round, &told, dated).grounded(self.grounded)));
            let mut replies = agents.clone();
            let mut made = ctx.ask_all(&stage)?;
            let new = made.split_off(aggregating);
            verdict = made.pop().or(verdict);
            for (place, call) in asked.into_iter().zip(new) {
                let quote = self.quote(question, &call, dated, ctx);
                let reply = Agent { name: replies::name(question, place, dated), call, quote };
                if place < replies.len() { replies[place] = reply } else { replies.push(reply) }
            }

            // Section 4's early stop.
            let converged = round > 1 && agents.iter().zip(&replies).all(|(before, now)| now.keeps(before));
            let last = converged || round == self.rounds;
            agents = replies;
            if self.aggregator && !(converged && self.needed_alone) {
                let ask = ask_aggregator(question, round, &agents, dated, ctx.seed("shuffle", 1, 0));
                // Peers need not wait for a verdict that they are not told: it is asked for beside their next round.
                if last || self.history == History::Aggregate {
                    verdict = Some(ctx.ask(ask)?);
                } else {
                    waiting = Some(ask);
                }
            }
            if last {
                return Ok(Conclusion {
                    rounds: round,
                    converged,
                    ..self.conclude(question, &agents, verdict.as_ref(), ctx)
                });
            }
        }
    }
}

impl MadamRag {
    /// What each agent is told of the round before, by place: the lines of others, its own reply where it sees that, and
    /// whether all this stands before the document. `None` where there is nothing to tell.
    fn history(&self, agents: &[Agent], verdict: Option<&CallRecord>) -> Vec<Option<Value>> {
        let others = |place: usize| agents.iter().filter(move |agent| agent.call.document != Some(place));
        let tell = |place| {
            let lines: Vec<String> = match self.history {
                History::Aggregate => {
                    verdict.map(|call| format!("Aggregator: {}", call.reply.trim())).into_iter().collect()
                }
                History::Peers => others(place).map(Agent::spoken).collect(),
                History::Answers => replies::answers(others(place)),
            };
            (!lines.is_empty()).then_some(lines)
        };
        let own = |place: usize| self.own_reply.then(|| agents[place].line());
        let of = |place| Some(json!({ "own": own(place), "told": tell(place)?, "first": self.history_first }));
        (0..agents.len()).map(of).collect()
    }

    /// The sentence that others read beside the agent's answer, where they do; a fallback where no sentence holds it.
    fn quote(&self, question: &Question, call: &CallRecord, dated: bool, ctx: &mut Ctx<'_>) -> Option<String> {
        let quoted = match self.evidence {
            Evidence::Explanation => false,
            Evidence::Quote => true,
            Evidence::Auto => !dated,
        };
        let answer = stance(call).filter(|_| quoted)?;
        let sentence = evidence::sentence(&question.documents[call.document?].text, answer, &question.text);
        if sentence.is_none() {
            ctx.fall_back("no sentence of the document holds its agent's answer: others read the agent's explanation");
        }
        Some(format!("The document says: \"{}\"", sentence?))
    }

    fn conclude(
        &self,
        question: &Question,
        agents: &[Agent],
        verdict: Option<&CallRecord>,
        ctx: &Ctx<'_>,
    ) -> Conclusion {
        let stances: Vec<Option<&str>> = agents.iter().map(Agent::stance).collect();
        let (concluded, explanation, malformed) = match verdict.map(|call| &call.parsed) {
            Some(Parsed::Answers { answers, explanation }) => (answers.clone(), explanation.clone(), false),
            Some(_) => (Vec::new(), String::new(), true),
            None => joined(question, agents, ctx),
        };
        let (answers, rejected): (Vec<Answer>, Vec<Answer>) = vote::by_stance(&concluded, &stances);
        let calls = match verdict {
            Some(verdict) => vec![verdict.number],
            None => agents.iter().map(|agent| agent.call.number).collect(),
        };
        Conclusion { answers, rejected, explanation, malformed, calls, ..Conclusion::default() }
    }
}

/// Shuffled, since a model may favour what it reads first or last (section 4); in all rounds of a question alike, so that a
/// verdict changes where replies do, not where their order does.
fn ask_aggregator(question: &Question, round: usize, agents: &[Agent], dated: bool, seed: u64) -> Ask {
    let mut replies: Vec<String> = agents.iter().map(Agent::spoken).collect();
    replies.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let values = json!({ "question": question.text, "replies": replies, "dated": dated });
    Ask::new("aggregator", AGGREGATOR, values, &ANSWERS).round(round)
}

/// The call of the agent of document `place`. `dated`: sources and dates are shown.
pub(super) fn agent(question: &Question, place: usize, round: usize, told: &[Option<Value>], dated: bool) -> Ask {
    let document = &question.documents[place];
    let values = json!({
        "question": question.text,
        "document": if dated { shown(document) } else { document.text.trim().to_owned() },
        "number": place + 1,
        "dated": dated,
        "history": told.get(place),
    });
    Ask::new("agent", AGENT, values, &ANSWER).round(round).document(place)
}

/// A source or a date is known.
pub(super) fn is_dated(question: &Question) -> bool {
    question.documents.iter().any(|document| provenance(document).is_some())
}

/// Without an aggregator: every agent's answer once; with source weights those with a positive sum of votes, the largest
/// first. Malformed only where no agent's reply could be read.
fn joined(question: &Question, agents: &[Agent], ctx: &Ctx<'_>) -> (Vec<String>, String, bool) {
    let calls = || agents.iter().map(|agent| &agent.call);
    let reasons = |call: &CallRecord| match &call.parsed {
        Parsed::Answer { answer: Some(_), explanation } => {
            Some(format!("{}: {explanation}", question.documents[call.document?].name))
        }
        _ => None,
    };
    let answers = if ctx.weights().is_some() {
        let given: Vec<(usize, &str)> = calls().filter_map(|call| Some((call.document?, stance(call)?))).collect();
        let votes = ctx.votes(&given.iter().map(|(number, _)| *number).collect::<Vec<_>>());
        let voted = vote::weighted(given.iter().map(|(_, answer)| *answer).zip(votes));
        voted.into_iter().filter(|(_, votes)| *votes > 0.0).map(|(answer, _)| answer).collect()
    } else {
        Level::Voted.without_repeats(calls().filter_map(stance).map(str::to_owned))
    };
    let explanation = calls().filter_map(reasons).collect::<Vec<_>>().join("\n");
    (answers, explanation, calls().all(|call| call.parsed == Parsed::Malformed))
}
