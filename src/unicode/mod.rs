//! Texts in other characters that say the same (leaf module).
//!
//! | form | for | what it changes |
//! |---|---|---|
//! | [`nfc`] | texts that a model or a reader sees, names, metrics | canonically equivalent characters are the same: `é` in two characters is the one |
//! | [`plain`] | quotes | and superscripts, ligatures, full-width forms, typographic quotes, hyphens and spaces are their plain characters |
//! | [`folded`] | votes | and case is folded: `ß` is `ss` |
//! | [`unmarked`] | searches and assessments | and marks on Latin and Greek letters are left out: `Zoë` is `Zoe` |
//!
//! Case is folded alike for every language, so the Turkish dotless `ı` is no `i`. A text in ASCII takes no table look-up.

pub(crate) mod baseline;

use std::borrow::Cow;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfkc_quick};

/// The text in Normalization Form C (UAX #15).
#[must_use]
pub fn nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfc().collect())
}

/// As [`nfc`], of a text that is kept where it has that form.
#[must_use]
pub fn into_nfc(text: String) -> String {
    match nfc(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(composed) => composed,
    }
}

/// The text in plain characters: exponents with a caret ([`baseline`]), typographic punctuation in ASCII, characters that cannot be
/// seen left out, the rest in Normalization Form KC.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let composed = nfc(text);
    let spelled = match baseline::spelled(&composed) {
        Cow::Owned(spelled) => Cow::Owned(spelled),
        Cow::Borrowed(_) => composed,
    };
    let is_plain =
        is_nfkc_quick(spelled.chars()) == IsNormalized::Yes && !spelled.chars().any(|c| ascii_of(c).is_some());
    if is_plain {
        return spelled;
    }
    let mut written = String::with_capacity(spelled.len());
    for c in spelled.chars() {
        match ascii_of(c) {
            Some(ascii) => written.push_str(ascii),
            None => {
                // "3½" is no "31/2".
                if is_fraction(c) && written.ends_with(|before: char| before.is_ascii_digit()) {
                    written.push(' ');
                }
                written.push(c);
            }
        }
    }
    let mut plain = String::with_capacity(written.len());
    for c in written.nfkc() {
        match ascii_of(c) {
            Some(ascii) => plain.push_str(ascii),
            None => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// The text in plain characters and folded case.
#[must_use]
pub fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        return if lower { Cow::Borrowed(text) } else { Cow::Owned(text.to_ascii_lowercase()) };
    }
    let plain = plain(text);
    let mut folded = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            'ß' | 'ẞ' => folded.push_str("ss"),
            'ς' => folded.push('σ'),
            c => folded.extend(c.to_lowercase()),
        }
    }
    // A lower-case letter may compose with a mark where its capital does not.
    Cow::Owned(into_nfc(folded))
}

/// As [`folded`], without marks on Latin and Greek letters. In other scripts marks are letters of their own or tell words apart.
#[must_use]
pub fn unmarked(text: &str) -> Cow<'_, str> {
    let folded = folded(text);
    if !folded.chars().any(|c| !c.is_ascii() && (takes_marks(c) || is_mark(c))) {
        return folded;
    }
    let mut bare = String::with_capacity(folded.len());
    let mut on_letter = false;
    for c in folded.nfd() {
        if is_mark(c) {
            if !on_letter {
                bare.push(c);
            }
            continue;
        }
        on_letter = takes_marks(c);
        match stroked(c) {
            Some(letters) => bare.push_str(letters),
            None => bare.push(c),
        }
    }
    Cow::Owned(into_nfc(bare))
}

/// The ASCII form of a typographic character; empty for an invisible one.
fn ascii_of(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{b4}' | '\u{2bc}' => "'",
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '«' | '»' => "\"",
        // Hyphens and the minus sign; dashes part words and ranges.
        '\u{2010}' | '\u{2011}' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}' => "-",
        // Normalization Form KC writes fractions with it.
        '\u{2044}' => "/",
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{2122}' | '\u{2120}' => "",
        _ => return None,
    })
}

fn is_fraction(c: char) -> bool {
    matches!(c, '\u{bc}'..='\u{be}' | '\u{2150}'..='\u{215f}' | '\u{2189}')
}

/// A combining mark of the blocks for Latin and Greek.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// A letter of Latin or Greek.
fn takes_marks(c: char) -> bool {
    c.is_ascii_alphabetic()
        || c.is_alphabetic() && matches!(c, '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{1e00}'..='\u{1fff}')
}

/// The letters of one that has no decomposition: a stroke is a mark too.
fn stroked(c: char) -> Option<&'static str> {
    Some(match c {
        'ø' => "o",
        'ł' => "l",
        'đ' => "d",
        'ħ' => "h",
        'æ' => "ae",
        'œ' => "oe",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{folded, into_nfc, nfc, plain, unmarked};
    use proptest::prelude::*;
    use std::borrow::Cow;
    use unicode_normalization::UnicodeNormalization;

    #[test]
    fn canonically_equivalent_texts_are_one_text() {
        assert_eq!(nfc("Zoe\u{308} Tre\u{301}maine"), "Zoë Trémaine");
        // Two marks in either order, Hangul in letters, a singleton.
        assert_eq!(nfc("q\u{307}\u{323}"), nfc("q\u{323}\u{307}"));
        assert_eq!(nfc("\u{1112}\u{1161}\u{11ab}"), "한");
        assert_eq!(nfc("\u{212b}"), "Å");
        for same in ["plain", "Zoë", "10⁶ ﬁve", "東京"] {
            assert!(matches!(nfc(same), Cow::Borrowed(_)), "{same}");
        }
    }

    #[test]
    fn plain_characters_by_example() {
        for (text, want) in [
            ("ﬁve ﬂoors", "five floors"),
            ("１９３１", "1931"),
            ("a\u{a0}b\u{202f}c", "a b c"),
            ("Jean\u{2011}Paul, \u{2212}5", "Jean-Paul, -5"),
            ("“It’s” «so»", "\"It's\" \"so\""),
            ("10⁶ m²", "10^6 m^2"),
            ("H₂O", "H2O"),
            ("3½ and ½", "3 1/2 and 1/2"),
            ("Ⅳ ㎞ …", "IV km ..."),
            ("so\u{ad}ft Acme™", "soft Acme"),
            ("1914–1918", "1914–1918"),
            ("STRASSE Straße", "STRASSE Straße"),
        ] {
            assert_eq!(plain(text), want, "{text}");
        }
    }

    #[test]
    fn case_is_folded_in_full() {
        for (a, b) in [("Straße", "STRASSE"), ("Ὀδυσσεύς", "ὈΔΥΣΣΕΎΣ"), ("J\u{30c}", "ǰ"), ("ÉCOLE", "e\u{301}cole")]
        {
            assert_eq!(folded(a), folded(b), "{a} {b}");
        }
        assert_ne!(folded("Zoë"), folded("Zoe"));
        assert_ne!(folded("106"), folded("10⁶"));
    }

    #[test]
    fn marks_are_left_out_of_latin_and_greek_alone() {
        for (a, b) in [("Zoë Trémaine", "Zoe Tremaine"), ("Łódź", "Lodz"), ("Ærø", "aero"), ("Ἀθῆναι", "Αθηναι")]
        {
            assert_eq!(unmarked(a), unmarked(b), "{a} {b}");
        }
        for (a, b) in [("й", "и"), ("が", "か"), ("हिन्दी", "हनद"), ("ı", "i")] {
            assert_ne!(unmarked(a), unmarked(b), "{a} {b}");
        }
        assert_eq!(unmarked("が"), "が");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_form_is_blind_to_decomposition(text in "[a-zA-Z0-9éüßŁœΣςй한ｱ½⁶ ,.]{0,24}") {
            let apart: String = text.nfd().collect();
            prop_assert_eq!(nfc(&apart), nfc(&text));
            prop_assert_eq!(plain(&apart), plain(&text));
            prop_assert_eq!(folded(&apart), folded(&text));
            prop_assert_eq!(unmarked(&apart), unmarked(&text));
        }

        #[test]
        fn a_form_has_that_form(text in "\\PC{0,24}") {
            prop_assert_eq!(into_nfc(text.clone()), nfc(&text).into_owned());
            for form in [nfc, folded, unmarked] {
                let once = form(&text).into_owned();
                prop_assert_eq!(form(&once), once.as_str());
            }
        }
    }
}
