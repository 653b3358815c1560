//! Makes the files of `corpus/record` and `corpus/package`:
//! `MOOT_FUZZ_CORPUS=write cargo test --release --test fuzz -- --ignored make`.

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

/// Whether files are to be written; `--include-ignored` alone changes none.
fn writes() -> bool {
    std::env::var("MOOT_FUZZ_CORPUS").is_ok_and(|value| value == "write")
}

fn place(file: &str) -> PathBuf {
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
    for name in ["madam-rag", "conflict-report", "self-rag", "drag"] {
        let method = methods::build(name, &Typed::new()).unwrap();
        let path = place(&format!("record/{name}.jsonl"));
        let _ = std::fs::remove_file(&path);
        let llm = Scripted::new(reply);
        let mut writer = Writer::open(&path, &header(&method)).unwrap();
        for id in ["q1", "q2"] {
            let (record, _) = method.record(&question(id), Tools::new(&llm), &Settings::default(), &Silent);
            writer.append(&record).unwrap();
        }
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
    for (name, parts) in files {
        std::fs::write(place(&format!("package/{name}")), pack(&parts, &mut Random::new(1, 1)).unwrap()).unwrap();
    }
}
