//! Documents for a benchmark of sources (RA-RAG, section 4 and appendix F): of a question with its right answer, paraphrases of
//! documents that hold it, and documents for invented wrong answers. `moot sources build` deals them to sources.
//!
//! It makes data and answers nothing, so unlike other methods it reads the dataset's right answers.

use crate::answers::words::Level;
use crate::error::{MootError, Result};
use crate::generation::Sampling;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{CHOICE, ITEMS, TEXT};
use crate::protocol::passages::{given_or_found, texts};
use crate::protocol::readers::SAMPLING;
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Answer, Conclusion, Gold, Question};
use crate::transcript::{CallRecord, Parsed};
use serde_json::json;

const FILTER: File = prompt_file!("source_pools/filter.jinja");
/// The prompt of paraphrases: its calls hold the factual documents.
pub(crate) const PARAPHRASE: File = prompt_file!("source_pools/paraphrase.jinja");
const COUNTERFACTUALS: File = prompt_file!("source_pools/counterfactuals.jinja");
/// The prompt of documents for a wrong answer, which [`CallRecord::about`] names.
pub(crate) const MISINFORMATION: File = prompt_file!("source_pools/misinformation.jinja");

/// Tokens of a text of about 50 words.
const TEXT_TOKENS: usize = 160;
/// The filter's verdicts.
const VERDICTS: [&str; 2] = ["yes", "no"];

/// The row of the documents of a benchmark.
pub(crate) static ROW: Row = Row {
    name: "source-pools",
    paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (arXiv 2410.22954), section 4 and appendix F",
    about: "makes documents for a benchmark of sources: paraphrases of right ones, and documents for wrong answers",
    protocol: "\
1. The filter reads the question with its right answers, and says whether it is closed-ended, with a single one. Where it does
   not, or the verdict is malformed, nothing is made.
2. Of the question's documents, or of `per-query` passages, the first `contexts` that hold a right answer are taken. Without one
   nothing is made.
3. The paraphraser writes `paraphrases` texts about these in turn, sampled.
4. The inventor lists `wrong` wrong answers. One that holds a right answer, or is held by one, is left out.
5. The liar writes `lies` documents for each, sampled.
The conclusion is the right answer, with the wrong ones as rejected. Texts without their answer, and documents for a wrong answer
that hold a right one, are left out by `moot sources build`, as the paper does. An empty or malformed reply is left out.",
    calls: "2 + paraphrases + wrong x lies, at most (38 by default)",
    headline: "",
    prompts: &[FILTER, PARAPHRASE, COUNTERFACTUALS, MISINFORMATION],
    formats: &[&CHOICE, &TEXT, &ITEMS],
    roles: &["filter", "paraphraser", "inventor", "liar"],
    switches: &[
        Switch { name: "contexts", about: "documents that are paraphrased", kind: Kind::Count(1, 16), default: "2" },
        Switch { name: "paraphrases", about: "factual documents of a question", kind: Kind::Count(1, 32), default: "9" },
        Switch { name: "wrong", about: "wrong answers of a question", kind: Kind::Count(1, 32), default: "9" },
        Switch { name: "lies", about: "documents for a wrong answer", kind: Kind::Count(1, 9), default: "3" },
        Switch { name: "per-query", about: "passages retrieved for the question", kind: Kind::Count(1, 100), default: "10" },
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs::PASSAGES,
    build,
};

struct SourcePools {
    contexts: usize,
    paraphrases: usize,
    wrong: usize,
    lies: usize,
    top: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(SourcePools {
        contexts: values.count("contexts"),
        paraphrases: values.count("paraphrases"),
        wrong: values.count("wrong"),
        lies: values.count("lies"),
        top: values.count("per-query"),
    }))
}

impl Method for SourcePools {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let right: Vec<&str> = question.gold.iter().flat_map(Gold::aliases).collect();
        let Some(answer) = right.first() else {
            let id = &question.id;
            return Err(MootError::Question(format!("source-pools needs a right answer, question {id:?} has none")));
        };
        let values = json!({ "question": question.text, "right": right });
        let verdict = ctx.ask(Ask::new("filter", FILTER, values, &CHOICE).options(VERDICTS))?;
        if !matches!(verdict.parsed, Parsed::Choice { option: 0, .. }) {
            return Ok(nothing(&verdict, "the question is not closed-ended"));
        }
        let contexts = self.contexts(question, &right, ctx)?;
        if contexts.is_empty() {
            return Ok(nothing(&verdict, "no document holds a right answer"));
        }
        let mut calls = vec![verdict.number];
        calls.extend(self.paraphrase(question, answer, &contexts, ctx)?);
        let (listed, wrong) = self.invent(question, answer, &right, ctx)?;
        calls.push(listed);
        calls.extend(self.lie(question, &wrong, ctx)?);
        Ok(Conclusion {
            answers: vec![Answer { supporters: contexts, ..Answer::new(answer) }],
            rejected: wrong.iter().map(|wrong| Answer::new(wrong)).collect(),
            rounds: 1,
            calls,
            ..Conclusion::default()
        })
    }
}

impl SourcePools {
    /// The numbers of the documents that are paraphrased.
    fn contexts(&self, question: &Question, right: &[&str], ctx: &mut Ctx<'_>) -> Result<Vec<usize>> {
        let numbers = given_or_found(ctx, question, self.top)?;
        let read = texts(ctx, &numbers);
        let holds = |text: &String| right.iter().any(|right| Level::Scored.contains(text, right));
        let held = numbers.into_iter().zip(&read).filter(|(_, text)| holds(text)).map(|(number, _)| number);
        Ok(held.take(self.contexts).collect())
    }

    /// The calls that paraphrase `contexts` in turn; their numbers.
    fn paraphrase(
        &self,
        question: &Question,
        answer: &str,
        contexts: &[usize],
        ctx: &mut Ctx<'_>,
    ) -> Result<Vec<usize>> {
        let read = texts(ctx, contexts);
        let ask = |(index, text): (usize, &String)| {
            let values = json!({ "question": question.text, "answer": answer, "document": text });
            // Dealt in turn: of nine paraphrases two contexts get five and four.
            let samples = (self.paraphrases + contexts.len() - 1 - index) / contexts.len();
            let ask = Ask::new("paraphraser", PARAPHRASE, values, &TEXT).document(contexts[index]);
            varied(ask, ctx).samples(samples).max_tokens(TEXT_TOKENS)
        };
        let asks: Vec<Ask> = read.iter().enumerate().map(ask).filter(|ask| ask.samples > 0).collect();
        Ok(ctx.ask_all(&asks)?.iter().map(|call| call.number).collect())
    }

    /// The call that lists wrong answers, and those that can be used.
    fn invent(
        &self,
        question: &Question,
        answer: &str,
        right: &[&str],
        ctx: &mut Ctx<'_>,
    ) -> Result<(usize, Vec<String>)> {
        let values = json!({ "question": question.text, "answer": answer, "most": self.wrong });
        let ask = Ask::new("inventor", COUNTERFACTUALS, values, &ITEMS).format_values(json!({ "most": self.wrong }));
        let call = ctx.ask(ask)?;
        let Parsed::Answers { answers, .. } = &call.parsed else {
            ctx.fall_back("no wrong answers could be read: there are no documents for any");
            return Ok((call.number, Vec::new()));
        };
        let apart = |wrong: &&String| !right.iter().any(|right| Level::Scored.overlap(wrong, right));
        let mut wrong: Vec<String> = Level::Scored.without_repeats(answers.iter().filter(apart).cloned());
        wrong.truncate(self.wrong);
        Ok((call.number, wrong))
    }

    /// The calls that write documents for each of `wrong`; their numbers.
    fn lie(&self, question: &Question, wrong: &[String], ctx: &mut Ctx<'_>) -> Result<Vec<usize>> {
        let ask = |answer: &String| {
            let values = json!({ "question": question.text, "answer": answer });
            let ask = Ask::new("liar", MISINFORMATION, values, &TEXT).about(answer.clone());
            varied(ask, ctx).samples(self.lies).max_tokens(TEXT_TOKENS)
        };
        let asks: Vec<Ask> = wrong.iter().map(ask).collect();
        Ok(ctx.ask_all(&asks)?.iter().map(|call| call.number).collect())
    }
}

/// The call with samples that differ.
fn varied(ask: Ask, ctx: &Ctx<'_>) -> Ask {
    if ctx.settings().sampling == Sampling::Greedy { ask.sampling(SAMPLING) } else { ask }
}

/// The conclusion of a question of which nothing is made.
fn nothing(verdict: &CallRecord, why: &str) -> Conclusion {
    Conclusion {
        explanation: why.to_owned(),
        malformed: verdict.parsed == Parsed::Malformed,
        rounds: 1,
        calls: vec![verdict.number],
        ..Conclusion::default()
    }
}
