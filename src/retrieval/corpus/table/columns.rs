//! The meaning of a table's columns: fields of documents, or named values.

use crate::escape;
use crate::retrieval::corpus::document::Fields;
use crate::retrieval::corpus::flow::first_words;
use crate::retrieval::corpus::record;
use std::borrow::Cow;

/// Characters of a column's name that are kept: the name is repeated in each record.
const MAX_NAME: usize = 80;

/// The columns of a table by their header.
#[derive(Debug, Clone)]
pub(in crate::retrieval::corpus) struct Columns {
    /// The column of the text; without one, a record's text is its values with their names.
    text: Option<usize>,
    title: Option<usize>,
    source: Option<usize>,
    date: Option<usize>,
    url: Option<usize>,
    id: Option<usize>,
    /// As written in the header, shortened.
    names: Vec<String>,
}

impl Columns {
    /// The columns that a header names.
    pub(in crate::retrieval::corpus) fn of_header(names: &[String]) -> Self {
        let known: Vec<String> = names.iter().map(|name| name.trim().to_lowercase()).collect();
        let find = |wanted: &[&str]| wanted.iter().find_map(|wanted| known.iter().position(|name| name == wanted));
        Self {
            text: find(record::TEXT),
            title: find(record::TITLE),
            source: find(record::SOURCE),
            date: find(record::DATE),
            url: find(record::URL),
            id: find(record::ID),
            names: names.iter().map(|name| escape::beginning(&first_words(name), MAX_NAME)).collect(),
        }
    }

    /// The columns of a file without a header: a number, a text, optionally a title (DPR, MS MARCO).
    pub(super) fn numbered(count: usize) -> Self {
        let names: Vec<String> = ["id", "text", "title"].iter().take(count).map(|&name| name.to_owned()).collect();
        Self::of_header(&names)
    }

    /// Columns without names: "column 1".
    pub(in crate::retrieval::corpus) fn unnamed(count: usize) -> Self {
        let columns = Self::of_header(&vec![String::new(); count]);
        // A single column is a list of texts.
        Self { text: (count == 1).then_some(0), ..columns }
    }

    /// Number of columns.
    pub(in crate::retrieval::corpus) fn count(&self) -> usize {
        self.names.len()
    }

    /// Whether a column is called as the texts of documents are.
    pub(super) fn has_text(&self) -> bool {
        self.text.is_some()
    }

    /// The metadata and the text of a record, whose values `value` gives by column; `None` where it has no text.
    pub(in crate::retrieval::corpus) fn document<'v>(
        &self,
        value: impl Fn(usize) -> Cow<'v, str>,
    ) -> Option<(Fields, String)> {
        let given = |column: Option<usize>| {
            let value = value(column?);
            Some(value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let text = match self.text {
            Some(column) => value(column).into_owned(),
            None => self.named(&value),
        };
        let fields = Fields {
            title: given(self.title),
            source: given(self.source),
            date: given(self.date),
            url: given(self.url),
            id: given(self.id),
        };
        (!text.trim().is_empty()).then_some((fields, text))
    }

    /// The values of a record, each on a line behind its column's name. A value alone has no meaning: 4.20 may be a
    /// price or a length.
    fn named<'v>(&self, value: impl Fn(usize) -> Cow<'v, str>) -> String {
        let mut lines = Vec::new();
        for (column, name) in self.names.iter().enumerate() {
            let value = value(column);
            let value = value.trim();
            match name.is_empty() {
                _ if value.is_empty() => {}
                true => lines.push(format!("column {}: {value}", column + 1)),
                false => lines.push(format!("{name}: {value}")),
            }
        }
        lines.join("\n")
    }
}
