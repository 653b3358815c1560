//! Superscripts and subscripts as plain text, one rule for every format.
//!
//! Plain text has one line level, so a run above or below the line needs a mark: without one "10" with a raised "6" reads 106,
//! and the year "1788" with the note mark "3" reads 17883. The rule, for a run behind `before`:
//!
//! | run | behind | written |
//! |---|---|---|
//! | raised number, or one with a sign | 10, 2, a unit, a variable, a group of them in brackets | exponent: `10^6`, `m^2`, `s^-1` |
//! | raised number | another number or word | note mark: a token of its own, `1788 [3]` |
//! | raised number or `*`, `†`, `[3]` | the end of a sentence or clause | nothing: it can only be a note mark |
//! | raised letters | anything | ordinal or abbreviation: `19th`, `Mme`; variable: `x^n`; note mark: `mill [a]` |
//! | raised digits before `/` | a number | fraction: `1 1/2` |
//! | two raised digits | an amount of a currency | its decimals: `$4.99` |
//! | lowered number | a letter or a bracket | attached: `H2O`, `CO2`, `(OH)2` |
//! | other lowered run | anything | `x_i`, `101_2` |
//!
//! A format that marks a reference to a note as one (a link to it, a class, an element) leaves the mark out and does not ask
//! here. A guess keeps the run as a token of its own, so that a wrong guess loses nothing.
//!
//! Superscripts that are characters of Unicode (`⁶`, `₂`) stay in a document's text as they are: positions in the file are
//! exact. A comparison of texts applies [`spelled`] before it folds compatibility characters (NFKC), which would make 106 of
//! `10⁶`; both spellings of an exponent are then equal.

use std::borrow::Cow;

/// Whether a run is above or below the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shift {
    Raised,
    Lowered,
}

/// Characters of a raised or lowered run at most; a longer one is text in another size.
const MAX_RUN: usize = 12;
/// Characters before a run that decide how it is written.
const CONTEXT: usize = 48;
/// Units of length, time and mass that take an exponent; one letter always does.
const UNITS: &[&str] =
    &["km", "hm", "dm", "cm", "mm", "nm", "pm", "ft", "in", "yd", "mi", "kg", "mg", "ms", "min", "ha"];
/// Raised letters that continue a number or an abbreviation: 19th, 1er, XIXe, Mme, no.
#[rustfmt::skip]
const ENDINGS: &[&str] = &[
    "st", "nd", "rd", "th", "e", "er", "re", "ère", "ème", "eme", "o", "a", "os", "as", "me", "mes", "lle", "lles", "r", "rs", "d", "t",
    "gr", "ste", "ts",
];
/// Signs of a reference to a note.
const NOTE_SIGNS: &[char] = &['*', '\u{2020}', '\u{2021}', '\u{a7}', '\u{b6}', '\u{2016}', '#'];

/// The text for `run` at `level`, after the text `before` of the same document and before the character `after`.
pub(crate) fn written(before: &str, run: &str, after: Option<char>, level: Shift) -> String {
    let run = run.trim();
    let before = tail(before);
    if run.is_empty() {
        return String::new();
    }
    if run.chars().count() > MAX_RUN {
        return spaced(before, run);
    }
    let written = match level {
        Shift::Raised => raised(before, run, after),
        Shift::Lowered => lowered(before, run),
    };
    if !written.ends_with(is_digit) || !after.is_some_and(is_digit) {
        return written;
    }
    // The digits behind it are another number.
    match (written.strip_prefix('^'), level) {
        (Some(exponent), _) => format!("^({exponent})"),
        (None, Shift::Lowered) => format!("_({})", written.trim_start_matches('_')),
        (None, Shift::Raised) => written,
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// `run` at `level` in a formula, whose base is known to take it.
pub(crate) fn script(run: &str, level: Shift) -> String {
    match level {
        Shift::Raised => exponent(run.trim()),
        Shift::Lowered => format!("_{}", run.trim()),
    }
}

/// `text` with superscripts and subscripts of Unicode written as [`written`] writes them: "10⁶" is "10^6", "H₂O" is "H2O".
#[allow(dead_code, reason = "comparisons of texts come to apply it")]
pub(crate) fn spelled(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| plain(c).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((word, length)) = spelled_run(&out, rest) {
            out.push_str(&word);
            rest = &rest[length..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    Cow::Owned(out)
}

/// The text for the run of superscripts or subscripts at the beginning of `text`, after `before`, and the run's length
/// in bytes; `None` if there is no such run.
pub(crate) fn spelled_run(before: &str, text: &str) -> Option<(String, usize)> {
    let (level, _) = plain(text.chars().next()?)?;
    let same = |c: &char| plain(*c).is_some_and(|(other, _)| other == level);
    let run: String = text.chars().take_while(same).filter_map(|c| plain(c).map(|(_, plain)| plain)).collect();
    let rest = text.trim_start_matches(|c| same(&c));
    Some((written(before, &run, rest.chars().next(), level), text.len() - rest.len()))
}

/// The level of a superscript or subscript of Unicode, and the character on the line.
fn plain(c: char) -> Option<(Shift, char)> {
    const RAISED: &str =
        "\u{2070}\u{b9}\u{b2}\u{b3}\u{2074}\u{2075}\u{2076}\u{2077}\u{2078}\u{2079}\u{207a}\u{207b}\u{2071}\u{207f}";
    const LOWERED: &str = "\u{2080}\u{2081}\u{2082}\u{2083}\u{2084}\u{2085}\u{2086}\u{2087}\u{2088}\u{2089}\u{208a}\u{208b}\u{1d62}\u{2099}";
    const ON_LINE: &str = "0123456789+-in";
    if !matches!(c, '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{1d62}' | '\u{2070}'..='\u{209c}') {
        return None;
    }
    let find = |set: &str| set.chars().position(|one| one == c).and_then(|at| ON_LINE.chars().nth(at));
    let raised = find(RAISED).map(|plain| (Shift::Raised, plain));
    raised.or_else(|| find(LOWERED).map(|plain| (Shift::Lowered, plain)))
}

fn raised(before: &str, run: &str, after: Option<char>) -> String {
    let bare = run.trim_matches(['[', ']', '(', ')']);
    let sign = match run {
        "TM" | "tm" => "\u{2122}",
        "SM" | "sm" => "\u{2120}",
        "(R)" | "R" if before.ends_with(char::is_alphabetic) => "\u{ae}",
        _ => "",
    };
    if !sign.is_empty() {
        return sign.to_owned();
    }
    let is_digits = !run.is_empty() && run.bytes().all(|b| b.is_ascii_digit());
    // "m³/s" is not a fraction.
    if is_digits && matches!(after, Some('/' | '\u{2044}')) && !before.ends_with(char::is_alphabetic) {
        return if before.ends_with(|c: char| c.is_ascii_digit()) { format!(" {run}") } else { run.to_owned() };
    }
    if is_digits && run.len() == 2 && is_amount(before) {
        return if before.ends_with(['.', ',']) { run.to_owned() } else { format!(".{run}") };
    }
    if is_note_list(bare) {
        return if is_digits { number(before, run, after) } else { note(before, bare) };
    }
    if bare.chars().all(char::is_alphabetic) {
        return letters(before, bare, run == bare);
    }
    match before.chars().next_back() {
        Some(c) if !c.is_whitespace() && takes_exponent(before) => exponent(run),
        Some(c) if c.is_alphanumeric() && has_sign(run) => exponent(run),
        Some(c) if c.is_whitespace() => run.to_owned(),
        None => run.to_owned(),
        // Signs that stand above the line anyway: degrees, ordinal indicators, the mark of a trade name.
        Some(_) if !run.contains(char::is_alphanumeric) => run.to_owned(),
        Some(_) => exponent(run),
    }
}

/// A raised number.
fn number(before: &str, run: &str, after: Option<char>) -> String {
    match before.chars().next_back() {
        Some(c) if !c.is_whitespace() && takes_exponent(before) => exponent(run),
        // The mass number of an isotope, else the number of a note in front of its text.
        Some(' ') if after.is_some_and(char::is_alphabetic) => run.to_owned(),
        _ => note(before, run),
    }
}

/// Raised letters.
fn letters(before: &str, run: &str, bare: bool) -> String {
    let base = base(before);
    let short = base.chars().count() == 1;
    let counts = base.chars().all(|c| c.is_ascii_digit() || c.is_uppercase());
    match () {
        () if base.is_empty() && before.trim_end().len() < before.len() => run.to_owned(),
        () if base.is_empty() && before.ends_with(')') && bare => exponent(run),
        () if base.is_empty() => note(before, run),
        // Behind a year no letter is an ordinal or an exponent.
        () if base.len() > 3 && base.chars().all(is_digit) && run.chars().count() == 1 => note(before, run),
        () if bare
            && ENDINGS.contains(&run.to_lowercase().as_str())
            && (short || counts || run.chars().count() > 1) =>
        {
            run.to_owned()
        }
        () if bare && (short || counts) => exponent(run),
        () if run.chars().count() == 1 => note(before, run),
        () => spaced(before, run),
    }
}

fn lowered(before: &str, run: &str) -> String {
    let number = run.chars().all(|c| c.is_ascii_digit());
    match before.chars().next_back() {
        None => run.to_owned(),
        Some(c) if c.is_whitespace() || matches!(c, '/' | '\u{2044}') => run.to_owned(),
        Some(c) if number && (c.is_alphabetic() || matches!(c, ')' | ']')) => run.to_owned(),
        Some(_) => format!("_{run}"),
    }
}

/// `^` and the run, in brackets where it is more than a number with a sign or a letter.
fn exponent(run: &str) -> String {
    let run: String = run.chars().map(|c| if matches!(c, '\u{2212}' | '\u{2013}') { '-' } else { c }).collect();
    let one = run.chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | ','))
        || run.chars().all(char::is_alphabetic)
        || run.starts_with('(');
    if one { format!("^{run}") } else { format!("^({run})") }
}

/// The mark of a note: nothing where nothing else can be raised, else a token of its own.
fn note(before: &str, run: &str) -> String {
    let closed = |c: char| {
        matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\u{201d}' | '\u{bb}' | '\u{2019}' | '\u{3002}')
    };
    let signs = run.chars().all(|c| NOTE_SIGNS.contains(&c));
    match before.chars().next_back() {
        Some(_) if signs => String::new(),
        None | Some('\n') => format!("[{run}] "),
        Some(c) if closed(c) => String::new(),
        Some(_) => spaced(before, &format!("[{run}]")),
    }
}

/// Whether the text ends with something that takes an exponent: 10, 2, a unit, a variable, a group without words.
fn takes_exponent(before: &str) -> bool {
    if let Some(open) = before.strip_suffix(')') {
        let inner = open.rfind('(').map_or(open, |at| &open[at + 1..]);
        return inner.split(|c: char| !c.is_alphabetic()).all(|word| word.chars().count() < 3);
    }
    let base = base(before);
    base == "10"
        || base == "2"
        || UNITS.contains(&base)
        || is_product(base)
        || (base.chars().count() == 1 && !base.starts_with(|c: char| c.is_ascii_digit()))
}

/// Two variables, as in "mc": small letters that are no word.
fn is_product(base: &str) -> bool {
    base.len() == 2 && base.bytes().all(|b| b.is_ascii_lowercase() && !b"aeiouy".contains(&b))
}

/// Whether the text ends with an amount: a sign of currency and a number.
fn is_amount(before: &str) -> bool {
    let number = before.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    number.len() < before.len() && number.trim_end_matches(' ').ends_with(['$', '\u{20ac}', '\u{a3}', '\u{a5}'])
}

/// A number, several ("1,2", "3-5") or signs: what references to notes are made of.
fn is_note_list(run: &str) -> bool {
    let separator = |c: char| matches!(c, ',' | ' ' | '\u{a0}' | '\u{2013}' | '-');
    let number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let signs = !run.is_empty() && run.chars().all(|c| NOTE_SIGNS.contains(&c));
    signs
        || (number(&run[..run.find(|c: char| !c.is_ascii_digit()).unwrap_or(run.len())])
            && run.ends_with(|c: char| c.is_ascii_digit())
            && run.split(separator).all(|part| part.is_empty() || number(part)))
}

fn has_sign(run: &str) -> bool {
    run.contains(['+', '-', '\u{2212}', '\u{2013}'])
}

/// The number or word that the text ends with; a number has its decimals.
fn base(before: &str) -> &str {
    let within = |c: char| c.is_alphanumeric() || matches!(c, '.' | ',');
    let base = if before.ends_with(|c: char| c.is_ascii_digit()) {
        before.trim_end_matches(within)
    } else {
        before.trim_end_matches(char::is_alphabetic)
    };
    before[base.len()..].trim_start_matches(['.', ','])
}

/// `run` as a token of its own.
fn spaced(before: &str, run: &str) -> String {
    let open = before.is_empty() || before.ends_with(|c: char| c.is_whitespace() || matches!(c, '(' | '['));
    if open { run.to_owned() } else { format!(" {run}") }
}

/// The last [`CONTEXT`] characters.
pub(crate) fn tail(text: &str) -> &str {
    text.char_indices().rev().nth(CONTEXT - 1).map_or(text, |(at, _)| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::{Shift, spelled, written};

    fn raised(before: &str, run: &str) -> String {
        format!("{before}{}", written(before, run, Some(' '), Shift::Raised))
    }

    #[test]
    fn exponents_keep_their_level() {
        for (before, run, expected) in [
            ("cost 10", "6", "cost 10^6"),
            ("1.5\u{d7}10", "\u{2212}6", "1.5\u{d7}10^-6"),
            ("2", "10", "2^10"),
            ("40 m", "2", "40 m^2"),
            ("9.8 m s", "\u{2212}2", "9.8 m s^-2"),
            ("12 km", "3", "12 km^3"),
            ("(a+b)", "2", "(a+b)^2"),
            ("x", "n", "x^n"),
            ("x", "n+1", "x^(n+1)"),
            ("Ca", "2+", "Ca^2+"),
            ("E = mc", "2", "E = mc^2"),
        ] {
            assert_eq!(raised(before, run), expected);
        }
    }

    #[test]
    fn marks_of_notes_are_tokens_of_their_own() {
        for (before, run, expected) in [
            ("built in 1788", "3", "built in 1788 [3]"),
            ("It had 12", "4", "It had 12 [4]"),
            ("It had 2.10", "4", "It had 2.10 [4]"),
            ("the mill", "1,2", "the mill [1,2]"),
            ("the mill", "[3]", "the mill [3]"),
            ("the mill", "a", "the mill [a]"),
            ("in 1788", "a", "in 1788 [a]"),
            ("cost me", "2", "cost me [2]"),
            ("(as it was said)", "3", "(as it was said) [3]"),
            ("It opened.", "3", "It opened."),
            ("in 1788,", "12", "in 1788,"),
            ("the mill", "\u{2020}", "the mill"),
            ("", "3", "[3] "),
        ] {
            assert_eq!(raised(before, run), expected);
        }
    }

    #[test]
    fn ordinals_abbreviations_amounts_and_fractions() {
        for (before, run, expected) in [
            ("the 19", "th", "the 19th"),
            ("XIX", "e", "XIXe"),
            ("M", "me", "Mme"),
            ("Acme", "TM", "Acme\u{2122}"),
            ("for $4", "99", "for $4.99"),
            ("for \u{20ac} 12,", "50", "for \u{20ac} 12,50"),
            ("20 ", "\u{b0}", "20 \u{b0}"),
            ("see", "a whole sentence above", "see a whole sentence above"),
        ] {
            assert_eq!(raised(before, run), expected);
        }
        let fraction = |before, run, after, level| format!("{before}{}", written(before, run, Some(after), level));
        assert_eq!(fraction("1", "1", '/', Shift::Raised), "1 1");
        assert_eq!(fraction("1 1/", "2", ' ', Shift::Lowered), "1 1/2");
        assert_eq!(fraction("the ", "14", 'C', Shift::Raised), "the 14");
        assert_eq!(fraction("10", "6", '1', Shift::Raised), "10^(6)");
        assert_eq!(fraction("40 m", "3", '/', Shift::Raised), "40 m^3");
        assert_eq!(fraction("log", "10", '5', Shift::Lowered), "log_(10)");
    }

    #[test]
    fn lowered_numbers_are_attached_to_letters() {
        let lowered = |before: &str, run| format!("{before}{}", written(before, run, None, Shift::Lowered));
        for (before, run, expected) in
            [("H", "2", "H2"), ("(OH)", "2", "(OH)2"), ("x", "i", "x_i"), ("101", "2", "101_2"), ("V", "max", "V_max")]
        {
            assert_eq!(lowered(before, run), expected);
        }
    }

    #[test]
    fn characters_of_unicode_are_spelled_the_same() {
        for (text, expected) in [
            ("10\u{2076} crowns, 10\u{207b}\u{b3} m\u{b2}", "10^6 crowns, 10^-3 m^2"),
            ("in 1788\u{b3} by", "in 1788 [3] by"),
            ("H\u{2082}O and 106", "H2O and 106"),
        ] {
            assert_eq!(spelled(text), expected);
        }
        assert!(matches!(spelled("10^6"), std::borrow::Cow::Borrowed(_)));
    }
}
