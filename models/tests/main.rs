//! Tests of the models package, one folder or file a part.
#![allow(clippy::unwrap_used, clippy::panic)]

mod weights;
