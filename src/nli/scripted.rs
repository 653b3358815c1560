//! Relations written beforehand, for tests.

use super::{Classifier, ClassifierIdentity, Counts};
use crate::error::{MootError, Result};
use crate::transcript::{Pair, Relation};
use std::sync::{Mutex, PoisonError};

type Script = dyn Fn(&Pair) -> Option<Relation> + Send + Sync;

/// A classifier with prepared results. It keeps the pairs it was asked for.
pub struct ScriptedClassifier {
    identity: ClassifierIdentity,
    script: Box<Script>,
    asked: Mutex<Vec<Pair>>,
    batches: Mutex<u64>,
}

impl ScriptedClassifier {
    /// `script` gives the relation of each pair; `None` is an error.
    pub fn new(script: impl Fn(&Pair) -> Option<Relation> + Send + Sync + 'static) -> Self {
        let identity = ClassifierIdentity { name: "scripted".into(), kind: "scripted".into(), ..Default::default() };
        Self { identity, script: Box::new(script), asked: Mutex::default(), batches: Mutex::default() }
    }

    /// These relations; another pair is an error.
    pub fn table(rows: impl IntoIterator<Item = (Pair, Relation)>) -> Self {
        let rows: Vec<(Pair, Relation)> = rows.into_iter().collect();
        Self::new(move |pair| rows.iter().find(|(row, _)| row == pair).map(|(_, relation)| *relation))
    }

    /// As a grounding classifier, which knows support alone.
    #[must_use]
    pub fn support_only(mut self) -> Self {
        self.identity.support_only = true;
        self
    }

    /// The pairs it was asked for, in order of arrival.
    #[must_use]
    pub fn asked(&self) -> Vec<Pair> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Classifier for ScriptedClassifier {
    fn identity(&self) -> &ClassifierIdentity {
        &self.identity
    }

    fn entail(&self, pairs: &[Pair]) -> Result<Vec<Relation>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(pairs);
        // As `LocalClassifier`, which computes nothing where there are no pairs.
        *self.batches.lock().unwrap_or_else(PoisonError::into_inner) += u64::from(!pairs.is_empty());
        let relation = |pair: &Pair| {
            (self.script)(pair).ok_or_else(|| {
                MootError::Engine(format!(
                    "the script has no relation on {:?} after {:?}",
                    pair.hypothesis, pair.premise
                ))
            })
        };
        pairs.iter().map(relation).collect()
    }

    fn counts(&self) -> Counts {
        let pairs = self.asked.lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
        let batches = *self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        Counts { pairs, windows: pairs, truncated: 0, batches, seconds: 0.0 }
    }
}
