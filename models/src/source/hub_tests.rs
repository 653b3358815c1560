#![allow(clippy::unwrap_used)]

#[path = "hub_fake.rs"]
mod fake;

use super::super::hash::hex;
use super::super::repository::INDEX;
use super::super::search::Search;
use super::super::wheel::Python;
use super::super::{Catalog, CatalogEntry, EncoderEntry, Options, SourceUsed};
use super::*;
use fake::{COMMIT, Fake};
use hf_hub::Cache;
use sha2::{Digest, Sha256};
use std::net::TcpListener;
use std::sync::Mutex;
use std::time::Instant;

fn hub(endpoint: &str, folder: &Path) -> Hub {
    Hub {
        endpoint: endpoint.to_owned(),
        cache: Cache::new(folder.join("hub")),
        token: None,
        silence: Duration::from_secs(2),
        pause: Duration::from_millis(1),
    }
}

fn address(file: Option<&str>) -> HubAddress {
    HubAddress { repo: "org/name".into(), file: file.map(str::to_owned), revision: "main".into() }
}

fn fetch(hub: &Hub, file: Option<&str>) -> Result<PathBuf, Refusal> {
    hub.fetch(&address(file), &hub.cache.path().join("notes"), &mut |_| {})
}

fn random(bytes: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..bytes).map(next).collect()
}

#[test]
fn a_file_is_fetched_once_and_then_found() {
    for redirects in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (endpoint, fake) = Fake { redirects, ..Fake::with(&[("m.gguf", b"GGUF and more")]) }.serve();
        let hub = hub(&endpoint, folder.path());
        let file = address(Some("m.gguf"));
        assert_eq!(hub.cached(&file), None);
        let mut events = vec![];
        let path = hub.fetch(&file, folder.path(), &mut |event| events.push(event)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"GGUF and more");
        assert_eq!(events.last(), Some(&FetchEvent::Bytes { done: 13, total: 13 }));
        assert_eq!(hub.cached(&file), Some(path.clone()));
        assert_eq!(hub.cached(&HubAddress { revision: COMMIT.into(), ..file.clone() }), Some(path));
        assert_eq!(hub.cached(&HubAddress { revision: "other".into(), ..file.clone() }), None);
        // A second fetch asks whether it is still that, and moves no byte of it.
        fake.log.lock().unwrap().clear();
        fetch(&hub, Some("m.gguf")).unwrap();
        assert!(fake.log.lock().unwrap().iter().all(|request| request.ends_with(" 0-0")));
    }
}

#[test]
fn the_token_goes_to_the_hub_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (storage, stored) = Fake::with(&[("m.gguf", b"GGUF and more")]).serve();
    let redirecting = Fake { redirects: true, elsewhere: Some(storage), ..Fake::with(&[("m.gguf", b"GGUF and more")]) };
    let (endpoint, fake) = Fake { token: Some("secret"), ..redirecting }.serve();
    let hub = Hub { token: Some("secret".into()), ..hub(&endpoint, folder.path()) };
    fetch(&hub, Some("m.gguf")).unwrap();
    let tokens = |fake: &Fake| fake.tokens.lock().unwrap().clone();
    assert!(!tokens(&fake).is_empty() && tokens(&fake).iter().all(|token| token.as_deref() == Some("Bearer secret")));
    assert!(tokens(&stored).len() >= 2 && tokens(&stored).iter().all(Option::is_none), "{:?}", tokens(&stored));
}

#[test]
fn a_redirect_to_nowhere_is_an_error() {
    for (elsewhere, says) in [
        ("", "a redirect (302) without a location"),
        ("file:///etc", "no http address"),
        ("\u{e9}", "without a location"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let fake = Fake { redirects: true, elsewhere: Some(elsewhere.into()), ..Fake::with(&[("m.gguf", b"x")]) };
        let line = fetch(&hub(&fake.serve().0, folder.path()), Some("m.gguf")).unwrap_err().line();
        assert!(line.contains(says), "{line}");
    }
}

#[test]
fn a_broken_download_continues_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = random(200_000);
    let fake = Fake { cuts: Mutex::new(vec![90_000, 0, 50_000]), ..Fake::with(&[("m.gguf", &bytes)]) };
    let (endpoint, fake) = fake.serve();
    let path = fetch(&hub(&endpoint, folder.path()), Some("m.gguf")).unwrap();
    assert!(std::fs::read(path).unwrap() == bytes);
    let log = fake.log.lock().unwrap();
    let asked: Vec<&str> = log.iter().filter_map(|line| line.split(' ').nth(1)).filter(|r| *r != "0-0").collect();
    assert_eq!(asked, ["0-", "50000-", "50000-", "140000-"]);
}

#[test]
fn another_process_continues_a_partial_download() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = random(100_000);
    let (endpoint, fake) = Fake::with(&[("m.gguf", &bytes)]).serve();
    let hub = hub(&endpoint, folder.path());
    let blobs = hub.repository(&address(None)).join("blobs");
    std::fs::create_dir_all(&blobs).unwrap();
    std::fs::write(blobs.join(hex(&Sha256::digest(&bytes))).with_extension("part"), &bytes[..60_000]).unwrap();
    fetch(&hub, Some("m.gguf")).unwrap();
    assert!(fake.log.lock().unwrap().iter().any(|request| request.ends_with(" 60000-")));
}

#[test]
fn a_download_that_differs_from_the_hubs_hash_is_refused() {
    let bytes = random(1000);
    let zeros = "0000000000000000000000000000000000000000000000000000000000000000";
    for (fake, says) in [
        (Fake { etag: Some(zeros), ..Fake::with(&[("m.gguf", &bytes)]) }, "the hub says 0000"),
        (
            Fake { ignores_ranges: true, cuts: Mutex::new(vec![400]), ..Fake::with(&[("m.gguf", &bytes)]) },
            "more bytes came than the 1000 that the hub says",
        ),
        (Fake { etag: Some("../../x"), ..Fake::with(&[("m.gguf", &bytes)]) }, "no name of a file"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (endpoint, _) = fake.serve();
        let hub = hub(&endpoint, folder.path());
        let refusal = fetch(&hub, Some("m.gguf")).unwrap_err();
        assert!(refusal.line().contains(says), "{refusal:?}");
        assert_eq!(hub.cached(&address(Some("m.gguf"))), None);
        let blobs = std::fs::read_dir(hub.repository(&address(None)).join("blobs"));
        let left = blobs.into_iter().flatten().flatten().filter(|file| file.path().extension().is_none()).count();
        assert_eq!(left, 0, "{says}");
    }
}

#[test]
fn a_damaged_file_of_the_cache_is_fetched_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (endpoint, _) = Fake::with(&[("m.gguf", b"right")]).serve();
    let hub = hub(&endpoint, folder.path());
    let path = fetch(&hub, Some("m.gguf")).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    std::fs::write(path.canonicalize().unwrap(), b"wrong").unwrap();
    assert_eq!(std::fs::read(fetch(&hub, Some("m.gguf")).unwrap()).unwrap(), b"right");
}

#[test]
fn a_repository_of_safetensors_is_fetched_as_a_folder() {
    let index = br#"{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}"#;
    let files: [(&str, &[u8]); 7] = [
        ("config.json", b"{}"),
        ("tokenizer.json", b"{}"),
        ("chat_template.jinja", b"x"),
        ("README.md", b"not wanted"),
        (INDEX, index),
        ("model-1.safetensors", b"1"),
        ("model-2.safetensors", b"22"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let (endpoint, _) = Fake::with(&files).serve();
    let hub = hub(&endpoint, folder.path());
    let path = fetch(&hub, None).unwrap();
    let mut names: Vec<String> =
        std::fs::read_dir(&path).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    let mut expected: Vec<&str> = files.iter().map(|(name, _)| *name).filter(|name| *name != "README.md").collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(hub.cached(&address(None)), Some(path.clone()));
    std::fs::remove_file(path.join("model-2.safetensors")).unwrap();
    assert_eq!(hub.cached(&address(None)), None);
}

#[test]
fn a_repository_of_splits_is_fetched_whole() {
    let files: [(&str, &[u8]); 2] = [("m-00001-of-00002.gguf", b"1"), ("m-00002-of-00002.gguf", b"2")];
    let folder = tempfile::tempdir().unwrap();
    let (endpoint, _) = Fake::with(&files).serve();
    let hub = hub(&endpoint, folder.path());
    let path = fetch(&hub, None).unwrap();
    assert!(path.ends_with(files[0].0) && path.with_file_name(files[1].0).exists());
    assert_eq!(hub.cached(&address(Some(files[0].0))), Some(path));
}

#[test]
fn the_error_without_access_names_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let gated = || Fake { token: Some("right"), ..Fake::with(&[("m.gguf", b"x")]) }.serve().0;
    let endpoint = gated();
    let with = |token: Option<&str>| Hub { token: token.map(str::to_owned), ..hub(&endpoint, folder.path()) };
    for file in [Some("m.gguf"), None] {
        let Err(Refusal::Denied(line)) = fetch(&with(None), file) else { unreachable!() };
        assert!(line.contains("401") && line.contains("accept its licence") && line.contains("HF_TOKEN"), "{line}");
        assert!(line.contains(&format!("{endpoint}/org/name")), "{line}");
        let Err(Refusal::Denied(line)) = fetch(&with(Some("wrong")), file) else { unreachable!() };
        assert!(line.contains("403") && line.contains("accept its licence"), "{line}");
        fetch(&with(Some("right")), file).unwrap();
    }
}

#[test]
fn a_hub_that_is_not_there_is_known_in_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_endpoint = format!("http://{}", silent.local_addr().unwrap());
    let always = |status| Fake { status: Some(status), ..Fake::default() }.serve().0;
    let cases = [
        ("http://127.0.0.1:1".to_owned(), "127.0.0.1"),
        ("http://nowhere.invalid".to_owned(), "nowhere.invalid"),
        (silent_endpoint, "no answer from http://127.0.0.1"),
        (always("404 Not Found"), "404: no m.gguf in org/name at main"),
        (always("200 OK"), "etag"),
        (always("503 Service Unavailable"), "503"),
        ("no url".to_owned(), "no url"),
    ];
    for (endpoint, reason) in cases {
        let started = Instant::now();
        let line = fetch(&hub(&endpoint, folder.path()), Some("m.gguf")).unwrap_err().line();
        assert!(line.contains(reason), "{line}");
        assert!(started.elapsed() < Duration::from_secs(7), "{line} took {:?}", started.elapsed());
    }
}

/// The catalog's first model, by two files of the stand-in: the second is its own repository's.
fn entry() -> CatalogEntry {
    let first = Catalog::embedded().models.remove(0);
    CatalogEntry { hub: vec![address(Some("m.gguf")), address(None)], size: None, sha256: None, wheels: None, ..first }
}

/// Looks for [`entry`] on `hub`: the outcome, and the notices on the way.
fn search(hub: &Hub, offline: bool) -> (crate::Result<(PathBuf, SourceUsed)>, Vec<FetchEvent>) {
    let options = Options { cache: hub.cache.path().join("moot"), offline };
    let mut said = vec![];
    let mut progress = |event| said.push(event);
    let found = Search::new(&options, hub.clone(), Python(vec![]), &mut progress).alias(&entry());
    said.retain(|event| matches!(event, FetchEvent::Trying { .. } | FetchEvent::Failed { .. }));
    (found, said)
}

#[test]
fn the_next_source_is_tried_and_it_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 3] = [("config.json", b"{}"), ("tokenizer.json", b"{}"), ("model.safetensors", b"w")];
    let hub = hub(&Fake::with(&files).serve().0, folder.path());
    let (found, said) = search(&hub, false);
    assert_eq!(found.unwrap().1, SourceUsed::Hub(address(None)));
    let trying = |source: &str| FetchEvent::Trying { source: source.into() };
    let reason = "404: no m.gguf in org/name at main".to_owned();
    let failed = FetchEvent::Failed { source: "hub".into(), reason };
    assert_eq!(said, [trying("hub (org/name, m.gguf)"), failed, trying("hub (org/name)")]);
    let (found, said) = search(&hub, true);
    assert_eq!((found.unwrap().1, said), (SourceUsed::HubCache(address(None)), vec![]));
}

#[test]
fn another_quantisation_is_another_file_of_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    let hub = hub(&Fake::with(&[("m-q8_0.gguf", b"x")]).serve().0, folder.path());
    let own = CatalogEntry { hub: vec![address(Some("m-q4_1.gguf")), address(None)], ..entry() };
    let options = Options { cache: folder.path().join("moot"), offline: false };
    let found = Search::new(&options, hub, Python(vec![]), &mut |_| {}).alias(&own.quantised("q8_0").unwrap());
    assert_eq!(found.unwrap().1, SourceUsed::Hub(address(Some("m-q8_0.gguf"))));
    let folders = CatalogEntry { hub: vec![address(None)], ..entry() };
    let error = folders.quantised("q8_0").unwrap_err().to_string();
    assert!(error.contains("expected a repository with files of several quantisations"), "{error}");
}

#[test]
fn offline_touches_no_network() {
    let folder = tempfile::tempdir().unwrap();
    let (endpoint, fake) = Fake::with(&[("m.gguf", b"x")]).serve();
    let error = search(&hub(&endpoint, folder.path()), true).0.unwrap_err();
    assert!(error.to_string().contains("not used, being offline"), "{error}");
    assert!(fake.log.lock().unwrap().is_empty());
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let hub = hub(&Fake::with(&[("m.gguf", b"x")]).serve().0, folder.path());
    std::fs::write(folder.path().join("hub"), "a file, no folder").unwrap();
    let (found, said) = search(&hub, false);
    assert!(found.unwrap_err().to_string().contains("models--org--name") && said.len() == 2, "{said:?}");
}

#[test]
fn a_hub_that_is_down_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let (found, said) = search(&hub("http://127.0.0.1:1", folder.path()), false);
    assert!(found.is_err() && said.len() == 2, "{said:?}");
}

#[test]
fn a_gated_models_hint_is_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Fake { token: Some("right"), ..Fake::default() }.serve().0;
    let error = search(&hub(&endpoint, folder.path()), false).0.unwrap_err();
    assert!(error.to_string().contains("401"), "{error}");
    let hint = error.hint().unwrap();
    assert!(hint.contains(&format!("{endpoint}/org/name")) && hint.contains("HF_TOKEN"), "{hint}");
}

#[test]
fn an_encoder_without_a_tokenizer_takes_that_of_another_repository() {
    let folder = tempfile::tempdir().unwrap();
    // The stand-in has one repository, which is both the model's and the tokenizer's.
    let files: [(&str, &[u8]); 3] =
        [("config.json", b"{}"), ("model.safetensors", b"weights"), ("tokenizer.json", b"t")];
    let hub = hub(&Fake::with(&files[..2]).serve().0, folder.path());
    let row = Catalog::embedded().encoder_named("hhem-2.1-open").unwrap().clone();
    let entry = EncoderEntry { hub: address(None), tokenizer: Some(address(Some("tokenizer.json"))), ..row };
    let options = |offline| Options { cache: folder.path().join("moot"), offline };
    let found = |hub: &Hub, offline: bool| {
        Search::new(&options(offline), hub.clone(), Python(vec![]), &mut |_| {}).encoder(&entry)
    };
    let error = found(&hub, false).unwrap_err().to_string();
    assert!(error.contains("no tokenizer.json in org/name"), "{error}");
    assert!(!folder.path().join("moot/models/name").exists(), "half a model has no name that is looked for");
    assert!(found(&hub, true).unwrap_err().to_string().contains("being offline"));

    let whole = Hub { endpoint: Fake::with(&files).serve().0, ..hub.clone() };
    let (path, source) = found(&whole, false).unwrap();
    assert_eq!(
        (path.as_path(), source),
        (folder.path().join("moot/models/name").as_path(), SourceUsed::Hub(address(None)))
    );
    for (name, bytes) in files {
        assert_eq!(std::fs::read(path.join(name)).unwrap(), bytes, "{name}");
    }
    assert_eq!(found(&hub, true).unwrap().1, SourceUsed::Cache);
    // A snapshot of the hub's cache that has a tokenizer, as this repository's has now, needs no folder beside it.
    std::fs::remove_dir_all(&path).unwrap();
    assert_eq!(found(&hub, true).unwrap().1, SourceUsed::HubCache(address(None)));
}
