//! The layers of a decoder.

mod delta_net;
mod experts;
mod feed_forward;
mod joined;
mod layer_input;
mod linear;
mod rotary;
mod short_conv;
mod transfer;

pub(crate) use delta_net::DeltaNet;
pub(crate) use experts::{BesideNorms, FeedForwardBesideExperts, MixtureOfExperts, Router, SharedExpert};
pub(crate) use feed_forward::FeedForward;
pub use feed_forward::FeedForwards;
pub(crate) use joined::Joined;
pub(crate) use layer_input::{LayerEmbedding, LayerInput};
pub(crate) use linear::{Linear, MOST_BY_BLOCKS, MOST_BY_PACKED_BLOCKS};
pub(crate) use rotary::Rotary;
pub(crate) use short_conv::ShortConv;
pub(crate) use transfer::moved;
