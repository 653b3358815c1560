//! Headings: short paragraphs that name what follows. A passage does not end with one.

use super::sentences;
use super::words::words;
use std::ops::Range;

/// Words of a heading at most.
const MAX_WORDS: usize = 12;
/// Headings in a row that stay together with the text below them.
const MAX_CHAIN: usize = 3;

/// The sentences of `text`, each with the headings above it.
pub(super) fn sentences_with_headings(text: &str) -> Vec<Range<usize>> {
    let sentences = sentences::sentences(text);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(sentences.len());
    let mut chain: Option<(usize, usize)> = None;
    for (at, range) in sentences.iter().enumerate() {
        let before = at.checked_sub(1).map_or(0, |at| sentences[at].end);
        let after = sentences.get(at + 1).map(|next| next.start);
        let heading = after.is_some_and(|after| is_heading(text, before, range, after));
        let (start, length) = chain.unwrap_or((range.start, 0));
        if heading && length < MAX_CHAIN {
            chain = Some((start, length + 1));
        } else {
            joined.push(start..range.end);
            chain = None;
        }
    }
    joined
}

/// Whether the sentence `range` is a heading of the one that begins at byte `after`: a line that markdown marks, or a short
/// line between blank ones that does not end as a sentence does.
fn is_heading(text: &str, before: usize, range: &Range<usize>, after: usize) -> bool {
    let line = &text[range.clone()];
    let marks = line.len() - line.trim_start_matches('#').len();
    if (1..=6).contains(&marks) && line[marks..].starts_with(' ') && !line.contains('\n') {
        return true;
    }
    let blank = |gap: &str| gap.matches('\n').count() >= 2;
    let alone = (before == 0 || blank(&text[before..range.start])) && blank(&text[range.end..after]);
    let open = !line.ends_with(['.', '!', '?', ';', ',', '\u{2026}', '\u{3002}', '\u{ff01}', '\u{ff1f}', '|']);
    let marked = ["- ", "* ", "+ ", "\u{2022}", ">", "|", "```"].iter().any(|mark| line.starts_with(mark));
    alone
        && open
        && !marked
        && !line.contains('\n')
        && line.chars().any(char::is_alphabetic)
        && words(line).nth(MAX_WORDS).is_none()
}

#[cfg(test)]
mod tests {
    use super::sentences_with_headings;

    fn split(text: &str) -> Vec<&str> {
        sentences_with_headings(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn headings_stay_with_the_text_that_follows() {
        assert_eq!(split("# The bridge\nIt opened. It closed."), ["# The bridge\nIt opened.", "It closed."]);
        assert_eq!(split("It opened.\n\nRepairs\n\nIt closed."), ["It opened.", "Repairs\n\nIt closed."]);
        assert_eq!(split("# A\n\n## B\n\nIt opened."), ["# A\n\n## B\n\nIt opened."]);
    }

    #[test]
    fn other_short_lines_are_separate() {
        assert_eq!(split("It opened.\n\nIt closed.\n\nIt fell."), ["It opened.", "It closed.", "It fell."]);
        assert_eq!(split("It opened.\n\n- one\n\nIt closed."), ["It opened.", "- one", "It closed."]);
        // The last line has nothing below it; in a list of lines three stay together.
        assert_eq!(split("It opened.\n\nRepairs"), ["It opened.", "Repairs"]);
        assert_eq!(split("a\n\nb\n\nc\n\nd\n\ne"), ["a\n\nb\n\nc\n\nd", "e"]);
        let long = "one two three four five six seven eight nine ten eleven twelve thirteen";
        assert_eq!(split(&format!("{long}\n\nIt closed.")), [long, "It closed."]);
    }
}
