//! Files from a hub into its cache, resumed where a connection broke and checked when they are whole.

use super::address::HubAddress;
use super::client::{Client, Fault, Head};
use super::hash::model_hash;
use super::hub::Hub;
use super::repository::{self, INDEX, Wanted};
use std::fs::{File, OpenOptions};
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Interval of progress reports, in bytes and in time.
const REPORT_EVERY: (u64, Duration) = (1 << 20, Duration::from_secs(1));

/// How long another program's lock on a file is waited for.
const LOCKED: Duration = Duration::from_secs(5);

/// Attempts in a row that brought no byte. One that brought some starts the count anew.
const ATTEMPTS: u32 = 4;

/// Messages of the download thread.
pub(super) enum Event {
    /// The hub accepted a connection.
    Connected,
    /// Bytes of the current file.
    Bytes { done: u64, total: u64 },
    /// The next of several files is being fetched: its number from 1, and the number of files.
    NextFile { index: usize, count: usize },
    /// The result: the file or the folder.
    Done(Result<PathBuf, Refusal>),
}

/// Why a fetch from the hub failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The hub cannot be reached; further requests are pointless.
    Unreachable(String),
    /// Access denied; one line says how to get access.
    Denied(String),
    /// The local disk is full or not writable; further fetches are pointless.
    Disk(String),
    /// Anything else.
    Failed(String),
}

impl Refusal {
    pub(super) fn line(&self) -> String {
        let (Self::Unreachable(line) | Self::Denied(line) | Self::Disk(line) | Self::Failed(line)) = self;
        line.replace('\n', " ")
    }
}

/// One download of one model.
pub(super) struct Download<'a> {
    pub(super) hub: &'a Hub,
    pub(super) address: &'a HubAddress,
    /// Folder of stored hashes.
    pub(super) notes: &'a Path,
    pub(super) events: Sender<Event>,
}

impl Download<'_> {
    /// Downloads the model. Returns the file, its first split, or the folder.
    pub(super) fn run(&self) -> Result<PathBuf, Refusal> {
        let client = Client::new(&self.hub.endpoint, self.hub.token.clone());
        match self.wanted(&client)? {
            Wanted::Files(files) => self.all(&client, &files),
            Wanted::Folder { mut files, index } => {
                if index {
                    let path = self.file(&client, INDEX)?;
                    let bytes =
                        std::fs::read(&path).map_err(|e| Refusal::Failed(format!("{}: {e}", path.display())))?;
                    files.extend(repository::shards(&bytes).map_err(Refusal::Failed)?);
                }
                let first = self.all(&client, &files)?;
                Ok(first.parent().map_or_else(PathBuf::new, Path::to_owned))
            }
        }
    }

    fn wanted(&self, client: &Client) -> Result<Wanted, Refusal> {
        if let Some(file) = &self.address.file {
            return Ok(Wanted::Files(repository::splits(file)));
        }
        let (endpoint, repo) = (&self.hub.endpoint, &self.address.repo);
        let text = client.text(&format!("{endpoint}/api/models/{repo}/revision/{}", self.revision()));
        let listing: Listing = text
            .and_then(|text| serde_json::from_str(&text).map_err(|e| Fault::Answer(format!("the hub's listing: {e}"))))
            .map_err(|fault| self.refusal("", &fault))?;
        let names: Vec<String> = listing.siblings.into_iter().map(|sibling| sibling.rfilename).collect();
        repository::choose(&names).map_err(|why| Refusal::Failed(format!("{repo}: {why}")))
    }

    /// As an address has it.
    fn revision(&self) -> String {
        self.address.revision.replace('/', "%2F")
    }

    /// All of `files`, in one snapshot; the path of the first.
    fn all(&self, client: &Client, files: &[String]) -> Result<PathBuf, Refusal> {
        let mut paths = Vec::new();
        for (i, file) in files.iter().enumerate() {
            if files.len() > 1 {
                let _ = self.events.send(Event::NextFile { index: i + 1, count: files.len() });
            }
            paths.push(self.file(client, file)?);
        }
        // A file may be in a folder of the repository: `1_Pooling/config.json`.
        let depth = |file: &str| Path::new(file).components().count();
        let mut snapshots = paths.iter().zip(files).map(|(path, file)| path.ancestors().nth(depth(file)));
        let first = snapshots.next();
        if snapshots.any(|snapshot| Some(snapshot) != first) {
            return Err(Refusal::Failed(format!("{} changed while it was fetched; try again", self.address.repo)));
        }
        Ok(paths.swap_remove(0))
    }

    /// One file: asked for again where the connection breaks, from where it broke.
    fn file(&self, client: &Client, name: &str) -> Result<PathBuf, Refusal> {
        let (mut failures, mut before) = (0, 0);
        loop {
            let mut part = None;
            let error = match self.attempt(client, name, &mut part) {
                Ok(path) => return Ok(path),
                Err(error) => error,
            };
            let here = part.as_deref().map_or(0, length);
            failures = if here > before { 1 } else { failures + 1 };
            before = here;
            let again = matches!(&error, Error::Hub(fault) if fault.passes());
            if !again || failures >= ATTEMPTS {
                return Err(match error {
                    Error::Hub(fault) => self.refusal(name, &fault),
                    Error::Disk(error) => self.disk(&error),
                    Error::Wrong(line) => Refusal::Failed(line),
                });
            }
            std::thread::sleep(self.hub.pause * failures);
        }
    }

    fn attempt(&self, client: &Client, name: &str, part: &mut Option<PathBuf>) -> Result<PathBuf, Error> {
        let url = format!("{}/{}/resolve/{}/{name}", self.hub.endpoint, self.address.repo, self.revision());
        let head = client.head(&url)?;
        let cache = self.hub.cache.repo(self.address.repository());
        let plain = |text: &str| Path::new(text).components().all(|part| matches!(part, Component::Normal(_)));
        if !plain(&head.etag) || !plain(&head.commit) || !plain(name) {
            return Err(Error::Wrong(format!("{name}: the hub's etag or commit is no name of a file")));
        }
        let blob = self.hub.repository(self.address).join("blobs").join(&head.etag);
        let pointer = cache.pointer_path(&head.commit).join(name);
        let partial = blob.with_extension("part");
        // A whole one that was not renamed any more, or one that no range can continue.
        if length(&partial) >= head.size {
            let _ = std::fs::remove_file(&partial);
        }
        *part = Some(partial.clone());
        // A damaged one is fetched anew: it is not what its name says.
        let here = blob.is_file() && length(&blob) == head.size;
        if here {
            let _ = self.events.send(Event::Bytes { done: head.size, total: head.size });
        }
        if !here || verify_blob(&blob, self.notes).is_err() {
            self.fetch(client, &url, &head, &partial, &blob)?;
            self.check(name, &blob, &head).inspect_err(|_| drop(std::fs::remove_file(&blob)))?;
        }
        link(&self.hub.repository(self.address), &head.etag, &pointer)
            .and_then(|()| cache.create_ref(&head.commit))
            .map_err(Error::Disk)?;
        Ok(pointer)
    }

    /// Fetches what is missing of `partial` and names it `blob`. Other programs that fetch into this cache lock the same
    /// file.
    fn fetch(&self, client: &Client, url: &str, head: &Head, partial: &Path, blob: &Path) -> Result<(), Error> {
        std::fs::create_dir_all(partial.parent().unwrap_or(partial)).map_err(Error::Disk)?;
        let lock = blob.with_extension("lock");
        let held = File::create(&lock).map_err(Error::Disk)?;
        let started = Instant::now();
        while held.try_lock().is_err() {
            if started.elapsed() > LOCKED {
                return Err(Error::Wrong(format!("another program is fetching it ({})", lock.display())));
            }
            std::thread::sleep(self.hub.pause);
        }
        let mut file = OpenOptions::new().append(true).create(true).open(partial).map_err(Error::Disk)?;
        let from = file.metadata().map_err(Error::Disk)?.len();
        let mut report = Report { events: &self.events, total: head.size, reported: (0, Instant::now()) };
        report.send(from);
        let appended = client.append(url, &mut file, (from, head.size), &mut |done| report.update(done));
        if let Err(Fault::Answer(_)) = &appended {
            // The bytes received are not of the requested file, so that the download cannot continue from them.
            let _ = std::fs::remove_file(partial);
        }
        appended?;
        report.send(length(partial));
        std::fs::rename(partial, blob).map_err(Error::Disk)
    }

    /// Its size; and its hash, where the hub calls it by it (large files by their SHA-256).
    fn check(&self, name: &str, blob: &Path, head: &Head) -> Result<(), Error> {
        let found = length(blob);
        if found != head.size {
            return Err(Error::Wrong(format!("{name}: {found} bytes came, the hub says {}", head.size)));
        }
        verify_blob(blob, self.notes).map_err(|line| Error::Wrong(format!("{name}: {line}")))
    }

    /// A fault in words for the user who typed the name.
    fn refusal(&self, file: &str, fault: &Fault) -> Refusal {
        let (endpoint, repo) = (&self.hub.endpoint, &self.address.repo);
        let page = format!("{endpoint}/{repo}");
        match (fault, &self.hub.token) {
            (Fault::Status(401), None) => Refusal::Denied(format!(
                "401: {repo} is gated, private or absent; accept its licence on {page}, then set HF_TOKEN to a token of \
                 {endpoint}/settings/tokens"
            )),
            (Fault::Status(401), Some(_)) => Refusal::Denied(format!(
                "401: the hub does not take this token for {repo}; set HF_TOKEN to a valid one of \
                 {endpoint}/settings/tokens"
            )),
            (Fault::Status(403), _) => Refusal::Denied(format!(
                "403: this account has no access to {repo} yet; accept its licence on {page}, with the account that \
                 HF_TOKEN belongs to"
            )),
            (Fault::Status(404), _) => {
                let what = if file.is_empty() { repo.clone() } else { format!("{file} in {repo}") };
                Refusal::Failed(format!("404: no {what} at {}", self.address.revision))
            }
            (Fault::Disk(error), _) => self.disk(error),
            _ => Refusal::Failed(fault.line()),
        }
    }

    fn disk(&self, error: &std::io::Error) -> Refusal {
        Refusal::Disk(format!("{}: {error}", self.hub.repository(self.address).display()))
    }
}

/// A repository's listing, as far as it is read.
#[derive(serde::Deserialize)]
struct Listing {
    siblings: Vec<Sibling>,
}

#[derive(serde::Deserialize)]
struct Sibling {
    rfilename: String,
}

/// The error of an attempt.
enum Error {
    Hub(Fault),
    Disk(std::io::Error),
    Wrong(String),
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Hub(fault)
    }
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |status| status.len())
}

/// Checks a file of the hub's cache against its name if that is a SHA-256; other files are not checked.
///
/// # Errors
/// One line: the hash differs, or the file cannot be read.
pub(super) fn verify_blob(path: &Path, notes: &Path) -> Result<(), String> {
    let blob = path.canonicalize().map_err(|error| error.to_string())?;
    let Some(expected) = blob.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
    if expected.len() != 64 || !expected.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(());
    }
    let found = model_hash(&blob, notes).map_err(|error| error.to_string())?;
    if found.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(format!("its sha256 is {found}, the hub says {expected}"))
}

/// Links `pointer`, in a snapshot of `repository`, to `blobs/etag` by a relative link, as other tools do.
fn link(repository: &Path, etag: &str, pointer: &Path) -> std::io::Result<()> {
    if pointer.exists() {
        return Ok(());
    }
    let folder = pointer.parent().unwrap_or(repository);
    std::fs::create_dir_all(folder)?;
    #[cfg(unix)]
    {
        let depth = folder.strip_prefix(repository).map_or(0, |inner| inner.components().count());
        let blob = PathBuf::from_iter(std::iter::repeat_n("..", depth)).join("blobs").join(etag);
        let _ = std::fs::remove_file(pointer);
        std::os::unix::fs::symlink(blob, pointer)
    }
    #[cfg(not(unix))]
    {
        std::fs::copy(repository.join("blobs").join(etag), pointer).map(drop)
    }
}

/// Progress of one file, sent to the thread that waits.
struct Report<'a> {
    events: &'a Sender<Event>,
    total: u64,
    reported: (u64, Instant),
}

impl Report<'_> {
    fn send(&mut self, done: u64) {
        self.reported = (done, Instant::now());
        let _ = self.events.send(Event::Bytes { done, total: self.total });
    }

    fn update(&mut self, done: u64) {
        let (bytes, at) = self.reported;
        if done.saturating_sub(bytes) >= REPORT_EVERY.0 || at.elapsed() >= REPORT_EVERY.1 {
            self.send(done);
        }
    }
}
