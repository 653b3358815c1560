//! A recorded call that is asked again.

use crate::llm::Call;
use crate::transcript::{CallRecord, QuestionRecord};

/// One recorded call, ready to be asked again.
pub(super) struct Drawn<'a> {
    pub(super) question: &'a QuestionRecord,
    /// Its index among all calls of the record that can be asked again.
    pub(super) index: usize,
    /// Its number among the calls of its question, from 1.
    pub(super) number: usize,
    pub(super) recorded: &'a CallRecord,
    pub(super) call: Call,
}
