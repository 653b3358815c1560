//! Jupyter notebooks (nbformat 3 and 4): Markdown cells as text, code cells as code, and the text of their outputs.

use super::html;
use super::notes::Notes;
use crate::jsonl;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fmt::Write;

/// A notebook; other fields are ignored.
#[derive(Deserialize)]
struct Notebook {
    #[serde(default)]
    cells: Vec<Cell>,
    /// Of nbformat 3, which keeps its cells here.
    #[serde(default)]
    worksheets: Vec<Worksheet>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Worksheet {
    #[serde(default)]
    cells: Vec<Cell>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    title: Option<Lines>,
    language_info: Option<Named>,
    kernelspec: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: Option<String>,
    language: Option<String>,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    #[serde(default)]
    source: Option<Lines>,
    /// The source in nbformat 3.
    #[serde(default)]
    input: Option<Lines>,
    #[serde(default)]
    outputs: Vec<Output>,
}

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    text: Option<Lines>,
    #[serde(default)]
    data: Option<Data>,
    #[serde(default)]
    ename: Option<String>,
    #[serde(default)]
    evalue: Option<String>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "text/plain")]
    plain: Option<Lines>,
    #[serde(rename = "text/markdown")]
    markdown: Option<Lines>,
    #[serde(rename = "text/html")]
    html: Option<Lines>,
    #[serde(rename = "text/latex")]
    latex: Option<Lines>,
    #[serde(rename = "image/png")]
    png: Option<IgnoredAny>,
    #[serde(rename = "image/jpeg")]
    jpeg: Option<IgnoredAny>,
    #[serde(rename = "image/svg+xml")]
    svg: Option<IgnoredAny>,
}

/// A text, or its lines.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a text that is neither a string nor a list of strings")]
enum Lines {
    Whole(String),
    Lines(Vec<String>),
}

impl Lines {
    fn text(&self) -> String {
        match self {
            Self::Whole(text) => text.clone(),
            Self::Lines(lines) => lines.concat(),
        }
    }
}

/// The title and the text of a notebook.
///
/// # Errors
/// The pair (expected, found) for a message: text that is not a notebook.
pub(super) fn read(file: &str, notes: &mut Notes) -> Result<(Option<String>, String), (String, String)> {
    const WHAT: &str = "a Jupyter notebook (.ipynb)";
    let bare = file.trim_start_matches('\u{feff}');
    let notebook: Notebook = jsonl::parse(bare.as_bytes()).map_err(|e| (WHAT.to_owned(), jsonl::json_fault(&e)))?;
    let metadata = &notebook.metadata;
    let named = |named: &Option<Named>| named.as_ref().and_then(|named| named.language.clone().or(named.name.clone()));
    let language = named(&metadata.language_info).or_else(|| named(&metadata.kernelspec)).unwrap_or_default();
    let language: String =
        language.chars().take_while(|c| c.is_alphanumeric() || "+#-".contains(*c)).take(20).collect();
    let (mut text, mut pictures, mut others) = (String::new(), 0, 0);
    let cells = notebook.cells.iter().chain(notebook.worksheets.iter().flat_map(|sheet| &sheet.cells));
    for cell in cells {
        let source = cell.source.as_ref().or(cell.input.as_ref()).map(Lines::text).unwrap_or_default();
        let source = source.trim_end();
        if cell.cell_type == "code" {
            if !source.trim().is_empty() {
                paragraph(&mut text, &format!("```{language}\n{source}\n```"));
            }
            for output in &cell.outputs {
                pictures += output.pictures();
                let printed = without_escapes(&output.text());
                others += usize::from(output.data.is_some() && printed.trim().is_empty() && output.pictures() == 0);
                paragraph(&mut text, printed.trim_end());
            }
        } else {
            paragraph(&mut text, source);
        }
    }
    if pictures > 0 {
        notes.add(format!("pictures among the outputs are not read: {pictures}"));
    }
    if others > 0 {
        notes.add(format!("outputs that are no text are not read: {others}"));
    }
    let title = metadata.title.as_ref().map(Lines::text).filter(|title| !title.trim().is_empty());
    Ok((title, text))
}

fn paragraph(text: &mut String, more: &str) {
    if !more.trim().is_empty() {
        let gap = if text.is_empty() { "" } else { "\n\n" };
        let _ = write!(text, "{gap}{more}");
    }
}

/// `text` without the escape sequences of a terminal (ECMA-48): colours, movements, titles.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = match part.chars().next() {
            Some('[') => part[1..].split_once(|c: char| ('@'..='~').contains(&c)).map_or("", |(_, rest)| rest),
            Some(']') => part.split_once('\u{7}').map_or("", |(_, rest)| rest),
            Some(sign) => &part[sign.len_utf8()..],
            None => "",
        };
        plain.push_str(rest);
    }
    plain
}

impl Output {
    fn pictures(&self) -> usize {
        let has = |data: &Data| data.png.is_some() || data.jpeg.is_some() || data.svg.is_some();
        usize::from(self.data.as_ref().is_some_and(has))
    }

    /// Its text: as printed, else the value in the plainest form, else the error.
    fn text(&self) -> String {
        if let Some(text) = &self.text {
            return text.text();
        }
        if let Some(data) = &self.data {
            let plain = data.plain.as_ref().or(data.markdown.as_ref()).map(Lines::text);
            let page = || Some(html::read(data.html.as_ref()?.text()).ok()?.text);
            return plain.or_else(page).or_else(|| data.latex.as_ref().map(Lines::text)).unwrap_or_default();
        }
        match (&self.ename, &self.evalue) {
            (Some(name), Some(value)) => format!("{name}: {value}"),
            (name, value) => name.clone().or_else(|| value.clone()).unwrap_or_default(),
        }
    }
}
