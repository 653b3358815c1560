//! Thoughts before a reply: tokens of their own, no grammar, a mark that ends them or a budget that does.

use super::{
    CHANCE, CONTEXT, FORMS, alone, ask, assert_balanced, bits, done, golden, greedy, one, pages, start, top, words,
};
use moot::MootError;
use moot::cancel::Cancel;
use moot::engine::{Completion, Engine, Request, Think};
use moot::generation::{Finish, Grammar, Message, Prompt, Role, Sampling};
use moot::llm::local::Local;
use moot::llm::{Call, Llm, ModelIdentity};
use moot_models::{LoadOptions, Model};
use std::path::Path;

const YES_NO: &str = r#"start: "yes" | "no""#;

fn never(tokens: usize) -> Think {
    Think { tokens, close: "a text that no tiny model says".into(), close_id: None, after: vec![7], forced: vec![5, 6] }
}

fn thinking(seed: u64, sampling: Sampling, think: Think) -> Request {
    let grammar = Some(Grammar { name: "answer.lark".into(), lark: YES_NO.into() });
    Request { grammar, sampling, seed, think: Some(think), ..greedy(words(seed, 20), 10) }
}

/// The reply as it would be, were the thoughts a part of the prompt.
fn replied_after(form: &str, request: Request, reply: &Completion) -> Completion {
    let thought = reply.thoughts.as_ref().unwrap().tokens;
    let prompt = [request.prompt, reply.tokens[..thought].to_vec()].concat();
    alone(form, Request { prompt, think: None, ..request })
}

#[test]
fn a_budget_ends_thoughts_and_the_reply_keeps_to_its_grammar() {
    for form in FORMS {
        let engine = start(form, pages(64));
        let free = alone(form, greedy(words(3, 20), 12));
        let reply = one(&engine, thinking(3, Sampling::Greedy, never(12)));
        let thoughts = reply.thoughts.as_ref().unwrap();
        assert_eq!((thoughts.tokens, thoughts.cut, &thoughts.text), (14, true, &free.text), "{form}");
        assert_eq!(reply.tokens[..14], [free.tokens, vec![5, 6]].concat());
        assert!(["yes", "no"].contains(&&reply.text[..]) && reply.finish == Finish::Stop, "{:?}", reply.text);
        assert_eq!(reply.usage.generated, reply.tokens.len());
        assert_balanced(&engine.stats(), std::slice::from_ref(&reply));

        let plain = replied_after(form, thinking(3, Sampling::Greedy, never(12)), &reply);
        assert_eq!(reply.text, plain.text);
        assert_eq!(reply.tokens[14..], plain.tokens);
        assert_eq!(reply.logprobs, plain.logprobs, "{form}: one a token of the reply, to the last bit");
    }
}

#[test]
fn the_mark_ends_thoughts_by_its_letters_or_by_its_id() {
    for form in FORMS {
        let free = alone(form, greedy(words(1, 20), 30));
        // A text and a token that the model comes to say by itself.
        let at = free.text.char_indices().map(|(at, _)| at).nth(free.text.chars().count() / 2).unwrap();
        let close = free.text[at..].chars().take(2).collect::<String>();
        let before = &free.text[..free.text.find(&close).unwrap()];
        let think = Think { close, ..never(40) };
        let reply = one(&start(form, pages(64)), thinking(1, Sampling::Greedy, think));
        let thoughts = reply.thoughts.as_ref().unwrap();
        assert_eq!((thoughts.text.as_str(), thoughts.cut), (before, false), "{form}");
        assert_eq!(reply.tokens[thoughts.tokens - 1], 7, "what comes after thoughts that ended");
        assert!(["yes", "no"].contains(&&reply.text[..]));

        let id = free.tokens[10];
        let first = free.tokens.iter().position(|&token| token == id).unwrap();
        let quoted = free.text.chars().take(1).collect::<String>();
        let think = Think { close_id: Some(id), close: quoted, ..never(40) };
        let reply = one(&start(form, pages(64)), thinking(1, Sampling::Greedy, think));
        assert_eq!(reply.thoughts.as_ref().unwrap().tokens, first + 2, "{form}: the letters alone end nothing");
        assert!(!reply.thoughts.unwrap().cut);
    }
}

#[test]
fn an_end_of_turn_ends_the_thoughts_alone() {
    for form in FORMS {
        let engine = start(form, pages(1024));
        let eos = engine.model().tokenizer.eos_ids().to_vec();
        let hot = Sampling::Seeded { temperature: 3.0, top_k: 0, top_p: 1.0 };
        let by = |seed| Request { ignore_eos: false, ..thinking(seed, hot, never(100)) };
        let replies = done(&engine, (0..40).map(by).collect());
        let ended = replies.iter().filter(|reply| !reply.thoughts.as_ref().unwrap().cut).count();
        assert!(ended > 0, "{form}: none of 40 came to its end");
        for reply in &replies {
            let thoughts = reply.thoughts.as_ref().unwrap();
            assert!(["yes", "no"].contains(&&reply.text[..]), "{:?}", reply.text);
            assert_eq!(reply.tokens[thoughts.tokens - 2..thoughts.tokens], [5, 6]);
            assert!(!reply.tokens[..thoughts.tokens].iter().any(|token| eos.contains(token)));
        }
        assert_balanced(&engine.stats(), &replies);
    }
}

/// A mark that would end a turn, as gpt-oss's: it ends the thoughts, and stays in front of what comes after them.
#[test]
fn a_mark_that_ends_messages_stays_in_the_turn() {
    for form in FORMS {
        let engine = start(form, pages(1024));
        let eos = engine.model().tokenizer.eos_ids()[0];
        let hot = Sampling::Seeded { temperature: 3.0, top_k: 0, top_p: 1.0 };
        let think = || Think { close_id: Some(eos), ..never(100) };
        let by = |seed| Request { ignore_eos: false, ..thinking(seed, hot, think()) };
        let replies = done(&engine, (0..40).map(by).collect());
        let mut marked = 0;
        for reply in &replies {
            let thoughts = reply.thoughts.as_ref().unwrap();
            let first = reply.tokens[..thoughts.tokens].iter().position(|&token| token == eos);
            assert!(["yes", "no"].contains(&&reply.text[..]), "{:?}", reply.text);
            if let Some(at) = first {
                assert_eq!((at + 2, reply.tokens[at + 1], thoughts.cut), (thoughts.tokens, 7, false), "{form}");
                marked += 1;
            }
        }
        assert!(marked > 0, "{form}: none of 40 came to the mark");
        assert_balanced(&engine.stats(), &replies);
    }
}

#[test]
fn thoughts_do_not_depend_on_the_batch() {
    for form in FORMS {
        let request = |seed: u64| match seed % 3 {
            0 => thinking(seed, CHANCE, never(9 + seed as usize)),
            1 => Request { seed, sampling: CHANCE, ..greedy(words(seed, 25), 30) },
            _ => Request { grammar: None, ..thinking(seed, CHANCE, never(20)) },
        };
        for step_tokens in [33, 4096] {
            let options = moot::engine::EngineOptions { step_tokens, ..pages(512) };
            let replies = done(&start(form, options), (0..12).map(request).collect());
            for (seed, reply) in replies.iter().enumerate() {
                let own = alone(form, request(seed as u64));
                assert_eq!((&reply.tokens, &reply.thoughts), (&own.tokens, &own.thoughts), "{form}, request {seed}");
                assert_eq!(reply.logprobs, own.logprobs, "{form}, request {seed}");
            }
        }
    }
}

#[test]
fn thoughts_count_where_room_is_promised() {
    let engine = start("llama.gguf", pages(CONTEXT / 16));
    let fits = CONTEXT - 20 - 10 - 2;
    assert!(ask(&engine, vec![thinking(1, Sampling::Greedy, never(fits))])[0].is_ok());
    match &ask(&engine, vec![thinking(1, Sampling::Greedy, never(fits + 1))])[0] {
        Err(MootError::TooLong { needed, generate, .. }) => assert_eq!((*needed, *generate), (CONTEXT + 1, fits + 13)),
        other => panic!("{other:?}"),
    }
    for wrong in [never(0), Think { forced: vec![], ..never(3) }] {
        let refused = &ask(&engine, vec![thinking(1, Sampling::Greedy, wrong)])[0];
        assert!(matches!(refused, Err(MootError::Usage(_))), "{refused:?}");
    }
    assert_eq!(bits(&alone("llama.gguf", greedy(words(2, 20), 5))), bits(&one(&engine, greedy(words(2, 20), 5))));
}

/// The tiny llama with another chat template.
fn with_template(template: &str) -> Local {
    let (from, to) = (golden().join("llama"), tempfile::tempdir().unwrap());
    copy(&from, to.path(), &["tokenizer.json", "model.safetensors", "config.json"]);
    let config = std::fs::read_to_string(from.join("tokenizer_config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
    config["chat_template"] = template.into();
    std::fs::write(to.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    let model = Model::open(to.path(), &LoadOptions::default()).unwrap();
    Local::new(Engine::start(model, pages(64)).unwrap(), ModelIdentity::default(), Cancel::default())
}

fn copy(from: &Path, to: &Path, files: &[&str]) {
    for file in files {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

fn call(think: usize) -> Call {
    Call {
        think,
        grammar: Some(Grammar { name: "answer.lark".into(), lark: YES_NO.into() }),
        logprobs: top(1),
        ..Call::new("agent", "agent", Prompt::Chat(vec![Message::new(Role::User, "Which?")]), 10)
    }
}

const TURNS: &str = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]\n";

/// Templates of three kinds: with a switch, as Qwen3's; one that always opens thoughts, as DeepSeek-R1's; and neither.
#[test]
fn templates_of_every_kind_are_thought_about_or_not_as_asked() {
    let switched = format!("{TURNS}{{% if not enable_thinking %}}<think>\n\n</think>\n\n{{% endif %}}");
    let always = format!("{TURNS}<think>\n");
    for (template, thinks) in [(switched.as_str(), true), (always.as_str(), true), (TURNS, false)] {
        let local = with_template(template);
        assert_eq!(local.thinks(), thinks, "{template}");
        let tokens = |text: &str| local.engine().model().tokenizer.encode_text(text).unwrap().len();
        let ask = |think| local.ask_all(&[call(think)], &mut |_, _| {}).unwrap().remove(0);

        let (off, on) = (ask(0), ask(8));
        assert_eq!(off.thoughts, None);
        assert_eq!((off.text.as_str(), off.held_by.as_deref()), (off.text.trim(), Some("answer.lark")));
        assert_eq!(on.thoughts.is_some(), thinks, "{template}");
        assert!(["yes", "no"].contains(&on.text.as_str()));
        assert_eq!(on.logprobs.len(), on.usage.generated - on.thoughts.as_ref().map_or(0, |t| t.tokens));
        if let Some(thoughts) = &on.thoughts {
            let closing = tokens("\n</think>\n\n");
            assert_eq!((thoughts.tokens, thoughts.cut), (8 + closing, true));
            assert!(off.usage.prompt > on.usage.prompt, "the unasked prompt holds thoughts that are empty: {template}");
        } else {
            assert_eq!((off.usage.prompt, off.text, off.logprobs), (on.usage.prompt, on.text, on.logprobs));
        }
    }
}

/// A template that leaves the channel to the model, as gpt-oss's: thoughts are a message in one, the reply is one in another.
#[test]
fn thoughts_and_replies_have_channels_of_their_own() {
    let turns =
        "{# <|channel|> #}{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endfor %}";
    let local = with_template(&format!("{turns}<|start|>assistant"));
    assert!(local.thinks());
    let tokens = |text: &str| local.engine().model().tokenizer.encode_text(text).unwrap().len();
    let ask = |think| local.ask_all(&[call(think)], &mut |_, _| {}).unwrap().remove(0);
    let (off, on) = (ask(0), ask(8));
    assert_eq!((&off.thoughts, off.held_by.as_deref()), (&None, Some("answer.lark")));
    let thoughts = on.thoughts.as_ref().unwrap();
    let closing = tokens("<|end|><|start|>assistant<|channel|>final<|message|>");
    assert_eq!((thoughts.tokens, thoughts.cut), (8 + closing, true));
    assert!([&off, &on].iter().all(|reply| ["yes", "no"].contains(&reply.text.as_str())), "{off:?} {on:?}");
    assert_eq!(on.logprobs.len(), on.usage.generated - thoughts.tokens);
    // Without a grammar the reply is what the model says in its channel, thoughts apart.
    let free = Call { grammar: None, ..call(8) };
    let reply = local.ask_all(&[free], &mut |_, _| {}).unwrap().remove(0);
    assert_eq!(reply.thoughts.as_ref().map(|thoughts| &thoughts.text), Some(&thoughts.text), "of one prompt");
    assert!(!reply.text.contains("<|channel|>") && reply.usage.generated <= thoughts.tokens + 10);
}
