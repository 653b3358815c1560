//! Speculative RAG (Wang et al., arXiv 2407.08223), as MADAM-RAG runs it (appendices B and E): drafts from small, varied
//! subsets of the documents; an aggregator reads them all, or the draft with the best scores is the answer.

use crate::answers::clusters::k_means;
use crate::answers::vote;
use crate::answers::words::Level;
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{ANSWER, ANSWERS, SCORES, THOUGHT};
use crate::protocol::passages::{given_or_found, offered, texts};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use crate::transcript::{CallRecord, Parsed};
use moot_models::kernels::math::{exp, ln};
use rand::SeedableRng;
use rand::seq::{IndexedRandom, index};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::collections::BTreeSet;

const DRAFTER: File = prompt_file!("speculative_rag/drafter.jinja");
const CONSISTENCY: File = prompt_file!("speculative_rag/consistency.jinja");
const REFLECTION: File = prompt_file!("speculative_rag/reflection.jinja");
const AGGREGATOR: File = prompt_file!("speculative_rag/aggregator.jinja");

/// Speculative RAG's row.
pub(crate) static ROW: Row = Row {
    name: "speculative-rag",
    paper: "Speculative RAG (arXiv 2407.08223), section 3; Retrieval-Augmented Generation with Conflicting Evidence (arXiv 2504.13079), appendices B and E",
    about: "drafts from varied subsets of the documents; an aggregator or the best scores decide",
    protocol: "\
1. The documents are embedded (`--embedder`) and put into `clusters` clusters (k-means). Without an embedder, subsets are
   drawn by chance, and that is a fallback.
2. Subsets of one document of each cluster are drawn until `drafts` are unique, or there are no more.
3. The drafter gives an answer and its rationale for each subset (`original`: the rationale first).
4. The aggregator reads all drafts and lists all correct answers (`selection=aggregate`), or the draft wins whose product of
   scores is best (`original`): P(rationale | question, subset) + P(answer | question, subset, rationale), the verifier's
   P(answer, rationale | question), and its P(\"Yes\") that the rationale supports the answer.
Malformed drafts are shown to the aggregator as they are; they and unknown answers cannot win. A malformed list leaves no answer.",
    calls: "drafts + 1, at most (6 by default); original 5 x drafts, at most (4 of each 5 score a given text)",
    headline: "RAMDocs strict EM: Llama-3.3-70B 30.60, Qwen2.5-72B 22.20 (MADAM-RAG, table 1)",
    prompts: &[DRAFTER, CONSISTENCY, REFLECTION, AGGREGATOR],
    formats: &[&ANSWER, &ANSWERS, &THOUGHT, &SCORES],
    roles: &["drafter", "verifier", "aggregator"],
    switches: &[
        Switch {
            name: "selection",
            about: "an aggregator reads all drafts, or the best one is the answer",
            kind: Kind::Choice(&["aggregate", "original"]),
            default: "aggregate",
        },
        Switch {
            name: "clusters",
            about: "clusters of documents, and documents of a subset",
            kind: Kind::Count(1, 16),
            default: "2",
        },
        Switch { name: "drafts", about: "drafts at most", kind: Kind::Count(1, 64), default: "5" },
        Switch { name: "per-query", about: "passages retrieved for the question", kind: Kind::Count(1, 100), default: "10" },
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs { embedder: true, ..Needs::PASSAGES },
    build,
};

struct SpeculativeRag {
    aggregate: bool,
    clusters: usize,
    drafts: usize,
    top: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let aggregate = values.choice("selection") == "aggregate";
    let (clusters, drafts) = (values.count("clusters"), values.count("drafts"));
    Ok(Box::new(SpeculativeRag { aggregate, clusters, drafts, top: values.count("per-query") }))
}

impl Method for SpeculativeRag {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let numbers = given_or_found(ctx, question, self.top)?;
        let documents = texts(ctx, &numbers);
        if documents.is_empty() {
            ctx.fall_back("nothing was found: one draft was written without documents");
        }
        let subsets = self.subsets(ctx, &documents)?;
        let drafts = subsets.iter().map(|subset| drafter(question, &documents, subset, !self.aggregate));
        let drafts: Vec<Ask> = drafts.collect();
        let drafts = ctx.ask_all(&drafts)?;
        if self.aggregate {
            let responses = drafts.iter().enumerate().map(|(index, draft)| spoken(index, draft));
            let values = json!({ "question": question.text, "responses": responses.collect::<Vec<_>>() });
            let verdict = ctx.ask(Ask::new("aggregator", AGGREGATOR, values, &ANSWERS).round(2))?;
            return Ok(Conclusion { rounds: 1, ..vote::reader(&verdict, ctx.documents()) });
        }
        let scored = scored(question, ctx, &documents, &subsets, &drafts)?;
        // `max_by` gives the last of equals: from the back, that is the first draft.
        let best = scored.iter().rev().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some(&(best, _)) = best else {
            let calls = drafts.iter().map(|draft| draft.number).collect();
            let malformed = drafts.iter().all(|draft| draft.parsed == Parsed::Malformed);
            return Ok(Conclusion { malformed, rounds: 1, calls, ..Conclusion::default() });
        };
        let given = best.answer().into_iter().chain(drafts.iter().filter_map(CallRecord::answer));
        let others = Level::Voted.without_repeats(given.map(str::to_owned)).into_iter().skip(1);
        let rejected = others.map(|text| vote::mentioned(&text, ctx.documents())).collect();
        Ok(Conclusion { rejected, ..vote::reader(best, ctx.documents()) })
    }
}

impl SpeculativeRag {
    /// Section 3.2: subsets of one document of each cluster, each once, as indices of documents in ascending order.
    fn subsets(&self, ctx: &mut Ctx<'_>, documents: &[String]) -> Result<Vec<Vec<usize>>> {
        let size = self.clusters.min(documents.len());
        let mut random = ChaCha8Rng::seed_from_u64(ctx.seed("subsets", 1, 0));
        if size == documents.len() {
            return Ok(vec![(0..size).collect()]);
        }
        let texts: Vec<&str> = documents.iter().map(String::as_str).collect();
        let Some(vectors) = ctx.embed(&texts)? else {
            ctx.fall_back("without an embedder, subsets of documents were drawn by chance");
            let possible = (0..size).fold(1.0, |count, i| count * (documents.len() - i) as f64 / (i + 1) as f64);
            let draw = || index::sample(&mut random, documents.len(), size).into_vec();
            return Ok(unique(self.drafts, possible, draw));
        };
        let mut clusters = vec![Vec::new(); size];
        for (index, cluster) in k_means(&vectors, size, ctx.seed("clusters", 1, 0)).into_iter().enumerate() {
            clusters[cluster].push(index);
        }
        // k-means leaves clusters empty where vectors are alike; a subset has nothing of them.
        clusters.retain(|members| !members.is_empty());
        let possible = clusters.iter().map(|members| members.len() as f64).product();
        let draw = || clusters.iter().filter_map(|members| members.choose(&mut random).copied()).collect();
        Ok(unique(self.drafts, possible, draw))
    }
}

/// Draws until `wanted` subsets differ, or all `possible` ones are there; in the order drawn.
fn unique(wanted: usize, possible: f64, mut draw: impl FnMut() -> Vec<usize>) -> Vec<Vec<usize>> {
    let mut seen = BTreeSet::new();
    let mut subsets = Vec::new();
    // The divisions of a binomial coefficient leave it a rounding away from its whole number.
    while subsets.len() < wanted && (subsets.len() as f64) < possible.round() {
        let mut subset = draw();
        subset.sort_unstable();
        if seen.insert(subset.clone()) {
            subsets.push(subset);
        }
    }
    subsets
}

/// Scores of section 3.4 need the rationale first; the prompt of MADAM-RAG's appendix E has the answer first.
fn drafter(question: &Question, documents: &[String], subset: &[usize], rationale_first: bool) -> Ask {
    let documents: Vec<&String> = subset.iter().map(|&index| &documents[index]).collect();
    let values = json!({
        "question": question.text, "documents": documents, "options": offered(question),
        "rationale_first": rationale_first,
    });
    Ask::new("drafter", DRAFTER, values, if rationale_first { &THOUGHT } else { &ANSWER })
}

/// A draft as the aggregator reads it.
fn spoken(index: usize, draft: &CallRecord) -> String {
    let text = match &draft.parsed {
        Parsed::Answer { answer, explanation } => {
            format!("{}. Rationale: {explanation}", answer.as_deref().unwrap_or("unknown"))
        }
        _ => draft.reply.trim().to_owned(),
    };
    format!("Response {}: {text}", index + 1)
}

/// Section 3.4: the drafts that give an answer, each with the logarithm of its product of scores.
fn scored<'a>(
    question: &Question,
    ctx: &mut Ctx<'_>,
    documents: &[String],
    subsets: &[Vec<usize>],
    drafts: &'a [CallRecord],
) -> Result<Vec<(&'a CallRecord, f64)>> {
    let answered = drafts.iter().zip(subsets).filter_map(|(draft, subset)| match &draft.parsed {
        Parsed::Answer { answer: Some(answer), explanation } => Some((draft, subset, answer, explanation)),
        _ => None,
    });
    let answered: Vec<_> = answered.collect();
    let asked = json!({ "question": question.text, "options": offered(question) });
    let asks: Vec<Ask> = answered
        .iter()
        .flat_map(|(_, subset, answer, rationale)| {
            let thought = format!("Thought: {rationale}");
            let whole = format!("{thought}\nAnswer: {answer}");
            let alone = Ask::new("verifier", CONSISTENCY, asked.clone(), &THOUGHT);
            let values = json!({ "question": question.text, "answer": answer, "rationale": rationale });
            [
                drafter(question, documents, subset, true).round(2).prefill(thought).scored(),
                drafter(question, documents, subset, true).round(2).prefill(whole.as_str()).scored(),
                alone.round(2).prefill(whole).scored(),
                Ask::new("verifier", REFLECTION, values, &THOUGHT).round(2).prefill("Yes").scored(),
            ]
        })
        .collect();
    if asks.is_empty() {
        return Ok(Vec::new());
    }
    let calls = ctx.ask_all(&asks)?;
    let scores = calls.chunks(4).map(|calls| {
        let [rationale, whole, consistency, reflection] = [0, 1, 2, 3].map(|i| f64::from(calls[i].total_score()));
        // P(answer | question, subset, rationale) is the remaining factor of the whole reply's probability; rounding could
        // make it more than 1.
        ln_of_sum(rationale, (whole - rationale).min(0.0)) + consistency + reflection
    });
    Ok(answered.iter().zip(scores).map(|((draft, ..), score)| (*draft, score)).collect())
}

/// The logarithm of the sum of two numbers, given their logarithms.
fn ln_of_sum(a: f64, b: f64) -> f64 {
    let (larger, smaller) = if a > b { (a, b) } else { (b, a) };
    if larger == f64::NEG_INFINITY { larger } else { larger + ln(1.0 + exp(smaller - larger)) }
}
