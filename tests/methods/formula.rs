//! `Row::calls` evaluated. Its clauses, parted by semicolons, each begin with a formula: numbers, switches, `documents` and
//! `sources` with `+`, `-`, `x` and parentheses. Words before the formula name the case that it is for.

/// The value of each clause that has a formula. The first clause is the default's; `value` knows the names.
pub(super) fn clauses(calls: &str, value: &dyn Fn(&str) -> Option<usize>) -> Vec<usize> {
    let of_clause = |clause: &str| {
        let tokens = tokens(clause);
        (0..tokens.len()).find_map(|from| Reader { tokens: &tokens[from..], at: 0, value }.sum())
    };
    calls.split(';').filter_map(of_clause).collect()
}

/// The number of calls by default that the text states: "(5 by default)".
pub(super) fn by_default(calls: &str) -> Option<usize> {
    let (before, _) = calls.split_once(" by default")?;
    tokens(before).last()?.parse().ok()
}

fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let hyphenated = |(at, c): (usize, char)| c == '-' && rest[at + 1..].starts_with(char::is_alphanumeric);
        let ends = |&(at, c): &(usize, char)| !(c.is_alphanumeric() || at > 0 && hyphenated((at, c)));
        let end = match rest.char_indices().find(ends) {
            Some((0, _)) => first.len_utf8(),
            Some((at, _)) => at,
            None => rest.len(),
        };
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    tokens
}

struct Reader<'a> {
    tokens: &'a [&'a str],
    at: usize,
    value: &'a dyn Fn(&str) -> Option<usize>,
}

impl Reader<'_> {
    fn sum(&mut self) -> Option<usize> {
        let mut total = self.product()?;
        while let Some(sign @ ("+" | "-")) = self.tokens.get(self.at).copied() {
            self.at += 1;
            let next = self.product()?;
            total = if sign == "+" { total + next } else { total - next };
        }
        Some(total)
    }

    fn product(&mut self) -> Option<usize> {
        let mut total = self.factor()?;
        while self.tokens.get(self.at) == Some(&"x") {
            self.at += 1;
            total *= self.factor()?;
        }
        Some(total)
    }

    fn factor(&mut self) -> Option<usize> {
        let token = *self.tokens.get(self.at)?;
        self.at += 1;
        if token != "(" {
            return token.parse().ok().or_else(|| (self.value)(token));
        }
        let sum = self.sum()?;
        self.at += 1;
        (self.tokens.get(self.at - 1) == Some(&")")).then_some(sum)
    }
}

#[test]
fn formulas_are_evaluated() {
    let value = |name: &str| {
        [("rounds", 3), ("documents", 10), ("per-query", 2)].iter().find(|row| row.0 == name).map(|row| row.1)
    };
    let of = |text: &str| clauses(text, &value);
    assert_eq!(of("1"), [1]);
    assert_eq!(of("1 + 2 x rounds (7 by default)"), [7]);
    assert_eq!(of("rounds x (documents + 1), at most; without an aggregator rounds x documents"), [33, 30]);
    assert_eq!(of("2 x rounds + per-query - 1; as many as there are"), [7]);
    assert_eq!(of("as many as there are"), [0; 0]);
    assert_eq!((by_default("steps + 1, at most (6 by default), with"), by_default("steps")), (Some(6), None));
}
