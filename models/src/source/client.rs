//! HTTP requests to a hub: redirects are followed here, one by one, so that the token goes to the hub and to no other
//! host.

use std::fs::File;
use std::io::{self, Read, Write};
use ureq::http::{Response, StatusCode, Uri};
use ureq::{Agent, Body};

/// Redirects of one request at most.
const MAX_REDIRECTS: usize = 10;

/// Bytes of a repository's listing at most.
const MAX_LISTING: u64 = 64 << 20;

/// Bytes copied at a time.
const BUFFER: usize = 1 << 18;

const USER_AGENT: &str = concat!("moot/", env!("CARGO_PKG_VERSION"));

/// Why a request gave nothing.
#[derive(Debug)]
pub(super) enum Fault {
    /// The status that ends the request.
    Status(u16),
    /// No connection, or one that broke.
    Network(String),
    /// An answer that cannot be used.
    Answer(String),
    /// Our own file cannot be written.
    Disk(io::Error),
}

impl Fault {
    /// Whether the same request may do better in a moment.
    pub(super) fn passes(&self) -> bool {
        match self {
            Self::Status(status) => *status >= 500 || matches!(status, 408 | 429),
            Self::Network(_) => true,
            Self::Answer(_) | Self::Disk(_) => false,
        }
    }

    pub(super) fn line(&self) -> String {
        match self {
            Self::Status(status) => format!("http status: {status}"),
            Self::Network(line) | Self::Answer(line) => line.clone(),
            Self::Disk(error) => error.to_string(),
        }
    }
}

/// A hub's metadata of a file, requested before the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// Of the revision.
    pub(super) commit: String,
    /// The name of its content: the SHA-256 of a large file.
    pub(super) etag: String,
    /// In bytes.
    pub(super) size: u64,
}

/// Asks one hub.
#[derive(Debug, Clone)]
pub(super) struct Client {
    agent: Agent,
    token: Option<String>,
    /// Where the token may go.
    origin: Option<Origin>,
}

impl Client {
    /// A client of the hub at `endpoint`.
    pub(super) fn new(endpoint: &str, token: Option<String>) -> Self {
        let config = Agent::config_builder().max_redirects(0).http_status_as_error(false).user_agent(USER_AGENT);
        let origin = endpoint.parse().ok().and_then(|uri| Origin::of(&uri));
        Self { agent: config.build().into(), token, origin }
    }

    /// The commit, etag and size of the file at `url`. The hub itself says the first two; where it redirects to a
    /// storage, that says the size.
    ///
    /// # Errors
    /// [`Fault`].
    pub(super) fn head(&self, url: &str) -> Result<Head, Fault> {
        let mut request = Request::new(self, url, Some("bytes=0-0".into()))?;
        // A redirect within the hub, to a repository's new name, has no metadata of the file yet.
        let mut response = request.send()?;
        while response.status().is_redirection() && header(&response, "x-repo-commit").is_none() {
            request.follow(&response)?;
            response = request.send()?;
        }
        if !response.status().is_redirection() && !response.status().is_success() {
            return Err(Fault::Status(response.status().as_u16()));
        }
        let told = |name: &str| {
            header(&response, name).ok_or_else(|| Fault::Answer(format!("the hub's answer has no header {name}")))
        };
        let etag = told("x-linked-etag").or_else(|_| told("etag"))?;
        let etag = etag.trim_start_matches("W/").replace('"', "");
        let commit = told("x-repo-commit")?;
        let response = request.follow_all(response)?;
        let size = header(&response, "content-range").and_then(|range| range.rsplit('/').next()?.parse().ok());
        let size = size.ok_or_else(|| Fault::Answer("the hub's answer has no size in content-range".into()))?;
        Ok(Head { commit, etag, size })
    }

    /// The body at `url`, a text of at most [`MAX_LISTING`] bytes.
    ///
    /// # Errors
    /// [`Fault`].
    pub(super) fn text(&self, url: &str) -> Result<String, Fault> {
        let mut request = Request::new(self, url, None)?;
        let response = request.send()?;
        let mut response = request.follow_all(response)?;
        let body = response.body_mut().with_config().limit(MAX_LISTING).read_to_string();
        body.map_err(|error| Fault::Network(error.to_string()))
    }

    /// Appends the bytes of `url` from `from` on to `file`, which is to have `size` bytes then; `report` gets the
    /// number of its bytes.
    ///
    /// # Errors
    /// [`Fault`]; what came before it is in the file.
    pub(super) fn append(
        &self,
        url: &str,
        file: &mut File,
        (from, size): (u64, u64),
        report: &mut dyn FnMut(u64),
    ) -> Result<(), Fault> {
        let mut request = Request::new(self, url, Some(format!("bytes={from}-")))?;
        let response = request.send()?;
        let response = request.follow_all(response)?;
        let mut reader = response.into_body().into_reader();
        let mut buffer = vec![0; BUFFER];
        let mut done = from;
        loop {
            let read = reader.read(&mut buffer).map_err(|error| Fault::Network(error.to_string()))?;
            if read == 0 {
                return Ok(());
            }
            if done + read as u64 > size {
                return Err(Fault::Answer(format!("more bytes came than the {size} that the hub says")));
            }
            file.write_all(&buffer[..read]).map_err(Fault::Disk)?;
            done += read as u64;
            report(done);
        }
    }
}

/// A request on its way through redirects.
struct Request<'a> {
    client: &'a Client,
    url: Uri,
    range: Option<String>,
    /// The token, until a redirect leaves the hub. It is not sent again after that.
    token: Option<&'a str>,
    redirects: usize,
}

impl<'a> Request<'a> {
    fn new(client: &'a Client, url: &str, range: Option<String>) -> Result<Self, Fault> {
        let url: Uri = url.parse().map_err(|error| Fault::Answer(format!("{url}: {error}")))?;
        let trusted = client.origin.is_some() && Origin::of(&url) == client.origin;
        let token = client.token.as_deref().filter(|_| trusted);
        Ok(Self { client, url, range, token, redirects: 0 })
    }

    fn send(&self) -> Result<Response<Body>, Fault> {
        let mut request = self.client.agent.get(&self.url);
        if let Some(range) = &self.range {
            request = request.header("Range", range);
        }
        if let Some(token) = self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        request.call().map_err(|error| Fault::Network(error.to_string()))
    }

    /// Continues at the location that `response`, a redirect, names.
    fn follow(&mut self, response: &Response<Body>) -> Result<(), Fault> {
        self.redirects += 1;
        if self.redirects > MAX_REDIRECTS {
            return Err(Fault::Answer(format!("more than {MAX_REDIRECTS} redirects")));
        }
        let location = header(response, "location")
            .ok_or_else(|| Fault::Answer(format!("a redirect ({}) without a location", response.status().as_u16())))?;
        self.url = resolve(&self.url, &location)
            .ok_or_else(|| Fault::Answer("a redirect to something that is no http address".into()))?;
        if Origin::of(&self.url) != self.client.origin {
            self.token = None;
        }
        Ok(())
    }

    /// Follows `response` and what comes after it to an answer that is not a redirect.
    fn follow_all(&mut self, mut response: Response<Body>) -> Result<Response<Body>, Fault> {
        while response.status().is_redirection() && response.status() != StatusCode::NOT_MODIFIED {
            self.follow(&response)?;
            response = self.send()?;
        }
        if response.status().is_success() { Ok(response) } else { Err(Fault::Status(response.status().as_u16())) }
    }
}

/// Scheme, host and port (RFC 6454).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin(String, String, u16);

impl Origin {
    fn of(url: &Uri) -> Option<Self> {
        let scheme = url.scheme_str()?.to_ascii_lowercase();
        let port = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        Some(Self(scheme, url.host()?.to_ascii_lowercase(), url.port_u16().unwrap_or(port)))
    }
}

fn header(response: &Response<Body>, name: &str) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// The address that `location` means in an answer from `base` (RFC 3986, section 5.2, without `.` and `..`).
fn resolve(base: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next()?;
    let absolute = location.find("://").is_some_and(|at| !location[..at].contains(['/', '?']));
    let text = if absolute {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{}:{location}", base.scheme_str()?)
    } else {
        let path = if location.starts_with('/') {
            location.to_owned()
        } else {
            let folder = base.path().rfind('/').map_or("/", |at| &base.path()[..=at]);
            format!("{folder}{location}")
        };
        format!("{}://{}{path}", base.scheme_str()?, base.authority()?)
    };
    let url: Uri = text.parse().ok()?;
    Origin::of(&url).map(|_| url)
}

#[cfg(test)]
mod tests {
    use super::{Origin, resolve};

    #[test]
    fn locations_and_origins() {
        let base = "https://hub.example/org/name/resolve/main/a.gguf?x=1".parse().unwrap();
        for (location, expected) in [
            ("/b?c#d", "https://hub.example/b?c"),
            ("b.gguf", "https://hub.example/org/name/resolve/main/b.gguf"),
            ("//other.example/b", "https://other.example/b"),
            ("http://hub.example/b", "http://hub.example/b"),
            ("/b?to=http://other.example/", "https://hub.example/b?to=http://other.example/"),
        ] {
            assert_eq!(resolve(&base, location).unwrap().to_string(), expected, "{location}");
        }
        assert_eq!(resolve(&base, "file:///etc/passwd"), None);
        let origin = |url: &str| Origin::of(&url.parse().unwrap());
        assert_eq!(origin("https://Hub.example/a"), origin("https://hub.example:443/b"));
        for other in ["http://hub.example", "https://hub.example:444", "https://hub.example.org", "https://ub.example"]
        {
            assert_ne!(origin("https://hub.example"), origin(other), "{other}");
        }
    }
}
