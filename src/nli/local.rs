//! Entailment by a cross-encoder on this machine.

use super::recipe::recipe;
use super::{Classifier, ClassifierIdentity, Counts};
use crate::error::{MootError, Result};
use crate::gather::Gather;
use crate::transcript::{Pair, Relation};
use moot_models::encoder::{self, EncoderOptions, Long, NliLabels, TextTokens};
use moot_models::source::{self, EncoderEntry, FetchEvent, Task};
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a classifier is found and held.
#[derive(Debug, Clone, Default)]
pub struct ClassifierOptions {
    /// Never use the network.
    pub offline: bool,
    /// Where and how the weights are held.
    pub load: EncoderOptions,
}

/// A cross-encoder of this process, shared by all threads that ask it: pairs that arrive while it computes are computed
/// together afterwards, sorted by length and packed without padding.
///
/// **Long premises.** A premise that does not fit the model's limit beside its hypothesis is split into overlapping windows,
/// each with the whole hypothesis. The relation is that of the window with the lowest neutral probability, the first of equal
/// ones: one passage that supports or contradicts a claim decides, however much of the document is about something else.
/// A hypothesis is cut only where it takes more than half of the room; [`Counts::truncated`] counts that.
#[derive(Debug)]
pub struct LocalClassifier {
    model: encoder::Classifier,
    labels: NliLabels,
    identity: ClassifierIdentity,
    gather: Gather<TextTokens, Vec<f32>>,
    pairs: AtomicU64,
    truncated: AtomicU64,
}

impl LocalClassifier {
    /// Opens the classifier `name`: a folder, an alias of the catalog or `hf:...`, fetched if necessary. `progress` receives
    /// the events of the search.
    ///
    /// # Errors
    /// Anything that prevents loading the named model; a model of the catalog for another task; labels that do not say what
    /// their classes are.
    pub fn open(name: &str, options: &ClassifierOptions, progress: &mut dyn FnMut(FetchEvent)) -> Result<Self> {
        let search = source::Options { cache: source::default_cache()?, offline: options.offline };
        let (located, known) = source::locate_encoder(name, &search, progress)?;
        if known.as_ref().is_some_and(|known| known.task != Task::Nli) {
            return Err(MootError::Usage(format!("{name} does not classify pairs as entailed or contradicted")));
        }
        Self::load(&located.path, known.as_ref(), options)
    }

    /// Loads the folder `path`; `known` is its row of the catalog, where it has one.
    ///
    /// # Errors
    /// As [`encoder::Classifier::open`] and [`encoder::Classifier::nli`].
    pub fn load(path: &Path, known: Option<&EncoderEntry>, options: &ClassifierOptions) -> Result<Self> {
        let model = encoder::Classifier::open(path, &options.load, known.and_then(|known| known.written.as_deref()))?;
        let labels = model.nli(known.map_or(&[][..], |known| &known.labels[..]))?;
        let folder = || path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let identity = ClassifierIdentity {
            name: known.map_or_else(folder, |known| known.alias.clone()),
            sha256: source::model_hash(path, &source::default_cache()?)?,
            kind: model.encoder().spec().family.to_owned(),
            recipe: recipe(&model, &options.load),
            support_only: labels.others.is_none(),
        };
        let (gather, pairs, truncated) = (Gather::default(), AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { model, labels, identity, gather, pairs, truncated })
    }

    /// The model behind it.
    #[must_use]
    pub fn model(&self) -> &encoder::Classifier {
        &self.model
    }

    /// One line for the user where it cannot tell a contradiction from a premise that says nothing of the hypothesis.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let note = "a grounding classifier: it tells what a document supports, and finds no contradictions";
        self.labels.others.is_none().then(|| note.to_owned())
    }

    fn relation(&self, probabilities: &[f32]) -> Relation {
        let of = |label: usize| probabilities[label];
        let entailment = of(self.labels.entailment);
        match self.labels.others {
            Some(others) => {
                Relation { entailment, neutral: of(others.neutral), contradiction: of(others.contradiction) }
            }
            // The model does not separate neutral from contradiction: the rest is reported as neutral.
            None => Relation { entailment, neutral: 1.0 - entailment, contradiction: 0.0 },
        }
    }
}

impl Classifier for LocalClassifier {
    fn identity(&self) -> &ClassifierIdentity {
        &self.identity
    }

    fn entail(&self, pairs: &[Pair]) -> Result<Vec<Relation>> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        // Tokens are made by the caller's thread, so that an error of the tokenizer is the caller's alone.
        let of_pair = |pair: &Pair| {
            self.model.windows(encoder::Pair { first: &pair.premise, second: &pair.hypothesis }, Long::First)
        };
        let windows: Vec<Vec<TextTokens>> = pairs.par_iter().map(of_pair).collect::<moot_models::Result<_>>()?;
        let counts: Vec<usize> = windows.iter().map(Vec::len).collect();
        let cut = windows.iter().filter(|windows| windows.iter().any(|window| window.truncated)).count();
        self.pairs.fetch_add(pairs.len() as u64, Ordering::Relaxed);
        self.truncated.fetch_add(cut as u64, Ordering::Relaxed);
        let compute = |windows: &[TextTokens]| -> Result<Vec<Vec<f32>>> { Ok(self.model.probabilities(windows)?) };
        let rows = self.gather.run(windows.into_iter().flatten().collect(), &compute)?;
        let mut rows = rows.iter().map(|row| self.relation(row));
        let relations = counts.iter().map(|&count| clearest(rows.by_ref().take(count)));
        let relations: Option<Vec<Relation>> = relations.collect();
        relations.ok_or_else(|| MootError::Engine("a pair without a window (bug)".into()))
    }

    fn counts(&self) -> Counts {
        let computed = self.gather.computed();
        Counts {
            pairs: self.pairs.load(Ordering::Relaxed),
            windows: computed.items,
            truncated: self.truncated.load(Ordering::Relaxed),
            batches: computed.batches,
            seconds: computed.seconds,
        }
    }
}

/// The relation with the lowest neutral probability, the first of equal ones.
fn clearest(relations: impl Iterator<Item = Relation>) -> Option<Relation> {
    relations.reduce(|best, relation| if relation.neutral < best.neutral { relation } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_with_the_least_neutral_probability_decides() {
        let of =
            |entailment: f32, neutral: f32| Relation { entailment, neutral, contradiction: 1.0 - entailment - neutral };
        assert_eq!(clearest([].into_iter()), None);
        assert_eq!(clearest([of(0.1, 0.8), of(0.7, 0.2), of(0.2, 0.5)].into_iter()), Some(of(0.7, 0.2)));
        assert_eq!(clearest([of(0.1, 0.25), of(0.7, 0.25)].into_iter()), Some(of(0.1, 0.25)));
    }
}
