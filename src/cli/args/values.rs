//! Parsers of numeric arguments; errors state what was expected.

use crate::workspace::{MAX_COUNT, MAX_SECONDS};
use std::str::FromStr;

/// A whole number from 1.
///
/// # Errors
/// The expected value.
pub(in crate::cli) fn count(typed: &str) -> Result<usize, String> {
    let number = typed.parse().ok().filter(|number| (1..=MAX_COUNT).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 1 to {MAX_COUNT}"))
}

/// A count that may also be 0.
///
/// # Errors
/// As [`count`].
pub(in crate::cli) fn count_or_none(typed: &str) -> Result<usize, String> {
    let number = typed.parse().ok().filter(|number| (0..=MAX_COUNT).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 0 to {MAX_COUNT}"))
}

/// Seconds: a whole number from 1 to one day.
///
/// # Errors
/// As [`count`].
pub(in crate::cli) fn seconds(typed: &str) -> Result<u64, String> {
    let number = typed.parse().ok().filter(|number| (1..=MAX_SECONDS).contains(number));
    number.ok_or_else(|| format!("expected whole seconds from 1 to {MAX_SECONDS}"))
}

/// A whole number from 0.
///
/// # Errors
/// As [`count`].
pub(in crate::cli) fn whole<T: FromStr>(typed: &str) -> Result<T, String> {
    typed.parse().map_err(|_| "expected a whole number of at least 0".to_owned())
}

/// A decimal number.
///
/// # Errors
/// As [`count`].
pub(in crate::cli) fn number<T: FromStr>(typed: &str) -> Result<T, String> {
    typed.parse().map_err(|_| "expected a number, as 0.7".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{count, number, whole};

    #[test]
    fn impossible_values_are_refused() {
        assert_eq!((count("1"), whole("0"), number::<f32>("0.5")), (Ok(1), Ok(0_u64), Ok(0.5)));
        for typed in ["", "0", "-1", "1.5", "x", "1e3", "99999999999999999999", "1000000001"] {
            assert!(count(typed).is_err(), "{typed}");
        }
        for typed in ["", "-1", "x", "99999999999999999999"] {
            assert!(whole::<u64>(typed).is_err(), "{typed}");
        }
        assert!(number::<f32>("warm").is_err());
    }
}
