//! Counters for Prometheus.

use crate::engine::Stats;
use crate::generation::Usage;
use axum::http::StatusCode;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the server started.
#[derive(Default)]
pub(super) struct Metrics {
    /// Responses by the first digit of their status.
    responses: [AtomicU64; 6],
    refused_busy: AtomicU64,
    /// Requests whose client left, or whose time was over, before they were answered.
    pub(super) cancelled: AtomicU64,
    questions: AtomicU64,
    usage: Mutex<Usage>,
}

impl Metrics {
    pub(super) fn answered(&self, status: StatusCode) {
        let digit = usize::from(status.as_u16() / 100).min(self.responses.len() - 1);
        self.responses[digit].fetch_add(1, Ordering::Relaxed);
        if status == StatusCode::TOO_MANY_REQUESTS {
            self.refused_busy.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Tokens of calls that were answered.
    pub(super) fn used(&self, usage: Usage) {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner) += usage;
    }

    /// A question was answered.
    pub(super) fn question(&self) {
        self.questions.fetch_add(1, Ordering::Relaxed);
    }

    /// The text of `/metrics`.
    pub(super) fn text(&self, running: usize, waiting: usize, engine: Option<Stats>) -> String {
        let usage = *self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let mut text = Text::default();
        // No response here has a status below 200.
        for (digit, counter) in self.responses.iter().enumerate().skip(2) {
            let label = format!("{{status=\"{digit}xx\"}}");
            text.sample("responses_total", "counter", "Responses by status", &label, count(counter));
        }
        text.one("refused_total", "counter", "Requests refused with 429", count(&self.refused_busy));
        text.one("cancelled_total", "counter", "Requests that ended before their answer", count(&self.cancelled));
        text.one("questions_total", "counter", "Questions answered by a method", count(&self.questions));
        text.one("requests_running", "gauge", "Requests that are answered now", running as f64);
        text.one("requests_waiting", "gauge", "Requests that wait for a slot", waiting as f64);
        text.one("prompt_tokens_total", "counter", "Tokens of prompts", usage.prompt as f64);
        text.one("reused_tokens_total", "counter", "Tokens of prompts that were computed before", usage.reused as f64);
        text.one("generated_tokens_total", "counter", "Tokens generated", usage.generated as f64);
        if let Some(stats) = engine {
            text.one("engine_steps_total", "counter", "Forward passes", stats.steps as f64);
            text.one("engine_forward_seconds_total", "counter", "Seconds in forward passes", stats.forward_seconds);
            text.one(
                "engine_pages_held",
                "gauge",
                "Pages of keys and values that requests hold",
                stats.pages_held as f64,
            );
            text.one("engine_peak_rows", "gauge", "Most sequences in one forward pass", stats.peak_rows as f64);
        }
        text.0
    }
}

/// Prometheus' text format.
#[derive(Default)]
struct Text(String);

impl Text {
    fn one(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.sample(name, kind, help, "", value);
    }

    fn sample(&mut self, name: &str, kind: &str, help: &str, label: &str, value: f64) {
        let head = format!("# HELP moot_{name} {help}\n# TYPE moot_{name} {kind}\n");
        // The format has the head of a metric once, before all its samples.
        if !self.0.contains(&head) {
            self.0.push_str(&head);
        }
        let _ = writeln!(self.0, "moot_{name}{label} {value}");
    }
}
