//! Numbers with their points and signs, and words that punctuation alone holds together.

/// Stand for a decimal point and a sign while other punctuation is removed. In ASCII, so that a text in ASCII stays one.
pub(super) const POINT: char = '\u{1}';
pub(super) const MINUS: char = '\u{2}';

/// Signs between words, with or without spaces beside them.
const BETWEEN: &str = "[](){}<>|:;=_\"";

/// A text in plain characters with spaces between words that punctuation alone holds together, and with signs as [`MINUS`].
pub(super) fn apart(text: &str) -> String {
    let all: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() + 16);
    for (at, &c) in all.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| all[at]);
        let digit_after = all.get(at + 1).is_some_and(char::is_ascii_digit);
        match c {
            _ if BETWEEN.contains(c) => out.push(' '),
            '-' if digit_after && before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '^')) => out.push(MINUS),
            '.' | ',' | '!' | '?' if ends_a_word(&all[..at], &all[at + 1..]) => out.push(' '),
            _ => {
                if is_boundary(&all, at) {
                    out.push(' ');
                }
                out.push(c);
            }
        }
    }
    out
}

/// A point or a comma between a letter and a digit ("b.1931", "1884.The"), or before the capital letter of a next sentence
/// ("road.The"); not those of "U.S.", "Ph.D." and "1,000".
fn ends_a_word(before: &[char], after: &[char]) -> bool {
    let (Some(before), Some(first)) = (before.last(), after.first()) else { return false };
    before.is_ascii_digit() && first.is_alphabetic()
        || before.is_alphabetic() && first.is_ascii_digit()
        || before.is_lowercase() && first.is_uppercase() && after.get(1).is_some_and(|c| c.is_lowercase())
}

/// Between a number and a unit of several letters ("5km", "EUR3"), and between a number and a sign of money; not within
/// "1930s" and "21st".
fn is_boundary(all: &[char], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|at| all[at]) else { return false };
    let c = all[at];
    let money = |c: char| matches!(c, '€' | '$' | '£' | '¥');
    let letters = |run: &mut dyn Iterator<Item = &char>| run.take_while(|c| c.is_alphabetic()).collect::<String>();
    if before.is_ascii_digit() && c.is_alphabetic() {
        let unit = letters(&mut all[at..].iter()).to_lowercase();
        return unit.chars().count() > 1 && !["st", "nd", "rd", "th"].contains(&unit.as_str());
    }
    if before.is_alphabetic() && c.is_ascii_digit() {
        return letters(&mut all[..at].iter().rev()).chars().count() > 1;
    }
    before.is_ascii_digit() && money(c) || money(before) && c.is_ascii_digit()
}

/// The text with each number in one spelling: [`POINT`] for its decimal point, no thousands' separators. "7,20" is "7.2", "1,000" is
/// "1000", "14.6.1952" is one word. One group of three digits after a point or a comma counts as thousands.
pub(super) fn with_points(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(rest.len());
        let run = rest[..end].trim_end_matches(['.', ',']);
        out.push_str(&number(run));
        rest = &rest[run.len()..];
    }
    out + rest
}

/// A run of digits, points and commas in one spelling.
fn number(run: &str) -> String {
    let separators: Vec<char> = run.chars().filter(|c| !c.is_ascii_digit()).collect();
    let groups: Vec<&str> = run.split(['.', ',']).collect();
    let Some((&last, same)) = separators.split_last().map(|(last, before)| (last, before.iter().all(|c| c == last)))
    else {
        return run.to_owned();
    };
    let thousands = |groups: &[&str]| {
        groups.split_first().is_some_and(|(first, rest)| {
            (1..=3).contains(&first.len()) && !first.starts_with('0') && rest.iter().all(|group| group.len() == 3)
        })
    };
    let whole = &groups[..groups.len() - 1];
    if same && thousands(&groups) {
        return groups.concat();
    }
    let decimals = groups[groups.len() - 1].trim_end_matches('0');
    let point = if decimals.is_empty() { String::new() } else { POINT.to_string() };
    if separators.len() == 1 || !separators[..separators.len() - 1].contains(&last) && thousands(whole) {
        return format!("{}{point}{decimals}", whole.concat());
    }
    groups.join(&POINT.to_string())
}
