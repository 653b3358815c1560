//! `moot sources report`.

use crate::answers::align;
use crate::cli::args::values;
use crate::cli::terminal::columns::printable;
use crate::cli::terminal::output;
use crate::cli::terminal::tell;
use crate::error::{MootError, Result};
use crate::eval::record::reader::Record;
use crate::eval::sources::labels::Labels;
use crate::eval::sources::tables::{AnswerTypes, Cost, KINDS, TYPES, asked, costs};
use crate::sources::SourceWeights;
use crate::transcript::QuestionRecord;
use crate::workspace::share;
use std::path::PathBuf;

/// Print the answers of recorded sources by the kind of their documents, and the cost of asking them (RA-RAG, table 1, figure 6)
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Records in which every source was asked (ra-rag --variant wmv)
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// The corpus.jsonl of a built benchmark, for the labels of retrieved passages (an index has no labels)
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Weights of sources, the order in which kappa-RRSS asks [default: the documents' order]
    #[arg(long, value_name = "FILE")]
    source_weights: Option<PathBuf>,
    /// Number of answers after which kappa-RRSS asks no further source
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = values::count, allow_negative_numbers = true)]
    kappa: usize,
    /// ROUGE-1 precision below which `f_align` drops an answer
    #[arg(long, alias = "align", value_name = "P", default_value_t = align::LEAST, value_parser = values::number::<f64>)]
    #[arg(allow_negative_numbers = true)]
    align_threshold: f64,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let least = args.align_threshold;
    share("--align-threshold", least)?;
    let weights = args.source_weights.as_deref().map(SourceWeights::read).transpose()?;
    let mut questions: Vec<QuestionRecord> = Vec::new();
    for path in &args.records {
        questions.extend(Record::read(path)?.questions);
    }
    if let Some(labels) = args.labels.as_deref().map(Labels::read).transpose()? {
        questions.iter_mut().for_each(|question| labels.apply(question));
    }
    if let Some((weights, identity)) = &weights {
        weights.unknown(&identity.name, &asked(&questions)).iter().for_each(|line| tell(line));
    }
    let costs = costs(&questions, weights.as_ref().map(|(weights, _)| weights), args.kappa, least);
    if costs.is_empty() {
        return Err(MootError::Input {
            path: args.records[0].clone(),
            line: None,
            expected: "a record of a method that asks each source alone (ra-rag --variant wmv)".into(),
            found: format!("{} questions without a call for a document", questions.len()),
        });
    }
    let types = AnswerTypes::of(&questions, least);
    let labelled: usize = (0..KINDS.len()).map(|kind| types.total(kind)).sum();
    let mut text = if labelled == 0 {
        "No document has a label that says whether it is factual: answer types are not known.\n".to_owned()
    } else {
        table_of_types(&types)
    };
    text.push_str(&table_of_costs(&costs, args.kappa));
    output::print(&printable_lines(&text))
}

fn printable_lines(text: &str) -> String {
    text.lines().map(|line| printable(line) + "\n").collect()
}

/// A Markdown table: a row a type of answer, without the filter and with it.
fn table_of_types(types: &AnswerTypes) -> String {
    let head: String = (0..3).map(|kind| format!(" {} ({}) |", KINDS[kind], types.total(kind))).collect();
    let mut text = format!("| answers | f_align |{head}\n|---|---|---|---|---|\n");
    for (index, name) in TYPES.iter().enumerate() {
        for (filter, with) in ["without", "with"].iter().enumerate() {
            let share = |kind: usize| match types.total(kind) {
                0 => " - |".to_owned(),
                all => format!(" {:.1} % |", 100.0 * types.counts[filter][kind][index] as f64 / all as f64),
            };
            text.push_str(&format!("| {name} | {with} |{}\n", (0..3).map(share).collect::<String>()));
        }
    }
    text + "\n"
}

fn table_of_costs(costs: &[Cost], kappa: usize) -> String {
    let mut text = format!(
        "| sources | WMV: tokens | kappa-RRSS, kappa {kappa}: sources asked | tokens | of WMV's |\n|---|---|---|---|---|\n"
    );
    for Cost { sources, all, selected } in costs {
        let share = 100.0 * selected.tokens / all.tokens.max(1.0);
        text.push_str(&format!(
            "| {sources} | {:.0} | {:.2} | {:.0} | {share:.0} % |\n",
            all.tokens, selected.sources, selected.tokens
        ));
    }
    text
}
