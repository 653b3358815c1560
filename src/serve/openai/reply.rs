//! Fields that all replies share: an id, a time, a reason to end, and token counts.

use crate::generation::{Finish, Usage};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// `chatcmpl-` or `cmpl-` with a number that this process has not used.
pub(super) fn id(prefix: &str) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!("{prefix}-{:x}-{:x}", now(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

pub(super) fn finish(reason: Finish) -> &'static str {
    match reason {
        Finish::Stop => "stop",
        Finish::Length => "length",
    }
}

/// `thoughts` are those of `usage.generated` that came before the reply.
pub(super) fn usage(usage: Usage, thoughts: usize) -> Value {
    json!({
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.generated,
        "total_tokens": usage.prompt + usage.generated,
        "prompt_tokens_details": { "cached_tokens": usage.reused },
        "completion_tokens_details": { "reasoning_tokens": thoughts },
    })
}
