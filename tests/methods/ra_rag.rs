//! RA-RAG's transcripts: which sources are asked in which stage, what counts as an answer, and the vote.

use super::{prompt, typed, usage_error};
use moot::cli::debate::show;
use moot::eval::sources::answers_of;
use moot::llm::Llm;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::methods::align::precision as rouge_1_precision;
use moot::methods::ctx::{Settings, Silent, Tools};
use moot::question::{Answer, Conclusion, Document, Hit, Origin, Passage, Question};
use moot::retrieval::{Filter, Retriever, RetrieverIdentity, Wanted};
use moot::sources::{SourceEstimate, SourceWeights, VERSION};
use moot::transcript::{Event, Parsed, QuestionRecord};
use moot::{MootError, Result};
use std::sync::Mutex;

/// Documents as (source, text); no source where it is empty.
fn asked<'a>(documents: impl IntoIterator<Item = (&'a str, &'a str)>) -> Question {
    let document = |(place, (source, text)): (usize, (&str, &str))| Document {
        name: format!("d{place}"),
        text: text.to_owned(),
        source: (!source.is_empty()).then(|| source.to_owned()),
        ..Document::default()
    };
    Question {
        id: "q1".into(),
        text: "When did the bridge open?".into(),
        documents: documents.into_iter().enumerate().map(document).collect(),
        ..Question::default()
    }
}

/// One document a source: the source's name, and the year that it gives or other words.
fn years(sources: &[(&str, &str)]) -> Question {
    asked(sources.iter().copied())
}

fn weights(sources: &[(&str, f64)]) -> SourceWeights {
    let estimate = |weight| SourceEstimate { weight: Some(weight), ..SourceEstimate::default() };
    SourceWeights {
        moot_sources: VERSION,
        estimator: "by hand".into(),
        sources: sources.iter().map(|&(source, weight)| (source.to_owned(), estimate(weight))).collect(),
        ..SourceWeights::default()
    }
}

fn record(
    switches: &[(&str, &str)],
    question: &Question,
    sources: &[(&str, f64)],
    llm: &dyn Llm,
) -> (QuestionRecord, Option<MootError>) {
    let (weights, settings) = (weights(sources), Settings::default());
    let built = methods::build("ra-rag", &typed(switches)).unwrap();
    built.record(question, Tools { weights: Some(&weights), ..Tools::new(llm) }, &settings, &Silent)
}

fn held(switches: &[(&str, &str)], question: &Question, sources: &[(&str, f64)], llm: &dyn Llm) -> Held {
    let (record, error) = record(switches, question, sources, llm);
    assert!(error.is_none(), "{error:?}");
    let stages = record.calls.iter().map(|call| (call.stage, call.document.unwrap())).collect();
    Held { conclusion: record.conclusion.clone().unwrap(), stages, record }
}

struct Held {
    conclusion: Conclusion,
    /// Each call's stage and the first document of its source.
    stages: Vec<(usize, usize)>,
    record: QuestionRecord,
}

/// An answer's text, supporters and opponents.
type Stands = (String, Vec<usize>, Vec<usize>);

fn stands(answers: &[Answer]) -> Vec<Stands> {
    answers.iter().map(|a| (a.text.clone(), a.supporters.clone(), a.opponents.clone())).collect()
}

fn stand(text: &str, supporters: &[usize], opponents: &[usize]) -> Stands {
    (text.to_owned(), supporters.to_vec(), opponents.to_vec())
}

/// What a prompt shows of the source that is asked.
fn shown(prompt: &str) -> &str {
    prompt.rsplit("When did the bridge open?").next().unwrap().trim_end_matches(END)
}

/// Readers give the first year of their documents, else "unknown".
fn honest() -> Scripted {
    Scripted::new(|call| {
        let words = shown(prompt(call)).split(|c: char| !c.is_alphanumeric());
        let year = words.into_iter().find(|word| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit()));
        year.unwrap_or("unknown").to_owned()
    })
}

const END: &str = "\n\nThe keywords of the answer to the question, or unknown:";

const PROMPT: &str = "\
You answer a question from the documents of one source.
Use nothing but these documents, even where you know more. Give only the keywords of the answer: the name, number, date or few \
words that are asked for, as the documents spell them, without a sentence or an explanation. If the documents do not clearly \
give the answer, reply with the one word unknown.

Question: When did the bridge open?

";

#[test]
fn a_source_answers_from_all_its_documents_and_the_heavier_one_wins() {
    let question = asked([
        ("press", " It opened in 1932.\n"),
        ("guild", "The guild opened it in 1931."),
        ("", "Soup at noon."),
        ("press", "A fine bridge."),
    ]);
    let held = held(&[], &question, &[("guild", 3.0), ("press", 2.0)], &honest());
    // The guild weighs 3, the press 2, the document without a source 1.
    let sent: Vec<&str> = held.record.calls.iter().map(|call| call.messages[0].content.as_str()).collect();
    let documents = [
        "Document 1: The guild opened it in 1931.",
        "Document 1: It opened in 1932.\n\nDocument 2: A fine bridge.",
        "Document 1: Soup at noon.",
    ];
    assert_eq!(sent, documents.map(|documents| format!("{PROMPT}{documents}{END}")));
    assert_eq!(held.stages, [(0, 1), (0, 0), (0, 2)]);
    let calls = &held.record.calls;
    assert!(calls.iter().all(|call| call.role == "reader" && call.round == 1 && call.format == "short"));
    assert_eq!(stands(&held.conclusion.answers), [stand("1931", &[1], &[0, 3])]);
    assert_eq!(stands(&held.conclusion.rejected), [stand("1932", &[0, 3], &[1])]);
    assert_eq!((held.conclusion.rounds, &held.conclusion.calls[..]), (1, &[0, 1, 2][..]));
    assert!(!held.conclusion.malformed && held.record.events.is_empty());
    // Records of this method feed the first stage.
    let answers: Vec<(String, Option<String>)> =
        answers_of(&held.record, Some(0.9)).answers.into_iter().map(|(source, said)| (source, said.answer)).collect();
    assert_eq!(answers, [("guild".into(), Some("1931".into())), ("press".into(), Some("1932".into()))]);
}

#[test]
fn weights_are_summed_over_the_sources_that_agree() {
    let question = years(&[("a", "1931"), ("b", "1932"), ("c", "1932")]);
    let held = held(&[], &question, &[("a", 3.0), ("b", 2.0), ("c", 1.5)], &honest());
    assert_eq!(stands(&held.conclusion.answers), [stand("1932", &[1, 2], &[0])]);
}

#[test]
fn without_weights_every_source_has_one_vote_in_the_order_of_documents() {
    let question = years(&[("a", "1931"), ("b", "1932"), ("c", "1932"), ("", "1931"), ("", "1931")]);
    let (llm, settings) = (honest(), Settings::default());
    let built = methods::build("ra-rag", &typed(&[("variant", "wmv")])).unwrap();
    let record = built.answer(&question, Tools::new(&llm), &settings, &Silent).unwrap();
    assert_eq!(record.calls.iter().map(|call| call.document.unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(stands(&record.conclusion.unwrap().answers), [stand("1931", &[0, 3, 4], &[1, 2])]);
}

/// Six sources, a heaviest; b and d know nothing.
fn six() -> (Question, [(&'static str, f64); 6]) {
    let question = years(&[("a", "1931"), ("b", "Soup."), ("c", "1932"), ("d", "Tea."), ("e", "1932"), ("f", "1932")]);
    (question, [("a", 6.0), ("b", 5.0), ("c", 4.0), ("d", 3.0), ("e", 2.0), ("f", 1.0)])
}

#[test]
fn rrss_asks_as_many_as_are_still_needed_until_kappa_sources_have_answered() {
    let (question, weights) = six();
    let kappa = |kappa: &str| held(&[("kappa", kappa)], &question, &weights, &honest());
    assert_eq!(kappa("1").stages, [(0, 0)]);
    assert_eq!(kappa("2").stages, [(0, 0), (0, 1), (1, 2)]);
    let three = kappa("3");
    // Of a, b, c one is missing: d, which knows nothing, then e.
    assert_eq!(three.stages, [(0, 0), (0, 1), (0, 2), (1, 3), (2, 4)]);
    assert_eq!(stands(&three.conclusion.answers), [stand("1931", &[0], &[2, 4])]);
    assert_eq!(stands(&three.conclusion.rejected), [stand("1932", &[2, 4], &[0])]);
    assert_eq!(three.conclusion.calls, [0, 1, 2, 3, 4]);
    // Four answer in all, so there is nothing left to ask for a fifth.
    assert_eq!(kappa("5").stages, [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 5)]);
    assert_eq!(kappa("5").conclusion.answers[0].text, "1932");
    assert_eq!(held(&[], &question, &weights, &honest()).stages.len(), 6, "kappa is 4 by default");
}

#[test]
fn rss_asks_the_heaviest_whatever_they_say_and_all_asks_every_source() {
    let (question, weights) = six();
    let selection = |name: &str| held(&[("variant", name), ("kappa", "3")], &question, &weights, &honest());
    let rss = selection("rss");
    assert_eq!(rss.stages, [(0, 0), (0, 1), (0, 2)]);
    assert_eq!(stands(&rss.conclusion.answers), [stand("1931", &[0], &[2])]);
    let all = selection("wmv");
    assert_eq!(all.stages, (0..6).map(|place| (0, place)).collect::<Vec<_>>());
    assert_eq!(stands(&all.conclusion.answers), [stand("1932", &[2, 4, 5], &[0])]);
}

#[test]
fn an_answer_that_its_source_does_not_hold_counts_as_unknown() {
    let question = years(&[("a", "Soup at noon."), ("b", "Opened in 1932."), ("c", "In 1932.")]);
    let weights = [("a", 9.0), ("b", 2.0), ("c", 1.0)];
    // The reader of the heaviest source answers from memory.
    let llm = || {
        Scripted::new(|call| match prompt(call).contains("Soup") {
            true => "opened at noon".into(),
            false => "1932".into(),
        })
    };
    let kappa = |switches: &[(&str, &str)]| held(&[&[("kappa", "1")], switches].concat(), &question, &weights, &llm());
    let aligned = kappa(&[]);
    assert_eq!(aligned.stages, [(0, 0), (1, 1)]);
    assert_eq!(stands(&aligned.conclusion.answers), [stand("1932", &[1], &[])]);
    assert!(aligned.conclusion.rejected.is_empty());
    // Two of its three words are in the document.
    for switches in [[("align", "false")], [("align-threshold", "0.66")]] {
        let kept = kappa(&switches);
        assert_eq!(kept.stages, [(0, 0)]);
        assert_eq!(stands(&kept.conclusion.answers), [stand("opened at noon", &[0], &[])]);
    }
    assert_eq!(kappa(&[("align-threshold", "0.67")]).stages.len(), 2);
}

#[test]
fn ties_go_to_the_heavier_source_then_to_the_earlier_one() {
    let question = years(&[("a", "1931"), ("b", "1932"), ("c", "1931")]);
    // 1 + 1 against 2: the heavier source is asked first.
    let tied = held(&[], &question, &[("a", 1.0), ("b", 2.0), ("c", 1.0)], &honest());
    assert_eq!(tied.stages, [(0, 1), (0, 0), (0, 2)]);
    assert_eq!(tied.conclusion.answers[0].text, "1932");
    let equal = held(&[], &years(&[("b", "1932"), ("a", "1931")]), &[], &honest());
    assert_eq!(equal.conclusion.answers[0].text, "1932");
}

#[test]
fn a_weight_below_zero_counts_against_its_answer() {
    let question = years(&[("a", "1931"), ("b", "1931"), ("c", "1932")]);
    let weighed = |weights: &[(&str, f64)]| held(&[], &question, weights, &honest());
    // 1 - 0.8 against 0.5, then 1 - 0.4.
    let less = weighed(&[("a", 1.0), ("b", -0.8), ("c", 0.5)]);
    assert_eq!(less.stages, [(0, 0), (0, 2), (0, 1)]);
    assert_eq!(stands(&less.conclusion.answers), [stand("1932", &[2], &[0, 1])]);
    assert_eq!(stands(&less.conclusion.rejected), [stand("1931", &[0, 1], &[2])]);
    assert_eq!(weighed(&[("a", 1.0), ("b", -0.4), ("c", 0.5)]).conclusion.answers[0].text, "1931");
    // The largest sum wins, also where no sum is above zero.
    assert_eq!(weighed(&[("a", 0.0), ("b", -1.0), ("c", 0.0)]).conclusion.answers[0].text, "1932");
    let alone = held(&[], &years(&[("b", "1931")]), &[("b", -1.0)], &honest());
    assert_eq!(stands(&alone.conclusion.answers), [stand("1931", &[0], &[])]);
}

#[test]
fn a_dropped_answer_is_an_event_and_no_fallback() {
    let question = years(&[("a", "Soup at noon."), ("b", "Opened in 1932.")]);
    let held = held(&[("kappa", "1")], &question, &[], &Scripted::list(["soup at seven", "1932"]));
    let [Event::Fallback { what, dropped: Some(0), .. }] = &held.record.events[..] else {
        panic!("{:?}", held.record.events)
    };
    assert_eq!(what, "answer \"soup at seven\" of d0 dropped: ROUGE-1 precision 0.67 is below 0.9");
    assert_eq!(held.conclusion.answers[0].text, "1932");
    let line = serde_json::to_string(&held.record.events).unwrap();
    assert!(line.contains("\"event\":\"fallback\"") && line.contains("\"dropped\":0"), "{line}");
}

#[test]
fn mv_counts_sources_and_wmv_their_weights() {
    let question = years(&[("a", "1931"), ("b", "1932"), ("c", "1932")]);
    let weights = [("a", 5.0), ("b", 1.0), ("c", 1.0)];
    let variant = |name: &str| held(&[("variant", name), ("kappa", "1")], &question, &weights, &honest());
    assert_eq!(stands(&variant("wmv").conclusion.answers), [stand("1931", &[0], &[1, 2])]);
    assert_eq!(stands(&variant("mv").conclusion.answers), [stand("1932", &[1, 2], &[0])]);
    assert_eq!(variant("mv").stages, [(0, 0), (0, 1), (0, 2)]);
}

#[test]
fn the_oracle_takes_planted_weights_alone() {
    let question = years(&[("a", "1931"), ("b", "1932")]);
    let line = record(&[("variant", "oracle")], &question, &[("b", 2.0)], &honest()).1.unwrap().to_string();
    assert!(
        line.starts_with("ra-rag, variant oracle: expected --source-weights") && line.ends_with("found by hand"),
        "{line}"
    );
    let planted = SourceWeights { estimator: "oracle: planted".into(), ..weights(&[("b", 2.0)]) };
    let (llm, settings) = (honest(), Settings::default());
    let built = methods::build("ra-rag", &typed(&[("variant", "oracle")])).unwrap();
    let record =
        built.answer(&question, Tools { weights: Some(&planted), ..Tools::new(&llm) }, &settings, &Silent).unwrap();
    assert_eq!(record.conclusion.unwrap().answers[0].text, "1932");
}

#[test]
fn copies_share_one_vote() {
    let question = years(&[("a", "1931"), ("b", "1932"), ("c", "1932")]);
    let mut copied = weights(&[("a", 1.5), ("b", 1.0), ("c", 1.0)]);
    let concluded = |weights: &SourceWeights| {
        let (llm, settings) = (honest(), Settings::default());
        let built = methods::build("ra-rag", &typed(&[])).unwrap();
        let record = built.answer(&question, Tools { weights: Some(weights), ..Tools::new(&llm) }, &settings, &Silent);
        record.unwrap().conclusion.unwrap().answers[0].text.clone()
    };
    assert_eq!(concluded(&copied), "1932");
    for source in ["b", "c"] {
        copied.sources.get_mut(source).unwrap().voice = Some(1);
    }
    assert_eq!(concluded(&copied), "1931");
}

#[test]
fn naive_rag_reads_the_best_documents_of_the_pool_and_naive_llm_none() {
    let question =
        asked([("a", "Soup at noon."), ("b", "When the bridge did open: 1932."), ("c", "The bridge of 1931.")]);
    let read = |switches: &[(&str, &str)]| {
        let (record, error) = record(switches, &question, &[], &honest());
        assert!(error.is_none(), "{error:?}");
        record
    };
    let two = read(&[("variant", "naive-rag"), ("pool", "2")]);
    let sent = &two.calls[0].messages[0].content;
    assert!(sent.starts_with("You answer a question from documents of several sources."), "{sent}");
    assert_eq!(shown(sent).trim(), "Document 1: When the bridge did open: 1932.\n\nDocument 2: The bridge of 1931.");
    let conclusion = two.conclusion.unwrap();
    assert_eq!((&*conclusion.answers[0].text, &conclusion.answers[0].mentions[..]), ("1932", &[1][..]));
    // A pool that holds all of them keeps their order.
    assert!(
        shown(&read(&[("variant", "naive-rag")]).calls[0].messages[0].content).trim().starts_with("Document 1: Soup")
    );
    let memory = read(&[("variant", "naive-llm")]);
    assert_eq!(memory.calls.len(), 1);
    assert!(!memory.calls[0].messages[0].content.contains("bridge of 1931"));
    assert!(memory.conclusion.unwrap().answers.is_empty(), "the scripted reader knows nothing without documents");
    let unknown = Scripted::list(["I don't know"]);
    let (record, _) = record(&[("variant", "naive-llm")], &question, &[], &unknown);
    assert!(record.conclusion.unwrap().answers.is_empty());
}

/// Two sources with one passage each in common words; keeps what was wanted of it.
struct Shelf(Mutex<Vec<Wanted>>);

impl Retriever for Shelf {
    fn retrieve(&self, _: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        self.0.lock().unwrap().push(wanted.clone());
        let hit = |place: u64, source: &str, text: &str| Hit {
            passage: Passage {
                text: text.into(),
                title: None,
                source: Some(source.into()),
                date: None,
                url: None,
                origin: Origin {
                    file: format!("{source}.txt"),
                    id: None,
                    line: None,
                    page: None,
                    characters: place..place + 9,
                },
            },
            score: 1.0,
            copies: Vec::new(),
        };
        Ok(vec![hit(0, "a", "It opened in 1931."), hit(9, "a", "Soup."), hit(0, "b", "It opened in 1931.")])
    }

    fn identity(&self) -> RetrieverIdentity {
        RetrieverIdentity::default()
    }
}

#[test]
fn each_source_is_retrieved_from_alone_and_nothing_is_folded() {
    let (shelf, llm, settings) = (Shelf(Mutex::default()), honest(), Settings::default());
    let user =
        Wanted { top: 7, by_source: false, fold: true, filter: Filter { from: Some("1998".into()), ..Filter::NONE } };
    let tools = Tools { retriever: Some(&shelf), wanted: &user, ..Tools::new(&llm) };
    let built = methods::build("ra-rag", &typed(&[])).unwrap();
    let record = built.answer(&asked([]), tools, &settings, &Silent).unwrap();
    let wanted = |top, by_source| Wanted { top, by_source, fold: false, filter: user.filter.clone() };
    assert_eq!(*shelf.0.lock().unwrap(), [wanted(3, true)]);
    assert_eq!(record.retrieved.len(), 3);
    // Source a reads both of its passages in one call.
    assert_eq!(record.calls.iter().map(|call| call.document.unwrap()).collect::<Vec<_>>(), [0, 2]);
    assert!(
        record.calls[0].messages[0]
            .content
            .ends_with(&format!("Document 1: It opened in 1931.\n\nDocument 2: Soup.{END}"))
    );
    assert_eq!(stands(&record.conclusion.unwrap().answers), [stand("1931", &[0, 1, 2], &[])]);
    let pool = methods::build("ra-rag", &typed(&[("variant", "naive-rag")])).unwrap();
    pool.answer(&asked([]), tools, &settings, &Silent).unwrap();
    assert_eq!(shelf.0.lock().unwrap()[1], wanted(10, false));
}

#[test]
fn a_malformed_reply_counts_as_unknown() {
    let (question, weights) = (years(&[("a", "1931"), ("b", "1932"), ("c", "1933")]), [("a", 3.0), ("b", 2.0)]);
    let bad = held(&[("kappa", "1")], &question, &weights, &Scripted::list(["...", "1932"]));
    assert_eq!(bad.stages, [(0, 0), (1, 1)]);
    assert_eq!(bad.record.calls[0].parsed, Parsed::Malformed);
    assert_eq!(stands(&bad.conclusion.answers), [stand("1932", &[1], &[])]);
    assert!(!bad.conclusion.malformed);
    let worse = held(&[("kappa", "1")], &question, &weights, &Scripted::new(|_| String::new()));
    assert_eq!(worse.stages, [(0, 0), (1, 1), (2, 2)]);
    assert!(worse.conclusion.malformed && worse.conclusion.answers.is_empty() && worse.conclusion.rejected.is_empty());
    assert_eq!(worse.conclusion.calls, [0, 1, 2]);
}

#[test]
fn unknown_may_be_said_in_several_ways_and_is_not_malformed() {
    let question = years(&[("a", "I don't know."), ("b", "I do not know"), ("c", "unknown")]);
    let replies = ["I don\u{2019}t know.", "I do not know", "**Unknown**."];
    let held = held(&[("kappa", "1")], &question, &[], &Scripted::list(replies));
    assert_eq!(held.stages, [(0, 0), (1, 1), (2, 2)]);
    assert!(held.conclusion.answers.is_empty() && held.conclusion.rejected.is_empty() && !held.conclusion.malformed);
}

fn refused(result: (QuestionRecord, Option<MootError>)) -> Result<()> {
    assert!(result.0.conclusion.is_none());
    result.1.map_or(Ok(()), Err)
}

#[test]
fn no_document_one_and_thirty() {
    let Err(MootError::Question(line)) = refused(record(&[], &asked([]), &[], &honest())) else { panic!("refused") };
    assert!(line.starts_with("ra-rag needs at least 1 document"), "{line}");
    let one = held(&[], &asked([("", "It opened in 1931.")]), &[], &honest());
    assert_eq!(one.stages, [(0, 0)]);
    assert_eq!(stands(&one.conclusion.answers), [stand("1931", &[0], &[])]);
    // Ten sources of three documents each; only the last document of each has the year.
    let names: Vec<String> = (0..10).map(|i| format!("s{i}")).collect();
    let document = |i: usize| (names[i % 10].as_str(), if i < 20 { "A bridge." } else { "Opened in 1931." });
    let many = asked((0..30).map(document));
    let four = held(&[], &many, &[("s9", 2.0)], &honest());
    assert_eq!(four.stages, [(0, 9), (0, 0), (0, 1), (0, 2)]);
    assert_eq!(stands(&four.conclusion.answers), [stand("1931", &[0, 1, 2, 9, 10, 11, 12, 19, 20, 21, 22, 29], &[])]);
    assert_eq!(held(&[("variant", "wmv")], &many, &[], &honest()).stages.len(), 10);
}

#[test]
fn a_call_that_fails_fails_the_question_and_is_named() {
    let llm = Scripted::failing(|call| match shown(prompt(call)).contains("1932") {
        true => Err(MootError::Question(format!("{}: refused", call.what))),
        false => Ok("unknown".into()),
    });
    let question = years(&[("a", "1931"), ("b", "1932"), ("c", "1933")]);
    let (kept, error) = record(&[("kappa", "1")], &question, &[], &llm);
    assert_eq!(error.unwrap().to_string(), "reader of d1, round 1: refused");
    assert!(kept.conclusion.is_none());
    assert_eq!(kept.calls.len(), 1, "what was answered before is recorded");
}

#[test]
fn replies_may_come_in_any_order() {
    let (question, weights) = six();
    let there = held(&[], &question, &weights, &honest());
    let back = held(&[], &question, &weights, &honest().backwards());
    assert_eq!((there.conclusion, there.stages), (back.conclusion, back.stages));
}

#[test]
fn switches_out_of_their_bounds_are_refused() {
    for (name, value, expected) in [
        ("kappa", "0", "a whole number from 1 to 1000"),
        ("variant", "all", "rrss or rss or wmv or mv or oracle or naive-rag or naive-llm"),
        ("align", "yes", "true or false"),
        ("align-threshold", "1.1", "a number from 0 to 1"),
    ] {
        let line = usage_error(methods::build("ra-rag", &typed(&[(name, value)])));
        assert_eq!(line, format!("ra-rag, switch {name}: expected {expected}, found {value:?}"));
    }
}

#[test]
fn rouge_1_precision_is_the_share_of_the_answers_words_that_the_texts_hold() {
    for (answer, texts, precision) in [
        ("African Americans", &["it helped African-Americans vote"][..], 1.0),
        ("In the chloroplasts", &["occurs in the", "Chloroplasts of cells."][..], 1.0),
        ("Andrew Garfield", &["Garfield the cat"][..], 0.5),
        // An occurrence is matched once.
        ("New York, New York", &["New York is large"][..], 0.5),
        ("1956", &["19560"][..], 0.0),
        ("東京", &["東京は首都"][..], 1.0),
        ("?!", &["?!"][..], 0.0),
        ("1931", &[][..], 0.0),
    ] {
        let found = rouge_1_precision(answer, texts.iter().copied());
        assert!((found - precision).abs() < 1e-12, "{answer}: {found}");
    }
}

#[test]
fn the_conclusion_shows_the_weight_of_every_source() {
    let question = years(&[("a", "1931"), ("b", "1932"), ("", "1931")]);
    let weighed = held(&[], &question, &[("a", 1.25), ("b", -0.5)], &honest());
    assert_eq!(weighed.conclusion.weights, [1.25, -0.5, 1.0]);
    let printed = |record: &QuestionRecord| String::from_utf8(show(Vec::new(), record, 100).unwrap()).unwrap();
    let shown = printed(&weighed.record);
    assert!(
        shown.contains("1 d0 (a; weight 1.25), 3 d2 (weight 1.00)") && shown.contains("2 d1 (1932; b; weight -0.50)"),
        "{shown}"
    );
    let (llm, settings) = (honest(), Settings::default());
    let built = methods::build("ra-rag", &typed(&[])).unwrap();
    let plain = built.answer(&question, Tools::new(&llm), &settings, &Silent).unwrap();
    assert!(plain.conclusion.as_ref().unwrap().weights.is_empty() && !printed(&plain).contains("weight"));
}
