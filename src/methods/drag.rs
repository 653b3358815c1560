//! DRAG, debate-augmented RAG ("Removal of Hallucination on Hallucination", section 3): a debate about what to retrieve, then
//! a debate about the answer between one that read the documents and one that did not.

use crate::answers::vote;
use crate::answers::words::Level;
use crate::error::Result;
use crate::generation::{Message, Role};
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{CHOICE, QUERY_ACTION, SHORT, TEXT, THOUGHT};
use crate::protocol::passages::{TOP, join, offered, search, short_answer, texts};
use crate::protocol::readers::{PASSAGES, of_passages};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use crate::transcript::{CallRecord, Parsed, QuestionRecord};
use serde_json::{Map, Value, json};

const PROPONENT: File = prompt_file!("drag/proponent.jinja");
const CHALLENGER: File = prompt_file!("drag/challenger.jinja");
const RETRIEVAL_JUDGE: File = prompt_file!("drag/retrieval_judge.jinja");
const WITH_DOCUMENTS: File = prompt_file!("drag/with_documents.jinja");
const FROM_MEMORY: File = prompt_file!("drag/from_memory.jinja");
const EXCHANGE: File = prompt_file!("drag/exchange.jinja");
const RESPONSE_JUDGE: File = prompt_file!("drag/response_judge.jinja");

/// DRAG's row.
pub(crate) static ROW: Row = Row {
    name: "drag",
    paper: "Removal of Hallucination on Hallucination: Debate-Augmented RAG (arXiv 2505.18581), section 3 and appendix A",
    about: "a debate about what to retrieve, then one about the answer, with and without the documents",
    protocol: "\
1. The query pool is the question; the retriever finds `per-query` passages for each query of the pool.
2. Retrieval debate, at most `retrieval-rounds`: the proponent argues that this is enough, the challenger that it is not
   and optimises a query or adds one; the judge names the winner. If the challenger wins, the pool changes, and the new query
   alone is sent to the retriever. An action that leaves the pool as it is ends the debate (convergence, epsilon 0).
3. Response debate, `response-rounds`: the proponent answers from the documents, the challenger from memory
   (`asymmetry`); each then reads the other's last reply and answers again in its own chat.
4. The judge reads both last replies, and gives the answer alone. Without rounds the reader of Naive RAG answers from all
   passages of the pool, so that the retrieval debate alone is compared with it (Table 5).
Without a corpus the question's own documents are read without a retrieval debate, a fallback unless `retrieval-rounds` is 0.
A malformed action or verdict ends the retrieval debate; a malformed last verdict leaves no answer.",
    calls: "3 x retrieval-rounds + 2 x response-rounds + 1, at most (16 by default); without a corpus 2 x response-rounds + 1; \
            retriever calls 1 and one for each round that the challenger wins",
    headline: "HotpotQA EM 30.80, StrategyQA EM 69.20: Llama-3.1-8B (table 1); 10.36 calls, 2.08 retriever calls (section 5.4)",
    prompts: &[PROPONENT, CHALLENGER, RETRIEVAL_JUDGE, WITH_DOCUMENTS, FROM_MEMORY, EXCHANGE, RESPONSE_JUDGE, PASSAGES],
    formats: &[&TEXT, &QUERY_ACTION, &CHOICE, &THOUGHT, &SHORT],
    roles: &["proponent", "challenger", "judge", "reader"],
    switches: &[
        Switch {
            name: "retrieval-rounds",
            about: "rounds of the retrieval debate",
            kind: Kind::Count(0, 16),
            default: "3",
        },
        Switch {
            name: "response-rounds",
            about: "rounds of the response debate",
            kind: Kind::Count(0, 16),
            default: "3",
        },
        Switch {
            name: "asymmetry",
            about: "whether the challenger answers from memory alone",
            kind: Kind::Flag,
            default: "true",
        },
        TOP,
    ],
    presets: &[],
    // Of DRAG's code; the papers name no limit.
    max_tokens: 256,
    needs: Needs::PASSAGES,
    build,
};

/// The names of the debaters, as the judge chooses between them.
const DEBATERS: [&str; 2] = ["Proponent Agent", "Challenger Agent"];
/// The challenger's index among them.
const CHALLENGER_WINS: usize = 1;

struct Drag {
    retrieval_rounds: usize,
    response_rounds: usize,
    asymmetry: bool,
    top: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(Drag {
        retrieval_rounds: values.count("retrieval-rounds"),
        response_rounds: values.count("response-rounds"),
        asymmetry: values.flag("asymmetry"),
        top: values.count("per-query"),
    }))
}

/// A query and the documents found for it.
struct Query {
    text: String,
    documents: Vec<usize>,
}

impl Method for Drag {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let (pool, held) = if question.documents.is_empty() {
            self.debate_retrieval(question, ctx)?
        } else {
            if self.retrieval_rounds > 0 {
                ctx.fall_back("the question's own documents were read: there was no retrieval debate");
            }
            let documents = (0..question.documents.len()).collect();
            (vec![Query { text: question.text.clone(), documents }], 0)
        };
        let call = self.debate_response(question, ctx, &pool, held)?;
        Ok(Conclusion { rounds: held + self.response_rounds, ..vote::reader(&call, ctx.documents()) })
    }
}

impl Drag {
    /// Section 3.2: the final query pool, and the rounds held.
    fn debate_retrieval(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<(Vec<Query>, usize)> {
        let documents = self.search(ctx, &question.text)?;
        let mut pool = vec![Query { text: question.text.clone(), documents }];
        for round in 1..=self.retrieval_rounds {
            let action = challenge(question, ctx, &pool, round)?;
            let Some(change) = action.and_then(|action| change(&pool, &action)) else { return Ok((pool, round)) };
            let documents = match change.new_query() {
                Some(query) => self.search(ctx, query)?,
                None => Vec::new(),
            };
            change.apply(&mut pool, documents);
        }
        Ok((pool, self.retrieval_rounds))
    }

    /// The documents found for a query; none counts as a fallback.
    fn search(&self, ctx: &mut Ctx<'_>, query: &str) -> Result<Vec<usize>> {
        let found = search(ctx, &[query], self.top)?.concat();
        if found.is_empty() {
            ctx.fall_back("nothing was found: a query without passages is in the pool");
        }
        Ok(found)
    }

    /// Section 3.3: the call whose reply is the answer. Rounds are counted after the `held` rounds of the retrieval debate.
    fn debate_response(
        &self,
        question: &Question,
        ctx: &mut Ctx<'_>,
        pool: &[Query],
        held: usize,
    ) -> Result<CallRecord> {
        if self.response_rounds == 0 {
            return read(question, ctx, pool, held);
        }
        let values = json!({ "question": question.text, "queries": shown(ctx, pool), "options": offered(question) });
        let debater = |role: &str, prompt| Ask::new(role, prompt, values.clone(), &THOUGHT).round(held + 1);
        let challenger = if self.asymmetry { FROM_MEMORY } else { WITH_DOCUMENTS };
        let mut replies = ctx.ask_all(&[debater("proponent", WITH_DOCUMENTS), debater("challenger", challenger)])?;
        for round in 2..=self.response_rounds {
            let asks = [exchange(question, &replies, 0), exchange(question, &replies, 1)];
            replies = ctx.ask_all(&asks.map(|ask| ask.round(held + round)))?;
        }
        let values = json!({
            "question": question.text,
            "proponent": replies[0].reply.trim(),
            "challenger": replies[1].reply.trim(),
            "options": offered(question),
        });
        let judge = Ask::new("judge", RESPONSE_JUDGE, values, &SHORT).round(held + self.response_rounds);
        ctx.ask(short_answer(question, judge))
    }
}

/// The answer of Naive RAG's reader, from each passage of the pool once.
fn read(question: &Question, ctx: &mut Ctx<'_>, pool: &[Query], held: usize) -> Result<CallRecord> {
    let mut numbers: Vec<usize> = Vec::new();
    join(&mut numbers, pool.iter().flat_map(|query| query.documents.iter().copied()), usize::MAX);
    ctx.ask(of_passages(question, &texts(ctx, &numbers)).round(held + 1))
}

/// One round of the retrieval debate: the challenger's action, where the challenger wins.
fn challenge(
    question: &Question,
    ctx: &mut Ctx<'_>,
    pool: &[Query],
    round: usize,
) -> Result<Option<Map<String, Value>>> {
    let mut values = json!({ "question": question.text, "queries": shown(ctx, pool) });
    let queries: Vec<&str> = pool.iter().map(|query| query.text.as_str()).collect();
    let proponent = Ask::new("proponent", PROPONENT, values.clone(), &TEXT).round(round);
    let challenger = Ask::new("challenger", CHALLENGER, values.clone(), &QUERY_ACTION)
        .round(round)
        .format_values(json!({ "queries": queries }));
    let arguments = ctx.ask_all(&[proponent, challenger])?;
    values["proponent"] = arguments[0].reply.trim().into();
    values["challenger"] = arguments[1].reply.trim().into();
    let judge = Ask::new("judge", RETRIEVAL_JUDGE, values, &CHOICE).round(round).options(DEBATERS);
    match (ctx.ask(judge)?.parsed, &arguments[1].parsed) {
        (Parsed::Choice { option: CHALLENGER_WINS, .. }, Parsed::Fields(action)) => return Ok(Some(action.clone())),
        (Parsed::Choice { option: CHALLENGER_WINS, .. }, _) => {
            ctx.fall_back("the challenger won with an action that cannot be read: the retrieval debate ended");
        }
        (Parsed::Choice { .. }, _) => {}
        _ => ctx.fall_back("the judge named no winner: the retrieval debate ended"),
    }
    Ok(None)
}

/// The effect of an action on the pool (equation 6). A pool holds no query twice.
enum Change {
    Add(String),
    Replace(usize, String),
    /// An optimisation into a query of the pool.
    Drop(usize),
}

/// The change that an action makes; `None` where the pool stays as it is, so that the debate has converged.
fn change(pool: &[Query], action: &Map<String, Value>) -> Option<Change> {
    let new = action.get("new").and_then(Value::as_str)?;
    let old = action.get("old").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
    let known = pool.iter().position(|query| Level::Voted.equal(&query.text, new));
    match (old, known) {
        (None, None) => Some(Change::Add(new.to_owned())),
        (Some(old), None) => Some(Change::Replace(old, new.to_owned())),
        (Some(old), Some(known)) if old != known => Some(Change::Drop(old)),
        _ => None,
    }
}

impl Change {
    /// The query that has to be sent to the retriever.
    fn new_query(&self) -> Option<&str> {
        match self {
            Self::Add(new) | Self::Replace(_, new) => Some(new),
            Self::Drop(_) => None,
        }
    }

    fn apply(self, pool: &mut Vec<Query>, documents: Vec<usize>) {
        match self {
            Self::Add(text) => pool.push(Query { text, documents }),
            Self::Replace(index, text) => pool[index] = Query { text, documents },
            Self::Drop(index) => drop(pool.remove(index)),
        }
    }
}

/// The next turn of one debater, which reads the other's last reply.
fn exchange(question: &Question, replies: &[CallRecord], own: usize) -> Ask {
    let other = 1 - own;
    let values = json!({
        "question": question.text,
        "name": DEBATERS[other],
        "reply": replies[other].reply.trim(),
        "options": offered(question),
    });
    let mut turns = replies[own].messages.clone();
    // Each debater answers again in a chat of its own: it sees its own turns, and of the other's the last.
    turns.push(Message::new(Role::Assistant, replies[own].reply.trim()));
    Ask::new(&replies[own].role, EXCHANGE, values, &THOUGHT).after(turns)
}

/// The pool with its passages, as prompts show it.
fn shown(ctx: &Ctx<'_>, pool: &[Query]) -> Vec<Value> {
    pool.iter().map(|query| json!({ "text": query.text, "passages": texts(ctx, &query.documents) })).collect()
}

/// The size of a question's debates, as Table 3 reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Debates {
    /// Rounds of the retrieval debate.
    pub retrieval_rounds: usize,
    /// Rounds of the response debate.
    pub response_rounds: usize,
    /// Queries in the final pool; `None` where the question's own documents were read.
    pub queries: Option<usize>,
}

/// The size of the debates in `record`; `None` where no call is DRAG's.
#[must_use]
pub(crate) fn debates(record: &QuestionRecord) -> Option<Debates> {
    let of = |prompt: File| record.calls.iter().filter(move |call| call.prompt == prompt.name);
    // Naive RAG's prompt is its own method's too.
    let own = || ROW.prompts.iter().filter(|prompt| **prompt != PASSAGES);
    if !record.calls.iter().any(|call| own().any(|prompt| prompt.name == call.prompt)) {
        return None;
    }
    let mut pool = vec![Query { text: record.question.text.clone(), documents: Vec::new() }];
    for judge in of(RETRIEVAL_JUDGE) {
        let challenger = of(CHALLENGER).find(|call| call.round == judge.round);
        if let (Parsed::Choice { option: CHALLENGER_WINS, .. }, Some(Parsed::Fields(action))) =
            (&judge.parsed, challenger.map(|call| &call.parsed))
            && let Some(change) = change(&pool, action)
        {
            // The pool is counted, not read: its documents do not matter.
            change.apply(&mut pool, Vec::new());
        }
    }
    let answers = [WITH_DOCUMENTS, FROM_MEMORY, EXCHANGE].into_iter().flat_map(of);
    Some(Debates {
        retrieval_rounds: of(RETRIEVAL_JUDGE).count(),
        response_rounds: answers.filter(|call| call.role == "challenger").count(),
        queries: record.question.documents.is_empty().then_some(pool.len()),
    })
}
