//! The question of a plan and its documents: read whole, or searched if there are too many for a debate.

use crate::error::{MootError, Result};
use crate::protocol::Row;
use crate::question::Question;
use crate::retrieval::corpus::Corpus;
use crate::retrieval::given::{self, Given, Reading, WholeLimit};
use crate::workspace::control::Control;
use crate::workspace::options::{CorpusOptions, PlanOptions};

/// The question, with its documents where they are read whole; else the corpus in which they are searched.
pub(super) struct Asked {
    pub(super) question: Question,
    /// The corpus to search.
    pub(super) corpus: CorpusOptions,
    /// Its files, where they were listed already.
    pub(super) listed: Option<Corpus>,
}

impl Asked {
    /// Reads the documents, and notes what was skipped and whether they are read whole or searched.
    ///
    /// # Errors
    /// A missing question; documents that cannot be read; documents for a method that reads none, and none for one that does.
    pub(super) fn read(options: &PlanOptions, row: &Row, control: &Control) -> Result<Self> {
        refuse_unread(options, row)?;
        // A question of a person: passages that have nothing to do with it are left out.
        let corpus = CorpusOptions { cutoff: options.corpus.cutoff.or(Some(true)), ..options.corpus.clone() };
        let mut asked = Self { question: Question { id: "asked".into(), ..Question::default() }, corpus, listed: None };
        if asked.corpus.is_given() {
            let text = options.question.clone().filter(|text| !text.trim().is_empty());
            let missing = || MootError::Usage("no question: expected moot ask \"QUESTION\" --corpus PATH".into());
            asked.question.text = text.ok_or_else(missing)?;
            return Ok(asked);
        }
        let given = asked.documents(options, row, control)?;
        let Some(text) = options.question.clone().or(given.question) else {
            return Err(MootError::Usage("no question: expected moot ask \"QUESTION\" --docs PATH".into()));
        };
        if text.trim().is_empty() {
            return Err(MootError::Usage("the question is empty".into()));
        }
        asked.question = Question { text, documents: given.documents, gold: given.gold, ..asked.question };
        if row.needs.documents && asked.question.documents.is_empty() && !asked.corpus.is_given() {
            let name = row.name;
            return Err(MootError::Usage(format!(
                "{name} needs documents: expected --docs PATH, --corpus PATH, or --method closed-book"
            )));
        }
        Ok(asked)
    }

    /// The given documents; none where they are searched.
    fn documents(&mut self, options: &PlanOptions, row: &Row, control: &Control) -> Result<Given> {
        let paths = &options.documents.paths;
        if paths.is_empty() {
            return Ok(Given::default());
        }
        let corpus = Corpus::open(paths)?;
        let why = match searched_anyway(&self.corpus, row) {
            Some(why) => why,
            None => {
                let limit = WholeLimit {
                    documents: self.corpus.top.unwrap_or(WholeLimit::DEFAULT.documents),
                    ..WholeLimit::DEFAULT
                };
                let limit = (!options.documents.whole).then_some(limit);
                match given::read(&corpus, &self.corpus.filter(), limit, self.corpus.fold)? {
                    Reading::Whole(given) => {
                        note_read(&given, row, control);
                        if self.corpus.reranker.is_some() {
                            control.note("--reranker: documents that are read whole are not ranked");
                        }
                        return Ok(given);
                    }
                    Reading::TooMuch(why) => why,
                }
            }
        };
        control.note(&format!("{why}: the documents are searched for passages about the question"));
        self.corpus.paths.clone_from(paths);
        self.listed = Some(corpus);
        Ok(Given::default())
    }
}

/// The reason why given documents are searched even if they are few: an option, or the method.
fn searched_anyway(corpus: &CorpusOptions, row: &Row) -> Option<String> {
    let typed = [(corpus.by_source, "--by-source"), (corpus.retriever.is_some(), "--retriever")];
    let option = typed.iter().find(|(typed, _)| *typed).map(|(_, option)| format!("{option} was given"));
    option.or_else(|| row.needs.retriever.then(|| format!("{} retrieves", row.name)))
}

/// Refuses documents for a method that reads none. A dataset's line may be given for its question alone.
fn refuse_unread(options: &PlanOptions, row: &Row) -> Result<()> {
    let option = match () {
        () if row.needs.searches() => return Ok(()),
        () if options.corpus.is_given() => "--corpus",
        () if !options.documents.paths.is_empty() && options.question.is_some() => "--docs",
        () => return Ok(()),
    };
    Err(MootError::Usage(format!("{option}: {} reads no documents; expected the question alone", row.name)))
}

/// Notes what was read of the given documents.
fn note_read(given: &Given, row: &Row, control: &Control) {
    for skipped in &given.skipped {
        control.note(&format!("skipped {skipped}"));
    }
    for note in &given.notes {
        control.note(&format!("note {note}"));
    }
    let count = given.documents.len();
    if given.left_out.count() > 0 {
        control.note(&given.left_out.describe(count + given.left_out.count()));
    }
    if !row.needs.searches() {
        return control.note(&format!("{} reads no documents: only the question is used", row.name));
    }
    let read = if count == 1 { "1 document is" } else { &format!("{count} documents are") };
    control.note(&format!("{read} read whole"));
}
