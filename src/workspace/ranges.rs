//! Ranges of numbers that options may have. The command line's parsers read the same limits.

use crate::error::{MootError, Result};
use std::ops::RangeInclusive;

/// Largest count; sums of a few of them cannot overflow.
pub(crate) const MAX_COUNT: usize = 1_000_000_000;
/// Longest time limit, in seconds: one day.
pub(crate) const MAX_SECONDS: u64 = 24 * 60 * 60;
/// Largest amount of memory, in bytes.
pub(crate) const MAX_BYTES: usize = 1_000_000_000_000_000;

/// Refuses a `number` outside of `range`; `option` is named as on the command line.
///
/// # Errors
/// [`MootError::Usage`].
pub(super) fn within(option: &str, number: u64, range: RangeInclusive<u64>) -> Result<()> {
    if range.contains(&number) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    Err(MootError::Usage(format!("{option} {number}: expected a whole number from {least} to {most}")))
}

/// Refuses a count of 0 and one above [`MAX_COUNT`].
///
/// # Errors
/// As [`within`].
pub(super) fn count(option: &str, number: usize) -> Result<()> {
    within(option, number as u64, 1..=MAX_COUNT as u64)
}

/// Refuses a count above [`MAX_COUNT`].
///
/// # Errors
/// As [`within`].
pub(super) fn count_or_none(option: &str, number: usize) -> Result<()> {
    within(option, number as u64, 0..=MAX_COUNT as u64)
}

/// Checks a share.
///
/// # Errors
/// [`MootError::Usage`] with the name of the option, for a number below 0 or above 1.
pub(crate) fn share(option: &str, share: f64) -> Result<()> {
    let expected = || MootError::Usage(format!("{option} {share}: expected a number from 0 to 1"));
    if (0.0..=1.0).contains(&share) { Ok(()) } else { Err(expected()) }
}
