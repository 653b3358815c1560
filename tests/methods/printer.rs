//! Printed debates, against `tests/golden/printer`.

use super::{prompt, question, typed};
use crate::prompts::golden;
use moot::cli::debate::{DebatePrinter, View, show, show_with};
use moot::cli::terminal::columns::{shorten, shorten_apart, shorten_middle, width, wrap};
use moot::generation::Finish;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Observer, Settings, Tools};
use moot::protocol::switches::Typed;
use moot::question::{Document, Origin, Passage};
use moot::transcript::{Parsed, QuestionRecord};
use proptest::prelude::*;

/// Each speaker's replies, round by round.
fn script() -> Scripted {
    Scripted::new(|call| {
        let later = prompt(call).contains("You are Agent");
        // A document stands after its source and date where they are known.
        let own = prompt(call).lines().find(|line| line.starts_with("Document: ")).unwrap_or_default().to_owned();
        let of = |document: &str| own.contains(document);
        match () {
            () if of("She was born in 1931") => "Answer: 1931. Explanation: The register of the guild says that Mira Tolland, \
                glassblower, was born in 1931 in Sandholm, and she signed it herself.",
            () if of("She was born in 1968") => "Answer: 1968. Explanation: The yearbook says so.",
            () if of("She was born in 1913") && later => "Answer: 1931. Explanation: The register is the better source.",
            () if of("She was born in 1913") => "Answer: 1913. Explanation: A seller \u{1b}[31msaid so.",
            () if of("Soup") && later => "Answer: unknown. Explanation: The text tells when the museum is open.",
            () if of("Soup") => "I would say that nothing is known.",
            () => "All Correct Answers: [\"1931\", \"1968\"]. Explanation: Agent 1 quotes the register of the guild on the \
                glassblower, so 1931 is correct. Agent 2 speaks of an ornithologist of the same name, so 1968 is correct too.",
        }
        .into()
    })
}

fn held(switches: &Typed, llm: &Scripted, columns: usize) -> (String, QuestionRecord) {
    let mut asked =
        question(&["She was born in 1931.", "She was born in 1968.", "She was born in 1913.", "Soup is served."]);
    asked.documents[1].name = "a-very-long-folder-name/the-yearbook-of-the-observatory.md".into();
    let settings = Settings::default();
    let printer = DebatePrinter::new(Vec::new(), &asked, columns);
    let mut switches = switches.clone();
    switches.insert("wording".into(), "tuned".into());
    let method = methods::build("madam-rag", &switches).unwrap();
    let record = method.answer(&asked, Tools::new(llm), &settings, &printer).unwrap();
    let record = QuestionRecord { seconds: 12.34, ..record };
    (String::from_utf8(printer.finish(&record).unwrap()).unwrap(), record)
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn a_debate_looks_as_it_did() {
    let (text, _) = held(&Typed::new(), &script(), 80);
    golden("printer/debate.txt", &plain(&text));
    assert!(text.contains("\u{1b}[1m") && !plain(&text).contains('\u{1b}'));
    assert!(plain(&text).lines().all(|line| width(line) <= 80));
    let (text, _) = held(&Typed::new(), &script(), 46);
    golden("printer/narrow.txt", &plain(&text));
    assert!(plain(&text).lines().all(|line| width(line) <= 46));
}

#[test]
fn a_recorded_debate_reads_like_the_live_one_whatever_came_first() {
    for history in ["aggregate", "peers"] {
        let switches = typed(&[("history", history)]);
        let (live, record) = held(&switches, &script(), 80);
        assert_eq!(live, held(&switches, &script().backwards(), 80).0);
        assert_eq!(live, String::from_utf8(show(Vec::new(), &record, 80).unwrap()).unwrap());
    }
}

#[test]
fn a_malformed_verdict_an_unknown_and_a_failure_are_shown() {
    let (_, held) = held(&Typed::new(), &script(), 80);
    let show = |record: &QuestionRecord| plain(&String::from_utf8(show(Vec::new(), record, 80).unwrap()).unwrap());
    let mut malformed = held.clone();
    let conclusion = malformed.conclusion.as_mut().unwrap();
    (conclusion.malformed, conclusion.answers) = (true, Vec::new());
    assert!(show(&malformed).contains("No answer: the concluding reply does not keep its format."));
    let mut unknown = held.clone();
    unknown.conclusion.as_mut().unwrap().answers.clear();
    assert!(show(&unknown).contains("Unknown: no answer was judged right."));
    let failed = QuestionRecord { conclusion: None, error: Some("the engine stopped: no memory".into()), ..held };
    assert!(show(&failed).contains("No conclusion\n  the engine stopped: no memory\n"));
}

#[test]
fn passages_of_a_corpus_are_cited_with_their_copies() {
    let (text, mut record) = held(&Typed::new(), &script(), 80);
    assert!(!plain(&text).contains("Passages"), "documents given by hand stand where they were given");
    let origin = |file: &str, from: u64| Origin {
        file: file.into(),
        id: None,
        line: Some(12),
        page: None,
        characters: from..from + 90,
    };
    let copy = |n: u64| Passage {
        text: "She was born in 1931.".into(),
        title: None,
        source: Some(format!("mirror-{n}.example")),
        date: None,
        url: None,
        notes: Vec::new(),
        origin: origin("mirrors.jsonl", n),
    };
    let document = &mut record.question.documents[0];
    document.origin = Some(origin("notes/guild.md", 340));
    document.source = Some("guild".into());
    document.date = Some("1952".into());
    document.copies = (0..10).map(copy).collect();
    record.question.documents[2].origin =
        Some(Origin { page: Some(3), line: None, id: Some("x".into()), ..origin("b.pdf", 0) });
    let text = plain(&String::from_utf8(show(Vec::new(), &record, 80).unwrap()).unwrap());
    let cited = text.split("\nPassages\n").nth(1).unwrap().split("\nTokens").next().unwrap();
    let squeezed = cited.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed.starts_with(
        "1 notes/guild.md:12 (characters 340-430), guild, 1952 copies, counted once: \
         mirror-0.example, mirrors.jsonl:12 (characters 0-90); mirror-1.example, "
    ));
    assert!(squeezed.ends_with("(characters 7-97); 2 more 3 b.pdf, page 3, id x (characters 0-90)"), "{squeezed}");
    assert!(cited.lines().all(|line| width(line) <= 80));
    let line = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<QuestionRecord>(&line).unwrap(), record);
}

#[test]
fn source_and_date_are_shown_beside_every_answer_and_vote() {
    let mut asked = question(&["She was born in 1931.", "She was born in 1968."]);
    asked.documents[0].source = Some("Guild of \u{1b}[31mglassblowers".into());
    asked.documents[0].date = Some("1952-03-04".into());
    asked.documents[1].date = Some("2001".into());
    // A source that equals the name is shown once.
    asked.documents[1].source = Some(asked.documents[1].name.clone());
    let method = methods::build("madam-rag", &typed(&[("rounds", "1")])).unwrap();
    let llm = script();
    let record = method.answer(&asked, Tools::new(&llm), &Settings::default(), &moot::protocol::ctx::Silent).unwrap();
    for columns in [100, 46] {
        let text = plain(&String::from_utf8(show(Vec::new(), &record, columns).unwrap()).unwrap());
        let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // In a narrow terminal the source is shortened, the date stays.
        assert_eq!(squeezed.matches("1952-03-04)").count(), 3, "{text}");
        if columns == 100 {
            assert!(squeezed.contains("1 a.md 1931 (Guild of [31mglassblowers, 1952-03-04)"), "{text}");
            assert!(squeezed.contains("for 1 a.md (Guild of [31mglassblowers, 1952-03-04)"), "{text}");
        }
        assert!(
            squeezed.contains("2 b.txt 1968 (2001)") && squeezed.contains("against 2 b.txt (1968; 2001)"),
            "{text}"
        );
        let body = text.lines().take_while(|line| !line.starts_with("Tokens"));
        assert!(body.clone().all(|line| width(line) <= columns), "{text}");
    }
}

#[test]
fn a_name_is_shortened_in_the_middle_and_a_path_is_wrapped_at_its_slashes() {
    assert_eq!(shorten_middle("short.md", 12), "short.md");
    assert_eq!(shorten_middle("archive/minutes-1884.md:17", 16), "archive/…4.md:17");
    assert_eq!(shorten_middle("archive", 1), "…");
    assert_eq!(
        wrap("see archive/minutes/council-1884.md now", 18),
        ["see", "archive/minutes/", "council-1884.md", "now"]
    );
    assert_eq!(wrap("aaaaaaaaaaaa", 5), ["aaaaa", "aaaaa", "aa"]);
    assert_eq!(shorten("one considerably longer word", 14), "one…");
}

/// Records of one table share both ends of their names.
#[test]
fn shortened_names_still_differ() {
    let of = |names: [&str; 2], columns| shorten_apart(&names, columns);
    assert_eq!(of(["one.jsonl", "archive/minutes-1884.jsonl"], 16), ["one.jsonl", "archive/…4.jsonl"]);
    let rounds = ["ramdocs.madam-rag+rounds=1+aggregator=false.0.5b", "ramdocs.madam-rag+aggregator=false.0.5b"];
    assert_eq!(of(rounds, 24), ["…+rounds=1+aggregator=f…", "…+aggregator=false.0.5b"]);
    assert_eq!(of([rounds[0]; 2], 24), [rounds[0]; 2], "nothing tells them apart");
}

#[test]
fn a_writer_that_fails_is_reported_at_the_end() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (_, record) = held(&Typed::new(), &script(), 80);
    let printer = DebatePrinter::new(Full, &record.question, 80);
    printer.stage(0, 1);
    printer.call(0, &record.calls[0]);
    assert_eq!(printer.finish(&record).err().unwrap().kind(), std::io::ErrorKind::StorageFull);
}

/// `count` documents whose agents answer by turns, and one that withdraws in round 2.
fn many(count: usize) -> QuestionRecord {
    let mut asked = question(&[]);
    asked.documents = (0..count)
        .map(|i| Document {
            name: format!("notes/{i}.md"),
            text: format!("Document {i} says that she was born in {}.", [1931, 1931, 1935, 1968][i % 4]),
            ..Document::default()
        })
        .collect();
    let llm = Scripted::new(|call| match call.document {
        Some(3) if call.round > 1 => "Answer: unknown. Explanation: It was another person.".into(),
        Some(i) => format!("Answer: {}. Explanation: The document says so.", [1931, 1931, 1935, 1968][i % 4]),
        None => "All Correct Answers: [\"1931\", \"1950\", \"cello\"]. Explanation: Most say so.".into(),
    });
    let method = methods::build("madam-rag", &typed(&[("rounds", "2")])).unwrap();
    let record = method.answer(&asked, Tools::new(&llm), &Settings::default(), &moot::protocol::ctx::Silent).unwrap();
    QuestionRecord { seconds: 1.0, ..record }
}

#[test]
fn many_documents_have_a_summary_and_one_line_each() {
    let record = many(21);
    let shown = |full: bool, quotes: bool| {
        let printed = show_with(Vec::new(), &record, View { columns: 80, full, quotes, turns: true }).unwrap();
        plain(&String::from_utf8(printed).unwrap())
    };
    let short = shown(false, true);
    golden("printer/many.txt", &short);
    assert!(short.lines().all(|line| width(line) <= 80));
    assert!(short.contains("\n  1931: 11, 1935: 5, 1968: 4, unknown: 1\n"), "{short}");
    assert!(!short.contains("The document says so."), "one line an agent");
    assert!(
        short.contains("withdrawn; said 1968") && short.contains("withdrawn     4 notes/3.md (said 1968 in round 1)")
    );
    assert!(short.contains("refused       cello: it is from the prompt's worked example"));
    let mut refused = record.clone();
    refused.conclusion.as_mut().unwrap().answers.clear();
    let reasons = |record: &QuestionRecord| {
        let printed = show(Vec::new(), record, 80).unwrap();
        plain(&String::from_utf8(printed).unwrap()).lines().any(|line| line == "Why")
    };
    assert!(reasons(&record) && !reasons(&refused), "where all answers are refused, so are their reasons");
    let full = shown(true, false);
    assert!(full.contains("The document says so.") && full.contains("21 notes/20.md"));
    assert!(full.lines().count() > short.lines().count());
}

#[test]
fn replies_can_be_printed_as_they_arrive() {
    let asked = question(&["She was born in 1931.", "She was born in 1968."]);
    let printer = DebatePrinter::new(Vec::new(), &asked, 80).as_they_arrive();
    let method = methods::build("madam-rag", &typed(&[("rounds", "1")])).unwrap();
    let llm = script().backwards();
    let record = method.answer(&asked, Tools::new(&llm), &Settings::default(), &printer).unwrap();
    let text = plain(&String::from_utf8(printer.finish(&record).unwrap()).unwrap());
    let offset = |part: &str| text.find(part).unwrap();
    assert!(offset("  2 b.txt") < offset("  1 a.md"), "{text}");
    // The first verdict comes behind replies of round 2, beside which it was asked for.
    let printer = DebatePrinter::new(Vec::new(), &asked, 80).as_they_arrive();
    let method = methods::build("madam-rag", &typed(&[("history", "peers"), ("rounds", "2")])).unwrap();
    let record = method.answer(&asked, Tools::new(&llm), &Settings::default(), &printer).unwrap();
    let text = plain(&String::from_utf8(printer.finish(&record).unwrap()).unwrap());
    let (_, second) = text.split_once("\nRound 2\n").unwrap();
    let (replies, last) = second.split_once("  of round 1\n").unwrap();
    assert!(replies.contains("  1 a.md ") && replies.contains("    aggregator  "), "{text}");
    assert!(last.contains("    aggregator  ") && !last.contains("of round"), "{text}");
}

#[test]
fn the_tokens_fit_a_narrow_terminal() {
    let (_, mut record) = held(&Typed::new(), &script(), 80);
    record.calls[9].taken_from = Some(5);
    record.calls[0].usage.prompt = 1_234_567;
    let agents = record.calls.iter().filter(|call| call.role == "agent");
    let prompts: usize = agents.map(|call| call.usage.prompt).sum();
    for columns in [40, 60, 63, 64, 100] {
        let text = plain(&String::from_utf8(show(Vec::new(), &record, columns).unwrap()).unwrap());
        assert!(text.lines().all(|line| width(line) <= columns), "{columns}: {text}");
        let tokens = text.split("\nTokens").nth(1).unwrap();
        let squeezed = tokens.split_whitespace().collect::<Vec<_>>().join(" ");
        let spelt = columns < 64;
        assert_eq!(squeezed.contains(&format!("agent calls 12, prompt {prompts}")), spelt, "{columns}: {text}");
        assert_eq!(squeezed.starts_with("calls prompt reused computed generated"), !spelt, "{columns}: {text}");
        assert!(squeezed.contains("1 call took the reply of an equal call"), "{columns}: {text}");
    }
}

#[test]
fn an_answer_that_no_agent_keeps_is_shown() {
    let asked = question(&["It opened in 1884.", "It opened in 1848."]);
    let llm = Scripted::new(|call| match (call.document, call.round) {
        (Some(0), 1) => "Answer: 1884. Explanation: It says so.".into(),
        (Some(1), 1) => "Answer: 1848. Explanation: It says so.".into(),
        (Some(_), _) => "Answer: Minutes. Explanation: The aggregator says so.".into(),
        (None, _) => "All Correct Answers: [\"Minutes\"]. Explanation: They say so.".into(),
    });
    let method = methods::build("madam-rag", &typed(&[("rounds", "2")])).unwrap();
    let record = method.answer(&asked, Tools::new(&llm), &Settings::default(), &moot::protocol::ctx::Silent).unwrap();
    let text = plain(&String::from_utf8(show(Vec::new(), &record, 100).unwrap()).unwrap());
    assert!(text.contains("  Minutes\n    its words or numbers are in no document's text\n"), "{text}");
    assert!(text.contains("  given up      1884 (1 a.md); changed to Minutes\n"), "{text}");
    assert!(text.contains("  given up      1848 (2 b.txt); changed to Minutes\n"), "{text}");
}

/// A reply that reached its limit and was cut back to a sentence shows a sign, where it stands and in the conclusion.
#[test]
fn a_reply_that_was_cut_has_a_sign() {
    let (_, mut record) = held(&Typed::new(), &script(), 80);
    let shown = |record: &QuestionRecord, full: bool| {
        let view = View { columns: 80, full, quotes: false, turns: true };
        plain(&String::from_utf8(show_with(Vec::new(), record, view).unwrap()).unwrap())
    };
    assert!(!shown(&record, true).contains("[cut]"));
    let verdict = record.conclusion.as_ref().unwrap().calls[0];
    for call in [0, verdict] {
        record.calls[call].reply.push_str(" And then it");
        record.calls[call].finish = Finish::Length;
    }
    for full in [true, false] {
        let text = shown(&record, full);
        assert_eq!(text.matches("[cut]").count(), 3, "{text}");
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
        assert!(text.split("\nWhy\n").nth(1).unwrap().contains(" [cut]\n"), "{text}");
    }
    // One that ended with its last sentence, and one with an ellipsis, need none.
    for call in &mut record.calls {
        call.finish = Finish::Length;
        call.reply = call.reply.trim_end_matches(" And then it").to_owned();
    }
    assert!(!shown(&record, true).contains("[cut]"), "{}", shown(&record, true));
    if let Parsed::Answer { explanation, .. } = &mut record.calls[0].parsed {
        *explanation = "The register of the guild…".into();
    }
    assert!(!shown(&record, true).contains("[cut]"));
}

#[test]
fn calls_that_were_not_made_are_reported() {
    let (_, mut record) = held(&Typed::new(), &script(), 80);
    let shown = |record: &QuestionRecord| plain(&String::from_utf8(show(Vec::new(), record, 80).unwrap()).unwrap());
    assert!(!shown(&record).contains("of an equal call"));
    record.calls[9].taken_from = Some(5);
    assert!(shown(&record).contains("\n  1 call took the reply of an equal call"), "{}", shown(&record));
}

proptest! {
    #[test]
    fn wrapped_lines_fit_and_lose_nothing(text in "[a-z世é]{0,12}( [a-z世é]{0,12}){0,8}", columns in 2usize..20) {
        let lines = wrap(&text, columns);
        prop_assert!(lines.iter().all(|line| width(line) <= columns), "{lines:?}");
        let squeeze = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(squeeze(&lines.concat()), squeeze(&text));
    }

    #[test]
    fn shortened_text_fits(text in "\\PC{0,40}", columns in 1usize..20) {
        prop_assert!(width(&shorten(&text, columns)) <= columns);
        prop_assert!(width(&shorten_middle(&text, columns)) <= columns);
    }
}
