//! Tables within documents: passages of later rows begin with the first row.

use super::packages::package;
use super::passages_of;

/// The passages of a table of boats, each of some rows.
fn assert_headed(name: &str, content: &[u8], head: &str, last: &str) {
    let passages = passages_of(name, content, 12, 0);
    assert!(passages.len() > 2, "{name}: {passages:?}");
    let first = passages.iter().position(|passage| passage.text.contains(head)).unwrap();
    for passage in &passages[first + 1..passages.len() - 1] {
        assert!(passage.text.starts_with(&format!("{head}\n\n")), "{name}: {passage:?}");
        assert_eq!(passage.text.matches(head).count(), 1);
    }
    let end = &passages.last().unwrap().text;
    assert!(last.ends_with(end.as_str()), "{name}: {end}");
    let middle = &passages[first + 1].origin.characters;
    assert!(passages[first].origin.characters.end <= middle.start, "{name}: {passages:?}");
}

/// Eight rows of three cells.
fn rows(row: impl Fn(&[String]) -> String) -> String {
    (1..9).map(|n| row(&[format!("Boat{n}"), format!("{n}"), "by the old crane".into()])).collect()
}

#[test]
fn in_pages() {
    let cells = |cells: &[String]| format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"));
    let last = "The end of the list is a sentence that no table has.";
    let after = format!("<p>{last}</p>");
    for head in
        ["<tr><th>Boat<th>Berth<th>Place", "<thead><tr><td>Boat</td><td>Berth</td><td>Place</td></tr></thead><tbody>"]
    {
        let page =
            format!("<div class=menu><a href=a>Home</a></div><p>Fees.</p><table>{head}{}</table>{after}", rows(cells));
        assert_headed("a.html", page.as_bytes(), "Boat Berth Place", last);
    }
    // Names of rows are no names of columns.
    let named = rows(|cells| format!("<tr><th>{}</th><td>{}</td></tr>\n", cells[0], cells[2]));
    let passages = passages_of("a.html", format!("<table>{named}</table>").as_bytes(), 12, 0);
    assert!(passages.len() > 2 && passages[1..].iter().all(|passage| !passage.text.contains("Boat1")), "{passages:?}");
}

#[test]
fn in_documents_and_markdown() {
    let last = "The end of the list is a sentence that no table has.";
    let cell = |text: &str| format!("<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>");
    let row = |cells: &[String]| format!("<w:tr>{}</w:tr>", cells.iter().map(|text| cell(text)).collect::<String>());
    let names = row(&["Boat".into(), "Berth".into(), "Place".into()]);
    let body = format!("<w:tbl>{names}{}</w:tbl><w:p><w:r><w:t>{last}</w:t></w:r></w:p>", rows(row));
    let word = format!("<w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>");
    assert_headed("a.docx", &package(&[("word/document.xml", &word)]), "Boat Berth Place", last);

    let cell = |text: &str| format!("<table:table-cell><text:p>{text}</text:p></table:table-cell>");
    let row = |cells: &[String]| {
        format!("<table:table-row>{}</table:table-row>", cells.iter().map(|text| cell(text)).collect::<String>())
    };
    let names = row(&["Boat".into(), "Berth".into(), "Place".into()]);
    let odt = format!(
        "<o:document-content xmlns:o=\"o\" xmlns:text=\"t\" xmlns:table=\"tb\"><o:body><o:text><table:table>{names}{}</table:table>\
        <text:p>{last}</text:p></o:text></o:body></o:document-content>",
        rows(row)
    );
    assert_headed("a.odt", &package(&[("content.xml", &odt)]), "Boat Berth Place", last);

    let lines = rows(|cells| format!("| {} |\n", cells.join(" | ")));
    let markdown = format!("| Boat | Berth | Place |\n|---|---|---|\n{lines}\n{last}\n");
    assert_headed("a.md", markdown.as_bytes(), "| Boat | Berth | Place |\n|---|---|---|", last);
}
