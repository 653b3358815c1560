//! Units of measure: the dimension of each, and its factor to the dimension's base unit.

/// The quantity that a number measures or counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Dimension {
    /// In metres, with the unit's name.
    Length(&'static str),
    /// In square metres.
    Area(&'static str),
    /// In litres.
    Volume(&'static str),
    /// In kilograms.
    Mass(&'static str),
    /// In seconds.
    Time(&'static str),
    /// In metres per second.
    Speed(&'static str),
    /// In degrees Celsius.
    Temperature(&'static str),
    /// In bytes.
    Bytes(&'static str),
    /// In watts.
    Power(&'static str),
    /// In this currency.
    Money(&'static str),
    Percent,
    /// Minutes after midnight.
    Clock,
    /// A count of things of this name (its stem); empty where the text names none after the number.
    Count(String),
    /// A position in an order.
    Order(String),
}

impl Dimension {
    /// Whether values of both can be compared.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Count(one), Self::Count(two)) => one == two || one.is_empty() || two.is_empty(),
            (Self::Order(one), Self::Order(two)) => one == two,
            (Self::Money(one), Self::Money(two)) => one == two,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// The unit's name, where there is one.
    pub(super) fn unit_name(&self) -> &str {
        match self {
            Self::Length(name)
            | Self::Area(name)
            | Self::Volume(name)
            | Self::Mass(name)
            | Self::Time(name)
            | Self::Speed(name)
            | Self::Temperature(name)
            | Self::Bytes(name)
            | Self::Power(name)
            | Self::Money(name) => name,
            Self::Count(_) | Self::Order(_) | Self::Percent | Self::Clock => "",
        }
    }
}

/// Spellings, the unit's name, its dimension, its factor, and what is added after multiplying.
type Row = (&'static [&'static str], &'static str, fn(&'static str) -> Dimension, f64, f64);

#[rustfmt::skip]
const UNITS: &[Row] = &[
    (&["mm", "millimetre", "millimeter"], "mm", Dimension::Length, 1e-3, 0.0),
    (&["cm", "centimetre", "centimeter"], "cm", Dimension::Length, 1e-2, 0.0),
    (&["m", "metre", "meter"], "m", Dimension::Length, 1.0, 0.0),
    (&["km", "kilometre", "kilometer"], "km", Dimension::Length, 1e3, 0.0),
    // "inche" is what is left of "inches" without its s.
    (&["inch", "inche"], "in", Dimension::Length, 0.0254, 0.0),
    (&["ft", "foot", "feet"], "ft", Dimension::Length, 0.3048, 0.0),
    (&["yd", "yard"], "yd", Dimension::Length, 0.9144, 0.0),
    (&["mi", "mile"], "mi", Dimension::Length, 1609.344, 0.0),
    (&["ha", "hectare"], "ha", Dimension::Area, 1e4, 0.0),
    (&["acre"], "acre", Dimension::Area, 4046.86, 0.0),
    (&["ml", "millilitre", "milliliter"], "ml", Dimension::Volume, 1e-3, 0.0),
    (&["cl"], "cl", Dimension::Volume, 1e-2, 0.0),
    (&["l", "litre", "liter"], "l", Dimension::Volume, 1.0, 0.0),
    // Without "imperial" the four are those of the United States.
    (&["gallon", "gal", "us gallon", "us gal"], "gal", Dimension::Volume, 3.785_412, 0.0),
    (&["quart", "us quart"], "quart", Dimension::Volume, 0.946_353, 0.0),
    (&["pint", "us pint"], "pint", Dimension::Volume, 0.473_176, 0.0),
    (&["fluid ounce", "fl oz", "us fluid ounce", "us fl oz"], "fl oz", Dimension::Volume, 0.029_573_5, 0.0),
    (&["imperial gallon", "imperial gal"], "imperial gal", Dimension::Volume, 4.546_09, 0.0),
    (&["imperial quart"], "imperial quart", Dimension::Volume, 1.136_523, 0.0),
    (&["imperial pint"], "imperial pint", Dimension::Volume, 0.568_261, 0.0),
    (&["imperial fluid ounce", "imperial fl oz"], "imperial fl oz", Dimension::Volume, 0.028_413_1, 0.0),
    (&["mg", "milligram"], "mg", Dimension::Mass, 1e-6, 0.0),
    (&["g", "gram", "gramme"], "g", Dimension::Mass, 1e-3, 0.0),
    (&["kg", "kilo", "kilogram", "kilogramme"], "kg", Dimension::Mass, 1.0, 0.0),
    (&["tonne", "t"], "t", Dimension::Mass, 1e3, 0.0),
    (&["oz", "ounce"], "oz", Dimension::Mass, 0.0283495, 0.0),
    (&["lb", "lbs", "pound"], "lb", Dimension::Mass, 0.453592, 0.0),
    (&["ms", "millisecond"], "ms", Dimension::Time, 1e-3, 0.0),
    (&["s", "sec", "second"], "s", Dimension::Time, 1.0, 0.0),
    (&["min", "minute"], "min", Dimension::Time, 60.0, 0.0),
    (&["h", "hr", "hour"], "h", Dimension::Time, 3600.0, 0.0),
    (&["day"], "day", Dimension::Time, 86400.0, 0.0),
    (&["week"], "week", Dimension::Time, 604_800.0, 0.0),
    (&["fortnight"], "fortnight", Dimension::Time, 1_209_600.0, 0.0),
    // A year of 365.25 days, and a twelfth of it.
    (&["month"], "month", Dimension::Time, 2_629_800.0, 0.0),
    (&["year", "yr"], "year", Dimension::Time, 31_557_600.0, 0.0),
    (&["mph"], "mph", Dimension::Speed, 0.44704, 0.0),
    (&["km/h", "kph", "kmh"], "km/h", Dimension::Speed, 0.277_778, 0.0),
    (&["m/s"], "m/s", Dimension::Speed, 1.0, 0.0),
    (&["knot"], "knot", Dimension::Speed, 0.514_444, 0.0),
    (&["°c", "c", "celsius"], "C", Dimension::Temperature, 1.0, 0.0),
    // (F - 32) * 5 / 9, as a factor and an offset.
    (&["°f", "f", "fahrenheit"], "F", Dimension::Temperature, 5.0 / 9.0, -160.0 / 9.0),
    (&["°", "degree"], "degree", Dimension::Temperature, 1.0, 0.0),
    (&["kb", "kilobyte"], "kB", Dimension::Bytes, 1e3, 0.0),
    (&["mb", "megabyte"], "MB", Dimension::Bytes, 1e6, 0.0),
    (&["gb", "gigabyte"], "GB", Dimension::Bytes, 1e9, 0.0),
    (&["tb", "terabyte"], "TB", Dimension::Bytes, 1e12, 0.0),
    (&["kib"], "KiB", Dimension::Bytes, 1024.0, 0.0),
    (&["mib"], "MiB", Dimension::Bytes, 1_048_576.0, 0.0),
    (&["gib"], "GiB", Dimension::Bytes, 1_073_741_824.0, 0.0),
    (&["w", "watt"], "W", Dimension::Power, 1.0, 0.0),
    (&["kw", "kilowatt"], "kW", Dimension::Power, 1e3, 0.0),
    (&["mw", "megawatt"], "MW", Dimension::Power, 1e6, 0.0),
    (&["pound sterling", "gbp"], "gbp", Dimension::Money, 1.0, 0.0),
    (&["euro", "eur"], "eur", Dimension::Money, 1.0, 0.0),
    (&["dollar", "usd"], "usd", Dimension::Money, 1.0, 0.0),
    (&["%", "percent"], "%", |_| Dimension::Percent, 1.0, 0.0),
];

/// The dimension of a unit, its factor and its offset.
pub(super) type Unit = (Dimension, f64, f64);

/// Most words of a unit's name: "imperial fluid ounce".
const LONGEST: usize = 3;

/// The unit that `words` begin with, of the longest name, and how many words that takes.
pub(super) fn unit_at(words: &[String]) -> Option<(Unit, usize)> {
    let mut lengths = (1..=LONGEST.min(words.len())).rev();
    // Without dots: "U.S. gallons".
    lengths.find_map(|length| Some((unit(&words[..length].join(" ").replace('.', ""))?, length)))
}

/// The unit that is written `word`, which may be several words.
pub(super) fn unit(word: &str) -> Option<Unit> {
    // Not of short words: "ms" would be metres.
    let singular = word.strip_suffix('s').filter(|word| word.len() > 2);
    let is = |spelling: &&str| *spelling == word || singular == Some(spelling);
    let (_, name, dimension, factor, offset) = UNITS.iter().find(|row| row.0.iter().any(&is))?;
    Some((dimension(name), *factor, *offset))
}

/// Whether a word, in lower case, is a unit.
pub(in crate::contradictions) fn is_unit(word: &str) -> bool {
    unit(word).is_some()
}
