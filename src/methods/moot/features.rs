//! The quantities that decide, and the logistic model over them.

use super::examine::Examined;
use super::values::Value;
use crate::answers::words::Level;
use crate::question::Question;
use crate::units::plural;
use moot_models::kernels::math::{exp, ln};

/// The number of quantities.
const COUNT: usize = 7;

/// The quantities of one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Features {
    /// The logarithm of its votes.
    votes: f64,
    /// The log-odds of yes in the surest of its documents, less the examiner's level, at most 4 in size.
    own: f64,
    /// The lowest mean log-odds of its documents against those of another value, at most 0.15 in size; 0 where there is none.
    judged: f64,
    /// Other documents whose text contains it, at most 2.
    mentions: f64,
    /// The mean log-probability of its tokens in the surest reader's reply, at least -2.
    sureness: f64,
    /// 1 where a near copy of one of its documents gives another value.
    altered: f64,
    /// How much more its least steering document reads like a note about the answer than the others do, from 0 to 0.5.
    steering: f64,
}

/// The intercept, and the weight of each quantity in the order of [`Features::named`]: `benches/moot/fit.py` fits them.
const INTERCEPT: f64 = 0.102;
const WEIGHTS: [f64; COUNT] = [1.191, 0.662, 38.245, 0.457, 1.448, -0.806, -11.981];

/// `own` of an agreed value, which is not examined. Chosen, not fitted: the mean of `own` over the values that the weights were fitted on.
const AGREED: f64 = 0.2;

/// The line for readers mentions a preference against a value if it is larger than this.
const NOTABLE: f64 = 0.03;

/// The line for readers mentions steering above this, which divides the odds by three.
const NOTABLE_STEERING: f64 = 0.1;

/// Above these log-odds of yes the line says that a document states the value, below their negative that none does.
const CLEAR: f64 = 1.0;

impl Features {
    /// By name, in the order of [`WEIGHTS`].
    pub(super) fn named(&self) -> [(&'static str, f64); COUNT] {
        let Self { votes, own, judged, mentions, sureness, altered, steering } = *self;
        [
            ("votes", votes),
            ("own", own),
            ("judged", judged),
            ("mentions", mentions),
            ("sureness", sureness),
            ("altered", altered),
            ("steering", steering),
        ]
    }

    /// These quantities with the outcome of the comparison.
    pub(super) fn with(self, judged: f64) -> Self {
        Self { judged, ..self }
    }

    /// From 0 to 1.
    pub(super) fn probability(&self) -> f64 {
        let sum: f64 = self.named().iter().zip(WEIGHTS).map(|((_, x), weight)| x * weight).sum();
        1.0 / (1.0 + exp(-(INTERCEPT + sum)))
    }

    /// Whether a document of another value was clearly preferred.
    pub(super) fn is_less_believed(&self) -> bool {
        self.judged < -NOTABLE
    }

    /// One line for readers: what speaks for the value and what against it.
    pub(super) fn line(&self, value: &Value, probability: f64) -> String {
        let votes = plural(value.votes as u32, "vote", "votes");
        let mut told = format!("{} ({probability:.2}): {votes}", value.text);
        if self.own > CLEAR {
            told.push_str(if value.votes > 1 { ", a document states it" } else { ", its document states it" });
        } else if self.own < -CLEAR {
            told.push_str(", but by the examiner no document states it");
        }
        if self.mentions > 0.0 {
            told.push_str(", mentioned by others");
        }
        if self.is_less_believed() {
            told.push_str("; a document that gives another answer is preferred");
        }
        if self.steering > NOTABLE_STEERING {
            told.push_str("; its document says what the answer should be");
        }
        if self.altered > 0.0 {
            told.push_str("; a near copy of its document gives another answer");
        }
        told
    }
}

/// The quantities of each value; `examined` is empty where nothing was examined, and `resemble` says whether two documents are near
/// copies.
pub(super) fn of(
    question: &Question,
    values: &[Value],
    examined: &[Examined],
    resemble: &dyn Fn(usize, usize) -> bool,
) -> Vec<Features> {
    let texts: Vec<&str> = question.documents.iter().map(|document| document.text.as_str()).collect();
    let of_one = |(index, value): (usize, &Value)| {
        let is_own = |number: &usize| value.documents.contains(number);
        let others: Vec<usize> = (0..texts.len()).filter(|number| !is_own(number)).collect();
        let contains = |number: &&usize| Level::Assessed.contains(texts[**number], &value.text);
        let gives_another =
            |number: usize| values.iter().any(|other| other != value && other.documents.contains(&number));
        let altered = |&own: &usize| others.iter().any(|&number| gives_another(number) && resemble(own, number));
        Features {
            votes: ln(value.votes as f64),
            own: examined.get(index).map_or(AGREED, |examined| examined.own.clamp(-4.0, 4.0)),
            judged: 0.0,
            mentions: others.iter().filter(contains).count().min(2) as f64,
            sureness: value.sureness.max(-2.0),
            altered: f64::from(u8::from(value.documents.iter().any(altered))),
            steering: examined.get(index).map_or(0.0, |examined| examined.steering),
        }
    };
    values.iter().enumerate().map(of_one).collect()
}
