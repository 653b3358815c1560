//! The variants that read otherwise: the oracle, the baselines, a corpus.

use super::{END, asked, honest, record, shown, stand, stands, weights, years};
use crate::methods::typed;
use moot::Result;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Hit, Origin, Passage};
use moot::retrieval::{Embedder, Filter, Retriever, RetrieverIdentity, Side, Wanted};
use moot::sources::SourceWeights;
use moot::transcript::Event;
use std::sync::Mutex;

#[test]
fn the_oracle_takes_planted_weights_alone() {
    let question = years(&[("a", "1931"), ("b", "1932")]);
    let line = record(&[("variant", "oracle")], &question, &[("b", 2.0)], &honest()).1.unwrap().to_string();
    assert!(
        line.starts_with("ra-rag, variant oracle: expected --source-weights") && line.ends_with("found by hand"),
        "{line}"
    );
    let planted = SourceWeights { estimator: "oracle: planted".into(), ..weights(&[("a", 1.0), ("b", 2.0)]) };
    let (llm, settings) = (honest(), Settings::default());
    let built = methods::build("ra-rag", &typed(&[("variant", "oracle")])).unwrap();
    let record =
        built.answer(&question, Tools { weights: Some(&planted), ..Tools::new(&llm) }, &settings, &Silent).unwrap();
    assert_eq!(record.conclusion.unwrap().answers[0].text, "1932");
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
    assert_eq!(shown(sent).trim(), "Context: When the bridge did open: 1932.\nContext: The bridge of 1931.");
    let conclusion = two.conclusion.unwrap();
    assert_eq!((&*conclusion.answers[0].text, &conclusion.answers[0].mentions[..]), ("1932", &[1][..]));
    // A pool that holds all of them keeps their order.
    assert!(shown(&read(&[("variant", "naive-rag")]).calls[0].messages[0].content).trim().starts_with("Context: Soup"));
    let memory = read(&[("variant", "naive-llm")]);
    assert_eq!(memory.calls.len(), 1);
    assert!(!memory.calls[0].messages[0].content.contains("bridge of 1931"));
    assert!(memory.conclusion.unwrap().answers.is_empty(), "the scripted reader knows nothing without documents");
    let unknown = Scripted::list(["I don't know"]);
    let (record, _) = record(&[("variant", "naive-llm")], &question, &[], &unknown);
    assert!(record.conclusion.unwrap().answers.is_empty());
}

/// Queries have the vector of passages about soup.
struct Sided;

impl Embedder for Sided {
    fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<f32>> {
        let soup = |text: &&str| if side == Side::Query || text.contains("Soup") { [1.0, 0.0] } else { [0.0, 1.0] };
        Ok(texts.iter().flat_map(soup).collect())
    }

    fn dimension(&self) -> usize {
        2
    }

    fn identity(&self) -> &str {
        "sided"
    }
}

#[test]
fn the_pool_is_nearest_to_the_question_as_a_query() {
    let question = asked([("a", "The bridge of 1931."), ("b", "Soup at noon."), ("c", "The bridge of 1932.")]);
    let (llm, settings) = (honest(), Settings::default());
    let built = methods::build("ra-rag", &typed(&[("variant", "naive-rag"), ("pool", "1")])).unwrap();
    let record =
        built.answer(&question, Tools { embedder: Some(&Sided), ..Tools::new(&llm) }, &settings, &Silent).unwrap();
    assert_eq!(shown(&record.calls[0].messages[0].content).trim(), "Context: Soup at noon.");
    assert!(matches!(&record.events[..], [Event::Embedding { stage: 0, texts: 4, .. }]), "{:?}", record.events);
    assert_eq!(record.calls[0].stage, 1);
}

/// Two sources with one passage each in common words; keeps what was wanted of it.
struct Shelf(Mutex<Vec<Wanted>>);

impl Retriever for Shelf {
    fn retrieve(&self, _: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        self.0.lock().unwrap().push(wanted.clone());
        let hit = |index: u64, source: &str, text: &str| Hit {
            passage: Passage {
                text: text.into(),
                title: None,
                source: Some(source.into()),
                date: None,
                url: None,
                notes: Vec::new(),
                origin: Origin {
                    file: format!("{source}.txt"),
                    id: None,
                    line: None,
                    page: None,
                    characters: index..index + 9,
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
        record.calls[0].messages[0].content.ends_with(&format!("Context: It opened in 1931.\nContext: Soup.{END}"))
    );
    assert_eq!(stands(&record.conclusion.unwrap().answers), [stand("1931", &[0, 1, 2], &[])]);
    let pool = methods::build("ra-rag", &typed(&[("variant", "naive-rag")])).unwrap();
    pool.answer(&asked([]), tools, &settings, &Silent).unwrap();
    assert_eq!(shelf.0.lock().unwrap()[1], wanted(10, false));
}
