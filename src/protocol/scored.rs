//! A reply of one word, read as a probability.

use crate::transcript::{CallRecord, Parsed};
use moot_models::kernels::math::{exp, ln};

/// Tokens of a reply.
pub(crate) const TOKENS: usize = 4;

/// Likeliest tokens that are read: spellings of both options are among them.
pub(crate) const TOP: usize = 12;

/// The probability of the first of two options beside the second, by the first token. Without log-probabilities it is 1 or 0, by
/// the reply. A malformed reply is 1/2.
pub(crate) fn probability(call: &CallRecord, options: [&str; 2]) -> f64 {
    let Some(first) = call.logprobs.first().filter(|first| !first.top.is_empty()) else {
        return match call.parsed {
            Parsed::Choice { option, .. } => f64::from(u8::from(option == 0)),
            _ => 0.5,
        };
    };
    let [one, other] = options.map(|word| -> f64 {
        let spelt = first.top.iter().filter(|token| token.text.trim().eq_ignore_ascii_case(word));
        spelt.map(|token| exp(f64::from(token.logprob))).sum()
    });
    if one + other > 0.0 { one / (one + other) } else { 0.5 }
}

/// The log-odds of a probability, at most `most` in size.
pub(crate) fn log_odds(probability: f64, most: f64) -> f64 {
    let within = probability.clamp(1e-3, 1.0 - 1e-3);
    ln(within / (1.0 - within)).clamp(-most, most)
}

#[cfg(test)]
mod tests {
    use super::{log_odds, probability};
    use crate::generation::{Alternative, TokenLogprob};
    use crate::transcript::{CallRecord, Parsed};

    const YES_NO: [&str; 2] = ["yes", "no"];

    #[test]
    fn spellings_of_yes_count_beside_those_of_no_alone() {
        let token = |text: &str, p: f32| Alternative { id: None, text: text.into(), logprob: p.ln() };
        let top = vec![token("no", 0.2), token(" Yes", 0.1), token("yes", 0.3), token("maybe", 0.4)];
        let first = TokenLogprob { id: None, text: "no".into(), logprob: 0.2_f32.ln(), top, watched: Vec::new() };
        let call = CallRecord { logprobs: vec![first], ..CallRecord::default() };
        assert!((probability(&call, YES_NO) - 4.0 / 6.0).abs() < 1e-6);
    }

    #[test]
    fn without_log_probabilities_the_reply_decides() {
        let of = |parsed| probability(&CallRecord { parsed, ..CallRecord::default() }, YES_NO);
        let choice = |option| Parsed::Choice { option, explanation: String::new() };
        assert_eq!((of(choice(0)), of(choice(1)), of(Parsed::Malformed)), (1.0, 0.0, 0.5));
    }

    #[test]
    fn log_odds_are_bounded() {
        assert_eq!((log_odds(1.0, 4.0), log_odds(0.0, 4.0), log_odds(0.5, 4.0)), (4.0, -4.0, 0.0));
        assert!((log_odds(0.75, 4.0) - 3.0_f64.ln()).abs() < 1e-12);
    }
}
