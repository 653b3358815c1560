//! Numbers with their units, dates and times of day in a sentence, and whether those of two sentences agree.

mod clock;
mod parts;
mod read;
mod units;

use crate::dates::Date;
use units::Dimension;

pub(super) use parts::{is_number, parts};
pub(super) use units::is_unit;

/// A number with what it counts or measures.
#[derive(Debug, Clone, PartialEq)]
struct Quantity {
    /// In the dimension's base unit.
    value: f64,
    dimension: Dimension,
    /// As it is read, in lower case and in digits: "240 seats".
    text: String,
    /// Hedged in the text: "about", "nearly", "over".
    rough: bool,
}

/// The quantities and dates of a sentence.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Numbers {
    quantities: Vec<Quantity>,
    pub(super) dates: Vec<(Date, String)>,
}

/// How the numbers or the dates of two sentences relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Relation {
    /// One of the sentences has no numbers, or no dates.
    #[default]
    Absent,
    /// They have a value in common.
    Agree,
    /// Both have some, but none can be compared.
    Apart,
    /// Comparable values that differ.
    Differ,
}

impl Numbers {
    /// Compares quantities of the same dimension; counts, of the same thing.
    pub(super) fn quantities_with(&self, other: &Self) -> Relation {
        if self.quantities.is_empty() || other.quantities.is_empty() {
            return Relation::Absent;
        }
        let agree = self.quantities.iter().any(|one| one.is_among(&other.quantities));
        let differ = self.quantities.iter().any(|one| self.opposes(one, other));
        match (agree, differ) {
            // A value in common does not outweigh another that differs: 240 and 310 seats, both in 3 rows.
            (_, true) => Relation::Differ,
            (true, false) => Relation::Agree,
            (false, false) => Relation::Apart,
        }
    }

    /// Whether both have a quantity of the same value, whatever it counts or measures.
    pub(super) fn share_a_value(&self, other: &Self) -> bool {
        self.quantities.iter().any(|one| other.quantities.iter().any(|two| one.equals(two)))
    }

    /// Whether `self` has a value of `claim` that `against` lacks. A date may be given in part.
    pub(super) fn give(&self, claim: &Self, against: &Self) -> bool {
        let mut dates = claim.dates.iter().filter(|(one, _)| against.dates.iter().all(|(two, _)| one.contradicts(two)));
        self.counts(claim, against) || dates.any(|(one, _)| self.dates.iter().any(|(two, _)| compatible(one, two)))
    }

    /// Whether `self` has a quantity of `claim` that `against` lacks, or a whole date of `claim`.
    pub(super) fn have(&self, claim: &Self, against: &Self) -> bool {
        self.counts(claim, against) || self.dates.iter().any(|(one, _)| claim.dates.iter().any(|(two, _)| one == two))
    }

    /// Whether `self` has a quantity of `claim` that `against` lacks. A count equals any number of its value, whatever is counted.
    fn counts(&self, claim: &Self, against: &Self) -> bool {
        let like = |one: &Quantity, two: &Quantity| {
            let counts = matches!(one.dimension, Dimension::Count(_)) || matches!(two.dimension, Dimension::Count(_));
            (counts || one.dimension.is_like(&two.dimension)) && one.equals(two)
        };
        let own = |one: &&Quantity| !against.quantities.iter().any(|two| like(one, two));
        claim.quantities.iter().filter(own).any(|one| self.quantities.iter().any(|two| like(one, two)))
    }

    /// Compares the dates.
    pub(super) fn dates_with(&self, other: &Self) -> Relation {
        if self.dates.is_empty() || other.dates.is_empty() {
            return Relation::Absent;
        }
        if self.dates.iter().any(|(one, _)| other.dates.iter().any(|(two, _)| compatible(one, two))) {
            return Relation::Agree;
        }
        let opposed = self.dates.iter().any(|(one, _)| other.dates.iter().any(|(two, _)| one.contradicts(two)));
        if opposed { Relation::Differ } else { Relation::Apart }
    }

    /// Whether `other` has quantities comparable to `one`, a quantity of `self`, and `self` has none of them: "20, formerly 10" and
    /// "20" agree.
    fn opposes(&self, one: &Quantity, other: &Self) -> bool {
        let like = |two: &&Quantity| one.dimension.is_like(&two.dimension);
        let mut alike = other.quantities.iter().filter(like).peekable();
        alike.peek().is_some() && alike.all(|two| !two.is_among(&self.quantities))
    }

    /// The values of `self` that `other` contradicts: comparable to its values and equal to none.
    pub(super) fn opposed(&self, other: &Self) -> Self {
        let quantities = self.quantities.iter().filter(|one| self.opposes(one, other)).cloned().collect();
        let opposed = |date: &&(Date, String)| other.dates.iter().any(|(two, _)| date.0.contradicts(two));
        Self { quantities, dates: self.dates.iter().filter(opposed).cloned().collect() }
    }

    /// Whether both have a value in common, in any unit; a date may be given in part.
    pub(super) fn meet(&self, other: &Self) -> bool {
        let date = || self.dates.iter().any(|(one, _)| other.dates.iter().any(|(two, _)| compatible(one, two)));
        self.quantities.iter().any(|one| one.is_among(&other.quantities)) || date()
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.quantities.is_empty() && self.dates.is_empty()
    }

    /// Its values as they are read.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let dates = self.dates.iter().map(|(_, text)| text.as_str());
        self.quantities.iter().map(|quantity| quantity.text.as_str()).chain(dates)
    }

    /// The text of the first count of `self` above 1, if both have counts and share no value. Both may count the same thing by
    /// different names: "has beds for 40 guests" and "has 52 beds".
    pub(super) fn loose(&self, other: &Self) -> Option<String> {
        let counts =
            |numbers: &'_ Self| numbers.quantities.iter().any(|one| matches!(one.dimension, Dimension::Count(_)));
        let is_count = |one: &&Quantity| matches!(one.dimension, Dimension::Count(_));
        let own = self.quantities.iter().filter(is_count).find(|one| one.value > 1.0);
        own.filter(|_| counts(other) && !self.share_a_value(other)).map(|one| one.text.clone())
    }
}

/// Whether both can be the same date.
fn compatible(one: &Date, two: &Date) -> bool {
    one == two || one.is_part_of(two) || two.is_part_of(one)
}

impl Quantity {
    /// Whether one of `others` is the same value of the same kind.
    fn is_among(&self, others: &[Self]) -> bool {
        others.iter().any(|other| self.dimension.is_like(&other.dimension) && self.equals(other))
    }

    /// Whether both are the same value within a tolerance: 6 % for hedged values, 2 % for converted ones.
    fn equals(&self, other: &Self) -> bool {
        let size = self.value.abs().max(other.value.abs());
        let converted = self.dimension.unit_name() != other.dimension.unit_name();
        let within = match (self.rough || other.rough, converted) {
            (true, _) => 0.06,
            (false, true) => 0.02,
            (false, false) => 1e-9,
        };
        (self.value - other.value).abs() <= size * within
    }
}

#[cfg(test)]
mod tests {
    use super::{Numbers, Relation};

    fn quantities(a: &str, b: &str) -> Relation {
        Numbers::of(a).quantities_with(&Numbers::of(b))
    }

    fn dates(a: &str, b: &str) -> Relation {
        Numbers::of(a).dates_with(&Numbers::of(b))
    }

    #[test]
    fn units_that_convert_to_the_same_value_agree() {
        for (a, b) in [
            ("It is 5 miles long.", "Its length is 8.05 km."),
            ("It weighs 10 kg.", "It weighs 22 lb."),
            ("Store it at 25 °C.", "Store it at 77 °F."),
            ("It holds two hundred and forty people.", "It holds 240 people."),
            ("The doors open at 5.30 pm.", "The doors open at 17:30."),
            ("A budget of £1.2 million", "A budget of £1,200,000"),
            ("It takes 90 minutes.", "It takes 1.5 hours."),
            ("a limit of 2 GB", "a limit of 2000 MB"),
            ("about 1,200 visitors", "1,187 visitors"),
            ("12 per cent of users", "12% of users"),
            ("The limit was 30 mph until 2021 and is now 20 mph.", "The limit is 20 mph."),
        ] {
            assert_eq!(quantities(a, b), Relation::Agree, "{a} / {b}: {:?} {:?}", Numbers::of(a), Numbers::of(b));
        }
    }

    #[test]
    fn gallons_quarts_pints_and_fluid_ounces_are_american_unless_they_are_called_imperial() {
        for (a, b) in [
            ("It holds 2 gallons.", "It holds 16 pints."),
            ("It holds 2 gallons.", "It holds 8 quarts."),
            ("It holds 1.5 pints.", "It holds 24 fluid ounces."),
            ("It holds 12 fl. oz.", "It holds 355 ml."),
            ("It holds 700 U.S. gallons.", "It holds 2,650 litres."),
            ("It holds 10 US gallons.", "It holds 10 gallons."),
            ("It holds 700 imperial gallons.", "It holds 3,182 litres."),
            ("It holds 2 imperial quarts.", "It holds 4 imperial pints."),
            ("It holds 20 imperial fluid ounces.", "It holds 568 ml."),
        ] {
            assert_eq!(quantities(a, b), Relation::Agree, "{a} / {b}: {:?} {:?}", Numbers::of(a), Numbers::of(b));
        }
        assert_eq!(quantities("It holds 10 imperial gallons.", "It holds 10 US gallons."), Relation::Differ);
        assert_eq!(quantities("It holds 5 pints.", "It holds 5 imperial pints."), Relation::Differ);
        assert_eq!(Numbers::of("It held 1500 imperial gallons.").dates, []);
    }

    #[test]
    fn other_values_of_the_same_thing_differ() {
        for (a, b) in [
            ("It is 5 miles long.", "It is 5 km long."),
            ("The hall has 240 seats.", "The hall has 310 seats."),
            ("The doors open at 9 am.", "The doors open at 10:00."),
            ("It costs $40.", "It costs $45."),
            ("a 30-day limit", "a limit of 14 days"),
            ("It runs on Python 3.8 and newer.", "It needs Python 3.10 or newer."),
        ] {
            let (one, two) = (Numbers::of(a), Numbers::of(b));
            let relation = one.quantities_with(&two);
            assert!(relation == Relation::Differ, "{a} / {b}: {one:?} {two:?}");
        }
        assert_eq!(quantities("It has 240 seats.", "It has 3 doors."), Relation::Apart);
        assert_eq!(quantities("It has seats.", "It has 3 doors."), Relation::Absent);
    }

    #[test]
    fn a_decade_is_no_duration_and_midnight_is_one_time() {
        assert_eq!(quantities("It was built in the 1990s.", "It took 3 seconds."), Relation::Absent);
        assert_eq!(quantities("a house of the 1500s", "3 seconds"), Relation::Absent);
        assert_eq!(quantities("a limit of 90s", "a limit of 90 seconds"), Relation::Agree);
        for other in ["00:00", "12 am", "24:00"] {
            assert_eq!(
                quantities("It shuts at midnight.", &format!("It shuts at {other}.")),
                Relation::Agree,
                "{other}"
            );
        }
        assert_eq!(quantities("It shuts at midnight.", "It shuts at noon."), Relation::Differ);
    }

    #[test]
    fn dates_are_read_whole() {
        assert_eq!(dates("It opened on 14 June 1952.", "It opened in June 1952."), Relation::Agree);
        assert_eq!(dates("It opened on 14 June 1952.", "It opened on June 14, 1952."), Relation::Agree);
        assert_eq!(dates("It opened in 1952.", "It opened in 1954."), Relation::Differ);
        assert_eq!(dates("It opened on 2021-05-03.", "It opened on 3 May 2021."), Relation::Agree);
        assert_eq!(dates("It closes on 3 May.", "It closes on 5 May."), Relation::Differ);
        assert_eq!(Numbers::of("It weighs 1200 kg.").dates, []);
        assert_eq!(Numbers::of("version 2.4.1 of 3 files").quantities.len(), 1);
    }
}
