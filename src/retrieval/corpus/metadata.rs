//! Metadata of documents of any kind: bounded, because each passage has its own copy, and without placeholders.

use super::document::Fields;
use super::flow::{MAX_TITLE, words_within};
use crate::question::Document;

/// Bytes of a date.
const MAX_DATE: usize = 100;
/// Bytes of an address; a part of one leads nowhere.
const MAX_URL: usize = 2000;

/// Placeholder titles written by authoring programs, without the number behind them.
#[rustfmt::skip]
const PLACEHOLDERS: &[&str] = &[
    "anonymous", "blank page", "book", "classeur", "default", "default title", "diapositive", "document", "document title",
    "documento", "documento sin título", "dokument", "enter title here", "foglio", "folie", "insert title here", "mappe", "namenlos",
    "neue seite", "neues dokument", "new document", "new page", "new text document", "no name", "no title", "none", "null",
    "page title", "powerpoint presentation", "powerpoint-präsentation", "presentation", "presentación de powerpoint",
    "présentation powerpoint", "sans nom", "sans titre", "senza titolo", "sheet", "sin título", "slide", "slide title", "tabelle",
    "title", "title here", "undefined", "unbenannt", "unbenanntes dokument", "unknown", "unnamed", "untitled", "untitled document",
    "untitled page", "untitled presentation", "untitled spreadsheet", "your title here", "без имени", "без названия", "документ",
    "новый документ", "无标题", "未命名", "新建文档", "無題", "無題ドキュメント", "제목 없음", "文档", "文書",
];

/// Endings of files that authoring programs put into titles.
#[rustfmt::skip]
const ENDINGS: &[&str] = &[
    ".doc", ".docx", ".dot", ".dotx", ".dvi", ".fm", ".htm", ".html", ".indd", ".key", ".md", ".odp", ".ods", ".odt", ".p65", ".pages",
    ".pdf", ".pmd", ".ppt", ".pptx", ".ps", ".pub", ".qxd", ".rtf", ".tex", ".tmp", ".txt", ".wpd", ".xls", ".xlsx",
];

impl Fields {
    /// Bounds every field, whole words kept, and drops a title that is a placeholder.
    pub(in crate::retrieval) fn bounded(self) -> Self {
        let within = |value: Option<String>, most| {
            value.map(|value| words_within(&value, most)).filter(|value| !value.is_empty())
        };
        Self {
            title: within(self.title, MAX_TITLE).filter(|title| !is_placeholder(title)),
            source: within(self.source, MAX_TITLE),
            date: within(self.date, MAX_DATE),
            url: self.url.filter(|url| url.len() <= MAX_URL),
            id: within(self.id, MAX_TITLE),
        }
    }
}

/// `document` of a line of a dataset, with its name and its metadata bounded as those of a corpus are. A placeholder stays: it
/// is what the dataset calls the document.
pub(crate) fn bounded(document: Document) -> Document {
    let within = |value: String, most| if value.len() < most { value } else { words_within(&value, most) };
    Document {
        name: within(document.name, MAX_TITLE),
        title: document.title.map(|title| within(title, MAX_TITLE)),
        source: document.source.map(|source| within(source, MAX_TITLE)),
        date: document.date.map(|date| within(date, MAX_DATE)),
        url: document.url.filter(|url| url.len() <= MAX_URL),
        ..document
    }
}

/// Whether a title is only a placeholder, so that the file's name describes the document better.
fn is_placeholder(title: &str) -> bool {
    let title = title.to_lowercase();
    let printed = title.strip_prefix("microsoft word - ").or_else(|| title.strip_prefix("microsoft powerpoint - "));
    let one_name = printed.is_some() || !title.contains(' ');
    if one_name && ENDINGS.iter().any(|ending| title.ends_with(ending)) {
        return true;
    }
    let bare = title.trim_matches(|c: char| !c.is_alphanumeric());
    let bare =
        bare.trim_end_matches(|c: char| c.is_ascii_digit() || c.is_whitespace() || matches!(c, '-' | '_' | '(' | '.'));
    bare.is_empty() && !title.contains(|c: char| c.is_ascii_digit()) || PLACEHOLDERS.contains(&bare)
}

#[cfg(test)]
mod tests {
    use super::is_placeholder;
    use crate::retrieval::corpus::document::Fields;

    #[test]
    fn placeholders_are_no_titles() {
        for title in [
            "untitled",
            "(anonymous)",
            "Document1",
            "Microsoft Word - minutes.doc",
            "New document",
            "Untitled-1",
            "Unbenannt 2",
            "[No Title]",
            "---",
            "scan_0001.pdf",
            "Sheet1",
            "無題",
            "Slide 1",
            "Untitled Document",
        ] {
            assert!(is_placeholder(title), "{title}");
        }
        for title in [
            "The Untitled Mill",
            "1984",
            "Documents of the council",
            "Minutes 3",
            "Titles",
            "The book of tea.",
            "README for .md files",
        ] {
            assert!(!is_placeholder(title), "{title}");
        }
    }

    #[test]
    fn every_field_is_bounded() {
        let long = || Some("word ".repeat(300_000));
        let fields = Fields { title: long(), source: long(), date: long(), url: long(), id: long() }.bounded();
        let lengths =
            [fields.title, fields.source, fields.date, fields.url, fields.id].map(|field| field.map_or(0, |f| f.len()));
        assert_eq!(lengths, [999, 999, 99, 0, 999]);
        let one = Fields { title: Some("題".repeat(1000)), ..Fields::default() }.bounded().title;
        assert_eq!(one.map(|title| title.chars().count()), Some(333));
    }
}
