//! FLARE, direct (Jiang et al., arXiv 2305.06983): a tentative next sentence; where the model is unsure of a token, it retrieves
//! and writes the sentence again.

use crate::answers::unknown::is_unknown;
use crate::answers::words::Level;
use crate::answers::{spans, vote};
use crate::error::Result;
use crate::generation::Logprobs;
use crate::llm::Capabilities;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::chain::{ends_chain, first_sentence};
use crate::protocol::formats::{CHOICE, CONTINUATION, SHORT, TEXT};
use crate::protocol::passages::{TOP, join, offered, search, short_answer, texts};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use crate::transcript::{CallRecord, Parsed};
use moot_models::kernels::math::exp_f32;
use serde_json::json;

const STEP: File = prompt_file!("flare/step.jinja");
const QUESTION: File = prompt_file!("flare/question.jinja");

/// FLARE's row.
pub(crate) static ROW: Row = Row {
    name: "flare",
    paper: "Active Retrieval Augmented Generation (arXiv 2305.06983), section 3.2 (FLARE direct)",
    about: "sentence by sentence; an unsure sentence is a query, and is written again",
    protocol: "\
1. The writer writes the next sentence without passages, with the probability of each token.
2. If a token's probability is below `theta`, the sentence without its tokens below `beta` is the query (`queries=masked`; the
   question, where nothing is left), or the writer asks a question about each part below `beta` (`questions`; the sentence
   itself, where there is none). The writer writes the sentence again with `per-query` passages.
3. This goes on until a sentence says \"answer is\", the writer ends, or `steps` sentences are written.
4. The answer follows \"the answer is\"; a chain without it is continued by these words (and one of the question's options,
   where it has any), and that is a fallback.
   A sentence that is not written again stays as it was, which is a fallback too; a malformed answer leaves none.
Nothing is retrieved before the first sentence: section 3.2 has no such step, though figure 1 shows one.",
    calls: "2 x steps + 1, at most; queries=questions (2 + parts) x steps + 1 for `parts` unsure parts a sentence, at most; \
            a retriever call for each query",
    headline: "HotpotQA EM 16.60, StrategyQA EM 42.80: Llama-3.1-8B (DRAG, table 1)",
    prompts: &[STEP, QUESTION],
    formats: &[&TEXT, &CONTINUATION, &SHORT, &CHOICE],
    roles: &["writer"],
    switches: &[
        Switch {
            name: "theta",
            about: "least probability of a token that is sure",
            kind: Kind::Number(0.0, 1.0),
            default: "0.8",
        },
        Switch {
            name: "beta",
            about: "least probability of a token that stays in the query",
            kind: Kind::Number(0.0, 1.0),
            default: "0.4",
        },
        Switch {
            name: "queries",
            about: "the sentence without its unsure tokens, or questions about them",
            kind: Kind::Choice(&["masked", "questions"]),
            default: "masked",
        },
        Switch { name: "steps", about: "sentences at most", kind: Kind::Count(1, 16), default: "5" },
        TOP,
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs { model: Capabilities { logprobs: true, prefill: true, ..Needs::NOTHING.model }, ..Needs::RETRIEVER },
    build,
};

/// Tokens of a sentence (its appendix: 64).
const SENTENCE_TOKENS: usize = 64;

struct Flare {
    theta: f64,
    beta: f64,
    questions: bool,
    steps: usize,
    top: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let (theta, beta) = (values.number("theta"), values.number("beta"));
    let questions = values.choice("queries") == "questions";
    Ok(Box::new(Flare { theta, beta, questions, steps: values.count("steps"), top: values.count("per-query") }))
}

/// A part of a sentence, written by one token, with the token's probability.
type ScoredText<'a> = (&'a str, f64);

impl Method for Flare {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let mut chain = String::new();
        let mut rounds = 0;
        let mut last = None;
        while rounds < self.steps {
            rounds += 1;
            let tentative = ctx.ask(step(question, &chain, &[], rounds))?;
            let Some(mut sentence) = first_sentence(&tentative.reply) else { break };
            let parts = parts(&tentative, &sentence);
            last = Some(tentative.number);
            if parts.iter().any(|(_, probability)| *probability < self.theta) {
                let queries = self.queries(question, ctx, &chain, &parts, rounds)?;
                let found = self.search(ctx, &queries)?;
                let again = ctx.ask(step(question, &chain, &texts(ctx, &found), rounds))?;
                last = Some(again.number);
                match first_sentence(&again.reply) {
                    Some(written) => sentence = written,
                    None => ctx.fall_back("nothing was written with the passages: the tentative sentence was kept"),
                }
            }
            chain = joined(&chain, &sentence);
            if ends_chain(&sentence) {
                break;
            }
        }
        match (answer_in(&chain), last) {
            (Some(text), Some(last)) => Ok(Conclusion {
                // "Unknown" is not an answer.
                answers: (!is_unknown(&text)).then(|| vote::mentioned(&text, ctx.documents())).into_iter().collect(),
                explanation: chain,
                rounds,
                calls: vec![last],
                ..Conclusion::default()
            }),
            _ => self.finish(question, ctx, chain, rounds),
        }
    }
}

impl Flare {
    /// Section 3.2.2: the queries of an unsure sentence.
    fn queries(
        &self,
        question: &Question,
        ctx: &mut Ctx<'_>,
        chain: &str,
        parts: &[ScoredText<'_>],
        round: usize,
    ) -> Result<Vec<String>> {
        let sentence: String = parts.iter().map(|(text, _)| *text).collect();
        if !self.questions {
            let sure: String = parts.iter().filter(|(_, p)| *p >= self.beta).map(|(text, _)| *text).collect();
            let nothing_left = Level::Voted.words(&sure).is_empty();
            return Ok(vec![if nothing_left { question.text.clone() } else { sure.trim().to_owned() }]);
        }
        let chain = joined(chain, sentence.trim());
        let ask = |span: String| {
            let values = json!({ "question": question.text, "chain": chain, "span": span });
            Ask::new("writer", QUESTION, values, &TEXT).round(round).max_tokens(SENTENCE_TOKENS).stop(["\n"])
        };
        let asks: Vec<Ask> = self.unsure(parts).into_iter().map(ask).collect();
        let asked = if asks.is_empty() { Vec::new() } else { ctx.ask_all(&asks)? };
        let read = asked.iter().filter_map(|call| match &call.parsed {
            Parsed::Text(text) => Some(text.clone()),
            _ => None,
        });
        let questions: Vec<String> = read.collect();
        if questions.len() < asked.len() {
            ctx.fall_back("an unsure part got no question: nothing was retrieved for it");
        }
        Ok(if questions.is_empty() { vec![sentence.trim().to_owned()] } else { questions })
    }

    /// The stretches of a sentence's words that hold a token below `beta`, each once.
    fn unsure(&self, parts: &[ScoredText<'_>]) -> Vec<String> {
        let mut words: Vec<(String, bool)> = Vec::new();
        for (text, probability) in parts {
            let unsure = *probability < self.beta && !Level::Voted.words(text).is_empty();
            // Tokens cut words: one that begins without a space belongs to the word before it.
            match words.last_mut().filter(|_| !text.starts_with(char::is_whitespace)) {
                Some((word, known)) => {
                    word.push_str(text);
                    *known |= unsure;
                }
                None => words.push(((*text).to_owned(), unsure)),
            }
        }
        let stretches = words.chunk_by(|(_, a), (_, b)| a == b).filter(|stretch| stretch[0].1);
        let texts = stretches.map(|stretch| stretch.iter().map(|(word, _)| word.as_str()).collect::<String>());
        let bare = texts.map(|text| text.trim().trim_end_matches(['.', ',', ';', ':', '!', '?']).to_owned());
        Level::Voted.without_repeats(bare)
    }

    /// `per-query` passages in all: the best of each query in turn.
    fn search(&self, ctx: &mut Ctx<'_>, queries: &[String]) -> Result<Vec<usize>> {
        let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
        let lists = search(ctx, &queries, self.top)?;
        let mut found = Vec::new();
        for rank in 0..self.top {
            join(&mut found, lists.iter().filter_map(|list| list.get(rank).copied()), self.top);
        }
        if found.is_empty() {
            ctx.fall_back("nothing was found: the sentence was written again without passages");
        }
        Ok(found)
    }

    /// A chain that states no answer is continued by the words that state one.
    fn finish(&self, question: &Question, ctx: &mut Ctx<'_>, chain: String, rounds: usize) -> Result<Conclusion> {
        ctx.fall_back("the chain stated no answer: it was continued by \"So the answer is:\"");
        // An empty chain would begin the reply with a space.
        let begun = format!("{chain} So the answer is:");
        let values = json!({ "question": question.text, "passages": [], "options": offered(question) });
        let ask = Ask::new("writer", STEP, values, &SHORT).round(rounds).prefill(begun.trim_start()).stop(["\n"]);
        let call = ctx.ask(short_answer(question, ask))?;
        Ok(Conclusion { rounds, explanation: chain, ..vote::reader(&call, ctx.documents()) })
    }
}

fn step(question: &Question, chain: &str, passages: &[String], round: usize) -> Ask {
    let values = json!({ "question": question.text, "passages": passages, "options": offered(question) });
    let format = if chain.is_empty() { &TEXT } else { &CONTINUATION };
    let ask = Ask::new("writer", STEP, values, format).round(round).max_tokens(SENTENCE_TOKENS).stop(["\n"]);
    let ask = ask.logprobs(Logprobs::default());
    if chain.is_empty() { ask } else { ask.prefill(chain) }
}

/// The chain and its next sentence.
fn joined(chain: &str, sentence: &str) -> String {
    if chain.is_empty() { sentence.to_owned() } else { format!("{chain} {sentence}") }
}

/// The parts of a reply's first sentence.
fn parts<'a>(call: &'a CallRecord, sentence: &str) -> Vec<ScoredText<'a>> {
    let end = call.reply.find(sentence).map_or(call.reply.len(), |at| at + sentence.len());
    let tokens = spans::ranges(&call.reply, &call.logprobs).into_iter().zip(&call.logprobs);
    // Control tokens have no text: their probability says nothing about the sentence.
    let within = tokens.filter(|(range, _)| !range.is_empty() && range.start < end);
    within.map(|(range, token)| (&call.reply[range], f64::from(exp_f32(token.logprob)))).collect()
}

/// The text after "the answer is" in a chain.
fn answer_in(chain: &str) -> Option<String> {
    // ASCII letters alone change case, so that a position in `lower` is one in `chain`.
    let lower = chain.to_ascii_lowercase();
    let at = lower.rfind("answer is")? + "answer is".len();
    let answer = chain[at..].trim().trim_start_matches(':').trim().trim_end_matches('.').trim();
    (!Level::Voted.words(answer).is_empty()).then(|| answer.to_owned())
}
