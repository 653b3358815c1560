//! The loop: choose, mutate, call, judge.

use super::allocator;
use super::random::Random;
use super::targets::{TARGETS, Target};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long each target runs unless `MOOT_FUZZ_SECONDS` says otherwise: enough to find gross faults.
const SECONDS: u64 = 2;

/// Longest time of one input, a hundred times what the slowest takes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time after which an input is taken to hang that uses the processor: the process then ends itself, and the input is on disk.
const HANG: Duration = Duration::from_secs(60);
/// As many times that, an input is taken to hang in any case.
const WAITS: usize = 10;

/// Inputs kept beside the corpus because they gave a new outcome.
const KEPT: usize = 4096;

/// Inputs after which a new thread goes on: libraries keep caches by thread that grow with each input (the tokenizers' words,
/// a map for each vocabulary), and an input would be blamed for their growth.
const ONE_THREAD: usize = 1000;

/// Largest input.
const LONGEST: usize = 256 << 10;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: no number")))
}

/// The files that a target starts from: those of its own folder, where it has one, and those it names besides.
pub(crate) fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let own = listed(root.join("fuzz/corpus").join(target.name));
    let more = target.more.iter().map(|file| root.join(file));
    let mut files: Vec<PathBuf> = own.chain(more).collect();
    files.sort();
    files.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Fuzzes the target called `name`; panics with the input's path at the first fault.
pub(crate) fn target(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let seed = setting("MOOT_FUZZ_SEED", 1);
    let time = Duration::from_secs(setting("MOOT_FUZZ_SECONDS", SECONDS));
    let mut fuzz = Fuzz {
        target,
        pool: corpus(target),
        outcomes: BTreeSet::new(),
        accepted: 0,
        largest: (0, 0.0),
        slowest: Duration::ZERO,
    };
    for input in fuzz.pool.clone() {
        fuzz.call(&input);
    }
    let sound = fuzz.pool.len();
    let (started, mut iteration) = (Instant::now(), 0);
    let watch = Watch::start(target);
    let mut next = || {
        let mut random = Random::new(seed, iteration);
        // Half of the time from what is sound, so that damage does not only heap upon damage.
        let within = if random.below(2) == 0 { sound } else { fuzz.pool.len() };
        let mut input = fuzz.pool[random.below(within)].clone();
        for _ in 0..=random.below(5) {
            (target.mutate)(&mut input, &mut random);
        }
        input.truncate(LONGEST);
        watch.enter(iteration, &input);
        if fuzz.call(&input) && fuzz.pool.len() < KEPT {
            fuzz.pool.push(input);
        }
        iteration += 1;
    };
    while started.elapsed() < time {
        let mut some = || (0..ONE_THREAD).take_while(|_| started.elapsed() < time).for_each(|_| next());
        let ended = std::thread::scope(|scope| scope.spawn(&mut some).join());
        ended.unwrap_or_else(|fault| resume_unwind(fault));
    }
    let Fuzz { pool, outcomes, accepted, largest, slowest, .. } = fuzz;
    let (seconds, kept, kinds, (most, ratio)) = (time.as_secs(), pool.len(), outcomes.len(), largest);
    // Shown with --nocapture.
    #[allow(clippy::print_stderr)]
    {
        eprintln!(
            "{name}, seed {seed}, {seconds} s: {iteration} inputs, {accepted} accepted, {kinds} kinds of outcome,"
        );
        eprintln!("  {kept} in the pool; held at most {most} bytes, {ratio:.1} a byte of input; slowest {slowest:?}");
    }
    // Where nothing is accepted, only the first checks of a format are reached: its corpus may be out of date.
    assert!(accepted > 0, "{name}: none of {iteration} inputs is accepted");
}

struct Fuzz {
    target: &'static Target,
    pool: Vec<Vec<u8>>,
    /// Messages without their numbers and names, as a cheap measure of coverage.
    outcomes: BTreeSet<String>,
    accepted: u64,
    /// Bytes held at once, and in bytes a byte of input.
    largest: (usize, f64),
    slowest: Duration,
}

impl Fuzz {
    /// Calls the entry and judges it; true where the outcome is new.
    fn call(&mut self, input: &[u8]) -> bool {
        let started = Instant::now();
        let (outcome, peak) = allocator::peak(|| catch_unwind(AssertUnwindSafe(|| (self.target.entry)(input))));
        let took = started.elapsed();
        let Ok(outcome) = outcome else { self.fault(input, "panics") };
        // Others use the machine too: what took long is called again, and its processor time counts.
        if took > PATIENCE {
            let before = processor_time();
            drop((self.target.entry)(input));
            let used = processor_time().map_or(took, |now| now.saturating_sub(before.unwrap_or_default()));
            if used > PATIENCE {
                self.fault(input, &format!("takes {used:?}"));
            }
        }
        let bound = &self.target.bound;
        if peak > bound.fixed.saturating_add(bound.factor.saturating_mul(input.len())) {
            self.fault(input, &format!("holds {peak} bytes for an input of {}", input.len()));
        }
        let ratio = peak as f64 / input.len().max(1) as f64;
        self.largest =
            (self.largest.0.max(peak), if input.len() < 1000 { self.largest.1 } else { self.largest.1.max(ratio) });
        self.slowest = self.slowest.max(took);
        let message = match outcome {
            Ok(()) => {
                self.accepted += 1;
                "accepted".to_owned()
            }
            Err(error) => error.to_string(),
        };
        if message.len() > 2000 || message.contains('\n') {
            self.fault(input, &format!("says {} bytes, or more than a line: {message}", message.len()));
        }
        self.outcomes.insert(kind(&message))
    }

    fn fault(&self, input: &[u8], what: &str) -> ! {
        let path = save(self.target, "fault", input);
        panic!("{}: {} {what}", self.target.name, path.display());
    }
}

/// The processor time of this process so far, where the system tells it in `/proc`.
fn processor_time() -> Option<Duration> {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Fields 14 and 15, behind the name, which may hold anything: in user mode, and in the kernel.
    let fields = stat.rsplit(')').next()?.split(' ').skip(12).take(2);
    let ticks: Option<u32> = fields.map(|field| field.parse::<u32>().ok()).sum();
    Some(TICK * ticks?)
}

/// The kind of a message: its part after "expected", or all of it, without numbers. Found values and names come from
/// the input.
fn kind(message: &str) -> String {
    let expected = message.split_once("expected ").map(|(_, rest)| rest.split(", found").next().unwrap_or(rest));
    let words = expected.unwrap_or(message).split(' ');
    words
        .filter(|word| word.chars().all(|c| c.is_ascii_alphabetic() || "-:,;".contains(c)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Writes an input to where the build puts its files.
fn save(target: &Target, what: &str, input: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("moot-fuzz-{}-{what}-{}", target.name, std::process::id()));
    std::fs::write(&path, input).unwrap();
    path
}

/// A thread that ends the process when one input takes too long.
struct Watch {
    state: std::sync::Arc<(AtomicU64, std::sync::Mutex<Vec<u8>>)>,
}

impl Watch {
    fn start(target: &'static Target) -> Self {
        let state = std::sync::Arc::new((AtomicU64::new(0), std::sync::Mutex::new(Vec::new())));
        let weak = std::sync::Arc::downgrade(&state);
        std::thread::spawn(move || {
            let (mut last, mut waits, mut before) = (u64::MAX, 0, None);
            loop {
                std::thread::sleep(HANG);
                let Some(state) = weak.upgrade() else { return };
                let now = state.0.load(Ordering::Relaxed);
                if now != last {
                    (last, waits, before) = (now, 0, processor_time());
                    continue;
                }
                waits += 1;
                // Others use the machine too; an input that waits for a lock uses no processor time either.
                let used = processor_time().zip(before).map_or(HANG, |(now, before)| now.saturating_sub(before));
                if used > PATIENCE || waits > WAITS {
                    save(target, "hang", &state.1.lock().unwrap());
                    std::process::abort();
                }
            }
        });
        Self { state }
    }

    fn enter(&self, iteration: u64, input: &[u8]) {
        let mut held = self.state.1.lock().unwrap();
        held.clear();
        held.extend_from_slice(input);
        self.state.0.store(iteration, Ordering::Relaxed);
    }
}
