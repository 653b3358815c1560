//! Work on a thread of its own, without the GIL. Meanwhile the calling thread calls the callbacks with the events of the work,
//! and checks for signals, so that Ctrl-C ends the work.

use crate::errors;
use crate::teller::{Message, Teller};
use moot::cancel::Cancel;
use moot::workspace::Control;
use moot::{MootError, Result};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Interval at which signals are looked for.
const TICK: Duration = Duration::from_millis(50);

/// The first exception of the user's code, which ends the work.
#[derive(Clone)]
pub(crate) struct Failure {
    exception: Arc<Mutex<Option<PyErr>>>,
    stop: Arc<AtomicBool>,
    cancel: Cancel,
}

impl Failure {
    /// Keeps `error` if it is the first, and ends the work.
    pub(crate) fn keep(&self, error: PyErr) {
        self.exception.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
        self.cancel.cancel();
    }

    fn take(&self) -> Option<PyErr> {
        self.exception.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// One call into the engine: its control, what it tells, and what ends it.
pub(crate) struct Work {
    /// Ends the work; tells what happens.
    pub(crate) control: Control,
    /// Tells what happens to a question.
    pub(crate) teller: Teller,
    /// Ends the work by an exception.
    pub(crate) failure: Failure,
    told: Receiver<Message>,
}

impl Work {
    /// Work that ends together with `above`.
    pub(crate) fn new(above: &Cancel) -> Self {
        let (sender, told) = mpsc::channel();
        let teller = Teller::new(sender);
        let control = Control { cancel: above.child(), ..Control::new(teller.clone()) };
        let (stop, cancel) = (control.stop.clone(), control.cancel.clone());
        let failure = Failure { exception: Arc::default(), stop, cancel };
        Self { control, teller, failure, told }
    }

    /// Does `work`; `tell` receives what happens, as JSON. Ctrl-C cancels the calls in flight and waits for their end; pressed
    /// again it returns at once, and so does the first where `abandoned` says that nothing is in progress that must be
    /// finished.
    ///
    /// # Errors
    /// The exception of a signal, of `tell` or of a method in Python; the error of `work`.
    pub(crate) fn wait<T: Send + 'static>(
        self,
        py: Python<'_>,
        tell: &Bound<'_, PyAny>,
        abandoned: bool,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let Self { teller, failure, told, control: _ } = self;
        let ended = teller.ends();
        let worker = std::thread::Builder::new().name("moot".into()).spawn(move || {
            let _ended = ended;
            work()
        });
        let worker = worker.map_err(|e| errors::exception(py, &MootError::Threads(e)))?;
        let tell = tell.clone().unbind();
        let heard = failure.clone();
        let given_up = py.detach(move || listen(&told, &tell, &heard, abandoned));
        if given_up {
            return Err(failure.take().unwrap_or_else(|| errors::exception(py, &MootError::Interrupted)));
        }
        let result = py.detach(|| worker.join());
        if let Some(exception) = failure.take() {
            return Err(exception);
        }
        match result {
            Ok(result) => result.map_err(|error| errors::exception(py, &error)),
            Err(_) => Err(errors::exception(py, &MootError::Engine("a thread panicked (bug)".into()))),
        }
    }
}

/// Calls `tell` with each event until the work ends. Whether the wait ended before the work, by a second Ctrl-C.
fn listen(told: &Receiver<Message>, tell: &Py<PyAny>, failure: &Failure, abandoned: bool) -> bool {
    let mut patient = !abandoned;
    loop {
        let message = told.recv_timeout(TICK);
        let heard = match message {
            Ok(Message::Ended) | Err(RecvTimeoutError::Disconnected) => return false,
            Ok(Message::Told(text)) => Some(text),
            Err(RecvTimeoutError::Timeout) => None,
        };
        let (interrupted, refused) =
            Python::attach(|py| (py.check_signals().err(), heard.and_then(|text| tell.call1(py, (text,)).err())));
        if let Some(error) = interrupted {
            failure.keep(error);
            if !std::mem::replace(&mut patient, false) {
                return true;
            }
        }
        if let Some(error) = refused {
            failure.keep(error);
        }
    }
}
