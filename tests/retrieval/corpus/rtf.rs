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
fn what_cannot_be_read_is_said() {
    assert_eq!(text("plain").unwrap_err(), "a.rtf: expected an RTF document, found something else");
    let russian = "{\\rtf1\\ansicpg1251 \\'cf}";
    assert_eq!(text(russian).unwrap_err(), "a.rtf: expected RTF in Unicode or code page 1252, found code page 1251");
    let deep = format!("{{\\rtf1 {}", "{".repeat(600));
    assert_eq!(text(&deep).unwrap_err(), "a.rtf: expected at most 512 groups within each other, found more");
    assert_eq!(text("{\\rtf1 a\\'").unwrap(), "a");
    assert_eq!(text("{\\rtf1 a\\bin99999 ").unwrap(), "a");
    assert_eq!(text("{\\rtf1 a}}}} b").unwrap(), "a");
}
