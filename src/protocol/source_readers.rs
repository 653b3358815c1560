//! The sources of a question, each with a reader of its documents, and which of their replies count as answers (RA-RAG, sections
//! 3.1 and 3.2).

use crate::answers::align::{self, Compared};
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::SHORT;
use crate::protocol::passages::texts;
use crate::protocol::switches::{Kind, Switch};
use crate::protocol::{Ask, Ctx};
use crate::question::{Document, Question};
use crate::retrieval::{Filter, Wanted};
use crate::transcript::CallRecord;
use serde_json::json;
use std::collections::HashMap;

/// The prompt of a source's reader.
pub(crate) const READER: File = prompt_file!("ra_rag/reader.jinja");

/// The switch `align` (f_align, section 3.2).
pub(crate) const ALIGN: Switch = Switch {
    name: "align",
    about: "answers that their source's documents do not hold count as unknown",
    kind: Kind::Flag,
    default: "true",
};
/// The switch `align-threshold` (section 3.2: 0.9).
pub(crate) const ALIGN_THRESHOLD: Switch = Switch {
    name: "align-threshold",
    about: "ROUGE-1 precision below which `align` rejects an answer",
    kind: Kind::Number(0.0, 1.0),
    default: "0.9",
};
/// The switch `per-source` (3 passages of each source).
pub(crate) const PER_SOURCE: Switch =
    Switch { name: "per-source", about: "passages retrieved of each source", kind: Kind::Count(1, 100), default: "3" };

/// One source of a question.
pub(crate) struct Source {
    /// Numbers of its documents, at least one.
    pub(crate) numbers: Vec<usize>,
    /// Their texts, as the prompt shows them.
    pub(crate) texts: Vec<String>,
    /// Its weight, by which sources are ordered.
    pub(crate) vote: f64,
}

impl Source {
    /// The reader's call for this source's answer to `question`. It is recorded under the source's first document, in
    /// round 1.
    pub(crate) fn ask(&self, question: &str) -> Ask {
        let values = json!({ "question": question, "documents": self.texts });
        Ask::new("reader", READER, values, &SHORT).document(self.numbers[0])
    }

    /// The answer that a reply counts as; `None` is "I don't know" (section 3.2). An answer whose ROUGE-1 precision is below
    /// `threshold` is dropped, which is recorded.
    pub(crate) fn given(
        &self,
        call: &CallRecord,
        threshold: Option<f64>,
        compared: Compared,
        ctx: &mut Ctx<'_>,
    ) -> Option<String> {
        let answer = align::answer(call)?;
        let precision = compared.precision(answer, self.texts.iter().map(String::as_str));
        if let Some(least) = threshold.filter(|least| precision < *least) {
            let of = ctx.documents().nth(self.numbers[0]).map(|document| document.name.clone()).unwrap_or_default();
            let why = format!("answer {answer:?} of {of} dropped: ROUGE-1 precision {precision:.2} is below {least}");
            ctx.drop_answer(call.number, why);
            return None;
        }
        Some(answer.to_owned())
    }
}

/// The request to the retriever: the best `per_source` passages of each source, unfolded.
pub(crate) fn of_each(per_source: usize, filter: Filter) -> Wanted {
    Wanted { top: per_source, by_source: true, fold: false, filter }
}

/// Retrieves from each source alone, unfolded, where the question brings no documents.
///
/// # Errors
/// Errors of the retriever; [`MootError::NothingFound`].
pub(crate) fn gather(method: &str, question: &Question, per_source: usize, ctx: &mut Ctx<'_>) -> Result<()> {
    if !question.documents.is_empty() {
        return Ok(());
    }
    let wanted = of_each(per_source, ctx.wanted().filter.clone());
    let hits = ctx.retrieve(&[&question.text], &wanted)?.pop().unwrap_or_default();
    if hits.is_empty() {
        return Err(ctx.nothing_found(method, &wanted));
    }
    ctx.take_up(hits);
    Ok(())
}

/// The sources of the question's documents, the heaviest first; of equal ones the one whose first document comes first. Without
/// `weighted` all are equal. A document without a source is one of its own.
pub(crate) fn sources(ctx: &Ctx<'_>, weighted: bool) -> Vec<Source> {
    let mut indices: HashMap<&str, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let documents: Vec<&Document> = ctx.documents().collect();
    for (number, document) in documents.iter().enumerate() {
        let new = groups.len();
        let index = document.source.as_deref().map_or(new, |source| *indices.entry(source).or_insert(new));
        if index == new {
            groups.push(Vec::new());
        }
        groups[index].push(number);
    }
    let vote = |number| if weighted { ctx.vote(number) } else { 1.0 };
    let mut sources: Vec<Source> = groups
        .into_iter()
        .map(|numbers| Source { texts: texts(ctx, &numbers), vote: vote(numbers[0]), numbers })
        .collect();
    sources.sort_by(|a, b| b.vote.total_cmp(&a.vote));
    sources
}
