//! A reply of one word, read as a probability.

use crate::generation::{Alternative, TokenLogprob};
use crate::transcript::{CallRecord, Parsed};
use moot_models::kernels::math::{exp, ln};

/// Tokens of a reply.
pub(crate) const TOKENS: usize = 4;

/// Likeliest tokens that are read: spellings of both options are among them.
pub(crate) const TOP: usize = 12;

/// Fewest letters of a token that identifies the option it begins.
const BEGINNING: usize = 2;

/// The probability of the first of two options, normalised over both, by the first token. Without log-probabilities it is 1 or
/// 0, by the reply. A malformed reply is 1/2.
pub(crate) fn probability(call: &CallRecord, options: [&str; 2]) -> f64 {
    probabilities(call, options)[0]
}

/// The probabilities of options, normalised over all, by the first token, which is an option or begins one. Without
/// log-probabilities that of the reply is 1. Those of a malformed reply are equal.
pub(crate) fn probabilities<const N: usize>(call: &CallRecord, options: [&str; N]) -> [f64; N] {
    let equal = [1.0 / N as f64; N];
    let Some(first) = call.logprobs.first().filter(|first| !first.top.is_empty()) else {
        let Parsed::Choice { option: chosen, .. } = call.parsed else { return equal };
        return std::array::from_fn(|option| f64::from(u8::from(option == chosen)));
    };
    let masses = options.map(|word| mass(&first.top, word));
    let all: f64 = masses.iter().sum();
    if all > 0.0 { masses.map(|mass| mass / all) } else { equal }
}

/// The index of the most probable option by the first token, for a reply that no grammar held to the options; `None` where
/// none is among the likeliest tokens.
pub(crate) fn most_probable<'a>(
    logprobs: &[TokenLogprob],
    options: impl IntoIterator<Item = &'a str>,
) -> Option<usize> {
    let top = &logprobs.first()?.top;
    let masses = options.into_iter().map(|word| mass(top, word)).enumerate().filter(|(_, mass)| *mass > 0.0);
    masses.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(option, _)| option)
}

/// The probability of the tokens that are `word` or begin it, in any case.
fn mass(top: &[Alternative], word: &str) -> f64 {
    let spells = |token: &str| {
        let begins =
            || token.len() >= BEGINNING && word.get(..token.len()).is_some_and(|own| own.eq_ignore_ascii_case(token));
        token.eq_ignore_ascii_case(word) || begins()
    };
    let spelt = top.iter().filter(|token| spells(token.text.trim()));
    spelt.map(|token| exp(f64::from(token.logprob))).sum()
}

/// The log-probability of each option, by the first token: of spellings that begin this option and no other. An option without one
/// has the log-probability of the least likely token that is known, less 1. -1 for all without log-probabilities.
pub(crate) fn log_probabilities<const N: usize>(call: &CallRecord, options: [&str; N]) -> [f64; N] {
    let top = call.logprobs.first().map_or(&[][..], |first| &first.top);
    let begins = |option: &str, text: &str| {
        let text = text.trim();
        !text.is_empty() && option.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text))
    };
    let of_one = |option: &str, text: &str| {
        begins(option, text) && options.iter().filter(|other| begins(other, text)).count() == 1
    };
    let least = top.iter().map(|token| f64::from(token.logprob)).fold(0.0, f64::min);
    options.map(|option| {
        let spelt = top.iter().filter(|token| of_one(option, &token.text));
        let sum: f64 = spelt.map(|token| exp(f64::from(token.logprob))).sum();
        if sum > 0.0 { ln(sum) } else { least - 1.0 }
    })
}

/// The log-odds of a probability, at most `most` in size.
pub(crate) fn log_odds(probability: f64, most: f64) -> f64 {
    // Log-odds of 0 and 1 are infinite.
    let within = probability.clamp(1e-3, 1.0 - 1e-3);
    ln(within / (1.0 - within)).clamp(-most, most)
}

#[cfg(test)]
mod tests {
    use super::{log_odds, log_probabilities, probabilities, probability};
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
    fn tokens_that_begin_one_option_alone_are_its_log_probability() {
        let token = |text: &str, p: f32| Alternative { id: None, text: text.into(), logprob: p.ln() };
        let top =
            vec![token("CONT", 0.3), token(" c", 0.1), token("SUPPORTS", 0.2), token("", 0.1), token("Not", 0.05)];
        let first = TokenLogprob { id: None, text: "CONT".into(), logprob: 0.3_f32.ln(), top, watched: Vec::new() };
        let call = CallRecord { logprobs: vec![first], ..CallRecord::default() };
        let found = log_probabilities(&call, ["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]);
        let want = [0.2_f64.ln(), 0.4_f64.ln(), 0.05_f64.ln() - 1.0];
        assert!(found.iter().zip(want).all(|(found, want)| (found - want).abs() < 1e-6), "{found:?}");
        // A token that begins two options identifies neither.
        assert_eq!(log_probabilities(&call, ["CONTRADICTS", "CONTAINS"]).map(f64::exp).map(|p| p < 0.03), [true; 2]);
    }

    #[test]
    fn without_log_probabilities_the_reply_decides() {
        let of = |parsed| probability(&CallRecord { parsed, ..CallRecord::default() }, YES_NO);
        let choice = |option| Parsed::Choice { option, explanation: String::new() };
        assert_eq!((of(choice(0)), of(choice(1)), of(Parsed::Malformed)), (1.0, 0.0, 0.5));
    }

    #[test]
    fn a_token_stands_for_the_option_that_it_begins() {
        let token = |text: &str, p: f32| Alternative { id: None, text: text.into(), logprob: p.ln() };
        let top = vec![token("contr", 0.3), token("ne", 0.1), token("c", 0.5), token("supports", 0.1)];
        let first = TokenLogprob { id: None, text: "c".into(), logprob: 0.5_f32.ln(), top, watched: Vec::new() };
        let call = CallRecord { logprobs: vec![first], ..CallRecord::default() };
        let [contradicts, supports, neither] = probabilities(&call, ["contradicts", "supports", "neither"]);
        assert!((contradicts - 0.6).abs() < 1e-6 && (supports - 0.2).abs() < 1e-6 && (neither - 0.2).abs() < 1e-6);
    }

    #[test]
    fn log_odds_are_bounded() {
        assert_eq!((log_odds(1.0, 4.0), log_odds(0.0, 4.0), log_odds(0.5, 4.0)), (4.0, -4.0, 0.0));
        assert!((log_odds(0.75, 4.0) - 3.0_f64.ln()).abs() < 1e-12);
    }
}
