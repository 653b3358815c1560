//! `--model auto`: the largest of a few catalog models that fits this machine.

use super::super::DEFAULT_MODEL;
use crate::memory::{self, Memory};
use moot_models::memory::Footprint;
use moot_models::source::{self, Catalog, CatalogEntry};
use serde::Serialize;

/// The name that selects the model that [`best`] gives, or else [`DEFAULT_MODEL`].
pub const AUTO: &str = "auto";

/// Instruction-tuned models under a licence without conditions of use, the largest first.
const OFFERED: [&str; 2] = ["qwen3-8b", "qwen3-4b"];
/// Size of the debate for which the memory must suffice: agents, and tokens of prompt and reply of each.
const AGENTS: usize = 8;
const TOKENS: usize = 2048;

/// A model that is offered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Offer {
    /// Its name in the catalog.
    pub name: &'static str,
    /// Its licence.
    pub licence: String,
    /// Bytes of its file, estimated where the catalog has none.
    pub bytes: u64,
    /// Whether it is on this machine.
    pub here: bool,
    /// Bytes read per token relative to [`DEFAULT_MODEL`], which is about the factor by which it is slower.
    pub slower: f64,
}

/// The largest offered model that fits into `memory`; without a network, of those on this machine.
#[must_use]
pub fn best(memory: Memory, offline: bool) -> Option<Offer> {
    let catalog = Catalog::embedded();
    let offers = OFFERED.into_iter().filter_map(|name| offer(name, &catalog, memory));
    offers.filter(|offer| offer.here || !offline).max_by_key(|offer| offer.bytes)
}

fn offer(name: &'static str, catalog: &Catalog, memory: Memory) -> Option<Offer> {
    let entry = |name: &str| catalog.models.iter().find(|entry| entry.alias == name);
    let bytes = |entry: &CatalogEntry| {
        entry.size.unwrap_or_else(|| Footprint::planned(&entry.shape, &entry.quant).stored_bytes())
    };
    let (entry, small) = (entry(name)?, entry(DEFAULT_MODEL)?);
    if !fits(entry, memory) {
        return None;
    }
    let options = source::Options { cache: source::default_cache().ok()?, offline: true };
    Some(Offer {
        name,
        licence: entry.licence.clone(),
        bytes: bytes(entry),
        here: source::copies(name, &options).is_ok_and(|copies| !copies.is_empty()),
        slower: bytes(entry) as f64 / bytes(small) as f64,
    })
}

/// Whether a debate of eight agents with 2,048 tokens each fits into `memory`.
#[must_use]
pub fn fits(entry: &CatalogEntry, memory: Memory) -> bool {
    let footprint = Footprint::planned(&entry.shape, &entry.quant);
    let needed = footprint.needed(&memory::load(AGENTS, TOKENS));
    memory::check(&entry.alias, &footprint, needed, memory).is_ok()
}

/// The name of a model, where `name` may be [`AUTO`].
pub(super) fn named(name: &str, offline: bool) -> &str {
    if name == AUTO { best(Memory::here(), offline).map_or(DEFAULT_MODEL, |offer| offer.name) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_that_fits_is_offered() {
        let of = |gib: u64| best(Memory { total: gib << 30, available: gib << 30 }, false);
        let (large, middle) = (of(64).unwrap(), of(6).unwrap());
        assert_eq!((large.name, middle.name), ("qwen3-8b", "qwen3-4b"));
        assert!(large.slower > middle.slower && middle.slower > 1.5 && large.bytes > 4 << 30, "{large:?}");
        assert_eq!(of(2), None);
        assert_eq!((named("a.gguf", false), named("smollm2-135m", true)), ("a.gguf", "smollm2-135m"));
        let auto = named(AUTO, false);
        assert!(OFFERED.contains(&auto) || auto == DEFAULT_MODEL, "{auto}");
    }
}
