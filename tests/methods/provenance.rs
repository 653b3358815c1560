//! Source and date of documents in prompts: agents of one document and those who read their replies see them, and nothing
//! else changes.

use super::cases::{Case, cases, question, rows, texts};
use super::scripted::{Model, Takes, read_by};
use super::{answer, question as four_of, typed};
use moot::llm::scripted::Scripted;
use moot::protocol::Row;
use moot::protocol::switches::Typed;
use moot::question::{Origin, Passage, Question};
use moot::retrieval::{Hit, documents};
use moot::transcript::CallRecord;

/// Methods whose agents read one document each, with its source and date. Prompts with several documents show their texts
/// alone.
const WITH: [&str; 3] = ["debate", "moot", "source-isolated-arbitration"];
/// Methods that use sources in their own way: to ask each alone, or to name it beside its context.
const OWN_WAY: [&str; 3] = ["ra-rag", "ra-rag-long", "verification"];

/// The method whose prompts are worded otherwise too where a source or a date is known: what they show of the question is the
/// same.
const WORDED: &str = "debate";

fn known(number: usize) -> String {
    format!("(office {number}, 190{number}-05-02)")
}

/// `question`, with a title, a source and a date at each document.
fn headed(question: &Question) -> Question {
    let mut question = question.clone();
    for (number, document) in question.documents.iter_mut().enumerate() {
        document.title = Some(format!("Log {number}"));
        document.source = Some(format!("office\n {number}"));
        document.date = Some(format!("190{number}-05-02"));
    }
    question
}

fn read(calls: &[CallRecord]) -> Vec<String> {
    calls.iter().map(|call| read_by(&call.sent())).collect()
}

/// A prompt without sources and dates, and without the sentence about them.
fn stripped(prompt: &str) -> String {
    let prompt = (0..4).fold(prompt.to_owned(), |text, number| {
        let known = known(number);
        text.replace(&format!("{known} "), "").replace(&format!(" {known}"), "")
    });
    let lines = prompt.lines().filter(|line| !line.starts_with("In brackets stands where each"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// What a prompt shows of the question: all from its last "Question:" on, without the agent's last instruction.
fn shown_of_the_question(prompt: &str) -> String {
    let (_, after) = prompt.rsplit_once("Question: ").unwrap();
    let lines =
        after.lines().filter(|line| !line.is_empty() && !line.starts_with("Does the document state what is asked?"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Agents are told to be strict, and the worked example drops an answer of four; without sources and dates it drops one of six.
#[test]
fn a_debate_is_worded_for_documents_with_sources_and_dates() {
    let asked = question(&texts(3));
    for (asked, dated) in [(asked.clone(), false), (headed(&asked), true)] {
        let llm = Model::good(Takes::First);
        let (_, calls) = answer("debate", &typed(&[("rounds", "1")]), &asked, &llm);
        let of = |role: &str| read_by(&calls.iter().find(|call| call.role == role).unwrap().sent());
        let (agent, aggregator) = (of("agent"), of("aggregator"));
        assert_eq!(agent.contains("Does the document state what is asked?"), dated);
        assert_eq!(agent.contains("Answer the question from the document alone"), !dated);
        assert_eq!(aggregator.contains(r#"All Correct Answers: ["cello", "trumpet"]."#), dated);
        assert_eq!(aggregator.contains(r#"All Correct Answers: ["cello", "trumpet", "harp"]."#), !dated);
    }
}

/// The paper's prompts show neither source nor date.
#[test]
fn without_the_switch_no_prompt_of_a_debate_shows_a_source() {
    let asked = question(&texts(3));
    let off = typed(&[("provenance", "false")]);
    let run = |asked: &Question| read(&answer("debate", &off, asked, &Model::good(Takes::First)).1);
    assert_eq!(run(&headed(&asked)), run(&asked));
}

#[test]
fn agents_of_one_document_read_source_and_date_and_nothing_else_changes() {
    let given = |case: &Case| !case.searches;
    // By default a debate shows quotes where no document has a source.
    let switches = |row: &Row| if row.name == WORDED { typed(&[("evidence", "explanation")]) } else { Typed::new() };
    for case in rows().flat_map(|row| cases(row, vec![switches(row)])).filter(given) {
        let asked = question(&texts(3));
        let run = |asked: &Question| {
            let llm = Model::good(Takes::First);
            let (record, error) = case.with(asked, moot::protocol::ctx::Tools::new(&llm));
            assert!(error.is_none(), "{case}: {error:?}");
            // The judge of `moot` is asked only where a source or a date is known.
            let calls: Vec<CallRecord> =
                record.calls.into_iter().filter(|call| call.prompt != "moot/judge.jinja").collect();
            read(&calls)
        };
        let (bare, with) = (run(&asked), run(&headed(&asked)));
        let shown = |prompts: &[String]| (0..3).all(|n| prompts.iter().any(|prompt| prompt.contains(&known(n))));
        let name = case.row.name;
        if WITH.contains(&name) {
            assert!(shown(&with), "{case}: {with:#?}");
            let same = |prompts: &[String]| {
                let of = |text: &String| stripped(text);
                let all = prompts.iter().map(of);
                if name == WORDED {
                    all.map(|text| shown_of_the_question(&text)).collect()
                } else {
                    all.collect::<Vec<_>>()
                }
            };
            assert_eq!(same(&bare), same(&with), "{case}");
        } else if !OWN_WAY.contains(&name) {
            assert_eq!(bare, with, "{case}");
        }
        assert!(bare.iter().all(|prompt| !prompt.contains("In brackets stands")), "{case}");
    }
}

#[test]
fn the_aggregator_and_peers_read_of_which_document_a_reply_is() {
    let llm = Scripted::new(|call| {
        let aggregates = call.role == "aggregator";
        if aggregates { "All Correct Answers: [\"1931\"]. Explanation: x" } else { "Answer: 1931. Explanation: y" }
            .into()
    });
    let asked = headed(&four_of(&["She was born in 1931.", "She was born in 1968."]));
    let (_, calls) =
        answer("debate", &typed(&[("history", "peers"), ("rounds", "2"), ("grounded", "false")]), &asked, &llm);
    let texts = read(&calls);
    let reply = format!("Agent 2 {}: Answer: 1931. Explanation: y", known(1));
    let verdict = calls.iter().position(|call| call.role == "aggregator").unwrap();
    assert!(texts[verdict].contains(&reply) && texts[verdict].contains("the newer one replaces the older one"));
    let peer = calls.iter().position(|call| call.round == 2 && call.document == Some(0)).unwrap();
    assert!(texts[peer].contains(&reply), "{}", texts[peer]);
    assert!(texts[peer].contains(&format!("Document: {} She was born in 1931.", known(0))));
    let (_, calls) =
        answer("debate", &typed(&[("history", "answers"), ("rounds", "2"), ("grounded", "false")]), &asked, &llm);
    let line = format!("1931, says Agent 2 {}: y\n", known(1));
    let peer = calls.iter().position(|call| call.round == 2 && call.document == Some(0)).unwrap();
    assert!(read(&calls)[peer].contains(&line), "{}", read(&calls)[peer]);
}

#[test]
fn unknown_values_and_titles_are_left_out() {
    let llm = Scripted::new(|_| "All Correct Answers: [\"1931\"]. Explanation: x".into());
    let mut asked = four_of(&["She was born in 1931.", "The yearbook: she was born in 1968.", "Soup.", "Bread."]);
    asked.documents[0].date = Some(" 1952 ".into());
    asked.documents[1].title = Some("The yearbook".into());
    asked.documents[2].source = Some("x".repeat(500));
    asked.documents[3].source = Some("  ".into());
    asked.documents[0].source = Some("source-1".into());
    let (_, calls) = answer("debate", &typed(&[("rounds", "1")]), &asked, &llm);
    let text = read(&calls).concat();
    assert!(text.contains("Document: (source-1, 1952) She was"), "{text}");
    assert!(text.contains("Document: The yearbook: she was"), "{text}");
    assert!(text.contains(&format!("Document: ({}) Soup.", "x".repeat(160))), "{text}");
    assert!(text.contains("Document: Bread."), "{text}");
}

#[test]
fn retrieved_documents_of_one_name_are_distinguished_by_their_files() {
    let hit = |file: &str, line| {
        let origin = Origin { file: file.into(), id: None, line: Some(line), page: None, characters: 0..7 };
        let passage = Passage {
            text: "A rule.".into(),
            title: None,
            source: None,
            date: None,
            url: None,
            notes: Vec::new(),
            origin,
        };
        Hit { passage, score: 1.0, copies: Vec::new() }
    };
    let names = |hits: Vec<Hit>| documents(hits).into_iter().map(|document| document.name).collect::<Vec<_>>();
    assert_eq!(
        names(vec![hit("hr/2021/rule.txt", 1), hit("hr/2024/rule.txt", 1)]),
        ["hr/2021/rule.txt", "hr/2024/rule.txt"]
    );
    assert_eq!(
        names(vec![hit("a/x.txt", 1), hit("b/x.txt", 1), hit("b/x.txt", 9)]),
        ["a/x.txt", "b/x.txt:1", "b/x.txt:9"]
    );
    assert_eq!(names(vec![hit("a/x.txt", 1), hit("a/x.txt", 9), hit("a/y.txt", 1)]), ["x.txt:1", "x.txt:9", "y.txt"]);
}

#[test]
fn a_retrieved_passage_brings_its_source_and_date() {
    let origin = Origin { file: "a.md".into(), id: None, line: Some(1), page: None, characters: 0..4 };
    let passage = Passage {
        text: "It opened in 1884.".into(),
        title: Some("Minutes".into()),
        source: Some("council".into()),
        date: Some("1884-05-12".into()),
        url: None,
        notes: Vec::new(),
        origin,
    };
    let found = documents(vec![Hit { passage, score: 1.0, copies: Vec::new() }]);
    let llm = Scripted::new(|_| "All Correct Answers: [\"1884\"]. Explanation: x".into());
    let asked = Question { documents: found, ..four_of(&[]) };
    let text = read(&answer("debate", &typed(&[("rounds", "1")]), &asked, &llm).1).concat();
    assert!(text.contains("Document: (council, 1884-05-12) Minutes\nIt opened in 1884."), "{text}");
    assert!(text.contains("Agent 1 (council, 1884-05-12): "));
}
