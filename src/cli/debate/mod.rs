//! Prints a debate to a terminal: rounds as they happen, then the conclusion, tokens and time.
//!
//! Colour carries no information of its own; an `anstream` around the writer removes it for pipes and `NO_COLOR`.

pub(super) mod beside;
mod conclusion;
pub(super) mod live;
mod page;
mod view;

pub(super) use view::STRONG;
pub use view::View;

use crate::assess::Verdict;
use crate::cli::terminal::columns::{printable, wrap};
use crate::protocol::ctx::Observer;
use crate::question::{Document, Question};
use crate::transcript::{CallRecord, Event, Parsed, QuestionRecord};
use live::Live;
use page::{Page, ledger};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use view::WRONG;

/// Prints one question's debate. Calls are printed in the order asked, each as soon as all earlier ones have arrived, so
/// that a live debate reads like a recorded one; with [`DebatePrinter::as_they_arrive`] each at once.
pub struct DebatePrinter<W> {
    state: Mutex<State<W>>,
}

struct State<W> {
    out: W,
    page: Page,
    /// The last reply of each document's agent.
    before: BTreeMap<usize, Parsed>,
    /// The round whose heading was printed last.
    round: usize,
    /// In this stage: index of the call to print next, and calls that arrived early.
    next: usize,
    early: BTreeMap<usize, CallRecord>,
    /// Replies are printed in the order of their arrival.
    at_once: bool,
    failed: Option<io::Error>,
}

impl<W: Write + Send> DebatePrinter<W> {
    /// A printer for `question` to `out`, `columns` wide; prints the question.
    pub fn new(out: W, question: &Question, columns: usize) -> Self {
        Self::with(out, question, View::of(columns))
    }

    /// As [`DebatePrinter::new`], with all settings of the view.
    pub(crate) fn with(out: W, question: &Question, view: View) -> Self {
        let page = Page::new(question, view);
        let (before, early) = (BTreeMap::new(), BTreeMap::new());
        let mut state = State { out, page, before, round: 0, next: 0, early, at_once: false, failed: None };
        let lines = wrap(&printable(&question.text), state.page.columns);
        state.print(&lines.iter().map(|line| format!("{STRONG}{line}{STRONG:#}\n")).collect::<String>());
        Self { state: Mutex::new(state) }
    }

    /// Replies are printed as they arrive, in any order.
    #[must_use]
    pub fn as_they_arrive(self) -> Self {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).at_once = true;
        self
    }

    /// Prints the conclusion: answers with the documents for and against each, rejected answers, tokens, time.
    ///
    /// # Errors
    /// The first error of the writer, now or while the debate was printed.
    pub fn finish(self, record: &QuestionRecord) -> io::Result<W> {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.settle();
        let documents: Vec<&Document> = record.question.documents.iter().chain(&record.retrieved).collect();
        state.page.weights =
            record.conclusion.as_ref().map(|conclusion| conclusion.weights.clone()).unwrap_or_default();
        let mut text = match (record.conclusion.as_ref().zip(Verdict::of(record)), &record.error) {
            (Some((conclusion, verdict)), _) => state.page.conclusion(conclusion, &verdict, record),
            (None, error) => {
                let reason = error.as_deref().map_or("no reason is recorded".to_owned(), printable);
                state.page.block(&format!("{WRONG}No conclusion{WRONG:#}"), &reason)
            }
        };
        text.push_str(&state.page.passages(&documents));
        text.push_str(&ledger(&record.calls, state.page.columns));
        text.push_str(&format!("\n{STRONG}Time{STRONG:#}  {:.1} s\n", record.seconds));
        state.print(&text);
        match state.failed {
            Some(error) => Err(error),
            None => Ok(state.out),
        }
    }
}

/// Prints a recorded debate as it looked live.
///
/// # Errors
/// Those of `out`.
pub fn show<W: Write + Send>(out: W, record: &QuestionRecord, columns: usize) -> io::Result<W> {
    show_with(out, record, View::of(columns))
}

/// As [`show`], with all settings of the view.
///
/// # Errors
/// Those of `out`.
pub fn show_with<W: Write + Send>(out: W, record: &QuestionRecord, view: View) -> io::Result<W> {
    let printer = DebatePrinter::with(out, &record.question, view);
    record.retrieved.iter().for_each(|document| printer.taken_up(document));
    let mut events = record.events.iter().peekable();
    for stage in record.calls.chunk_by(|a, b| a.stage == b.stage) {
        let number = stage.first().map_or(0, |call| call.stage);
        while let Some(event) = events.next_if(|event| event.stage() <= number) {
            printer.event(event);
        }
        printer.stage(number, stage.len());
        for (index, call) in stage.iter().enumerate() {
            printer.call(index, call);
        }
    }
    events.for_each(|event| printer.event(event));
    printer.finish(record)
}

impl<W: Write + Send> Observer for DebatePrinter<W> {
    fn stage(&self, _: usize, _: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.settle();
        state.next = 0;
    }

    fn call(&self, index: usize, call: &CallRecord) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.at_once {
            return state.turn(call);
        }
        state.early.insert(index, call.clone());
        while let Some(call) = {
            // Copied, because a lock's guard is borrowed whole: `early` and `next` cannot be at once.
            let next = state.next;
            state.early.remove(&next)
        } {
            state.next += 1;
            state.turn(&call);
        }
    }

    fn event(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.settle();
        let is_fault = matches!(event, Event::Failure { .. } | Event::Fallback { .. });
        if state.page.view.turns || is_fault {
            let text = state.page.event(event);
            state.print(&text);
        }
    }

    fn taken_up(&self, document: &Document) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.page.add(document);
    }
}

/// A printer, and the progress line of the stage in flight.
pub(super) struct Watched<'a, W> {
    /// Prints.
    pub(super) printer: &'a DebatePrinter<W>,
    /// Draws the line.
    pub(super) live: &'a Live,
}

impl<W: Write + Send> Observer for Watched<'_, W> {
    fn stage(&self, stage: usize, count: usize) {
        self.live.stage(count);
        self.live.aside(|| self.printer.stage(stage, count));
    }

    fn call(&self, index: usize, call: &CallRecord) {
        self.live.reply(call.taken_from.is_none(), || self.printer.call(index, call));
    }

    fn event(&self, event: &Event) {
        self.live.aside(|| self.printer.event(event));
    }

    fn taken_up(&self, document: &Document) {
        self.printer.taken_up(document);
    }
}

impl<W: Write> State<W> {
    /// Prints the early calls of a stage that failed.
    fn settle(&mut self) {
        for call in std::mem::take(&mut self.early).into_values() {
            self.turn(&call);
        }
    }

    fn turn(&mut self, call: &CallRecord) {
        if !self.page.view.turns {
            return;
        }
        let mut text = String::new();
        let is_later = self.round > 0 && call.round > self.round;
        if is_later || (call.round != self.round && call.document.is_some()) {
            text.push_str(&format!("\n{STRONG}Round {}{STRONG:#}\n", call.round));
            self.round = call.round;
        } else if self.round == 0 {
            text.push('\n');
        }
        // A choice is not an answer of the document's agent, so its next answer is not compared with it.
        let agent = call.document.filter(|_| !matches!(call.parsed, Parsed::Choice { .. }));
        let before = agent.and_then(|document| self.before.insert(document, call.parsed.clone()));
        // A verdict that was asked for together with the next round may arrive after some of that round's replies.
        let late = call.document.is_none() && (1..self.round).contains(&call.round);
        text.push_str(&self.page.turn(call, before.as_ref(), late));
        self.print(&text);
    }

    /// Keeps the first error for [`DebatePrinter::finish`], because an observer cannot fail.
    fn print(&mut self, text: &str) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).err();
        }
    }
}
