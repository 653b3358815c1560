//! Self-RAG (Asai et al., arXiv 2310.11511), as MADAM-RAG runs it (section 5.1): one response a document, each with a critique
//! of relevance, support and utility; an aggregator reads them all, or the best one is the answer.

use crate::answers::vote;
use crate::answers::words::Level;
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{ANSWER, ANSWERS, CHOICE, SCORES, TEXT};
use crate::protocol::passages::{given_or_found, texts};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Answer, Conclusion, Question};
use crate::transcript::Parsed;
use critique::{Response, SelfRag};
use prompted::{RELEVANCE, RESPONSE, RETRIEVE, SUPPORT, UTILITY};
use serde_json::json;
use tokens::{GENERATOR, Tokens};

mod beam;
mod critique;
mod prompted;
mod tokens;

const AGGREGATOR: File = prompt_file!("self_rag/aggregator.jinja");

/// Self-RAG's row.
pub(crate) static ROW: Row = Row {
    name: "self-rag",
    paper: "Self-RAG (arXiv 2310.11511), section 3.3; Retrieval-Augmented Generation with Conflicting Evidence (arXiv 2504.13079), section 5.1",
    about: "one response a document, each with the model's own critique; an aggregator or the best score decides",
    protocol: "\
1. Documents are read where P([Retrieval]) over both retrieval tokens exceeds `threshold` (0: always); else the generator
   answers from memory.
2. The generator responds to each document. Relevance is P([Relevant]) after the document, support P(fully) + 0.5 P(partially)
   at the support token, utility the mean of -1 to 1 at the utility token; a token that does not come scores 0.
3. A score is their sum with weights, and exp(mean log-probability) with `sequence-score`.
4. The aggregator reads all responses with their critiques (`selection=aggregate`; a malformed list leaves no answer), or the
   best score wins (`original`; of a question with options, the best sum over equal answers; a malformed response cannot win).
`long`: a segment ends where retrieval is wanted again; each of the `beam-width` best answers so far goes on from each document,
up to `max-depth` segments. An answer's score is the mean of its segments' (the paper leaves open how they add up).
`prompted`: P(yes) over yes and no (a reply where nothing is scored), critiques in words, of the same values; a malformed one 0.",
    calls: "documents + 2; prompted 4 x documents + 3; original 1 less; from memory 2, prompted 3; threshold 0 saves the decision; \
            long 1 + documents x (1 + beam-width x (max-depth - 1)), at most",
    headline: "RAMDocs strict EM: SelfRAG-Llama2-13B 26.80 (MADAM-RAG, table 1)",
    prompts: &[GENERATOR, RETRIEVE, RESPONSE, RELEVANCE, SUPPORT, UTILITY, AGGREGATOR],
    formats: &[&TEXT, &ANSWER, &CHOICE, &ANSWERS, &SCORES],
    roles: &["generator", "aggregator"],
    switches: &[
        Switch {
            name: "selection",
            about: "an aggregator reads all responses, or the best one is the answer",
            kind: Kind::Choice(&["aggregate", "original"]),
            default: "aggregate",
        },
        Switch {
            name: "prompted",
            about: "critiques are asked in words, for models without Self-RAG's tokens",
            kind: Kind::Flag,
            default: "false",
        },
        Switch {
            name: "threshold",
            about: "least probability of retrieval that reads documents; 0 always reads them",
            kind: Kind::Number(0.0, 1.0),
            default: "0.2",
        },
        Switch {
            name: "w-relevance",
            about: "weight of relevance",
            kind: Kind::Number(0.0, 10.0),
            default: "1",
        },
        Switch { name: "w-support", about: "weight of support", kind: Kind::Number(0.0, 10.0), default: "1" },
        Switch { name: "w-utility", about: "weight of utility", kind: Kind::Number(0.0, 10.0), default: "0.5" },
        Switch {
            name: "sequence-score",
            about: "adds exp(mean log-probability of the response's tokens)",
            kind: Kind::Flag,
            default: "false",
        },
        Switch {
            name: "long",
            about: "the answer is built by a beam search over segments (selection original, with the sequence score)",
            kind: Kind::Flag,
            default: "false",
        },
        Switch {
            name: "beam-width",
            about: "with long: answers kept after each segment",
            kind: Kind::Count(1, 16),
            default: "2",
        },
        Switch {
            name: "max-depth",
            about: "with long: segments of an answer at most",
            kind: Kind::Count(1, 16),
            default: "7",
        },
        Switch { name: "per-query", about: "passages retrieved for the question", kind: Kind::Count(1, 100), default: "10" },
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs::PASSAGES,
    build,
};

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let prompted = values.flag("prompted");
    if prompted {
        values.set_label("self-rag (prompted)");
    }
    if values.flag("long") {
        if prompted {
            return Err(values.wrong("long=true ends segments by tokens: expected no prompted=true"));
        }
        if values.is_typed("selection") && values.choice("selection") == "aggregate" {
            return Err(
                values.wrong("long=true takes the best of its beam: expected selection=original, found aggregate")
            );
        }
        values.set("selection", "original");
        if !values.is_typed("sequence-score") {
            values.set("sequence-score", true);
        }
    }
    Ok(Box::new(SelfRag {
        aggregate: values.choice("selection") == "aggregate",
        prompted,
        threshold: values.number("threshold"),
        weights: ["w-relevance", "w-support", "w-utility"].map(|name| values.number(name)),
        sequence_score: values.flag("sequence-score"),
        long: values.flag("long"),
        beam_width: values.count("beam-width"),
        max_depth: values.count("max-depth"),
        top: values.count("per-query"),
    }))
}

/// Judges decisions and responses: by control tokens, or in words.
enum Critic {
    Tokens(Tokens),
    Words,
}

impl Method for SelfRag {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let critic = if self.prompted { Critic::Words } else { Critic::Tokens(Tokens::of(ctx)?) };
        if !self.reads_documents(question, ctx, &critic)? {
            return self.answer_from_memory(question, ctx, &critic);
        }
        let mut numbers = given_or_found(ctx, question, self.top)?;
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            ctx.fall_back("nothing was found: the generator answered from memory");
            return self.answer_from_memory(question, ctx, &critic);
        }
        if let (true, Critic::Tokens(tokens)) = (self.long, &critic) {
            return beam::answer(self, tokens, question, ctx, &numbers);
        }
        let documents = texts(ctx, &numbers);
        let responses = match &critic {
            Critic::Tokens(tokens) => {
                let asks = numbers.iter().zip(&documents);
                let asks: Vec<Ask> =
                    asks.map(|(&number, text)| tokens.respond(question, text).document(number)).collect();
                ctx.ask_all(&asks)?.iter().map(|call| tokens.read(call, self.sequence_score)).collect()
            }
            Critic::Words => prompted::respond(question, ctx, &numbers, &documents, self.sequence_score)?,
        };
        let mut stances: Vec<Option<&str>> = vec![None; ctx.documents().len()];
        for (&number, response) in numbers.iter().zip(&responses) {
            stances[number] = response.answer.as_deref();
        }
        if self.aggregate {
            self.aggregated(question, ctx, &responses, &stances)
        } else {
            Ok(self.selected(question, &responses, &stances))
        }
    }
}

impl SelfRag {
    /// Section 3.3, adaptive retrieval.
    fn reads_documents(&self, question: &Question, ctx: &mut Ctx<'_>, critic: &Critic) -> Result<bool> {
        if self.threshold == 0.0 {
            return Ok(true);
        }
        let probability = match critic {
            Critic::Tokens(tokens) => tokens.retrieval(&ctx.ask(tokens.decide(question))?),
            Critic::Words => prompted::retrieval(question, ctx)?,
        };
        Ok(probability > self.threshold)
    }

    fn answer_from_memory(&self, question: &Question, ctx: &mut Ctx<'_>, critic: &Critic) -> Result<Conclusion> {
        let response = match critic {
            Critic::Tokens(tokens) => tokens.read(&ctx.ask(tokens.remember(question))?, false),
            Critic::Words => prompted::read(&ctx.ask(prompted::ask(question, None))?),
        };
        let answers: Vec<Answer> =
            response.answer.iter().map(|answer| vote::mentioned(answer, ctx.documents())).collect();
        Ok(Conclusion {
            answers,
            explanation: "from memory".into(),
            malformed: response.malformed,
            rounds: 1,
            calls: vec![response.call],
            ..Conclusion::default()
        })
    }

    /// MADAM-RAG, section 5.1: all responses with their critiques.
    fn aggregated(
        &self,
        question: &Question,
        ctx: &mut Ctx<'_>,
        responses: &[Response],
        stances: &[Option<&str>],
    ) -> Result<Conclusion> {
        let shown = responses.iter().enumerate();
        let shown: Vec<String> = shown
            .map(|(index, response)| {
                format!("Response {} ({}): {}", index + 1, self.critique_line(&response.critique), response.text)
            })
            .collect();
        let values = json!({ "question": question.text, "responses": shown });
        let verdict = ctx.ask(Ask::new("aggregator", AGGREGATOR, values, &ANSWERS))?;
        let concluded = Conclusion { rounds: 1, calls: vec![verdict.number], ..Conclusion::default() };
        let Parsed::Answers { answers, explanation } = verdict.parsed else {
            let (answers, rejected) = vote::by_stance(&[], stances);
            return Ok(Conclusion { answers, rejected, malformed: true, ..concluded });
        };
        let (answers, rejected) = vote::by_stance(&answers, stances);
        Ok(Conclusion { answers, rejected, explanation, ..concluded })
    }

    /// Section 3.3: the response with the best score; of a question with options, the answer with the best sum of scores.
    fn selected(&self, question: &Question, responses: &[Response], stances: &[Option<&str>]) -> Conclusion {
        let given: Vec<(&str, &Response)> =
            responses.iter().filter_map(|response| Some((response.answer.as_deref()?, response))).collect();
        let scored = || given.iter().map(|(answer, response)| (*answer, self.score(&response.critique)));
        let best = if question.options.is_empty() {
            // `max_by` gives the last of equals: from the back, that is the first response.
            let best = scored().rev().max_by(|(_, a), (_, b)| a.total_cmp(b));
            best.map(|(answer, _)| answer.to_owned())
        } else {
            vote::weighted(scored()).into_iter().next().map(|(answer, _)| answer)
        };
        let Some(best) = best else {
            let calls = responses.iter().map(|response| response.call).collect();
            let malformed = responses.iter().all(|response| response.malformed);
            return Conclusion { malformed, rounds: 1, calls, ..Conclusion::default() };
        };
        let behind = given.iter().filter(|(answer, _)| Level::Voted.equal(answer, &best));
        let behind: Vec<&Response> = behind.map(|(_, response)| *response).collect();
        let line = |response: &&Response| format!("{} ({})", response.text, self.critique_line(&response.critique));
        let explanation = behind.iter().map(line);
        let explanation = explanation.collect::<Vec<_>>().join("\n");
        let calls = behind.iter().map(|response| response.call).collect();
        let (answers, rejected) = vote::by_stance(&[best], stances);
        Conclusion { answers, rejected, explanation, rounds: 1, calls, ..Conclusion::default() }
    }
}
