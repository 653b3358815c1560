//! Numbers as text (leaf module).

use std::fmt::{Display, Write};

/// `bytes` with a unit: "491 MB", "4.7 GB".
#[must_use]
pub fn readable(bytes: u64) -> String {
    let (number, unit) = match bytes {
        0..1_000 => return format!("{bytes} B"),
        1_000..1_000_000 => (bytes as f64 / 1e3, "kB"),
        1_000_000..1_000_000_000 => (bytes as f64 / 1e6, "MB"),
        _ => (bytes as f64 / 1e9, "GB"),
    };
    // With one decimal, 9.95 and more would be written `10.0`.
    if number < 9.95 { format!("{number:.1} {unit}") } else { format!("{number:.0} {unit}") }
}

/// A number of weights in short form: "135 M", "7.6 B".
#[must_use]
pub(crate) fn compact(weights: u64) -> String {
    match weights as f64 {
        few if few < 1e6 => format!("{:.0} k", few / 1e3),
        some if some < 1e9 => format!("{:.0} M", some / 1e6),
        many => format!("{:.1} B", many / 1e9),
    }
}

/// `bytes` in lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all that is written (bug)");
        text
    })
}

/// Whether a number is zero, which a record leaves out.
#[must_use]
pub(crate) fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

/// `count` with its noun: "1 record", "2 records".
#[must_use]
pub(crate) fn plural<N: Copy + Display + PartialEq + From<u8>>(count: N, one: &str, several: &str) -> String {
    format!("{count} {}", if count == N::from(1) { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::{plural, readable};

    #[test]
    fn nouns_have_their_number() {
        let told = [0_usize, 1, 2].map(|count| plural(count, "reply", "replies"));
        assert_eq!(told, ["0 replies", "1 reply", "2 replies"]);
    }

    #[test]
    fn bytes_are_readable() {
        let cases = [
            (0, "0 B"),
            (1_500, "1.5 kB"),
            (491_400_064, "491 MB"),
            (4_680_000_000, "4.7 GB"),
            (47 * 1_000_000_000, "47 GB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(readable(bytes), text);
        }
    }
}
