//! The memory plan for several models, made before any is loaded.

use super::located::LocatedModel;
use super::options::Options;
use crate::error::Result;
use crate::memory::{self, Memory};
use crate::units::readable;
use moot_models::memory::Needed;
use std::fmt;

/// Maximum KV memory of one model: more would only keep pages that are not used again.
const MOST_KV: u64 = 8 << 30;
/// KV memory on a device that does not report its memory.
const UNKNOWN_MEMORY_KV: u64 = 4 << 30;
/// Minimum KV tokens of a model: enough for a debate's prompts.
const LEAST_TOKENS: usize = 2048;

/// A memory plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Bytes for all models together; `None` on a device that does not report its memory.
    pub budget: Option<u64>,
    /// Whether all models stay loaded; otherwise one is loaded at a time.
    pub together: bool,
    /// Local models.
    pub members: Vec<Member>,
    /// Remote models: address and roles.
    pub elsewhere: Vec<(String, Vec<String>)>,
}

/// A model's share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// As the user named it.
    pub name: String,
    /// Its roles.
    pub roles: Vec<String>,
    /// Its share of the memory.
    pub given: Needed,
}

impl Member {
    /// Bytes of KV pages.
    #[must_use]
    pub fn kv(&self) -> usize {
        usize::try_from(self.given.kv).unwrap_or(usize::MAX)
    }
}

impl MemoryPlan {
    /// Plans `found` within the options' memory, or nine tenths of the free memory: together if all fit with room for keys
    /// and values, else in turn. The rest after weights and working space goes to keys and values, in equal shares.
    ///
    /// # Errors
    /// [`MootError::Memory`](crate::MootError::Memory) with the numbers if one model alone does not fit.
    pub fn of(found: &[&LocatedModel], elsewhere: &[(String, Vec<String>)], options: &Options) -> Result<Self> {
        let budget = match options.memory {
            Some(bytes) => Some(bytes as u64),
            None => Memory::of(&options.load)?.map(|memory| memory.available / 10 * 9),
        };
        let least = |model: &&LocatedModel| {
            let tokens = model.identity.context.min(LEAST_TOKENS);
            let pages = model.footprint.kv_bytes(1, tokens, options.engine.step_tokens);
            let pages = usize::try_from(pages).unwrap_or(usize::MAX);
            model.needed(options.kv_memory.unwrap_or(pages), options)
        };
        let limit = budget.unwrap_or(u64::MAX);
        for model in found {
            memory::check(&model.name, &model.footprint, least(model), Memory { total: limit, available: limit })?;
        }
        let all = found.iter().fold(0_u64, |sum, model| sum.saturating_add(least(model).total()));
        let together = all <= limit;
        let member = |model: &&LocatedModel| {
            let mut given = least(model);
            let spare = match (budget, together) {
                (None, _) => UNKNOWN_MEMORY_KV.saturating_sub(given.kv),
                (Some(_), true) => (limit - all) / found.len() as u64,
                // Not negative: `check` above has refused a model that alone exceeds the limit.
                (Some(_), false) => limit - given.total(),
            };
            if options.kv_memory.is_none() {
                given.kv = (given.kv + spare).min(MOST_KV.max(given.kv));
            }
            Member { name: model.name.clone(), roles: Vec::new(), given }
        };
        Ok(Self { budget, together, members: found.iter().map(member).collect(), elsewhere: elsewhere.to_vec() })
    }
}

impl fmt::Display for MemoryPlan {
    /// One summary line, then one line per model.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match (self.members.len(), self.together) {
            (1, _) => "one model here",
            (_, true) => "all models stay loaded",
            (_, false) => "models take turns, each for a stage of all questions in flight",
        };
        let budget = self.budget.map_or_else(|| "the device's".to_owned(), readable);
        write!(f, "memory {budget}: {how}")?;
        for member in &self.members {
            let Needed { weights, kv, working } = member.given;
            let (weights, working, kv) = (readable(weights), readable(working), readable(kv));
            let (roles, name) = (member.roles.join(", "), &member.name);
            write!(f, "\n  {roles}: {name}, {weights} of weights, {working} to work in, {kv} of keys and values")?;
        }
        for (address, roles) in &self.elsewhere {
            write!(f, "\n  {}: {address}, elsewhere", roles.join(", "))?;
        }
        Ok(())
    }
}

/// Bytes of KV pages for `found`, the only local model; `None` to decide once it is loaded.
///
/// # Errors
/// [`MootError::Memory`] if it does not fit.
pub(super) fn kv_memory(found: &LocatedModel, options: &Options) -> Result<Option<usize>> {
    match options.memory {
        Some(_) => Ok(Some(MemoryPlan::of(&[found], &[], options)?.members[0].kv())),
        None => found.check(options).map(|()| options.kv_memory),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{LocatedModel, MemoryPlan, Options};
    use crate::llm::ModelIdentity;
    use moot_models::LoadOptions;
    use moot_models::memory::Footprint;
    use moot_models::source::Catalog;

    fn located(name: &str) -> LocatedModel {
        let catalog = Catalog::embedded();
        let entry = catalog.find(name).unwrap();
        let footprint = Footprint::planned(&entry.shape, &entry.quant);
        let identity = ModelIdentity { context: 32_768, ..ModelIdentity::default() };
        let load = LoadOptions::default();
        LocatedModel { name: name.into(), path: name.into(), identity, footprint, note: None, load }
    }

    fn plan(memory: u64, kv_memory: Option<usize>) -> crate::Result<MemoryPlan> {
        let (a, b) = (located("smollm2-135m"), located("qwen2.5-0.5b"));
        MemoryPlan::of(&[&a, &b], &[], &Options { memory: Some(memory as usize), kv_memory, ..Options::default() })
    }

    /// The least memory of the two.
    fn least() -> [u64; 2] {
        let options = Options::default();
        ["smollm2-135m", "qwen2.5-0.5b"].map(|name| {
            let model = located(name);
            model.needed(model.footprint.kv_bytes(1, 2048, options.engine.step_tokens) as usize, &options).total()
        })
    }

    #[test]
    fn together_where_they_fit_and_in_turn_where_they_do_not() {
        let [small, large] = least();
        let exactly = plan(small + large, None).unwrap();
        assert!(exactly.together);
        let roomy = plan(small + large + 200, None).unwrap();
        for (tight, roomy) in exactly.members.iter().zip(&roomy.members) {
            assert_eq!(roomy.kv(), tight.kv() + 100, "half of what is left");
        }
        let narrow = plan(small + large - 1, None).unwrap();
        assert!(!narrow.together);
        assert_eq!(
            narrow.members.iter().map(|member| member.given.total()).collect::<Vec<_>>(),
            [small + large - 1; 2]
        );
        assert!(narrow.to_string().contains("models take turns"), "{narrow}");
        let huge = plan(1 << 40, None).unwrap();
        assert_eq!(huge.members[0].kv(), 8 << 30);
        assert_eq!(plan(1 << 40, Some(1 << 30)).unwrap().members[1].kv(), 1 << 30);
    }

    #[test]
    fn a_model_that_does_not_fit_alone_is_refused_with_the_numbers() {
        let refused = plan(least()[1] - 1, None).unwrap_err();
        assert!(refused.to_string().starts_with("qwen2.5-0.5b needs "), "{refused}");
        assert!(refused.hint().is_some());
    }
}
