//! Reports from documents that may conflict, in three strengths of prompt, with ConflictScore of each (ConflictScore, section 5).

use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::claims::{CLAIM_LABEL, CLAIMS};
use crate::protocol::formats::TEXT;
use crate::protocol::labelling::decomposer::{self, DECOMPOSER, Extent, Text, decompose};
use crate::protocol::labelling::settings::{self, LABELS, Labelling, ORDER, TUNED};
use crate::protocol::labelling::{AGAIN, LABEL_WEIGHTS, LABELLER, SCORED, judge};
use crate::protocol::passages::all_texts;
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Answer, Conclusion, Question};
use crate::transcript::Parsed;
use serde_json::json;

const REPORT: File = prompt_file!("conflict_report/report.jinja");

/// Tokens of a report: three paragraphs. The paper names no limit, and its code is not published.
const REPORT_TOKENS: usize = 512;

/// Claims of a report at most.
const MOST: usize = 40;

/// The row of reports.
pub(crate) static ROW: Row = Row {
    name: "conflict-report",
    paper: "ConflictScore, section 5, appendix B (tables 8 to 10)",
    about: "a report from all documents, with ConflictScore of its claims",
    protocol: "\
1. The writer writes a report on the question's text from all documents, at most three paragraphs. `strength` chooses
   the instructions on conflicts: none (plain), to hedge (balanced), or detailed rules (super-balanced).
2. The report's claims, 40 at most, are labelled against every document, as by conflict-score. The scores cs-c and cs-r are the
   result.
An empty report is malformed.",
    calls: "2 + claims x documents, where the report is one part; a longer report has more parts; labels=scored one more a label for or against; labels=entailment one more a sentence of each document for or against, with a classifier no call for labels",
    headline: "ConflictingQA, 100 reports: GPT-4.1 CS-C 0.524 plain, 0.523 balanced, 0.543 super-balanced (table 3)",
    prompts: &[REPORT, DECOMPOSER, LABELLER, SCORED, AGAIN],
    formats: &[&TEXT, &CLAIMS, &CLAIM_LABEL],
    roles: &["writer", decomposer::ROLE, settings::ROLE],
    switches: &[
        Switch {
            name: "strength",
            about: "instructions on conflicts in the writer's prompt",
            kind: Kind::Choice(&["plain", "balanced", "super-balanced"]),
            default: "plain",
        },
        LABELS,
        LABEL_WEIGHTS,
        ORDER,
    ],
    presets: &[TUNED],
    max_tokens: REPORT_TOKENS,
    needs: Needs { entailment: true, ..Needs::DOCUMENTS },
    build,
};

struct ConflictReport {
    strength: String,
    labelling: Labelling,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(ConflictReport {
        strength: values.choice("strength").to_owned(),
        labelling: Labelling::in_order(values)?,
    }))
}

impl Method for ConflictReport {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let texts = all_texts(question);
        let values = json!({ "question": question.text, "documents": texts, "strength": self.strength });
        let call = ctx.ask(Ask::new("writer", REPORT, values, &TEXT).max_tokens(REPORT_TOKENS))?;
        let concluded = Conclusion { rounds: 1, calls: vec![call.number], ..Conclusion::default() };
        let Parsed::Text(report) = &call.parsed else { return Ok(Conclusion { malformed: true, ..concluded }) };
        // A report states its claims in full; a question only makes a short answer a statement.
        let text = Text { question: "", text: report, from: None };
        let claims = decompose(ctx, &[text], Extent::All, MOST)?.into_iter().flatten();
        let judged = judge(ctx, &self.labelling, claims.map(|claim| (claim, None)).collect())?;
        Ok(Conclusion { answers: vec![Answer::new(report)], claims: Some(judged), ..concluded })
    }
}
