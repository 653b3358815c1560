//! Character sets of text files.
//!
//! A byte-order mark decides, then UTF-8 that is valid, then what the file declares, then what is detected (chardetng,
//! which browsers use for pages without a declaration). Bytes that are not plausible as text are refused, because a
//! single-byte set decodes any bytes.

mod declared;
mod plausible;
mod stream;
mod wide;

pub(crate) use declared::in_markup;
pub(crate) use stream::{Transcoder, transcoder};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, MACINTOSH, UTF_8, WINDOWS_1252};

/// A decoded file.
#[derive(Debug)]
pub(crate) struct Decoded {
    /// A byte-order mark is its first character.
    pub(crate) text: String,
    /// Assumptions and losses, one line each; for the notes on the file.
    pub(crate) notes: Vec<String>,
}

/// A character set, and the reason for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Choice {
    encoding: &'static Encoding,
    reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// By a byte-order mark or the file's declaration, or UTF-8.
    Given,
    /// The bytes are UTF-8 though the file declares another set.
    NotAsDeclared(&'static Encoding),
    Detected,
}

impl Choice {
    fn given(encoding: &'static Encoding) -> Self {
        Self { encoding, reason: Reason::Given }
    }

    fn detected(encoding: &'static Encoding) -> Self {
        Self { encoding, reason: Reason::Detected }
    }

    /// The note for the user.
    fn note(self) -> Option<String> {
        let name = self.encoding.name();
        match self.reason {
            Reason::Given => None,
            Reason::NotAsDeclared(declared) => Some(format!("read as {name}; it declares {}", declared.name())),
            Reason::Detected => Some(format!("read as {name}: the character set was detected, the file declares none")),
        }
    }
}

/// The text of `bytes`. `declared`: the character set that the format declares, as [`in_markup`] finds it.
///
/// # Errors
/// The content that was found instead of text.
pub(crate) fn decode(bytes: Vec<u8>, declared: Option<&'static Encoding>) -> Result<Decoded, String> {
    if let Some(text) = wide::marked(&bytes) {
        let notes = lost_note(lost(&text), wide::NAME).into_iter().collect();
        return Ok(Decoded { text, notes });
    }
    let choice = choose(&bytes, declared)?;
    if choice.encoding == UTF_8 {
        // Without a copy where nothing is wrong.
        return Ok(match String::from_utf8(bytes) {
            Ok(text) => Decoded { text, notes: choice.note().into_iter().collect() },
            Err(e) => decoded(String::from_utf8_lossy(e.as_bytes()).into_owned(), choice),
        });
    }
    let (text, _) = choice.encoding.decode_without_bom_handling(&bytes);
    let text = text.into_owned();
    if choice.reason == Reason::Detected {
        let is_written = plausible::is_written(&text);
        if (!is_written || plausible::flaws(&text) > 0)
            && let Some(macintosh) = macintosh(&bytes).filter(|text| !is_written || plausible::flaws(text) == 0)
        {
            return Ok(decoded(macintosh, Choice::detected(MACINTOSH)));
        }
        if !is_written {
            return Err(not_utf8(&bytes));
        }
    }
    Ok(decoded(text, choice))
}

/// The text in the old set of the Macintosh, if that is likely. The detector does not know it; it makes rubbish in any other.
fn macintosh(bytes: &[u8]) -> Option<String> {
    let (text, _) = MACINTOSH.decode_without_bom_handling(bytes);
    (plausible::is_western(&text) && plausible::is_written(&text)).then(|| text.into_owned())
}

fn decoded(text: String, choice: Choice) -> Decoded {
    let notes = choice.note().into_iter().chain(lost_note(lost(&text), choice.encoding.name())).collect();
    Decoded { text, notes }
}

fn lost(text: &str) -> u64 {
    text.matches(char::REPLACEMENT_CHARACTER).count() as u64
}

/// The note on characters that could not be decoded.
fn lost_note(lost: u64, encoding: &str) -> Option<String> {
    let characters = if lost == 1 { "character" } else { "characters" };
    (lost > 0).then(|| format!("{lost} {characters} could not be decoded as {encoding}"))
}

/// The character set of `bytes`, or what they are instead of text.
fn choose(bytes: &[u8], declared: Option<&'static Encoding>) -> Result<Choice, String> {
    if wide::is_marked(bytes) {
        return Err("UTF-32 (by its byte-order mark)".to_owned());
    }
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return plausible::binary(bytes, encoding).map_or(Ok(Choice::given(encoding)), Err);
    }
    if let Some(encoding) = plausible::utf16(bytes) {
        return Ok(Choice::detected(encoding));
    }
    if let Some(found) = plausible::binary(bytes, UTF_8) {
        return Err(found);
    }
    let valid = std::str::from_utf8(bytes);
    let is_ascii = bytes.is_ascii();
    match declared {
        // Escape sequences of ASCII: no byte shows that it is not UTF-8.
        Some(declared) if declared == ISO_2022_JP => return Ok(Choice::given(declared)),
        None if is_ascii && bytes.contains(&0x1b) => {
            let detected = detect(bytes);
            return Ok(if detected == ISO_2022_JP { Choice::detected(detected) } else { Choice::given(UTF_8) });
        }
        None | Some(_) if valid.is_err() => {}
        None => return Ok(Choice::given(UTF_8)),
        // A page that was saved as UTF-8 keeps its old declaration. Text of a single-byte set is never valid UTF-8; of a
        // multi-byte set it can be, so that the declaration counts.
        Some(declared) if is_ascii || declared == UTF_8 || !declared.is_single_byte() => {
            return Ok(Choice::given(if is_ascii { UTF_8 } else { declared }));
        }
        Some(declared) => return Ok(Choice { encoding: UTF_8, reason: Reason::NotAsDeclared(declared) }),
    }
    if mostly_utf8(bytes) {
        return Ok(Choice::given(UTF_8));
    }
    match declared.filter(|declared| *declared != UTF_8) {
        Some(declared) => Ok(Choice::given(declared)),
        None if plausible::controls(bytes) => Err(not_utf8(bytes)),
        None => Ok(Choice::detected(detect(bytes))),
    }
}

fn detect(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    let guess = detector.guess(None, Utf8Detection::Deny);
    if guess.is_single_byte() && plausible::are_signs(bytes) { WINDOWS_1252 } else { guess }
}

/// Whether most of what is not ASCII is UTF-8: a few broken characters, as where a file was cut or joined by bytes. In other
/// sets hardly any bytes are UTF-8 by chance.
fn mostly_utf8(bytes: &[u8]) -> bool {
    let (mut sound, mut broken) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        sound += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    sound > broken
}

/// The description of bytes that are text in no character set.
fn not_utf8(bytes: &[u8]) -> String {
    let at = std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
    format!("a binary file (no character set makes a text of it; not UTF-8 from byte {at})")
}

#[cfg(test)]
mod tests {
    use super::{Decoded, decode, in_markup};
    use encoding_rs::{Encoding, WINDOWS_1251};

    fn read(bytes: &[u8]) -> Result<(String, Vec<String>), String> {
        decode(bytes.to_vec(), in_markup(bytes)).map(|Decoded { text, notes }| (text, notes))
    }

    fn encoded(label: &str, text: &str) -> Vec<u8> {
        let encoding = Encoding::for_label(label.as_bytes()).unwrap();
        let (bytes, _, wrong) = encoding.encode(text);
        assert!(!wrong, "{label}");
        bytes.into_owned()
    }

    fn utf16(text: &str, big: bool) -> Vec<u8> {
        text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    }

    #[test]
    fn undeclared_character_sets_are_detected_and_reported() {
        for (label, text) in [
            ("windows-1251", "Паром через Ладу впервые отплыл в 1904 году, а мост построен позже."),
            ("koi8-r", "Паром через Ладу впервые отплыл в 1904 году, а мост построен позже."),
            ("windows-1252", "Die Fähre über die Lahn fährt täglich, außer bei Hochwasser im März."),
            ("gbk", "渡船于1904年开航，船长是李明。这条河很宽。"),
            ("big5", "渡船於1904年開航，船長是李明。這條河很寬。"),
            ("shift_jis", "渡し船は1904年に就航しました。船長は田中さんです。"),
            ("euc-kr", "나룻배는 1904년에 처음 운항했다. 선장은 김씨였다."),
            ("iso-2022-jp", "渡し船は1904年に就航しました。"),
        ] {
            let (read, notes) = read(&encoded(label, text)).unwrap();
            assert_eq!(read, text, "{label}");
            assert!(matches!(notes.as_slice(), [note] if note.contains("detected")), "{label} {notes:?}");
        }
    }

    #[test]
    fn signs_alone_are_no_letters_and_text_of_dos_is_refused() {
        assert_eq!(
            read(b"The price was 40 \xa3 \x96 in 1904.").unwrap().0,
            "The price was 40 \u{a3} \u{2013} in 1904."
        );
        assert_eq!(
            read(b"\xa3ukasz Nowak and the prom at \xa3\xf3d\x9f").unwrap().0,
            "\u{141}ukasz Nowak and the prom at \u{141}\u{f3}d\u{17a}"
        );
        let dos = b"Die Br\x81cke \x81ber den Flu\xe1 wurde 1904 ge\x94ffnet. M\x81ller kam.";
        assert!(read(dos).is_err(), "{:?}", read(dos));
    }

    #[test]
    fn sets_that_the_detector_does_not_know() {
        let text = "Le caf\u{e9} fut inaugur\u{e9} \u{e0} Z\u{fc}rich en 1931; l\u{2019}\u{153}uvre co\u{fb}ta 40 \u{a3} \u{2014} d\u{e9}j\u{e0} pay\u{e9}.";
        let mac = b"Le caf\x8e fut inaugur\x8e \x88 Z\x9frich en 1931; l\xd5\xcfuvre co\x9eta 40 \xa3 \xd1 d\x8ej\x88 pay\x8e.";
        let (decoded, notes) = read(mac).unwrap();
        assert!(decoded == text && notes[0].starts_with("read as macintosh: "), "{decoded} {notes:?}");
        // Few letters, which another set makes capitals and undefined bytes of.
        let (decoded, notes) =
            read(b"Le pont de Besan\x8don fut ouvert par l\xd5ing\x8enieur L\x8eo Tr\x8efle.").unwrap();
        assert_eq!(decoded, "Le pont de Besançon fut ouvert par l’ingénieur Léo Tréfle.");
        assert!(notes[0].starts_with("read as macintosh: "), "{notes:?}");
        for big in [false, true] {
            let units = |text: &str| -> Vec<u8> {
                let unit = |c: char| if big { u32::from(c).to_be_bytes() } else { u32::from(c).to_le_bytes() };
                text.chars().flat_map(unit).collect()
            };
            let marked = format!("\u{feff}{text}");
            assert_eq!(read(&units(&marked)), Ok((marked.clone(), Vec::new())));
            let broken = [units(&marked), vec![0xff; 4], vec![1, 2]].concat();
            let (decoded, notes) = read(&broken).unwrap();
            assert!(decoded.ends_with(".\u{fffd}\u{fffd}"), "{decoded}");
            assert_eq!(notes, ["2 characters could not be decoded as UTF-32"]);
        }
    }

    #[test]
    fn marks_and_declarations_are_followed() {
        let text = "Łódź: паром 1904";
        for (mark, big) in [(b"\xff\xfe", false), (b"\xfe\xff", true)] {
            let bytes = [mark.as_slice(), &utf16(text, big)].concat();
            assert_eq!(read(&bytes), Ok((format!("\u{feff}{text}"), Vec::new())));
            let (unmarked, notes) = read(&utf16(text, big)).unwrap();
            assert!(unmarked == text && notes[0].contains("UTF-16"), "{notes:?}");
        }
        for meta in [
            "<meta charset=windows-1251>",
            "<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=cp1251'>",
            "<?xml version=\"1.0\" encoding=\"windows-1251\"?>",
        ] {
            let page = format!("{meta}<p>да");
            assert_eq!(read(&encoded("windows-1251", &page)), Ok((page, Vec::new())));
        }
        let page = "<meta charset=windows-1251><p>да, паром";
        assert_eq!(read(page.as_bytes()), Ok((page.into(), vec!["read as UTF-8; it declares windows-1251".into()])));
    }

    #[test]
    fn a_few_broken_characters_are_counted() {
        let bytes = [("Паром через Ладу. ".repeat(3)).as_bytes(), b"\xd0 in 1904 \xff"].concat();
        let (text, notes) = read(&bytes).unwrap();
        assert!(text.ends_with("Ладу. \u{fffd} in 1904 \u{fffd}"), "{text}");
        assert_eq!(notes, ["2 characters could not be decoded as UTF-8"]);
        let Decoded { notes, .. } = decode(b"\x98 1904".to_vec(), Some(WINDOWS_1251)).unwrap();
        assert_eq!(notes.len(), 0, "the set has a character for every byte");
    }

    /// Lines of two programs in one file: those in UTF-8 stay what they are.
    #[test]
    fn some_lines_in_another_set() {
        let bytes = [" Fähre fährt täglich".as_bytes(), b"; caf\xe9, M\xfcller."].concat();
        let (text, notes) = read(&bytes).unwrap();
        assert_eq!(text, " Fähre fährt täglich; caf\u{fffd}, M\u{fffd}ller.");
        assert_eq!(notes, ["2 characters could not be decoded as UTF-8"]);
    }

    #[test]
    fn rubbish_is_refused() {
        let mut word = 1_u32;
        let mut random = |from: u8| -> Vec<u8> {
            let mut byte = || {
                word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (word >> 24) as u8
            };
            (0..400).map(|_| byte().max(1) | from).collect()
        };
        for bytes in [random(0), random(0x80), random(0xc0), b"\x7fELF\x02\x01\0\0".to_vec(), b"ab\0c".to_vec()] {
            let found = read(&bytes).unwrap_err();
            assert!(found.starts_with("a binary file"), "{found}");
        }
    }
}
