//! Models from a Hugging Face hub, in hf-hub's cache layout, so that what other tools fetched is found.
//!
//! `HF_HOME`, `HF_HUB_CACHE`, `HF_ENDPOINT`, `HF_TOKEN` and `HF_HUB_OFFLINE` have the same meaning as in those tools.

use super::address::HubAddress;
use super::repository::{self, INDEX, Wanted};
use hf_hub::Cache;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

/// Silence timeout once connected. The hub's redirect to storage can take several seconds.
const SILENCE: Duration = Duration::from_secs(30);

/// Pause after the first failed attempt; it grows linearly.
const PAUSE: Duration = Duration::from_secs(1);

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";

/// One hub and its cache on this machine.
#[derive(Debug, Clone)]
pub(super) struct Hub {
    /// URL with the scheme, without a final slash.
    pub(super) endpoint: String,
    pub(super) cache: Cache,
    pub(super) token: Option<String>,
    /// Silence timeout once connected.
    pub(super) silence: Duration,
    /// Pause before a broken download is resumed.
    pub(super) pause: Duration,
}

impl Hub {
    /// The hub and cache named by the environment, as other tools of the hub read it.
    pub(super) fn from_environment() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let path = |name: &str| variable(name).map(PathBuf::from);
        let home = path("HF_HOME").unwrap_or_else(|| {
            let caches = path("XDG_CACHE_HOME").or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
            caches.unwrap_or_default().join("huggingface")
        });
        let cache = path("HF_HUB_CACHE").or_else(|| path("HUGGINGFACE_HUB_CACHE")).unwrap_or_else(|| home.join("hub"));
        let token_file = path("HF_TOKEN_PATH").unwrap_or_else(|| home.join("token"));
        let kept = || std::fs::read_to_string(token_file).ok();
        let token = variable("HF_TOKEN").or_else(|| variable("HUGGING_FACE_HUB_TOKEN")).or_else(kept);
        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned());
        Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            cache: Cache::new(cache),
            token: token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty()),
            silence: SILENCE,
            pause: PAUSE,
        }
    }

    /// The model in the local cache, if it is complete. No network.
    pub(super) fn cached(&self, address: &HubAddress) -> Option<PathBuf> {
        let snapshot = self.snapshot(address)?;
        let whole = |files: &[String]| files.iter().all(|file| snapshot.join(file).exists());
        if let Some(file) = &address.file {
            let files = repository::splits(file);
            return whole(&files).then(|| snapshot.join(&files[0]));
        }
        let names: Vec<String> = std::fs::read_dir(&snapshot)
            .ok()?
            .flatten()
            .filter(|file| file.path().exists())
            .map(|file| file.file_name().to_string_lossy().into_owned())
            .collect();
        match repository::choose(&names).ok()? {
            Wanted::Files(files) => whole(&files).then(|| snapshot.join(&files[0])),
            Wanted::Folder { index: false, .. } => Some(snapshot),
            Wanted::Folder { index: true, .. } => {
                let index = std::fs::read(snapshot.join(INDEX)).ok()?;
                whole(&repository::shards(&index).ok()?).then_some(snapshot)
            }
        }
    }

    /// The snapshot folder of the revision (a fetched branch or tag, or a commit).
    fn snapshot(&self, address: &HubAddress) -> Option<PathBuf> {
        let repo = self.repository(address);
        let noted = std::fs::read_to_string(repo.join("refs").join(&address.revision)).ok();
        let commit = noted.as_deref().map_or(address.revision.as_str(), str::trim);
        let folder = repo.join("snapshots").join(commit);
        (!commit.is_empty() && folder.is_dir()).then_some(folder)
    }

    /// The repository's folder in the cache.
    pub(super) fn repository(&self, address: &HubAddress) -> PathBuf {
        self.cache.path().join(address.repository().folder_name())
    }
}

/// The reason of a failure to start a thread.
pub(super) fn no_thread(error: &std::io::Error) -> String {
    format!("cannot start a thread: {error}")
}

/// Whether a proxy is configured: then a direct connection does not show whether the host can be reached.
pub(super) fn proxied() -> bool {
    let proxies = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    proxies.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Opens and closes a connection, so that an unreachable host is detected within `patience` (plus name resolution).
/// Behind a proxy nothing is probed: only the download itself can tell.
pub(super) fn reach(url: &str, patience: Duration) -> Result<(), String> {
    if proxied() {
        return Ok(());
    }
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let host = rest.split('/').next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let with_port = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        host.to_owned()
    } else {
        format!("{host}:{}", if scheme == "http" { 80 } else { 443 })
    };
    let addresses = with_port.to_socket_addrs().map_err(|error| format!("{host}: {error}"))?;
    let mut last = format!("{host} has no address");
    for address in addresses.take(2) {
        match TcpStream::connect_timeout(&address, patience / 2) {
            Ok(_) => return Ok(()),
            Err(error) => last = format!("{host}: {error}"),
        }
    }
    Err(last)
}
