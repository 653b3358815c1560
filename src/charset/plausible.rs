//! Whether bytes, or their text in a character set, look like written text.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Why bytes in `encoding` are binary: a zero byte, outside UTF-16.
pub(super) fn binary(bytes: &[u8], encoding: &'static Encoding) -> Option<String> {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        return None;
    }
    let at = bytes.iter().position(|&b| b == 0)?;
    Some(format!("a binary file (NUL byte at byte {at})"))
}

/// Whether control characters that no text has are more than one byte in 200.
pub(super) fn controls(bytes: &[u8]) -> bool {
    let control =
        |byte: &&u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1a | 0x1b);
    bytes.iter().filter(control).count() > bytes.len() / 200
}

/// UTF-16 without a byte-order mark: one character in 16 or more is ASCII, so that zero bytes are at even or at odd positions
/// alone, and all of it decodes to characters that texts have.
pub(super) fn utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    let zeros = |parity: usize| bytes.iter().skip(parity).step_by(2).filter(|&&b| b == 0).count();
    let least = (bytes.len() / 32).max(2);
    let encoding = match (zeros(0), zeros(1)) {
        _ if bytes.len() < 16 || !bytes.len().is_multiple_of(2) => return None,
        (first, 0) if first >= least => UTF_16BE,
        (0, second) if second >= least => UTF_16LE,
        _ => return None,
    };
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    let written = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{c}');
    let private = |c: char| matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}');
    let sound = text.chars().all(|c| written(c) && !private(c));
    (sound && is_written(&text)).then_some(encoding)
}

/// Whether `text` looks as people write: hardly any control characters and symbols, and capitals at the beginnings of words.
/// A single-byte set makes letters of any bytes, small ones and capitals mixed.
pub(super) fn is_written(text: &str) -> bool {
    let (mut all, mut odd, mut pairs, mut raised, mut before) = (0_usize, 0_usize, 0_usize, 0_usize, ' ');
    for c in text.chars() {
        all += 1;
        // No keyboard has the controls above ASCII; text of DOS read in another set is full of them.
        odd += usize::from(is_odd(c)) * if matches!(c, '\u{80}'..='\u{9f}') { 4 } else { 1 };
        if before.is_lowercase() && c.is_alphabetic() {
            pairs += 1;
            raised += usize::from(c.is_uppercase());
        }
        before = c;
    }
    odd <= 1 + all / 20 && raised <= 2 + pairs / 10
}

/// Characters that show that `text` is in another set: controls above ASCII, and capitals above ASCII within words.
pub(super) fn flaws(text: &str) -> usize {
    let mut before = ' ';
    let is_flaw = |c: char| {
        let is_raised = before.is_lowercase() && c.is_uppercase() && !c.is_ascii();
        before = c;
        is_raised || matches!(c, '\u{80}'..='\u{9f}')
    };
    text.chars().map(is_flaw).filter(|is| *is).count()
}

/// Whether `text` is in a language of Latin letters: mostly ASCII, and the rest are letters and typographic punctuation.
pub(super) fn is_western(text: &str) -> bool {
    let (mut all, mut letters, mut signs, mut odd, mut before) = (0_usize, 0_usize, 0_usize, 0_usize, ' ');
    for c in text.chars() {
        all += 1;
        odd += usize::from(before.is_lowercase() && c.is_uppercase() && !c.is_ascii());
        before = c;
        match c {
            _ if c.is_ascii() => {}
            '\u{2010}'..='\u{2044}'
            | '\u{a0}'
            | '\u{a3}'
            | '\u{a7}'
            | '\u{a9}'
            | '\u{ab}'
            | '\u{b0}'
            | '\u{bb}'
            | '\u{20ac}' => signs += 1,
            _ if c.is_alphabetic() => letters += 1,
            _ => odd += 1,
        }
    }
    letters > 0 && 4 * (letters + signs) <= all && 20 * odd <= letters
}

/// Whether each byte above ASCII is a sign by itself in windows-1252, as in "40 £": no word shows that it is a letter of another
/// set.
pub(super) fn are_signs(bytes: &[u8]) -> bool {
    let is_apart = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at)).is_none_or(|byte| byte.is_ascii() && !byte.is_ascii_alphabetic())
    };
    let is_sign = |byte: u8| {
        let (text, _) = WINDOWS_1252.decode_without_bom_handling(std::slice::from_ref(&byte));
        !text.contains(|c: char| c.is_alphabetic() || c.is_control())
    };
    let mut high = bytes.iter().enumerate().filter(|(_, byte)| !byte.is_ascii());
    high.all(|(at, byte)| is_apart(at.checked_sub(1)) && is_apart(Some(at + 1)) && is_sign(*byte))
}

/// Characters that are rare in every text: no letters, digits, white space or punctuation.
fn is_odd(c: char) -> bool {
    let common = c.is_alphanumeric()
        || c.is_whitespace()
        || c.is_ascii_punctuation()
        || matches!(c, '\u{a0}'..='\u{bf}' | '\u{300}'..='\u{36f}' | '\u{2010}'..='\u{2044}' | '\u{20a0}'..='\u{20cf}')
        || matches!(c, '\u{2100}'..='\u{214f}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}');
    // Combining signs of other scripts are no letters either.
    !common
        && (c.is_control()
            || c < '\u{900}'
            || matches!(c, '\u{2150}'..='\u{2fff}' | '\u{e000}'..='\u{f8ff}' | '\u{fffd}'))
}
