//! `moot serve`: one open workspace over HTTP; `moot mcp`: over standard input and output.
//!
//! The models are loaded once; every request has a plan of its own on them ([`crate::workspace::Workspace::share`]).
//! Requests of all clients are decoded in one batch, by the engine that the command line uses, so a reply has the same
//! bits. `openai` speaks OpenAI's API, `moot` has moot's own endpoints, `mcp` offers them as tools, `page` is the page
//! at `/`.

mod admission;
mod body;
mod calls;
mod file;
mod guard;
mod key;
mod listen;
mod load;
mod mcp;
mod metrics;
mod moot;
mod openai;
mod options;
mod page;
mod refusal;
mod state;
mod status;
mod stream;

pub use mcp::StdioServer;
pub use options::{Limits, ServeOptions};

use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::serve::key::Key;
use crate::serve::moot::records::Records;
use crate::serve::state::State;
use crate::workspace::{Control, PlanOptions};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// Time for threads to end, after requests have had theirs.
const LAST: Duration = Duration::from_secs(5);

/// Threads that read and write; the work is on threads of its own.
const IO_THREADS: usize = 2;

/// A server that listens; its models are not loaded yet.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    state: Arc<State>,
    plan: PlanOptions,
    address: String,
    /// Ends the calls in flight, unlike a signal, which only lets no further ones begin.
    cancel: Cancel,
}

impl Server {
    /// Listens, so that a port that is taken is found before a model is loaded.
    ///
    /// # Errors
    /// [`MootError::Usage`] for an address that cannot be listened on, and for one that other machines reach if there is no
    /// key; a folder of records that cannot be made or read.
    pub fn listen(options: ServeOptions) -> Result<Self> {
        let ServeOptions { host, port, names, key, records, plan, limits } = options;
        if key.is_none() && !is_loopback(&host) {
            return Err(MootError::Usage(format!(
                "--host {host}: other machines reach this address; expected a key in MOOT_SERVE_KEY, found none"
            )));
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(IO_THREADS)
            .max_blocking_threads(limits.at_once + IO_THREADS)
            .enable_all()
            .build()
            .map_err(MootError::Threads)?;
        let bound = runtime.block_on(TcpListener::bind((host.as_str(), port)));
        let listener = bound.map_err(|e| MootError::Usage(format!("--port {port}: cannot listen on {host}: {e}")))?;
        let address = listener.local_addr().map_err(|e| MootError::Usage(format!("--host {host}: {e}")))?.to_string();
        let (cancel, key) = (Cancel::default(), key.as_deref().map(Key::new));
        let state = Arc::new(State::new(limits, key, &names, Records::open(records)?, &cancel));
        Ok(Self { runtime, listener, state, plan, address, cancel })
    }

    /// `127.0.0.1:8642`: the port is the one that was taken.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Opens the workspace and serves until `control.stop` is set. Then requests in flight may end, for half a minute.
    ///
    /// # Errors
    /// As [`Plan::of`](crate::workspace::Plan::of) and [`Workspace::open`](crate::workspace::Workspace::open).
    pub fn run(self, control: &Control) -> Result<()> {
        let Self { runtime, listener, state, plan, address, cancel } = self;
        let calls = Control { cancel: cancel.clone(), ..control.clone() };
        let (app, stop) = (router(state.clone()), control.stop.clone());
        // Before the models are loaded: meanwhile clients get 503, and `/health` says when the models are there.
        let served = runtime.spawn(listen::serve(listener, app, stop, move || cancel.cancel()));
        load::load(&state, plan, control, &calls)?;
        control.watch.note(&format!("listening on http://{address}"));
        // The task ends with its loop, and panics nowhere.
        let _ = runtime.block_on(served);
        // Work that does not look whether it is cancelled, as reading a file, is not waited for any longer.
        runtime.shutdown_timeout(LAST);
        Ok(())
    }
}

/// Whether only programs of this machine reach `host`.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn router(state: Arc<State>) -> Router {
    Router::new()
        .merge(status::routes())
        .merge(openai::routes())
        .merge(calls::routes())
        .merge(moot::routes())
        .merge(mcp::routes())
        .merge(page::routes())
        .fallback(status::no_such_path)
        .method_not_allowed_fallback(status::no_such_method)
        .layer(from_fn_with_state(state.clone(), guard::check))
        // Bodies are bounded where they are read.
        .layer(DefaultBodyLimit::disable())
        .with_state(state)
}
