//! JSON, tables, workbooks and mail that would take far more memory than their bytes.

use super::one;
use moot::eval::datasets;
use moot::jsonl::MAX_VALUES;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn package(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn values_of_json_are_counted_before_they_are_made() {
    let lists = "[],".repeat(MAX_VALUES / 2);
    let line = format!("{{\"text\": \"It opened.\", \"x\": [{lists}0]}}\n");
    let said = one("a.jsonl", line.as_bytes()).unwrap_err();
    assert!(said.contains("expected a JSON object, found more than 1048576 values"), "{said}");
    // Brackets and commas within a string are none.
    let text = "a,[]".repeat(MAX_VALUES);
    let line = format!("{{\"text\": \"\\\"{text}\"}}\n");
    assert!(one("a.jsonl", line.as_bytes()).is_ok_and(|read| read.len() == text.len() + 1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, format!("{{\"question\": \"When?\", \"documents\": [{lists}0]}}")).unwrap();
    let said = datasets::load(&path).unwrap_err().to_string();
    assert!(said.contains("found more than 1048576 values"), "{said}");
    let items = format!("[{}1]", "1,".repeat(MAX_VALUES));
    let path = folder.path().join("b.json");
    std::fs::write(&path, items).unwrap();
    let said = datasets::load(&path).unwrap_err().to_string();
    assert!(said.contains("more than 1048576 items; JSON lines may hold more"), "{said}");
}

#[test]
fn cells_that_are_repeated_are_counted() {
    let sheet = |rows: &str| {
        let content = format!("<a><table:table table:name=\"x\">{rows}</table:table></a>");
        package(&[("content.xml", content.as_bytes())])
    };
    let cell = "<table:table-cell table:number-columns-repeated=\"16384\"><text:p>x</text:p></table:table-cell>";
    let rows = format!("<table:table-row table:number-rows-repeated=\"1048576\">{cell}</table:table-row>");
    let said = one("a.ods", &sheet(&rows)).unwrap_err();
    assert_eq!(said, "a.ods: expected at most 2000000 filled cells in a workbook, found more");
    let long =
        format!("<table:table-row>{}</table:table-row>", cell.replace("x<", &format!("{}<", "x".repeat(10_000))));
    let said = one("a.ods", &sheet(&long)).unwrap_err();
    assert_eq!(said, "a.ods: expected at most 67108864 bytes of text in one workbook, found more");
}

#[test]
fn sheets_are_counted() {
    let sheets = |count: usize| {
        let content = format!(
            "<a>{}<table:table>{}</table:table></a>",
            "<table:table/>".repeat(count - 1),
            ["Boat", "Aurora"]
                .map(|cell| format!(
                    "<table:table-row><table:table-cell><text:p>{cell}</text:p></table:table-cell></table:table-row>"
                ))
                .concat()
        );
        one("a.ods", &package(&[("content.xml", content.as_bytes())]))
    };
    assert!(sheets(10_000).unwrap().ends_with("Aurora"));
    assert_eq!(sheets(10_001).unwrap_err(), "a.ods: expected at most 10000 sheets, found more");
}

#[test]
fn the_size_that_a_workbook_declares_is_not_trusted() {
    let parts: &[(&str, &[u8])] = &[
        ("xl/workbook.xml", b"<workbook xmlns:r=\"r\"><sheet name=\"a\" r:id=\"r1\"/></workbook>"),
        (
            "xl/_rels/workbook.xml.rels",
            b"<R><Relationship Id=\"r1\" Type=\"x/worksheet\" Target=\"s.xml\"/><Relationship Id=\"r2\" Type=\"x/sharedStrings\" Target=\"t.xml\"/></R>",
        ),
        ("xl/t.xml", b"<sst uniqueCount=\"18446744073709551615\"><si><t>It opened.</t></si></sst>"),
        ("xl/s.xml", b"<w><dimension ref=\"A1:XFD1048576\"/><row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c></row><row r=\"1048576\"><c r=\"XFD1048576\"><v>1</v></c></row></w>"),
    ];
    let read = one("a.xlsx", &package(parts)).unwrap();
    assert_eq!(read, "column 1: It opened.\u{c}column 16384: 1");
}

#[test]
fn parts_and_headers_of_mail_are_counted() {
    let parts = "From: a\nContent-Type: multipart/mixed; boundary=b\n\n".to_owned() + &"--b\n\n".repeat(20_000);
    assert_eq!(
        one("a.eml", parts.as_bytes()).unwrap_err(),
        "a.eml: expected a mail message of at most 10000 parts, found more"
    );
    let headers = "a:\n".repeat(200_000) + "\nx";
    assert_eq!(
        one("a.eml", headers.as_bytes()).unwrap_err(),
        "a.eml: expected a mail message of at most 100000 headers, found more"
    );
    let mut deep = String::from("From: a\n");
    for level in 0..200 {
        deep += &format!("Content-Type: multipart/mixed; boundary=b{level:03}\n\n--b{level:03}\n");
    }
    let said = one("a.eml", deep.as_bytes()).unwrap_err();
    assert!(said.starts_with("a.eml: expected a mail message (.eml), found "), "{said}");
}
