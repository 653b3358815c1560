//! Splits a text into sentences that may state something. Headings, rules and questions are left out.

use crate::retrieval::chunk::sentences::sentences;
use crate::retrieval::corpus::Marks;
use std::ops::Range;

/// A sentence, an item of a list or a row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) range: Range<usize>,
    /// The headings above, outermost first, joined by " > ", and the first row of its table.
    pub(super) heading: String,
}

/// Fewest words of a statement.
const LEAST: usize = 3;

/// Most words of a line without a full stop that counts as a heading of plain text.
const HEADING: usize = 8;

/// Names of fields at the beginning of a text, which state nothing.
const OF_THE_TEXT: &[&str] =
    &["author", "by", "cc", "date", "from", "last updated", "published", "source", "subject", "to", "updated"];

/// Participles of a line about the text itself: "This page was last edited on 2 August 2020."
const EDITED: &[&str] = &["changed", "edited", "modified", "reviewed", "revised", "updated"];

/// Most words of such a line.
const EDITED_WORDS: usize = 14;

/// Fewest words on each side of a semicolon that separates two statements.
const CLAUSE: usize = 4;

/// The statements of `text`, in order. `marks` are those of its format: rows and items state something without a full stop.
pub(super) fn cut(text: &str, marks: &Marks) -> Vec<Cut> {
    let mut headings: Vec<(usize, String)> = Vec::new();
    let mut table: Option<(usize, String)> = None;
    let mut found = Vec::new();
    let ranges = sentences(text).into_iter().flat_map(|range| lines_of_tables(text, range));
    for range in ranges.flat_map(|range| marks.items_within(text, range)) {
        let own = text[range.clone()].trim();
        // Before headings: a row or an item of markup has no full stop and would be taken for one.
        if marks.is_item(text, range.start) {
            if !marks.is_head(range.start) && states(own) && !own.ends_with('?') {
                let above = [path(&headings), marks.above(text, range.start).unwrap_or_default().to_owned()];
                let heading = above.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ");
                found.push(Cut { range, heading });
            }
            table = None;
            continue;
        }
        if let Some((level, title)) = heading(text, &range) {
            headings.retain(|(above, _)| *above < level);
            headings.push((level, title));
            table = None;
            continue;
        }
        if is_row(own) {
            // `|---|---|` states nothing and ends no table.
            if is_rule(own) {
                continue;
            }
            let begins = table.as_ref().is_none_or(|(end, _)| !is_gap(&text[*end..range.start]));
            let first = if begins { own.to_owned() } else { table.take().map(|(_, first)| first).unwrap_or_default() };
            table = Some((range.end, first.clone()));
            // The first row names the columns and states nothing.
            if !begins {
                let above = path(&headings);
                let heading = if above.is_empty() { first } else { format!("{above} > {first}") };
                found.push(Cut { range, heading });
            }
            continue;
        }
        table = None;
        if own.ends_with('?') || is_rule(own) || !is_sentence(own) || is_of_the_text(own) {
            continue;
        }
        let heading = path(&headings);
        let clauses = clauses(text, without_emphasis(text, range)).into_iter();
        found.extend(
            clauses.filter(|range| states(&text[range.clone()])).map(|range| Cut { range, heading: heading.clone() }),
        );
    }
    found
}

/// Whether `own` is punctuated as a sentence, is an item of a list, or gives a value ("Height: 31 m"). Titles, salutations and
/// lines with the text's author or date are not.
fn is_sentence(own: &str) -> bool {
    let marker = own.split_whitespace().next().unwrap_or_default();
    let numbered = marker.trim_end_matches(['.', ')']);
    let is_number =
        numbered.len() < marker.len() && !numbered.is_empty() && numbered.chars().all(|c| c.is_ascii_digit());
    let is_item = matches!(marker, "-" | "*" | "+" | ">" | "\u{2022}") || is_number;
    let words = own.trim_end_matches(['*', '_', '`', '"', '\'', ')', '\u{201d}', '\u{2019}', '\u{bb}']);
    let open = words.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ',' | ':'));
    let names_a_value = own.split_once(": ").is_some_and(|(name, _)| !OF_THE_TEXT.contains(&&*name.to_lowercase()));
    !open || is_item || names_a_value
}

/// Whether `own` says when the text was last changed.
fn is_of_the_text(own: &str) -> bool {
    let lower = own.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.len() <= EDITED_WORDS && words.windows(2).any(|pair| pair[0] == "last" && EDITED.contains(&pair[1]))
}

/// Whether `text` has nothing but a table's rule.
fn is_gap(text: &str) -> bool {
    text.chars().all(|c| matches!(c, '|' | '-' | ':' | '+' | '=') || c.is_whitespace())
}

fn path(headings: &[(usize, String)]) -> String {
    headings.iter().map(|(_, title)| title.as_str()).collect::<Vec<_>>().join(" > ")
}

/// The rows of a run of table rows; any other range unchanged.
fn lines_of_tables(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let own = &text[range.clone()];
    // Sentences do not end at single line ends, so several rows may be one range.
    if !own.contains('\n') || !own.lines().all(|line| is_row(line.trim())) {
        return vec![range];
    }
    let mut rows = Vec::new();
    let mut at = range.start;
    for line in own.split_inclusive('\n') {
        let end = at + line.trim_end().len();
        if end > at {
            rows.push(at..end);
        }
        at += line.len();
    }
    rows
}

fn is_row(line: &str) -> bool {
    line.starts_with('|') && line.len() > 1
}

/// A line of dashes or of another mark.
fn is_rule(line: &str) -> bool {
    !line.chars().any(char::is_alphanumeric)
}

/// The level and the title of a heading: `# Title`, or in plain text a short separate line without a full stop.
fn heading(text: &str, range: &Range<usize>) -> Option<(usize, String)> {
    let own = text[range.clone()].trim();
    let marks = own.len() - own.trim_start_matches('#').len();
    if (1..=6).contains(&marks) && own[marks..].starts_with(' ') {
        return Some((marks, own[marks..].trim().to_owned()));
    }
    let alone = |gap: &str| gap.matches('\n').count() > 1;
    let after = &text[range.end..];
    let gap = &after[..after.len() - after.trim_start().len()];
    let before = text[..range.start].trim_end();
    let first = before.is_empty() || alone(&text[before.len()..range.start]);
    let marked = own.starts_with(['-', '*', '|', '>', '\u{2022}']) || own.starts_with(|c: char| c.is_ascii_digit());
    let short = own.split_whitespace().count() <= HEADING && !own.contains('\n') && !own.contains(": ");
    let open = !own.ends_with(['.', '!', '?', ';', ',']);
    let capital = own.starts_with(|c: char| c.is_uppercase());
    // Level 7: a plain line is below the six levels of `#`, and replaces only another plain line.
    (first && alone(gap) && short && open && !marked && capital).then(|| (7, own.trim_end_matches(':').to_owned()))
}

/// Removes a closing mark of emphasis from the beginning: of `**When?** At noon.` the second sentence is `** At noon.`
fn without_emphasis(text: &str, range: Range<usize>) -> Range<usize> {
    let own = &text[range.clone()];
    let bare = ["**", "__"].into_iter().find_map(|mark| own.strip_prefix(mark)).filter(|rest| rest.starts_with(' '));
    match bare {
        Some(rest) => range.end - rest.trim_start().len()..range.end,
        None => range,
    }
}

/// The statements that semicolons separate.
fn clauses(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let own = &text[range.clone()];
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in own.match_indices("; ") {
        let long = |part: &str| part.split_whitespace().count() >= CLAUSE;
        if long(&own[start..at]) && long(&own[at + 2..]) {
            parts.push(range.start + start..range.start + at);
            start = at + 2;
        }
    }
    parts.push(range.start + start..range.end);
    parts
}

/// Whether a text has enough words, of letters.
fn states(text: &str) -> bool {
    let has_letter = text.chars().any(char::is_alphabetic);
    has_letter && text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count() >= LEAST
}

#[cfg(test)]
mod tests {
    use super::{Marks, cut};

    fn cuts(text: &str) -> Vec<(String, String)> {
        cut(text, &Marks::default()).into_iter().map(|cut| (cut.heading, text[cut.range].to_owned())).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn sentences_stand_below_their_headings() {
        let text = "# The mill\n\nIt was built in 1790. It burnt down in 1811; a second one was built there.\n\n## Rooms\n\n\
                    - The hall seats 80 people.\nHow many?\n";
        let expected = [
            ("The mill", "It was built in 1790."),
            ("The mill", "It burnt down in 1811"),
            ("The mill", "a second one was built there."),
            ("The mill > Rooms", "- The hall seats 80 people."),
        ];
        assert_eq!(cuts(text), pairs(&expected));
    }

    #[test]
    fn rows_of_a_table_have_its_first_row_as_heading() {
        let text = "| room | seats |\n|---|---|\n| hall | 80 people |\n| attic | 12 people |\n";
        let expected = [("| room | seats |", "| hall | 80 people |"), ("| room | seats |", "| attic | 12 people |")];
        assert_eq!(cuts(text), pairs(&expected));
    }

    #[test]
    fn titles_salutations_and_lines_about_the_text_state_nothing() {
        let text = "PRESS RELEASE Wildlife Trust, 22 July 2019\n\nLast updated: 11 January 2024\n\nThis page was last edited on \
                    2 August 2020.\n\n*An essay by Ada Brook*\n\n\
                    Dear Dr Brook,\n\nOpened: 1790 by Ada Brook\n\n- 80 seats in the hall\n\n2. 12 seats in the attic\n\n**Did it burn?** It burnt **down in 1811.**\n";
        let expected = [
            ("", "Opened: 1790 by Ada Brook"),
            ("", "- 80 seats in the hall"),
            ("", "2. 12 seats in the attic"),
            ("", "It burnt **down in 1811."),
        ];
        let found: Vec<(String, String)> = cuts(text).into_iter().map(|(_, own)| (String::new(), own)).collect();
        assert_eq!(found, pairs(&expected));
    }

    #[test]
    fn a_short_line_by_itself_is_a_heading_of_plain_text() {
        let text = "The mill\n\nIt was built in 1790.\n\nOpening hours:\n\nIt opens at 9 every day.\n";
        let expected = [("The mill", "It was built in 1790."), ("Opening hours", "It opens at 9 every day.")];
        assert_eq!(cuts(text), pairs(&expected));
    }
}
