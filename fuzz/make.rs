//! Makes the files of `corpus/record`, `corpus/package`, `corpus/pdf` and `corpus/workbook`:
//! `MOOT_FUZZ_CORPUS=write cargo test --release --test fuzz -- --ignored make`.

#[allow(dead_code)]
#[path = "../tests/retrieval/corpus/pdf/make.rs"]
mod pdf;

use crate::random::Random;
use crate::targets::pack;
use moot::eval::record::{Header, VERSION, Writer};
use moot::llm::scripted::Scripted;
use moot::llm::{Call, ModelIdentity};
use moot::methods;
use moot::protocol::Built;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::Typed;
use moot::question::{Document, Gold, Question};
use std::path::{Path, PathBuf};

/// Methods of the records in `corpus/record`.
pub(crate) const RECORDED: [&str; 5] = ["madam-rag", "conflict-report", "self-rag", "drag", "moot"];

/// Whether files are to be written; `--include-ignored` alone changes none.
fn writes() -> bool {
    std::env::var("MOOT_FUZZ_CORPUS").is_ok_and(|value| value == "write")
}

pub(crate) fn path_of(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(file)
}

fn header(method: &Built) -> Header {
    let header = format!(
        r#"{{"moot_record":{VERSION},"program":"moot 0.1.0","method":{:?},"switches":{{}},"settings":{{"seed":0,"max_tokens":128,
        "sampling":"greedy","free_form":false}},"model":{{"name":"scripted","architecture":"scripted","context":4096}},"prompts":{{}}}}"#,
        method.row.name
    );
    let model = ModelIdentity { name: "scripted".into(), sha256: "ab".repeat(32), ..ModelIdentity::default() };
    let header: Header = serde_json::from_str(&header).unwrap();
    let switches = method.values.json();
    Header { model, switches, prompts: method.hashes(), ..header }
}

fn reply(call: &Call) -> String {
    match call.grammar.as_ref().map_or("", |grammar| &*grammar.name) {
        "reply/answer.lark" => format!("Answer: 193{}. Explanation: It says so.", call.document.unwrap_or(1)),
        "reply/answers.lark" => r#"All Correct Answers: ["1931", "1932"]. Explanation: Two bridges."#.into(),
        "reply/claims.lark" => r#"Claims: ["The bridge opened in 1931.", "It is red."]"#.into(),
        "reply/claim_label.lark" => {
            "Label: SUPPORTS\nQuote: \"The bridge opened in 1931.\"\nReason: It says so.".into()
        }
        _ => "The bridge opened in 1931.".into(),
    }
}

fn question(id: &str) -> Question {
    let document = |year: usize| Document {
        name: format!("{year}.txt"),
        text: format!("The bridge opened in {year}."),
        source: Some(format!("source {year}")),
        ..Document::default()
    };
    Question {
        id: id.into(),
        text: "When did the bridge open?".into(),
        documents: vec![document(1931), document(1932)],
        gold: Some(Gold::all_of(vec!["1931".into()], vec!["1932".into()])),
        ..Question::default()
    }
}

#[test]
#[ignore = "writes the corpus"]
fn make_records() {
    if !writes() {
        return;
    }
    for name in RECORDED {
        // The scripted model has no tokens of critiques.
        let switches =
            if name == "self-rag" { Typed::from([("prompted".into(), "true".into())]) } else { Typed::new() };
        let method = methods::build(name, &switches).unwrap();
        let path = path_of(&format!("record/{name}.jsonl"));
        let _ = std::fs::remove_file(&path);
        let llm = Scripted::new(reply);
        let mut writer = Writer::open(&path, &header(&method)).unwrap();
        let records =
            ["q1", "q2"].map(|id| method.record(&question(id), Tools::new(&llm), &Settings::default(), &Silent).0);
        writer.append_run(&records, true).unwrap();
    }
}

#[test]
#[ignore = "writes the corpus"]
fn make_packages() {
    if !writes() {
        return;
    }
    let part = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    let word = "<w:document xmlns:w=\"w\" xmlns:mc=\"mc\"><w:body><w:p><w:pPr><w:pStyle w:val=\"H\"/></w:pPr><w:r><w:t>The bridge </w:t></w:r><w:r>\
        <w:rPr><w:vanish/></w:rPr><w:t>HIDDEN</w:t></w:r><w:r><w:rPr><w:rStyle w:val=\"S\"/></w:rPr><w:t>opened &amp; closed&#46;</w:t><w:br/></w:r></w:p>\
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>";
    let styles = "<w:styles xmlns:w=\"w\"><w:style w:styleId=\"S\"><w:rPr><w:vanish/></w:rPr></w:style></w:styles>";
    let notes = "<w:footnotes xmlns:w=\"w\"><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnotes>";
    let core = "<cp xmlns:dc=\"dc\"><dc:title>The bridge</dc:title></cp>";
    let text = "<o:document-content xmlns:o=\"o\" xmlns:text=\"t\" xmlns:style=\"s\" xmlns:table=\"b\"><style:style style:name=\"T1\">\
        <style:text-properties text:display=\"none\"/></style:style><text:h>Toll</text:h><text:p>It ended<text:span text:style-name=\"T1\">HIDDEN</text:span>\
        in 1944<text:note><text:note-body><text:p>A note.</text:p></text:note-body></text:note>.</text:p><table:table-row><table:table-cell>\
        <text:p>a</text:p></table:table-cell></table:table-row></o:document-content>";
    let opf = "<package xmlns:dc=\"dc\"><metadata><dc:title>Bridges</dc:title><dc:creator>A. Mason</dc:creator><dc:date>1999-01-02T0</dc:date>\
        </metadata><manifest><item id=\"b\" href=\"b%20b.xhtml\"/><item id=\"a\" href=\"../a.xhtml\"/></manifest><spine><itemref idref=\"a\"/>\
        <itemref idref=\"b\"/></spine></package>";
    let container = "<container><rootfiles><rootfile full-path=\"O/c.opf\"/></rootfiles></container>";
    let files = [
        (
            "a.docx",
            vec![
                part("word/document.xml", word),
                part("word/styles.xml", styles),
                part("word/footnotes.xml", notes),
                part("docProps/core.xml", core),
            ],
        ),
        (
            "a.odt",
            vec![
                part("content.xml", text),
                part("styles.xml", "<a><text:p>HEADER</text:p></a>"),
                part("meta.xml", core),
            ],
        ),
        (
            "a.epub",
            vec![
                part("META-INF/container.xml", container),
                part("O/c.opf", opf),
                part("a.xhtml", "<h1>One</h1><p hidden=\"\">HIDDEN</p><p>It closed.</p>"),
                part("O/b b.xhtml", "<title/><p>It opened.</p>"),
            ],
        ),
    ];
    let relations = "<R><Relationship Id=\"r1\" Type=\"x/slide\" Target=\"s/a.xml\"/></R>";
    let slide = "<p:sld xmlns:p=\"p\" xmlns:a=\"a\"><p:sp><a:p><a:r><a:t>It cost 10</a:t></a:r><a:r><a:rPr baseline=\"30000\"/><a:t>6</a:t></a:r></a:p></p:sp></p:sld>";
    let order = "<p:presentation xmlns:p=\"p\" xmlns:r=\"r\"><p:sldId id=\"256\" r:id=\"r1\"/></p:presentation>";
    let workbook = "<workbook xmlns:r=\"r\"><sheet name=\"Prices\" r:id=\"r1\"/></workbook>";
    let parts_of_book = "<R><Relationship Id=\"r1\" Type=\"x/worksheet\" Target=\"s.xml\"/><Relationship Id=\"r2\" Type=\"x/styles\" Target=\"y.xml\"/>\
        <Relationship Id=\"r3\" Type=\"x/sharedStrings\" Target=\"t.xml\"/></R>";
    let sheet = "<w><row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" t=\"str\"><v>Since</v></c></row><row><c t=\"inlineStr\"><is><t>Rope</t></is></c>\
        <c s=\"1\"><v>45443.5</v></c></row></w>";
    let cells = "<a xmlns:table=\"b\" xmlns:text=\"t\"><table:table table:name=\"Prices\"><table:table-row><table:table-cell><text:p>Product</text:p></table:table-cell>\
        <table:table-cell><text:p>Price</text:p></table:table-cell></table:table-row><table:table-row table:number-rows-repeated=\"2\"><table:table-cell><text:p>Rope</text:p>\
        </table:table-cell><table:table-cell office:date-value=\"2024-05-31\"><text:p>31.5.</text:p></table:table-cell></table:table-row></table:table></a>";
    let more = [
        (
            "a.pptx",
            vec![
                part("ppt/presentation.xml", order),
                part("ppt/_rels/presentation.xml.rels", relations),
                part("ppt/s/a.xml", slide),
                part("docProps/core.xml", core),
            ],
        ),
        (
            "a.xlsx",
            vec![
                part("xl/workbook.xml", workbook),
                part("xl/_rels/workbook.xml.rels", parts_of_book),
                part("xl/s.xml", sheet),
                part(
                    "xl/y.xml",
                    "<s><numFmt numFmtId=\"164\" formatCode=\"yyyy\"/><cellXfs><xf/><xf numFmtId=\"164\"/></cellXfs></s>",
                ),
                part("xl/t.xml", "<sst><si><t>Product</t></si></sst>"),
            ],
        ),
        ("a.ods", vec![part("content.xml", cells), part("sheets", "")]),
    ];
    for (name, parts) in files.into_iter().chain(more) {
        std::fs::write(path_of(&format!("package/{name}")), pack(&parts, &mut Random::new(1, 1)).unwrap()).unwrap();
    }
}

#[test]
#[ignore = "writes the corpus"]
fn make_pdfs() {
    use pdf::{File, at, hex, lines, one_page, rows, unicode_font};
    if !writes() {
        return;
    }
    let cells: &[&[&str]] =
        &[&["The council sold", "the old ferry in"], &["1973 for 40", "crowns to the"], &["town.", "mayor."]];
    let columns = at(60.0, 740.0, 16.0, "Two notes of the year")
        + &rows(&[60.0, 300.0], 700.0, 11.0, 14.0, cells)
        + &rows(&[60.0, 200.0, 300.0], 600.0, 9.0, 12.0, &[&["Boat", "12 m", "40"], &["Petrel", "9 m", "15"]])
        + &lines(60.0, 500.0, 11.0, 14.0, &["recon-", "struction", "well-", "known"]);
    let levels = "BT /F 11 Tf 1 0 0 1 60 720 Tm (in 1788) Tj 4 Ts /F 7 Tf (3) Tj 0 Ts /F 11 Tf ( and 10) Tj 4 Ts (6) Tj ET \
                  BT 0 1 -1 0 30 200 Tm (Stamp) Tj ET";
    let image = "BI /W 2 /H 2 /BPC 8 /CS /G ID \u{1}EI\u{2} EI BI ID x EI EI EI BT /F 12 Tf (sound words) Tj ET";
    let mut letters = File::new();
    let font = unicode_font(&mut letters);
    let hebrew = hex("2021 \u{5ea}\u{5e0}\u{5e9}\u{5dc} (ab)");
    let accents = hex("caf\u{b4}");
    letters.page_with(
        format!("BT /U 11 Tf 1 0 0 1 60 720 Tm <{hebrew}> Tj T* [<{accents}> 500 <{}>] TJ ET", hex("e")),
        &format!("/U {font} 0 R"),
        "",
    );
    let mut form = File::new();
    let drawn =
        form.stream("/Subtype /Form /BBox [0 0 200 20] /Matrix [1 0 0 1 0 0]", "BT /F 12 Tf 4 6 Td (Aurora) Tj ET");
    let field = form.object(format!(
        "<< /Subtype /Widget /Rect [160 722 360 742] /FT /Tx /V (Aurora Minor) /AP << /N {drawn} 0 R >> >>"
    ));
    form.catalog(&format!("/AcroForm << /Fields [{field} 0 R] /DR << /Font << /F 3 0 R >> >> >>"));
    form.page_with(at(60.0, 728.0, 12.0, "Name of boat:"), "", &format!("/Annots [{field} 0 R]"));
    let mut widths = File::new();
    let font = widths
        .object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /FirstChar 32 /LastChar 126 /Widths [278 278] >>");
    widths.page_with("BT /W 12 Tf (words) Tj ET", &format!("/W {font} 0 R"), "");
    let files = [
        ("columns", one_page(&columns)),
        ("levels", one_page(levels)),
        ("image", one_page(image)),
        ("letters", letters.bytes()),
        ("form", form.bytes()),
        ("widths", widths.bytes()),
    ];
    std::fs::create_dir_all(path_of("pdf")).unwrap();
    for (name, bytes) in files {
        std::fs::write(path_of(&format!("pdf/{name}.pdf")), bytes).unwrap();
    }
}

/// A record of [MS-XLS].
fn biff(kind: u16, data: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &u16::try_from(data.len()).unwrap().to_le_bytes(), data].concat()
}

#[test]
#[ignore = "writes the corpus"]
fn make_workbooks() {
    if !writes() {
        return;
    }
    let words = |values: &[u16]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let string = |width: usize, text: &str| [&text.len().to_le_bytes()[..width], &[0], text.as_bytes()].concat();
    let label = |row: u16, column: u16, text: &str| biff(0x0204, &[words(&[row, column, 0]), string(2, text)].concat());
    let number = |row: u16, column: u16, style: u16| {
        biff(0x0203, &[words(&[row, column, style]), 45_443.5_f64.to_le_bytes().to_vec()].concat())
    };
    let strings = [
        2_u32.to_le_bytes().to_vec(),
        2_u32.to_le_bytes().to_vec(),
        string(2, "Rope"),
        words(&[3]),
        vec![1],
        words(&[97, 0x16b, 99]),
    ]
    .concat();
    let shared = |row: u16, at: u32| biff(0x00fd, &[words(&[row, 0, 0]), at.to_le_bytes().to_vec()].concat());
    let formula = |row: u16, value: [u8; 8]| biff(0x0006, &[words(&[row, 1, 0]), value.to_vec(), vec![0; 8]].concat());
    let files = [
        (
            "labels.xls",
            vec![],
            vec![label(0, 0, "Product"), label(0, 1, "Price"), label(1, 0, "Rope"), number(1, 1, 0)],
        ),
        (
            "strings.xls",
            vec![
                biff(0x041e, &[words(&[164]), string(2, "yyyy")].concat()),
                biff(0x00e0, &words(&[0, 164])),
                biff(0x00fc, &strings[..20]),
                biff(0x003c, &strings[20..]),
            ],
            vec![shared(0, 0), label(0, 1, "Since"), shared(1, 1), number(1, 1, 0)],
        ),
        (
            "formulas.xls",
            vec![biff(0x0022, &[1, 0])],
            vec![
                label(0, 0, "a"),
                label(0, 1, "b"),
                formula(1, 2.5_f64.to_le_bytes()),
                formula(2, [0, 0, 0, 0, 0, 0, 255, 255]),
                biff(0x0207, &string(2, "x")),
                formula(3, [1, 0, 1, 0, 0, 0, 255, 255]),
                biff(0x00bd, &words(&[4, 0, 0, 10, 0, 0, 20, 0, 1])),
                biff(0x0208, &words(&[5, 0, 0, 0, 0, 0, 32, 0])),
            ],
        ),
    ];
    for (name, globals, cells) in files {
        let bof = biff(0x0809, &words(&[0x0600, 5]));
        let bound = |at: usize| {
            biff(0x0085, &[u32::try_from(at).unwrap().to_le_bytes().to_vec(), vec![0, 0], string(1, "Prices")].concat())
        };
        let head = [bof.clone(), globals.concat()].concat();
        let stream = [
            head.clone(),
            bound(head.len() + bound(0).len() + 4),
            biff(0x000a, &[]),
            bof,
            cells.concat(),
            biff(0x000a, &[]),
        ]
        .concat();
        let mut file = cfb::CompoundFile::create(std::io::Cursor::new(Vec::new())).unwrap();
        std::io::Write::write_all(&mut file.create_stream("/Workbook").unwrap(), &stream).unwrap();
        let path = path_of(&format!("workbook/{name}"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file.into_inner().into_inner()).unwrap();
    }
}
