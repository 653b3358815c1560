//! Slices that are computed from a question's record, in addition to a dataset's own. [`SLICES`] has a row for each.

use crate::answers::words::Level;
use crate::question::Question;
use crate::transcript::{Event, QuestionRecord};

/// A row of [`SLICES`].
pub struct Slice {
    /// As typed after `--slice`.
    pub name: &'static str,
    /// Which questions it has.
    pub about: &'static str,
    /// Paper and section.
    pub source: &'static str,
    /// Whether a question is in it.
    pub holds: fn(&QuestionRecord) -> bool,
    /// The documents that come with the question decide that, before it is answered.
    of_documents: bool,
}

impl Slice {
    /// Whether a question is in it, as far as its own documents say; `None` where its answers or searches decide.
    #[must_use]
    pub fn before_answers(&self, question: &Question) -> Option<bool> {
        let record = || QuestionRecord { question: question.clone(), ..QuestionRecord::default() };
        self.of_documents.then(|| (self.holds)(&record()))
    }
}

/// Every computed slice.
pub const SLICES: &[Slice] = &[
    Slice {
        name: "gold-retrieved",
        about: "a document or retrieved passage holds the words of a right answer",
        source: "DRAG, Table 4 (its complement)",
        holds: |record| gold_retrieved(record) == Some(true),
        of_documents: false,
    },
    Slice {
        name: "gold-not-retrieved",
        about: "no document and no retrieved passage holds the words of a right answer",
        source: "DRAG, section 5.4, Table 4",
        holds: |record| gold_retrieved(record) == Some(false),
        of_documents: false,
    },
    Slice {
        name: "factual",
        about: "documents are labelled correct, and none misinfo",
        source: "RA-RAG, Table 1",
        holds: |record| labelled(record) == [true, false],
        of_documents: true,
    },
    Slice {
        name: "misinformation",
        about: "documents are labelled misinfo, and none correct",
        source: "RA-RAG, Table 1",
        holds: |record| labelled(record) == [false, true],
        of_documents: true,
    },
    Slice {
        name: "irrelevant",
        about: "no document is labelled correct or misinfo",
        source: "RA-RAG, Table 1",
        holds: |record| labelled(record) == [false, false],
        of_documents: true,
    },
    Slice {
        name: "gold-conflict",
        about: "documents are labelled yes, and others no",
        source: "ConflictScore, section 5",
        holds: |record| has(record, "yes") && has(record, "no"),
        of_documents: true,
    },
];

/// The computed slice called `name`.
#[must_use]
pub fn named(name: &str) -> Option<&'static Slice> {
    SLICES.iter().find(|slice| slice.name == name)
}

/// Whether a document that came with the question has a label of this kind.
fn has(record: &QuestionRecord, kind: &str) -> bool {
    record.question.documents.iter().any(|document| document.label.as_ref().is_some_and(|label| label.kind == kind))
}

/// Whether documents hold a right answer, and whether some hold a wrong one, by their labels.
fn labelled(record: &QuestionRecord) -> [bool; 2] {
    [has(record, "correct") || has(record, "supporting"), has(record, "misinfo")]
}

/// Whether one of the question's documents, of the passages taken up, or of those found for any query holds an alias of a right
/// answer, by words. `None` for a question without a right answer, with options ("yes" and "no" are in every text), or
/// that has no document and searched nothing.
#[must_use]
pub fn gold_retrieved(record: &QuestionRecord) -> Option<bool> {
    let gold = record.question.gold.as_ref()?;
    let searched = record.events.iter().any(|event| matches!(event, Event::Retrieval { .. }));
    let read = !record.question.documents.is_empty() || searched;
    if !read || gold.aliases().next().is_none() || !record.question.options.is_empty() {
        return None;
    }
    let documents = record.question.documents.iter().chain(&record.retrieved).map(|document| document.text.as_str());
    let hits = record.events.iter().filter_map(|event| match event {
        Event::Retrieval { hits, .. } => Some(hits.iter().flatten()),
        _ => None,
    });
    // With titles: prompts show a passage's title before its text.
    let hits = hits.flatten().flat_map(|hit| [Some(hit.passage.text.as_str()), hit.passage.title.as_deref()]).flatten();
    Some(documents.chain(hits).any(|text| gold.aliases().any(|alias| Level::Scored.contains(text, alias))))
}
