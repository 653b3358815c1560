//! Judgements as people read them: ConflictScore's numbers of labelled claims, and the verdict of a debate.
//!
//! Everything here is a function of a record. The calls that label claims are made by
//! [`methods::conflict_score`](crate::methods::conflict_score).

pub mod answered;
pub mod assessment;
pub mod html;
pub mod markdown;
pub mod newest;
pub mod score;
pub mod verdict;

pub use answered::Answered;
pub use assessment::Assessment;
pub use newest::Newest;
pub use score::{Neither, Scores};
pub use verdict::Verdict;
