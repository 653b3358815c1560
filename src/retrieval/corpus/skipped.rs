//! What was skipped, in few lines.

use super::Skipped;
use std::path::Path;

/// Items of one kind and reason that are named.
const NAMED: usize = 3;
/// Lines in all, but for the last one.
const LINES: usize = 20;

/// One line an item; of more than three with one ending and one reason the others in one line: "47 more .png files: not .txt,
/// .md, ...". Some twenty lines at most.
#[must_use]
pub fn told_skipped(skipped: &[Skipped]) -> Vec<String> {
    let mut groups: Vec<(&Skipped, usize)> = Vec::new();
    let mut lines = Vec::new();
    for one in skipped {
        let same =
            |(first, _): &&mut (&Skipped, usize)| ending(&first.path) == ending(&one.path) && first.why == one.why;
        let count = match groups.iter_mut().find(same) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                groups.push((one, 1));
                1
            }
        };
        if count <= NAMED {
            lines.push(one.to_string());
        }
    }
    for (first, count) in groups.iter().filter(|(_, count)| *count > NAMED) {
        let more = count - NAMED;
        let files = if more == 1 { "file" } else { "files" };
        let kind = ending(&first.path).map_or_else(|| format!("{files} without ending"), |e| format!(".{e} {files}"));
        lines.push(format!("{more} more {kind}: {}", first.why));
    }
    if lines.len() > LINES + 1 {
        let more = lines.len() - LINES;
        lines.truncate(LINES);
        lines.push(format!("and {more} more lines as these"));
    }
    lines
}

fn ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().to_lowercase())
}
