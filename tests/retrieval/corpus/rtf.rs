//! Rich Text Format.

use super::one;

fn text(rtf: &str) -> Result<String, String> {
    one("a.rtf", rtf.as_bytes()).map(|documents| documents[0].text.clone())
}

#[test]
fn letters_of_the_body_are_read() {
    let rtf = "{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 Times;}}{\\*\\generator X;}{\\info{\\title Diary}{\\author A}}\n\
        {\\header HEADER}\\pard The caf\\'e9 \\{open\\}ed in\\~1935.\\par {\\v HIDDEN}{\\deleted GONE}{\\fs1 TINY}Second\\u8212-line\
        {\\uc0\\u8364}5\\u55357 ?\\u56832 ?.\\line Third{\\field{\\*\\fldinst PAGE}{\\fldrslt  3}}\\tab x\\bin3 }{zend{\\pict 00ff}}";
    assert_eq!(
        text(rtf).unwrap(),
        "The caf\u{e9} {open}ed in 1935.\n\nSecond\u{2014}line\u{20ac}5\u{1f600}.\nThird 3 xend"
    );
    assert_eq!(one("a.rtf", rtf.as_bytes()).unwrap()[0].title.as_deref(), Some("Diary"));
}

#[test]
fn unreadable_files_are_reported() {
    assert_eq!(text("plain").unwrap_err(), "a.rtf: expected an RTF document, found something else");
    let old = "{\\rtf1\\pc \\'cf}";
    assert_eq!(text(old).unwrap_err(), "a.rtf: expected RTF in Unicode or a known code page, found code page 437");
    let deep = format!("{{\\rtf1 {}", "{".repeat(600));
    assert_eq!(text(&deep).unwrap_err(), "a.rtf: expected at most 512 groups within each other, found more");
    assert_eq!(text("{\\rtf1 a\\'").unwrap(), "a");
    assert_eq!(text("{\\rtf1 a\\bin99999 ").unwrap(), "a");
    assert_eq!(text("{\\rtf1 a}}}} b").unwrap(), "a");
}

#[test]
fn letters_are_in_the_code_page_of_their_font() {
    let fonts = "{\\fonttbl{\\f0\\fcharset0 A;}{\\f1\\fcharset204{\\*\\fname B;}B Cyr;}{\\f2\\fcharset128 C;}{\\f3\\cpg1253 D;}{\\f4\\fcharset2 Symbol;}}";
    let body = "\\f0 caf\\'e9 {\\f1 \\'cc\\'ee\\'f1\\'f2} \\'e9\\f2 \\'93\\'fa\\'96{\\b {}}\\'83A \\f3\\'e1 \\f4\\'b7\\'e1 \\plain\\'e9";
    let rtf = format!("{{\\rtf1\\ansi\\ansicpg1251\\deff0{fonts}{{\\info{{\\title \\'cc\\'ee\\'f1\\'f2}}}}\n{body}}}");
    let documents = one("a.rtf", rtf.as_bytes()).unwrap();
    assert_eq!(
        documents[0].text,
        "caf\u{e9} \u{41c}\u{43e}\u{441}\u{442} \u{e9}\u{65e5}\u{fffd}\u{30a2} \u{3b1} \u{2022} \u{e9}"
    );
    // Text of a title has no font.
    assert_eq!(documents[0].title.as_deref(), Some("\u{41c}\u{43e}\u{441}\u{442}"));
}

#[test]
fn the_code_page_of_the_document_counts_where_fonts_name_none() {
    let most = "\u{41c}\u{43e}\u{441}\u{442}";
    for fonts in ["", "{\\fonttbl{\\f0 A;}}", "{\\fonttbl{\\f0\\fcharset0 A;}}", "{\\fonttbl{\\f0\\fcharset1 A;}}"] {
        let rtf = format!("{{\\rtf1\\ansi\\ansicpg1251\\deff0{fonts}\\f0 \\'cc\\'ee\\'f1\\'f2}}");
        assert_eq!(text(&rtf).unwrap(), most, "{fonts}");
    }
    // Bytes above 127 that are not escaped, against the standard: in the code page, or UTF-8.
    let raw = b"{\\rtf1\\ansi\\ansicpg1251 \xcc\xee\xf1\xf2}";
    assert_eq!(one("a.rtf", raw).unwrap()[0].text, most);
    assert_eq!(text(&format!("{{\\rtf1\\ansi\\ansicpg1251 {most}}}")).unwrap(), most);
    // Letters that stand in for one that was read are counted by byte.
    assert_eq!(text("{\\rtf1\\uc2\\u1052\\'cc\\'eeo{\\uc0\\u1086}st}").unwrap(), "\u{41c}o\u{43e}st");
    // They end where a group begins or ends.
    assert_eq!(text("{\\rtf1\\uc2\\u1052 ?{os}t {\\u1086 ?}st}").unwrap(), "\u{41c}ost \u{43e}st");
}

#[test]
fn raised_letters_notes_and_boxes() {
    let rtf = "{\\rtf1\\ansi Built in 1788{\\super 3} for 10{\\up6 6} crowns, H{\\sub 2}O, in 1790{\\super\\chftn\
        {\\footnote\\chftn  The deed says 1791.}}{\\shp{\\*\\shpinst{\\sp{\\sn x}{\\sv 7}}{\\shptxt\\pard The bell weighs 800 kg.\\par}}\
        {\\shprslt FALLBACK}} by Sand.\\par Next\\super 1\\nosupersub  line.}";
    assert_eq!(
        text(rtf).unwrap(),
        "Built in 1788 [3] for 10^6 crowns, H2O, in 1790 by Sand.\n\nThe bell weighs 800 kg.\n\nNext [1] line.\n\nThe deed says 1791."
    );
}

#[test]
fn struck_text_is_left_out() {
    let rtf = "{\\rtf1 Opened in {\\strike 1888} {\\striked1 1887} \\strike x\\strike0 1889\\strike y\\plain .}";
    assert_eq!(text(rtf).unwrap(), "Opened in 1889.");
}
