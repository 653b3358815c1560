//! Comparing prompt variants: halves, the table, and calls that are not made twice.

use super::{answered, header, questions};
use moot::error::MootError;
use moot::eval::metrics::METRICS;
use moot::eval::record::reader::Record;
use moot::eval::variants::{Compared, Half, SHOWN};
use moot::generation::{Message, Prompt, Role};
use moot::llm::once::Once;
use moot::llm::scripted::Scripted;
use moot::llm::{Call, Llm, OnFailure};
use moot::transcript::CallRecord;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

#[test]
fn the_halves_are_disjoint_and_fixed() {
    let ids: Vec<String> = (0..400).map(|i| format!("{i}-ab")).collect();
    let held = |half: Half| ids.iter().filter(|id| half.holds(id)).count();
    assert_eq!((held(Half::Choose) + held(Half::Confirm), held(Half::Both)), (400, 400));
    assert!(ids.iter().all(|id| Half::Choose.holds(id) != Half::Confirm.holds(id)));
    assert!((160..=240).contains(&held(Half::Choose)));
    // The last bit of the SHA-256 of each id, by Python's hashlib.
    let bits = ["q0", "q1", "q2", "q3", "q4", "q5"].map(|id| Half::Confirm.holds(id));
    assert_eq!(bits, [false, true, true, true, false, true]);
    assert_eq!(Half::named("confirm").unwrap(), Half::Confirm);
    assert!(Half::named("chose").unwrap_err().to_string().contains("choose, confirm, both"));
}

#[test]
fn every_metric_shown_is_in_the_table_of_metrics() {
    for name in SHOWN {
        assert!(METRICS.iter().any(|metric| metric.name == *name), "{name}");
    }
}

fn record(name: &str, answers: &[&[&str]]) -> Record {
    let question = |(i, given): (usize, &&[&str])| answered(&format!("q{i}"), &["yes"], &["no"], given);
    let questions = answers.iter().enumerate().map(question).collect();
    Record { path: name.into(), header: header(), questions, torn: false }
}

#[test]
fn variants_are_compared_on_the_questions_wanted_alone() {
    let (right, wrong): (&[&str], &[&str]) = (&["yes"], &["no"]);
    let first = record("a", &[wrong, wrong, right, right]);
    let second = record("b", &[right, right, right, wrong]);
    let names = || vec!["in-use".to_owned(), "better".to_owned()];
    let em = |compared: &Compared| compared.differences[0].rows[0].1.unwrap().mean;
    let all = Compared::new(names(), vec![first.clone(), second.clone()], &questions(4));
    assert_eq!((em(&all), all.differences[0].common), (0.25, 4));
    let two = Compared::new(names(), vec![first, second], &questions(2));
    assert_eq!((em(&two), two.differences[0].common), (1.0, 2));
    let table = two.table();
    assert!(table.contains("+1.000 [+1.000, +1.000]*"), "{table}");
    assert!(table.lines().next().unwrap().trim_start().starts_with("in-use"), "{table}");
    assert!(table.contains("Difference from in-use, paired by question (2 in both)"), "{table}");
    assert!(!table.contains("noise-answered"), "no document is labelled: {table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    assert_eq!(two.json()["variants"][1], "better");
}

fn call(role: &str, text: &str, seed: u64) -> Call {
    let prompt = Prompt::Chat(vec![Message::new(Role::User, text.to_owned())]);
    Call { seed, ..Call::new(text.to_owned(), role, prompt, 8) }
}

#[test]
fn calls_that_a_record_holds_are_not_made_again() {
    let asked = AtomicUsize::new(0);
    let llm = Scripted::new(move |_| format!("new {}", asked.fetch_add(1, Ordering::Relaxed)));
    let known = CallRecord {
        role: "agent".into(),
        messages: vec![Message::new(Role::User, "known".to_owned())],
        max_tokens: 8,
        seed: 7,
        reply: "as before".into(),
        ..CallRecord::default()
    };
    let once = Once::new(&llm, [&known]);
    let calls =
        [call("agent", "other", 7), call("agent", "known", 7), call("agent", "known", 8), call("judge", "known", 7)];
    let mut heard = Vec::new();
    let replies = once.answer(&calls, OnFailure::Cancel, &mut |index, reply| heard.push((index, reply.text.clone())));
    let texts: Vec<String> = replies.into_iter().map(|reply| reply.unwrap().text).collect();
    assert_eq!(texts, ["new 0", "as before", "new 1", "new 2"]);
    heard.sort();
    assert_eq!(heard, texts.into_iter().enumerate().collect::<Vec<_>>());
    assert_eq!(once.shared(), 1);
}

/// Each worker asks one call alone and one that both need, of which the model is asked once, and again after it failed.
#[test]
fn a_call_that_another_worker_asks_is_waited_for() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (go, wait) = mpsc::channel::<()>();
    let (heard, wait) = (asked.clone(), Mutex::new(wait));
    let llm = Scripted::failing(move |call| {
        let text = call.what.clone();
        let before = heard.lock().unwrap().iter().filter(|other| **other == text).count();
        heard.lock().unwrap().push(text.clone());
        if text == "both" {
            wait.lock().unwrap().recv().unwrap();
        }
        if text == "twice" && before == 0 { Err(MootError::Question("failed".into())) } else { Ok(text) }
    });
    let once = Once::new(&llm, []);
    let ask = |texts: &[&str]| {
        let calls: Vec<Call> = texts.iter().map(|text| call("agent", text, 7)).collect();
        let replies = once.answer(&calls, OnFailure::Continue, &mut |_, _| ());
        replies.into_iter().map(|reply| reply.map(|reply| reply.text).ok()).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let ask = &ask;
        let workers = ["left", "right"].map(|own| scope.spawn(move || ask(&["both", own, "both"])));
        std::thread::sleep(Duration::from_millis(50));
        (0..9).for_each(|_| go.send(()).unwrap());
        for (worker, own) in workers.into_iter().zip(["left", "right"]) {
            assert_eq!(worker.join().unwrap(), ["both", own, "both"].map(|text| Some(text.to_owned())));
        }
    });
    let mut counted = asked.lock().unwrap().clone();
    counted.sort();
    assert_eq!(counted, ["both", "left", "right"]);
    assert_eq!(once.shared(), 3);
    assert_eq!(ask(&["twice", "twice"]), [None, Some("twice".to_owned())]);
    assert_eq!(once.shared(), 3);
}
