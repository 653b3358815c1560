//! Calls of a model in stages, without a record: a stage is dropped once its replies are read, so that memory stays bounded.

use super::follow::{Event, Follow};
use super::journal::key;
use crate::error::{MootError, Result};
use crate::generation::{Sampling, Usage};
use crate::prompts::File;
use crate::protocol::Ask;
use crate::protocol::ctx::{Ctx, Settings, Silent, Tools};
use crate::protocol::formats::{CHOICE, Format, SHORT, SUBJECTS};
use crate::question::Question;
use crate::transcript::CallRecord;

/// Makes stages of calls.
pub(super) struct Stage<'a> {
    pub(super) tools: Tools<'a>,
    pub(super) settings: &'a Settings,
    pub(super) follow: &'a dyn Follow,
    /// The prompts that calls may use.
    pub(super) prompts: &'a [File],
    /// Number of calls made, and of those that failed.
    pub(super) calls: std::cell::Cell<(usize, usize)>,
}

impl Stage<'_> {
    /// Makes a stage of calls; `None` for one that failed.
    ///
    /// # Errors
    /// An interruption; an error that every call would have.
    pub(super) fn ask(&self, asks: &[Ask]) -> Result<Vec<Option<CallRecord>>> {
        if self.follow.is_stopped() {
            return Err(MootError::Interrupted);
        }
        let question = Question { id: "contradictions".into(), ..Question::default() };
        let formats = [&SUBJECTS, &CHOICE, &SHORT].into_iter().flat_map(Format::files);
        let files = self.prompts.iter().copied().chain(formats).collect();
        let mut ctx = Ctx::new("contradictions", files, &question, self.tools, self.settings, &Silent);
        // Reasons of failed calls are dropped: the report has their number, and the next run asks again.
        let replies: Vec<Option<CallRecord>> = ctx.try_all(asks)?.into_iter().map(Result::ok).collect();
        let mut usage = Usage::default();
        replies.iter().flatten().for_each(|reply| usage += reply.usage);
        self.follow.used(usage);
        let (made, failed) = self.calls.get();
        self.calls.set((made + asks.len(), failed + replies.iter().filter(|reply| reply.is_none()).count()));
        Ok(replies)
    }

    /// Hash of everything that decides the reply to `ask`.
    pub(super) fn key(&self, ask: &Ask) -> String {
        let model = self.tools.llm.identity_of(&ask.role);
        let sampling = ask.sampling.unwrap_or(self.settings.sampling);
        // The most likely token does not depend on the seed.
        let seed = (sampling != Sampling::Greedy).then_some(self.settings.seed);
        let format = ask.format.files().map(|file| file.sha256()).collect::<Vec<_>>().join(" ");
        key(&[
            &model.name,
            &model.sha256,
            &model.recipe,
            &ask.prompt.sha256(),
            &ask.values.to_string(),
            &format,
            &ask.format_values.to_string(),
            &format!("{sampling:?} {seed:?} {} {}", self.settings.think, self.settings.free_form),
            &format!("{:?} {:?} {:?}", ask.max_tokens, ask.logprobs, ask.turns),
        ])
    }

    pub(super) fn reading(&self, done: usize, of: usize) {
        self.follow.event(&Event::Reading { done, of });
    }

    pub(super) fn labelling(&self, done: usize, of: usize) {
        self.follow.event(&Event::Labelling { done, of });
    }
}

#[cfg(test)]
mod tests {
    use super::{Ask, SHORT, Settings, Stage, Tools};
    use crate::contradictions::claims::SUBJECTS_PROMPT;
    use crate::contradictions::follow::Follow;
    use crate::generation::{Logprobs, Message, Role, Sampling};
    use crate::llm::scripted::Scripted;
    use serde_json::json;
    use std::collections::BTreeSet;

    struct Unobserved;
    impl Follow for Unobserved {}

    #[test]
    fn whatever_decides_a_reply_is_in_its_key() {
        let (llm, settings) = (Scripted::new(|_| String::new()), Settings::default());
        let calls = std::cell::Cell::default();
        let stage = Stage { tools: Tools::new(&llm), settings: &settings, follow: &Unobserved, prompts: &[], calls };
        let ask = || Ask::new("reader", SUBJECTS_PROMPT, json!({}), &SHORT);
        let asks = [
            ask(),
            Ask::new("reader", SUBJECTS_PROMPT, json!({ "title": "a" }), &SHORT),
            ask().options(["yes", "no"]),
            ask().max_tokens(8),
            ask().max_tokens(9),
            ask().logprobs(Logprobs::default()),
            ask().after(vec![Message::new(Role::User, "b")]),
        ];
        let keys: BTreeSet<String> = asks.iter().map(|ask| stage.key(ask)).collect();
        assert_eq!((keys.len(), stage.key(&ask())), (asks.len(), stage.key(&ask())));
    }

    #[test]
    fn settings_that_decide_a_reply_are_in_its_key() {
        let llm = Scripted::new(|_| String::new());
        let key = |settings: Settings| {
            let calls = std::cell::Cell::default();
            let stage =
                Stage { tools: Tools::new(&llm), settings: &settings, follow: &Unobserved, prompts: &[], calls };
            stage.key(&Ask::new("reader", SUBJECTS_PROMPT, json!({}), &SHORT))
        };
        let drawn = |seed| {
            let sampling = Sampling::Seeded { temperature: 1.0, top_k: 0, top_p: 1.0 };
            Settings { seed, sampling, ..Settings::default() }
        };
        let settings = [Settings::default(), Settings { think: 8, ..Settings::default() }, drawn(0), drawn(1)];
        let keys: BTreeSet<String> = settings.into_iter().map(key).collect();
        assert_eq!(keys.len(), 4);
        let another_seed = Settings { seed: 1, ..Settings::default() };
        assert_eq!(key(another_seed), key(Settings::default()), "no token is drawn");
    }
}
