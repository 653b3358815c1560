//! Number formats of workbooks: what kind of number they show, and the texts around it (`#,##0.00 "kr"`).

/// Characters of the texts before and behind a number at most: they are repeated in each cell.
const MAX_TEXT: usize = 40;
/// Thousands for which one is shown: trillions.
const MAX_THOUSANDS: u32 = 4;

/// The kind of value that a number format shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    #[default]
    Number,
    Percent,
    Date,
    Time,
    DateTime,
    /// Hours beyond 24.
    Duration,
}

/// A number format.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Format {
    pub(super) kind: Kind,
    /// Texts around a number: a currency, a unit.
    pub(super) before: String,
    pub(super) after: String,
    /// Digits that a whole number has at least: 00420.
    pub(super) digits: usize,
    /// Thousands that one is shown for: 1.5 for a million and a half where it is 2.
    pub(super) thousands: u32,
}

impl From<Kind> for Format {
    fn from(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }
}

impl Kind {
    /// A format of the standard's list (ISO/IEC 29500-1, section 18.8.30), those of East Asian locales included.
    fn builtin(id: u32) -> Self {
        match id {
            9 | 10 => Self::Percent,
            14..=17 | 27..=31 | 36 | 50..=58 => Self::Date,
            18..=21 | 32..=35 | 45 | 47 => Self::Time,
            22 => Self::DateTime,
            46 => Self::Duration,
            _ => Self::Number,
        }
    }

    /// The format of a code: `yyyy-mm-dd;@`.
    fn of_code(code: &str) -> Self {
        let (mut date, mut time, mut percent, mut month) = (false, false, false, false);
        let mut letters = code.chars();
        while let Some(letter) = letters.next() {
            match letter.to_ascii_lowercase() {
                '"' => drop(letters.by_ref().find(|c| *c == '"')),
                '\\' | '_' | '*' => drop(letters.next()),
                '[' => {
                    let inner: String = letters.by_ref().take_while(|c| *c != ']').collect();
                    let inner = inner.to_ascii_lowercase();
                    if !inner.is_empty() && ['h', 'm', 's'].iter().any(|unit| inner.chars().all(|c| c == *unit)) {
                        return Self::Duration;
                    }
                }
                // The format of negative numbers.
                ';' => break,
                'y' | 'd' => date = true,
                'h' | 's' => time = true,
                'm' => month = true,
                '%' => percent = true,
                // "General"
                'g' | 'n' | 'e' => return if percent { Self::Percent } else { Self::Number },
                _ => {}
            }
        }
        match (date || (month && !time), time) {
            (true, true) => Self::DateTime,
            (true, false) => Self::Date,
            (false, true) => Self::Time,
            (false, false) if percent => Self::Percent,
            (false, false) => Self::Number,
        }
    }
}

impl Format {
    /// As [`Kind::builtin`].
    pub(super) fn builtin(id: u32) -> Self {
        Kind::builtin(id).into()
    }

    /// The format of a code: `#,##0.00 "kr"`.
    pub(super) fn of_code(code: &str) -> Self {
        match Kind::of_code(code) {
            kind @ (Kind::Number | Kind::Percent) => around(code, kind),
            kind => kind.into(),
        }
    }
}

/// The format of `code`, which is one of numbers. A code with text or signs between its digits, as that of a fraction, shows
/// the number alone.
fn around(code: &str, kind: Kind) -> Format {
    let mut reading = Reading { format: kind.into(), digits: Digits::Before, whole: true };
    let rest = code.get(..7).filter(|start| start.eq_ignore_ascii_case("general"));
    if rest.is_some() {
        reading.digit('#');
    }
    let mut letters = code[rest.map_or(0, str::len)..].chars();
    while let Some(letter) = letters.next() {
        match letter {
            // The format of negative numbers.
            ';' => break,
            '"' => letters.by_ref().take_while(|c| *c != '"').for_each(|c| reading.text(c)),
            '\\' => letters.by_ref().take(1).for_each(|c| reading.text(c)),
            // The width of a character, and one that fills the cell.
            '_' | '*' => drop(letters.next()),
            '[' => {
                let inner: String = letters.by_ref().take_while(|c| *c != ']').collect();
                let currency = inner.strip_prefix('$').and_then(|inner| inner.split('-').next());
                currency.unwrap_or_default().chars().for_each(|c| reading.text(c));
            }
            '0' | '#' | '?' => reading.digit(letter),
            '.' => reading.whole = false,
            ',' => reading.format.thousands += u32::from(reading.digits == Digits::Read),
            // The kind writes the sign.
            '%' | '@' => {}
            'E' | 'e' => return kind.into(),
            letter => reading.text(letter),
        }
    }
    reading.finish()
}

/// The part of a code that was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Digits {
    Before,
    Read,
    Behind,
    /// Text between digits.
    Parted,
}

struct Reading {
    format: Format,
    digits: Digits,
    /// The digits are those of the whole number.
    whole: bool,
}

impl Reading {
    fn digit(&mut self, digit: char) {
        self.digits = match self.digits {
            Digits::Before | Digits::Read => Digits::Read,
            Digits::Behind | Digits::Parted => Digits::Parted,
        };
        self.format.digits += usize::from(digit == '0' && self.whole);
        // A comma between digits groups them.
        self.format.thousands = 0;
    }

    fn text(&mut self, letter: char) {
        let text = match self.digits {
            Digits::Before => &mut self.format.before,
            Digits::Parted => return,
            Digits::Read | Digits::Behind => {
                // A space behind digits may separate those of a fraction.
                self.digits = Digits::Behind;
                &mut self.format.after
            }
        };
        if text.chars().count() < MAX_TEXT {
            text.push(letter);
        }
    }

    fn finish(self) -> Format {
        let Self { mut format, digits, .. } = self;
        if matches!(digits, Digits::Before | Digits::Parted) {
            return format.kind.into();
        }
        format.before = format.before.trim_start().to_owned();
        format.after.truncate(format.after.trim_end().len());
        format.digits = format.digits.min(MAX_TEXT);
        format.thousands = format.thousands.min(MAX_THOUSANDS);
        format
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, Kind};

    #[test]
    fn codes_of_dates_are_distinguished_from_those_of_numbers() {
        for (code, expected) in [
            ("General", Kind::Number),
            ("#,##0.00\\ \"kr (dmy)\"", Kind::Number),
            ("[Red]0.00;[Blue]-0.00", Kind::Number),
            ("0.00E+00", Kind::Number),
            ("0.0%", Kind::Percent),
            ("yyyy\\-mm\\-dd;@", Kind::Date),
            ("[$-409]mmmm yyyy", Kind::Date),
            ("dd/mm/yyyy hh:mm", Kind::DateTime),
            ("h:mm AM/PM", Kind::Time),
            ("[h]:mm", Kind::Duration),
        ] {
            assert_eq!(Format::of_code(code).kind, expected, "{code}");
        }
    }
}
