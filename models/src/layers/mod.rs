//! What a decoder is made of.

mod joined;
mod linear;
mod rotary;

pub(crate) use joined::Joined;
pub(crate) use linear::Linear;
pub(crate) use rotary::Rotary;
