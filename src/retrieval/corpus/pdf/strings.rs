//! Text strings (PDF 32000-1, section 7.9.2.2).

/// Characters of PDFDocEncoding from 0x80 on that Latin-1 has not.
const NOT_LATIN: &str = "\u{2022}\u{2020}\u{2021}\u{2026}\u{2014}\u{2013}\u{192}\u{2044}\u{2039}\u{203a}\u{2212}\u{2030}\
    \u{201e}\u{201c}\u{201d}\u{2018}\u{2019}\u{201a}\u{2122}\u{fb01}\u{fb02}\u{141}\u{152}\u{160}\u{178}\u{17d}\u{131}\
    \u{142}\u{153}\u{161}\u{17e}\u{fffd}\u{20ac}";

/// Decodes a text string: UTF-16 or UTF-8 by its byte order mark, else PDFDocEncoding.
pub(super) fn decoded(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, rest @ ..] => {
            let units: Vec<u16> = rest.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
            String::from_utf16_lossy(&units)
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => bytes.iter().map(|&byte| letter(byte)).collect(),
    }
}

fn letter(byte: u8) -> char {
    let beyond = byte.checked_sub(0x80).and_then(|at| NOT_LATIN.chars().nth(at.into()));
    beyond.unwrap_or(char::from(byte))
}

/// The title that a text string holds, if it is one.
pub(super) fn title(bytes: &[u8]) -> Option<String> {
    let text = decoded(bytes).split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.strip_prefix("Microsoft Word - ").unwrap_or(&text);
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{decoded, title};

    #[test]
    fn strings_are_decoded_by_their_mark() {
        assert_eq!(decoded(b"\xfe\xff\x05\xd3\x00a"), "\u{5d3}a");
        assert_eq!(decoded(b"\xef\xbb\xbf\xc3\xa9"), "\u{e9}");
        assert_eq!(decoded(b"caf\xe9 \x8d\x80\xa0"), "caf\u{e9} \u{201c}\u{2022}\u{20ac}");
        assert_eq!(title(b"Microsoft Word -  The\nbridge ").as_deref(), Some("The bridge"));
        assert_eq!(title(b" "), None);
    }
}
