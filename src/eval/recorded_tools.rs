//! The retriever and the classifier of a recorded question, which answer from its events.

use crate::error::{MootError, Result};
use crate::eval::record::Header;
use crate::llm::Llm;
use crate::nli::{Classifier, ClassifierIdentity, Counts};
use crate::protocol::ctx::Tools;
use crate::question::{Document, Hit};
use crate::retrieval::{Retriever, RetrieverIdentity, Wanted};
use crate::transcript::{Event, Pair, QuestionRecord, Relation};

/// Searches and pairs as a question recorded them; others go to the fallback tools, if there are any.
pub(super) struct RecordedTools<'a> {
    header: &'a Header,
    old: &'a QuestionRecord,
    retriever: Option<&'a dyn Retriever>,
    classifier: Option<&'a dyn Classifier>,
    /// A passage that is not found any more, or is found with another text.
    changed: Option<(&'a Document, Option<&'a str>)>,
}

impl<'a> RecordedTools<'a> {
    pub(super) fn new(header: &'a Header, old: &'a QuestionRecord) -> Self {
        Self { header, old, retriever: None, classifier: None, changed: None }
    }

    /// Requests that were not recorded go to the retriever and the classifier of `tools`.
    pub(super) fn before(self, tools: Tools<'a>) -> Self {
        Self { retriever: tools.retriever, classifier: tools.classifier, ..self }
    }

    /// Leaves the passage that became `document` out of every search, or gives it the text `instead`.
    pub(super) fn changed(self, document: &'a Document, instead: Option<&'a str>) -> Self {
        Self { changed: Some((document, instead)), ..self }
    }

    /// As methods take them: only what the recorded run had.
    pub(super) fn tools<'b>(&'b self, llm: &'b dyn Llm) -> Tools<'b> {
        let by_classifier = |event: &Event| matches!(event, Event::Entailment { by, .. } if by == "classifier");
        let classified = self.header.classifier.is_some() || self.old.events.iter().any(by_classifier);
        let plain = Tools::new(llm);
        Tools {
            retriever: self.header.retriever.as_ref().map(|_| self as &dyn Retriever),
            wanted: self.header.wanted.as_ref().unwrap_or(plain.wanted),
            classifier: classified.then_some(self as &dyn Classifier),
            ..plain
        }
    }

    fn recorded(&self, query: &str, wanted: &Wanted) -> Option<Vec<Hit>> {
        self.old.events.iter().find_map(|event| match event {
            Event::Retrieval { queries, top, by_source, hits, .. }
                if *top == wanted.top && *by_source == wanted.by_source =>
            {
                hits.get(queries.iter().position(|known| known == query)?).cloned()
            }
            _ => None,
        })
    }

    fn change(&self, hits: Vec<Hit>) -> Vec<Hit> {
        let Some((document, instead)) = self.changed else { return hits };
        let is = |hit: &Hit| Some(&hit.passage.origin) == document.origin.as_ref() && hit.passage.text == document.text;
        let changed = |mut hit: Hit| match (is(&hit), instead) {
            (false, _) => Some(hit),
            (true, None) => None,
            (true, Some(text)) => {
                hit.passage.text = text.to_owned();
                Some(hit)
            }
        };
        hits.into_iter().filter_map(changed).collect()
    }
}

impl Retriever for RecordedTools<'_> {
    fn retrieve(&self, query: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        let hits = match (self.recorded(query, wanted), self.retriever) {
            (Some(hits), _) => hits,
            (None, Some(retriever)) => retriever.retrieve(query, wanted)?,
            (None, None) => {
                return Err(MootError::Question(format!(
                    "the recorded run did not search for {query:?} ({} passages)",
                    wanted.top
                )));
            }
        };
        Ok(self.change(hits))
    }

    fn identity(&self) -> RetrieverIdentity {
        self.header.retriever.clone().unwrap_or_default()
    }
}

impl Classifier for RecordedTools<'_> {
    fn identity(&self) -> &ClassifierIdentity {
        static NONE: ClassifierIdentity = ClassifierIdentity {
            name: String::new(),
            sha256: String::new(),
            kind: String::new(),
            recipe: String::new(),
            support_only: false,
        };
        self.header.classifier.as_ref().unwrap_or(&NONE)
    }

    fn entail(&self, pairs: &[Pair]) -> Result<Vec<Relation>> {
        let relation = |pair: &Pair| {
            let known = self.old.events.iter().find_map(|event| match event {
                Event::Entailment { pairs, relations, .. } => {
                    relations.get(pairs.iter().position(|known| known == pair)?).copied()
                }
                _ => None,
            });
            if let (None, Some(classifier)) = (known, self.classifier) {
                let now = classifier.entail(std::slice::from_ref(pair))?;
                return now.first().copied().ok_or_else(|| MootError::Engine("a pair has no relation (bug)".into()));
            }
            let hypothesis = crate::jsonl::shortened(&pair.hypothesis);
            known.ok_or_else(|| {
                MootError::Question(format!("the recorded run did not classify a pair with {hypothesis:?}"))
            })
        };
        pairs.iter().map(relation).collect()
    }

    fn counts(&self) -> Counts {
        self.classifier.map(Classifier::counts).unwrap_or_default()
    }
}
