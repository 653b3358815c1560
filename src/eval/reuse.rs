//! Replies of earlier records instead of a model's: variants of a method share most of their calls, and equal calls
//! have the same reply.

use crate::error::{MootError, Result};
use crate::eval::record::Header;
use crate::eval::record::reader::Record;
use crate::llm::identity::{Identity, Key};
use crate::llm::layer::{Layer, answer_known};
use crate::llm::replay::recorded_reply;
use crate::llm::{Call, Llm, ModelIdentity, OnFailure, OnReply, Reply};
use crate::transcript::CallRecord;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls of earlier records, to be answered from.
#[derive(Debug, Clone, Default)]
pub struct Replies {
    /// By role and prompt, in the order of the records.
    calls: HashMap<Key, Vec<CallRecord>>,
    /// File and header of each record.
    records: Vec<(PathBuf, Header)>,
    /// Last hash of each record.
    chains: Vec<String>,
}

impl Replies {
    /// Reads the calls of all concluded questions of `records`.
    ///
    /// # Errors
    /// A record that cannot be read or was altered.
    pub fn read(records: &[PathBuf]) -> Result<Self> {
        let mut replies = Self::default();
        for path in records {
            let (record, ledger) = Record::read_whole(path)?;
            ledger.check(path)?;
            for call in record.questions.into_iter().flat_map(|question| question.calls) {
                let key = Identity::from(&call).prompted().key();
                replies.calls.entry(key).or_default().push(call);
            }
            replies.records.push((path.clone(), record.header));
            replies.chains.push(ledger.chain);
        }
        Ok(replies)
    }

    /// Whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The last hash of each record, for the header of the run that reuses them.
    #[must_use]
    pub fn chains(&self) -> &[String] {
        &self.chains
    }

    /// Whether replies may be used in a run with the header `now`: the same models where both have a role, the same
    /// reply formats, and constrained alike.
    ///
    /// # Errors
    /// [`MootError::Input`] for the first record of another model, other settings or other format files.
    pub fn check(&self, now: &Header) -> Result<()> {
        self.records.iter().try_for_each(|(path, there)| {
            must_agree(path, "its model", &models(there, now).0, &models(there, now).1)?;
            must_agree(path, "free-form", &there.settings.free_form, &now.settings.free_form)?;
            let formats = |header: &Header, other: &Header| -> BTreeMap<String, String> {
                let format = |name: &str| name.starts_with("reply/") && other.prompts.contains_key(name);
                header.prompts.iter().filter(|(name, _)| format(name)).map(|(n, h)| (n.clone(), h.clone())).collect()
            };
            must_agree(path, "reply formats", &formats(there, now), &formats(now, there))
        })
    }

    /// The recorded reply to `call`: of a call that was sent alike. Where tokens are not sampled the seed changes nothing, and
    /// is not compared.
    fn find(&self, call: &Call) -> Option<Reply> {
        let wanted = Identity::from(call);
        let known = self.calls.get(&wanted.clone().prompted().key())?;
        let wanted = wanted.deciding();
        known.iter().find(|recorded| Identity::from(*recorded).deciding() == wanted).map(recorded_reply)
    }
}

/// The models of the roles of both headers as they are compared: a file has its hash, and its name does not matter.
fn models(there: &Header, now: &Header) -> (Vec<ModelIdentity>, Vec<ModelIdentity>) {
    let roles: Vec<&String> = there.roles.keys().chain(now.roles.keys()).collect();
    let of = |header: &Header| {
        let named = roles.iter().map(|role| header.model_of(role)).chain([&header.model]);
        let bare = |model: &ModelIdentity| match model.sha256.is_empty() {
            true => model.clone(),
            false => ModelIdentity { name: String::new(), ..model.clone() },
        };
        named.map(bare).collect()
    };
    (of(there), of(now))
}

fn must_agree<T: PartialEq + std::fmt::Debug>(path: &Path, what: &str, there: &T, now: &T) -> Result<()> {
    if there == now {
        return Ok(());
    }
    let shown = |value: &T| crate::jsonl::shortened(&format!("{value:?}"));
    Err(MootError::Input {
        path: path.into(),
        line: Some(1),
        expected: format!("a record whose replies this run would get: {what} {}", shown(now)),
        found: shown(there),
    })
}

/// A model that answers only the calls that no record holds.
pub struct Reusing<'a> {
    llm: &'a dyn Llm,
    replies: &'a Replies,
    reused: AtomicUsize,
}

impl<'a> Reusing<'a> {
    /// Answers from `replies` where it can, else asks `llm`.
    #[must_use]
    pub fn new(llm: &'a dyn Llm, replies: &'a Replies) -> Self {
        Self { llm, replies, reused: AtomicUsize::new(0) }
    }

    /// Calls that were answered from records.
    #[must_use]
    pub fn reused(&self) -> usize {
        self.reused.load(Ordering::Relaxed)
    }
}

impl Layer for Reusing<'_> {
    fn inner(&self) -> &dyn Llm {
        self.llm
    }

    fn answer_stage(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        answer_known(self.llm, calls, on_failure, on_reply, |call| {
            let known = self.replies.find(call);
            self.reused.fetch_add(usize::from(known.is_some()), Ordering::Relaxed);
            known
        })
    }
}
