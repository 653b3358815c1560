//! Natural language inference: by the run's classifier, or by calls.

use super::Ctx;
use crate::error::{MootError, Result};
use crate::protocol::ask::Ask;
use crate::protocol::entailment;
use crate::transcript::{CallRecord, Event, Pair, Relation};
use std::time::Instant;

/// The result of [`Ctx::try_entail`] for a pair.
#[derive(Debug)]
pub(crate) enum Entailed {
    /// Its relation.
    Found(Relation),
    /// The reply of the call of this number did not keep its format.
    Malformed(usize),
    /// The call failed.
    Failed(MootError),
}

impl Entailed {
    fn of(call: Result<CallRecord>) -> Self {
        match call {
            Ok(call) => entailment::chosen(&call).map_or(Self::Malformed(call.number), Self::Found),
            Err(error) => Self::Failed(error),
        }
    }
}

impl Ctx<'_> {
    /// How each premise relates to its hypothesis: by the run's classifier, or where there is none, by the replies of the
    /// role `entailment`, which then count as probabilities of 0 and 1.
    ///
    /// # Errors
    /// Errors of the classifier or of a call.
    pub fn entail(&mut self, pairs: &[Pair]) -> Result<Vec<Relation>> {
        let started = Instant::now();
        let (relations, by, stage) = match self.tools.classifier {
            Some(classifier) => {
                let relations = classifier.entail(pairs)?;
                (relations, "classifier", self.next_stage())
            }
            None => {
                // Read first: `ask_all` advances the number to the next stage.
                let stage = self.stage;
                let asks: Vec<Ask> = pairs.iter().map(entailment::ask).collect();
                let calls = self.ask_all(&asks)?;
                let relations = calls.iter().map(|call| entailment::chosen(call).unwrap_or(entailment::NEUTRAL));
                (relations.collect(), "calls", stage)
            }
        };
        self.record_entailment(stage, pairs, &relations, by, started);
        Ok(relations)
    }

    /// As [`Ctx::entail`], with one result a pair: a call that fails leaves the other pairs alone, and is recorded as an event.
    /// In the event of the pairs, one without a relation is neutral.
    ///
    /// # Errors
    /// Errors of the classifier; as [`Ctx::try_all`].
    pub(crate) fn try_entail(&mut self, pairs: &[Pair]) -> Result<Vec<Entailed>> {
        if self.classifies() {
            return Ok(self.entail(pairs)?.into_iter().map(Entailed::Found).collect());
        }
        let (started, stage) = (Instant::now(), self.stage);
        let asks: Vec<Ask> = pairs.iter().map(entailment::ask).collect();
        let found: Vec<Entailed> = self.try_all(&asks)?.into_iter().map(Entailed::of).collect();
        let relation = |found: &Entailed| if let Entailed::Found(its) = found { *its } else { entailment::NEUTRAL };
        let relations: Vec<Relation> = found.iter().map(relation).collect();
        self.record_entailment(stage, pairs, &relations, "calls", started);
        Ok(found)
    }

    fn record_entailment(&mut self, stage: usize, pairs: &[Pair], relations: &[Relation], by: &str, started: Instant) {
        self.record_event(Event::Entailment {
            stage,
            pairs: pairs.to_vec(),
            relations: relations.to_vec(),
            by: by.to_owned(),
            seconds: started.elapsed().as_secs_f64(),
        });
    }

    /// Whether a classifier gives the relations of [`Ctx::entail`] that knows support alone.
    #[must_use]
    pub(crate) fn classifies_support_only(&self) -> bool {
        self.tools.classifier.is_some_and(|classifier| classifier.identity().support_only)
    }

    /// Whether a classifier gives the relations of [`Ctx::entail`], rather than the role `entailment`.
    #[must_use]
    pub(crate) fn classifies(&self) -> bool {
        self.tools.classifier.is_some()
    }
}
