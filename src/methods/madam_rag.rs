//! MADAM-RAG ("Retrieval-Augmented Generation with Conflicting Evidence", section 4): one agent a document, rounds of
//! debate, an aggregator that keeps every valid answer and drops the false ones.

use crate::error::{MootError, Result};
use crate::eval::record::{CallRecord, Parsed};
use crate::methods::ctx::{Ask, Ctx};
use crate::methods::reply::Format;
use crate::methods::{History, Method, Row, Switches, normalise, require_documents, vote};
use crate::question::{Answer, Conclusion, Question};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

/// MADAM-RAG's row.
pub const ROW: Row = Row {
    name: "madam-rag",
    paper: "Retrieval-Augmented Generation with Conflicting Evidence, section 4 and appendix E",
    about: "one agent a document; they debate in rounds, an aggregator concludes",
    prompts: &[
        "madam_rag/agent.jinja",
        "madam_rag/aggregator.jinja",
        "reply/answer.lark",
        "reply/answer.jsonc",
        "reply/answers.lark",
        "reply/answers.jsonc",
    ],
    roles: &["agent", "aggregator"],
    needs_documents: true,
    build,
};

struct MadamRag {
    rounds: usize,
    history: History,
    aggregator: bool,
}

/// Three rounds, told by the aggregator, unless switched. Without an aggregator agents can hear only each other.
fn build(switches: &Switches) -> Result<Box<dyn Method>> {
    let rounds = switches.rounds.unwrap_or(3);
    let told_by_default = if switches.no_aggregator { History::Peers } else { History::Aggregate };
    let history = switches.history.unwrap_or(told_by_default);
    if rounds == 0 {
        return Err(MootError::Usage("madam-rag needs at least 1 round, found 0".into()));
    }
    if switches.no_aggregator && history == History::Aggregate {
        return Err(MootError::Usage("without an aggregator there is no history `aggregate`: take `peers`".into()));
    }
    Ok(Box::new(MadamRag { rounds, history, aggregator: !switches.no_aggregator }))
}

impl Method for MadamRag {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        require_documents(ROW.name, question)?;
        let mut agents: Vec<CallRecord> = Vec::new();
        let mut verdict: Option<CallRecord> = None;
        let mut waiting: Option<Ask> = None;
        let mut round = 0;
        loop {
            round += 1;
            let told = self.history(&agents, verdict.as_ref());
            let mut stage: Vec<Ask> = waiting.take().into_iter().collect();
            let aggregating = stage.len();
            stage.extend((0..question.documents.len()).map(|place| agent(question, place, round, &told)));
            let replies = ctx.ask_all(question, &stage)?.split_off(aggregating);

            let converged = round > 1 && all_keep(&agents, &replies);
            let last = converged || round == self.rounds;
            agents = replies;
            if self.aggregator {
                let ask = aggregator(question, round, &agents, ctx.seed(question, "shuffle", 1, 0));
                // Peers need not wait for a verdict that they are not told: it is asked for beside their next round.
                if last || self.history == History::Aggregate {
                    verdict = Some(ctx.ask(question, ask)?);
                } else {
                    waiting = Some(ask);
                }
            }
            if last {
                return Ok(Conclusion {
                    rounds: round,
                    converged,
                    ..self.conclude(question, &agents, verdict.as_ref())
                });
            }
        }
    }

    fn switches(&self) -> Value {
        json!({ "rounds": self.rounds, "history": self.history, "aggregator": self.aggregator })
    }
}

impl MadamRag {
    /// What each agent is told of the round before, and its own reply then, by place; `None` where there is nothing to tell.
    fn history(&self, agents: &[CallRecord], verdict: Option<&CallRecord>) -> Vec<Option<Value>> {
        let others = |place: usize| -> Option<Vec<String>> {
            let lines: Vec<String> = agents.iter().filter(|call| call.document != Some(place)).map(spoken).collect();
            (!lines.is_empty()).then_some(lines)
        };
        let tell = |place| match self.history {
            History::Aggregate => verdict.map(|call| vec![format!("Aggregator: {}", call.reply.trim())]),
            History::Peers => others(place),
        };
        let own = |place: usize| agents[place].reply.trim();
        (0..agents.len()).map(|place| Some(json!({ "own": own(place), "told": tell(place)? }))).collect()
    }

    fn conclude(&self, question: &Question, agents: &[CallRecord], verdict: Option<&CallRecord>) -> Conclusion {
        let stances: Vec<Option<&str>> = agents.iter().map(stance).collect();
        let (concluded, explanation, malformed) = match verdict.map(|call| &call.parsed) {
            Some(Parsed::Answers { answers, explanation }) => (answers.clone(), explanation.clone(), false),
            Some(_) => (Vec::new(), String::new(), true),
            None => joined(question, agents),
        };
        let (answers, rejected): (Vec<Answer>, Vec<Answer>) = vote::by_stance(&concluded, &stances);
        Conclusion { answers, rejected, explanation, malformed, ..Conclusion::default() }
    }
}

fn agent(question: &Question, place: usize, round: usize, told: &[Option<Value>]) -> Ask {
    Ask {
        role: "agent",
        round,
        document: Some(place),
        prompt: "madam_rag/agent.jinja",
        values: json!({
            "question": question.text,
            "document": question.documents[place].text.trim(),
            "number": place + 1,
            "history": told.get(place),
        }),
        format: Format::Answer,
    }
}

/// Shuffled, since a model may favour what it reads first or last (section 4); in all rounds of a question alike, so that a
/// verdict changes where replies do, not where their order does.
fn aggregator(question: &Question, round: usize, agents: &[CallRecord], seed: u64) -> Ask {
    let mut replies: Vec<String> = agents.iter().map(spoken).collect();
    replies.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    Ask {
        role: "aggregator",
        round,
        document: None,
        prompt: "madam_rag/aggregator.jinja",
        values: json!({ "question": question.text, "replies": replies }),
        format: Format::Answers,
    }
}

/// Without an aggregator: every agent's answer once. Malformed only where no agent's reply could be read.
fn joined(question: &Question, agents: &[CallRecord]) -> (Vec<String>, String, bool) {
    let reasons = |call: &CallRecord| match &call.parsed {
        Parsed::Answer { answer: Some(_), explanation } => {
            Some(format!("{}: {explanation}", question.documents[call.document?].name))
        }
        _ => None,
    };
    let answers = normalise::without_repeats(agents.iter().filter_map(stance).map(str::to_owned));
    let explanation = agents.iter().filter_map(reasons).collect::<Vec<_>>().join("\n");
    (answers, explanation, agents.iter().all(|call| call.parsed == Parsed::Malformed))
}

/// An agent's reply as the others read it, whether it kept its format or not.
fn spoken(call: &CallRecord) -> String {
    format!("Agent {}: {}", call.document.map_or(0, |place| place + 1), call.reply.trim())
}

fn stance(call: &CallRecord) -> Option<&str> {
    match &call.parsed {
        Parsed::Answer { answer, .. } => answer.as_deref(),
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
