//! Faults of an index are reported in one line, before anything is answered from it.

use super::*;
use moot::retrieval::index::Manifest;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::PathBuf;

fn files(dir: &Path) -> Vec<PathBuf> {
    let manifest = Manifest::read(dir).unwrap();
    let of_segments = manifest.segments.iter().flat_map(|segment| {
        let folder = dir.join("segments").join(&segment.name);
        segment.files.keys().map(move |name| folder.join(name)).collect::<Vec<_>>()
    });
    let of_clusters = manifest
        .clusters
        .iter()
        .flat_map(|clusters| clusters.files.keys().map(|name| dir.join(&clusters.name).join(name)).collect::<Vec<_>>());
    of_segments.chain(of_clusters).collect()
}

#[test]
fn every_torn_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits { group_from: 100, ..small() };
    build(dir.path(), 150, Some(&WordEmbedder::new()), Storage::F16, limits);
    let files = files(dir.path());
    assert_eq!(files.len(), 3 * 5 + 4, "{files:?}");
    for path in files {
        let whole = fs::read(&path).unwrap();
        let name = path.display().to_string();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let found = |error: moot::MootError| {
            let text = error.to_string();
            assert!(text.starts_with(&name) && error.hint().is_some() && !text.contains('\n'), "{name}: {text}");
            text
        };
        // The names of sources are read when they are asked for; the length of all files is known to the check.
        if let Some(error) = Index::open(dir.path()).err() {
            assert!(found(error).contains("bytes"));
        }
        assert!(found(Manifest::read(dir.path()).unwrap().verify(dir.path()).unwrap_err()).contains("bytes"));
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        fs::write(&path, &flipped).unwrap();
        assert!(found(Manifest::read(dir.path()).unwrap().verify(dir.path()).unwrap_err()).contains("SHA-256"));
        fs::remove_file(&path).unwrap();
        assert!(found(Manifest::read(dir.path()).unwrap().verify(dir.path()).unwrap_err()).contains("no such file"));
        fs::write(&path, whole).unwrap();
    }
    Manifest::read(dir.path()).unwrap().verify(dir.path()).unwrap();
}

#[test]
fn random_bytes_in_any_file_are_an_error_or_an_answer_but_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 150, Some(&WordEmbedder::new()), Storage::F16, Limits { group_from: 100, ..small() });
    for path in files(dir.path()) {
        // The library that reads the words checks only the length and the table of its file.
        if path.ends_with("bm25.bin") {
            continue;
        }
        let whole = fs::read(&path).unwrap();
        for seed in 0..6_u64 {
            let mut torn = whole.clone();
            for (byte, x) in torn.iter_mut().zip(numbers(seed)).skip(seed as usize * 3) {
                if x > 0.5 {
                    *byte = (x * 255.0) as u8;
                }
            }
            fs::write(&path, &torn).unwrap();
            assert!(Index::open(dir.path()).err().unwrap().to_string().contains("SHA-256"));
            agree(dir.path(), &path, &torn);
            let filter = Filter { from: Some("2011".into()), ..Filter::default() };
            for by_source in [false, true] {
                let wanted = Wanted { by_source, filter: filter.clone(), ..wanted(5) };
                let search = |index| {
                    let embedder: Arc<dyn Embedder> = Arc::new(WordEmbedder::new());
                    let search = Search { mode: Mode::Dense, ..Search::default() };
                    IndexRetriever::new(index, Some(embedder), search)?.retrieve("s3w7 common1", &wanted)
                };
                if let Err(error) = Index::open(dir.path()).and_then(search) {
                    assert!(!error.to_string().contains('\n'), "{error}");
                }
            }
        }
        agree(dir.path(), &path, &whole);
        fs::write(&path, whole).unwrap();
    }
}

/// Makes the manifest say that `content` is what `path` should hold.
fn agree(dir: &Path, path: &Path, content: &[u8]) {
    let mut manifest = Manifest::read(dir).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let of_segment = manifest.segments.iter_mut().find(|segment| segment.name == folder).map(|s| &mut s.files);
    let files = of_segment.or(manifest.clusters.as_mut().map(|clusters| &mut clusters.files)).unwrap();
    let sum = files.get_mut(name).unwrap();
    sum.sha256 = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    sum.sample = None;
    fs::write(dir.join("manifest.json"), serde_json::to_vec(&manifest).unwrap()).unwrap();
}

#[test]
fn another_embedder_dimension_or_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 70, Some(&WordEmbedder::new()), Storage::F16, small());
    let refused = |embedder: WordEmbedder| {
        let retriever =
            IndexRetriever::new(Index::open(dir.path()).unwrap(), Some(Arc::new(embedder.clone())), Search::default());
        let error = retriever.err().unwrap().to_string();
        assert_eq!(error, Builder::open(dir.path(), Some(&embedder), small()).err().unwrap().to_string());
        error
    };
    let other = WordEmbedder { identity: "letters".into(), dimension: 40 };
    assert!(refused(other).ends_with("expected the embedder words, found letters"));
    let wide = WordEmbedder { dimension: 41, ..WordEmbedder::new() };
    assert!(refused(wide).ends_with("expected vectors of 40 numbers, found 41"));
    let error = Builder::open(dir.path(), None, small()).err().unwrap().to_string();
    assert!(error.ends_with("expected the embedder words, found none"), "{error}");

    let path = dir.path().join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    for (content, want) in [
        (text.replace("\"moot_index\": 1", "\"moot_index\": 2"), "expected an index of format 1, found 2"),
        ("{}".to_owned(), "expected an index of format 1, found none"),
        (text[..text.len() / 2].to_owned(), "expected the manifest of an index"),
        (text.replace("\"f16\"", "\"f8\""), "no storage type is called \"f8\""),
    ] {
        fs::write(&path, content).unwrap();
        let error = Index::open(dir.path()).err().unwrap().to_string();
        assert!(error.contains(want) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn folders_without_an_index_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let told = |path: &Path| Index::open(path).err().unwrap().to_string();
    assert!(told(dir.path()).contains("found a folder without manifest.json"));
    assert!(told(&dir.path().join("no")).contains("found nothing there"));
    let file = dir.path().join("file");
    fs::write(&file, b"text").unwrap();
    assert!(told(&file).contains("found a file"));
    // A folder of other files never becomes an index.
    let error = Builder::create(dir.path(), None, Storage::F16, small()).err().unwrap().to_string();
    assert!(error.contains("expected an empty folder or an index, found file"), "{error}");
    let error = Builder::create(&file, None, Storage::F16, small()).err().unwrap().to_string();
    assert!(error.contains("expected a folder for the index, found a file"), "{error}");
    let built = dir.path().join("built");
    build(&built, 3, None, Storage::F16, small());
    let error = Builder::create(&built, None, Storage::F16, small()).err().unwrap().to_string();
    assert!(error.contains("found a finished index of 3 passages"), "{error}");
}

/// Gives numbers that f16 cannot hold, or too few.
struct Faulty(f32, usize);

impl Embedder for Faulty {
    fn embed(&self, texts: &[&str], _: Side) -> Result<Vec<f32>> {
        Ok(vec![self.0; texts.len() * self.1])
    }
    fn dimension(&self) -> usize {
        8
    }
    fn identity(&self) -> &str {
        "faulty"
    }
}

#[test]
fn a_faulty_embedder_is_reported() {
    for (embedder, want) in [
        (Faulty(f32::NAN, 8), "found NaN for notes/0.txt:1"),
        (Faulty(1e6, 8), "expected numbers that f16 can hold, found 1000000 for notes/0.txt:1"),
        (Faulty(0.0, 7), "expected 24 numbers from faulty, found 21"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut builder = Builder::create(dir.path(), Some(&embedder), Storage::F16, small()).unwrap();
        let error = builder.run(&corpus(), &mut passages(3).into_iter().map(Ok), Some(&embedder), &mut silent);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
}
