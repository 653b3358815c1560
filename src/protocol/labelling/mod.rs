//! The claims of texts, and the labels of claims against documents (ConflictScore, sections 3 and 4): `decomposer` breaks texts
//! down, `judge` labels every claim against every document as [`settings`] says.

pub(crate) mod decomposer;
mod inference;
mod labels;
mod pairs;
mod parts;
mod replies;
mod scored;
pub mod settings;
mod together;
pub mod weights;

pub(crate) use labels::judge;
pub(crate) use replies::{AGAIN, LABELLER, SCORED};
pub(crate) use scored::quantities;
pub(crate) use together::TOGETHER;
pub(crate) use weights::LABEL_WEIGHTS;
