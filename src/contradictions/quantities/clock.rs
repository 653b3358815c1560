//! Reads times of day.

/// Minutes of a day.
const DAY: f64 = 24.0 * 60.0;

/// A time of day in minutes, and how many words it takes: "17:30", "9.30 am", "9 p.m.", "noon". Midnight is 0, also as "24:00".
pub(super) fn clock(words: &[String], at: usize) -> Option<(f64, usize)> {
    let word = words[at].as_str();
    match word {
        "noon" | "midday" => return Some((DAY / 2.0, 1)),
        "midnight" => return Some((0.0, 1)),
        _ => {}
    }
    let (half, body, used) = match (half(word), words.get(at + 1).and_then(|next| half(next))) {
        (Some((half, body)), _) => (Some(half), body, 1),
        (None, Some((half, ""))) => (Some(half), word, 2),
        (None, _) => (None, word, 1),
    };
    let parts: Vec<&str> = body.split([':', '.']).collect();
    let small = |part: &&str| !part.is_empty() && part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit());
    // Without am or pm only a colon makes a time of two numbers: 9.30 may be an amount.
    if !parts.iter().all(small) || parts.len() > 2 || (half.is_none() && (parts.len() != 2 || !body.contains(':'))) {
        return None;
    }
    let hours: f64 = parts[0].parse().ok()?;
    let minutes: f64 = parts.get(1).map_or(Ok(0.0), |part| part.parse()).ok()?;
    // 12 am is midnight, 12 pm is noon.
    let hours = half.map_or(hours, |half| hours % 12.0 + half);
    (hours <= 24.0 && minutes < 60.0).then_some(((hours * 60.0 + minutes) % DAY, used))
}

/// Splits an am/pm suffix off a word: "9.30am" gives (0, "9.30"), "5pm" gives (12, "5").
fn half(word: &str) -> Option<(f64, &str)> {
    let body = |endings: [&str; 2]| endings.into_iter().find_map(|ending| word.strip_suffix(ending));
    if let Some(body) = body(["am", "a.m"]) { Some((0.0, body)) } else { body(["pm", "p.m"]).map(|body| (12.0, body)) }
}
