//! What a decoder is made of.

mod linear;
mod rotary;

pub(crate) use linear::Linear;
pub(crate) use rotary::Rotary;
