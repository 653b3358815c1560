//! The models that a server lists.

use super::client::{Client, Stage};
use super::fault::{Again, Fault};
use super::field::Field;
use super::inbound::{Inbound, MAX_LIST, read_start};
use crate::error::{MootError, Result};
use crate::escape;
use crate::fault::RemoteFault;
use crate::jsonl::{MAX_VALUES, shortened};
use serde::Deserialize;

/// A model that the server lists.
#[derive(Default)]
pub(super) struct Served {
    pub(super) id: String,
    /// In tokens, where the server tells.
    pub(super) context: Option<usize>,
    /// `owned_by`.
    pub(super) owner: Option<String>,
    /// Hex SHA-256 of the weights, and the recipe of the arithmetic, where the server tells.
    pub(super) sha256: String,
    pub(super) recipe: String,
}

/// A list of models.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Listed {
    data: Field<Entry>,
}

/// An entry of it. The context's length has another name on each kind of server.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    id: Field,
    owned_by: Field,
    max_model_len: Field,
    meta: Field<Meta>,
    context_length: Field,
    context_window: Field,
    sha256: Field,
    recipe: Field,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    n_ctx: Field,
}

impl Entry {
    fn served(&self, inbound: &Inbound) -> Option<Served> {
        let n_ctx = self.meta.object().and_then(|meta| meta.n_ctx.whole());
        let context = self.max_model_len.whole().or(n_ctx);
        let context = context.or(self.context_length.whole()).or(self.context_window.whole());
        let owner = self.owned_by.text().map(|owner| inbound.hide(owner));
        let text = |field: &Field| field.text().map(|text| inbound.hide(text)).unwrap_or_default();
        let (sha256, recipe) = (text(&self.sha256), text(&self.recipe));
        Some(Served { id: inbound.hide(self.id.text()?), context, owner, sha256, recipe })
    }
}

/// The models that the server lists; none where it lists nothing and the model is `named`.
pub(super) fn served(client: &Client, stage: &Stage, named: bool) -> Result<Vec<Served>> {
    let inbound = &client.inbound;
    let listed = client.persist(("its list of models", 0), &stage.cancel, client.deadline(), |left| {
        let mut response = client.get(&stage.agent, "models", left)?;
        // Another kind of server sends something else, and will again.
        let never = |fault| Fault { again: Again::Never, ..fault };
        // One byte above the limit is read: if it is there, the list is too long.
        let bytes = read_start(response.body_mut().as_reader(), MAX_LIST + 1)?;
        if bytes.len() as u64 > MAX_LIST {
            return Err(never(Fault::broken(format!("the reply is longer than {MAX_LIST} bytes"))));
        }
        let listed: Field<Listed> = inbound
            .parse(&bytes, MAX_VALUES)
            .map_err(never)?
            .map_err(|why| never(Fault::broken(format!("the reply is no list of models: {why}"))))?;
        let entries = listed.object().map_or(&[][..], |listed| listed.data.list());
        Ok(entries.iter().filter_map(|entry| entry.object()?.served(inbound)).collect())
    });
    match listed {
        // Some servers have no list, only completions.
        Err(MootError::Remote { kind: RemoteFault::Missing, .. }) if named => Ok(Vec::new()),
        listed => listed,
    }
}

/// Names of the models that are `served`, of many the first.
pub(super) fn names(served: &[Served]) -> String {
    let names: Vec<String> = served.iter().take(8).map(|entry| escape::line(&shortened(&entry.id))).collect();
    names.join(", ") + if served.len() > names.len() { ", ..." } else { "" }
}

/// The only model that is `served`.
pub(super) fn only(client: &Client, served: &[Served]) -> Result<String> {
    if let [only] = served {
        return Ok(only.id.clone());
    }
    let names = names(served);
    let found = if names.is_empty() { "it lists none".to_owned() } else { format!("it has {names}") };
    Err(client.failure(RemoteFault::Missing, format!("which of its models is meant? {found}")))
}
