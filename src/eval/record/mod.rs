//! The record: one JSON object a line, a header first. It contains everything that can change a number.
//!
//! Behind the header each call is a line, written when its reply arrives, and each question is a line that names its calls,
//! written when it is concluded. Every line has a hash over itself and the line before ([`Chain`]). Versions 1 and 2 have one
//! line a question, its calls inside, and no hashes.

mod header;
mod lines;
mod method;
pub mod reader;
mod settings;
mod shape;
mod storage;
pub mod writer;

pub use header::{Corrected, DatasetIdentity, Forked, Header, INLINE, Replayed, VERSION, is_record};
pub use lines::Chain;
pub use method::RecordedMethod;
pub use reader::Reader;
pub(crate) use settings::differences;
pub use storage::Storage;
pub use writer::{Entry, Writer};
