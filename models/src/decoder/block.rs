//! A block of a decoder: attention or a recurrent state, then a feed-forward.

use super::attention::Attention;
use super::linear_weights::LinearWeights;
use crate::layers::{DeltaNet, FeedForward, FeedForwards, Linear, MixtureOfExperts, ShortConv};
use candle_core::{Device, Tensor};

/// One block.
#[derive(Debug)]
pub(super) struct Block {
    pub device: Device,
    /// Before the mixer.
    pub mixer_norm: Option<Tensor>,
    pub mixer: Mixer,
    pub mixer_output_norm: Option<Tensor>,
    pub feed_forward_norm: Option<Tensor>,
    pub feed_forward_output_norm: Option<Tensor>,
    pub feed_forward: Following,
}

/// The half of a block that brings in other positions.
#[derive(Debug)]
pub(super) enum Mixer {
    Attention(Attention),
    Delta(DeltaNet),
    ShortConv(ShortConv),
}

impl Mixer {
    /// The layer behind it.
    pub(super) fn output(&self) -> &Linear {
        match self {
            Self::Attention(attention) => &attention.output,
            Self::Delta(delta) => delta.output(),
            Self::ShortConv(conv) => conv.output(),
        }
    }

    fn projecting(&self) -> Vec<&Linear> {
        match self {
            Self::Attention(attention) => attention.projections.linears().iter().collect(),
            Self::Delta(delta) => delta.projections().iter().collect(),
            Self::ShortConv(conv) => conv.projections().iter().collect(),
        }
    }
}

/// What follows the mixer in a block.
#[derive(Debug)]
pub(super) enum Following {
    One(FeedForward),
    Experts(Box<MixtureOfExperts>),
}

impl Following {
    pub(super) fn apply(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        match self {
            Self::One(layers) => layers.apply(x),
            Self::Experts(experts) => experts.apply(x),
        }
    }

    pub(super) fn count(&self, so_far: FeedForwards) -> FeedForwards {
        match self {
            Self::One(layers) => layers.count(so_far),
            Self::Experts(experts) => experts.count(so_far),
        }
    }

    /// The weights that a token is multiplied by.
    fn of_a_token(&self) -> LinearWeights {
        match self {
            Self::One(layers) => LinearWeights::of(layers.linears()),
            Self::Experts(experts) => {
                let one = LinearWeights::of(experts.linears_of_one());
                (0..experts.used()).fold(LinearWeights::of(experts.linears_of_all()), |all, _| all.and(one))
            }
        }
    }

    fn linears(&self) -> Box<dyn Iterator<Item = &Linear> + '_> {
        match self {
            Self::One(layers) => Box::new(layers.linears()),
            Self::Experts(experts) => Box::new(experts.linears()),
        }
    }
}

impl Block {
    pub(super) fn linears(&self) -> impl Iterator<Item = &Linear> {
        self.mixer.projecting().into_iter().chain([self.mixer.output()]).chain(self.feed_forward.linears())
    }

    pub(super) fn projecting(&self) -> LinearWeights {
        LinearWeights::of(self.mixer.projecting())
    }

    /// The layers behind the mixer: in the last block they run for the rows with wanted logits.
    pub(super) fn after_mixer(&self) -> LinearWeights {
        LinearWeights::of([self.mixer.output()]).and(self.feed_forward.of_a_token())
    }
}
