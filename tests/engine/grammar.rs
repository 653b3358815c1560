//! Replies constrained by a grammar, of a model that would never keep to one by itself.

use super::{CHANCE, FORMS, alone, ask, bits, done, greedy, one, pages, start, words};
use moot::MootError;
use moot::engine::Request;
use moot::generation::{Finish, Grammar, Sampling};

const YES_NO: &str = r#"start: "yes" | "no""#;
const LIST: &str = r#"start: "[" NUMBER (", " NUMBER)* "]"
NUMBER: /[0-9]{1,3}/
"#;

fn constrained(lark: &str, seed: u64, sampling: Sampling, max_tokens: usize) -> Request {
    let grammar = Some(Grammar { name: "answer.lark".into(), lark: lark.into() });
    Request { grammar, sampling, seed, ignore_eos: false, ..greedy(words(seed, 20), max_tokens) }
}

fn ways(seed: u64) -> Sampling {
    if seed.is_multiple_of(2) { Sampling::Greedy } else { Sampling::Seeded { temperature: 2.0, top_k: 0, top_p: 1.0 } }
}

#[test]
fn a_reply_keeps_to_its_grammar() {
    for form in FORMS {
        let engine = start(form, pages(512));
        let replies = done(&engine, (0..40).map(|seed| constrained(YES_NO, seed, ways(seed), 10)).collect());
        for reply in &replies {
            assert!(["yes", "no"].contains(&&reply.text[..]), "{:?}", reply.text);
            assert_eq!(reply.finish, Finish::Stop);
        }
        assert!(["yes", "no"].iter().all(|text| replies.iter().any(|reply| reply.text == *text)), "both are said");
        // No control token stands for text, though they have some.
        assert!(replies.iter().flat_map(|r| &r.tokens).all(|&id| {
            let tokenizer = &engine.model().tokenizer;
            tokenizer.eos_ids().contains(&id) || !tokenizer.is_special(id)
        }));
    }
}

#[test]
fn a_reply_that_may_end_or_continue_can_do_both() {
    for form in FORMS {
        let engine = start(form, pages(1024));
        let open = r#"start: /[ab]{1,4}/"#;
        let replies = done(&engine, (0..60).map(|seed| constrained(open, seed, CHANCE, 10)).collect());
        for reply in &replies {
            assert!((1..=4).contains(&reply.text.len()) && reply.text.bytes().all(|b| b == b'a' || b == b'b'));
            assert_eq!(reply.finish, Finish::Stop);
        }
        let full = replies.iter().filter(|reply| reply.text.len() == 4).count();
        assert!((1..60).contains(&full), "{form}: {full} of 60 went on to the end");
    }
}

/// A list of numbers, or the beginning of one.
fn is_list(text: &str, whole: bool) -> bool {
    let Some(inner) = text.strip_prefix('[') else { return text.is_empty() && !whole };
    let (inner, closed) = inner.strip_suffix(']').map_or((inner, false), |inner| (inner, true));
    let parts: Vec<&str> = inner.split(',').collect();
    let number = |(i, part): (usize, &&str)| {
        let begun = i + 1 == parts.len() && !closed;
        let digits = if i == 0 { Some(*part) } else { part.strip_prefix(' ') };
        match digits {
            Some(digits) => {
                digits.len() <= 3 && digits.bytes().all(|b| b.is_ascii_digit()) && (begun || !digits.is_empty())
            }
            None => begun && part.is_empty(),
        }
    };
    (closed || !whole) && parts.iter().enumerate().all(number)
}

#[test]
fn a_reply_cut_short_is_the_beginning_of_one() {
    assert!(is_list("[1, 234]", true) && is_list("[1, ", false) && is_list("[1,", false));
    assert!(!is_list("[1, ", true) && !is_list("[1,2]", true) && !is_list("[1234", false) && !is_list("[]", true));
    for form in FORMS {
        let engine = start(form, pages(1024));
        let mut cut = 0;
        for max_tokens in [1, 2, 3, 8, 60] {
            for reply in done(&engine, (0..16).map(|seed| constrained(LIST, seed, ways(seed), max_tokens)).collect()) {
                let whole = reply.finish == Finish::Stop;
                assert!(is_list(&reply.text, whole), "{:?} after {max_tokens} tokens", reply.text);
                assert!(reply.tokens.len() <= max_tokens && (whole || reply.tokens.len() == max_tokens));
                cut += usize::from(!whole);
            }
        }
        assert!(cut > 32, "{cut} of 80 were cut short");
    }
}

#[test]
fn a_broken_grammar_is_named_and_other_requests_continue() {
    let engine = start("llama.gguf", pages(256));
    for broken in ["start: (", "start: missing", "no rule at all", ""] {
        let mut bad = constrained(broken, 1, Sampling::Greedy, 10);
        bad.grammar.as_mut().unwrap().name = "broken.lark".into();
        let replies = ask(&engine, vec![greedy(words(1, 40), 10), bad, constrained(YES_NO, 3, CHANCE, 10)]);
        match &replies[1] {
            Err(MootError::Prompt { file, reason }) => {
                assert_eq!(file, "broken.lark");
                assert!(!reason.is_empty() && !reason.contains('\n'), "{reason:?}");
            }
            other => panic!("{broken:?}: {other:?}"),
        }
        assert_eq!(bits(replies[0].as_ref().unwrap()), bits(&alone("llama.gguf", greedy(words(1, 40), 10))));
        assert!(["yes", "no"].contains(&&replies[2].as_ref().unwrap().text[..]));
    }
}

#[test]
fn constrained_and_free_replies_do_not_change_each_other() {
    for form in FORMS {
        let request = |seed: u64| match seed % 3 {
            0 => constrained(LIST, seed, ways(seed), 30),
            1 => Request { sampling: ways(seed), seed, ..greedy(words(seed, 20), 30) },
            _ => constrained(YES_NO, seed, ways(seed), 30),
        };
        let replies = done(&start(form, pages(512)), (0..18).map(request).collect());
        for (seed, reply) in replies.iter().enumerate() {
            assert_eq!(bits(reply), bits(&alone(form, request(seed as u64))), "{form}, request {seed}");
        }
    }
}

/// A grammar changes what is chosen, not what the model thinks of it.
#[test]
fn log_probabilities_are_those_before_the_grammar() {
    let engine = start("llama.gguf", pages(64));
    let free = one(&engine, greedy(words(1, 20), 1));
    let reply = one(&engine, constrained(YES_NO, 1, Sampling::Greedy, 1));
    assert_eq!(reply.logprobs[0].top, free.logprobs[0].top);
    assert!(reply.logprobs[0].logprob < free.logprobs[0].logprob);
}

#[test]
fn a_grammar_is_compiled_once_while_it_is_in_the_cache() {
    let engine = start("llama.gguf", pages(256));
    let choice = |k: u64| {
        let texts: Vec<String> = (1..=k).map(|n| format!("\"{n}\"")).collect();
        format!("start: {}", texts.join(" | "))
    };
    let reply = |k| one(&engine, constrained(&choice(k), k, CHANCE, 10));
    let first = reply(1);
    assert_eq!(first.text, "1");
    for _ in 0..3 {
        assert_eq!(bits(&reply(1)), bits(&first));
    }
    assert_eq!(engine.stats().grammars_compiled, 1);
    for k in 2..=100 {
        assert!((1..=k).contains(&reply(k).text.parse().unwrap()));
    }
    assert_eq!(engine.stats().grammars_compiled, 100);
    // The newest are kept, the oldest are not.
    reply(100);
    assert_eq!(engine.stats().grammars_compiled, 100);
    assert_eq!(bits(&reply(1)), bits(&first));
    assert_eq!(engine.stats().grammars_compiled, 101);
}
