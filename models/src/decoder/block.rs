//! A block of a decoder: attention or a recurrent state, then a feed-forward.

use super::attention::Attention;
use super::linear_weights::LinearWeights;
use crate::layers::{
    DeltaNet, FeedForward, FeedForwardBesideExperts, FeedForwards, LayerInput, Linear, MixtureOfExperts, ShortConv,
};
use candle_core::{Device, Tensor};
use moot_kernels::FreedOn;

/// One block.
#[derive(Debug)]
pub(super) struct Block {
    pub device: Device,
    /// Before the tensors.
    pub _on_device: FreedOn,
    /// Before the mixer.
    pub mixer_norm: Option<Tensor>,
    pub mixer: Mixer,
    pub mixer_output_norm: Option<Tensor>,
    pub feed_forward_norm: Option<Tensor>,
    pub feed_forward_output_norm: Option<Tensor>,
    pub feed_forward: Following,
    /// Where tokens bring vectors to each layer.
    pub layer_input: Option<LayerInput>,
    /// The factor of the residual stream behind the block.
    pub scale: Option<f32>,
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

/// The part of a block after the mixer.
#[derive(Debug)]
pub(super) enum Following {
    One(FeedForward),
    Experts(Box<MixtureOfExperts>),
    Beside(Box<FeedForwardBesideExperts>),
}

impl Following {
    /// Of the residual stream `x` and its norm `normed`, which has the type that linear layers take; `form` gives it to others.
    pub(super) fn apply(
        &self,
        x: &Tensor,
        normed: &Tensor,
        form: &dyn Fn(Tensor) -> candle_core::Result<Tensor>,
    ) -> candle_core::Result<Tensor> {
        match self {
            Self::One(layers) => layers.apply(normed),
            Self::Experts(experts) => experts.apply(normed),
            Self::Beside(both) => both.apply(x, normed, form),
        }
    }

    pub(super) fn experts(&self) -> Option<&MixtureOfExperts> {
        match self {
            Self::One(_) => None,
            Self::Experts(experts) => Some(experts),
            Self::Beside(both) => Some(&both.experts),
        }
    }

    fn dense(&self) -> Option<&FeedForward> {
        match self {
            Self::One(layers) => Some(layers),
            Self::Experts(_) => None,
            Self::Beside(both) => Some(&both.dense),
        }
    }

    pub(super) fn count(&self, so_far: FeedForwards) -> FeedForwards {
        let so_far = self.dense().map_or(so_far, |layers| layers.count(so_far));
        self.experts().map_or(so_far, |experts| experts.count(so_far))
    }

    /// The weights that a token is multiplied by.
    fn of_a_token(&self) -> LinearWeights {
        let dense = LinearWeights::of(self.dense().into_iter().flat_map(FeedForward::linears));
        let Some(experts) = self.experts() else { return dense };
        let one = LinearWeights::of(experts.linears_of_one());
        (0..experts.used()).fold(dense.and(LinearWeights::of(experts.linears_of_all())), |all, _| all.and(one))
    }

    fn linears(&self) -> impl Iterator<Item = &Linear> {
        let experts = self.experts().into_iter().flat_map(MixtureOfExperts::linears);
        self.dense().into_iter().flat_map(FeedForward::linears).chain(experts)
    }
}

impl Block {
    pub(super) fn linears(&self) -> impl Iterator<Item = &Linear> {
        let behind = self.layer_input.iter().flat_map(LayerInput::linears);
        let mixer = self.mixer.projecting().into_iter().chain([self.mixer.output()]);
        mixer.chain(self.feed_forward.linears()).chain(behind)
    }

    pub(super) fn projecting(&self) -> LinearWeights {
        LinearWeights::of(self.mixer.projecting())
    }

    /// The layers behind the mixer: in the last block that stores anything they run for the rows with wanted logits.
    pub(super) fn after_mixer(&self) -> LinearWeights {
        let behind = self.layer_input.iter().flat_map(LayerInput::linears);
        LinearWeights::of([self.mixer.output()]).and(self.feed_forward.of_a_token()).and(LinearWeights::of(behind))
    }
}
