//! The table of a `Precompiled` normaliser, checked.

use super::files::wrong;
use crate::error::Result;
use serde_json::Value;
use std::path::Path;

/// Bytes of a replacement of one character at most; Unicode's longest has 33.
const LONGEST_REPLACEMENT: usize = 64;

/// Refuses a `Precompiled` normaliser whose table could lead outside itself: the crate follows it unchecked.
///
/// The table is a double array of 32-bit units (Darts-clone) and the replacements it points into, each closed by a zero.
///
/// # Errors
/// [`crate::ModelError::Field`].
pub(super) fn check_charsmap(path: &Path, step: &Value) -> Result<()> {
    let unsound = |found: &str| Err(wrong(path, "normalizer.precompiled_charsmap", "a sound table in base64", found));
    let Some(bytes) = step["precompiled_charsmap"].as_str().and_then(base64) else { return unsound("no base64") };
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return unsound("less than four bytes") };
    let length = u32::from_le_bytes(*length) as usize;
    let Some((table, texts)) = rest.split_at_checked(length / 4 * 4) else { return unsound("a table cut short") };
    let Ok(texts) = std::str::from_utf8(texts) else { return unsound("replacements that are no UTF-8") };
    if texts.split('\0').any(|text| text.len() > LONGEST_REPLACEMENT) {
        return unsound(&format!("a replacement of more than {LONGEST_REPLACEMENT} bytes"));
    }
    let table: Vec<u32> = table.as_chunks::<4>().0.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
    if within_itself(&table, texts) { Ok(()) } else { unsound("a table that leads outside itself") }
}

/// Whether every walk through `table` stays within it, and ends at the beginning of a text of `texts`.
fn within_itself(table: &[u32], texts: &str) -> bool {
    let offset = |unit: u32| ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize;
    // Any byte may follow a unit: it leads to one of the 255 other units of the same block of 256.
    let roomy = |index: usize| (index | 255) < table.len();
    let Some(&root) = table.first() else { return false };
    let mut seen = vec![false; table.len()];
    let mut units = vec![offset(root)];
    while let Some(index) = units.pop() {
        if !roomy(index) {
            return false;
        }
        if std::mem::replace(&mut seen[index], true) {
            continue;
        }
        for byte in 1..=255 {
            let (at, unit) = (index ^ byte, table[index ^ byte]);
            if unit & (1 << 31 | 0xff) != byte as u32 {
                continue;
            }
            let next = at ^ offset(unit);
            if unit >> 8 & 1 == 1 {
                let Some(leaf) = table.get(next) else { return false };
                if !texts.is_char_boundary((leaf & !(1 << 31)) as usize) {
                    return false;
                }
            }
            units.push(next);
        }
    }
    true
}

/// Standard base64, padded or not; `None` for anything else.
fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').bytes().map(|byte| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    });
    let digits: Vec<u8> = digits.collect::<Option<_>>()?;
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for four in digits.chunks(4) {
        let bits = four.iter().fold(0_u32, |bits, &digit| bits << 6 | u32::from(digit)) << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        assert_eq!(base64("aGVsbG8=").as_deref(), Some(&b"hello"[..]));
        assert_eq!(base64("aGVsbA").as_deref(), Some(&b"hell"[..]));
        assert_eq!(base64(""), Some(vec![]));
        assert_eq!(base64("a b"), None);
    }

    /// A table in which `a` leads to the text at `leaf`.
    fn table(leaf: u32, size: usize) -> Vec<u32> {
        let mut table = vec![1 << 31; size];
        table[0] = 256 << 10;
        let at = 256 ^ usize::from(b'a');
        table[at] = u32::from(b'a') | 1 << 8 | (at as u32 ^ 512) << 10;
        table[512] = leaf | 1 << 31;
        table
    }

    #[test]
    fn a_table_that_leads_outside_is_refused() {
        assert!(within_itself(&table(0, 768), "é\0"));
        assert!(!within_itself(&table(1, 768), "é\0"), "inside a character");
        assert!(!within_itself(&table(9, 768), "é\0"), "beyond the texts");
        assert!(!within_itself(&table(0, 600), "é\0"), "a block cut short");
        assert!(!within_itself(&[], ""));
    }
}
