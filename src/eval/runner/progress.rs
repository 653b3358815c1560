//! Progress of a run.

use crate::answers::{align, grounds};
use crate::generation::Usage;
use crate::transcript::{Event, Parsed, QuestionRecord};
use std::time::Duration;

/// Progress of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    /// Questions in all.
    pub total: usize,
    /// Questions recorded, those of earlier runs included.
    pub done: usize,
    /// Questions recorded before this run began.
    pub before: usize,
    /// Calls of the questions that this run recorded.
    pub calls: usize,
    /// Of these, duplicate calls that reused a reply.
    pub taken_over: usize,
    /// Of these, calls that an earlier run had made.
    pub from_journal: usize,
    /// Replies of this run that did not keep their format.
    pub malformed: usize,
    /// Questions of this run recorded with an error.
    pub errors: usize,
    /// Answers "yes", "no" and options that the method's own filter dropped, of questions of this run.
    pub dropped_choices: usize,
    /// Tokens of these calls.
    pub usage: Usage,
    /// Since this run began.
    pub elapsed: Duration,
    /// The run was asked to stop and waits for calls in flight.
    pub stopping: bool,
}

impl Progress {
    /// Questions a minute in this run; 0 before the first has finished.
    #[must_use]
    pub fn per_minute(&self) -> f64 {
        let finished = self.done - self.before;
        if finished == 0 { 0.0 } else { finished as f64 * 60.0 / self.elapsed.as_secs_f64().max(1e-9) }
    }

    /// How long the rest will take at this run's rate; `None` before the first has finished.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let rate = self.per_minute();
        // A rate near 0 may give more seconds than a `Duration` can have.
        (rate > 0.0).then(|| Duration::try_from_secs_f64((self.total - self.done) as f64 * 60.0 / rate).ok()).flatten()
    }

    /// Several runs together: counts added up.
    #[must_use]
    pub fn sum(runs: &[Self]) -> Self {
        runs.iter().fold(Self::default(), |mut sum, one| {
            sum.total += one.total;
            sum.done += one.done;
            sum.before += one.before;
            sum.calls += one.calls;
            sum.taken_over += one.taken_over;
            sum.from_journal += one.from_journal;
            sum.malformed += one.malformed;
            sum.errors += one.errors;
            sum.dropped_choices += one.dropped_choices;
            sum.usage += one.usage;
            // The runs go side by side, so their times are not added up.
            sum.elapsed = sum.elapsed.max(one.elapsed);
            sum.stopping |= one.stopping;
            sum
        })
    }

    /// Counts a question that is recorded; an earlier run had made `from_journal` of its calls.
    pub(super) fn count(&mut self, record: &QuestionRecord, from_journal: usize) {
        self.done += 1;
        self.from_journal += from_journal;
        self.calls += record.calls.len();
        self.taken_over += record.calls.iter().filter(|call| call.taken_from.is_some()).count();
        self.malformed += record.calls.iter().filter(|call| call.parsed == Parsed::Malformed).count();
        self.errors += usize::from(record.error.is_some());
        self.dropped_choices += dropped_choices(record);
        for call in &record.calls {
            self.usage += call.usage;
        }
    }
}

/// Answers "yes", "no" and options that the method's own filter dropped.
fn dropped_choices(record: &QuestionRecord) -> usize {
    let dropped = record.events.iter().filter_map(|event| match event {
        Event::Fallback { dropped, .. } => dropped.and_then(|number| record.calls.get(number)),
        _ => None,
    });
    let choice = |answer: &&str| grounds::is_choice(answer, &record.question.options);
    dropped.filter_map(align::answer).filter(choice).count()
}
