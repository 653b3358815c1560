//! MADAM-RAG ("Retrieval-Augmented Generation with Conflicting Evidence", section 4): one agent a document, rounds of
//! debate, an aggregator that keeps every valid answer and drops the false ones.

use crate::error::Result;
use crate::methods::formats::{ANSWER, ANSWERS};
use crate::methods::passages::{provenance, shown};
use crate::methods::switches::{Kind, Switch, Values};
use crate::methods::{Ask, Ctx, Method, Needs, Row, evidence, normalise, vote};
use crate::prompt_file;
use crate::prompts::File;
use crate::question::{Answer, Conclusion, Question};
use crate::transcript::{CallRecord, Parsed};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::borrow::Cow;

pub(super) const AGENT: File = prompt_file!("madam_rag/agent.jinja");
const AGGREGATOR: File = prompt_file!("madam_rag/aggregator.jinja");

/// Agents that an answer of `history=answers` names, and characters of its reason: with 30 documents whole lines would be
/// several times as long as a document.
const NAMED: usize = 3;
const REASON: usize = 160;

/// MADAM-RAG's row.
pub static ROW: Row = Row {
    name: "madam-rag",
    paper: "Retrieval-Augmented Generation with Conflicting Evidence, section 4 and appendix E",
    about: "one agent a document; they debate in rounds, an aggregator concludes",
    protocol: "\
1. Round 1: each agent reads the question and its own document, and gives an answer with an explanation.
2. The aggregator reads all agents' replies, shuffled by seed, with known sources and dates, and lists all correct answers.
3. Later rounds: each agent also reads the history, after its document or before it (`order`): the aggregator's last reply,
   the others' replies (`history=peers`), or each of their answers once, with some of its agents and a reason
   (`history=answers`); and its own last reply where `own-reply` is on, unlike the paper's.
   With `ask-again=needed`, agents that know nothing are not asked again, nor the aggregator where no answer changed.
4. `grounded`: an answer that its agent's document does not hold is unknown. `reasons=quote`: others read the sentence that does.
5. The debate ends when every agent keeps its answer, or after the last round. The aggregator's last list is the conclusion;
   without an aggregator every agent's last answer, with source weights those with a positive sum of votes, largest first.
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
            name: "reasons",
            about: "what others read beside an answer: the agent's explanation, or its document's sentence that holds it",
            kind: Kind::Choice(&["explanation", "quote"]),
            default: "explanation",
        },
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
    /// The aggregator and other agents read an answer with its document's sentence; the paper's read the agent's explanation.
    quoted: bool,
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
        quoted: values.choice("reasons") == "quote",
        aggregator,
    }))
}

impl Method for MadamRag {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let mut agents: Vec<CallRecord> = Vec::new();
        let mut verdict: Option<CallRecord> = None;
        let mut waiting: Option<Ask> = None;
        let mut round = 0;
        loop {
            round += 1;
            let told = self.history(question, &agents, verdict.as_ref());
            let mut stage: Vec<Ask> = waiting.take().into_iter().collect();
            let aggregating = stage.len();
            let asked =
                |place: &usize| !self.needed_alone || agents.get(*place).is_none_or(|call| !knows_nothing(call));
            let asked: Vec<usize> = (0..question.documents.len()).filter(asked).collect();
            stage.extend(asked.iter().map(|&place| agent(question, place, round, &told).grounded(self.grounded)));
            let mut replies = agents.clone();
            let mut made = ctx.ask_all(&stage)?;
            let new = made.split_off(aggregating);
            verdict = made.pop().or(verdict);
            for (place, reply) in asked.into_iter().zip(new) {
                if place < replies.len() { replies[place] = reply } else { replies.push(reply) }
            }

            let converged = round > 1 && all_keep(&agents, &replies);
            let last = converged || round == self.rounds;
            agents = replies;
            if self.aggregator && !(converged && self.needed_alone) {
                let ask = self.ask_aggregator(question, round, &agents, ctx.seed("shuffle", 1, 0));
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
    fn history(&self, question: &Question, agents: &[CallRecord], verdict: Option<&CallRecord>) -> Vec<Option<Value>> {
        let others = |place: usize| agents.iter().filter(move |call| call.document != Some(place));
        let tell = |place| {
            let lines: Vec<String> = match self.history {
                History::Aggregate => {
                    verdict.map(|call| format!("Aggregator: {}", call.reply.trim())).into_iter().collect()
                }
                History::Peers => others(place).map(|call| self.spoken(question, call)).collect(),
                History::Answers => self.answers(question, others(place)),
            };
            (!lines.is_empty()).then_some(lines)
        };
        let own = |place: usize| self.own_reply.then(|| line(&agents[place]));
        let of = |place| Some(json!({ "own": own(place), "told": tell(place)?, "first": self.history_first }));
        (0..agents.len()).map(of).collect()
    }

    /// Shuffled, since a model may favour what it reads first or last (section 4); in all rounds of a question alike, so that a
    /// verdict changes where replies do, not where their order does.
    fn ask_aggregator(&self, question: &Question, round: usize, agents: &[CallRecord], seed: u64) -> Ask {
        let mut replies: Vec<String> = agents.iter().map(|call| self.spoken(question, call)).collect();
        replies.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let values = json!({ "question": question.text, "replies": replies, "dated": is_dated(question) });
        Ask::new("aggregator", AGGREGATOR, values, &ANSWERS).round(round)
    }

    /// The answers of these agents, each once, as the others read them: `1931, say Agent 1 (council, 1931), Agent 4: ` and the
    /// reason of the first that has one. A year and a day of it are two answers here: no agent is said to have said more than it did.
    fn answers<'a>(&self, question: &Question, agents: impl Iterator<Item = &'a CallRecord>) -> Vec<String> {
        let given: Vec<(&str, &CallRecord)> = agents.filter_map(|call| Some((stance(call)?, call))).collect();
        let line = |answer: String| {
            let with = || given.iter().filter(|(stance, _)| normalise::equal(&answer, stance)).map(|(_, call)| *call);
            let mut names: Vec<String> = with().map(|call| named(question, call)).collect();
            let says = if names.len() == 1 { "says" } else { "say" };
            let more = names.len().saturating_sub(NAMED);
            names.truncate(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let quote = with().find_map(|call| self.quote(question, call));
            let reason = || with().filter_map(reason).find(|text| !text.is_empty()).map(|text| begin(text, REASON));
            let reason = quote.or_else(reason).map(|text| format!(": {text}")).unwrap_or_default();
            format!("{answer}, {says} {}{more}{reason}", names.join(", "))
        };
        normalise::without_repeats(given.iter().map(|(stance, _)| (*stance).to_owned())).into_iter().map(line).collect()
    }

    /// An agent's reply as the others read it, whether it kept its format or not, after where its document comes from.
    fn spoken(&self, question: &Question, call: &CallRecord) -> String {
        let named = named(question, call);
        match stance(call).zip(self.quote(question, call)) {
            Some((answer, quote)) => format!("{named}: Answer: {answer}. Explanation: {quote}"),
            None => format!("{named}: {}", line(call)),
        }
    }

    /// The document's sentence that holds the agent's answer, where that is what others read.
    fn quote(&self, question: &Question, call: &CallRecord) -> Option<String> {
        let document = question.documents.get(call.document.filter(|_| self.quoted)?)?;
        let sentence = evidence::sentence(&document.text, stance(call)?, &question.text)?;
        Some(format!("The document says: \"{sentence}\""))
    }

    fn conclude(
        &self,
        question: &Question,
        agents: &[CallRecord],
        verdict: Option<&CallRecord>,
        ctx: &Ctx<'_>,
    ) -> Conclusion {
        let stances: Vec<Option<&str>> = agents.iter().map(stance).collect();
        let (concluded, explanation, malformed) = match verdict.map(|call| &call.parsed) {
            Some(Parsed::Answers { answers, explanation }) => (answers.clone(), explanation.clone(), false),
            Some(_) => (Vec::new(), String::new(), true),
            None => joined(question, agents, ctx),
        };
        let (answers, rejected): (Vec<Answer>, Vec<Answer>) = vote::by_stance(&concluded, &stances);
        let calls = match verdict {
            Some(verdict) => vec![verdict.number],
            None => agents.iter().map(|call| call.number).collect(),
        };
        Conclusion { answers, rejected, explanation, malformed, calls, ..Conclusion::default() }
    }
}

pub(super) fn agent(question: &Question, place: usize, round: usize, told: &[Option<Value>]) -> Ask {
    let values = json!({
        "question": question.text,
        "document": shown(&question.documents[place]),
        "number": place + 1,
        "dated": is_dated(question),
        "history": told.get(place),
    });
    Ask::new("agent", AGENT, values, &ANSWER).round(round).document(place)
}

/// A source or a date is known: such documents contradict each other by being outdated or hearsay more than by namesakes, and
/// prompts are worded for that.
fn is_dated(question: &Question) -> bool {
    question.documents.iter().any(|document| provenance(document).is_some())
}

/// Without an aggregator: every agent's answer once; with source weights those with a positive sum of votes, the largest
/// first. Malformed only where no agent's reply could be read.
fn joined(question: &Question, agents: &[CallRecord], ctx: &Ctx<'_>) -> (Vec<String>, String, bool) {
    let reasons = |call: &CallRecord| match &call.parsed {
        Parsed::Answer { answer: Some(_), explanation } => {
            Some(format!("{}: {explanation}", question.documents[call.document?].name))
        }
        _ => None,
    };
    let answers = if ctx.weights().is_some() {
        let given: Vec<(usize, &str)> =
            agents.iter().filter_map(|call| Some((call.document?, stance(call)?))).collect();
        let votes = ctx.votes(&given.iter().map(|(number, _)| *number).collect::<Vec<_>>());
        let voted = vote::weighted(given.iter().map(|(_, answer)| *answer).zip(votes));
        voted.into_iter().filter(|(_, votes)| *votes > 0.0).map(|(answer, _)| answer).collect()
    } else {
        normalise::without_repeats(agents.iter().filter_map(stance).map(str::to_owned))
    };
    let explanation = agents.iter().filter_map(reasons).collect::<Vec<_>>().join("\n");
    (answers, explanation, agents.iter().all(|call| call.parsed == Parsed::Malformed))
}

/// `text`, or its first words in at most `most` characters and an ellipsis.
fn begin(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most).collect();
    format!("{}...", cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words))
}

/// A reply as it was made, or as it counts where its document does not hold it.
fn line(call: &CallRecord) -> Cow<'_, str> {
    match (&call.not_held, reason(call)) {
        (Some(_), Some(reason)) => format!("Answer: unknown. Explanation: {reason}").into(),
        _ => call.reply.trim().into(),
    }
}

/// An agent, and where its document comes from: `Agent 1 (council, 1884-05-12)`.
fn named(question: &Question, call: &CallRecord) -> String {
    let known = call.document.and_then(|place| provenance(question.documents.get(place)?));
    let known = known.map(|known| format!(" {known}")).unwrap_or_default();
    format!("Agent {}{known}", call.document.map_or(0, |place| place + 1))
}

/// The answer of an agent's reply; `None` where it is unknown or malformed.
pub(super) fn stance(call: &CallRecord) -> Option<&str> {
    match &call.parsed {
        Parsed::Answer { answer, .. } => answer.as_deref(),
        _ => None,
    }
}

fn knows_nothing(call: &CallRecord) -> bool {
    matches!(call.parsed, Parsed::Answer { answer: None, .. })
}

/// The explanation of an agent's reply.
pub(super) fn reason(call: &CallRecord) -> Option<&str> {
    match &call.parsed {
        Parsed::Answer { explanation, .. } => Some(explanation),
        _ => None,
    }
}

/// Section 4's early stop; a reply that cannot be read keeps nothing.
fn all_keep(before: &[CallRecord], now: &[CallRecord]) -> bool {
    let keeps = |(before, now): (&CallRecord, &CallRecord)| match (&before.parsed, &now.parsed) {
        (Parsed::Answer { answer: None, .. }, Parsed::Answer { answer: None, .. }) => true,
        (Parsed::Answer { answer: Some(a), .. }, Parsed::Answer { answer: Some(b), .. }) => normalise::equal(a, b),
        _ => false,
    };
    before.iter().zip(now).all(keeps)
}
