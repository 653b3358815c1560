//! `moot models` and `moot doctor`, without a network: a stand-in for the hub serves what is fetched.

use super::program::text;
use moot_models::source::Catalog;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/golden/tiny/llama.gguf");

/// The program in `folder`, its caches there, its hub at `endpoint`.
fn moot_at(folder: &Path, endpoint: &str, typed: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_moot"));
    command.args(typed.split(' ')).current_dir(folder);
    command.env("MOOT_CACHE", folder.join("cache")).env("HF_HOME", folder.join("hf")).env("HF_ENDPOINT", endpoint);
    // No package index is asked.
    command.env("MOOT_PYTHON", "no-python-here");
    for variable in ["MOOT_MODEL", "MOOT_CPU", "MOOT_OFFLINE", "HF_HUB_OFFLINE", "HF_HUB_CACHE", "HF_TOKEN"] {
        command.env_remove(variable);
    }
    command.output().unwrap()
}

/// As [`moot_at`], where no hub is.
fn moot(folder: &Path, typed: &str) -> Output {
    moot_at(folder, "http://127.0.0.1:1", typed)
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&done(output)).unwrap()
}

fn refused(output: &Output, code: i32, parts: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{said}");
}

fn aliases() -> Vec<String> {
    Catalog::embedded().models.into_iter().map(|entry| entry.alias).collect()
}

#[test]
fn every_alias_is_listed_here_and_in_the_docs() {
    let folder = tempfile::tempdir().unwrap();
    let listed = json(&moot(folder.path(), "models list --json"));
    let of = |task: &str| -> Vec<&str> {
        let rows = listed.as_array().unwrap().iter().filter(|row| row["task"] == task);
        rows.map(|row| row["name"].as_str().unwrap()).collect()
    };
    let names = of("text");
    assert_eq!(names, aliases());
    assert!(listed.as_array().unwrap().iter().all(|row| row["here"].is_null()));
    let fits = |name: &str| listed.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()["fits"].clone();
    assert_eq!((fits("smollm2-135m"), fits("llama-3.1-70b").is_boolean()), (true.into(), true));
    let encoders = Catalog::embedded().encoders.len();
    let named = ["embedder", "reranker", "classifier"].map(of).concat();
    assert_eq!(named.len(), encoders);
    let table = done(&moot(folder.path(), "models list"));
    // Two tables with a heading each, the meaning of the mark, and a blank line.
    assert_eq!(table.lines().count(), names.len() + 1 + 1 + 1 + encoders + 1);
    let marked = |name: &str| table.lines().any(|line| line.starts_with(&format!("{name} ")) && line.contains('*'));
    for entry in Catalog::embedded().models {
        assert_eq!(marked(&entry.alias), entry.shape_from.is_checked(), "{table}");
    }
    assert!(marked("smollm2-135m") && !marked("gpt-oss-20b") && table.contains("\n* shape checked"), "{table}");
    for name in named {
        assert!(table.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}: {table}");
    }
    assert!(["--embedder", "--reranker", "--classifier"].iter().all(|option| table.contains(option)), "{table}");
    assert_eq!(done(&moot(folder.path(), "models list --here")).lines().count(), 1);
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/models.md")).unwrap();
    for alias in names {
        assert!(page.contains(&format!("`{alias}`")), "docs/models.md does not name {alias}");
    }
}

#[test]
fn every_alias_has_a_plan_without_a_network() {
    let folder = tempfile::tempdir().unwrap();
    for entry in Catalog::embedded().models {
        let info = json(&moot(folder.path(), &format!("models info {} --agents 8 --tokens 2048 --json", entry.alias)));
        assert_eq!(info["architecture"], entry.shape.model_type);
        assert_eq!(info["context"], entry.shape.max_position_embeddings);
        assert_eq!(info["licence"], entry.licence);
        assert_eq!(info["shape_from"], serde_json::to_value(entry.shape_from).unwrap());
        let (kv, shape) = (info["memory"]["kv"].as_u64().unwrap(), entry.shape);
        let of_layer = 8 * 2048 * 2 * 2 * shape.num_key_value_heads * shape.head_dim();
        let all = of_layer * shape.num_hidden_layers;
        if shape.model_type.starts_with("qwen3_5") || shape.model_type.starts_with("lfm2") {
            // One layer in four to three in eight have keys and values; the states of the others get as much memory again,
            // or more.
            assert!((all / 2..all).contains(&(kv as usize)), "{}: {kv} of {all}", entry.alias);
        } else if shape.sliding_window.is_some_and(|window| window <= 1024) {
            // Most layers have the pages of their window alone.
            let least = if shape.num_kv_shared_layers.is_some() { all / 4 } else { all / 3 };
            assert!((least..all * 3 / 4).contains(&(kv as usize)), "{}: {kv} of {all}", entry.alias);
        } else {
            assert_eq!(kv as usize, all);
        }
        assert!(info["memory"]["total"].as_u64().unwrap() > kv);
        assert!(info["parameters"].as_u64().unwrap() > 100_000_000);
        assert!(!info["sources"].as_array().unwrap().is_empty());
    }
    let told = done(&moot(folder.path(), "models info llama-3.3-70b"));
    assert!(told.contains("the catalog's plan") && told.contains("keys and values"), "{told}");
    assert!(told.contains("\nshape ") && told.contains("  source not recorded\n"), "{told}");
}

#[test]
fn info_is_read_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(TINY, folder.path().join("tiny.gguf")).unwrap();
    let info = json(&moot(folder.path(), "models info tiny.gguf --agents 3 --tokens 100 --json"));
    assert_eq!((info["here"].as_bool(), info["architecture"].as_str()), (Some(true), Some("llama")));
    assert_eq!(info["sha256"].as_str().unwrap().len(), 64);
    assert!(info["shape_from"].is_null());
    assert!(info["file_bytes"].as_u64().unwrap() == fs::metadata(TINY).unwrap().len());
    assert!(info["tokenizer"].as_str().unwrap().contains("tokens"));
    assert_eq!(info["memory"]["fits"], true);
    refused(&moot(folder.path(), "models info tiny.gguf --tokens 257"), 2, &["--tokens 257", "at most 256"]);
    refused(&moot(folder.path(), "models info qwen2.5-7c"), 2, &["near: qwen2.5-7b"]);
    refused(&moot(folder.path(), "models info hf:org/name"), 2, &["not here", "models pull"]);
    refused(&moot(folder.path(), "models info no/such.gguf"), 1, &["no/such.gguf"]);
}

/// The same file, with the type of one matrix changed in its table of tensors: 64 rows of 64 in blocks of 32.
#[test]
fn a_type_that_is_stored_as_another_is_shown_with_both_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(TINY).unwrap();
    let name = b"blk.0.attn_q.weight";
    let after = bytes.windows(name.len()).position(|window| window == name).unwrap() + name.len();
    // The number of dimensions, two dimensions; then ggml's number of the type.
    bytes[after + 4 + 2 * 8] = 20;
    fs::write(folder.path().join("tiny.gguf"), bytes).unwrap();
    let told = done(&moot(folder.path(), "models info tiny.gguf --tokens 256"));
    assert!(told.contains("IQ4_NL, Q8_0 on a GPU: 1 tensors, 4 k, 2.3 kB"), "{told}");
    assert!(told.contains(" F32: 19 tensors"), "{told}");
    let info = json(&moot(folder.path(), "models info tiny.gguf --tokens 256 --json"));
    let of = |name: &str| info["types"].as_array().unwrap().iter().find(|stored| stored["type"] == name).unwrap();
    assert_eq!(
        (of("IQ4_NL")["bytes"].as_u64(), of("IQ4_NL")["held_as"].as_str()),
        (Some(64 * 64 / 32 * 18), Some("Q8_0"))
    );
    assert!(of("F32").get("held_as").is_none());
    fs::copy(TINY, folder.path().join("f32.gguf")).unwrap();
    let f32_info = json(&moot(folder.path(), "models info f32.gguf --tokens 256 --json"));
    let weights = |info: &Value| info["memory"]["weights"].as_u64().unwrap();
    let saved = weights(&f32_info) - weights(&info);
    assert_eq!(saved, 64 * 64 * 4 - 64 * 64 / 32 * 18);
}

#[test]
fn copies_are_found_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let entry = Catalog::embedded().models.remove(0);
    let file = folder.path().join("cache/models").join(entry.file().unwrap());
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "abc").unwrap();
    let found = json(&moot(folder.path(), "models where --json"));
    assert_eq!(found["hub_cache"], folder.path().join("hf/hub").to_str().unwrap());
    assert_eq!((&found["models"][0]["name"], &found["models"][0]["bytes"]), (&entry.alias.clone().into(), &3.into()));
    let removed = json(&moot(folder.path(), &format!("models rm {} --json", entry.alias)));
    assert_eq!((&removed["freed"], file.exists()), (&3.into(), false));
    refused(&moot(folder.path(), &format!("models rm {}", entry.alias)), 2, &["is not here"]);
    assert!(done(&moot(folder.path(), &format!("models where {}", entry.alias))).contains("models pull"));
    fs::copy(TINY, folder.path().join("tiny.gguf")).unwrap();
    refused(&moot(folder.path(), "models rm tiny.gguf"), 1, &["of your own"]);
}

/// A hub with the files of one repository; its endpoint.
fn hub(repository: &'static str, files: Vec<(&'static str, Vec<u8>)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let _ = stream.write_all(&answer(&request, repository, &files));
        }
    });
    endpoint
}

fn answer(request: &[String], repository: &str, files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let Some(path) = request.first().and_then(|line| line.split(' ').nth(1)) else { return vec![] };
    if path == format!("/api/models/{repository}/revision/main") {
        let names: Vec<Value> = files.iter().map(|(name, _)| serde_json::json!({ "rfilename": name })).collect();
        let body = serde_json::json!({ "siblings": names, "sha": "c1" }).to_string();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        return (head + &body).into_bytes();
    }
    let name = path.strip_prefix(&format!("/{repository}/resolve/main/"));
    let Some((name, bytes)) = files.iter().find(|(file, _)| Some(*file) == name) else {
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec();
    };
    let probe = request.iter().any(|line| line.eq_ignore_ascii_case("range: bytes=0-0"));
    let part = if probe { &bytes[..1] } else { bytes };
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes 0-{}/{}\r\nETag: \"{}\"\r\n\
         X-Repo-Commit: c1\r\nConnection: close\r\n\r\n",
        part.len(),
        part.len() - 1,
        bytes.len(),
        name.replace('/', "-")
    );
    [head.as_bytes(), part].concat()
}

#[test]
fn a_model_of_the_hub_is_pulled_used_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = hub("org/name", vec![("tiny.gguf", fs::read(TINY).unwrap())]);
    let on_hub = |typed: &str| moot_at(folder.path(), &endpoint, typed);
    let name = "hf:org/name/tiny.gguf";
    refused(&on_hub(&format!("models pull {name} --offline")), 1, &["offline"]);
    let pulled = json(&on_hub(&format!("models pull {name} --json")));
    let path = PathBuf::from(pulled["path"].as_str().unwrap());
    assert!(path.starts_with(folder.path().join("hf/hub/models--org--name/snapshots/c1")), "{path:?}");
    // From here on it is there without the hub.
    assert_eq!(json(&moot(folder.path(), &format!("models info {name} --tokens 64 --json")))["here"], true);
    let bench = format!("bench -m {name} --prompt 8 --generate 2 --rows 1 --kv-memory 16M --json");
    assert!(done(&moot(folder.path(), &bench)).contains("decode_tok_s"));
    refused(&moot(folder.path(), &format!("models rm {name}")), 2, &["--hub"]);
    let freed = json(&moot(folder.path(), &format!("models rm {name} --hub --json")))["freed"].as_u64();
    assert_eq!(freed, Some(fs::metadata(TINY).unwrap().len()));
    assert!(!path.exists());
    refused(&on_hub("models pull hf:org/name/other.gguf"), 1, &["404", "other.gguf"]);
}

#[test]
fn an_encoder_is_pulled_found_verified_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("config.json", b"{}".to_vec()),
        ("tokenizer.json", b"{ }".to_vec()),
        ("model.safetensors", b"weights".to_vec()),
        ("1_Pooling/config.json", b"{  }".to_vec()),
    ];
    let bytes: u64 = files.iter().map(|(_, content)| content.len() as u64).sum();
    let endpoint = hub("sentence-transformers/all-MiniLM-L6-v2", files);
    let name = "all-minilm-l6-v2";
    refused(&moot(folder.path(), &format!("models pull {name} --offline")), 1, &[name, "offline"]);
    assert!(done(&moot(folder.path(), &format!("models where {name}"))).contains("models pull"));
    let pulled = json(&moot_at(folder.path(), &endpoint, &format!("models pull {name} --json")));
    let repository = folder.path().join("hf/hub/models--sentence-transformers--all-MiniLM-L6-v2");
    assert_eq!(pulled["path"], repository.join("snapshots/c1").to_str().unwrap());
    assert_eq!(pulled["bytes"], bytes);
    let found = json(&moot(folder.path(), "models where --json"));
    assert_eq!((&found["models"][0]["name"], &found["models"][0]["bytes"]), (&name.into(), &bytes.into()));
    assert_eq!(json(&moot(folder.path(), "models list --here --json"))[0]["here"], "hub cache");
    let verified = json(&moot(folder.path(), "models verify --json"));
    assert_eq!(verified.as_array().unwrap().len(), 4);
    refused(&moot(folder.path(), &format!("models info {name}")), 1, &["an encoder, for --embedder"]);
    refused(&moot(folder.path(), &format!("models rm {name}")), 2, &["--hub"]);
    assert_eq!(json(&moot(folder.path(), &format!("models rm {name} --hub --json")))["freed"], bytes);
    assert!(!repository.join("snapshots/c1").exists());
    // `.lock` files, which other programs may hold, stay.
    let blobs = fs::read_dir(repository.join("blobs")).unwrap().map(|file| file.unwrap().path());
    assert!(blobs.into_iter().all(|file| file.extension().is_some_and(|ending| ending == "lock")));
}

#[cfg(unix)]
#[test]
fn an_encoder_with_the_tokenizer_of_another_repository_is_removed_from_both() {
    let folder = tempfile::tempdir().unwrap();
    let cached = |repository: &str, files: &[&str]| {
        let path = folder.path().join("hf/hub").join(format!("models--{}", repository.replace('/', "--")));
        for part in ["blobs", "refs", "snapshots/c1"] {
            fs::create_dir_all(path.join(part)).unwrap();
        }
        fs::write(path.join("refs/main"), "c1").unwrap();
        for file in files {
            fs::write(path.join("blobs").join(file), file).unwrap();
            std::os::unix::fs::symlink(format!("../../blobs/{file}"), path.join("snapshots/c1").join(file)).unwrap();
        }
        path.join("blobs")
    };
    let name = "hhem-2.1-open";
    let entry = Catalog::embedded().encoder_named(name).unwrap().clone();
    let blobs = [
        cached(&entry.hub.repo, &["config.json", "model.safetensors"]),
        cached(&entry.tokenizer.unwrap().repo, &["tokenizer.json"]),
    ];
    done(&moot(folder.path(), &format!("models pull {name} --offline")));
    let found = json(&moot(folder.path(), &format!("models where {name} --json")));
    let bytes = |copy: usize| found["models"][copy]["bytes"].as_u64();
    assert_eq!([0, 1, 2].map(bytes), [Some(42), Some(28), Some(14)], "{found}");
    // Both caches have the same bytes, so that nothing is freed as long as one has them.
    let removed = done(&moot(folder.path(), &format!("models rm {name}")));
    assert!(removed.contains("\n0 B freed\n42 B stay in the hub's cache"), "{removed}");
    assert_eq!(json(&moot(folder.path(), &format!("models rm {name} --hub --json")))["freed"], 42);
    assert!(blobs.iter().all(|folder| fs::read_dir(folder).unwrap().count() == 0));
    refused(&moot(folder.path(), &format!("models rm {name} --hub")), 2, &["is not here"]);
}

#[test]
fn an_encoder_of_the_own_cache_is_compared_with_the_catalog_and_removed_whole() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("cache/models/all-MiniLM-L6-v2");
    fs::create_dir_all(own.join("1_Pooling")).unwrap();
    fs::write(own.join("model.safetensors"), "other").unwrap();
    fs::write(own.join("1_Pooling/config.json"), "{}").unwrap();
    let name = "all-minilm-l6-v2";
    refused(&moot(folder.path(), &format!("models verify {name}")), 1, &["model.safetensors", "53aa5117"]);
    let removed = json(&moot(folder.path(), &format!("models rm {name} --json")));
    assert_eq!((&removed["freed"], own.exists()), (&7.into(), false));
    refused(&moot(folder.path(), &format!("models rm {name}")), 2, &["is not here"]);
}

#[test]
fn memory_that_cannot_suffice_is_refused_before_loading() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(TINY, folder.path().join("tiny.gguf")).unwrap();
    let total = moot::memory::Memory::here().total;
    let typed = format!("bench -m tiny.gguf --prompt 8 --generate 2 --kv-memory {total}");
    let output = moot(folder.path(), &typed);
    refused(&output, 1, &["tiny.gguf needs", "of weights", "of keys and values", "available", "hint: --kv-memory"]);
    assert!(!text(&output.stderr).contains("loaded"));
}

#[test]
fn random_weights_have_the_shape_of_a_model_that_is_not_here() {
    let folder = tempfile::tempdir().unwrap();
    let bench = "bench -m smollm2-135m --weights random:q8_0 --rows 1 --prompt 8 --generate 2 --json";
    let measured = json(&moot(folder.path(), &format!("{bench} --kv-memory 16M")));
    assert_eq!(measured["model"], "smollm2-135m (random Q8_0)");
    assert!(measured["decode_tok_s"].as_f64().unwrap() > 0.0);
    fs::write(folder.path().join("a.txt"), "The bridge opened in 1931.").unwrap();
    fs::write(folder.path().join("b.txt"), "The bridge opened in 1947.").unwrap();
    let ask = "ask When? --docs a.txt b.txt --method madam-rag --max-tokens 4 --weights random:q8_0";
    let output = moot(folder.path(), &format!("{ask} -m smollm2-135m --kv-memory 64M --offline --json"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("random weights: replies are noise"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("smollm2-135m (random Q8_0)"), "the record names them");
    let output = moot(folder.path(), &format!("{ask} -m agent=smollm2-135m,aggregator=smollm2-360m"));
    refused(&output, 2, &["--weights random", "one model"]);
    let output = moot(folder.path(), &format!("{bench} --memory 64M"));
    refused(&output, 1, &["smollm2-135m (random Q8_0) needs", "of weights", "available"]);
    assert!(!text(&output.stderr).contains("loaded"));
}

#[test]
fn the_doctor_looks_at_everything() {
    let folder = tempfile::tempdir().unwrap();
    let report = json(&moot(folder.path(), "doctor --offline --json"));
    assert!(report["broken"].as_array().unwrap().is_empty() && report["sources"].as_array().unwrap().is_empty());
    assert!(report["memory"]["available"].as_u64().unwrap() > 0 && report["cpu"]["table"].is_string());
    if !report["self_test"].is_null() {
        assert_eq!(report["self_test"]["compared"].as_array().unwrap().len(), 3);
        assert!(report["self_test"]["read_bytes_s"].as_f64().unwrap() > 0.0);
    }
    let notes = report["notes"].to_string();
    assert!(notes.contains("models pull"), "{notes}");
}

#[test]
fn the_doctor_compares_a_model_with_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let report = json(&moot(folder.path(), &format!("doctor --offline --json --device cpu --model {TINY}")));
    let model = &report["model"];
    assert_eq!((model["device"].as_str(), model["positions"].as_u64()), (Some("cpu"), Some(40)), "{model}");
    let divergence = model["mean_divergence"].as_f64().unwrap();
    assert!((0.0..0.1).contains(&divergence) && model["agree"].as_u64().unwrap() > 20, "{model}");
}

/// A model that cannot be compared is a fault beside the rest of the report; a device that there is not ends it.
#[test]
fn the_doctor_refuses_other_models_and_devices() {
    let folder = tempfile::tempdir().unwrap();
    let output = moot(folder.path(), "doctor --offline --device cpu --model http://127.0.0.1:1/v1#x");
    refused(&output, 1, &["model: expected a model that runs in this process"]);
    assert!(text(&output.stdout).contains("memory"));
    let output = moot(folder.path(), "doctor --offline --device nonsense");
    refused(&output, 2, &["--device nonsense: expected auto, cpu, cuda, cuda:N or metal"]);
}

#[test]
fn the_doctor_names_faults() {
    let folder = tempfile::tempdir().unwrap();
    // A cache that is a file, and a kernel table that no machine has.
    fs::write(folder.path().join("cache"), "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_moot"));
    command.args(["doctor", "--offline"]).env("MOOT_CACHE", folder.path().join("cache")).env("MOOT_CPU", "abacus");
    let output = command.output().unwrap();
    refused(&output, 1, &["MOOT_CPU=abacus", "cannot write"]);
    assert!(text(&output.stdout).contains("memory"));
}
