//! Relations between the parts of an Office document (Open Packaging Conventions).

use super::xml::{self, Tag, Visit};
use super::{Fault, Package};
use std::collections::HashMap;

/// The parts that `part` is related to: by id the kind (the last word of its address) and the name of the part.
///
/// # Errors
/// A list of relations that is broken or exceeds a limit.
pub(in crate::retrieval::corpus) fn of(
    package: &mut Package,
    part: &str,
) -> Result<HashMap<String, (String, String)>, Fault> {
    struct Relations<'p> {
        folder: &'p str,
        found: HashMap<String, (String, String)>,
    }
    impl Visit for Relations<'_> {
        fn start(&mut self, tag: &Tag<'_>) {
            let external = tag.value("TargetMode").is_some_and(|mode| mode == "External");
            if tag.name() != "Relationship" || external {
                return;
            }
            if let (Some(id), Some(kind), Some(target)) = (tag.value("Id"), tag.value("Type"), tag.value("Target")) {
                let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
                self.found.insert(id, (kind, resolved(self.folder, &target)));
            }
        }
        fn end(&mut self, _: &str) {}
        fn letters(&mut self, _: &str) {}
    }
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    let list = format!("{folder}/_rels/{name}.rels");
    let mut relations = Relations { folder, found: HashMap::new() };
    if let Some(markup) = package.part(list.trim_start_matches('/'))? {
        xml::read(&list, &markup, &mut relations)?;
    }
    Ok(relations.found)
}

/// The name of the part at `target`, relative to `folder`.
fn resolved(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = if target.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::resolved;

    #[test]
    fn targets_are_relative_to_the_part() {
        assert_eq!(resolved("ppt/slides", "../notesSlides/notesSlide1.xml"), "ppt/notesSlides/notesSlide1.xml");
        assert_eq!(resolved("xl", "worksheets/sheet1.xml"), "xl/worksheets/sheet1.xml");
        assert_eq!(resolved("xl", "/xl/worksheets/sheet1.xml"), "xl/worksheets/sheet1.xml");
        assert_eq!(resolved("", "../../a.xml"), "a.xml");
    }
}
