//! Numbers of cells as they are shown: dates, times, percentages, currencies and units.

use super::format::{Format, Kind};

/// Days from 1899-12-31 to 1970-01-01, and from the other beginning of dates, 1904-01-01, on.
const TO_1970: i64 = 25_568;
const FROM_1904: f64 = 1_462.0;
/// The last serial number of a date: 9999-12-31.
const LAST: f64 = 2_958_466.0;

impl Format {
    /// `value` in this format; dates as 2024-05-31.
    pub(super) fn show(&self, value: f64, from_1904: bool) -> String {
        let serial = if from_1904 { value + FROM_1904 } else { value };
        let is_date = (0.0..LAST).contains(&serial);
        match self.kind {
            Kind::Percent => self.number(value * 100.0, "%"),
            Kind::Duration if value.abs() < LAST => clock((value * 86_400.0).round() as i64),
            // Rounding may reach the next day, whose clock begins at zero.
            Kind::Time if is_date => clock((serial.fract() * 86_400.0).round() as i64 % 86_400),
            Kind::Date if is_date => day(serial),
            // A format with both may show a date alone.
            Kind::DateTime if is_date => {
                let seconds = (serial.fract() * 86_400.0).round() as i64;
                match seconds {
                    0 => day(serial),
                    // Rounding may reach the next day.
                    86_400.. => day(serial.floor() + 1.0),
                    _ => format!("{} {}", day(serial), clock(seconds)),
                }
            }
            _ => self.number(value, ""),
        }
    }

    /// A number with the texts around it.
    fn number(&self, value: f64, sign: &str) -> String {
        let scaled = value / 1000_f64.powi(i32::try_from(self.thousands).unwrap_or_default());
        let (minus, shown) = if scaled < 0.0 { ("-", plain(-scaled)) } else { ("", plain(scaled)) };
        let digits = if shown.contains('.') { 0 } else { self.digits };
        format!("{minus}{}{shown:0>digits$}{sign}{}", self.before, self.after)
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
    use super::{Format, Kind};

    #[test]
    fn numbers_are_shown_as_in_their_cells() {
        for (format, value, expected) in [
            (Kind::Date, 45_443.0, "2024-05-31"),
            (Kind::Date, 1.0, "1900-01-01"),
            (Kind::Date, 61.0, "1900-03-01"),
            (Kind::Date, -3.0, "-3"),
            (Kind::DateTime, 45_443.604_166_666_664, "2024-05-31 14:30"),
            (Kind::DateTime, 45_443.0, "2024-05-31"),
            (Kind::Time, 0.75, "18:00"),
            (Kind::Time, 0.999_999, "00:00"),
            (Kind::Duration, 1.5, "36:00"),
            (Kind::Percent, 0.25, "25%"),
            (Kind::Number, 0.1 + 0.2, "0.3"),
            (Kind::Number, 1_000_000.0, "1000000"),
        ] {
            assert_eq!(Format::from(format).show(value, false), expected);
        }
        assert_eq!(Format::from(Kind::Date).show(43_981.0, true), "2024-05-31");
    }
    #[test]
    fn texts_around_numbers_are_kept() {
        for (code, value, expected) in [
            ("#,##0.00 [$\u{20ac}-407]", 1234.5, "1234.5 \u{20ac}"),
            ("[$$-409]#,##0.00;[Red]\\-[$$-409]#,##0.00", -1234.5, "-$1234.5"),
            ("_-* #,##0.00\\ \"kr\"_-", 12.0, "12 kr"),
            ("0.0,,\" million\"", 1_500_000.0, "1.5 million"),
            ("\"day \"0", 5.0, "day 5"),
            ("00000", 420.0, "00420"),
            ("0.0\"x\"", 2.5, "2.5x"),
            ("0\"%\"", 7.0, "7%"),
            ("0.0%", 0.125, "12.5%"),
            ("000-00-0000", 123_456_789.0, "123456789"),
            ("# ?/?", 0.25, "0.25"),
            ("0.00E+00", 1_500_000.0, "1500000"),
            ("General\" kg\"", 3.5, "3.5 kg"),
            ("@", 3.0, "3"),
        ] {
            assert_eq!(Format::of_code(code).show(value, false), expected, "{code}");
        }
    }
}
