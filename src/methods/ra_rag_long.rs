//! RA-RAG for long texts ("Retrieval-Augmented Generation with Estimation of Source Reliability", appendices J and K): a draft is
//! broken down into facts, each source answers questions about each fact, and the text is written anew from the answers that win.

use crate::answers::equality;
use crate::answers::vote;
use crate::answers::words::Level;
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::equality::Equality;
use crate::protocol::formats::{ITEMS, SHORT, TEXT};
use crate::protocol::passages::{nearest, texts};
use crate::protocol::source_readers::{ALIGN, ALIGN_THRESHOLD, PER_SOURCE, READER, Source, gather, of_each, sources};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Answer, Conclusion, Question};
use crate::retrieval::Wanted;
use crate::transcript::{CallRecord, Parsed};
use serde_json::{Value, json};

const DRAFT: File = prompt_file!("ra_rag_long/draft.jinja");
const FACTS: File = prompt_file!("ra_rag_long/facts.jinja");
const QUESTIONS: File = prompt_file!("ra_rag_long/questions.jinja");
const SYNTHESIS: File = prompt_file!("ra_rag_long/synthesis.jinja");

/// Tokens of the draft and of the final text.
const TEXT_TOKENS: usize = 384;

/// The row of long texts.
pub(crate) static ROW: Row = Row {
    name: "ra-rag-long",
    paper: "Retrieval-Augmented Generation with Estimation of Source Reliability (arXiv 2410.22954), section 3.4 as appendices J and K extend it",
    about: "a long answer: sources answer questions about each fact of a draft, and weighted votes decide",
    protocol: "\
1. The writer drafts a text from the best `pool` documents of all sources; the decomposer lists its facts, at most `facts`.
2. The questioner writes `questions` questions about each fact, which the text around it explains.
3. Each source answers each question alone, as by ra-rag: keywords or unknown, `align`, malformed replies count as unknown.
   The paper's sources answer from their long responses; here from their documents.
4. Each question is decided by a weighted vote (`--source-weights`, else 1 each). One without a positive sum is left out.
5. The writer makes a text of the questions and their answers. Documents of a source that won more votes than it lost support it.
An empty draft or text is malformed. Where a list is malformed, the question itself, or the fact, is used instead; both are
recorded. Without a single answer nothing is written, and the conclusion is unknown.",
    calls: "3 + facts + facts x questions x sources, at most",
    headline: "",
    prompts: &[DRAFT, FACTS, QUESTIONS, READER, SYNTHESIS],
    formats: &[&TEXT, &ITEMS, &SHORT],
    roles: &["writer", "decomposer", "questioner", "reader"],
    switches: &[
        Switch { name: "facts", about: "facts of the draft that are checked", kind: Kind::Count(1, 50), default: "6" },
        Switch { name: "questions", about: "questions about a fact", kind: Kind::Count(1, 10), default: "3" },
        ALIGN,
        ALIGN_THRESHOLD,
        crate::protocol::equality::SWITCH,
        PER_SOURCE,
        Switch { name: "pool", about: "documents that the draft is written from", kind: Kind::Count(1, 100), default: "10" },
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs { equality: true, embedder: true, dense: true, ..Needs::PASSAGES },
    build,
};

struct RaRagLong {
    facts: usize,
    questions: usize,
    threshold: Option<f64>,
    equality: Equality,
    per_source: usize,
    pool: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(RaRagLong {
        facts: values.count("facts"),
        questions: values.count("questions"),
        threshold: values.flag("align").then(|| values.number("align-threshold")),
        equality: Equality::of(values),
        per_source: values.count("per-source"),
        pool: values.count("pool"),
    }))
}

/// A question about a fact, as the sources decided it.
struct Decided {
    question: String,
    answer: String,
    /// The sum of the votes for it.
    votes: f64,
    /// Each source's answer, by the source's index. Equal answers are written as the first of their class.
    said: Vec<Option<String>>,
}

impl Method for RaRagLong {
    fn weighs(&self) -> bool {
        true
    }

    fn wanted(&self, user: Wanted) -> Wanted {
        of_each(self.per_source, user.filter)
    }

    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        gather(ROW.name, question, self.per_source, ctx)?;
        let numbers = nearest(question, ctx, self.pool)?;
        let values = json!({ "question": question.text, "documents": texts(ctx, &numbers) });
        let draft = ctx.ask(Ask::new("writer", DRAFT, values, &TEXT).max_tokens(TEXT_TOKENS))?;
        let Parsed::Text(text) = &draft.parsed else {
            return Ok(Conclusion { malformed: true, rounds: 1, calls: vec![draft.number], ..Conclusion::default() });
        };
        let asked = self.questions(question, text, ctx)?;
        let sources = sources(ctx, true);
        let asks: Vec<Ask> = asked
            .iter()
            .enumerate()
            .flat_map(|(index, text)| sources.iter().map(move |source| source.ask(text).round(index + 1)))
            .collect();
        let replies = ctx.ask_all(&asks)?;
        let mut decided = Vec::new();
        // `gather` fails where nothing is found, so that there is a source, and chunks have a size.
        for (text, calls) in asked.iter().zip(replies.chunks(sources.len())) {
            decided.extend(self.decide(question, text, &sources, calls, ctx)?);
        }
        if decided.is_empty() {
            let malformed = replies.iter().all(|call| call.parsed == Parsed::Malformed);
            let calls = replies.iter().map(|call| call.number).collect();
            return Ok(Conclusion { malformed, rounds: 1, calls, ..Conclusion::default() });
        }
        let pairs: Vec<Value> =
            decided.iter().map(|pair| json!({ "question": pair.question, "answer": pair.answer })).collect();
        let values = json!({ "question": question.text, "pairs": pairs });
        let text = ctx.ask(Ask::new("writer", SYNTHESIS, values, &TEXT).round(2).max_tokens(TEXT_TOKENS))?;
        Ok(concluded(&text, &decided, &sources))
    }
}

impl RaRagLong {
    /// Questions about the facts of a draft, each once.
    fn questions(&self, question: &Question, draft: &str, ctx: &mut Ctx<'_>) -> Result<Vec<String>> {
        let items = |role: &str, prompt: File, values: Value, most: usize| {
            Ask::new(role, prompt, values, &ITEMS).format_values(json!({ "most": most }))
        };
        let values = json!({ "text": draft, "most": self.facts });
        let listed = ctx.ask(items("decomposer", FACTS, values, self.facts))?;
        let Some(facts) = list(&listed, self.facts) else {
            ctx.fall_back("the draft was not broken down into facts: the sources were asked the question itself");
            return Ok(vec![question.text.clone()]);
        };
        let ask = |fact: &String| {
            let values = json!({ "text": draft, "fact": fact, "most": self.questions });
            items("questioner", QUESTIONS, values, self.questions)
        };
        let replies = ctx.ask_all(&facts.iter().map(ask).collect::<Vec<_>>())?;
        let mut questions = Vec::new();
        for (fact, reply) in facts.into_iter().zip(&replies) {
            let written = list(reply, self.questions).unwrap_or_else(|| {
                ctx.fall_back(format!("no question about a fact: the sources were shown the fact ({fact})"));
                vec![fact]
            });
            questions.extend(written);
        }
        Ok(Level::Voted.without_repeats(questions))
    }

    /// The weighted vote on one question about a fact; `None` where no answer has a positive sum.
    fn decide(
        &self,
        question: &Question,
        text: &str,
        sources: &[Source],
        calls: &[CallRecord],
        ctx: &mut Ctx<'_>,
    ) -> Result<Option<Decided>> {
        let compared = self.equality.compared();
        let given: Vec<Option<String>> =
            sources.iter().zip(calls).map(|(source, call)| source.given(call, self.threshold, compared, ctx)).collect();
        let answers: Vec<&str> = given.iter().flatten().map(String::as_str).collect();
        // The answers answer this question about a fact, not that of the whole text.
        let asked = Question { id: question.id.clone(), text: text.to_owned(), ..Question::default() };
        let classes = self.equality.classes(&asked, &answers, ctx)?;
        let equal = equality::by_first(&answers, &classes);
        let answering = sources.iter().zip(&given).filter(|(_, given)| given.is_some());
        let votes = answering.map(|(source, _)| ctx.vote(source.numbers[0]));
        let best = vote::weighted_classes(equal.iter().copied().zip(votes)).into_iter().next();
        let Some((answer, votes)) = best.filter(|(_, votes)| *votes > 0.0) else { return Ok(None) };
        let mut equal = equal.iter();
        let said =
            given.iter().map(|given| given.as_ref().and_then(|_| equal.next()).map(|&text| text.to_owned())).collect();
        Ok(Some(Decided { question: text.to_owned(), answer, votes, said }))
    }
}

/// The items of a reply, at most `most`; `None` if it has none.
fn list(reply: &CallRecord, most: usize) -> Option<Vec<String>> {
    match &reply.parsed {
        Parsed::Answers { answers, .. } if !answers.is_empty() => Some(answers.iter().take(most).cloned().collect()),
        _ => None,
    }
}

/// The text with the documents of the sources that won more votes than they lost, and of those that lost more; outvoted answers
/// are rejected, each behind its question.
fn concluded(text: &CallRecord, decided: &[Decided], sources: &[Source]) -> Conclusion {
    let line = |pair: &Decided| format!("{} {} ({:.2})", pair.question, pair.answer, pair.votes);
    let conclusion = Conclusion {
        explanation: decided.iter().map(line).collect::<Vec<_>>().join("\n"),
        rounds: 1,
        calls: vec![text.number],
        ..Conclusion::default()
    };
    let Parsed::Text(written) = &text.parsed else { return Conclusion { malformed: true, ..conclusion } };
    let wins = |pair: &Decided, index: usize| -> i64 {
        pair.said[index].as_ref().map_or(0, |said| if *said == pair.answer { 1 } else { -1 })
    };
    let documents = |keep: &dyn Fn(usize) -> bool| -> Vec<usize> {
        let kept = sources.iter().enumerate().filter(|(index, _)| keep(*index));
        let mut numbers: Vec<usize> = kept.flat_map(|(_, source)| source.numbers.clone()).collect();
        numbers.sort_unstable();
        numbers
    };
    let balance = |index: usize| decided.iter().map(|pair| wins(pair, index)).sum::<i64>();
    let answer = Answer {
        supporters: documents(&|index| balance(index) > 0),
        opponents: documents(&|index| balance(index) < 0),
        ..Answer::new(written)
    };
    let mut rejected: Vec<Answer> = Vec::new();
    for pair in decided {
        let says = |answer: &str, index: usize| pair.said[index].as_deref() == Some(answer);
        // Answers were replaced by the first of their class.
        let mut other: Vec<&String> = Vec::new();
        for said in pair.said.iter().flatten().filter(|said| **said != pair.answer) {
            if !other.contains(&said) {
                other.push(said);
            }
        }
        rejected.extend(other.into_iter().map(|said| Answer {
            supporters: documents(&|index| says(said, index)),
            opponents: documents(&|index| says(&pair.answer, index)),
            ..Answer::new(&format!("{} {said}", pair.question))
        }));
    }
    Conclusion { answers: vec![answer], rejected, ..conclusion }
}
