//! Checks `Host`, `Origin` and the API key of every request.
//!
//! A page of another site cannot read a reply, because no answer allows it to (CORS is off). It could send a request, and by
//! rebinding its own name to this machine it could also read: so the name is checked, and another origin is refused.

use crate::serve::refusal::Refusal;
use crate::serve::state::State;
use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// Paths that need no key: whether the server is up, and the page, which asks for the key itself.
const OPEN: [&str; 2] = ["/health", "/"];

/// Sent with every response: no content sniffing, no framing by other sites, no `Referer`.
const HEADERS: [(&str, &str); 3] =
    [("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"), ("referrer-policy", "no-referrer")];

/// Lets a request through, or refuses it.
pub(super) async fn check(Extract(state): Extract<Arc<State>>, request: Request<Body>, next: Next) -> Response {
    let path = request.uri().path();
    let is_open = OPEN.contains(&path) || path.starts_with("/page/");
    let passed = named(&state, request.headers())
        .and_then(|()| same_origin(request.headers()))
        .and_then(|()| if is_open { Ok(()) } else { keyed(&state, request.headers()) });
    let mut response = match passed {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    state.metrics.answered(response.status());
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    // A value that is no ASCII must not count as missing: a request without an `Origin` is let through.
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// The `Host` must be an address, `localhost`, or one of the server's names.
fn named(state: &State, headers: &HeaderMap) -> Result<(), Refusal> {
    let host = text(headers, HOST).unwrap_or_default();
    let name = without_port(host).trim_matches(['[', ']']).to_ascii_lowercase();
    // Rebinding needs a name, so an address is safe.
    let known = name.parse::<IpAddr>().is_ok() || name == "localhost" || state.names.contains(&name);
    if known {
        return Ok(());
    }
    let shown = crate::escape::beginning(host, 100);
    let message = format!("Host: expected an address, localhost, or a name given by --name, found {shown:?}");
    Err(Refusal::new(StatusCode::FORBIDDEN, message))
}

/// `host` without `:port`.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|b| b.is_ascii_digit()) && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

/// A request of a page must come from a page of this server.
fn same_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    // Clients other than browsers send no `Origin`.
    let (Some(origin), host) = (text(headers, ORIGIN), text(headers, HOST).unwrap_or_default()) else { return Ok(()) };
    // The scheme is not compared: this server cannot know it where a proxy in front does TLS.
    let own = origin.split_once("://").is_some_and(|(_, name)| name.eq_ignore_ascii_case(host));
    if own {
        return Ok(());
    }
    let shown = crate::escape::beginning(origin, 100);
    Err(Refusal::new(StatusCode::FORBIDDEN, format!("Origin: expected a page of this server, found {shown:?}")))
}

fn keyed(state: &State, headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(key) = &state.key else { return Ok(()) };
    let sent = text(headers, AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    if sent.is_some_and(|sent| key.is(sent.trim())) {
        return Ok(());
    }
    Err(Refusal::new(StatusCode::UNAUTHORIZED, "Authorization: expected Bearer and this server's key"))
}

#[cfg(test)]
mod tests {
    use super::without_port;

    #[test]
    fn ports_are_cut_off() {
        let cases = [("a:80", "a"), ("a", "a"), ("[::1]:80", "[::1]"), ("[::1]", "[::1]"), ("1.2.3.4:5", "1.2.3.4")];
        for (host, name) in cases {
            assert_eq!(without_port(host), name);
        }
    }
}
