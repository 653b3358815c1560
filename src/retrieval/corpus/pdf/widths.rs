//! Number of widths that a font's dictionary lists.
//!
//! hayro stores one number for each letter of a range, and ranges may span all numbers there are.

use hayro_font::hayro_syntax::object::{Array, Dict, Number, Object};

/// Number of widths that hayro stores for the font of `dict`; `usize::MAX` if its ranges are impossible.
pub(super) fn listed(dict: &Dict<'_>) -> usize {
    let simple = dict.get::<Array<'_>>(b"Widths").map_or(0, |widths| {
        // Entries before the first letter are stored too.
        let first = dict.get::<Number>(b"FirstChar").map_or(0.0, |first| first.as_f64().max(0.0));
        first as usize + items(&widths)
    });
    let ranges = |key: &[u8], fields| dict.get::<Array<'_>>(key).map_or(0, |widths| in_ranges(&widths, fields));
    simple.saturating_add(ranges(b"W", 3)).saturating_add(ranges(b"W2", 5))
}

/// Widths of an array of `first [width ...]` and `first last width`, each with `fields` numbers (PDF 32000-1, section 9.7.4.3).
fn in_ranges(array: &Array<'_>, fields: usize) -> usize {
    let mut objects = array.iter::<Object<'_>>();
    let mut count = 0_usize;
    while let Some(Object::Number(first)) = objects.next() {
        match objects.next() {
            Some(Object::Array(widths)) => count = count.saturating_add(items(&widths)),
            Some(Object::Number(last)) => {
                let span = (last.as_f64() - first.as_f64() + 1.0).max(0.0);
                count = count.saturating_add(span as usize);
                if objects.by_ref().take(fields - 2).count() < fields - 2 {
                    break;
                }
            }
            _ => break,
        }
    }
    count
}

/// An upper bound on the items of an array: each takes two bytes.
fn items(array: &Array<'_>) -> usize {
    array.data().len() / 2 + 1
}
