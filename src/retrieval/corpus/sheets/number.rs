//! Numbers of cells as they are shown: dates, times, percentages.

/// Days from 1899-12-31 to 1970-01-01, and from the other beginning of dates, 1904-01-01, on.
const TO_1970: i64 = 25_568;
const FROM_1904: f64 = 1_462.0;
/// The last serial number of a date: 9999-12-31.
const LAST: f64 = 2_958_466.0;

/// What a number format shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Format {
    #[default]
    Number,
    Percent,
    Date,
    Time,
    DateTime,
    /// Hours beyond 24.
    Duration,
}

impl Format {
    /// A format of the standard's list (ISO/IEC 29500-1, section 18.8.30), those of East Asian locales included.
    pub(super) fn builtin(id: u32) -> Self {
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
    pub(super) fn of_code(code: &str) -> Self {
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

    /// `value` in this format; dates as 2024-05-31.
    pub(super) fn show(self, value: f64, from_1904: bool) -> String {
        let serial = if from_1904 { value + FROM_1904 } else { value };
        let is_date = (0.0..LAST).contains(&serial);
        match self {
            Self::Percent => format!("{}%", plain(value * 100.0)),
            Self::Duration if value.abs() < LAST => clock((value * 86_400.0).round() as i64),
            Self::Time if is_date => clock((serial.fract() * 86_400.0).round() as i64),
            Self::Date if is_date => day(serial),
            // A format with both may show a date alone.
            Self::DateTime if is_date => {
                let seconds = (serial.fract() * 86_400.0).round() as i64;
                match seconds {
                    0 => day(serial),
                    86_400.. => day(serial.floor() + 1.0),
                    _ => format!("{} {}", day(serial), clock(seconds)),
                }
            }
            _ => plain(value),
        }
    }
}

/// A number with the 15 digits that a cell has.
pub(super) fn plain(value: f64) -> String {
    let rounded: f64 = format!("{value:.14e}").parse().unwrap_or(value);
    // Zero has no sign.
    (rounded + 0.0).to_string()
}

/// Hours, minutes, and seconds where there are some.
fn clock(seconds: i64) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    let seconds = seconds.abs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let rest = if seconds > 0 { format!(":{seconds:02}") } else { String::new() };
    format!("{sign}{hours:02}:{minutes:02}{rest}")
}

/// The day of a serial number, which counts a 29 February 1900 that there was not.
fn day(serial: f64) -> String {
    let serial = serial.floor() as i64;
    let days = if serial > 59 { serial - 1 } else { serial };
    let (year, month, day) = civil(days - TO_1970);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Year, month and day of a number of days since 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn codes_of_dates_are_distinguished_from_those_of_numbers() {
        for (code, expected) in [
            ("General", Format::Number),
            ("#,##0.00\\ \"kr (dmy)\"", Format::Number),
            ("[Red]0.00;[Blue]-0.00", Format::Number),
            ("0.00E+00", Format::Number),
            ("0.0%", Format::Percent),
            ("yyyy\\-mm\\-dd;@", Format::Date),
            ("[$-409]mmmm yyyy", Format::Date),
            ("dd/mm/yyyy hh:mm", Format::DateTime),
            ("h:mm AM/PM", Format::Time),
            ("[h]:mm", Format::Duration),
        ] {
            assert_eq!(Format::of_code(code), expected, "{code}");
        }
    }

    #[test]
    fn numbers_are_shown_as_in_their_cells() {
        for (format, value, expected) in [
            (Format::Date, 45_443.0, "2024-05-31"),
            (Format::Date, 1.0, "1900-01-01"),
            (Format::Date, 61.0, "1900-03-01"),
            (Format::Date, -3.0, "-3"),
            (Format::DateTime, 45_443.604_166_666_664, "2024-05-31 14:30"),
            (Format::DateTime, 45_443.0, "2024-05-31"),
            (Format::Time, 0.75, "18:00"),
            (Format::Duration, 1.5, "36:00"),
            (Format::Percent, 0.25, "25%"),
            (Format::Number, 0.1 + 0.2, "0.3"),
            (Format::Number, 1_000_000.0, "1000000"),
        ] {
            assert_eq!(format.show(value, false), expected);
        }
        assert_eq!(Format::Date.show(43_981.0, true), "2024-05-31");
    }
}
