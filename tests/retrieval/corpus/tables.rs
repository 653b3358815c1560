//! Tables and JSON lines that are not as they should be.

use super::packages::package;
use super::{folder, one, passages, read};
use moot::retrieval::corpus::Document;

/// The texts of a table, and what was left out.
fn texts(name: &str, content: &[u8]) -> Result<(Vec<String>, Vec<String>), String> {
    let f = folder(&[(name, content)]);
    let (documents, skipped) = read(&f, &format!("corpus/{name}"))?;
    Ok((documents.into_iter().map(|document| document.text).collect(), skipped))
}

fn lines(documents: &[Document]) -> Vec<(&str, Option<&str>)> {
    documents.iter().map(|document| (document.text.as_str(), document.title.as_deref())).collect()
}

#[test]
fn a_table_without_a_text_column_names_its_values() {
    let prices = b"Product,Price, Supplier \nRope 10 mm,4.20,Halden\n\"Anchor, 5 kg\",31.00,\n,,\n";
    let (read, skipped) = texts("prices.csv", prices).unwrap();
    assert_eq!(read, ["Product: Rope 10 mm\nPrice: 4.20\nSupplier: Halden", "Product: Anchor, 5 kg\nPrice: 31.00"]);
    assert_eq!(skipped, ["corpus/prices.csv: 1 record without text"]);
    let (read, _) = texts("a.csv", b"1,2\n3,4\n").unwrap();
    assert_eq!(read, ["column 1: 1\ncolumn 2: 2", "column 1: 3\ncolumn 2: 4"]);
    // Metadata has its columns here too.
    let named = one("a.csv", b"Title;Date;Year\nThe mill;2020-01-02;1788\n").unwrap();
    assert_eq!(lines(&named), [("Title: The mill\nDate: 2020-01-02\nYear: 1788", Some("The mill"))]);
    assert_eq!(named[0].date.as_deref(), Some("2020-01-02"));
}

#[test]
fn delimiters_and_character_sets_are_detected() {
    let semicolon = "\u{feff}id;title;text\r\n1;Mooring;\"The fee is 3,50 crowns;\r\nit is paid.\"\r\n2;Dogs;\"Dogs are \"\"welcome\"\".\"\r\n";
    let read = one("a.csv", semicolon.as_bytes()).unwrap();
    assert_eq!(
        lines(&read),
        [("The fee is 3,50 crowns;\r\nit is paid.", Some("Mooring")), ("Dogs are \"welcome\".", Some("Dogs"))]
    );
    let tabbed = "\u{feff}id\ttitle\ttext\r\n1\tLock\tThe caf\u{e9} has 3 gates.\r\n";
    let utf16: Vec<u8> = tabbed.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(lines(&one("a.csv", &utf16).unwrap()), [("The caf\u{e9} has 3 gates.", Some("Lock"))]);
    let latin = b"name;place\nCaf\xe9 du Pont;Orl\xe9ans\nCaf\xe9 de la Gare;Saint-\xc9tienne\n";
    assert_eq!(one("a.csv", latin).unwrap()[0].text, "name: Caf\u{e9} du Pont\nplace: Orl\u{e9}ans");
    assert_eq!(lines(&one("a.csv", b"text\nHello, world; again\n").unwrap()), [("Hello, world; again", None)]);
    assert_eq!(lines(&one("a.csv", b"sep=|\r\na|b\r\n1|2\r\n").unwrap()), [("a: 1\nb: 2", None)]);
    let json = "{\"text\": \"The caf\u{e9}.\"}\n";
    let utf16: Vec<u8> = ("\u{feff}".to_owned() + json).encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(lines(&one("a.jsonl", &utf16).unwrap()), [("The caf\u{e9}.", None)]);
}

#[test]
fn bad_lines_are_left_out_and_the_first_is_named() {
    let ragged = b"id,title,text\n1,One,First text.\n2,Two\n3,Three,Third text.,extra\n4,Four,Fourth text.,\n5,Five\n7,Seven,7\n8,Eight,8\n";
    let (read, skipped) = texts("ragged.csv", ragged).unwrap();
    assert_eq!(read, ["First text.", "Fourth text.", "7", "8"]);
    assert_eq!(
        skipped,
        [
            "corpus/ragged.csv: 2 records without text",
            "corpus/ragged.csv: 1 line cannot be read: line 4: expected 3 columns as in the first line, found 4 \
             (is a delimiter or quotation mark in a field not quoted?)"
        ]
    );
    let f = folder(&[("ragged.csv", ragged)]);
    let corpus = super::open(&f, &["corpus/ragged.csv"]).unwrap();
    let mut documents = corpus.documents();
    assert_eq!(documents.by_ref().count(), 4);
    let notes: Vec<_> = documents.notes().into_iter().map(|noted| noted.note).collect();
    assert_eq!(notes, ["2 lines are shorter than the header; the first: line 3: expected 3 columns, found 2"]);
    // A line that ends before the column of the text is left out, with a note.
    let (read, skipped) = texts("short.csv", b"id,title,text\n1,One,First.\n2,Two\n").unwrap();
    assert_eq!(
        (read, skipped),
        (vec!["First.".to_owned()], vec!["corpus/short.csv: 1 record without text".to_owned()])
    );

    let broken = b"{\"id\":1,\"text\":\"Good line.\"}\n{\"id\":2,\"text\":\"broken\n{\"id\":3,\"text\":\"Third.\"}\n{\"id\":4}\n";
    let (read, skipped) = texts("notes.jsonl", broken).unwrap();
    assert_eq!(read, ["Good line.", "Third."]);
    assert_eq!(skipped.len(), 1);
    assert!(
        skipped[0].starts_with(
            "corpus/notes.jsonl: 2 lines cannot be read; the first: line 2: expected a JSON object, found "
        )
    );
    // A line that was named itself must be sound, whatever the others are.
    let f = folder(&[("notes.jsonl", broken)]);
    assert!(super::open(&f, &["corpus/notes.jsonl:2"]).unwrap().documents().next().unwrap().is_err());
    assert_eq!(super::open(&f, &["corpus/notes.jsonl:3"]).unwrap().documents().next().unwrap().unwrap().text, "Third.");
}

#[test]
fn a_file_of_which_most_lines_are_bad_is_refused() {
    let bad = "{\"text\": \"A\"}\n{\"note\": 1}\n[]\n";
    let said = texts("a.jsonl", bad.as_bytes()).unwrap_err();
    assert_eq!(
        said,
        "corpus/a.jsonl:2: expected an object with `text` or `contents`, found the fields `note` (2 of 3 lines cannot be read)"
    );
    let said = texts("a.csv", b"a,b\n1,2,3\n1,2,3\n1,2\n").unwrap_err();
    assert!(said.starts_with("corpus/a.csv:2: expected 2 columns as in the first line, found 3 (is "), "{said}");
    // Of a folder, the other files are read.
    let f = folder(&[("a.jsonl", bad.as_bytes()), ("b.txt", b"The caf\xc3\xa9.")]);
    let (documents, skipped) = read(&f, "corpus").unwrap();
    assert_eq!((documents.len(), skipped.len()), (1, 1));
    // A bad line behind 1,000 good ones ends the file too.
    let late = "{\"text\": \"A\"}\n".repeat(1000) + &"x\n".repeat(1001);
    assert!(texts("a.jsonl", late.as_bytes()).unwrap_err().contains("(1001 of 2001 lines cannot be read)"));
}

#[test]
fn an_unclosed_quotation_mark_loses_its_line() {
    let (read, skipped) = texts("a.csv", b"text\n\"a\"\nb\nc\n\"d\ne\nf\n").unwrap();
    assert_eq!(read, ["a", "b", "c", "e", "f"]);
    let line = |count: &str, line: usize, found: &str| {
        format!(
            "corpus/a.csv: {count} line {line}: expected a quotation mark that closes the one on this line, found {found}"
        )
    };
    let end = "the end of the file";
    assert_eq!(skipped, [line("1 line cannot be read:", 5, end)]);
    // Two such marks pair up over the lines between them: what follows the second one shows that it opened a field.
    let table = "n,text\n1,a\n2,\"b\n3,c\n4,d\n5,\"e\n6,f\n7,\"g\nh\"\n8,i \"j\"\n";
    for end_of_line in ["\n", "\r\n", "\r"] {
        let (read, skipped) = texts("a.csv", table.replace('\n', end_of_line).as_bytes()).unwrap();
        let g = format!("g{}h", if end_of_line == "\r\n" { end_of_line } else { "\n" });
        assert_eq!(read, ["a", "c", "d", "f", &g, "i \"j\""], "{end_of_line:?}");
        assert_eq!(skipped, [line("2 lines cannot be read; the first:", 3, "one in front of text, on another line")]);
    }
    // The mark is in the last line of a record that is quoted over two: both lines are lost, and no more.
    let (read, skipped) = texts("a.csv", b"text,note\na,1\n\"b\nc\",\"d\ne,2\nf,3\n").unwrap();
    assert_eq!(
        (read, skipped),
        (vec!["a".to_owned(), "e".into(), "f".into()], vec![line("2 lines cannot be read; the first:", 4, end)])
    );
    // As many readings from the beginning as the limit says; then the rest is lost.
    let many = format!("text\n{}", "a\na\na\na\na\n\"b\n".repeat(40));
    let (read, skipped) = texts("a.csv", many.as_bytes()).unwrap();
    assert!(read.iter().all(|text| text == "a") && read.len() > 85 && read.len() < 195, "{read:?}");
    assert!(skipped[0].contains("lines cannot be read; the first: line 7: "), "{skipped:?}");
    let said = texts("a.csv", b"text\n\"a\n\"b\nc\n").unwrap_err();
    assert!(said.starts_with("corpus/a.csv:2: expected a quotation mark that closes the one on this line, "), "{said}");
    let said = texts("a.csv", b"\"text\na\nb\n").unwrap_err();
    assert!(said.starts_with("corpus/a.csv:1: expected a quotation mark that closes the one on this line, "), "{said}");
}

#[test]
fn lines_are_counted_with_every_line_end() {
    for end in ["\n", "\r\n", "\r"] {
        for last in ["", end] {
            let table = ["text,title", "a,t", "", "\"b", "c\",u", "d,v,w", "", "", "e,x"].join(end) + last;
            let lines: Vec<_> =
                passages("a.csv", &table, 100, 0).into_iter().map(|passage| passage.origin.line).collect();
            assert_eq!(lines, [Some(2), Some(4), Some(9)], "{table:?}");
            let (_, skipped) = texts("a.csv", table.as_bytes()).unwrap();
            assert!(skipped[0].contains("line 6: expected 2 columns"), "{table:?}: {skipped:?}");
        }
    }
}

#[test]
fn a_table_without_names_loses_no_line_and_a_caption_is_a_title() {
    let (read, _) = texts("a.csv", b"Rope,4,1931\nSail,12,1932\n").unwrap();
    assert_eq!(read, ["column 1: Rope\ncolumn 2: 4\ncolumn 3: 1931", "column 1: Sail\ncolumn 2: 12\ncolumn 3: 1932"]);
    let table = b"Prices of the yard\n\nProduct;Price\nRope;4,50\nSail;12,00\n";
    let documents = one("a.csv", table).unwrap();
    assert_eq!(documents[0].text, "Product: Rope\nPrice: 4,50");
    assert_eq!(documents[1].title.as_deref(), Some("Prices of the yard"));
    let lines: Vec<_> =
        passages("a.csv", std::str::from_utf8(table).unwrap(), 100, 0).into_iter().map(|p| p.origin.line).collect();
    assert_eq!(lines, [Some(4), Some(5)]);
}

/// A cell that goes on over several rows is in each of them, in every format.
#[test]
fn merged_cells_are_in_each_of_their_rows() {
    let page = "<table><tr><th rowspan=2>Mill<th colspan=2>Year<th rowspan=2>Owner<tr><th>Built<th>Burned\
        <tr><td rowspan=0>Orrin<td>1788<td>1801<td rowspan=2>Sand<tr><td>1810<td>1850</table><p>End";
    let documents = one("a.html", page.as_bytes()).unwrap();
    let expected = "Mill Year Owner\n\nMill Built Burned Owner\n\nOrrin 1788 1801 Sand\n\nOrrin 1810 1850 Sand\n\nEnd";
    assert_eq!(documents[0].text, expected);

    let cell = |properties: &str, text: &str| {
        format!("<w:tc><w:tcPr>{properties}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>")
    };
    let (begins, goes_on) = ("<w:vMerge w:val=\"restart\"/>", "<w:vMerge/>");
    let rows = [
        cell("<w:gridSpan w:val=\"2\"/>", "Mills") + &cell(begins, "Sand"),
        cell(begins, "Orrin") + &cell("", "1788") + &cell(goes_on, ""),
        cell(goes_on, "") + &cell("", "1810") + &cell("", "Rell"),
        cell("", "Moss") + &cell("", "1850") + &cell(goes_on, ""),
    ];
    let rows: String = rows.iter().map(|cells| format!("<w:tr>{cells}</w:tr>")).collect();
    let body = format!("<w:document xmlns:w=\"w\"><w:body><w:tbl>{rows}</w:tbl></w:body></w:document>");
    let documents = one("a.docx", &package(&[("word/document.xml", &body)])).unwrap();
    assert_eq!(documents[0].text, "Mills Sand\n\nOrrin 1788 Sand\n\nOrrin 1810 Rell\n\nMoss 1850");

    let content = "<o:d xmlns:o=\"o\" xmlns:text=\"t\" xmlns:table=\"tb\"><o:body><o:text><table:table>\
        <table:table-row><table:table-cell table:number-rows-spanned=\"2\"><text:p>Orrin</text:p></table:table-cell>\
        <table:table-cell><text:p>1788</text:p></table:table-cell></table:table-row><table:table-row><table:covered-table-cell/>\
        <table:table-cell><text:p>1810</text:p></table:table-cell></table:table-row></table:table></o:text></o:body></o:d>";
    let documents = one("a.odt", &package(&[("content.xml", content)])).unwrap();
    assert_eq!(documents[0].text, "Orrin 1788\n\nOrrin 1810");
}
