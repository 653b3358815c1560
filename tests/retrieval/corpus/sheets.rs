//! Workbooks.

use super::one;
use super::packages::package;
use moot::retrieval::corpus::Document;
use std::io::{Cursor, Write};

fn rows(documents: &[Document]) -> Vec<(&str, Option<&str>, Option<&str>)> {
    documents
        .iter()
        .map(|document| (document.text.as_str(), document.title.as_deref(), document.id.as_deref()))
        .collect()
}

/// A workbook of these sheets: name, state, markup.
fn xlsx(sheets: &[(&str, &str, &str)]) -> Vec<u8> {
    let relation = |id: usize, kind: &str, target: &str| {
        format!("<Relationship Id=\"r{id}\" Type=\"http://x/{kind}\" Target=\"{target}\"/>")
    };
    let listed: String = sheets
        .iter()
        .enumerate()
        .map(|(at, (name, state, _))| {
            format!("<sheet name=\"{name}\" sheetId=\"{at}\" r:id=\"r{at}\" state=\"{state}\"/>")
        })
        .collect();
    let workbook = format!("<workbook xmlns:r=\"r\"><workbookPr/><sheets>{listed}</sheets></workbook>");
    let relations: String = (0..sheets.len())
        .map(|at| relation(at, "worksheet", &format!("worksheets/sheet{at}.xml")))
        .chain([relation(90, "styles", "styles.xml"), relation(91, "sharedStrings", "/xl/sharedStrings.xml")])
        .collect();
    let styles = "<styleSheet><numFmts><numFmt numFmtId=\"164\" formatCode=\"dd/mm/yyyy\"/><numFmt numFmtId=\"165\" formatCode=\"#,##0.00 [$\u{20ac}-407]\"/></numFmts><cellStyleXfs><xf numFmtId=\"9\"/></cellStyleXfs>\
        <cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"164\"/><xf numFmtId=\"22\"/><xf numFmtId=\"10\"/><xf numFmtId=\"165\"/></cellXfs></styleSheet>";
    let shared = "<sst count=\"4000000000\" uniqueCount=\"4000000000\"><si><t>Product</t></si><si><r><t>Area, 10</t></r><r><rPr>\
        <vertAlign val=\"superscript\"/></rPr><t>6</t></r><r><t> m</t></r><rPh><t>READING</t></rPh></si></sst>";
    let mut parts = vec![
        ("xl/workbook.xml".to_owned(), workbook),
        ("xl/_rels/workbook.xml.rels".to_owned(), format!("<Relationships>{relations}</Relationships>")),
        ("xl/styles.xml".to_owned(), styles.to_owned()),
        ("xl/sharedStrings.xml".to_owned(), shared.to_owned()),
        ("xl/media/image1.png".to_owned(), "x".to_owned()),
    ];
    for (at, (_, _, markup)) in sheets.iter().enumerate() {
        parts.push((format!("xl/worksheets/sheet{at}.xml"), format!("<worksheet>{markup}</worksheet>")));
    }
    package(&parts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>())
}

#[test]
fn sheets_of_office_open_xml_are_tables() {
    let prices = "<cols><col min=\"5\" max=\"5\" hidden=\"1\"/></cols><sheetData>\
        <row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>Prices of 2024</t></is></c></row>\
        <row r=\"3\"><c r=\"A3\" t=\"s\"><v>0</v></c><c r=\"B3\" t=\"str\"><v>Since</v></c><c r=\"C3\" t=\"inlineStr\"><is><t>Share</t></is></c>\
        <c r=\"D3\" t=\"s\"><v>1</v></c><c r=\"E3\" t=\"str\"><v>SECRET</v></c></row>\
        <row r=\"4\"><c r=\"A4\" t=\"str\"><v>Rope</v></c><c r=\"B4\" s=\"1\"><v>45443</v></c><c r=\"C4\" s=\"3\"><v>0.25</v></c><c r=\"D4\"><f>1+1</f><v>2</v></c>\
        <c r=\"E4\"><v>9</v></c></row>\
        <row r=\"5\" hidden=\"1\"><c r=\"A5\" t=\"str\"><v>HIDDEN</v></c></row>\
        <row><c t=\"str\"><v>Anchor</v></c><c s=\"2\"><v>45443.604166666664</v></c><c t=\"b\"><v>1</v></c><c t=\"e\"><v>#N/A</v></c></row></sheetData>";
    let list = "<sheetData><row r=\"1\"><c r=\"A1\" t=\"str\"><v>It opened.</v></c></row><row r=\"2\"><c r=\"A2\" t=\"str\"><v>It closed.</v></c></row></sheetData>";
    let book = xlsx(&[("Prices", "visible", prices), ("Notes", "visible", list), ("Old", "veryHidden", list)]);
    let documents = one("a.xlsx", &book).unwrap();
    assert_eq!(
        rows(&documents),
        [
            ("Product: Rope\nSince: 2024-05-31\nShare: 25%\nArea, 10^6 m: 2", Some("Prices of 2024"), Some("Prices")),
            (
                "Product: Anchor\nSince: 2024-05-31 14:30\nShare: TRUE\nArea, 10^6 m: #N/A",
                Some("Prices of 2024"),
                Some("Prices")
            ),
            ("It opened.", Some("Notes"), Some("Notes")),
            ("It closed.", Some("Notes"), Some("Notes")),
        ]
    );
    assert_eq!(
        documents[0].notes,
        [
            "sheet Prices: hidden rows and columns are left out: 2",
            "sheet Old is hidden and left out",
            "1 picture is not read: image1.png"
        ]
    );
}

#[test]
fn merged_cells_are_the_value_of_each_of_their_rows() {
    let cell = |at: &str, value: &str| format!("<c r=\"{at}\" t=\"str\"><v>{value}</v></c>");
    let rows = [
        cell("A1", "Parish") + &cell("B1", "Mill"),
        cell("A2", "Halden") + &cell("B2", "Orrin"),
        cell("B3", "Maddock"),
        cell("B4", "Moss"),
    ];
    let rows: String = rows.iter().map(|cells| format!("<row>{cells}</row>")).collect();
    let merged =
        "<mergeCells><mergeCell ref=\"A2:A3\"/><mergeCell ref=\"A9:B9\"/><mergeCell ref=\"B2:B1048576\"/></mergeCells>";
    let book = xlsx(&[("Mills", "visible", &format!("<sheetData>{rows}</sheetData>{merged}"))]);
    let texts: Vec<String> = one("a.xlsx", &book).unwrap().into_iter().map(|document| document.text).collect();
    assert_eq!(texts, ["Parish: Halden\nMill: Orrin", "Parish: Halden\nMill: Maddock", "Mill: Moss"]);
}

#[test]
fn currencies_are_kept_and_what_has_no_value_is_noted() {
    let sheet = "<sheetData><row r=\"1\"><c r=\"A1\" t=\"str\"><v>Product</v></c><c r=\"B1\" t=\"str\"><v>Price</v></c></row>\
        <row r=\"2\"><c r=\"A2\" t=\"inlineStr\"><is><r><rPr><strike/></rPr><t>Old </t></r><r><t>Rope</t></r></is></c><c r=\"B2\" s=\"4\"><v>1234.5</v></c></row>\
        <row r=\"3\"><c r=\"A3\"><v>1E400</v></c><c r=\"B3\"><f>SUM(B2)</f></c><c r=\"C3\" t=\"str\"><f>X</f><v></v></c></row></sheetData>";
    let documents = one("a.xlsx", &xlsx(&[("Prices", "visible", sheet)])).unwrap();
    let read: Vec<_> = documents.iter().map(|document| document.text.as_str()).collect();
    assert_eq!(read, ["Product: Rope\nPrice: 1234.5 \u{20ac}", "Product: 1E400"]);
    assert_eq!(documents[0].notes[0], "sheet Prices: formulas whose values are not in the file are left out: 1");
}

#[test]
fn sheets_of_open_documents_are_tables() {
    let cell = |attributes: &str, text: &str| {
        format!("<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>")
    };
    let content = format!(
        "<o:document-content xmlns:o=\"o\" xmlns:office=\"f\" xmlns:text=\"t\" xmlns:style=\"s\" xmlns:table=\"b\"><style:style style:name=\"ta2\">\
        <style:table-properties table:display=\"false\"/></style:style><o:body><o:spreadsheet><table:table table:name=\"Prices\">\
        <table:table-column table:number-columns-repeated=\"3\"/><table:table-column table:visibility=\"collapse\"/>\
        <table:table-row>{}{}{}{}</table:table-row><table:table-row>{}{}{}{}<table:table-cell table:number-columns-repeated=\"16000\"/></table:table-row>\
        <table:table-row table:visibility=\"filter\">{}</table:table-row><table:table-row table:number-rows-repeated=\"2\">{}</table:table-row>\
        <table:table-row table:number-rows-repeated=\"1048000\"><table:table-cell table:number-columns-repeated=\"16384\"/></table:table-row></table:table>\
        <table:table table:name=\"Old\" table:style-name=\"ta2\"><table:table-row>{}</table:table-row></table:table></o:spreadsheet></o:body></o:document-content>",
        cell("", "Product"),
        cell("", "Since"),
        cell("", "Price"),
        cell("", "SECRET"),
        cell("", "Rope</text:p><text:p>10 mm<office:annotation><text:p>COMMENT</text:p></office:annotation>"),
        cell("office:value-type=\"date\" office:date-value=\"2024-05-31T00:00:00\"", "31/05/24"),
        cell("office:value=\"4.2\"", "4.20"),
        cell("", "9"),
        cell("", "HIDDEN"),
        cell("table:number-columns-repeated=\"2\"", "same"),
        cell("", "OLD"),
    );
    let documents = one("a.ods", &package(&[("content.xml", &content)])).unwrap();
    assert_eq!(
        rows(&documents),
        [
            ("Product: Rope\n10 mm\nSince: 2024-05-31\nPrice: 4.20", None, None),
            ("Product: same\nSince: same", None, None),
            ("Product: same\nSince: same", None, None),
        ]
    );
    assert_eq!(
        documents[0].notes,
        ["sheet Prices: hidden rows and columns are left out: 2", "sheet Old is hidden and left out"]
    );
}

/// A record of [MS-XLS].
fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &u16::try_from(data.len()).unwrap().to_le_bytes(), data].concat()
}

fn words(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A string: a count of `width` bytes, narrow characters.
fn string(width: usize, text: &str) -> Vec<u8> {
    let count = &text.len().to_le_bytes()[..width];
    [count, &[0], text.as_bytes()].concat()
}

/// A workbook of one sheet with these records of cells; `globals` come before the sheet's name.
pub(crate) fn xls(globals: &[Vec<u8>], cells: &[Vec<u8>]) -> Vec<u8> {
    let bof = |kind: u16| record(0x0809, &words(&[0x0600, kind, 0, 0, 0, 0, 0, 0]));
    let head: Vec<u8> = [bof(5)].iter().chain(globals).flatten().copied().collect();
    let bound = |at: u32| record(0x0085, &[&at.to_le_bytes()[..], &[0, 0], &string(1, "Prices")].concat());
    let at = u32::try_from(head.len() + bound(0).len() + 4).unwrap();
    let mut stream = [head, bound(at), record(0x000a, &[]), bof(0x10)].concat();
    cells.iter().for_each(|cell| stream.extend(cell));
    stream.extend(record(0x000a, &[]));
    let mut file = cfb::CompoundFile::create(Cursor::new(Vec::new())).unwrap();
    file.create_stream("/Workbook").unwrap().write_all(&stream).unwrap();
    file.into_inner().into_inner()
}

#[test]
fn sheets_of_excel_97_are_tables() {
    // A string that goes on, in wide characters, in the next record; one with a run and a reading.
    let mut shared = [&2_u32.to_le_bytes()[..], &2_u32.to_le_bytes(), &words(&[7]), &[0], b"Pro"].concat();
    let rest = [&[1][..], &words(&[u16::from(b'd'), 0x16b, u16::from(b'c'), u16::from(b't')])].concat();
    let second = [&words(&[4])[..], &[0x0c], &words(&[1]), &2_u32.to_le_bytes(), b"Rope", &[0; 4], &[9; 2]].concat();
    shared = [record(0x00fc, &shared), record(0x003c, &[rest, second].concat())].concat();
    let globals = [
        record(0x041e, &[&words(&[164])[..], &string(2, "yyyy-mm-dd")].concat()),
        record(0x00e0, &words(&[0, 0])),
        record(0x00e0, &words(&[0, 164])),
        shared,
    ];
    let number = |row: u16, column: u16, style: u16, value: f64| {
        record(0x0203, &[&words(&[row, column, style])[..], &value.to_le_bytes()].concat())
    };
    let label =
        |row: u16, column: u16, text: &str| record(0x0204, &[&words(&[row, column, 0])[..], &string(2, text)].concat());
    let shared =
        |row: u16, column: u16, at: u32| record(0x00fd, &[&words(&[row, column, 0])[..], &at.to_le_bytes()].concat());
    let formula = |row: u16, column: u16, value: [u8; 8]| {
        record(0x0006, &[&words(&[row, column, 0])[..], &value, &[0; 8]].concat())
    };
    let rk = |hundredths: u32, value: i32| (value << 2).cast_unsigned() | 2 | hundredths;
    let cells = [
        record(0x007d, &words(&[7, 7, 0, 0, 1])),
        record(0x0208, &[&words(&[3, 0, 0, 0, 0, 0])[..], &0x20_u32.to_le_bytes()].concat()),
        shared(0, 0, 0),
        label(0, 1, "Since"),
        label(0, 2, "Price"),
        label(0, 3, "Sold"),
        label(0, 4, "Stock"),
        label(0, 5, "Joined"),
        label(0, 6, "Ok"),
        label(0, 7, "SECRET"),
        shared(1, 0, 1),
        number(1, 1, 1, 45_443.0),
        record(
            0x00bd,
            &[&words(&[1, 2, 0])[..], &rk(1, 420).to_le_bytes(), &words(&[0]), &rk(0, -7).to_le_bytes(), &words(&[3])]
                .concat(),
        ),
        formula(1, 4, 12.5_f64.to_le_bytes()),
        formula(1, 5, [0, 0, 0, 0, 0, 0, 0xff, 0xff]),
        record(0x0207, &string(2, "joined")),
        record(0x0205, &[&words(&[1, 6, 0])[..], &[1, 0]].concat()),
        label(1, 7, "HIDDEN"),
        // A chart has cells of its own.
        record(0x0809, &words(&[0x0600, 0x20])),
        label(1, 0, "CHART"),
        record(0x000a, &[]),
        label(3, 0, "HIDDEN"),
        label(4, 0, "Anchor"),
        formula(4, 4, [2, 0, 7, 0, 0, 0, 0xff, 0xff]),
    ];
    let documents = one("a.xls", &xls(&globals, &cells)).unwrap();
    assert_eq!(
        rows(&documents),
        [
            (
                "Prod\u{16b}ct: Rope\nSince: 2024-05-31\nPrice: 4.2\nSold: -7\nStock: 12.5\nJoined: joined\nOk: TRUE",
                None,
                None
            ),
            ("Prod\u{16b}ct: Anchor\nStock: #DIV/0!", None, None),
        ]
    );
    let said = one("a.xls", &xls(&[record(0x002f, &[0; 6])], &[])).unwrap_err();
    assert_eq!(said, "a.xls: expected a workbook without a password, found an encrypted one");
    let said = one("a.xls", b"Product\tPrice").unwrap_err();
    assert!(said.starts_with("a.xls: expected a workbook of Excel 97 to 2003 (.xls), found something else"), "{said}");
}
