//! The method of `moot ask`: MADAM-RAG with departures from its paper, each of them a switch. Agents that know nothing are not
//! asked again, the others read each other's answers instead of the aggregator's, and an answer must be in its document.

mod replies;

use crate::answers::evidence;
use crate::error::Result;
use crate::methods::madam_rag::{conclude, is_unknown, keeps, shuffle};
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{ANSWER, ANSWERS};
use crate::protocol::passages::{provenance, shown};
use crate::protocol::presets::Preset;
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use crate::transcript::CallRecord;
use replies::Agent;
use serde_json::{Value, json};

const AGENT: File = prompt_file!("debate/agent.jinja");
const AGGREGATOR: File = prompt_file!("debate/aggregator.jinja");

/// The row of `debate`.
pub static ROW: Row = Row {
    name: "debate",
    paper: "none; after MADAM-RAG (arXiv 2504.13079), section 4 and appendix E, with departures chosen by measurement",
    about: "one agent a document; agents that know something read the others' answers and their own, an aggregator concludes",
    protocol: "\
1. Round 1: each agent reads the question and its own document, and gives an answer with an explanation.
2. The aggregator reads all replies, shuffled by seed, and lists all correct answers. `provenance`: all read sources and dates.
3. Later rounds: each agent also reads the history, after its document or before it (`order`): each of the others' answers
   once with agents and a reason, the others' replies (`peers`), or the aggregator's last reply (`aggregate`); with `own-reply`
   its own. With `ask-again=needed`, agents that know nothing are not asked again, nor the aggregator where no answer changed.
4. `grounded`: an answer that its agent's document does not hold is unknown. `evidence`: others read the explanation beside an
   answer, the sentence that holds it (`quote`; a fallback where none does), or that where no source or date is read (`auto`).
5. The debate ends when every agent keeps its answer, or after the last round. The aggregator's last list is the conclusion;
   without one every agent's last answer, with source weights those with a positive sum of votes, largest first.
A malformed reply is read by the others as it is, supports nothing and keeps nothing; a malformed last list leaves no answer.",
    calls: "rounds x (documents + 1), at most; without an aggregator rounds x documents",
    headline: "",
    prompts: &[AGENT, AGGREGATOR],
    formats: &[&ANSWER, &ANSWERS],
    roles: &["agent", "aggregator"],
    switches: &[
        Switch { name: "rounds", about: "debate rounds at most", kind: Kind::Count(1, 16), default: "3" },
        Switch {
            name: "history",
            about: "what agents of later rounds read: the aggregator's reply, the other agents', or these agents' answers",
            kind: Kind::Choice(&["aggregate", "peers", "answers"]),
            default: "answers",
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
            default: "true",
        },
        Switch {
            name: "ask-again",
            about: "what later rounds ask again: all, or agents with an answer, and the aggregator where an answer changed",
            kind: Kind::Choice(&["all", "needed"]),
            default: "needed",
        },
        Switch {
            name: "grounded",
            about: "whether an answer that the agent's own document does not hold counts as unknown",
            kind: Kind::Flag,
            default: "true",
        },
        Switch {
            name: "evidence",
            about: "evidence beside an answer: its explanation, its document's sentence, or auto, the sentence if none is dated",
            kind: Kind::Choice(&["explanation", "quote", "auto"]),
            default: "auto",
        },
        Switch {
            name: "provenance",
            about: "whether prompts show the documents' known sources and dates, and are worded for them",
            kind: Kind::Flag,
            default: "true",
        },
        Switch {
            name: "aggregator",
            about: "whether an aggregator concludes; without one every last answer is concluded",
            kind: Kind::Flag,
            default: "true",
        },
    ],
    presets: &[Preset { name: "debate", about: "the method's defaults, by the name of a former preset", switches: &[] }],
    needs: Needs::DOCUMENTS,
    build,
};

/// The part of the round before that agents of a later round read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum History {
    /// The aggregator's answers and explanation.
    Aggregate,
    /// The other agents' replies.
    Peers,
    /// The other agents' answers, each once, with the agents that give it and the reason of the first: `Peers` without
    /// repeats, replies that know nothing and malformed ones.
    Answers,
}

/// The evidence that the aggregator and other agents read beside an agent's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// The agent's explanation.
    Explanation,
    /// The sentence of the agent's document that holds the answer.
    Quote,
    /// The sentence where no prompt shows a source or a date, the explanation where one does.
    Auto,
}

struct Debate {
    rounds: usize,
    history: History,
    /// The history is before the document.
    history_first: bool,
    /// Agents read their own last reply.
    own_reply: bool,
    /// Agents whose document does not give the answer are asked in the first round alone, and the verdict of the round before
    /// is final where all agents keep their answers.
    needed_alone: bool,
    /// An agent's answer must be in its document.
    grounded: bool,
    evidence: Evidence,
    /// Prompts show known sources and dates.
    provenance: bool,
    aggregator: bool,
}

/// Without an aggregator agents can read only each other.
fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let aggregator = values.flag("aggregator");
    let history = match values.choice("history") {
        "aggregate" => History::Aggregate,
        "peers" => History::Peers,
        _ => History::Answers,
    };
    if !aggregator && history == History::Aggregate {
        return Err(
            values.wrong("without an aggregator there is no history `aggregate`: expected history peers or answers")
        );
    }
    Ok(Box::new(Debate {
        rounds: values.count("rounds"),
        history,
        history_first: values.choice("order") == "history-first",
        own_reply: values.flag("own-reply"),
        needed_alone: values.choice("ask-again") == "needed",
        grounded: values.flag("grounded"),
        evidence: match values.choice("evidence") {
            "explanation" => Evidence::Explanation,
            "quote" => Evidence::Quote,
            _ => Evidence::Auto,
        },
        provenance: values.flag("provenance"),
        aggregator,
    }))
}

impl Method for Debate {
    fn weighs(&self) -> bool {
        !self.aggregator
    }

    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let dated = self.provenance && question.documents.iter().any(|document| provenance(document).is_some());
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
                |index: &usize| !self.needed_alone || agents.get(*index).is_none_or(|agent| !is_unknown(&agent.call));
            let asked: Vec<usize> = (0..question.documents.len()).filter(asked).collect();
            let ask = |&index: &usize| agent(question, index, round, told.get(index), dated).grounded(self.grounded);
            stage.extend(asked.iter().map(ask));
            let mut replies = agents.clone();
            let mut made = ctx.ask_all(&stage)?;
            let new = made.split_off(aggregating);
            verdict = made.pop().or(verdict);
            for (index, call) in asked.into_iter().zip(new) {
                let quote = self.quote(question, &call, dated, ctx);
                let reply = Agent { name: replies::name(question, index, dated), call, quote };
                if index < replies.len() { replies[index] = reply } else { replies.push(reply) }
            }

            let kept = agents.iter().zip(&replies).all(|(before, now)| keeps(&before.call, &now.call));
            let converged = round > 1 && kept;
            let last = converged || round == self.rounds;
            agents = replies;
            if self.aggregator && !(converged && self.needed_alone) {
                let ask = ask_aggregator(question, round, &agents, dated, ctx);
                // Other histories do not hold the verdict, so it is asked for beside the next round.
                if last || self.history == History::Aggregate {
                    verdict = Some(ctx.ask(ask)?);
                } else {
                    waiting = Some(ask);
                }
            }
            if last {
                let replies: Vec<&CallRecord> = agents.iter().map(|agent| &agent.call).collect();
                return Ok(Conclusion {
                    rounds: round,
                    converged,
                    ..conclude(question, &replies, verdict.as_ref(), ctx)
                });
            }
        }
    }
}

impl Debate {
    /// The lines of the round before that each agent reads, by the index of its document: those of others, its own
    /// reply where it reads that, and whether all this is before the document. `None` where there are none.
    fn history(&self, agents: &[Agent], verdict: Option<&CallRecord>) -> Vec<Option<Value>> {
        let others = |index: usize| agents.iter().filter(move |agent| agent.call.document != Some(index));
        let tell = |index| {
            let lines: Vec<String> = match self.history {
                History::Aggregate => {
                    verdict.map(|call| format!("Aggregator: {}", call.reply.trim())).into_iter().collect()
                }
                History::Peers => others(index).map(Agent::spoken).collect(),
                History::Answers => replies::answers(others(index)),
            };
            (!lines.is_empty()).then_some(lines)
        };
        let own = |index: usize| self.own_reply.then(|| agents[index].line());
        let of = |index| Some(json!({ "own": own(index), "told": tell(index)?, "first": self.history_first }));
        (0..agents.len()).map(of).collect()
    }

    /// The sentence that others read beside the agent's answer, where they do; a fallback where no sentence holds it.
    fn quote(&self, question: &Question, call: &CallRecord, dated: bool, ctx: &mut Ctx<'_>) -> Option<String> {
        let quoted = match self.evidence {
            Evidence::Explanation => false,
            Evidence::Quote => true,
            Evidence::Auto => !dated,
        };
        let answer = call.answer().filter(|_| quoted)?;
        let sentence = evidence::sentence(&question.documents[call.document?].text, answer, &question.text);
        if sentence.is_none() {
            ctx.fall_back("no sentence of the document holds its agent's answer: others read the agent's explanation");
        }
        Some(format!("The document says: \"{}\"", sentence?))
    }
}

fn ask_aggregator(question: &Question, round: usize, agents: &[Agent], dated: bool, ctx: &Ctx<'_>) -> Ask {
    let mut replies: Vec<String> = agents.iter().map(Agent::spoken).collect();
    shuffle(&mut replies, ctx);
    let values = json!({ "question": question.text, "replies": replies, "dated": dated });
    Ask::new("aggregator", AGGREGATOR, values, &ANSWERS).round(round)
}

/// The call of the agent of document `index`. `dated`: sources and dates are shown.
fn agent(question: &Question, index: usize, round: usize, told: Option<&Option<Value>>, dated: bool) -> Ask {
    let document = &question.documents[index];
    let values = json!({
        "question": question.text,
        "document": if dated { shown(document) } else { document.text.trim().to_owned() },
        "number": index + 1,
        "dated": dated,
        "history": told,
    });
    Ask::new("agent", AGENT, values, &ANSWER).round(round).document(index)
}
