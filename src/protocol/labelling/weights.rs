//! Probabilities of labels: a multinomial logistic model over what the labeller's scores and the words of a pair say.
//!
//! A small model's most probable label is nearly always the same one. Its scores still distinguish support from
//! contradiction if they are compared with those of other pairs, and the share of common words shows whether a document
//! is about the claim at all. The model has a few weights for both. They are fitted to labelled pairs (`moot conflict
//! calibrate`), for one model and one prompt.

use crate::error::{MootError, Result};
use crate::llm::ModelIdentity;
use crate::protocol::switches::{Kind, Switch, Values};
use crate::question::ClaimRelation;
use moot_models::kernels::math::exp;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// The switch that names a file of weights.
pub(crate) const LABEL_WEIGHTS: Switch = Switch {
    name: "label-weights",
    about: "the weights that make scores probabilities of labels (labels=scored), as `moot conflict calibrate` writes them; none takes the program's",
    kind: Kind::Object,
    default: "none",
};

/// The version of the form of [`LabelWeights`].
pub const VERSION: u32 = 1;

/// The relations in the order of probabilities.
pub const RELATIONS: [ClaimRelation; 3] =
    [ClaimRelation::Supports, ClaimRelation::Contradicts, ClaimRelation::Irrelevant];

/// The program's weights.
static DEFAULT: LazyLock<LabelWeights> = LazyLock::new(|| {
    serde_json::from_str(include_str!("label_weights.json"))
        .expect("the program's label weights are in their form (bug)")
});

/// Quantities of a pair of a claim and a document, from which its label is computed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Quantities {
    /// The labeller's log-probability of SUPPORTS less that of IRRELEVANT.
    pub supports: f64,
    /// The labeller's log-probability of CONTRADICTS less that of IRRELEVANT.
    pub contradicts: f64,
    /// The share of the claim's words that the nearest sentence of the document has.
    pub overlap: f64,
}

impl Quantities {
    /// In the order of the fields of [`LogOdds`], the intercept's 1 first.
    #[must_use]
    pub fn with_intercept(&self) -> [f64; 4] {
        [1.0, self.supports, self.contradicts, self.overlap]
    }
}

/// The log-odds of one label against IRRELEVANT: an intercept, and a weight for each of [`Quantities`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogOdds {
    /// The intercept.
    pub intercept: f64,
    /// Of [`Quantities::supports`].
    pub supports: f64,
    /// Of [`Quantities::contradicts`].
    pub contradicts: f64,
    /// Of [`Quantities::overlap`].
    pub overlap: f64,
}

impl LogOdds {
    fn of(&self, pair: &Quantities) -> f64 {
        let weights = [self.intercept, self.supports, self.contradicts, self.overlap];
        weights.iter().zip(pair.with_intercept()).map(|(weight, x)| weight * x).sum()
    }
}

impl From<[f64; 4]> for LogOdds {
    fn from([intercept, supports, contradicts, overlap]: [f64; 4]) -> Self {
        Self { intercept, supports, contradicts, overlap }
    }
}

/// The weights, and what they were fitted to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelWeights {
    /// [`VERSION`].
    pub moot_label_weights: u32,
    /// The model of the labeller, by name. Empty for any model.
    pub model: String,
    /// Hex SHA-256 of its weights file; empty where there is none.
    pub sha256: String,
    /// Hex SHA-256 of the prompt whose scores these are. Empty for any prompt.
    pub prompt: String,
    /// The number of pairs that they were fitted to.
    pub pairs: usize,
    /// SUPPORTS.
    pub supports: LogOdds,
    /// CONTRADICTS.
    pub contradicts: LogOdds,
}

impl LabelWeights {
    /// The program's, for the model and the prompt that they were fitted to.
    #[must_use]
    pub fn program() -> Self {
        DEFAULT.clone()
    }

    /// Those of the switch [`LABEL_WEIGHTS`]; where it is "none" the program's, for any model and prompt.
    ///
    /// # Errors
    /// [`MootError::Usage`] for an object that is of another form.
    pub fn of(values: &Values) -> Result<Self> {
        let Some(object) = values.object(LABEL_WEIGHTS.name) else {
            let any = String::new;
            return Ok(Self { model: any(), sha256: any(), prompt: any(), ..Self::program() });
        };
        let wrong = |found: String| {
            values.wrong(&format!(
                "{}: expected label weights, version {VERSION} (moot conflict calibrate writes them), found {found}",
                LABEL_WEIGHTS.name
            ))
        };
        let weights: Self = serde_json::from_value(object.clone().into()).map_err(|e| wrong(e.to_string()))?;
        let all = [weights.supports, weights.contradicts];
        let numbers = all.iter().flat_map(|odds| [odds.intercept, odds.supports, odds.contradicts, odds.overlap]);
        match (weights.moot_label_weights, numbers.into_iter().find(|number| !number.is_finite())) {
            (VERSION, None) => Ok(weights),
            (VERSION, Some(number)) => Err(wrong(format!("the number {number}"))),
            (other, _) => Err(wrong(format!("version {other}"))),
        }
    }

    /// Refuses weights that were fitted to scores of another model or another prompt.
    ///
    /// # Errors
    /// [`MootError::Usage`] with what was expected and what was found.
    pub fn check(&self, model: &ModelIdentity, prompt: &str) -> Result<()> {
        let refused = |what: &str, expected: &str, found: &str| {
            Err(MootError::Usage(format!(
                "{}: fitted to {what} {expected}, found {found}: `moot conflict calibrate` fits others",
                LABEL_WEIGHTS.name
            )))
        };
        let other_file = self.sha256 != model.sha256;
        if !self.model.is_empty() && (other_file || self.sha256.is_empty() && self.model != model.name) {
            return refused("the model", &self.model, &model.name);
        }
        if !self.prompt.is_empty() && self.prompt != prompt {
            // A file of weights may hold any text in the place of a hash.
            let short = |hash: &str| hash.chars().take(8).collect::<String>();
            return refused("the prompt", &short(&self.prompt), &short(prompt));
        }
        Ok(())
    }

    /// The probabilities of [`RELATIONS`].
    #[must_use]
    pub fn probabilities(&self, pair: &Quantities) -> [f64; 3] {
        let odds = [self.supports.of(pair), self.contradicts.of(pair), 0.0];
        let highest = odds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Less the highest, no exponential overflows.
        let shares = odds.map(|odds| exp(odds - highest));
        let sum: f64 = shares.iter().sum();
        shares.map(|share| share / sum)
    }
}
