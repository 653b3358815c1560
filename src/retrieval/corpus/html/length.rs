//! Lengths and numbers of CSS, also as `calc()`, `min()`, `max()` and `clamp()`, in pixels.

/// Pixels of the default font size.
pub(super) const EM: f64 = 16.0;
/// Depth of parentheses.
const MAX_DEPTH: usize = 32;

/// The value of `text`: a length in pixels, a plain number, a percentage of `whole`. `None` for other texts.
pub(super) fn value(text: &str, whole: f64) -> Option<f64> {
    let mut reading = Reading { rest: text, whole, depth: 0 };
    let value = reading.factor()?;
    reading.rest.trim().is_empty().then_some(value)
}

struct Reading<'a> {
    rest: &'a str,
    whole: f64,
    depth: usize,
}

impl Reading<'_> {
    fn take(&mut self, mark: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn sum(&mut self) -> Option<f64> {
        let mut sum = self.product()?;
        loop {
            if self.take('+') {
                sum += self.product()?;
            } else if self.take('-') {
                sum -= self.product()?;
            } else {
                return Some(sum);
            }
        }
    }

    fn product(&mut self) -> Option<f64> {
        let mut product = self.factor()?;
        loop {
            if self.take('*') {
                product *= self.factor()?;
            } else if self.take('/') {
                product /= self.factor()?;
            } else {
                return Some(product);
            }
        }
    }

    fn factor(&mut self) -> Option<f64> {
        if let Some(number) = self.number() {
            return Some(number);
        }
        let text = self.rest.trim_start();
        let name = &text[..text.find('(')?];
        let combine: fn(&[f64]) -> Option<f64> = match name {
            "" | "calc" => |values| if let [only] = values { Some(*only) } else { None },
            "min" => |values| values.iter().copied().reduce(f64::min),
            "max" => |values| values.iter().copied().reduce(f64::max),
            "clamp" => |values| if let [low, wanted, high] = values { Some(wanted.min(*high).max(*low)) } else { None },
            _ => return None,
        };
        self.rest = &text[name.len() + 1..];
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut values = vec![self.sum()?];
        while self.take(',') {
            values.push(self.sum()?);
        }
        self.depth -= 1;
        if self.take(')') { combine(&values) } else { None }
    }

    fn number(&mut self) -> Option<f64> {
        let text = self.rest.trim_start();
        let sign = text.len() - text.strip_prefix(['+', '-']).unwrap_or(text).len();
        let digits = text[sign..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len() - sign);
        let digits = sign + digits + exponent(&text[sign + digits..]);
        let number: f64 = text[..digits].parse().ok()?;
        let rest = &text[digits..];
        let unit = rest.find(|c: char| !c.is_ascii_alphabetic() && c != '%').unwrap_or(rest.len());
        // CSS has 96 pixels an inch, and half an em for `ex` and `ch` where the font is not known. Screens are taken
        // for 1000 pixels.
        let factor = match &rest[..unit] {
            "" | "px" => 1.0,
            "%" => self.whole / 100.0,
            "pt" => 4.0 / 3.0,
            "pc" => 16.0,
            "in" => 96.0,
            "cm" => 96.0 / 2.54,
            "mm" => 96.0 / 25.4,
            "q" => 96.0 / 101.6,
            "em" | "rem" => EM,
            "ex" | "ch" => EM / 2.0,
            "vw" | "vh" | "vmin" | "vmax" => 10.0,
            _ => return None,
        };
        self.rest = &rest[unit..];
        Some(number * factor)
    }
}

/// Bytes of the exponent that `text` begins with (`e-5`). A unit may begin with "e" too.
fn exponent(text: &str) -> usize {
    let Some(power) = text.strip_prefix('e') else { return 0 };
    let digits = power.strip_prefix(['+', '-']).unwrap_or(power);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 { 0 } else { text.len() - digits.len() + count }
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn values() {
        for (text, expected) in [
            ("0", Some(0.0)),
            ("12px", Some(12.0)),
            ("-.5em", Some(-8.0)),
            ("50%", Some(8.0)),
            ("1e-2em", Some(0.16)),
            ("2e1", Some(20.0)),
            ("1e", None),
            ("calc(0px)", Some(0.0)),
            ("calc( 2 * (1px + 1px) - 4px )", Some(0.0)),
            ("min(0px, 1em)", Some(0.0)),
            ("clamp(1px, 0px, 3px)", Some(1.0)),
            ("calc(1px", None),
            ("calc(1px, 2px)", None),
            ("large", None),
            ("1parsec", None),
            ("", None),
        ] {
            assert_eq!(value(text, 16.0), expected, "{text}");
        }
        assert_eq!(value(&"calc(".repeat(1000), 16.0), None);
    }
}
