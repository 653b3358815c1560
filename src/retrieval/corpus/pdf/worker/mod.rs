//! PDF files read in processes of their own.
//!
//! A PDF that was made to do harm can exhaust memory or time inside the library that reads it, or overflow its stack, none of
//! which a thread survives. So the program starts itself again as a worker, which limits its own memory and processor time,
//! and sends it one file after another. A worker that dies, takes too long or answers anything but a reply costs one file.

mod frame;
mod limits;
mod serve;

use super::reply::{Refusal, Reply};
use crate::cancel::Cancel;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// The argument that makes the program a worker.
pub const PDF_WORKER: &str = "read-pdf";

/// Maximum bytes of a worker's answer: the text of a file, with escapes.
const MAX_REPLY: u64 = 512 << 20;
/// Interval at which a reading looks whether it was cancelled.
const TICK: Duration = Duration::from_millis(100);
/// Maximum workers that wait for another file.
const MAX_IDLE: usize = 8;
/// Maximum bytes of a file whose worker reads another one; beyond that it holds much memory.
const MAX_KEPT: usize = 32 << 20;

/// The program whose processes read PDF files, and its first arguments, if the running one has named one.
static PROGRAM: OnceLock<(PathBuf, Vec<OsString>)> = OnceLock::new();
/// Workers that wait for a file.
static IDLE: Mutex<Vec<Worker>> = Mutex::new(Vec::new());
/// Workers that were started, and those of them that gave no answer.
static STARTED: AtomicU64 = AtomicU64::new(0);
static LOST: AtomicU64 = AtomicU64::new(0);

/// Processes that read PDF files, in this program's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PdfWorkers {
    /// Processes started.
    pub started: u64,
    /// Those that died, were ended for taking too long, or answered something else.
    pub lost: u64,
}

/// How many processes read PDF files so far.
#[must_use]
pub fn pdf_workers() -> PdfWorkers {
    PdfWorkers { started: STARTED.load(Ordering::Relaxed), lost: LOST.load(Ordering::Relaxed) }
}

/// Reads PDF files in processes of `program` from now on: it is started with `arguments` and the last argument
/// [`PDF_WORKER`], and has to call [`serve_pdf`] then. The first call counts.
///
/// Without this call PDF files are read in the running process: most files that were made to do harm are refused by
/// budgets of bytes, letters and numbers, but not all can be.
pub fn read_pdf_in(program: PathBuf, arguments: Vec<OsString>) {
    let _ = PROGRAM.set((program, arguments));
}

/// Reads PDF files for another process, on standard input and output, until standard input ends.
///
/// # Errors
/// Errors of reading and writing.
pub fn serve_pdf() -> io::Result<()> {
    serve::serve(&mut io::stdin().lock(), &mut io::stdout().lock())
}

/// The workers that wait for a file.
fn idle() -> MutexGuard<'static, Vec<Worker>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the workers that wait for a file, with the memory that they hold.
pub(in crate::retrieval::corpus) fn end_idle() {
    // A worker that is dropped is waited for, which should not hold the lock.
    let workers = std::mem::take(&mut *idle());
    drop(workers);
}

/// Reads a file in a worker, which is ended once `cancel` is cancelled; `None` if there are no workers.
pub(super) fn read(file: &[u8], cancel: &Cancel) -> Option<Reply> {
    let (program, arguments) = PROGRAM.get()?;
    // In the call below it would hold the lock, which a worker that has read takes itself.
    let waiting = idle().pop();
    let start = || {
        let mut command = Command::new(program);
        command.args(arguments).arg(PDF_WORKER);
        Worker::start(command)
    };
    read_by(waiting, start, file, cancel)
}

/// Reads a file in the worker that waits, or in a new one.
fn read_by(
    waiting: Option<Worker>,
    start: impl FnOnce() -> io::Result<Worker>,
    file: &[u8],
    cancel: &Cancel,
) -> Option<Reply> {
    if let Some(worker) = waiting {
        match worker.read(file, limits::time(file.len()), cancel) {
            // An earlier file may have damaged the worker, so this one is tried again in a new worker, unless it used
            // up its processor time.
            Err(Lost::Died(status)) if !status.is_some_and(out_of_time) => {}
            answer => return Some(answer.unwrap_or_else(|lost| Err(lost.refusal(file.len())))),
        }
    }
    let answer = start().ok()?.read(file, limits::time(file.len()), cancel);
    Some(answer.unwrap_or_else(|lost| Err(lost.refusal(file.len()))))
}

/// Why a worker gave no answer.
#[derive(Debug)]
enum Lost {
    Died(Option<ExitStatus>),
    Late,
    /// Its answer is not wanted any more.
    Cancelled,
    /// It sent an invalid answer.
    Rubbish,
    /// The system starts no thread to wait for it.
    NoThread(io::Error),
}

impl Lost {
    fn refusal(&self, bytes: usize) -> Refusal {
        let seconds = limits::processor_time(bytes).as_secs();
        match self {
            Self::Late => Refusal::new(format!("a PDF that is read within {seconds} s"), "one that takes longer"),
            Self::Died(Some(status)) if out_of_time(*status) => {
                Refusal::new(format!("a PDF that is read within {seconds} s"), "one that takes longer")
            }
            Self::Died(status) => {
                let how = status.map(|status| format!(" ({status})")).unwrap_or_default();
                let expected = format!("a PDF that can be read in {} GiB of memory", limits::MEMORY >> 30);
                Refusal::new(expected, format!("one that ends the PDF reader{how}"))
            }
            Self::Cancelled => Refusal::new("a PDF that is read to its end", "a reading that was cancelled"),
            Self::NoThread(e) => Refusal::new("a further thread", format!("a limit of the system: {e}")),
            Self::Rubbish => Refusal::new("a PDF that can be read", "one whose reader gave an invalid answer"),
        }
    }
}

/// Whether the limit of processor time ended the process.
#[cfg(unix)]
fn out_of_time(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(nix::libc::SIGXCPU)
}

#[cfg(not(unix))]
fn out_of_time(_: ExitStatus) -> bool {
    false
}

/// A process that reads PDF files; it ends when it is dropped.
struct Worker {
    child: Child,
    files: Option<ChildStdin>,
    replies: ChildStdout,
}

impl Worker {
    fn start(mut command: Command) -> io::Result<Self> {
        // A panic is caught and becomes a reply: its message is not for the user's terminal.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        apart(&mut command);
        let mut child = command.spawn()?;
        STARTED.fetch_add(1, Ordering::Relaxed);
        let (files, replies) = (child.stdin.take(), child.stdout.take());
        let replies = replies.ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { child, files, replies })
    }

    /// Reads a file within `limit`. A worker that answered waits for another file; any other is ended.
    fn read(mut self, file: &[u8], limit: Duration, cancel: &Cancel) -> Result<Reply, Lost> {
        let answer = self.ask(file, limit, cancel);
        let answer = answer.and_then(|answer| serde_json::from_slice(&answer).map_err(|_| Lost::Rubbish));
        match answer {
            Ok(reply) => {
                let mut idle = idle();
                if idle.len() < MAX_IDLE && file.len() <= MAX_KEPT {
                    idle.push(self);
                }
                Ok(reply)
            }
            Err(Lost::Cancelled) => Err(Lost::Cancelled),
            Err(lost) => {
                LOST.fetch_add(1, Ordering::Relaxed);
                Err(if matches!(lost, Lost::Died(_)) { Lost::Died(self.status()) } else { lost })
            }
        }
    }

    /// Sends a file and waits for the answer. A thread does so, because pipes cannot be read for a limited time.
    fn ask(&mut self, file: &[u8], limit: Duration, cancel: &Cancel) -> Result<Vec<u8>, Lost> {
        let Self { child, files, replies } = self;
        let (send, receive) = mpsc::channel();
        thread::scope(|scope| {
            let exchange = move || {
                let written = files.as_mut().map_or(Ok(()), |files| frame::write(files, file));
                // An answer is read even if the write failed: the worker may have answered before it died.
                let answer = frame::read(replies, MAX_REPLY);
                let _ = send.send(written.and(answer));
            };
            Builder::new().spawn_scoped(scope, exchange).map_err(Lost::NoThread)?;
            let deadline = Instant::now() + limit;
            loop {
                let left = deadline.saturating_duration_since(Instant::now());
                match receive.recv_timeout(left.min(TICK)) {
                    Ok(Ok(Some(answer))) => return Ok(answer),
                    Ok(Err(e)) if e.kind() == io::ErrorKind::InvalidData => return Err(Lost::Rubbish),
                    Ok(_) => return Err(Lost::Died(None)),
                    Err(RecvTimeoutError::Timeout) if left > TICK && !cancel.is_cancelled() => {}
                    Err(_) => {
                        // Its pipes close, so that the thread ends.
                        let _ = child.kill();
                        return Err(if cancel.is_cancelled() { Lost::Cancelled } else { Lost::Late });
                    }
                }
            }
        })
    }

    /// How a worker ended whose pipes are closed; `None` if it has not.
    fn status(&mut self) -> Option<ExitStatus> {
        // Its pipes close a moment before it ends.
        (0..100).find_map(|_| {
            let status = self.child.try_wait().ok()?;
            if status.is_none() {
                thread::sleep(Duration::from_millis(10));
            }
            status
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.files.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Keeps Ctrl-C from the worker: the program decides what it stops, and a worker that stopped would count as a bad file.
#[cfg(unix)]
fn apart(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(windows)]
fn apart(command: &mut Command) {
    use std::os::windows::process::CommandExt;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

#[cfg(not(any(unix, windows)))]
fn apart(_: &mut Command) {}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::{Lost, Worker, pdf_workers, read_by};
    use crate::cancel::Cancel;
    use std::process::Command;
    use std::time::{Duration, Instant};

    fn worker(script: &str) -> std::io::Result<Worker> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        Worker::start(command)
    }

    /// Why a worker that runs `script` gives no answer.
    fn lost(script: &str, limit: Duration) -> Lost {
        worker(script).unwrap().read(&vec![b'x'; 200_000], limit, &Cancel::default()).unwrap_err()
    }

    #[test]
    fn a_file_that_uses_up_its_processor_time_is_read_once_and_another_one_again() {
        let before = pdf_workers();
        let mut again = 0;
        let mut found = |first: &str, second: &str| {
            let start = || {
                again += 1;
                worker(second)
            };
            read_by(Some(worker(first).unwrap()), start, b"x", &Cancel::default()).unwrap().unwrap_err()
        };
        // The limit of processor time itself, which the shell sets as a worker does.
        let refused = found("ulimit -S -t 1; while :; do :; done", "exit 5");
        assert_eq!(
            (refused.expected.as_str(), refused.found.as_str()),
            ("a PDF that is read within 30 s", "one that takes longer")
        );
        let refused = found("kill -9 $$", "ulimit -S -t 1; while :; do :; done");
        assert_eq!(refused.found, "one that takes longer");
        assert_eq!(found("exit 3", "exit 5").found, "one that ends the PDF reader (exit status: 5)");
        assert_eq!(again, 2, "the first was read once");
        let after = pdf_workers();
        assert!(after.started >= before.started + 5 && after.lost >= before.lost + 5, "{before:?} {after:?}");
    }

    #[test]
    fn a_worker_that_fails_is_one_refusal() {
        let said = |script| lost(script, Duration::from_secs(60)).refusal(0);
        let invalid = "one whose reader gave an invalid answer";
        assert_eq!(said("head -c 200008 > /dev/null; echo hello, this is no message").found, invalid);
        assert_eq!(said(r"head -c 200008 > /dev/null; printf '\002\0\0\0\0\0\0\0{}'").found, invalid);
        assert_eq!(said("exit 3").found, "one that ends the PDF reader (exit status: 3)");
        assert_eq!(said("kill -9 $$").found, "one that ends the PDF reader (signal: 9 (SIGKILL))");
        let late = said("kill -XCPU $$");
        assert_eq!(late.expected, "a PDF that is read within 30 s");
        assert_eq!(late.found, "one that takes longer");
        assert_eq!(said("head -c 200008 > /dev/null; exec >&-; exec sleep 100").found, "one that ends the PDF reader");
        let started = Instant::now();
        assert!(matches!(lost("exec sleep 100", Duration::from_millis(200)), Lost::Late));
        assert!(started.elapsed() < Duration::from_secs(50), "{:?}", started.elapsed());
    }

    #[test]
    fn a_worker_whose_answer_is_not_wanted_any_more_is_ended() {
        let (cancel, started) = (Cancel::default(), Instant::now());
        let reading = std::thread::spawn({
            let cancel = cancel.clone();
            move || worker("exec sleep 100").unwrap().read(b"x", Duration::from_secs(100), &cancel)
        });
        std::thread::sleep(Duration::from_millis(300));
        assert!(!reading.is_finished());
        cancel.cancel();
        assert!(matches!(reading.join().unwrap(), Err(Lost::Cancelled)));
        assert!(started.elapsed() < Duration::from_secs(50), "{:?}", started.elapsed());
    }
}
