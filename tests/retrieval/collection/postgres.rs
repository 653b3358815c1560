//! A table of a real server: searched as the index that it was pushed from, at the same settings.

use super::super::index::{WordEmbedder, build, retriever, small};
use super::cluster::{Cluster, PASSWORD};
use super::impatient;
use crate::cli::program::{moot, text};
use moot::llm::remote::{Key, Patience};
use moot::retrieval::collection::{Collection, Postgres, Pushed, Store, Table, push};
use moot::retrieval::index::{Index, Limits, Mode, Search, Storage};
use moot::retrieval::{Embedder, Filter, Hit, Retriever, Side, Wanted};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

const QUERIES: [&str; 3] = ["s3w7 s3w1 common4", "common1 common2 s9w20", "Title4 s0w3 s0w3"];

fn store(address: &str, password: &str, patience: Patience) -> Box<dyn Store> {
    Box::new(Postgres::new(Table::parse(address).unwrap(), Key::new(password), patience))
}

fn open(cluster: &Cluster, table: &str, exact: bool) -> Collection {
    let store = store(&cluster.address(table), PASSWORD, Patience::default());
    Collection::open(store, Arc::new(WordEmbedder::new()), exact).unwrap()
}

fn settings() -> Vec<Wanted> {
    let some = |text: &str| Some(text.to_owned());
    let filters = [
        Filter::default(),
        Filter { sources: vec!["diary".into()], ..Filter::default() },
        Filter { sources: vec!["press".into(), "council".into()], from: some("2013"), until: some("2016-05") },
        Filter { from: some("2018-05-11"), ..Filter::default() },
        Filter { until: some("2009"), ..Filter::default() },
    ];
    let ways = [(10, false, false), (10, false, true), (2, true, false), (2, true, true)];
    let all = filters.iter().flat_map(|filter| ways.map(|way| (filter.clone(), way)));
    all.map(|(filter, (top, by_source, fold))| Wanted { top, by_source, filter, fold }).collect()
}

/// Checks that a table's hits for a query are an index's: passages, order, copies and scores, which the server sums in
/// another order.
fn assert_same(found: &[Hit], expected: &[Hit], what: &str) {
    let passages = |hits: &[Hit]| {
        let copies = |hit: &Hit| hit.copies.iter().map(|copy| copy.origin.line).collect::<Vec<_>>();
        hits.iter().map(|hit| (hit.passage.origin.line, copies(hit))).collect::<Vec<_>>()
    };
    let scores = |hits: &[Hit]| hits.iter().map(|hit| hit.score).collect::<Vec<_>>();
    assert_eq!(passages(found), passages(expected), "{what}: {:?} {:?}", scores(found), scores(expected));
    let off = found.iter().zip(expected).map(|(a, b)| (a.score - b.score).abs()).fold(0.0, f32::max);
    assert!(off < 1e-5, "{what}: scores are off by {off}");
}

#[test]
#[ignore = "needs PostgreSQL with pgvector (MOOT_POSTGRES names the folder of its programs)"]
fn a_table_is_searched_as_the_index_that_it_was_pushed_from() {
    let (cluster, folder) = (Cluster::start(), tempfile::tempdir().unwrap());
    for storage in [Storage::F32, Storage::F16, Storage::I8] {
        let (name, dir) = (format!("of_{storage:?}").to_lowercase(), folder.path().join(format!("{storage:?}")));
        build(&dir, 900, Some(&WordEmbedder::new()), storage, small());
        let to = store(&cluster.address(&name), PASSWORD, Patience::default());
        let pushed = push(&Index::open(&dir).unwrap(), to.as_ref(), &mut |_| Ok(())).unwrap();
        assert_eq!(pushed, Pushed { before: 0, total: 900 });
        let table = open(&cluster, &name, false);
        let index = retriever(&dir, Search { mode: Mode::Dense, exact: true, ..Search::default() });
        for wanted in settings() {
            for query in QUERIES {
                let (found, expected) =
                    (table.retrieve(query, &wanted).unwrap(), index.retrieve(query, &wanted).unwrap());
                // One filter admits no passage.
                assert_eq!(expected.is_empty(), wanted.filter.until.as_deref() == Some("2009"), "{query} {wanted:?}");
                assert_same(&found, &expected, &format!("{storage:?} {query} {wanted:?}"));
            }
        }
        let (of_table, of_index) = (table.identity(), index.identity());
        assert_eq!((of_table.embedder, of_table.mode), (of_index.embedder, of_index.mode));
        assert_eq!((of_table.index, table.note()), (cluster.address(&name), None));
    }
    // A graph on the vectors makes searches approximate, unless they are exact.
    let graph = "CREATE INDEX ON of_f32 USING hnsw (embedding vector_ip_ops) WITH (m = 4, ef_construction = 8)";
    cluster.client("wiki").batch_execute(graph).unwrap();
    let approximate = open(&cluster, "of_f32", false);
    assert_eq!(approximate.identity().mode, "dense, approximate");
    let exact = open(&cluster, "of_f32", true);
    assert_eq!(exact.identity().mode, "dense");
    let index = retriever(&folder.path().join("F32"), Search { mode: Mode::Dense, exact: true, ..Search::default() });
    for wanted in settings() {
        for query in QUERIES {
            let (found, expected) = (exact.retrieve(query, &wanted).unwrap(), index.retrieve(query, &wanted).unwrap());
            // Behind a filter too, the graph is searched until there are enough.
            let near = approximate.retrieve(query, &wanted).unwrap();
            assert!(wanted.fold || near.len() == found.len(), "{query} {wanted:?}: {} of {}", near.len(), found.len());
            assert_same(&found, &expected, &format!("exact beside a graph: {query} {wanted:?}"));
        }
    }
}

/// `moot index push` in a process of its own.
fn pushing(cluster: &Cluster, dir: &Path, table: &str) -> Command {
    let mut command = moot(["index", "push", dir.to_str().unwrap(), &cluster.address(table)]);
    command.env("MOOT_POSTGRES_PASSWORD", PASSWORD);
    command
}

fn rows(cluster: &Cluster, table: &str) -> i64 {
    cluster.client("wiki").query_one(&format!("SELECT count(*) FROM {table}"), &[]).map_or(0, |row| row.get(0))
}

/// Waits until the push has stored some rows, and says how many.
fn begun(cluster: &Cluster, table: &str, push: &mut Child) -> i64 {
    let start = Instant::now();
    loop {
        let there = rows(cluster, table);
        if there > 0 {
            return there;
        }
        assert!(push.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(60), "it has ended");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
#[ignore = "needs PostgreSQL with pgvector (MOOT_POSTGRES names the folder of its programs)"]
fn a_push_goes_on_when_it_or_the_server_was_killed() {
    const COUNT: usize = 30_000;
    let (mut cluster, folder) = (Cluster::start(), tempfile::tempdir().unwrap());
    let dir = folder.path().join("index");
    build(&dir, COUNT, Some(&WordEmbedder::new()), Storage::F16, Limits { segment: 4096, ..Limits::default() });

    let mut killed = pushing(&cluster, &dir, "killed").spawn().unwrap();
    begun(&cluster, "killed", &mut killed);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let there = rows(&cluster, "killed");
    assert!(there > 0 && there < COUNT as i64, "{there}");
    assert!(open(&cluster, "killed", false).note().unwrap().ends_with("a push of it has not ended"));
    let again = pushing(&cluster, &dir, "killed").output().unwrap();
    assert!(again.status.success(), "{}", text(&again.stderr));
    let said = text(&again.stdout);
    assert!(
        said.contains(&format!("{COUNT} in all")) && !said.contains(&format!(" {COUNT} passages pushed")),
        "{said}"
    );

    let mut surviving = pushing(&cluster, &dir, "crashed").spawn().unwrap();
    let there = begun(&cluster, "crashed", &mut surviving);
    cluster.crash();
    assert!(there < COUNT as i64, "{there}");
    cluster.go_on();
    let ended = surviving.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", text(&ended.stderr));

    let index = retriever(&dir, Search { mode: Mode::Dense, exact: true, ..Search::default() });
    for name in ["killed", "crashed"] {
        let table = open(&cluster, name, false);
        assert_eq!((rows(&cluster, name), table.note()), (COUNT as i64, None));
        for wanted in settings() {
            let (found, expected) =
                (table.retrieve(QUERIES[0], &wanted).unwrap(), index.retrieve(QUERIES[0], &wanted).unwrap());
            assert_same(&found, &expected, &format!("{name} {wanted:?}"));
        }
    }
}

#[test]
#[ignore = "needs PostgreSQL with pgvector (MOOT_POSTGRES names the folder of its programs)"]
fn errors_of_a_database_are_one_line() {
    let (mut cluster, folder) = (Cluster::start(), tempfile::tempdir().unwrap());
    build(folder.path(), 20, Some(&WordEmbedder::new()), Storage::F16, small());
    let index = Index::open(folder.path()).unwrap();
    push(&index, store(&cluster.address("pages"), PASSWORD, impatient()).as_ref(), &mut |_| Ok(())).unwrap();
    cluster.client("wiki").batch_execute("CREATE TABLE other (id bigint, embedding vector(40))").unwrap();

    let address = |table: &str| cluster.address(table);
    let refused = |address: &str, password: &str, embedder: WordEmbedder| {
        let opened = Collection::open(store(address, password, impatient()), Arc::new(embedder), false);
        let error = opened.err().unwrap();
        let hint = error.hint().map(|hint| format!(" | {hint}")).unwrap_or_default();
        format!("{error}{hint}").replace(&format!("{address}: "), "")
    };
    let (words, pages) = (WordEmbedder::new, address("pages"));
    let elsewhere = pages.replace("/wiki#", "/nowhere#");
    let password = "| put the user's password into the environment variable MOOT_POSTGRES_PASSWORD";
    let cases = [
        (refused(&pages, "wrong-password", words()), "the table: password authentication failed for user", password),
        (refused(&pages, "", words()), "the table: the server asks for a password, and none is set", password),
        (
            refused(&address("none"), PASSWORD, words()),
            "the table: there is none of this name",
            "| the address ends in",
        ),
        (
            refused(&elsewhere, PASSWORD, words()),
            "the table: database \"nowhere\" does not exist",
            "| the address ends in",
        ),
        (
            refused(&pages.replace("/wiki#", "/bare#"), PASSWORD, words()),
            "the table: the database has no extension",
            "",
        ),
        (refused(&address("other"), PASSWORD, words()), "expected a table that `moot index push` made", ""),
        (
            refused(&pages, PASSWORD, WordEmbedder { dimension: 7, ..words() }),
            "the collection has vectors of 40, the embedder makes 7 (words)",
            "",
        ),
        (
            refused(&pages, PASSWORD, WordEmbedder { identity: "others".into(), ..words() }),
            "the collection was embedded by words, expected others",
            "",
        ),
    ];
    for (said, expected, hint) in &cases {
        assert!(said.starts_with(expected) && said.contains(hint), "{said}");
        assert!(!said.contains('\n') && !said.contains(PASSWORD) && !said.contains("wrong-password"), "{said}");
    }
    // A row that moot did not write.
    let open = open(&cluster, "pages", false);
    cluster.client("wiki").batch_execute("UPDATE pages SET passage = '{}' WHERE id = 3").unwrap();
    let wanted = Wanted { top: 20, by_source: false, filter: Filter::default(), fold: false };
    let said = open.retrieve(QUERIES[0], &wanted).unwrap_err().to_string();
    assert!(said.contains("row 3 is no passage of moot's: missing field"), "{said}");
    // Other indexes do not fit into the table.
    build(&folder.path().join("more"), 30, Some(&WordEmbedder::new()), Storage::F16, small());
    let more = Index::open(&folder.path().join("more")).unwrap();
    let said = push(&more, store(&pages, PASSWORD, impatient()).as_ref(), &mut |_| Ok(())).unwrap_err().to_string();
    assert!(said.contains("row 3 is no passage"), "{said}");
    cluster.crash();
    let said = refused(&pages, PASSWORD, words());
    assert!(said.starts_with("the table: no server listens there | check the address"), "{said}");
    let vector = WordEmbedder::new().embed(&["common1"], Side::Query).unwrap();
    let to = store(&pages, PASSWORD, impatient());
    let said = to.nearest(&vector, "words", &wanted, 3, false).unwrap_err().to_string();
    assert!(said.ends_with("the passages: no server listens there"), "{said}");
}
