//! Signs that office formats write as numbers: letters of symbol fonts, roots.

/// Letters of the font Symbol from 0x20 on, and from 0xa0 on (Unicode's SYMBOL.TXT); `\u{fffd}` are parts of large brackets.
const LOW: &str = "\u{20}!\u{2200}#\u{2203}%&\u{220b}()\u{2217}+,\u{2212}./0123456789:;<=>?\u{2245}\
    \u{391}\u{392}\u{3a7}\u{394}\u{395}\u{3a6}\u{393}\u{397}\u{399}\u{3d1}\u{39a}\u{39b}\u{39c}\u{39d}\u{39f}\u{3a0}\u{398}\u{3a1}\u{3a3}\u{3a4}\u{3a5}\u{3c2}\u{3a9}\u{39e}\u{3a8}\u{396}\
    [\u{2234}]\u{22a5}_\u{fffd}\
    \u{3b1}\u{3b2}\u{3c7}\u{3b4}\u{3b5}\u{3c6}\u{3b3}\u{3b7}\u{3b9}\u{3d5}\u{3ba}\u{3bb}\u{3bc}\u{3bd}\u{3bf}\u{3c0}\u{3b8}\u{3c1}\u{3c3}\u{3c4}\u{3c5}\u{3d6}\u{3c9}\u{3be}\u{3c8}\u{3b6}{|}\u{223c}";
const HIGH: &str = "\u{20ac}\u{3d2}\u{2032}\u{2264}\u{2044}\u{221e}\u{192}\u{2663}\u{2666}\u{2665}\u{2660}\u{2194}\u{2190}\u{2191}\u{2192}\u{2193}\
    \u{b0}\u{b1}\u{2033}\u{2265}\u{d7}\u{221d}\u{2202}\u{2022}\u{f7}\u{2260}\u{2261}\u{2248}\u{2026}\u{fffd}\u{fffd}\u{21b5}\
    \u{2135}\u{2111}\u{211c}\u{2118}\u{2297}\u{2295}\u{2205}\u{2229}\u{222a}\u{2283}\u{2287}\u{2284}\u{2282}\u{2286}\u{2208}\u{2209}\
    \u{2220}\u{2207}\u{ae}\u{a9}\u{2122}\u{220f}\u{221a}\u{22c5}\u{ac}\u{2227}\u{2228}\u{21d4}\u{21d0}\u{21d1}\u{21d2}\u{21d3}\
    \u{25ca}\u{2329}\u{ae}\u{a9}\u{2122}\u{2211}";

/// The sign number `char` (hexadecimal) of `font`; U+FFFD for a picture of another symbol font.
pub(super) fn symbol(font: Option<&str>, char: Option<&str>) -> char {
    let code = char.and_then(|char| u32::from_str_radix(char, 16).ok()).unwrap_or_default();
    let is_symbol = font.is_some_and(|font| font.trim().eq_ignore_ascii_case("symbol"));
    // Symbol fonts have their letters in the private use area.
    let letter = |from: u32, letters: &str| letters.chars().nth((code & 0xff).checked_sub(from)? as usize);
    let known = match code {
        0x20..=0xff | 0xf020..=0xf0ff if is_symbol && code & 0xff >= 0xa0 => letter(0xa0, HIGH),
        0x20..=0xff | 0xf020..=0xf0ff if is_symbol => letter(0x20, LOW),
        0xe000..=0xf8ff | 0..0x20 => None,
        code => char::from_u32(code),
    };
    known.unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The sign of a root of this degree: the third root is "\u{b3}\u{221a}".
pub(super) fn root(degree: &str) -> String {
    const RAISED: &str = "\u{2070}\u{b9}\u{b2}\u{b3}\u{2074}\u{2075}\u{2076}\u{2077}\u{2078}\u{2079}\u{207f}";
    let raised = |c: char| "0123456789n".find(c).and_then(|at| RAISED.chars().nth(at));
    match degree.trim() {
        "" | "2" => "\u{221a}".to_owned(),
        degree => match degree.chars().map(raised).collect::<Option<String>>() {
            Some(degree) => format!("{degree}\u{221a}"),
            None => format!("[{degree}]\u{221a}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{root, symbol};

    #[test]
    fn letters_of_the_symbol_font() {
        let cases = [
            ("F0B0", '\u{b0}'),
            ("F0B3", '\u{2265}'),
            ("f06d", '\u{3bc}'),
            ("57", '\u{3a9}'),
            ("F07E", '\u{223c}'),
            ("F0E5", '\u{2211}'),
            ("F0FE", '\u{fffd}'),
            ("zz", '\u{fffd}'),
        ];
        for (code, expected) in cases {
            assert_eq!(symbol(Some("Symbol"), Some(code)), expected, "{code}");
        }
        assert_eq!(symbol(Some("Wingdings"), Some("F0FC")), '\u{fffd}');
        assert_eq!(symbol(Some("Arial"), Some("2265")), '\u{2265}');
    }

    #[test]
    fn roots_keep_their_degree() {
        let roots = ["", "2", "3", "12", "n", "a+1"].map(root);
        assert_eq!(
            roots,
            ["\u{221a}", "\u{221a}", "\u{b3}\u{221a}", "\u{b9}\u{b2}\u{221a}", "\u{207f}\u{221a}", "[a+1]\u{221a}"]
        );
    }
}
