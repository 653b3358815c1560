//! `moot doctor`: checks whether this machine can run moot.

use crate::cli::terminal::columns::{pad, printable};
use crate::cli::terminal::output;
use crate::cli::terminal::output::under_home;
use crate::cli::terminal::{Shown, tell};
use crate::doctor::model_check::ModelCheck;
use crate::doctor::{self, CacheReport, Examination, Report, SourceReport};
use crate::error::Result;
use crate::llm::remote::Notice;
use crate::units::readable;

const EXAMPLES: &str = "\
Examples:
  moot doctor
  moot doctor --offline --json
  moot doctor --device cuda:0 --model smollm2-135m";

/// Check this machine: device, kernels, memory, caches, sources, and a self-test of some seconds
///
/// Ends with exit code 1 if something cannot work.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Do not connect to the sources
    #[arg(long)]
    pub offline: bool,
    /// Device to test: auto, cpu, cuda, cuda:N or metal
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Compare a model on the device with the CPU, along 40 tokens; on the CPU, with widened weights
    #[arg(short, long)]
    pub model: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Examines the machine and prints the report.
///
/// # Errors
/// [`MootError::Broken`](crate::MootError::Broken) if something cannot work.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut progress = Shown::new(args.model.as_deref().unwrap_or_default());
    let asked = Examination { offline: args.offline, device: args.device.clone(), model: args.model.clone() };
    let report = doctor::examine(&asked, &Notice::new(tell), &mut |event| progress.show(&event))?;
    if args.json {
        output::print_pretty_json(&report)?;
    } else {
        output::print(&text(&report))?;
    }
    report.verdict()
}

fn text(report: &Report) -> String {
    let mut lines = vec![("moot", report.version.to_owned())];
    let built = match &report.device.built_with[..] {
        [] => "built for the CPU alone".to_owned(),
        with => format!("built with {}", with.join(", ")),
    };
    lines.push(("device", format!("{}, {built}", report.device.name)));
    if let Some(gpu) = &report.device.gpu {
        lines.push(("gpu", gpu.description.clone()));
        let outcome = if gpu.passed { "agrees with the CPU" } else { "differs from the CPU" };
        lines.push(("", format!("its arithmetic {outcome}, tested in {:.1} s", gpu.seconds)));
    }
    let cpu = &report.cpu;
    lines.push(("cpu", format!("{}, {} threads", cpu.name, cpu.threads)));
    let table = cpu.table.unwrap_or("none");
    lines.push(("kernels", format!("table {table}; this machine can run {}", cpu.tables.join(", "))));
    if !cpu.features.is_empty() {
        lines.push(("", cpu.features.join(" ")));
    }
    let memory = report.memory;
    lines.push(("memory", format!("{} available of {}", readable(memory.available), readable(memory.total))));
    lines.extend(report.caches.iter().map(cache));
    lines.extend(report.sources.iter().map(source));
    if let Some(test) = &report.self_test {
        let (gb, gflop) = (test.read_bytes_s / 1e9, test.f32_operations_s / 1e9);
        lines.push(("self-test", format!("reads {gb:.1} GB/s, multiplies {gflop:.0} GFLOP/s (f32)")));
        let bits = if test.wrong.is_empty() { "the same bits" } else { "other bits" };
        lines.push(("", format!("{bits} {} ({})", test.compared.join(", "), test.stored.join(", "))));
        lines.push(("", format!("a tiny model at {:.0} tok/s; all in {:.1} s", test.tokens_s, test.seconds)));
    }
    if let Some(check) = &report.model {
        let ModelCheck { model, device, reference, positions, agree, mean_divergence, largest_divergence } = check;
        lines.push((
            "model",
            format!("{model} on {device}: {agree} of {positions} likeliest tokens are those {reference}"),
        ));
        let divergences = format!("mean divergence {mean_divergence:.4} nats, largest {largest_divergence:.4}");
        lines.push(("", divergences));
    }
    lines.extend(report.notes.iter().map(|note| ("note", note.clone())));
    if report.broken.is_empty() {
        lines.push(("", "All that is needed works.".to_owned()));
    }
    lines.iter().map(|(name, what)| format!("{}  {}\n", pad(name, 9), printable(what))).collect()
}

fn cache(cache: &CacheReport) -> (&'static str, String) {
    let free = cache.free.map_or_else(String::new, |free| format!(", {} free on its disk", readable(free)));
    let name = if cache.name == "hub" { "hub cache" } else { "cache" };
    (name, format!("{}: {}{free}", under_home(&cache.path).display(), readable(cache.bytes)))
}

fn source(source: &SourceReport) -> (&'static str, String) {
    let outcome = match (source.seconds, &source.reason) {
        (Some(seconds), _) => format!("answers in {:.0} ms", 1e3 * seconds),
        (None, reason) => format!("not reached: {}", reason.as_deref().unwrap_or("no reason given")),
    };
    (source.name, format!("{}: {outcome}", source.address))
}
