//! The description of a method: its row, its requirements, and the trait that its file implements.

use crate::error::Result;
use crate::llm::Capabilities;
use crate::prompts::File;
use crate::protocol::ctx::Ctx;
use crate::protocol::entailment;
use crate::protocol::formats::Format;
use crate::protocol::presets::Preset;
use crate::protocol::switches::{Switch, Values};
use crate::question::{Conclusion, Question};
use crate::retrieval::Wanted;

/// One way to answer. Straight-line blocking code: batching belongs to the engine.
pub trait Method: Send + Sync {
    /// Answers `question`; everything goes through `ctx`, which records it.
    ///
    /// # Errors
    /// A call that failed, or a prompt that cannot be rendered. A malformed reply is not an error.
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion>;

    /// Its roles, where they depend on its switches; `None` for those of its row.
    fn roles(&self) -> Option<Vec<String>> {
        None
    }

    /// Whether source weights change what it concludes.
    fn weighs(&self) -> bool {
        false
    }

    /// Whether it may be run beforehand with empty replies, to measure its calls. False where it does more than call
    /// models, as code of the user's may.
    fn may_be_rehearsed(&self) -> bool {
        true
    }

    /// Its request to the retriever, which its protocol may fix; `user` is the request as typed. The record's header
    /// holds it.
    fn wanted(&self, user: Wanted) -> Wanted {
        user
    }
}

/// A row of [`METHODS`](crate::methods::METHODS).
pub struct Row {
    /// As typed after `--method`.
    pub name: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// A description, one line.
    pub about: &'static str,
    /// The protocol in at most ten lines.
    pub protocol: &'static str,
    /// Calls per question, as a formula.
    pub calls: &'static str,
    /// The paper's headline numbers, with model and data; empty where there are none.
    pub headline: &'static str,
    /// Every prompt file it may use.
    pub prompts: &'static [File],
    /// Every format its replies may have.
    pub formats: &'static [&'static Format],
    /// The roles, the concluding one last: each may have a model of its own. Where switches change them, those of the
    /// default.
    pub roles: &'static [&'static str],
    /// Its switches.
    pub switches: &'static [Switch],
    /// Its named settings.
    pub presets: &'static [Preset],
    /// Tokens of a reply at most, where neither the user nor the call names a number: the paper's, or its reference code's.
    /// Where neither has one, 128, or more where a paper's longest text needs more.
    pub max_tokens: usize,
    /// Its requirements.
    pub needs: Needs,
    /// Builds it, with switches resolved; a default that depends on another switch is set here.
    pub build: fn(&mut Values) -> Result<Box<dyn Method>>,
}

/// Requirements of a method, and whether it embeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// Documents that come with the question.
    pub documents: bool,
    /// Documents that come with the question, or something to search.
    pub passages: bool,
    /// Something to search.
    pub retriever: bool,
    /// Entailment: by a classifier, or by the role [`entailment::ROLE`].
    pub entailment: bool,
    /// It embeds texts where the run has an embedder, and does without where there is none.
    pub embedder: bool,
    /// Its paper ranks passages by their vectors alone: that is its search mode, unless another is typed.
    pub dense: bool,
    /// It counts answers, which a switch lets it compare by entailment ([`equality`](crate::protocol::equality)).
    pub equality: bool,
    /// Capabilities that every model of its roles needs.
    pub model: Capabilities,
}

impl Needs {
    /// A chat model alone.
    pub const NOTHING: Self = Self {
        documents: false,
        passages: false,
        retriever: false,
        entailment: false,
        embedder: false,
        dense: false,
        equality: false,
        model: Capabilities {
            grammar: false,
            schema: false,
            logprobs: false,
            watch: false,
            prefill: false,
            scores: false,
            raw: false,
        },
    };
    /// Whether a corpus is searched where there is one.
    #[must_use]
    pub fn searches(self) -> bool {
        self.documents || self.passages || self.retriever
    }

    /// Whether a corpus replaces documents that come with the question: true for methods that retrieve for their own
    /// queries. Methods that debate over given documents keep these.
    #[must_use]
    pub fn prefers_corpus(self) -> bool {
        self.passages || self.retriever
    }

    /// Whether pairs may be classified.
    #[must_use]
    pub fn entails(self) -> bool {
        self.entailment || self.equality
    }

    /// Documents.
    pub const DOCUMENTS: Self = Self { documents: true, ..Self::NOTHING };
    /// Documents or a retriever.
    pub const PASSAGES: Self = Self { passages: true, ..Self::NOTHING };
    /// A retriever.
    pub const RETRIEVER: Self = Self { retriever: true, ..Self::NOTHING };
}

impl Row {
    /// Every prompt, grammar and schema file that it may use.
    pub fn files(&self) -> impl Iterator<Item = File> + '_ {
        let entailment = self.needs.entails().then(|| entailment::FORMAT.files().chain([entailment::PROMPT]));
        let formats = self.formats.iter().flat_map(|format| format.files());
        self.prompts.iter().copied().chain(formats).chain(entailment.into_iter().flatten())
    }

    /// Its roles, the one that classifies pairs included where pairs may be classified.
    pub fn all_roles(&self) -> impl Iterator<Item = &'static str> {
        self.roles.iter().copied().chain(self.needs.entails().then_some(entailment::ROLE))
    }
}
