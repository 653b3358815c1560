//! Python functions that chat templates use: `strftime` and `json.dumps`.

use serde_json::Value;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The date that `strftime_now` gives to templates (at midnight).
///
/// Never the clock's: a prompt that changes overnight cannot be compared with yesterday's. The default, 26 July 2024,
/// is the one that Llama 3.1's own template falls back on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Default for Date {
    fn default() -> Self {
        Self { year: 2024, month: 7, day: 26 }
    }
}

impl Date {
    /// A Gregorian date; `None` unless the year is 1 to 9999 and the day exists.
    #[must_use]
    pub fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            4 | 6 | 9 | 11 => 30,
            2 => 28 + u8::from(leap),
            1..=12 => 31,
            _ => return None,
        };
        let real = (1..=9999).contains(&year) && (1..=days).contains(&day);
        real.then_some(Self { year, month, day })
    }

    /// Days since Sunday (Sakamoto's method).
    fn weekday(self) -> usize {
        const SHIFT: [usize; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
        let month = usize::from(self.month);
        let year = usize::from(self.year) - usize::from(month < 3);
        (year + year / 4 - year / 100 + year / 400 + SHIFT[month - 1] + usize::from(self.day)) % 7
    }

    /// `datetime.strftime` in the C locale, for the conversions that templates use.
    ///
    /// # Errors
    /// The conversion that is not known.
    pub(super) fn format(self, pattern: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = pattern.chars();
        while let Some(c) = rest.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            match rest.next() {
                Some('-') => out.push_str(self.conversion(rest.next())?.trim_start_matches('0')),
                conversion => out.push_str(&self.conversion(conversion)?),
            }
        }
        Ok(out)
    }

    fn conversion(self, letter: Option<char>) -> Result<String, String> {
        let Self { year, month, day } = self;
        let month_name = MONTHS[usize::from(month) - 1];
        let weekday = WEEKDAYS[self.weekday()];
        Ok(match letter {
            Some('Y') => format!("{year:04}"),
            Some('y') => format!("{:02}", year % 100),
            Some('m') => format!("{month:02}"),
            Some('d') => format!("{day:02}"),
            Some('e') => format!("{day:2}"),
            Some('B') => month_name.to_owned(),
            Some('b' | 'h') => month_name[..3].to_owned(),
            Some('A') => weekday.to_owned(),
            Some('a') => weekday[..3].to_owned(),
            Some('F') => format!("{year:04}-{month:02}-{day:02}"),
            Some('H' | 'M' | 'S') => "00".to_owned(),
            Some('I') => "12".to_owned(),
            Some('p') => "AM".to_owned(),
            Some('%') => "%".to_owned(),
            Some(other) => return Err(format!("strftime_now does not know %{other}")),
            None => return Err("strftime_now's format ends in %".to_owned()),
        })
    }
}

/// `json.dumps(value, ensure_ascii=False, indent=indent)`: ", " and ": " between, which Rust's writers have not.
pub(super) fn json_dumps(value: &Value, indent: Option<usize>) -> String {
    let mut out = String::new();
    dump(value, indent, 0, &mut out);
    out
}

fn dump(value: &Value, indent: Option<usize>, depth: usize, out: &mut String) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                between(index, indent, depth + 1, out);
                dump(item, indent, depth + 1, out);
            }
            line(indent, depth, out);
            out.push(']');
        }
        Value::Object(fields) if !fields.is_empty() => {
            out.push('{');
            for (index, (key, item)) in fields.iter().enumerate() {
                between(index, indent, depth + 1, out);
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push_str(": ");
                dump(item, indent, depth + 1, out);
            }
            line(indent, depth, out);
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

fn between(index: usize, indent: Option<usize>, depth: usize, out: &mut String) {
    if index > 0 {
        out.push_str(if indent.is_some() { "," } else { ", " });
    }
    line(indent, depth, out);
}

fn line(indent: Option<usize>, depth: usize, out: &mut String) {
    if let Some(width) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', width.saturating_mul(depth).min(1 << 10)));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Date, json_dumps};
    use serde_json::json;

    #[test]
    fn dates_as_python_writes_them() {
        let date = Date::default();
        assert_eq!(date.format("%d %b %Y").unwrap(), "26 Jul 2024");
        assert_eq!(date.format("%A, %B %-d, %y 100%%").unwrap(), "Friday, July 26, 24 100%");
        assert_eq!(Date::new(2000, 2, 29).unwrap().format("%a %F").unwrap(), "Tue 2000-02-29");
        assert!(
            Date::new(1900, 2, 29).is_none() && Date::new(2024, 13, 1).is_none() && Date::new(2024, 4, 31).is_none()
        );
        assert!(date.format("%Q").unwrap_err().contains("%Q"));
    }

    #[test]
    fn json_as_python_writes_it() {
        let value = json!({"a": [1, 2.5, "é<\"\n"], "b": {}, "c": [], "d": null, "e": true});
        assert_eq!(json_dumps(&value, None), r#"{"a": [1, 2.5, "é<\"\n"], "b": {}, "c": [], "d": null, "e": true}"#);
        assert_eq!(json_dumps(&json!({"a": [1], "b": 2}), Some(2)), "{\n  \"a\": [\n    1\n  ],\n  \"b\": 2\n}");
    }
}
