//! Errors of Candle for messages.

/// `error` without the backtraces that Candle appends where `RUST_BACKTRACE` is set: for messages.
#[must_use]
pub fn without_backtrace(error: candle_core::Error) -> candle_core::Error {
    use candle_core::Error::{Context, WithBacktrace, WithPath};
    let inside = |inner: Box<candle_core::Error>| Box::new(without_backtrace(*inner));
    match error {
        WithBacktrace { inner, .. } => without_backtrace(*inner),
        WithPath { inner, path } => WithPath { inner: inside(inner), path },
        Context { inner, context } => Context { inner: inside(inner), context },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Error;
    use std::backtrace::Backtrace;

    #[test]
    fn a_message_is_whole_and_without_its_backtrace() {
        let traced =
            |inner| Error::WithBacktrace { inner: Box::new(inner), backtrace: Box::new(Backtrace::force_capture()) };
        let named = Error::WithPath { inner: Box::new(traced(Error::Msg("cut short".into()))), path: "a.gguf".into() };
        assert_eq!(super::without_backtrace(traced(named)).to_string(), "path: \"a.gguf\" cut short");
    }
}
