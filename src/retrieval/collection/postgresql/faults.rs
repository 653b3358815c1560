//! Errors of a database as faults: of which kind, and whether another attempt can help.

use crate::escape;
use crate::fault::RemoteFault;
use crate::llm::remote::Key;
use crate::llm::remote::fault::{Again, Fault};
use postgres::Error;
use postgres::error::SqlState;
use std::error::Error as _;
use std::io;

/// `error` as a fault, in one line and without the password.
pub(super) fn fault(error: &Error, password: Option<&Key>) -> Fault {
    let hidden = |text: &str| {
        let text = password.map_or_else(|| text.to_owned(), |password| password.hide_in(text));
        escape::excerpt(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let Some(told) = error.as_db_error() else { return of_connection(error, &hidden) };
    let (kind, again) = of_state(told.code());
    Fault::new(kind, again, hidden(&format!("{} (SQLSTATE {})", told.message(), told.code().code())))
}

/// The fault that a SQLSTATE code means, and whether to try again.
fn of_state(state: &SqlState) -> (RemoteFault, Again) {
    let code = state.code();
    match code.get(..2).unwrap_or_default() {
        // invalid_authorization_specification: an unknown user, a wrong password
        "28" => (RemoteFault::Key, Again::Never),
        "3D" | "3F" => (RemoteFault::Missing, Again::Never),
        _ if *state == SqlState::UNDEFINED_TABLE => (RemoteFault::Missing, Again::Never),
        // query_canceled: the statement's own limit of time
        _ if *state == SqlState::QUERY_CANCELED => (RemoteFault::Silent, Again::Never),
        // A server that starts, stops, or has no connection left; a lock that two waited for.
        "08" | "40" | "53" | "57" => (RemoteFault::Busy, Again::Later),
        _ => (RemoteFault::Refused, Again::Never),
    }
}

/// A connection that was not made, or was cut.
fn of_connection(error: &Error, hidden: &dyn Fn(&str) -> String) -> Fault {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, TimedOut};
    let cause = error.source();
    let io = cause.and_then(|cause| cause.downcast_ref::<io::Error>());
    match io.map(io::Error::kind) {
        Some(ConnectionRefused) => Fault::new(RemoteFault::Unreachable, Again::Later, "no server listens there"),
        Some(HostUnreachable | NetworkUnreachable) => {
            Fault::new(RemoteFault::Unreachable, Again::Later, "the host is unreachable")
        }
        Some(TimedOut) => Fault::new(RemoteFault::Unreachable, Again::Later, "no connection in time"),
        _ if io.is_some_and(|io| io.to_string().starts_with("failed to lookup address")) => {
            Fault::new(RemoteFault::Unreachable, Again::Later, "no host has this name")
        }
        Some(_) => Fault::broken(format!("the connection was cut: {}", hidden(&reason(error)))),
        None if error.is_closed() => Fault::broken("the connection was cut"),
        // The client says so itself where the server asks for a password and none is set.
        None if reason(error).contains("password missing") => {
            Fault::new(RemoteFault::Key, Again::Never, "the server asks for a password, and none is set")
        }
        None => Fault::new(RemoteFault::Broken, Again::Never, hidden(&reason(error))),
    }
}

/// The error with its causes.
fn reason(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::of_state;
    use crate::fault::RemoteFault;
    use crate::llm::remote::fault::Again;
    use postgres::error::SqlState;

    #[test]
    fn only_what_may_pass_is_tried_again() {
        for (code, kind, again) in [
            ("28P01", RemoteFault::Key, Again::Never),
            ("3D000", RemoteFault::Missing, Again::Never),
            ("42P01", RemoteFault::Missing, Again::Never),
            ("42501", RemoteFault::Refused, Again::Never),
            ("57014", RemoteFault::Silent, Again::Never),
            ("57P03", RemoteFault::Busy, Again::Later),
            ("57P01", RemoteFault::Busy, Again::Later),
            ("53300", RemoteFault::Busy, Again::Later),
            ("22P02", RemoteFault::Refused, Again::Never),
        ] {
            assert_eq!(of_state(&SqlState::from_code(code)), (kind, again), "{code}");
        }
    }
}
