//! Which models are in memory when: decided before any is loaded, and said.

use super::found::machine;
use super::{Found, Options};
use crate::error::{MootError, Result};
use std::fmt;

/// KV pages of one model at most, however much is free: beyond it they hold nothing that is asked for again.
const MOST_KV: usize = 8 << 30;

/// What goes where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Bytes for all models together.
    pub budget: usize,
    /// All stay loaded; else one is loaded at a time.
    pub together: bool,
    /// Those that run in this process.
    pub members: Vec<Member>,
    /// Those that run elsewhere: the address and the roles.
    pub elsewhere: Vec<(String, Vec<String>)>,
}

/// A model's share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// As the user named it.
    pub name: String,
    /// Whose calls it answers.
    pub roles: Vec<String>,
    /// Bytes of weights.
    pub weights: usize,
    /// Bytes of working space.
    pub working: usize,
    /// Bytes of KV pages.
    pub kv: usize,
}

impl Plan {
    /// A plan for `found` under the options' memory, or nine tenths of what is free: together where all fit with room for
    /// keys and values, else in turn. What weights and working space leave goes to keys and values, in equal parts.
    ///
    /// # Errors
    /// [`MootError::Usage`] with the numbers where one model alone does not fit.
    pub fn of(found: &[&Found], elsewhere: &[(String, Vec<String>)], options: &Options) -> Result<Self> {
        let budget = options.memory.unwrap_or_else(|| machine().1 / 10 * 9);
        let least = |model: &Found| options.kv_memory.unwrap_or(model.least_kv);
        let needed = |model: &Found| model.weights.saturating_add(model.working).saturating_add(least(model));
        let together = found.iter().fold(0_usize, |sum, model| sum.saturating_add(needed(model))) <= budget;
        if let Some(model) = found.iter().find(|model| needed(model) > budget) {
            return Err(too_small(model, least(model), budget, options));
        }
        let taken: usize = found.iter().map(|model| needed(model)).sum();
        let member = |model: &&Found| {
            let spare = if together { (budget - taken) / found.len() } else { budget - needed(model) };
            let kv = options.kv_memory.unwrap_or_else(|| (least(model) + spare).min(MOST_KV.max(least(model))));
            let (name, weights, working) = (model.name.clone(), model.weights, model.working);
            Member { name, roles: Vec::new(), weights, working, kv }
        };
        Ok(Self { budget, together, members: found.iter().map(member).collect(), elsewhere: elsewhere.to_vec() })
    }
}

fn too_small(model: &Found, kv: usize, budget: usize, options: &Options) -> MootError {
    let which = if options.memory.is_some() { "--memory" } else { "what is free" };
    let (name, needed) = (&model.name, model.weights + model.working + kv);
    MootError::Usage(format!(
        "{name} needs {}: {} of weights, {} of working space, {} of keys and values; {which} is {}",
        size(needed),
        size(model.weights),
        size(model.working),
        size(kv),
        size(budget)
    ))
}

impl fmt::Display for Plan {
    /// One line on the whole, then one a model.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match (self.members.len(), self.together) {
            (1, _) => "one model",
            (_, true) => "all loaded together",
            (_, false) => "one loaded at a time, each for a stage of all questions in flight",
        };
        write!(f, "memory {}: {how}", size(self.budget))?;
        for member in &self.members {
            let Member { name, weights, working, kv, .. } = member;
            let (weights, working, kv) = (size(*weights), size(*working), size(*kv));
            let roles = member.roles.join(", ");
            write!(f, "\n  {roles}: {name}, {weights} of weights, {working} to work in, {kv} of keys and values")?;
        }
        for (address, roles) in &self.elsewhere {
            write!(f, "\n  {}: {address}, elsewhere", roles.join(", "))?;
        }
        Ok(())
    }
}

/// Bytes as people read them.
fn size(bytes: usize) -> String {
    let bytes = bytes as f64;
    if bytes >= 1e9 { format!("{:.1} GB", bytes / 1e9) } else { format!("{:.0} MB", bytes / 1e6) }
}

#[cfg(test)]
mod tests {
    use super::{Found, Options, Plan};
    use crate::llm::ModelIdentity;

    fn found(name: &str, weights: usize) -> Found {
        let identity = ModelIdentity::default();
        Found { name: name.into(), path: name.into(), identity, weights, working: 100_000_000, least_kv: 200_000_000 }
    }

    fn plan(memory: usize, kv_memory: Option<usize>) -> crate::Result<Plan> {
        let (a, b) = (found("a", 1_000_000_000), found("b", 4_000_000_000));
        Plan::of(&[&a, &b], &[], &Options { memory: Some(memory), kv_memory, ..Options::default() })
    }

    #[test]
    fn together_where_they_fit_and_in_turn_where_they_do_not() {
        let roomy = plan(6_000_000_000, None).unwrap();
        assert!(roomy.together);
        assert_eq!(roomy.members.iter().map(|m| m.kv).collect::<Vec<_>>(), [400_000_000; 2]);
        let narrow = plan(5_599_999_999, None).unwrap();
        assert!(!narrow.together);
        assert_eq!(narrow.members[0].kv, 4_499_999_999);
        assert_eq!(narrow.members[1].kv, 1_499_999_999);
        assert!(narrow.to_string().starts_with("memory 5.6 GB: one loaded at a time"), "{narrow}");
        assert_eq!(plan(6_000_000_000, Some(300_000_000)).unwrap().members[1].kv, 300_000_000);
    }

    #[test]
    fn a_model_that_does_not_fit_alone_is_refused_with_the_numbers() {
        let refused = plan(4_299_999_999, None).unwrap_err().to_string();
        assert_eq!(
            refused,
            "b needs 4.3 GB: 4.0 GB of weights, 100 MB of working space, 200 MB of keys and values; --memory is 4.3 GB"
        );
    }
}
