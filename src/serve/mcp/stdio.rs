//! `moot mcp`: the tools for one client, over standard input and output, a message a line.

use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::serve::admission::end_after;
use crate::serve::load::load;
use crate::serve::mcp::calls::Calls;
use crate::serve::mcp::dispatch::{Asked, Call, asked};
use crate::serve::mcp::revision::Revision;
use crate::serve::mcp::rpc::{self, Failure, PARSE_ERROR};
use crate::serve::mcp::{progress, work};
use crate::serve::moot::records::Records;
use crate::serve::options::{Limits, ServeOptions};
use crate::serve::state::{State, slot};
use crate::workspace::{Control, PlanOptions};
use axum::body::Bytes;
use serde_json::Value;
use std::io::{BufRead, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// Interval at which the end is looked for.
const TICK: Duration = Duration::from_millis(50);
/// Time for calls to end after they were cancelled.
const DRAIN: Duration = Duration::from_secs(5);

/// A server for the client at the other end of two streams; its models are not loaded yet.
pub struct StdioServer {
    runtime: Runtime,
    state: Arc<State>,
    plan: PlanOptions,
    cancel: Cancel,
}

impl StdioServer {
    /// Of `options` it takes the plan, the folder of records and the limits.
    ///
    /// # Errors
    /// A folder of records that cannot be made or read; threads that the system refuses.
    pub fn new(options: ServeOptions) -> Result<Self> {
        let ServeOptions { records, plan, limits, .. } = options;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(limits.at_once)
            .enable_time()
            .build()
            .map_err(MootError::Threads)?;
        let cancel = Cancel::default();
        let state = Arc::new(State::new(limits, None, &[], Records::open(records)?, &cancel));
        Ok(Self { runtime, state, plan, cancel })
    }

    /// Answers the messages of `input` while the models are loaded and afterwards, until it ends or `control.stop` is set. Then
    /// calls are cancelled.
    ///
    /// # Errors
    /// As [`Plan::of`](crate::workspace::Plan::of) and [`Workspace::open`](crate::workspace::Workspace::open).
    pub fn run(
        self,
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
        control: &Control,
    ) -> Result<()> {
        let Self { runtime, state, plan, cancel } = self;
        let client = Arc::new(Client {
            output: Mutex::new(Box::new(output)),
            ended: AtomicBool::new(false),
            calls: Arc::default(),
            state: state.clone(),
            handle: runtime.handle().clone(),
        });
        let reader = client.clone();
        // The thread is not joined: it may block in a read.
        let listens = std::thread::Builder::new().name("mcp".into()).spawn(move || reader.listen(input));
        listens.map_err(MootError::Threads)?;
        load(&state, plan, control, &Control { cancel: cancel.clone(), ..control.clone() })?;
        while !control.is_stopped() && !client.ended.load(Ordering::Relaxed) {
            std::thread::sleep(TICK);
        }
        cancel.cancel();
        runtime.shutdown_timeout(DRAIN);
        Ok(())
    }
}

/// The client.
struct Client {
    output: Mutex<Box<dyn Write + Send>>,
    /// It has left.
    ended: AtomicBool,
    calls: Arc<Calls>,
    state: Arc<State>,
    handle: Handle,
}

impl Client {
    fn send(&self, message: &Value) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let written = writeln!(output, "{message}").and_then(|()| output.flush());
        if written.is_err() {
            self.ended.store(true, Ordering::Relaxed);
        }
    }

    /// Answers the messages of `input` until it ends.
    fn listen(self: &Arc<Self>, mut input: impl BufRead) {
        let Limits { body: most, .. } = self.state.limits;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = input.by_ref().take(most as u64 + 1).read_until(b'\n', &mut line);
            if read.is_err() || line.is_empty() {
                break;
            }
            if line.len() > most && line.last() != Some(&b'\n') {
                let wrong = format!("expected a message of at most {most} bytes, found more");
                self.send(&Failure::new(None, PARSE_ERROR, wrong).json());
                if input.skip_until(b'\n').is_err() {
                    break;
                }
                continue;
            }
            if !line.trim_ascii().is_empty()
                && let Err(failure) = self.answer(&line)
            {
                self.send(&failure.json());
            }
        }
        self.ended.store(true, Ordering::Relaxed);
    }

    fn answer(self: &Arc<Self>, line: &[u8]) -> std::result::Result<(), Failure> {
        let Some(message) = rpc::read(line)? else { return Ok(()) };
        let revision = Revision::of(&message, None)?;
        match asked(message, revision)? {
            Asked::Result(id, value) => self.send(&rpc::result(&id, &value)),
            Asked::Call(call) => self.start(call, line)?,
            // There is one client, so its session needs no name.
            Asked::Cancel(id) => self.calls.cancel("", id),
            Asked::Nothing => {}
        }
        Ok(())
    }

    /// Starts a call, which sends its own response.
    fn start(self: &Arc<Self>, call: Call, line: &[u8]) -> std::result::Result<(), Failure> {
        let cancel = self.state.child();
        let listed = self.calls.enter("", &call.id, &cancel)?;
        let (client, message) = (self.clone(), Bytes::copy_from_slice(line));
        self.handle.spawn(async move {
            let response = match slot(&client.state).await {
                Ok(permit) => {
                    let _timer = end_after(client.state.limits.seconds, &cancel);
                    let told = client.clone();
                    let sink = progress::sink(call.progress.clone(), &cancel, move |value| told.send(value));
                    work::response(client.state.clone(), permit, call, message, cancel, sink).await
                }
                Err(refusal) => rpc::result(&call.id, &work::refused(&refusal)),
            };
            if listed.ends() {
                client.send(&response);
            }
        });
        Ok(())
    }
}
