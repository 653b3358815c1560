//! Mixtures of experts.

/// A mixture of experts: a router gives each token the experts of the largest scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Experts {
    /// Experts of a feed-forward.
    pub count: usize,
    /// Experts that a token goes through.
    pub used: usize,
    /// The scores by which experts are chosen and weighted.
    pub scoring: Scoring,
    /// Whether the weights of the used experts are divided by their sum.
    pub normalised: bool,
    /// Width of an expert that every token goes through as well, weighted by the sigmoid of a gate of its own.
    pub shared: Option<usize>,
    /// Whether the router and the projections of experts have biases.
    pub biased: bool,
    /// The first layers, where these have no experts.
    pub dense: Option<DenseLayers>,
    /// Width of a feed-forward that every token goes through besides, with norms around it and around the experts, whose
    /// router has an input of its own (Gemma 4).
    pub beside: Option<usize>,
}

impl Experts {
    /// `used` of `count` experts in every layer by a softmax, divided by their sum; no shared one and no biases.
    #[must_use]
    pub const fn of(count: usize, used: usize) -> Self {
        Self {
            count,
            used,
            scoring: Scoring::Softmax,
            normalised: true,
            shared: None,
            biased: false,
            dense: None,
            beside: None,
        }
    }
}

/// The scores by which experts are chosen and weighted, computed from the router's logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scoring {
    /// A softmax over all experts.
    Softmax,
    /// The sigmoid of each. Experts are chosen by the sum of it and a bias of their own, which is not part of the
    /// weight.
    Sigmoid,
}

/// Layers before those with experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DenseLayers {
    /// How many, from the first layer on.
    pub layers: usize,
    /// Width between the layers of their feed-forward.
    pub width: usize,
}
