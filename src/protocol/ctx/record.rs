//! Recorded calls: a stage's asks become calls, each with its seed, and replies become records.

use super::Ctx;
use crate::answers::grounds::{Held, is_choice};
use crate::error::{MootError, Result};
use crate::generation::{Message, Prompt, Role, Usage};
use crate::llm::identity::Identity;
use crate::llm::replay::recorded_reply;
use crate::llm::{Call, OnFailure, Reply};
use crate::prompts::File;
use crate::protocol::ask::Ask;
use crate::protocol::own_format::OwnFormat;
use crate::protocol::scored;
use crate::transcript::{CallRecord, Parsed};
use serde_json::Value;

/// Origin of a call: the index of its ask in the stage, and of the sample of that ask.
type Origin = (usize, usize);

/// Origin of the reply of a call that is not made.
#[derive(Clone, Copy)]
enum Known {
    /// From an earlier stage: the number of the call.
    Earlier(usize),
    /// From the same stage: the index of the call.
    Beside(usize),
}

/// The reply as another call's: all tokens of its prompt are reused, and none is generated.
fn taken_over(reply: Reply) -> Reply {
    let prompt = reply.usage.prompt;
    Reply { usage: Usage { prompt, reused: prompt, computed: 0, generated: 0 }, seconds: 0.0, ..reply }
}

/// Whether the two calls are equal, so that the reply to one is the reply to the other.
fn alike<'a>(a: impl Into<Identity<'a>>, b: &'a Call) -> bool {
    a.into().deciding() == Identity::from(b).deciding()
}

impl Ctx<'_> {
    /// Sends the calls of `asks` together and records those that were answered. Results are in the order of `asks`, the
    /// samples of an ask next to each other. A call that equals an earlier one is not made: it gets the earlier reply.
    pub(super) fn stage(&mut self, asks: &[Ask], on_failure: OnFailure) -> Result<Vec<Result<CallRecord>>> {
        let asks = &self.with_own_formats(asks)?;
        let (calls, of) = self.prepare(asks)?;
        let (stage, llm, observer) = (self.next_stage(), self.tools.llm, self.observer);
        let known = self.known(&calls, on_failure);
        let held: Vec<Option<Held>> = asks.iter().map(|ask| self.held(ask)).collect();
        let mut records: Vec<Option<CallRecord>> = vec![None; calls.len()];
        let mut results: Vec<Option<Result<Reply>>> = calls.iter().map(|_| None).collect();
        observer.stage(stage, calls.len());
        let mut report = |index: usize, reply: &Reply, taken_from: Option<usize>| {
            let (ask, sample) = of[index];
            let record = CallRecord { taken_from, ..record(stage, &asks[ask], sample, &calls[index], reply) };
            let record = match &held[ask] {
                Some(held) => only_what_is_held(record, held),
                None => record,
            };
            observer.call(index, &record);
            records[index] = Some(record);
        };
        for (index, known) in known.iter().enumerate() {
            if let Some(Known::Earlier(number)) = *known {
                let reply = taken_over(recorded_reply(&self.calls[number]));
                report(index, &reply, Some(number));
                results[index] = Some(Ok(reply));
            }
        }
        let indices: Vec<usize> = (0..calls.len()).filter(|&index| known[index].is_none()).collect();
        if !indices.is_empty() {
            let sent: Vec<Call> = indices.iter().map(|&index| calls[index].clone()).collect();
            let answered = llm.answer(&sent, on_failure, &mut |at, reply| report(indices[at], reply, None));
            assert_eq!(answered.len(), sent.len(), "a model gives one result a call (bug)");
            indices.iter().zip(answered).for_each(|(&index, result)| results[index] = Some(result));
        }
        for (index, known) in known.iter().enumerate() {
            let Some(Known::Beside(first)) = *known else { continue };
            let reply = results[first].as_ref().and_then(|result| result.as_ref().ok()).cloned().map(taken_over);
            reply.iter().for_each(|reply| report(index, reply, Some(self.calls.len() + first)));
            // Placeholder: the equal call failed first, and the stage returns that error.
            results[index] = Some(reply.ok_or(MootError::Interrupted));
        }
        // In the order of the asks, in whatever order replies came: numbers are the same in every run.
        for record in records.iter_mut().flatten() {
            record.number = self.calls.len();
            self.calls.push(record.clone());
        }
        let results = results.into_iter().map(|result| result.expect("every call has its result (bug)")).zip(records);
        Ok(results.map(|(result, record)| result.map(|_| record.expect("replies are reported (bug)"))).collect())
    }

    /// The format of the user's for the replies to a call that generates one.
    fn own_format(&self, ask: &Ask) -> Option<&OwnFormat> {
        self.prompts.filter(|_| !ask.score)?.format(ask.prompt)
    }

    /// `asks` with the user's formats instead of the program's.
    fn with_own_formats(&self, asks: &[Ask]) -> Result<Vec<Ask>> {
        let with = |ask: &Ask| {
            let Some(own) = self.own_format(ask) else { return Ok(ask.clone()) };
            let (format, format_values) = own.instead_of(ask.format, ask.prompt.name)?;
            Ok(Ask { format, format_values, ..ask.clone() })
        };
        asks.iter().map(with).collect()
    }

    /// The words in which a grounded answer must occur: those of the call's document, and those of the question, which
    /// an answer may repeat.
    fn held(&self, ask: &Ask) -> Option<Held> {
        let document = self.documents().nth(ask.document.filter(|_| ask.grounded)?)?;
        Some(Held::of([document], false).asked(&self.question().text))
    }

    /// For each call, the equal call whose reply it gets: an earlier one of the question, or, where a failure ends the
    /// stage anyway, one before it in the stage. None for models whose replies may differ between equal calls.
    fn known(&self, calls: &[Call], on_failure: OnFailure) -> Vec<Option<Known>> {
        let known = |index: usize| {
            let call = &calls[index];
            if !self.tools.llm.is_deterministic(&call.role) {
                return None;
            }
            let earlier = self.calls.iter().find(|record| alike(*record, call));
            // The number of a call of this stage is known only where a failure ends the stage: failed calls get none.
            let beside = || (0..index).find(|&before| on_failure == OnFailure::Cancel && alike(&calls[before], call));
            earlier.map(|record| Known::Earlier(record.number)).or_else(|| beside().map(Known::Beside))
        };
        (0..calls.len()).map(known).collect()
    }

    /// The calls of `asks`, and of each the index of its ask and of its sample.
    fn prepare(&self, asks: &[Ask]) -> Result<(Vec<Call>, Vec<Origin>)> {
        let (mut calls, mut of) = (Vec::new(), Vec::new());
        for (index, ask) in asks.iter().enumerate() {
            let same = |role: &str, round: usize| role == ask.role && round == ask.round;
            // Counted by role and round, a call has its seed whatever other roles ask.
            let before = self.calls.iter().filter(|call| same(&call.role, call.round)).count();
            let beside = asks[..index].iter().filter(|other| same(&other.role, other.round));
            let first = before + beside.map(|other| other.samples).sum::<usize>();
            let call = self.call(ask)?;
            for sample in 0..ask.samples {
                calls.push(Call { seed: self.seed(&ask.role, ask.round, first + sample), ..call.clone() });
                of.push((index, sample));
            }
        }
        Ok((calls, of))
    }

    fn call(&self, ask: &Ask) -> Result<Call> {
        let what = self.what(ask);
        // A format of the user's is in the record by its own name, and in every call.
        let formats = ask.format.files().filter(|_| self.own_format(ask).is_none());
        for file in [Some(ask.prompt), ask.system].into_iter().flatten().chain(formats) {
            self.must_be_listed(file)?;
        }
        // A call without generated tokens has nothing to constrain.
        let held = !self.settings.free_form && ask.max_tokens != Some(0);
        let call = Call {
            round: ask.round,
            document: ask.document,
            prefill: ask.prefill.clone(),
            score: ask.score,
            // A prefill begins the reply, so thoughts can no longer precede it. A raw prompt has no template to request
            // them.
            think: if ask.prefill.is_empty() && !ask.raw { self.settings.think } else { 0 },
            sampling: ask.sampling.unwrap_or(self.settings.sampling),
            stop: ask.stop.clone(),
            grammar: if held { ask.format.grammar(&ask.format_values)? } else { None },
            // The first token of an object is a brace, whose log-probabilities say nothing of the options.
            schema: if held && !ask.is_scored_choice() { ask.format.schema(&ask.format_values)? } else { None },
            format: ask.format.name,
            format_values: ask.format_values.clone(),
            logprobs: ask.logprobs.clone(),
            cancel: self.tools.cancel.cloned().unwrap_or_default(),
            ..Call::new(what, &ask.role, self.prompt(ask)?, ask.max_tokens.unwrap_or(self.settings.max_tokens))
        };
        let missing = call.needs().missing_from(self.capabilities(&ask.role));
        if missing.is_empty() {
            return Ok(call);
        }
        let model = &self.tools.llm.identity_of(&ask.role).name;
        Err(MootError::Usage(format!("{}: the model {model} cannot give {}", call.what, missing.join(", "))))
    }

    fn prompt(&self, ask: &Ask) -> Result<Prompt> {
        let own = |file: File| self.prompts.map_or(file, |prompts| prompts.of(file));
        let interjection = self.interjection.filter(|text| text.round <= ask.round);
        if ask.raw {
            if interjection.is_some() {
                let name = self.name;
                return Err(MootError::Usage(format!(
                    "{name} sends prompts without a chat: no text can be added to its calls"
                )));
            }
            return Ok(Prompt::Raw(own(ask.prompt).render_segments(&ask.values)?));
        }
        let mut messages = Vec::with_capacity(ask.turns.len() + 2);
        if let Some(system) = ask.system {
            messages.push(Message::new(Role::System, own(system).render(&ask.values)?));
        }
        messages.extend_from_slice(&ask.turns);
        let mut last = own(ask.prompt).render(&ask.values)?;
        if let Some(interjection) = interjection {
            last = format!("{}\n\n{}", last.trim_end(), interjection.text);
        }
        messages.push(Message::new(Role::User, last));
        Ok(Prompt::Chat(messages))
    }

    /// A file that the row does not list would have no hash in the record.
    fn must_be_listed(&self, file: File) -> Result<()> {
        if self.files.contains(&file) {
            return Ok(());
        }
        let reason = format!("{} uses this file, and its row does not list it (bug)", self.name);
        Err(MootError::Prompt { file: file.name.to_owned(), reason })
    }

    /// The name of a call in messages: role, document, round.
    pub(super) fn what(&self, ask: &Ask) -> String {
        let document = ask.document.and_then(|number| self.documents().nth(number));
        let of = document.map(|document| format!(" of {}", document.name)).unwrap_or_default();
        format!("{}{of}, round {}", ask.role, ask.round)
    }
}

/// The call whose answer counts as unknown where its document does not hold it. Yes and no are exempt.
fn only_what_is_held(mut call: CallRecord, held: &Held) -> CallRecord {
    let Parsed::Answer { answer: Some(answer), .. } = &call.parsed else { return call };
    if !is_choice(answer, &[]) && !held.grounds(answer) {
        let answer = answer.clone();
        call.parsed = Parsed::Answer { answer: None, explanation: format!("The document does not say \"{answer}\".") };
        call.not_held = Some(answer);
    }
    call
}

fn record(stage: usize, ask: &Ask, sample: usize, call: &Call, reply: &Reply) -> CallRecord {
    let by_schema = call.schema.as_ref().is_some_and(|schema| reply.held_by.as_deref() == Some(&*schema.name));
    // Parsers and other agents read lines, also where a server was asked for an object.
    let line = if by_schema { (ask.format.line)(&reply.text) } else { None };
    let raw = line.is_some().then(|| reply.text.clone());
    let text = line.unwrap_or_else(|| reply.text.clone());
    let (messages, raw_prompt) = match &call.prompt {
        Prompt::Chat(messages) => (messages.clone(), Vec::new()),
        Prompt::Raw(segments) => (Vec::new(), segments.clone()),
    };
    CallRecord {
        number: 0,
        role: ask.role.clone(),
        round: ask.round,
        stage,
        document: ask.document,
        about: ask.about.clone(),
        sample,
        prompt: ask.prompt.name.to_owned(),
        format: ask.format.name.to_owned(),
        format_values: ask.format_values.clone(),
        grammar: reply.held_by.clone(),
        messages,
        raw_prompt,
        prefill: call.prefill.clone(),
        score: call.score,
        max_tokens: call.max_tokens,
        think: Some(call.think),
        sampling: Some(call.sampling),
        seed: call.seed,
        stop: call.stop.clone(),
        wanted_logprobs: call.logprobs.clone(),
        taken_from: None,
        parsed: read(ask, &text, reply),
        not_held: None,
        reply: text,
        raw,
        thoughts: reply.thoughts.clone(),
        tokens: reply.tokens.clone(),
        logprobs: reply.logprobs.clone(),
        scores: reply.scores.clone(),
        dropped: reply.dropped.clone(),
        finish: reply.finish,
        usage: reply.usage,
        seconds: reply.seconds,
    }
}

/// Parses a reply. A scored choice that no grammar held to its options is the most probable one.
fn read(ask: &Ask, text: &str, reply: &Reply) -> Parsed {
    let parsed = ask.format.read(text, reply.finish, &ask.format_values);
    if parsed != Parsed::Malformed || !ask.is_scored_choice() || reply.held_by.is_some() {
        return parsed;
    }
    let options = ask.format_values["options"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let chosen = scored::most_probable(&reply.logprobs, options);
    chosen.map_or(parsed, |option| Parsed::Choice { option, explanation: String::new() })
}
