//! Converts retrieved passages to documents.

use crate::question::{Document, Hit, Origin};
use crate::retrieval::corpus::Kind;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Converts hits to documents, one for each document of the corpus: its passages become one text, in the order of the
/// document, because one source does not confirm or oppose itself. A document has the rank of its best passage,
/// whose position is its origin; positions of the others are its parts.
#[must_use]
pub fn merged_documents(hits: Vec<Hit>) -> Vec<Document> {
    let mut groups: Vec<Vec<Hit>> = Vec::new();
    for hit in hits {
        match groups.iter_mut().find(|group| same_document(&group[0].passage.origin, &hit.passage.origin)) {
            Some(group) => group.push(hit),
            None => groups.push(vec![hit]),
        }
    }
    named(groups.into_iter().map(merged).collect())
}

/// Whether two positions are in one document: a file, or a record of a file that holds several.
fn same_document(a: &Origin, b: &Origin) -> bool {
    let records = Kind::of(Path::new(&a.file)).is_some_and(Kind::holds_records);
    // A server's passages have no file of their own.
    let known = !a.file.is_empty();
    known && a.file == b.file && (!records || (a.line == b.line && a.id == b.id))
}

/// The passages of one document, best first, as one.
fn merged(mut group: Vec<Hit>) -> Document {
    let order = |origin: &Origin| (origin.page, origin.id.clone(), origin.line, origin.characters.start);
    let best = group[0].passage.origin.clone();
    group.sort_by_key(|hit| order(&hit.passage.origin));
    let mut documents = group.into_iter().map(document);
    let mut whole = documents.next().expect("a group has a hit (bug)");
    for next in documents {
        // The title that `document` put before its text.
        let repeated = next.title.as_ref().and_then(|title| next.text.strip_prefix(title.as_str())?.strip_prefix('\n'));
        let text = repeated.unwrap_or(&next.text);
        whole.text.push_str("\n[...]\n");
        whole.text.push_str(text);
        whole.copies.extend(next.copies);
        whole.parts.extend(next.origin);
    }
    if let Some(first) = whole.origin.replace(best.clone()).filter(|first| *first != best) {
        whole.parts.retain(|part| *part != best);
        whole.parts.insert(0, first);
    }
    whole
}

/// Converts hits to documents. The title goes before the text, because a passage alone often does not name its subject; a text
/// that begins with its title stays as it is.
/// Documents with equal names get their position appended.
#[must_use]
pub fn documents(hits: Vec<Hit>) -> Vec<Document> {
    named(hits.into_iter().map(document).collect())
}

/// Makes the names of documents different: those of different files that share one become their paths, and then the positions of
/// documents with equal names are appended.
fn named(mut documents: Vec<Document>) -> Vec<Document> {
    let mut files: HashMap<String, HashSet<String>> = HashMap::new();
    for document in &documents {
        let file = document.origin.as_ref().map(|origin| origin.file.clone());
        files.entry(document.name.clone()).or_default().extend(file);
    }
    for document in documents.iter_mut().filter(|document| files[&document.name].len() > 1) {
        if let Some(origin) = &document.origin {
            document.name.clone_from(&origin.file);
        }
    }
    let mut uses: HashMap<String, usize> = HashMap::new();
    for document in &documents {
        *uses.entry(document.name.clone()).or_default() += 1;
    }
    for document in &mut documents {
        if let Some(origin) = document.origin.as_ref().filter(|_| uses[&document.name] > 1) {
            let position = match (origin.line, origin.page) {
                (Some(line), _) => format!(":{line}"),
                (None, Some(page)) => format!(", page {page}"),
                (None, None) => format!(", from {}", origin.characters.start),
            };
            document.name.push_str(&position);
        }
    }
    documents
}

fn document(hit: Hit) -> Document {
    let Hit { passage, copies, .. } = hit;
    let file = Path::new(&passage.origin.file).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = passage.title.clone().or(file).unwrap_or_else(|| passage.origin.file.clone());
    Document {
        name,
        text: passage.text,
        title: passage.title,
        source: passage.source,
        date: passage.date,
        url: passage.url,
        notes: passage.notes,
        origin: Some(passage.origin),
        parts: Vec::new(),
        copies,
        label: None,
    }
    .titled('\n')
    .composed()
}
