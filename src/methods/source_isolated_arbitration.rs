//! Source-isolated arbitration (public work of 2026, without a paper): copies are one source unit, each unit is read once, and
//! one call arbitrates between the answers over their evidence sentences.

use crate::answers::words::Level;
use crate::answers::{evidence, vote};
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{ANSWER, ANSWERS};
use crate::protocol::passages::{provenance, shown};
use crate::protocol::switches::Values;
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Document, Question};
use crate::retrieval::fold;
use crate::transcript::{CallRecord, Parsed};
use serde_json::{Value, json};

const EXTRACTOR: File = prompt_file!("source_isolated_arbitration/extractor.jinja");
const ARBITER: File = prompt_file!("source_isolated_arbitration/arbiter.jinja");

/// Source-isolated arbitration's row.
pub(crate) static ROW: Row = Row {
    name: "source-isolated-arbitration",
    paper: "none; public work of 2026, section \"source-isolated arbitration\" of its description",
    about: "copies count once, each source is read alone, one call arbitrates over evidence sentences",
    protocol: "\
1. Documents that say the same in the same words are one source unit.
2. The extractor reads the first document of each unit alone, and gives an answer with the sentence that states it, or
   unknown. A malformed reply gives no answer.
3. Equal answers are grouped, with their evidence: the sentence of the document that holds the answer. Where none does, the
   sentence that the extractor gave is used, which is a fallback.
4. The arbiter reads the groups, and lists all correct answers; a malformed list leaves none. With a single group there is
   nothing to arbitrate: its answer is the conclusion; with none the conclusion is unknown.",
    calls: "documents + 1, at most; copies count once, and a single answer needs no arbiter",
    headline: "RAMDocs strict EM: GPT-4o-mini 42.4, MADAM-RAG 32.6 by the same scorer",
    prompts: &[EXTRACTOR, ARBITER],
    formats: &[&ANSWER, &ANSWERS],
    roles: &["extractor", "arbiter"],
    switches: &[],
    presets: &[],
    max_tokens: 128,
    needs: Needs::DOCUMENTS,
    build,
};

struct Arbitration;

fn build(_: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(Arbitration))
}

/// An answer, and the sentences that state it, each after the metadata of its document.
struct Group {
    answer: String,
    evidence: Vec<String>,
}

impl Method for Arbitration {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let units = units(&question.documents);
        let asks: Vec<Ask> = units.iter().map(|unit| extractor(question, unit[0])).collect();
        let replies = ctx.ask_all(&asks)?;
        let mut stances: Vec<Option<&str>> = vec![None; question.documents.len()];
        for (unit, call) in units.iter().zip(&replies) {
            unit.iter().for_each(|&index| stances[index] = call.answer());
        }
        let groups = groups(question, &replies, ctx);
        let malformed = replies.iter().all(|call| call.parsed == Parsed::Malformed);
        let (concluded, explanation, malformed, calls) = if groups.len() < 2 {
            let calls = replies.iter().map(|call| call.number).collect();
            (groups.iter().map(|group| group.answer.clone()).collect(), String::new(), malformed, calls)
        } else {
            let verdict = ctx.ask(arbiter(question, &groups))?;
            match verdict.parsed {
                Parsed::Answers { answers, explanation } => (answers, explanation, false, vec![verdict.number]),
                _ => (Vec::new(), String::new(), true, vec![verdict.number]),
            }
        };
        let (answers, rejected) = vote::by_stance(&concluded, &stances);
        Ok(Conclusion { answers, rejected, explanation, malformed, calls, rounds: 1, ..Conclusion::default() })
    }
}

/// Documents by source unit: the indices of those that have the same words.
fn units(documents: &[Document]) -> Vec<Vec<usize>> {
    let texts: Vec<&str> = documents.iter().map(|document| document.text.as_str()).collect();
    fold::groups(&texts)
}

fn extractor(question: &Question, index: usize) -> Ask {
    let values = json!({ "question": question.text, "document": shown(&question.documents[index]) });
    Ask::new("extractor", EXTRACTOR, values, &ANSWER).document(index)
}

fn groups(question: &Question, replies: &[CallRecord], ctx: &mut Ctx<'_>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for call in replies {
        let Some(answer) = call.answer() else { continue };
        let Some(document) = call.document.and_then(|index| question.documents.get(index)) else { continue };
        let sentence = evidence::sentence(&document.text, answer, &question.text).unwrap_or_else(|| {
            ctx.fall_back("no sentence of the source holds its answer: the extractor's own words are the evidence");
            call.explanation().unwrap_or_default().to_owned()
        });
        let evidence = match provenance(document) {
            Some(known) => format!("{known} {sentence}"),
            None => sentence,
        };
        match groups.iter_mut().find(|group| Level::Voted.equal(&group.answer, answer)) {
            Some(group) => group.evidence.push(evidence),
            None => groups.push(Group { answer: answer.to_owned(), evidence: vec![evidence] }),
        }
    }
    groups
}

fn arbiter(question: &Question, groups: &[Group]) -> Ask {
    let groups: Vec<Value> =
        groups.iter().map(|group| json!({ "answer": group.answer, "evidence": group.evidence })).collect();
    Ask::new("arbiter", ARBITER, json!({ "question": question.text, "groups": groups }), &ANSWERS)
}
