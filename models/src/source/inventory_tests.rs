#![allow(clippy::unwrap_used)]
//! Copies of an encoder whose folder is assembled from two repositories.

use super::super::search::Search;
use super::super::wheel::Python;
use super::*;

const WEIGHTS: [&str; 2] = ["config.json", SINGLE];

/// A hub whose cache is in `folder`, and this program's cache beside it.
fn caches(folder: &Path) -> (Hub, Options) {
    let hub = Hub { cache: hf_hub::Cache::new(folder.join("hub")), ..Hub::from_environment() };
    (hub, Options { cache: folder.join("moot"), offline: true })
}

/// The encoder `alias` of `org/alias`, with the tokenizer of `org/other`.
fn row(alias: &str) -> EncoderEntry {
    let row = Catalog::embedded().encoder_named("hhem-2.1-open").unwrap().clone();
    let address = |repo: &str, file: Option<&str>| HubAddress {
        repo: format!("org/{repo}"),
        file: file.map(str::to_owned),
        revision: "main".into(),
    };
    let tokenizer = Some(address("other", Some("tokenizer.json")));
    EncoderEntry { alias: alias.into(), hub: address(alias, None), tokenizer, ..row }
}

/// Puts `files` of `org/name` into the hub's cache, each with its name as content; returns their snapshot.
fn fetched(hub: &Hub, name: &str, files: &[&str]) -> PathBuf {
    let repo = hub.cache.path().join(format!("models--org--{name}"));
    let snapshot = repo.join("snapshots/c1");
    for folder in [repo.join("blobs"), repo.join("refs"), snapshot.clone()] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(repo.join("refs/main"), "c1").unwrap();
    for file in files {
        std::fs::write(repo.join("blobs").join(file), file).unwrap();
        std::os::unix::fs::symlink(format!("../../blobs/{file}"), snapshot.join(file)).unwrap();
    }
    snapshot
}

/// Paths of the copies of the first of `rows`.
fn paths(hub: &Hub, rows: &[EncoderEntry], options: &Options) -> Vec<PathBuf> {
    encoder_copies(hub, &rows[0], rows, options).into_iter().map(|copy| copy.path).collect()
}

#[test]
fn what_an_encoder_was_assembled_from_is_removed_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, options) = caches(folder.path());
    let rows = [row("one")];
    let weights = fetched(&hub, "one", &WEIGHTS);
    assert!(paths(&hub, &rows, &options).is_empty(), "half a model is no copy");
    let tokenizer = fetched(&hub, "other", &["tokenizer.json"]).join("tokenizer.json");
    let (own, _) = Search::new(&options, hub.clone(), Python(vec![]), &mut |_| {}).encoder(&rows[0]).unwrap();
    let copies = encoder_copies(&hub, &rows[0], &rows, &options);
    assert_eq!(paths(&hub, &rows, &options), [own.clone(), weights.clone(), tokenizer.clone()]);
    // Hard links: the bytes are freed with their last name.
    let bytes = WEIGHTS.map(str::len).iter().sum::<usize>() as u64;
    assert_eq!((copies[0].bytes, remove(&copies[0]).unwrap()), (bytes + 14, 0));
    assert_eq!(paths(&hub, &rows, &options), [weights.clone(), tokenizer.clone()], "it can be assembled again");
    assert_eq!([&copies[1], &copies[2]].map(|copy| remove(copy).unwrap()), [bytes, 14]);
    assert!(!own.exists() && !weights.exists() && !tokenizer.exists());
    for name in ["one", "other"] {
        let blobs = hub.cache.path().join(format!("models--org--{name}/blobs"));
        assert_eq!(std::fs::read_dir(blobs).unwrap().count(), 0, "{name}");
    }
}

#[test]
fn a_tokenizer_that_another_model_uses_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, options) = caches(folder.path());
    let rows = [row("one"), row("two")];
    let weights = ["one", "two"].map(|name| fetched(&hub, name, &WEIGHTS));
    let tokenizer = fetched(&hub, "other", &["tokenizer.json"]).join("tokenizer.json");
    assert_eq!(paths(&hub, &rows, &options), [weights[0].clone()]);
    std::fs::remove_dir_all(&weights[1]).unwrap();
    assert_eq!(paths(&hub, &rows, &options), [weights[0].clone(), tokenizer.clone()]);
    // As the folder of the second model alone.
    std::fs::create_dir_all(options.cache.join("models/two")).unwrap();
    assert_eq!(paths(&hub, &rows, &options), [weights[0].clone()]);
    std::fs::remove_dir_all(&options.cache).unwrap();
    // Another file of that repository: a program of the hub loaded its own model.
    std::fs::write(tokenizer.with_file_name("config.json"), "{}").unwrap();
    assert_eq!(paths(&hub, &rows, &options), [weights[0].clone()]);
}
