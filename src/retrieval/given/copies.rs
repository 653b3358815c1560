//! Near-copies among documents given by hand.

use crate::question::{Document, Origin, Passage};
use crate::retrieval::fold;
use std::cmp::Reverse;

/// Folds documents that say the same in the same words into the longest of each group, as [`fold`] does with passages. Those
/// that are left keep their order, with the others as their copies; the notes name each copy.
///
/// Compares every document with every one kept: meant for some hundreds.
#[must_use]
pub fn folded(documents: Vec<Document>) -> (Vec<Document>, Vec<String>) {
    let mut order: Vec<usize> = (0..documents.len()).collect();
    // An excerpt of a document is a copy of it, and the document is not a copy of an excerpt.
    order.sort_by_key(|&index| Reverse(documents[index].text.len()));
    let texts: Vec<(&str, Option<&str>)> =
        order.iter().map(|&index| (documents[index].text.as_str(), documents[index].title.as_deref())).collect();
    let groups = fold::titled_groups(&texts);
    let mut original: Vec<usize> = (0..documents.len()).collect();
    for group in groups {
        group.iter().for_each(|&copy| original[order[copy]] = order[group[0]]);
    }
    let mut kept: Vec<Option<Document>> = documents.into_iter().map(Some).collect();
    let mut notes = Vec::new();
    for index in (0..kept.len()).filter(|&index| original[index] != index) {
        let Some(copy) = kept[index].take() else { continue };
        let Some(into) = &mut kept[original[index]] else { continue };
        notes.push(format!("{}: nearly the same as {}; the two count as one document", copy.name, into.name));
        let (passage, further) = passage(copy);
        into.copies.push(passage);
        into.copies.extend(further);
    }
    (kept.into_iter().flatten().collect(), notes)
}

/// A document as the copy of another one, and the copies that it has itself.
fn passage(copy: Document) -> (Passage, Vec<Passage>) {
    let Document { name, text, title, source, date, url, notes, copies, .. } = copy;
    let characters = 0..text.chars().count() as u64;
    let origin = Origin { file: name, id: None, line: None, page: None, characters };
    (Passage { text, title, source, date, url, notes, origin }, copies)
}
