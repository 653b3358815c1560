//! The settings of a plan as the user gave them; a face fills them in. Every field has a default, and every struct is
//! JSON.
//!
//! The command line, a JSON body and a program fill the same structs. [`Plan::of`](super::Plan::of) says what they mean.

use crate::files::outputs::InputPath;
use crate::protocol::ctx::Settings;
use crate::protocol::switches::Typed;
use crate::retrieval::index::Mode;
use crate::workspace::models::RuntimeOptions;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::{Path, PathBuf};

/// The smallest tested model that reads the demo's documents correctly; see docs/models.md.
pub const DEFAULT_MODEL: &str = "qwen2.5-coder-1.5b";

/// The settings of a plan, as given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanOptions {
    /// The question; may be left out where a dataset's line brings its own question, and for a run.
    pub question: Option<String>,
    /// Documents given by hand.
    pub documents: DocumentOptions,
    /// The corpus that is searched for documents.
    pub corpus: CorpusOptions,
    /// The method and its settings.
    pub method: MethodOptions,
    /// The classifier of pairs of texts.
    pub classifier: ClassifierOptions,
    /// A model, or one for each role: `agent=A,aggregator=B`.
    pub model: String,
    /// Device, memory and engine.
    pub runtime: RuntimeOptions,
    /// A dataset and the record of its answers; without one the plan is for single questions.
    pub run: Option<RunOptions>,
}

impl PlanOptions {
    /// The same, with the arithmetic of a record where none is asked for; `recipe` is the one that it names.
    pub(crate) fn by_recipe_of(&self, recipe: &str) -> Self {
        let mut options = self.clone();
        options.runtime.recipe = options.runtime.recipe.as_recorded(recipe);
        options
    }

    /// Files, folders and patterns that are read, with the argument that gives each.
    pub(crate) fn inputs(&self) -> Vec<InputPath<'_>> {
        let run = self.run.iter().flat_map(|run| {
            let reused = run.reuse.iter().map(|path| ("--reuse", path.as_path()));
            reused.chain([("DATASET", run.dataset.as_path())])
        });
        let method = [("--prompts", &self.method.prompts), ("--source-weights", &self.method.source_weights)];
        let method = method.into_iter().filter_map(|(argument, path)| Some((argument, path.as_deref()?)));
        let typed = self.documents.paths.iter().map(|typed| ("--docs", typed));
        let typed = typed.chain(self.corpus.paths.iter().map(|typed| ("--corpus", typed)));
        let typed = typed.chain(self.corpus.embedder.iter().map(|typed| ("--embedder", typed)));
        let typed = typed.chain(self.corpus.reranker.iter().map(|typed| ("--reranker", typed)));
        let typed = typed.chain(self.classifier.name.iter().map(|typed| ("--classifier", typed)));
        let typed = typed.chain([("--model", &self.model)]);
        run.chain(method).chain(typed.map(|(argument, typed)| (argument, Path::new(typed)))).collect()
    }
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            question: None,
            documents: DocumentOptions::default(),
            corpus: CorpusOptions::default(),
            method: MethodOptions::default(),
            classifier: ClassifierOptions::default(),
            model: DEFAULT_MODEL.into(),
            runtime: RuntimeOptions::default(),
            run: None,
        }
    }
}

/// Documents given by hand.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DocumentOptions {
    /// Files, folders, globs, a dataset's line (`file.jsonl:17`), `-` for standard input.
    pub paths: Vec<String>,
    /// Every document gets an agent, however many and however long they are.
    pub whole: bool,
}

/// The corpus that is searched for documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorpusOptions {
    /// Files, folders and globs, an index, or the address of a server's collection.
    pub paths: Vec<String>,
    /// Passages that have nothing to do with the query are left out; `None`: on for a single question, off for a run.
    pub cutoff: Option<bool>,
    /// Passages, in all or of each source; `None`: 5, or 1 of each source. Of documents given by hand: read whole, at most.
    pub top: Option<usize>,
    /// The best passages of each source instead of all.
    pub by_source: bool,
    /// Only passages or documents of these sources; empty: of all.
    pub sources: Vec<String>,
    /// Only passages or documents of this date or later, as 2018 or 2018-05-31.
    pub from: Option<String>,
    /// Only passages or documents of this date or earlier; 2018 is the whole year.
    pub until: Option<String>,
    /// Near-duplicates are folded into one passage.
    pub fold: bool,
    /// Exact search: every vector is read, even if the index groups them.
    pub exact_search: bool,
    /// Search mode; `None`: by words and vectors where there are vectors, by vectors alone where the method's paper does.
    pub retriever: Option<Mode>,
    /// Name of the embedder, or `none`; `None`: the index's own, and for plain files all-minilm-l6-v2.
    pub embedder: Option<String>,
    /// Device of the embedder.
    pub embedder_device: String,
    /// Name of the reranker, which reads the candidates of a search and keeps the most relevant; `None`: none does.
    pub reranker: Option<String>,
    /// Device of the reranker.
    pub reranker_device: String,
    /// Passages that the reranker reads, in all or of each source; `None`: 50, or 5 of each source.
    pub reranker_candidates: Option<usize>,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            cutoff: None,
            top: None,
            by_source: false,
            sources: Vec::new(),
            from: None,
            until: None,
            fold: true,
            exact_search: false,
            retriever: None,
            embedder: None,
            embedder_device: "cpu".into(),
            reranker: None,
            reranker_device: "cpu".into(),
            reranker_candidates: None,
        }
    }
}

/// The method and its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MethodOptions {
    /// Its name; a run takes several, `a,b`. `None`, without a preset: `moot` for a single question, `madam-rag` for a run.
    pub name: Option<String>,
    /// A named setting of its switches. Without a name, one that a single method has.
    pub preset: Option<String>,
    /// Its switches, by name.
    #[serde(deserialize_with = "switches")]
    pub switches: Typed,
    /// A folder of prompts instead of the program's.
    pub prompts: Option<PathBuf>,
    /// The weights of sources, as `moot sources estimate` writes them.
    pub source_weights: Option<PathBuf>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Tokens of a reply, at most; `None` for the number of the method.
    pub max_tokens: Option<usize>,
    /// Replies are not constrained by a grammar.
    pub free_form: bool,
    /// Tokens of thought before a reply, at most.
    pub think: usize,
    /// Temperature of sampling; `None` and 0 take the likeliest token.
    pub temperature: Option<f32>,
    /// With a temperature: only this many of the likeliest tokens; 0 keeps all.
    pub top_k: usize,
    /// With a temperature: the likeliest tokens that together reach this probability.
    pub top_p: f32,
}

impl Default for MethodOptions {
    fn default() -> Self {
        let Settings { seed, free_form, think, max_tokens: _, sampling: _ } = Settings::default();
        Self {
            name: None,
            preset: None,
            switches: Typed::new(),
            prompts: None,
            source_weights: None,
            seed,
            max_tokens: None,
            free_form,
            think,
            temperature: None,
            top_k: 0,
            top_p: 1.0,
        }
    }
}

/// Values of switches, which JSON may give as numbers and booleans.
fn switches<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Typed, D::Error> {
    let given = std::collections::BTreeMap::<String, serde_json::Value>::deserialize(deserializer)?;
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(given.into_iter().map(|(name, value)| (name, text(value))).collect())
}

/// The classifier of pairs of texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassifierOptions {
    /// An NLI model; `None`: the role `entailment` of the model.
    pub name: Option<String>,
    /// Its device.
    pub device: String,
}

impl Default for ClassifierOptions {
    fn default() -> Self {
        Self { name: None, device: "cpu".into() }
    }
}

/// A dataset and the record of its answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunOptions {
    /// The dataset's file.
    pub dataset: PathBuf,
    /// The record; with several methods or models, the folder of their records.
    pub output: Option<PathBuf>,
    /// The answers as a table, `.csv` or `.jsonl`.
    pub answers: Option<PathBuf>,
    /// The dataset or the form of the file, where they are not detected.
    pub format: Option<String>,
    /// Items that cannot be read are skipped.
    pub skip_bad: bool,
    /// Only the first questions.
    pub limit: Option<usize>,
    /// Only a uniform sample of this many questions.
    pub sample: Option<usize>,
    /// Seed of the sample.
    pub sample_seed: u64,
    /// One part of the questions: part, from 1, of parts.
    pub shard: Option<(usize, usize)>,
    /// Nothing is recorded.
    pub dry_run: bool,
    /// Questions in flight.
    pub in_flight: usize,
    /// Questions that were recorded with an error are asked again.
    pub retry_errors: bool,
    /// Records whose replies are taken for equal calls.
    pub reuse: Vec<PathBuf>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            dataset: PathBuf::new(),
            output: None,
            answers: None,
            format: None,
            skip_bad: false,
            limit: None,
            sample: None,
            sample_seed: 0,
            shard: None,
            dry_run: false,
            in_flight: 8,
            retry_errors: false,
            reuse: Vec::new(),
        }
    }
}
