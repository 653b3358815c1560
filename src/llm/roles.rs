//! Several models in one process: each role of a method may have one of its own.

use crate::engine::{Engine, Stats};
use crate::error::{MootError, Result};
use crate::llm::{Call, Capabilities, Llm, ModelIdentity, OnDelta, OnFailure, OnReply, Reply};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::Builder;

/// The model of each role, as typed: `NAME` for all roles, `agent=A,aggregator=B`, or `A,judge=B`
/// where A has the roles that are not named. Roles can be numbered:
/// `candidate-1=A,candidate-2=B`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Distinct names, in the order typed.
    pub models: Vec<String>,
    /// By role, an index in `models`.
    roles: Vec<(String, usize)>,
    /// The index in `models` for every role not named.
    rest: Option<usize>,
}

impl Assignment {
    /// Reads what was typed. Text before `=` is a role if it is lower-case letters and dashes, optionally with a number
    /// (`candidate-2`); otherwise the `=` is part of a path.
    ///
    /// # Errors
    /// [`MootError::Usage`] for an empty name, a role twice, two models for all other roles.
    pub fn parse(typed: &str) -> Result<Self> {
        let wrong = |what: String| {
            Err(MootError::Usage(format!("--model {typed}: {what}; expected NAME, or ROLE=NAME,ROLE=NAME")))
        };
        let mut this = Self { models: Vec::new(), roles: Vec::new(), rest: None };
        for part in typed.split(',').map(str::trim) {
            let (role, name) = match part.split_once('=') {
                Some((role, name)) if is_role(role) => (Some(role), name.trim()),
                _ => (None, part),
            };
            if name.is_empty() {
                return wrong("a name is missing".into());
            }
            let known = this.models.iter().position(|model| model == name);
            let index = known.unwrap_or_else(|| {
                this.models.push(name.to_owned());
                this.models.len() - 1
            });
            match role {
                Some(role) if this.roles.iter().any(|(known, _)| known == role) => {
                    return wrong(format!("{role} has two models"));
                }
                Some(role) => this.roles.push((role.to_owned(), index)),
                None if this.rest.is_some() => return wrong("two models for the same roles".into()),
                None => this.rest = Some(index),
            }
        }
        Ok(this)
    }

    /// The one model that has every role, where it is one.
    ///
    /// # Errors
    /// [`MootError::Usage`] where roles are named: `what` has none.
    pub fn only(&self, what: &str) -> Result<&str> {
        match (self.roles.as_slice(), self.models.as_slice()) {
            ([], [only]) => Ok(only),
            _ => Err(MootError::Usage(format!("{what} has no roles: expected one model, --model NAME"))),
        }
    }

    /// The roles that were named for the model at `index`; "others" where it has all that were not.
    #[must_use]
    pub fn roles_of(&self, index: usize) -> Vec<&str> {
        let named = self.roles.iter().filter(|(_, model)| *model == index).map(|(role, _)| role.as_str());
        named.chain(self.rest.filter(|rest| *rest == index).map(|_| "others")).collect()
    }

    /// Roles that use every model, whatever the method: those that were named, and one for the model of all others.
    pub(crate) fn every_model(&self) -> Vec<&str> {
        let named = self.roles.iter().map(|(role, _)| role.as_str());
        named.chain(self.rest.map(|_| "other")).collect()
    }

    /// An index in [`Assignment::models`] for each of `roles`, which are those of `method`.
    ///
    /// # Errors
    /// [`MootError::Usage`] for a role that the method has not, and for one that has no model.
    pub fn resolve(&self, method: &str, roles: &[&str]) -> Result<BTreeMap<String, usize>> {
        let list = roles.join(", ");
        if let Some((unknown, _)) = self.roles.iter().find(|(role, _)| !roles.contains(&role.as_str())) {
            return Err(MootError::Usage(format!("{method} has no role {unknown:?} (it has: {list})")));
        }
        let indices = self.among(method, roles)?;
        match (0..self.models.len()).find(|index| !indices.values().any(|taken| taken == index)) {
            Some(idle) => Err(MootError::Usage(format!("{method}: no role is left for {}", self.models[idle]))),
            None => Ok(indices),
        }
    }

    /// As [`Assignment::resolve`], of a method that need not have all roles that were named.
    fn among(&self, method: &str, roles: &[&str]) -> Result<BTreeMap<String, usize>> {
        let index = |role: &str| {
            let named = self.roles.iter().find(|(known, _)| known == role).map(|(_, index)| *index);
            named.or(self.rest).ok_or_else(|| {
                MootError::Usage(format!(
                    "{method}: no model for the role {role:?} (add {role}=NAME, or NAME for the rest)"
                ))
            })
        };
        roles.iter().map(|role| Ok(((*role).to_owned(), index(role)?))).collect()
    }
}

/// Lower-case letters and dashes, perhaps with a number at the end: `aggregator`, `candidate-2`.
fn is_role(text: &str) -> bool {
    let numbered = text.rsplit_once('-').filter(|(_, number)| number.parse::<u16>().is_ok());
    let name = numbered.map_or(text, |(name, _)| name);
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
}

/// Models, and the roles that each of them answers. Calls of one stage that go to different models are in flight
/// together.
#[derive(Clone)]
pub struct Roles {
    models: Vec<Arc<dyn Llm>>,
    roles: BTreeMap<String, usize>,
    /// The model whose identity is reported for all.
    first: usize,
}

impl Roles {
    /// `roles` are indices in `models`; `first` is the one that answers for roles not named there.
    #[must_use]
    pub fn new(models: Vec<Box<dyn Llm>>, roles: BTreeMap<String, usize>, first: usize) -> Self {
        assert!(roles.values().chain([&first]).all(|&index| index < models.len()), "every role has a model (bug)");
        Self { models: models.into_iter().map(Arc::from).collect(), roles, first }
    }

    /// The same models for the roles of another method: `assignment` is the one that these models were opened for.
    ///
    /// # Errors
    /// As [`Assignment::resolve`]. A model that no role of this method has is not an error.
    pub fn assigned(&self, assignment: &Assignment, method: &str, roles: &[&str]) -> Result<Self> {
        let by_role = assignment.among(method, roles)?;
        let first = roles.first().and_then(|role| by_role.get(*role)).copied().unwrap_or(self.first);
        Ok(Self { models: self.models.clone(), roles: by_role, first })
    }

    /// The model at `index` alone, for every role.
    pub(crate) fn only(&self, index: usize) -> Self {
        Self { models: vec![self.models[index].clone()], roles: BTreeMap::new(), first: 0 }
    }

    /// The models, each once, in the order of their assignment.
    pub fn models(&self) -> impl Iterator<Item = &dyn Llm> {
        self.models.iter().map(|model| &**model)
    }

    fn index(&self, role: &str) -> usize {
        self.roles.get(role).copied().unwrap_or(self.first)
    }

    /// Asks every model of `groups`, each for its own calls, at the same time.
    fn answer_groups(
        &self,
        groups: &BTreeMap<usize, Vec<usize>>,
        calls: &[Call],
        on_failure: OnFailure,
        on_reply: &mut OnReply<'_>,
    ) -> Vec<Result<Reply>> {
        let mut results: Vec<Option<Result<Reply>>> = calls.iter().map(|_| None).collect();
        std::thread::scope(|scope| {
            let (sender, inbox) = channel();
            let asked: Vec<_> = groups
                .iter()
                .map(|(&model, indices)| {
                    let (sender, llm) = (sender.clone(), &self.models[model]);
                    let ask = move || {
                        let own: Vec<Call> = indices.iter().map(|&index| calls[index].clone()).collect();
                        // The receiver lives as long as this scope, so the result of the send can be ignored.
                        let forward = &mut |at: usize, reply: &Reply| drop(sender.send((indices[at], reply.clone())));
                        llm.answer(&own, on_failure, forward)
                    };
                    // Where the system starts no further thread, this one asks.
                    (indices, Builder::new().spawn_scoped(scope, ask.clone()).map_err(|_| ask()))
                })
                .collect();
            // Otherwise the loop below would never see that all models have answered.
            drop(sender);
            inbox.iter().for_each(|(index, reply)| on_reply(index, &reply));
            for (indices, asked) in asked {
                let own = match asked {
                    Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    Err(own) => own,
                };
                indices.iter().zip(own).for_each(|(&index, result)| results[index] = Some(result));
            }
        });
        results.into_iter().map(|result| result.expect("a model gives one result a call (bug)")).collect()
    }
}

impl Llm for Roles {
    fn identity(&self) -> &ModelIdentity {
        self.models[self.first].identity()
    }

    fn identity_of(&self, role: &str) -> &ModelIdentity {
        self.models[self.index(role)].identity()
    }

    fn capabilities(&self, role: &str) -> Capabilities {
        self.models[self.index(role)].capabilities(role)
    }

    fn token(&self, role: &str, text: &str) -> Option<u32> {
        self.models[self.index(role)].token(role, text)
    }

    fn is_deterministic(&self, role: &str) -> bool {
        self.models[self.index(role)].is_deterministic(role)
    }

    fn fits(&self, call: &Call) -> Result<()> {
        self.models[self.index(&call.role)].fits(call)
    }

    fn stream(&self, call: &Call, on_delta: &mut OnDelta<'_>) -> Result<Reply> {
        self.models[self.index(&call.role)].stream(call, on_delta)
    }

    fn engine(&self, role: &str) -> Option<&Engine> {
        self.models[self.index(role)].engine(role)
    }

    /// A failure cancels the calls of the same model; calls that other models have are waited for.
    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, call) in calls.iter().enumerate() {
            groups.entry(self.index(&call.role)).or_default().push(index);
        }
        match groups.first_key_value() {
            None => Vec::new(),
            Some((&only, _)) if groups.len() == 1 => self.models[only].answer(calls, on_failure, on_reply),
            Some(_) => self.answer_groups(&groups, calls, on_failure, on_reply),
        }
    }

    fn engine_stats(&self) -> Option<Stats> {
        self.models.iter().filter_map(|model| model.engine_stats()).reduce(Stats::and)
    }
}
