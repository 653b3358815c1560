//! One binary of tests; its folders mirror `src`.
#![allow(clippy::unwrap_used, clippy::panic)]

mod methods;
