//! Word and OpenDocument texts, and EPUB books.

use super::one;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// An archive with these parts.
fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn word(body: &str) -> String {
    format!("<w:document xmlns:w=\"w\" xmlns:mc=\"mc\"><w:body>{body}</w:body></w:document>")
}

#[test]
fn word_documents_are_read_as_they_are_seen() {
    let body = "<w:p><w:pPr><w:pStyle w:val=\"Heading1\"/><w:rPr><w:vanish/></w:rPr></w:pPr><w:r><w:t>Repairs</w:t></w:r></w:p>\
        <w:p><w:r><w:t xml:space=\"preserve\">The bridge </w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>HIDDEN</w:t></w:r>\
        <w:r><w:rPr><w:rStyle w:val=\"Secret\"/></w:rPr><w:t>STYLED</w:t></w:r>\
        <w:r><w:rPr><w:rStyle w:val=\"Secret\"/><w:vanish w:val=\"0\"/></w:rPr><w:t>was </w:t></w:r>\
        <w:r><w:rPr><w:sz w:val=\"1\"/></w:rPr><w:t>TINY</w:t></w:r><w:del><w:r><w:delText>DELETED</w:delText></w:r></w:del>\
        <w:moveFrom><w:r><w:t>MOVED</w:t></w:r></w:moveFrom><w:r><w:instrText>PAGE</w:instrText></w:r>\
        <w:r><w:t>repaired in 1971 &amp; 1972&#46;</w:t><w:br/><w:t>Line</w:t><w:tab/><w:t>two</w:t></w:r></w:p>\
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>\
        <w:p><w:r><mc:AlternateContent><mc:Choice><w:t>Chosen</w:t></mc:Choice><mc:Fallback><w:t>FALLBACK</w:t></mc:Fallback>\
        </mc:AlternateContent></w:r></w:p>";
    let styles = "<w:styles xmlns:w=\"w\"><w:style w:styleId=\"Secret\"><w:rPr><w:vanish/></w:rPr></w:style>\
        <w:style w:styleId=\"Heading1\"><w:rPr><w:sz w:val=\"32\"/></w:rPr></w:style></w:styles>";
    let notes =
        "<w:footnotes xmlns:w=\"w\"><w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>";
    let core = "<cp xmlns:dc=\"dc\"><dc:title> The  bridge </dc:title><dc:modified>2020-01-01</dc:modified></cp>";
    let parts = [
        ("word/document.xml", word(body)),
        ("word/styles.xml", styles.into()),
        ("word/footnotes.xml", notes.into()),
        ("docProps/core.xml", core.into()),
    ];
    let parts: Vec<(&str, &str)> = parts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let documents = one("a.docx", &package(&parts)).unwrap();
    assert_eq!(
        documents[0].text,
        "Repairs\n\nThe bridge was repaired in 1971 & 1972.\nLine two\n\na b\n\nChosen\n\nA note."
    );
    assert_eq!((documents[0].title.as_deref(), documents[0].date.as_deref()), (Some("The bridge"), None));
}

#[test]
fn open_documents_are_read_as_they_are_seen() {
    let content = "<o:document-content xmlns:o=\"o\" xmlns:text=\"t\" xmlns:style=\"s\" xmlns:table=\"tb\" xmlns:fo=\"fo\">\
        <o:automatic-styles><style:style style:name=\"T1\"><style:text-properties text:display=\"none\"/></style:style>\
        <style:style style:name=\"T2\"><style:text-properties fo:font-size=\"0.5pt\"/></style:style></o:automatic-styles>\
        <o:body><o:text><text:tracked-changes><text:p>DELETED</text:p></text:tracked-changes><text:h>Toll</text:h>\
        <text:p>The toll<text:s text:c=\"2\"/>ended<text:span text:style-name=\"T1\">HIDDEN</text:span> in\
        <text:span text:style-name=\"T2\">TINY</text:span> 1944<text:note><text:note-citation>1</text:note-citation>\
        <text:note-body><text:p>A note.</text:p></text:note-body></text:note>.<o:annotation><text:p>COMMENT</text:p>\
        </o:annotation></text:p><text:section text:display=\"none\"><text:p>SECTION</text:p></text:section>\
        <table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p>\
        </table:table-cell></table:table-row></table:table></o:text></o:body></o:document-content>";
    let documents = one("a.odt", &package(&[("content.xml", content)])).unwrap();
    assert_eq!(documents[0].text, "Toll\n\nThe toll ended in 1944.\n\na b\n\nA note.");
}

#[test]
fn books_are_read_by_chapter() {
    let container = "<container><rootfiles><rootfile full-path=\"OEBPS/c.opf\"/></rootfiles></container>";
    let opf = "<package xmlns:dc=\"dc\"><metadata><dc:title>Bridges</dc:title><dc:creator>A. Mason</dc:creator>\
        <dc:date>1999-01-02T00:00:00Z</dc:date></metadata><manifest><item id=\"n\" href=\"nav.xhtml\" properties=\"nav\"/>\
        <item id=\"b\" href=\"b%20b.xhtml\"/><item id=\"a\" href=\"../a.xhtml\"/></manifest>\
        <spine><itemref idref=\"n\"/><itemref idref=\"a\"/><itemref idref=\"b\"/><itemref idref=\"gone\"/></spine></package>";
    let a = "<html><head><title/><script src=\"x\"/></head><body><h1>One</h1><p hidden=\"hidden\">HIDDEN</p><p>It closed.</p></body></html>";
    let parts = [
        ("META-INF/container.xml", container),
        ("OEBPS/c.opf", opf),
        ("OEBPS/nav.xhtml", "<p>CONTENTS</p>"),
        ("OEBPS/b b.xhtml", "<p>It opened.</p>"),
        ("a.xhtml", a),
    ];
    let documents = one("a.epub", &package(&parts)).unwrap();
    let read: Vec<_> = documents.iter().map(|d| (d.text.as_str(), d.id.as_deref().unwrap())).collect();
    assert_eq!(read, [("One\n\nIt closed.", "a.xhtml"), ("It opened.", "OEBPS/b b.xhtml")]);
    let first = &documents[0];
    let metadata = (first.title.as_deref(), first.source.as_deref(), first.date.as_deref());
    assert_eq!(metadata, (Some("Bridges"), Some("A. Mason"), Some("1999-01-02")));
}

#[test]
fn other_archives_are_refused_in_one_line() {
    #[rustfmt::skip]
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("a.docx", b"x".to_vec(), "a.docx: expected a Word document (.docx), found something else, or a broken archive ("),
        ("a.docx", package(&[("x", "y")]), "a.docx: expected a Word document (.docx), found an archive without word/document.xml"),
        ("a.odt", package(&[("x", "y")]), "a.odt: expected an OpenDocument text (.odt), found an archive without content.xml"),
        ("a.epub", package(&[("x", "y")]), "a.epub: expected an EPUB book, found an archive without META-INF/container.xml"),
        ("a.docx", package(&[("word/document.xml", "<a><b></a>")]), "a.docx: expected XML in word/document.xml, found "),
        ("a.docx", package(&[("word/document.xml", &word("<w:p/>"))]), "a.docx: expected text, found an empty document"),
    ];
    for (name, content, expected) in cases {
        let said = one(name, content).unwrap_err();
        assert!(said.starts_with(expected) && !said.contains('\n'), "{said}");
    }
}
