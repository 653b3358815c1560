//! Limits of one rendering: printed text, work, time, and nested calls.

use minijinja::{Error, ErrorKind};
use std::cell::Cell;
use std::time::{Duration, Instant};

pub(super) type Result<T> = std::result::Result<T, Error>;

/// Instructions that one rendering may take. Rendering a hundred messages with the longest published templates takes
/// a hundredth of it.
pub(super) const FUEL: u64 = 2_000_000;
/// Bytes of one value's text, and of all that one rendering prints, into variables too.
pub(super) const MAX_TEXT: usize = 1 << 20;
/// Units of work of one rendering: a byte of text that is read or made is one, a value is [`VALUE`].
pub(super) const MAX_WORK: usize = 64 << 20;
/// The work of one value, of whatever size: as much time as that many bytes of text take.
pub(super) const VALUE: usize = 32;
/// Time of one rendering, for work that is not counted. Everything known to take time is counted, so that the same
/// template is refused on every machine.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Filters, tests and functions within each other: `map('map', 'map', 'upper')`.
const MAX_NESTED: usize = 8;

/// The resources that the rendering of this thread has used so far.
#[derive(Clone, Copy)]
struct Spent {
    printed: usize,
    work: usize,
    nested: usize,
    started: Option<Instant>,
}

const NOTHING: Spent = Spent { printed: 0, work: 0, nested: 0, started: None };

thread_local! {
    static SPENT: Cell<Spent> = const { Cell::new(NOTHING) };
}

/// Begins a rendering on this thread.
pub(super) fn start() {
    SPENT.set(Spent { started: Some(Instant::now()), ..NOTHING });
}

/// Units of work of the latest rendering on this thread.
#[cfg(test)]
pub(super) fn spent() -> usize {
    SPENT.get().work
}

/// Takes `units` of work.
pub(super) fn charge(units: usize) -> Result<()> {
    let mut spent = SPENT.get();
    spent.work = spent.work.saturating_add(units).saturating_add(1);
    SPENT.set(spent);
    fits(spent.work, MAX_WORK, "bytes of text read and made in one rendering")?;
    let late = spent.started.is_some_and(|started| started.elapsed() > MAX_TIME);
    if late { Err(exceeded(&format!("{} seconds in one rendering", MAX_TIME.as_secs()), "more")) } else { Ok(()) }
}

/// Prints `bytes`.
pub(super) fn print(bytes: usize) -> Result<()> {
    let mut spent = SPENT.get();
    spent.printed = spent.printed.saturating_add(bytes);
    SPENT.set(spent);
    fits(spent.printed, MAX_TEXT, "bytes printed")
}

/// Calls `inner`, a filter, test or function.
pub(super) fn nested<T>(inner: impl FnOnce() -> Result<T>) -> Result<T> {
    let spent = SPENT.get();
    fits(spent.nested + 1, MAX_NESTED, "filters within filters")?;
    SPENT.set(Spent { nested: spent.nested + 1, ..spent });
    let result = inner();
    SPENT.set(Spent { nested: spent.nested, ..SPENT.get() });
    result
}

/// Refuses more than `most`.
pub(super) fn fits(found: usize, most: usize, of: &str) -> Result<()> {
    if found <= most { Ok(()) } else { Err(exceeded(&format!("{most} {of}"), "more")) }
}

fn exceeded(most: &str, found: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("expected at most {most}, found {found}"))
}
