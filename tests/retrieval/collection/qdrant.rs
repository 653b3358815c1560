//! A collection on a server: what is asked is what Qdrant's own client accepts and answers (`tests/golden/qdrant`), and
//! errors are one line.

use super::super::Letters;
use super::super::server::{Asked, serve};
use super::impatient;
use moot::MootError;
use moot::llm::remote::Key;
use moot::question::{Origin, Passage};
use moot::retrieval::collection::{Address, Collection, Qdrant, Store};
use moot::retrieval::{Embedder, Filter, Hit, Retriever, Side, Wanted};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

const KEY: &str = "not-for-any-eye";

fn store(base: &str, key: Option<Key>) -> Box<Qdrant> {
    Box::new(Qdrant::new(Address::parse(&format!("{base}#wiki")).unwrap(), key, impatient()))
}

fn open(base: &str, key: Option<Key>, exact: bool) -> moot::Result<Collection> {
    Collection::open(store(base, key), Arc::new(Letters), exact)
}

fn passage(source: &str, date: &str, text: &str) -> Passage {
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let origin =
        Origin { file: "a.jsonl".into(), id: None, line: Some(3), page: None, characters: 0..text.len() as u64 };
    Passage {
        text: text.into(),
        title: None,
        source: given(source),
        date: given(date),
        url: None,
        notes: Vec::new(),
        origin,
    }
}

fn passages() -> Vec<Passage> {
    vec![
        passage("x", "1998", "aaaa bbb"),
        passage("y", "1998-05-03", "aaaa bbb"),
        passage("x", "2018-01-02", "aaaa b"),
        passage("", "", "aaa cc"),
        passage("z", "2003-04", "dddd"),
        passage("z", "soon", "dd a"),
    ]
}

fn wanted(top: usize, by_source: bool, fold: bool, filter: Filter) -> Wanted {
    Wanted { top, by_source, filter, fold }
}

fn shown(found: &[Hit]) -> Vec<String> {
    let one = |found: &Hit| {
        format!("{} {} +{}", found.passage.source.as_deref().unwrap_or("-"), found.passage.text, found.copies.len())
    };
    found.iter().map(one).collect()
}

/// Every exchange of a collection's life, as recorded: requests that the client's own models accept, answers that it
/// gave.
#[test]
fn a_collection_is_made_filled_and_searched() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/qdrant/exchanges.json");
    let recorded: Vec<Value> =
        std::fs::read(&file).map(|text| serde_json::from_slice(&text).unwrap()).unwrap_or_default();
    let answers = recorded.clone();
    let writing = std::env::var("MOOT_GOLDEN").as_deref() == Ok("write");
    let (base, log) = serve(move |asked| {
        let same = |r: &&Value| {
            r["method"] == asked.method.as_str() && r["path"] == asked.path.as_str() && r["body"] == asked.body
        };
        match answers.iter().find(same) {
            Some(recorded) => ("200 OK".into(), recorded["answer"].to_string()),
            // An answer that fits anything, until the script has made the right one.
            None if writing => ("200 OK".into(), r#"{"result":{"points":[],"groups":[]}}"#.into()),
            None => ("400 Bad Request".into(), r#"{"status":{"error":"not recorded"}}"#.into()),
        }
    });
    let made = store(&base, Key::new(KEY));
    made.begin(4, "letters", false).unwrap();
    let texts: Vec<String> = passages().into_iter().map(|passage| passage.text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    made.insert(7, &passages(), &Letters.embed(&texts, Side::Passage).unwrap(), "letters").unwrap();
    let there = [false, true].map(|exact| open(&base, Key::new(KEY), exact));
    let ask_by = |there: &moot::Result<Collection>, wanted: Wanted| {
        there.as_ref().map_or_else(|_| Vec::new(), |there| shown(&there.retrieve("aaaa bbb", &wanted).unwrap()))
    };
    let ask = |wanted: Wanted| ask_by(&there[0], wanted);
    let dated = |from: &str, until: &str| Filter {
        sources: Vec::new(),
        from: Some(from.to_owned()).filter(|x| !x.is_empty()),
        until: Some(until.to_owned()).filter(|x| !x.is_empty()),
    };
    let plain = ask(wanted(3, false, false, Filter::default()));
    let folded = ask(wanted(2, false, true, Filter::default()));
    let by_source = ask(wanted(1, true, true, Filter::default()));
    let of_two = ask(wanted(3, false, false, Filter { sources: vec!["y".into(), "z".into()], ..Filter::default() }));
    let late = ask(wanted(9, false, false, dated("1998-05", "")));
    let between = ask(wanted(9, false, false, dated("1998-06", "2003")));
    let exact = ask_by(&there[1], wanted(3, false, false, Filter::default()));
    let (count, kept) = (made.count(), [7, 99].map(|id| made.passage(id)));
    let received = log.lock().unwrap().clone();
    assert!(
        received.iter().all(|asked| asked.head.to_ascii_lowercase().contains(&format!("authorization: bearer {KEY}")))
    );
    if writing {
        let row = |asked: &Asked| serde_json::json!({ "method": asked.method, "path": asked.path, "body": asked.body });
        let rows: Vec<Value> = received.iter().map(row).collect();
        return std::fs::write(file, serde_json::to_string_pretty(&rows).unwrap() + "\n").unwrap();
    }
    assert_eq!(plain, ["x aaaa bbb +0", "y aaaa bbb +0", "x aaaa b +0"]);
    assert_eq!(exact, plain);
    assert_eq!((count.unwrap(), kept.map(Result::unwrap)), (6, [Some(passages()[0].clone()), None]));
    assert_eq!(folded, ["x aaaa bbb +1", "x aaaa b +0"]);
    assert_eq!(by_source, ["x aaaa bbb +1", "- aaa cc +0", "z dd a +0"]);
    assert_eq!(of_two, ["y aaaa bbb +0", "z dd a +0", "z dddd +0"]);
    assert_eq!(late, ["x aaaa bbb +0", "y aaaa bbb +0", "x aaaa b +0", "z dddd +0"]);
    assert_eq!(between, ["x aaaa bbb +0", "z dddd +0"]);
}

const SOUND: &str = r#"{"result":{"config":{"params":{"vectors":{"size":4,"distance":"Dot"}}}}}"#;

/// The message if the server answers a query with `status` and `body`.
fn wrong(status: &str, body: &str) -> String {
    let (status, body) = (status.to_owned(), body.to_owned());
    let (base, _) = serve(move |asked| match asked.method.as_str() {
        "GET" => ("200 OK".into(), SOUND.into()),
        _ => (status.clone(), body.clone()),
    });
    let there = open(&base, Key::new(KEY), false).unwrap();
    let error = there.retrieve("a", &wanted(1, false, false, Filter::default())).unwrap_err();
    let hint = error.hint().map(|hint| format!(" | {hint}")).unwrap_or_default();
    format!("{error}{hint}").replace(&format!("{base}#wiki: "), "")
}

#[test]
fn errors_are_one_line() {
    let not_found = r#"{"status":{"error":"Not found: Collection `wiki` doesn't exist!"},"time":0.1}"#;
    let cases = [
        (
            "404 Not Found",
            not_found,
            "the points: 404 Not Found: Not found: Collection `wiki` doesn't exist! | the address ends",
        ),
        (
            "401 Unauthorized",
            "Invalid not-for-any-eye",
            "the points: 401 Unauthorized: Invalid (the key) | put the server's key into",
        ),
        (
            "401 Unauthorized",
            r#"{"status":{"error":"Invalid \u006eot-for-any-eye"}}"#,
            "the points: 401 Unauthorized: Invalid (the key) | put the server's key into",
        ),
        ("503 Service Unavailable", "", "the points: 503 Service Unavailable (3 attempts)"),
        (
            "200 OK",
            "<html>",
            "the points: the answer is no JSON: expected value at line 1 column 1: <html> | does the address",
        ),
        (
            "200 OK",
            "{}",
            "the points: expected a list at /result/points, found another answer (missing field `result`) | does the address",
        ),
        (
            "200 OK",
            r#"{"result":{"points":[{"id":1,"score":1,"payload":{"text":"a"}}]}}"#,
            "point 1 is no passage of moot's: missing field `origin`",
        ),
        (
            "200 OK",
            r#"{"result":{"points":[{"id":1,"score":1,"payload":{"embedder":"e5"}}]}}"#,
            "point 1 was embedded by e5, the query by letters",
        ),
        (
            "200 OK",
            &format!(r#"{{"result":{{"points":[{}0]}}}}"#, "[],".repeat(5000)),
            "the points: expected a list at /result/points, found another answer (more than 1",
        ),
        (
            "200 OK",
            &format!(r#"{{"result":{{"points":[{{"id":1,"payload":{{"embedder":"{}"}}}}]}}}}"#, "e".repeat(5000)),
            "point 1 was embedded by eee",
        ),
    ];
    for (status, body, expected) in cases {
        let said = wrong(status, body);
        assert!(said.starts_with(expected) && !said.contains('\n') && !said.contains(KEY), "{said}");
        assert!(said.len() < 700, "{said}");
    }
}

#[test]
fn a_collection_of_another_length_is_refused() {
    let (base, _) = serve(|_| ("200 OK".into(), SOUND.replace('4', "768")));
    let refused = open(&base, None, false).err().unwrap();
    assert!(matches!(refused, MootError::Collection { .. }));
    assert!(refused.to_string().ends_with("the collection has vectors of 768, the embedder makes 4 (letters)"));
}

/// Vectors of twice the length.
struct Long;

impl Embedder for Long {
    fn embed(&self, texts: &[&str], side: Side) -> moot::Result<Vec<f32>> {
        Ok(Letters.embed(texts, side)?.iter().map(|x| 2.0 * x).collect())
    }

    fn dimension(&self) -> usize {
        4
    }

    fn identity(&self) -> &str {
        "long"
    }
}

/// By cosine the order is that of dot products for normalised vectors alone; other distances have another order.
#[test]
fn a_collection_of_another_distance_is_refused() {
    let by = |distance: &str, embedder: Arc<dyn Embedder>| {
        let settings = SOUND.replace("Dot", distance);
        let (base, _) = serve(move |_| ("200 OK".into(), settings.clone()));
        Collection::open(store(&base, None), embedder, false).err().map(|error| error.to_string())
    };
    assert_eq!((by("Dot", Arc::new(Letters)), by("Cosine", Arc::new(Letters))), (None, None));
    assert_eq!(by("Dot", Arc::new(Long)), None);
    let long = by("Cosine", Arc::new(Long)).unwrap();
    assert!(long.contains("orders by cosine") && long.contains("length 2.00") && !long.contains('\n'), "{long}");
    for distance in ["Euclid", "Manhattan", "Another"] {
        let said = by(distance, Arc::new(Letters)).unwrap();
        let expected = format!("the collection's distance is {distance}, expected Dot or Cosine (moot index push");
        assert!(said.contains(&expected) && !said.contains('\n'), "{said}");
    }
}

#[test]
fn a_missing_server_is_reported_at_once() {
    let said = open("http://127.0.0.1:1", None, false).err().unwrap().to_string();
    assert_eq!(said, "http://127.0.0.1:1#wiki: the collection: no server listens there");
}
