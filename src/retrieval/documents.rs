//! Converts retrieved passages to documents.

use crate::question::{Document, Hit};
use std::collections::HashMap;
use std::path::Path;

/// Converts hits to documents. The title goes before the text, because a passage alone often does not name its subject.
/// Documents with equal names get their position appended.
#[must_use]
pub fn documents(hits: Vec<Hit>) -> Vec<Document> {
    let mut documents: Vec<Document> = hits.into_iter().map(document).collect();
    let mut uses: HashMap<String, usize> = HashMap::new();
    for document in &documents {
        *uses.entry(document.name.clone()).or_default() += 1;
    }
    for document in &mut documents {
        if let Some(origin) = document.origin.as_ref().filter(|_| uses[&document.name] > 1) {
            let place = match (origin.line, origin.page) {
                (Some(line), _) => format!(":{line}"),
                (None, Some(page)) => format!(", page {page}"),
                (None, None) => format!(", from {}", origin.characters.start),
            };
            document.name.push_str(&place);
        }
    }
    documents
}

fn document(hit: Hit) -> Document {
    let Hit { passage, copies, .. } = hit;
    let file = Path::new(&passage.origin.file).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = passage.title.clone().or(file).unwrap_or_else(|| passage.origin.file.clone());
    let text = match &passage.title {
        Some(title) if !passage.text.contains(title.as_str()) => format!("{title}\n{}", passage.text),
        _ => passage.text,
    };
    Document {
        name,
        text,
        title: passage.title,
        source: passage.source,
        date: passage.date,
        url: passage.url,
        origin: Some(passage.origin),
        copies,
        label: None,
    }
}
