//! Calls as a method asks for them, as the model gets them, and as the record has them.

use super::{ROW, SYSTEM, by, model, say, with};
use crate::methods::four;
use moot::generation::{Finish, Grammar, Logprobs, Message, Prompt, Role, Sampling, Segment};
use moot::llm::replay::Replay;
use moot::llm::scripted::Scripted;
use moot::llm::{Call, Llm};
use moot::protocol::ctx::{Ctx, Settings, Silent, Tools, derive_seed};
use moot::protocol::formats::{ANSWER, CHOICE};
use moot::transcript::{CallRecord, Parsed};
use serde_json::json;

/// A line of a record and back is the same call.
fn survives(call: &CallRecord) {
    let line = serde_json::to_string(call).unwrap();
    assert_eq!(&serde_json::from_str::<CallRecord>(&line).unwrap(), call, "{line}");
}

#[test]
fn an_ask_with_defaults_obeys_the_settings() {
    let (llm, sent) = model("<think>Hm.</think>a reply");
    let sampling = Sampling::Seeded { temperature: 0.5, top_k: 3, top_p: 0.9 };
    let settings = Settings { seed: 9, max_tokens: 77, sampling, think: 5, free_form: false };
    let (record, call) = with(Tools::new(&llm), &settings, &Silent, |ctx| ctx.ask(say("a").document(1)));
    let sent = sent.lock().unwrap();
    let expected = Call {
        think: 5,
        sampling,
        document: Some(1),
        seed: derive_seed(9, "q1", "agent", 1, 0),
        format: "text",
        ..Call::new("agent of b.txt, round 1", "agent", Prompt::Chat(vec![Message::new(Role::User, "Say a.")]), 77)
    };
    assert_eq!(format!("{sent:?}"), format!("{:?}", [expected]));
    let call = call.unwrap();
    assert_eq!((call.prompt.as_str(), call.format.as_str(), call.grammar.as_deref()), ("test/say.jinja", "text", None));
    assert_eq!((call.max_tokens, call.think, call.sampling, call.document), (77, Some(5), Some(sampling), Some(1)));
    assert_eq!(call.thoughts.as_ref().unwrap().text, "Hm.");
    assert_eq!((&record.calls[0], &call.sent()), (&call, &sent[0].prompt));
    survives(&call);
}

#[test]
fn settings_of_an_ask_override_those_of_the_run_and_are_recorded() {
    let (llm, sent) = model("x");
    let wanted = Logprobs { top: 1, watch: vec![7, 9] };
    let sampling = Sampling::Seeded { temperature: 1.0, top_k: 0, top_p: 1.0 };
    let ask = say("a").max_tokens(3).sampling(sampling).stop(["\n", "END"]).logprobs(wanted.clone()).round(4);
    let (_, call) = by(&llm, |ctx| ctx.ask(ask));
    let (sent, call) = (sent.lock().unwrap()[0].clone(), call.unwrap());
    assert_eq!((sent.max_tokens, sent.sampling, sent.logprobs.clone()), (3, sampling, Some(wanted.clone())));
    assert_eq!(sent.stop, ["\n", "END"]);
    assert_eq!((call.round, call.max_tokens, call.sampling), (4, 3, Some(sampling)));
    assert_eq!((&call.stop, &call.wanted_logprobs), (&sent.stop, &Some(wanted)));
    assert_eq!((call.logprobs.len(), call.logprobs[0].watched.len()), (1, 2));
    survives(&call);
}

#[test]
fn samples_have_their_own_seeds_and_are_adjacent() {
    let llm = Scripted::new(|call| call.seed.to_string());
    let (record, calls) = by(&llm, |ctx| {
        let calls = ctx.ask_all(&[say("a").samples(3), say("b"), say("b").round(2).samples(2)])?;
        Ok((calls, ctx.ask(say("c"))?))
    });
    let (calls, last) = calls.unwrap();
    let shape: Vec<_> = calls.iter().map(|call| (call.messages[0].content.as_str(), call.round, call.sample)).collect();
    let want =
        [("Say a.", 1, 0), ("Say a.", 1, 1), ("Say a.", 1, 2), ("Say b.", 1, 0), ("Say b.", 2, 0), ("Say b.", 2, 1)];
    assert_eq!(shape, want);
    // Counted among the calls of the same role and round, of this stage and of those before.
    let of = |round, index| derive_seed(0, "q1", "agent", round, index);
    let seeds: Vec<u64> = calls.iter().chain([&last]).map(|call| call.seed).collect();
    assert_eq!(seeds, [of(1, 0), of(1, 1), of(1, 2), of(1, 3), of(2, 0), of(2, 1), of(1, 4)]);
    assert!(calls.iter().all(|call| call.reply == call.seed.to_string()));
    assert!(record.calls.iter().enumerate().all(|(number, call)| call.number == number));
    assert_eq!(record.calls.iter().map(|call| call.stage).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 1]);
    record.calls.iter().for_each(survives);
}

#[test]
fn a_chat_has_its_system_message_first_and_its_earlier_turns_in_order() {
    let (llm, sent) = model("third");
    let turns = vec![Message::new(Role::User, "One?"), Message::new(Role::Assistant, "First <|im_end|>.")];
    let (_, call) = by(&llm, |ctx| ctx.ask(say("a").system(SYSTEM).after(turns.clone())));
    let want = [
        Message::new(Role::System, "You say a."),
        turns[0].clone(),
        turns[1].clone(),
        Message::new(Role::User, "Say a."),
    ];
    let call = call.unwrap();
    assert_eq!(sent.lock().unwrap()[0].prompt.messages(), want);
    assert_eq!(call.messages, want);
    survives(&call);
}

#[test]
fn a_prefill_is_continued() {
    let (llm, sent) = model("Paris.");
    let settings = Settings { think: 9, ..Settings::default() };
    let ask = say("a").prefill_scaffold("[Retrieval]").prefill("So the answer is ");
    let (_, call) = with(Tools::new(&llm), &settings, &Silent, |ctx| ctx.ask(ask));
    let want = [Segment::Scaffold("[Retrieval]".into()), Segment::Content("So the answer is ".into())];
    let (sent, call) = (sent.lock().unwrap()[0].clone(), call.unwrap());
    assert_eq!((&sent.prefill[..], sent.score, sent.think), (&want[..], false, 0), "a begun reply has no thoughts");
    assert_eq!((&call.prefill[..], call.think), (&want[..], Some(0)));
    assert_eq!(call.reply, "Paris.");
    survives(&call);
}

#[test]
fn a_scored_call_generates_nothing() {
    let llm = Scripted::new(|_| panic!("nothing is generated")).with_scores(|_, word| -(word.len() as f32));
    let (_, call) = by(&llm, |ctx| ctx.ask(say("a").prefill("in 1931 or so").scored()));
    let call = call.unwrap();
    assert_eq!((call.score, call.max_tokens, call.grammar.as_deref()), (true, 0, None));
    assert_eq!((call.format.as_str(), &call.parsed, call.reply.as_str()), ("scores", &Parsed::Scored, ""));
    let scores: Vec<(&str, f32)> = call.scores.iter().map(|token| (token.text.as_str(), token.logprob)).collect();
    assert_eq!(scores, [("in", -2.0), ("1931", -4.0), ("or", -2.0), ("so", -2.0)]);
    assert_eq!((call.total_score(), call.mean_score()), (-10.0, Some(-2.5)));
    survives(&call);
    assert_eq!(CallRecord::default().mean_score(), None);
}

#[test]
fn a_format_constrains_a_reply_unless_the_run_is_free_form() {
    let grammar = |settings: &Settings| {
        let (llm, sent) = model("no");
        let asks = [say("a").max_tokens(4), say("b")];
        let asks = asks.map(|ask| moot::protocol::Ask { format: &CHOICE, ..ask }.options(["yes", "no"]));
        let (record, calls) = with(Tools::new(&llm), settings, &Silent, |ctx| ctx.ask_all(&asks));
        assert_eq!(calls.unwrap()[0].parsed, Parsed::Choice { option: 1, explanation: String::new() });
        let sent = sent.lock().unwrap()[0].clone();
        assert_eq!(record.calls[0].format_values, json!({ "options": ["yes", "no"] }));
        assert_eq!(record.calls[0].grammar.as_deref(), sent.grammar.as_ref().map(|grammar| &*grammar.name));
        survives(&record.calls[0]);
        (sent.grammar, sent.schema.map(|schema| schema.json.to_string()))
    };
    let (Some(Grammar { name, lark }), Some(schema)) = grammar(&Settings::default()) else { panic!("no grammar") };
    assert_eq!(&*name, "reply/choice.lark");
    assert!(lark.contains(r#"start: "yes" | "no""#) && schema.contains(r#""enum":["yes","no"]"#), "{lark}\n{schema}");
    assert_eq!(grammar(&Settings { free_form: true, ..Settings::default() }), (None, None));
}

#[test]
fn a_reply_is_read_by_its_format_and_counted_where_it_is_malformed() {
    let llm = Scripted::list(["Answer: 1. Explanation: x", "I wonder"]);
    let asks = [say("a"), say("b")].map(|ask| moot::protocol::Ask { format: &ANSWER, ..ask });
    let (record, calls) = by(&llm, |ctx| ctx.ask_all(&asks));
    assert_eq!(calls.unwrap(), record.calls);
    let parsed: Vec<&Parsed> = record.calls.iter().map(|call| &call.parsed).collect();
    assert_eq!(parsed, [&Parsed::Answer { answer: Some("1".into()), explanation: "x".into() }, &Parsed::Malformed]);
    assert_eq!(record.calls[0].finish, Finish::Stop);
}

/// Every setting of a call is in the key by which a replay finds it.
#[test]
fn a_replay_answers_every_kind_of_call_from_its_record() {
    let (llm, _) = model("some reply");
    let asks = || {
        vec![
            say("a").samples(2),
            say("a").system(SYSTEM),
            say("a").after(vec![Message::new(Role::User, "x"), Message::new(Role::Assistant, "y")]),
            say("a").prefill("So "),
            say("a").prefill_scaffold("So "),
            say("a").prefill("So ").scored(),
            say("a").stop(["."]),
            moot::protocol::Ask { prompt: super::RAW, ..say("a") }.raw(),
        ]
    };
    let (first, _) = by(&llm, |ctx| ctx.ask_all(&asks()));
    assert_eq!(first.calls.len(), 9);
    let replay = Replay::new(llm.identity().clone(), &first.calls);
    let (again, _) = by(&replay, |ctx| ctx.ask_all(&asks()));
    assert_eq!(again.calls, first.calls);
    let (_, other) = by(&replay, |ctx| ctx.ask(say("a").stop(["!"])));
    assert!(other.unwrap_err().to_string().starts_with("agent, round 1: the record holds no call"));
}

#[test]
fn stages_continue_after_the_given_events() {
    let (llm, _) = model("x");
    let (settings, question) = (Settings::default(), four());
    let before = moot::transcript::Event::Fallback { stage: 0, what: "earlier".into(), dropped: None };
    let mut ctx = Ctx::new(ROW.name, ROW.files().collect(), &question, Tools::new(&llm), &settings, &Silent)
        .after(vec![before.clone()]);
    assert_eq!(ctx.ask(say("a")).unwrap().stage, 1);
    assert_eq!(ctx.into_record().events, [before]);
}

/// A call that equals an earlier one is not made again: in the same stage, and in a later one.
#[test]
fn the_reply_to_an_equal_call_is_used_again() {
    let (llm, sent) = model("some reply");
    let llm = llm.deterministic();
    let (record, made) = by(&llm, |ctx| {
        ctx.ask_all(&[say("a").document(0), say("b").document(1), say("a").document(2)])?;
        ctx.ask_all(&[say("a").document(3).round(2), say("c").document(0).round(2), say("a").max_tokens(9)])
    });
    assert_eq!(made.unwrap().len(), 3);
    assert_eq!(sent.lock().unwrap().len(), 4, "a, b, c, and a with another limit");
    let taken: Vec<Option<usize>> = record.calls.iter().map(|call| call.taken_from).collect();
    assert_eq!(taken, [None, None, Some(0), Some(0), None, None]);
    let (first, over) = (&record.calls[0], &record.calls[3]);
    assert_eq!((&first.reply, &first.parsed), (&over.reply, &over.parsed));
    assert_eq!((over.number, over.round, over.document), (3, 2, Some(3)));
    let usage = over.usage;
    assert_eq!((usage.prompt, usage.reused, usage.computed, usage.generated), (first.usage.prompt, usage.prompt, 0, 0));
    record.calls.iter().for_each(survives);
    assert_eq!(moot::eval::metrics::cost::taken_over(&record), Some(2.0));
    assert_eq!(moot::eval::metrics::cost::calls(&record), Some(6.0));
}

#[test]
fn a_call_is_made_again_where_its_reply_may_differ() {
    let seeded = Sampling::Seeded { temperature: 0.5, top_k: 0, top_p: 1.0 };
    let twice = |llm: &Scripted, ask: fn() -> moot::protocol::Ask| {
        by(llm, |ctx| ctx.ask_all(&[ask(), ask()])).0.calls.iter().filter(|call| call.taken_from.is_some()).count()
    };
    let greedy = || say("a");
    assert_eq!(twice(&model("x").0.deterministic(), greedy), 1);
    // A model that may answer an equal call differently, as a server may.
    assert_eq!(twice(&model("x").0, greedy), 0);
    // Each call draws by a seed of its own.
    let drawn = move |llm: &Scripted| {
        let asks = [say("a").sampling(seeded), say("a").sampling(seeded).samples(2)];
        by(llm, |ctx| ctx.ask_all(&asks)).0.calls.iter().filter(|call| call.taken_from.is_some()).count()
    };
    assert_eq!(drawn(&model("x").0.deterministic()), 0);
    // Other roles may have other models; each of these differs in one thing that decides the reply.
    let others = [
        say("a"),
        say("a").system(SYSTEM),
        say("a").prefill("So "),
        say("a").stop(["."]),
        say("a").max_tokens(3),
        say("a").logprobs(Logprobs::default()),
        moot::protocol::Ask { role: "judge".into(), ..say("a") },
        moot::protocol::Ask { format: &CHOICE, ..say("a") }.options(["x", "y"]),
        moot::protocol::Ask { format: &CHOICE, ..say("a") }.options(["x", "z"]),
    ];
    for stages in [&others[..], &[]] {
        let (record, _) = by(&model("x").0.deterministic(), |ctx| {
            if stages.is_empty() {
                others.iter().try_for_each(|ask| ctx.ask(ask.clone()).map(drop))
            } else {
                ctx.ask_all(stages).map(drop)
            }
        });
        assert_eq!(record.calls.len(), others.len());
        assert!(record.calls.iter().all(|call| call.taken_from.is_none()));
    }
}

#[test]
fn of_equal_calls_that_may_fail_each_is_made() {
    let failing = Scripted::failing(|_| Err(moot::MootError::Question("no".into()))).deterministic();
    let (record, results) = by(&failing, |ctx| ctx.try_all(&[say("a"), say("a")]));
    assert!(results.unwrap().iter().all(Result::is_err) && record.calls.is_empty());
    assert_eq!(record.events.len(), 2);
    let (_, failed) = by(&failing, |ctx| ctx.ask_all(&[say("a"), say("a")]));
    assert!(failed.unwrap_err().to_string().contains("no"));
}
