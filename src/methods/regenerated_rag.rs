//! ConflictScore as feedback (ConflictScore, section 6): an answer whose claim the documents conflict about is given again with
//! the conflict shown. Without feedback this is the paper's RAG, with a warning its Control-RAG.

use crate::answers::vote;
use crate::answers::words::Level;
use crate::error::Result;
use crate::generation::{Message, Role};
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::claims::{CLAIM_LABEL, CLAIMS};
use crate::protocol::formats::TEXT;
use crate::protocol::labelling::decomposer::{self, DECOMPOSER, Extent, Text, decompose};
use crate::protocol::labelling::settings::{self, LABELS, Labelling, ORDER, TUNED};
use crate::protocol::labelling::{AGAIN as RETRY, LABEL_WEIGHTS, LABELLER, SCORED, judge};
use crate::protocol::passages::{all_texts, short_answer};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Answer, ClaimRelation, Conclusion, DocumentLabel, JudgedClaim, Question};
use crate::transcript::{CallRecord, Parsed};
use serde_json::{Value, json};

const READER: File = prompt_file!("regenerated_rag/reader.jinja");
const AGAIN: File = prompt_file!("regenerated_rag/again.jinja");

/// Claims of a free answer at most.
const MOST: usize = 8;

/// Regenerated-RAG's row.
pub(crate) static ROW: Row = Row {
    name: "regenerated-rag",
    paper: "ConflictScore, section 6, appendix B (tables 11 to 16)",
    about: "answers, labels the answer's claims against the documents, and answers again where they conflict",
    protocol: "\
1. The reader answers from all documents: freely, or with one of the question's options. With feedback=warning it is told
   first that documents may conflict (Control-RAG); with none it is not (RAG), and either answer is the conclusion.
2. With feedback=score (Regenerated-RAG) the claims of the answer (an option is one claim; of a free answer 8 at most) are
   labelled against every document.
3. Of the claims with supporters and contradictors, the one with most contradictors is shown to the reader with the
   documents for and against it, each with its quote. A quote that is not in its document is marked; without one the
   reason is shown. The reader answers again in the same chat. Without such a claim the first answer is kept.
A malformed second reply leaves the first answer, which is recorded as a fallback.",
    calls: "3 + claims x documents, at most; without a conflict 2 + claims x documents; feedback=warning and none 1; labels=scored one more a label for or against; labels=entailment one more a sentence of each document for or against, with a classifier no call for labels",
    headline: "TruthfulQA, gpt-4.1-mini, two options: RAG 84.21, Control-RAG 84.47, Regenerated-RAG 85.24 (table 5)",
    prompts: &[READER, AGAIN, DECOMPOSER, LABELLER, SCORED, RETRY],
    formats: &[&TEXT, &CLAIMS, &CLAIM_LABEL],
    roles: &["reader", decomposer::ROLE, settings::ROLE],
    switches: &[
        Switch {
            name: "feedback",
            about: "how the reader is told of conflicts: by its claims' labels, by a warning, or not at all",
            kind: Kind::Choice(&["score", "warning", "none"]),
            default: "score",
        },
        LABELS,
        LABEL_WEIGHTS,
        ORDER,
    ],
    presets: &[TUNED],
    // The paper names no limit, and its code is not published: as conflict-report, whose text is the longest.
    max_tokens: 512,
    needs: Needs { entailment: true, ..Needs::DOCUMENTS },
    build,
};

struct RegeneratedRag {
    scored: bool,
    warned: bool,
    labelling: Labelling,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    let feedback = values.choice("feedback").to_owned();
    match feedback.as_str() {
        "none" => values.set_label("rag"),
        "warning" => values.set_label("control-rag"),
        _ => {}
    }
    Ok(Box::new(RegeneratedRag {
        scored: feedback == "score",
        warned: feedback == "warning",
        labelling: Labelling::in_order(values)?,
    }))
}

impl Method for RegeneratedRag {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let texts = all_texts(question);
        let values = json!({
            "question": question.text, "documents": texts, "options": question.options, "warned": self.warned,
        });
        let first = ctx.ask(reader(question, READER, values))?;
        let given = vote::reader(&first, &question.documents);
        let Some(answer) = given.answers.first().map(|answer| answer.text.clone()).filter(|_| self.scored) else {
            return Ok(given);
        };
        let judged = self.judged(question, &answer, ctx)?;
        let given = Conclusion { claims: Some(judged), ..given };
        let judged = given.claims.as_deref().unwrap_or_default();
        let conflicting = judged.iter().filter(|claim| claim.conflicts());
        // Of equals the first.
        let Some(claim) = conflicting.rev().max_by_key(|claim| claim.of(ClaimRelation::Contradicts).count()) else {
            return Ok(given);
        };
        let said = Message::new(Role::Assistant, first.reply.clone());
        let turns = [first.messages.clone(), vec![said]].concat();
        let second = ctx.ask(reader(question, AGAIN, shown(question, claim)).round(2).after(turns))?;
        Ok(regenerated(question, given, &answer, &second, ctx))
    }
}

impl RegeneratedRag {
    /// The labelled claims of an answer; a chosen option is one claim.
    fn judged(&self, question: &Question, answer: &str, ctx: &mut Ctx<'_>) -> Result<Vec<JudgedClaim>> {
        let extent = if question.options.is_empty() { Extent::All } else { Extent::Whole };
        let asked = if question.options.is_empty() { question.text.as_str() } else { "" };
        let text = Text { question: asked, text: answer, from: None };
        let claims = decompose(ctx, &[text], extent, MOST)?.into_iter().flatten();
        judge(ctx, &self.labelling, claims.map(|claim| (claim, None)).collect())
    }
}

fn reader(question: &Question, prompt: File, values: Value) -> Ask {
    short_answer(question, Ask::new("reader", prompt, values, &TEXT))
}

/// The values of a claim in the second prompt: every document whose label counts.
fn shown(question: &Question, claim: &JudgedClaim) -> Value {
    let documents = |relation| -> Vec<Value> { claim.of(relation).map(evidence).collect() };
    json!({
        "claim": claim.text,
        "supporters": documents(ClaimRelation::Supports),
        "contradictors": documents(ClaimRelation::Contradicts),
        "options": question.options,
    })
}

/// A document for or against a claim. A label may count although the document does not have its quote (`Quotes::Any`);
/// the words that the labeller gave are not `exact` then.
fn evidence(label: &DocumentLabel) -> Value {
    let text = label.quote.as_ref().map_or(label.misquote.as_str(), |quote| &quote.text);
    let (document, exact) = (label.document + 1, label.quote.is_some());
    json!({ "document": document, "text": text, "exact": exact, "reason": label.reason })
}

/// The second answer, with the first one as rejected where they differ. The claims are the first answer's.
fn regenerated(
    question: &Question,
    given: Conclusion,
    first: &str,
    second: &CallRecord,
    ctx: &mut Ctx<'_>,
) -> Conclusion {
    if second.parsed == Parsed::Malformed {
        ctx.fall_back("the second answer was malformed: the first one was kept");
        return given;
    }
    let again = vote::reader(second, &question.documents);
    let changed = again.answers.iter().all(|answer| !Level::Voted.equal(&answer.text, first));
    let rejected = if changed { vec![Answer::new(first)] } else { Vec::new() };
    Conclusion { rejected, rounds: 2, converged: !changed, claims: given.claims, ..again }
}
