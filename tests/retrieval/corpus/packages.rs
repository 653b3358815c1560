//! Word and OpenDocument texts, and EPUB books.

use super::one;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// An archive with these parts.
pub(super) fn package(parts: &[(&str, &str)]) -> Vec<u8> {
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

#[test]
fn raised_letters_keep_their_level_in_word() {
    let up = "<w:rPr><w:vertAlign w:val=\"superscript\"/></w:rPr>";
    let body = format!(
        "<w:p><w:r><w:t>Built in 1788</w:t></w:r><w:r>{up}<w:t>3</w:t></w:r><w:r><w:t xml:space=\"preserve\"> for 10</w:t></w:r>\
        <w:r>{up}<w:t>6</w:t></w:r><w:r><w:t xml:space=\"preserve\"> crowns, 1790</w:t></w:r><w:r>{up}<w:footnoteReference w:id=\"2\"/></w:r>\
        <w:r><w:t>, 2</w:t></w:r><w:r><w:rPr><w:position w:val=\"6\"/></w:rPr><w:t>10</w:t></w:r><w:r><w:t xml:space=\"preserve\"> H</w:t></w:r>\
        <w:r><w:rPr><w:rStyle w:val=\"Low\"/></w:rPr><w:t>2</w:t></w:r><w:r><w:t>O and </w:t></w:r>\
        <m:oMath><m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>9</m:t></m:r></m:sup></m:sSup><m:r><m:t>+</m:t></m:r>\
        <m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath></w:p>"
    );
    let styles = "<w:styles xmlns:w=\"w\"><w:style w:styleId=\"Low\"><w:rPr><w:vertAlign w:val=\"subscript\"/></w:rPr></w:style></w:styles>";
    let notes = "<w:footnotes xmlns:w=\"w\"><w:footnote w:id=\"2\"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t>The deed says 1791.</w:t></w:r></w:p>\
        </w:footnote></w:footnotes>";
    let document = word(&body).replace("xmlns:mc", "xmlns:m=\"m\" xmlns:mc");
    let parts = [("word/document.xml", document.as_str()), ("word/styles.xml", styles), ("word/footnotes.xml", notes)];
    assert_eq!(
        one("a.docx", &package(&parts)).unwrap()[0].text,
        "Built in 1788 [3] for 10^6 crowns, 1790, 2^10 H2O and 10^9+1/2\n\nThe deed says 1791."
    );
}

#[test]
fn properties_of_based_styles_struck_text_symbols_and_roots_in_word() {
    let run = |properties: &str, text: &str| {
        format!("<w:r><w:rPr>{properties}</w:rPr><w:t xml:space=\"preserve\">{text}</w:t></w:r>")
    };
    let root = |degree: &str, of: &str| {
        format!("<m:rad><m:deg><m:r><m:t>{degree}</m:t></m:r></m:deg><m:e><m:r><m:t>{of}</m:t></m:r></m:e></m:rad>")
    };
    let body = [
        run("", "Built in 1788"),
        run("<w:rStyle w:val=\"Derived\"/>", "3"),
        run("<w:rStyle w:val=\"Derived\"/><w:vertAlign w:val=\"baseline\"/>", " by 12"),
        run("<w:rStyle w:val=\"Unseen\"/>", "HIDDEN"),
        run("<w:strike/>", " 1888"),
        run("<w:dstrike/><w:strike w:val=\"0\"/>", " 1887"),
        run("<w:strike w:val=\"0\"/><w:rPrChange><w:rPr><w:strike/></w:rPr></w:rPrChange>", " men at 20 "),
        "<w:r><w:sym w:font=\"Symbol\" w:char=\"F0B0\"/></w:r>".to_owned(),
        run("", "C, "),
        format!("<m:oMath>{}<m:r><m:t>=</m:t></m:r>{}</m:oMath>", root("3", "27"), root("", "9")),
        "<m:oMath><m:r><m:t> or 4</m:t></m:r><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"
            .to_owned(),
    ];
    let styles = "<w:styles xmlns:w=\"w\"><w:style w:styleId=\"Derived\"><w:basedOn w:val=\"Mark\"/></w:style><w:style w:styleId=\"Mark\"><w:rPr>\
        <w:vertAlign w:val=\"superscript\"/></w:rPr></w:style><w:style w:styleId=\"Gone\"><w:rPr><w:vanish/></w:rPr></w:style>\
        <w:style w:styleId=\"Unseen\"><w:basedOn w:val=\"Gone\"/></w:style></w:styles>";
    let document = word(&format!("<w:p>{}</w:p>", body.concat())).replace("xmlns:mc", "xmlns:m=\"m\" xmlns:mc");
    let read = one("a.docx", &package(&[("word/document.xml", &document), ("word/styles.xml", styles)])).unwrap();
    assert_eq!(read[0].text, "Built in 1788 [3] by 12 men at 20 \u{b0}C, \u{b3}\u{221a}(27)=\u{221a}(9) or 4 1/2");
}

#[test]
fn properties_of_parent_styles_and_struck_text_in_open_documents() {
    let style = |name: &str, parent: &str, properties: &str| {
        format!(
            "<style:style style:name=\"{name}\" style:parent-style-name=\"{parent}\"><style:text-properties {properties}/></style:style>"
        )
    };
    let styles = style("Up", "", "style:text-position=\"33% 58%\"")
        + &style("Gone", "", "text:display=\"none\"")
        + &style("T1", "", "style:text-position=\"super 58%\"");
    let own = style("T1", "Up", "")
        + &style("T2", "Gone", "")
        + &style("T3", "", "style:text-line-through-style=\"solid\"")
        + &style("T4", "T3", "style:text-line-through-style=\"none\"")
        + &style("T5", "Up", "style:text-position=\"0% 100%\"");
    let span = |name: &str, text: &str| format!("<text:span text:style-name=\"{name}\">{text}</text:span>");
    let spaces = "xmlns:o=\"o\" xmlns:text=\"t\" xmlns:style=\"s\"";
    let content = format!(
        "<o:d {spaces}>{own}<text:p>Built in 1788{} by 12{} men,{}{}{}.</text:p></o:d>",
        span("T1", "3"),
        span("T5", "4"),
        span("T2", " HIDDEN"),
        span("T3", " 1888"),
        span("T4", " 1889")
    );
    let styles = format!("<o:d {spaces}>{styles}</o:d>");
    let read = one("a.odt", &package(&[("content.xml", &content), ("styles.xml", &styles)])).unwrap();
    assert_eq!(read[0].text, "Built in 1788 [3] by 124 men, 1889.");
}

#[test]
fn boxes_of_word_follow_their_paragraph() {
    let inner = "<w:txbxContent><w:p><w:r><w:t>Box one</w:t></w:r></w:p><w:p><w:r><w:t>Box two</w:t></w:r></w:p></w:txbxContent>";
    let body = format!(
        "<w:p><w:r><w:t>The mill</w:t></w:r><w:r><mc:AlternateContent><mc:Choice><w:drawing>{inner}</w:drawing></mc:Choice>\
        <mc:Fallback><w:pict>{inner}</w:pict></mc:Fallback></mc:AlternateContent></w:r><w:commentRangeStart/><w:r>\
        <w:t xml:space=\"preserve\"> burned.</w:t></w:r><w:r><w:commentReference w:id=\"0\"/></w:r></w:p><w:p><w:r><w:t>Next.</w:t></w:r></w:p>"
    );
    let comments =
        "<w:comments xmlns:w=\"w\"><w:comment><w:p><w:r><w:t>COMMENT</w:t></w:r></w:p></w:comment></w:comments>";
    let parts = [
        ("word/document.xml", word(&body)),
        ("word/comments.xml", comments.into()),
        ("word/header1.xml", "<w:hdr xmlns:w=\"w\"><w:p><w:r><w:t>HEADER</w:t></w:r></w:p></w:hdr>".into()),
        ("word/media/image1.png", "x".into()),
        ("word/embeddings/a.xlsx", "x".into()),
    ];
    let parts: Vec<(&str, &str)> = parts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let documents = one("a.docx", &package(&parts)).unwrap();
    assert_eq!(documents[0].text, "The mill burned.\n\nBox one\n\nBox two\n\nNext.");
    let notes = ["1 picture is not read: image1.png", "1 embedded object is not read: a.xlsx"];
    assert_eq!(documents[0].notes, notes);
}

#[test]
fn boxes_shapes_and_levels_of_open_documents() {
    let content = "<o:document-content xmlns:o=\"o\" xmlns:text=\"t\" xmlns:style=\"s\" xmlns:draw=\"d\" xmlns:svg=\"v\" xmlns:table=\"b\">\
        <style:style style:name=\"Up\"><style:text-properties style:text-position=\"super 58%\"/></style:style>\
        <style:style style:name=\"Down\"><style:text-properties style:text-position=\"-33% 58%\"/></style:style><o:text>\
        <text:p>Anchor of 1788<text:span text:style-name=\"Up\">3</text:span>.<draw:frame><svg:desc>ALTERNATIVE</svg:desc><draw:text-box>\
        <text:p>Box one line one</text:p><text:p>Box one line two</text:p></draw:text-box></draw:frame><draw:custom-shape><text:p>Shape</text:p>\
        </draw:custom-shape> Its end, 10<text:span text:style-name=\"Up\">6</text:span> of H<text:span text:style-name=\"Down\">2</text:span>O.</text:p>\
        <draw:frame><draw:text-box><text:p>On the page</text:p></draw:text-box></draw:frame><text:p>Next.</text:p>\
        <table:table-row><table:table-cell><text:p>a<draw:frame><draw:text-box><text:p>in a cell</text:p></draw:text-box></draw:frame></text:p>\
        </table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></o:text></o:document-content>";
    assert_eq!(
        one("a.odt", &package(&[("content.xml", content)])).unwrap()[0].text,
        "Anchor of 1788 [3]. Its end, 10^6 of H2O.\n\nBox one line one\n\nBox one line two\n\nShape\n\nOn the page\n\nNext.\n\na in a cell b"
    );
    let manifest = "<m:manifest xmlns:m=\"m\"><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>";
    let said = one("a.odt", &package(&[("content.xml", "x"), ("META-INF/manifest.xml", manifest)])).unwrap_err();
    assert_eq!(said, "a.odt: expected a document without a password, found an encrypted one");
    let said = one("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1").unwrap_err();
    assert!(
        said.starts_with("a.docx: expected a Word document (.docx), found an encrypted document, or one in "),
        "{said}"
    );
}

#[test]
fn missing_parts_of_a_book_are_reported() {
    let container = "<container><rootfiles><rootfile full-path=\"c.opf\"/></rootfiles></container>";
    let items =
        ["a", "gone", "locked", "scan", "deep"].map(|id| format!("<item id=\"{id}\" href=\"{id}.xhtml\"/>")).concat();
    let spine = ["a", "gone", "locked", "scan", "deep", "none"].map(|id| format!("<itemref idref=\"{id}\"/>")).concat();
    let opf = format!("<package><manifest>{items}</manifest><spine>{spine}</spine></package>");
    let encryption =
        "<encryption><CipherReference URI=\"locked.xhtml\"/><CipherReference URI=\"font.otf\"/></encryption>";
    let deep = "<div>".repeat(600);
    let parts = [
        ("META-INF/container.xml", container),
        ("META-INF/encryption.xml", encryption),
        ("c.opf", &opf),
        ("a.xhtml", "<p>It opened.</p>"),
        ("locked.xhtml", "gibberish"),
        ("scan.xhtml", "<p><img src=\"1.png\"/></p>"),
        ("deep.xhtml", &deep),
    ];
    let documents = one("a.epub", &package(&parts)).unwrap();
    assert_eq!(documents.len(), 1);
    let expected = [
        "chapter gone.xhtml is missing",
        "chapter locked.xhtml is encrypted",
        "chapter scan.xhtml is a picture without text",
        "chapter deep.xhtml is not read: expected at most 512 open elements, found more, at line 1",
        "chapter none is missing: the book does not say where it is",
    ];
    assert_eq!(documents[0].notes, expected);
}

#[test]
fn a_part_that_cannot_be_read_is_reported_and_the_others_are_read() {
    let document = word("<w:p><w:r><w:t>It opened.</w:t></w:r></w:p>");
    let notes = "<w:footnotes xmlns:w=\"w\"><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:oops></w:footnotes>";
    let parts = [("word/document.xml", document.as_str()), ("word/footnotes.xml", notes)];
    let documents = one("a.docx", &package(&parts)).unwrap();
    assert_eq!(documents[0].text, "It opened.\n\nA note.");
    let note = &documents[0].notes[0];
    assert!(
        note.starts_with("word/footnotes.xml is read in part: expected XML in word/footnotes.xml, found "),
        "{note}"
    );
    // What the broken part left open neither hides the next part nor joins it.
    let hidden =
        "<w:footnotes xmlns:w=\"w\"><w:p><w:r><w:t>A note.</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr></w:oops>";
    let last = "<w:endnotes xmlns:w=\"w\"><w:p><w:r><w:t>The end.</w:t></w:r></w:p></w:endnotes>";
    let three = [parts[0], ("word/footnotes.xml", hidden), ("word/endnotes.xml", last)];
    let documents = one("a.docx", &package(&three)).unwrap();
    assert_eq!(documents[0].text, "It opened.\n\nA note.\n\nThe end.");
    let mut bytes = package(&parts);
    // A byte of the deflated notes.
    let at = bytes.windows(18).position(|window| window == b"word/footnotes.xml").unwrap() + 40;
    bytes[at] ^= 0xff;
    let documents = one("a.docx", &bytes).unwrap();
    assert!(documents[0].notes[0].starts_with("word/footnotes.xml is not read: "), "{:?}", documents[0].notes);
    // XML may be in UTF-16.
    let utf16: Vec<u8> = document.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    archive.start_file("word/document.xml", SimpleFileOptions::default()).unwrap();
    archive.write_all(&[b"\xff\xfe", &utf16[..]].concat()).unwrap();
    assert_eq!(one("a.docx", &archive.finish().unwrap().into_inner()).unwrap()[0].text, "It opened.");
}

#[test]
fn parts_that_a_word_document_lacks_are_noted() {
    let body = "<w:p><w:r><w:t>It closed.</w:t></w:r><w:r><w:footnoteReference/></w:r></w:p><w:altChunk/>";
    let documents = one("a.docx", &package(&[("word/document.xml", &word(body))])).unwrap();
    assert_eq!(documents[0].notes, ["word/footnotes.xml is missing", "embedded documents are not read: 1"]);
}

#[test]
fn slides_come_in_order_with_their_notes() {
    let shape = |kind: &str, text: &str| {
        format!(
            "<p:sp><p:nvSpPr><p:nvPr>{kind}</p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        )
    };
    let slide = |attributes: &str, body: &str| {
        format!("<p:sld xmlns:p=\"p\" xmlns:a=\"a\"{attributes}><p:cSld>{body}</p:cSld></p:sld>")
    };
    let first = slide(
        "",
        &(shape("<p:ph type=\"title\"/>", "The mill")
            + "<p:sp><p:txBody><a:p><a:r><a:t>It cost 10</a:t></a:r><a:r><a:rPr baseline=\"30000\"/><a:t>6</a:t></a:r><a:r><a:rPr strike=\"sngStrike\"/><a:t> STRUCK</a:t></a:r><a:r><a:t> crowns.</a:t></a:r>\
               <a:fld type=\"slidenum\"><a:t>NUMBER</a:t></a:fld></a:p><a:p><a:r><a:t>Burned</a:t></a:r><a:br/><a:r><a:t>in 1801.</a:t></a:r></a:p></p:txBody></p:sp>"
            + "<a:tbl><a:tr><a:tc><a:p><a:r><a:t>a</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>b</a:t></a:r></a:p></a:tc></a:tr></a:tbl>"
            + &shape("<p:ph type=\"ftr\"/>", "FOOTER")),
    );
    let spoken = format!(
        "<p:notes xmlns:p=\"p\" xmlns:a=\"a\">{}{}</p:notes>",
        shape("<p:ph type=\"body\"/>", "Say 1801."),
        shape("<p:ph type=\"sldNum\"/>", "NUMBER")
    );
    let relation = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id=\"{id}\" Type=\"http://x/{kind}\" Target=\"{target}\"/>")
    };
    let order = "<p:presentation xmlns:p=\"p\" xmlns:r=\"r\"><p:sldId id=\"256\" r:id=\"r2\"/><p:sldId id=\"257\" r:id=\"r1\"/><p:sldId id=\"258\" r:id=\"r3\"/>\
        <p:sldId id=\"259\" r:id=\"r4\"/></p:presentation>";
    let slides = relation("r1", "slide", "slides/slide1.xml")
        + &relation("r2", "slide", "/ppt/slides/slide2.xml")
        + &relation("r3", "slide", "slides/slide3.xml")
        + &relation("r4", "slide", "slides/gone.xml");
    let parts = [
        ("ppt/presentation.xml", order.to_owned()),
        ("ppt/_rels/presentation.xml.rels", format!("<Relationships>{slides}</Relationships>")),
        ("ppt/slides/slide1.xml", slide("", &shape("", "Last"))),
        ("ppt/slides/slide2.xml", first),
        ("ppt/slides/slide3.xml", slide(" show=\"0\"", &shape("", "HIDDEN"))),
        ("ppt/slides/_rels/slide2.xml.rels", relation("r1", "notesSlide", "../notesSlides/n.xml")),
        ("ppt/notesSlides/n.xml", spoken),
        ("docProps/core.xml", "<c xmlns:dc=\"d\"><dc:title>Orrin</dc:title></c>".to_owned()),
    ];
    let parts: Vec<(&str, &str)> = parts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let documents = one("a.pptx", &package(&parts)).unwrap();
    let read: Vec<_> = documents.iter().map(|document| document.text.as_str()).collect();
    assert_eq!(read, ["The mill\n\nIt cost 10^6 crowns.\n\nBurned\nin 1801.\n\na b\n\nNotes: Say 1801.", "Last"]);
    assert_eq!(documents[1].title.as_deref(), Some("Orrin"));
    assert_eq!(documents[0].notes, ["slide 3 is hidden and left out", "slide 4 is missing"]);
}
