//! Calls of tools that run: one is cancelled by the client that made it.

use crate::cancel::Cancel;
use crate::serve::mcp::rpc::{Failure, INVALID_REQUEST, Id};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The session of a client, and the id of its request.
type Key = (String, Id);

/// Calls that run. A session is a name that the client was given; nothing else is kept of it.
#[derive(Default)]
pub(super) struct Calls(Mutex<HashMap<Key, Call>>);

struct Call {
    cancel: Cancel,
    /// The client has cancelled it: it gets no reply.
    unwanted: bool,
}

impl Calls {
    fn all(&self) -> MutexGuard<'_, HashMap<Key, Call>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists a call until the entry is dropped.
    ///
    /// # Errors
    /// The client has a call of this id.
    pub(super) fn enter(self: &Arc<Self>, session: &str, id: &Id, cancel: &Cancel) -> Result<Listed, Failure> {
        let key = (session.to_owned(), id.clone());
        let mut all = self.all();
        let Entry::Vacant(free) = all.entry(key.clone()) else {
            let wrong = "id: expected one that no running call has, found one that is in use";
            return Err(Failure::new(Some(id.clone()), INVALID_REQUEST, wrong));
        };
        free.insert(Call { cancel: cancel.clone(), unwanted: false });
        Ok(Listed { calls: self.clone(), key })
    }

    /// Ends a call whose client no longer wants the reply.
    pub(super) fn cancel(&self, session: &str, id: Id) {
        if let Some(call) = self.all().get_mut(&(session.to_owned(), id)) {
            call.unwanted = true;
            call.cancel.cancel();
        }
    }
}

/// A call in the list.
pub(super) struct Listed {
    calls: Arc<Calls>,
    key: Key,
}

impl Listed {
    /// Takes the call off the list, before its reply is sent: the client may use the id again once it has that. Whether the
    /// client still wants the reply.
    pub(super) fn ends(self) -> bool {
        self.calls.all().get(&self.key).is_some_and(|call| !call.unwanted)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.calls.all().remove(&self.key);
    }
}
