//! `moot lab bench`: tokens per second by rows, and the limits of this machine, measured in the same call.

mod args;
mod ceilings;
mod machine;
mod recorded;

pub(crate) use args::Args;

use crate::cli::terminal::interrupt;
use crate::cli::terminal::output;
use crate::engine::{Engine, Event, Request};
use crate::error::{MootError, Result};
use crate::generation::Grammar;
use crate::llm::Llm;
use crate::llm::local::Local;
use crate::workspace::open_single;
use machine::{device, peak_resident_bytes};
use moot_models::kernels::cpu::limits;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::sync::mpsc::channel;
use std::time::Instant;

/// The result for one number of rows.
#[derive(Debug, Clone, Serialize)]
struct Measured {
    /// The model's name; for random weights with their type.
    model: String,
    /// The CPU table, or the device.
    device: String,
    threads: usize,
    rows: usize,
    prompt: usize,
    generate: usize,
    shared_prefix: bool,
    /// Prompt tokens computed per second over all rows; a shared prefix counts once.
    prefill_tok_s: f64,
    /// Tokens generated per second over all rows.
    decode_tok_s: f64,
    prefill_seconds: f64,
    decode_seconds: f64,
    seconds: f64,
    peak_resident_bytes: u64,
    /// Read bandwidth, measured in this call.
    read_bytes_s: f64,
    /// f32 operations per second, measured in this call; a fused multiply-add counts as two. On a GPU, bf16 matrix
    /// products.
    f32_operations_s: f64,
    /// int8 operations per second, measured in this call: the rate limit for quantised weights.
    byte_operations_s: f64,
    /// Share of the limit by arithmetic: two operations per weight and token, the output layer once per row.
    prefill_share: f64,
    /// Share of the limit by arithmetic and by reading all weights once and each row's pages per step.
    decode_share: f64,
    page_reads: usize,
    page_reads_unshared: usize,
    /// Most bytes of pages that requests held at once, since the model was loaded.
    peak_page_bytes: usize,
    /// Pages of layers with a window, in prefill and decoding, given back before their request ended.
    pages_freed_by_windows: usize,
    /// Of a model with recurrent states, in prefill and decoding: copies kept, requests that went on from one, and copies
    /// evicted.
    states_kept: usize,
    states_reused: usize,
    states_evicted: usize,
    /// Share of prefill's feed-forward layers that were computed in one pass, without writing inner activations as floats.
    one_pass_share: f64,
    /// Experts whose weights were read in decoding, each once a step and layer.
    experts_read: usize,
    /// Quantised matrices that a GPU multiplies by with kernels of ours.
    packed_matrices: usize,
    /// Steps of decoding, and those that a GPU launched from a capture.
    decode_steps: usize,
    replayed_steps: usize,
    /// Captures until the end of this measurement, those that failed, and the times that all were given back because a
    /// step failed.
    captured_steps: usize,
    refused_captures: usize,
    released_captures: usize,
    /// Seconds of decoding until steps were enqueued, and until their tokens were sampled. The rest is the engine's.
    decode_enqueue_seconds: f64,
    decode_forward_seconds: f64,
}

/// Measures and prints.
///
/// # Errors
/// A model that does not load, numbers that do not fit its context or memory, calls that cannot be read.
pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(calls) = &args.calls {
        return recorded::run(args, calls);
    }
    // All prompts are in memory before the first is sent.
    const MOST_ROWS: usize = 4096;
    let most = args.rows.iter().copied().max().unwrap_or(1);
    if most > MOST_ROWS {
        return Err(MootError::Usage(format!("--rows {most}: expected {MOST_ROWS} at most")));
    }
    if let Some(shared) = args.shared.filter(|shared| *shared >= args.prompt) {
        return Err(MootError::Usage(format!("--shared {shared}: expected fewer than the prompt's {}", args.prompt)));
    }
    let mut runtime = args.model.runtime.options();
    // Replies to random tokens repeat themselves more than real ones, so draft tokens would overstate the speed.
    runtime.speculation = false;
    runtime.max_rows = most.max(runtime.max_rows);
    // Nothing to finish: Ctrl-C ends a bench at once.
    let control = interrupt::listen()?;
    runtime.set_threads(&control.notice())?;
    // Measured before the model is loaded, so that its memory is not counted as the model's.
    let limits = limits::measure().map_err(MootError::Usage)?;
    let llm = open_single("moot lab bench", &args.model.name(), &runtime, &control)?;
    let (prompt, generate) = (args.prompt, args.generate);
    let (needed, limit) = (prompt.saturating_add(generate), llm.engine().limits().context);
    if needed > limit {
        let (what, limit_name) = ("a row".into(), "the context of the model");
        return Err(MootError::TooLong { what, needed, prompt, generate, limit_name, limit });
    }
    let limits = ceilings::measure(llm.engine().model().decoder.device(), limits)?;
    if !args.json {
        let (gb, gflop, gop) = (limits.bytes / 1e9, limits.operations / 1e9, limits.byte_operations / 1e9);
        output::print(&format!(
            "{}, {} threads, {}: reads {gb:.1} GB/s, multiplies {gflop:.0} GFLOP/s ({}), {gop:.0} GOP/s (bytes)\n\
             rows  prefill tok/s  of limit  one pass  decode tok/s  of limit   seconds  peak MB\n",
            llm.identity().name,
            rayon::current_num_threads(),
            device(&llm),
            if llm.engine().model().decoder.is_on_cpu() { "f32" } else { "bf16" },
        ))?;
    }
    wait_for_grammars(llm.engine());
    for &rows in &args.rows {
        let runs: Result<Vec<Measured>> =
            (0..args.repeat).map(|round| measure(args, &llm, limits, rows, round as u64)).collect();
        let measured = median(runs?);
        let line = if args.json {
            output::json(&measured)?
        } else {
            format!(
                "{:>4}  {:>13.1}  {:>6.0} %  {:>6.0} %  {:>12.1}  {:>6.0} %  {:>8.2}  {:>7.0}\n",
                measured.rows,
                measured.prefill_tok_s,
                100.0 * measured.prefill_share,
                100.0 * measured.one_pass_share,
                measured.decode_tok_s,
                100.0 * measured.decode_share,
                measured.seconds,
                measured.peak_resident_bytes as f64 / 1e6
            )
        };
        output::print(&line)?;
    }
    Ok(())
}

/// Runs all prompts with one token each, then the same prompts, now cached, with all tokens. This separates prefill and
/// decoding, which would overlap in one run.
fn measure(args: &Args, llm: &Local, limits: limits::Limits, rows: usize, round: u64) -> Result<Measured> {
    let engine = llm.engine();
    let prompts = prompts(args, engine, rows, round);
    let decoder = &engine.model().decoder;
    let (before, layers_before) = (engine.stats(), decoder.feed_forwards());
    let prefill_seconds = generate(engine, &prompts, 1)?;
    let (between, layers) = (engine.stats(), decoder.feed_forwards());
    let decode_seconds = generate(engine, &prompts, args.generate)?;
    let (after, layers_after) = (engine.stats(), decoder.feed_forwards());
    let (every, wanted) = decoder.linear_weights();
    // Seconds of pure multiplication: all tokens with most weights, wanted rows with the output layer.
    let multiplying = |tokens: f64, rows: f64| {
        let floats = tokens * every.floats as f64 + rows * wanted.floats as f64;
        let quantised = tokens * every.quantised as f64 + rows * wanted.quantised as f64;
        2.0 * floats / limits.operations + 2.0 * quantised / limits.byte_operations
    };
    let computed = (between.prefilled - before.prefilled) as f64;
    let page_reads = after.page_reads - between.page_reads;
    let decoded = (rows * args.generate) as f64;
    let experts_read = layers_after.experts_read - layers.experts_read;
    // A step reads the experts that its tokens use, some of them for several tokens.
    let of_experts = if experts_read > 0 { decoder.expert_bytes() * decoder.experts_of_a_token() } else { 0 };
    let weights =
        args.generate * (every.bytes + wanted.bytes).saturating_sub(of_experts) + experts_read * decoder.expert_bytes();
    // A token's recurrent state is read and written.
    let states = 2 * rows * args.generate * decoder.state_bytes();
    let read = (weights + page_reads * decoder.page_bytes() + states) as f64;
    // Reading and multiplying overlap, so the slower of the two is the limit.
    let decode_limit = (read / limits.bytes).max(multiplying(decoded, decoded));
    Ok(Measured {
        model: llm.identity().name.clone(),
        device: device(llm),
        threads: rayon::current_num_threads(),
        rows,
        prompt: args.prompt,
        generate: args.generate,
        shared_prefix: args.shared_prefix,
        prefill_tok_s: computed / prefill_seconds,
        decode_tok_s: decoded / decode_seconds,
        prefill_seconds,
        decode_seconds,
        seconds: prefill_seconds + decode_seconds,
        peak_resident_bytes: peak_resident_bytes(),
        read_bytes_s: limits.bytes,
        f32_operations_s: limits.operations,
        byte_operations_s: limits.byte_operations,
        prefill_share: multiplying(computed, rows as f64) / prefill_seconds,
        decode_share: decode_limit / decode_seconds,
        page_reads,
        page_reads_unshared: after.page_reads_unshared - between.page_reads_unshared,
        peak_page_bytes: after.peak_pages * decoder.group_page_bytes(&engine.limits().groups),
        pages_freed_by_windows: after.freed_by_windows - before.freed_by_windows,
        states_kept: after.states_kept - before.states_kept,
        states_reused: after.states_reused - before.states_reused,
        states_evicted: after.states_evicted - before.states_evicted,
        one_pass_share: (layers.in_one_pass - layers_before.in_one_pass) as f64
            / (layers.applied - layers_before.applied).max(1) as f64,
        experts_read,
        packed_matrices: decoder.packed_matrices(),
        decode_steps: after.steps - between.steps,
        replayed_steps: after.replays.replayed - between.replays.replayed,
        captured_steps: after.replays.captured,
        refused_captures: after.replays.refused,
        released_captures: after.replays.released,
        decode_enqueue_seconds: after.enqueue_seconds - between.enqueue_seconds,
        decode_forward_seconds: after.forward_seconds - between.forward_seconds,
    })
}

/// Prompts of random tokens, different in each round. Rows of a group share their first tokens; with `--shared-prefix` all
/// but the last.
fn prompts(args: &Args, engine: &Engine, rows: usize, round: u64) -> Vec<Vec<u32>> {
    let vocab = engine.model().tokenizer.vocab_size() as u32;
    // Other prompts in each measurement: those of an earlier one would be cached.
    let mut random = ChaCha8Rng::seed_from_u64((rows as u64) << 32 | round);
    let mut tokens = |count: usize| (0..count).map(|_| random.next_u32() % vocab).collect::<Vec<u32>>();
    if args.shared_prefix {
        let shared = tokens(args.prompt);
        let last = |row: usize| row as u32 % vocab;
        return (0..rows).map(|row| [&shared[..args.prompt - 1], &[last(row)]].concat()).collect();
    }
    let (shared, group) = (args.shared.unwrap_or(0), args.group.unwrap_or(rows).max(1));
    let mut common = Vec::new();
    (0..rows)
        .map(|row| {
            if row % group == 0 {
                common = tokens(shared);
            }
            [common.clone(), tokens(args.prompt - shared)].concat()
        })
        .collect()
}

/// Seconds until every prompt has generated `max_tokens` tokens; an end of turn does not stop it.
fn generate(engine: &Engine, prompts: &[Vec<u32>], max_tokens: usize) -> Result<f64> {
    let (events, inbox) = channel();
    let started = Instant::now();
    let request =
        |(tag, prompt): (usize, &Vec<u32>)| Request::of_length(tag, prompt.clone(), max_tokens, events.clone());
    engine.submit_all(prompts.iter().enumerate().map(request).collect())?;
    // The loop below ends when the last request has dropped its sender.
    drop(events);
    for (_, event) in &inbox {
        if let Event::Failed(error) = event {
            return Err(error);
        }
    }
    Ok(started.elapsed().as_secs_f64())
}

/// Returns once the tables of grammars are there: the engine computes them on a thread of its own, which would take a part
/// of the first measurement.
fn wait_for_grammars(engine: &Engine) {
    let (events, inbox) = channel();
    let letters = Grammar { name: "bench".into(), lark: "start: /[a-z]+/".into() };
    let request = Request { grammar: Some(letters), ..Request::of_length(0, vec![0], 1, events) };
    // A model that takes no grammar has no tables either.
    if engine.submit_all(vec![request]).is_ok() {
        inbox.iter().for_each(drop);
    }
}

/// The run with the median total time.
fn median(mut runs: Vec<Measured>) -> Measured {
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let middle = runs.len() / 2;
    runs.swap_remove(middle)
}
