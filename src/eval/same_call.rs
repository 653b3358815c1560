//! Whether a recorded call was sent as a call is now: then its reply may be taken over.

use crate::llm::Call;
use crate::protocol::formats::Format;
use crate::transcript::CallRecord;

/// Whether `recorded` was sent as `call` is, its format and its seed included; `free_form` says whether replies are
/// unconstrained.
pub(super) fn is_the_call(recorded: &CallRecord, call: &Call, free_form: bool) -> bool {
    recorded.seed == call.seed && is_but_for_the_seed(recorded, call, free_form)
}

/// Whether `recorded` was sent as `call` is in everything but the seed, which changes nothing where no token is drawn.
pub(super) fn is_but_for_the_seed(recorded: &CallRecord, call: &Call, free_form: bool) -> bool {
    recorded.role == call.role
        && recorded.sent() == call.prompt
        && recorded.prefill == call.prefill
        && recorded.score == call.score
        && recorded.max_tokens == call.max_tokens
        && recorded.think == Some(call.think)
        && recorded.sampling == Some(call.sampling)
        && recorded.stop == call.stop
        && recorded.wanted_logprobs == call.logprobs
        && same_format(recorded, call, free_form)
}

/// The grammar and the schema that a call of the recorded format is sent with; the files themselves are in the header.
fn same_format(recorded: &CallRecord, call: &Call, free_form: bool) -> bool {
    if free_form || recorded.max_tokens == 0 {
        return call.grammar.is_none() && call.schema.is_none();
    }
    let Ok(format) = Format::named(&recorded.format) else { return false };
    let values = &recorded.format_values;
    format.grammar(values).is_ok_and(|grammar| grammar == call.grammar)
        && format.schema(values).is_ok_and(|schema| schema == call.schema)
}
