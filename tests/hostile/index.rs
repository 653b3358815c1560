use moot::retrieval::chunk::Chunking;
use moot::retrieval::corpus::Corpus;
use moot::retrieval::index::{Builder, Index, Limits, Manifest, Storage};
use moot::retrieval::{Origin, Passage};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn passages(count: usize) -> impl Iterator<Item = moot::Result<Passage>> {
    (0..count).map(|i| {
        let origin = Origin { file: format!("{i}.txt"), id: None, line: None, page: None, characters: 0..1 };
        let text = format!("passage number {i} of many");
        Ok(Passage { text, title: None, source: None, date: None, url: None, notes: Vec::new(), origin })
    })
}

fn build(dir: &Path, count: usize) {
    let limits = Limits { segment: 4, ..Limits::default() };
    let mut builder = Builder::create(dir, None, Storage::F16, limits).unwrap();
    builder.run(&["notes".into()], &mut passages(count), None, &mut |_| Ok(())).unwrap();
}

fn change(dir: &Path, change: impl FnOnce(&mut Value)) {
    let path = dir.join("manifest.json");
    let mut manifest = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    fs::write(path, manifest.to_string()).unwrap();
}

#[test]
fn names_in_a_manifest_are_generated_never_believed() {
    let files = json!({});
    let cases: Vec<(&str, Box<dyn Fn(&mut Value)>, &str)> = vec![
        ("path", Box::new(|m| m["segments"][0]["name"] = json!("../../victim")), "found ../../victim"),
        ("other path", Box::new(|m| m["segments"][0]["name"] = json!("/victim")), "found /victim"),
        (
            "largest",
            Box::new(|m| m["segments"][1]["name"] = json!("18446744073709551615")),
            "found 18446744073709551615",
        ),
        ("u32", Box::new(|m| m["segments"][1]["name"] = json!("4294967295")), "found 4294967295"),
        ("digits", Box::new(|m| m["segments"][1]["name"] = json!("1")), "found 1"),
        ("sign", Box::new(|m| m["segments"][1]["name"] = json!("+00001")), "found +00001"),
        ("twice", Box::new(|m| m["segments"][1]["name"] = json!("000000")), "in order, found 000000"),
        (
            "file",
            Box::new(|m| m["segments"][0]["files"]["../x"] = m["segments"][0]["files"]["names.json"].clone()),
            "found ../x",
        ),
        ("none", Box::new(|m| m["segments"][0]["passages"] = json!(0)), "a number of passages, found 0"),
        ("sum", Box::new(|m| m["segments"][0]["passages"] = json!(u64::MAX)), "a number of passages"),
        ("bytes", Box::new(|m| m["segments"][0]["files"]["names.json"]["bytes"] = json!(u64::MAX)), "found more"),
        ("build", Box::new(|m| m["builds"][0]["first"] = json!(3)), "found 3"),
        (
            "clusters",
            Box::new(move |m| {
                m["clusters"] =
                    json!({ "name": "../victim", "segments": 0, "passages": 0, "lists": 0, "files": files.clone() });
            }),
            "found ../victim",
        ),
        (
            "record",
            Box::new(|m| m["inputs"] = json!({ "name": "../victim", "sum": { "bytes": 1, "sha256": "" } })),
            "found ../victim",
        ),
        (
            "record's bytes",
            Box::new(|m| {
                m["inputs"] = json!({ "name": "inputs-000000.json", "sum": { "bytes": u64::MAX, "sha256": "" } });
            }),
            "record of files of at most",
        ),
        (
            "dimension",
            Box::new(|m| m["dense"] = json!({ "embedder": "e", "dimension": 1_u64 << 60, "storage": "f16" })),
            "vectors of 1 to 65536 numbers",
        ),
    ];
    for (case, edit, says) in cases {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join("vectors.bin"), "mine").unwrap();
        let index = dir.path().join("a/index");
        build(&index, 6);
        change(&index, edit);
        let opened = Index::open(&index).err().unwrap().to_string();
        let added = Builder::open(&index, None, Limits::default()).err().unwrap().to_string();
        for error in [opened, added] {
            assert!(
                error.contains("manifest.json") && error.contains(says) && !error.contains('\n'),
                "{case}: {error}"
            );
        }
        assert_eq!(fs::read_to_string(victim.join("vectors.bin")).unwrap(), "mine", "{case}");
    }
}

#[cfg(unix)]
#[test]
fn files_behind_a_linked_segment_folder_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    build(&index, 6);
    let victim = dir.path().join("victim");
    fs::rename(index.join("segments/000000"), &victim).unwrap();
    fs::write(victim.join("vectors.bin"), "mine").unwrap();
    std::os::unix::fs::symlink(&victim, index.join("segments/000000")).unwrap();
    drop(Builder::open(&index, None, Limits::default()).unwrap());
    assert_eq!(fs::read_to_string(victim.join("vectors.bin")).unwrap(), "mine");
}

/// Names that an index will use next may be links to files that are not its own, and so may the folder of segments.
#[cfg(unix)]
#[test]
fn files_behind_linked_records_and_segments_are_kept() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let (index, victim) = (dir.path().join("index"), dir.path().join("victim"));
    build(&index, 6);
    fs::create_dir_all(victim.join("000007")).unwrap();
    fs::write(victim.join("mine"), "mine").unwrap();
    symlink(victim.join("mine"), index.join("inputs-000000.json")).unwrap();
    symlink(&victim, index.join("segments/000009")).unwrap();
    let note = dir.path().join("note.txt");
    fs::write(&note, "A new note.").unwrap();
    let corpus = Corpus::open(&[note.display().to_string()]).unwrap();
    let mut builder = Builder::open(&index, None, Limits::default()).unwrap();
    builder.reads(&corpus);
    builder.run(&["note".into()], &mut corpus.passages(Chunking::default()), None, &mut |_| Ok(())).unwrap();
    assert_eq!(fs::read_to_string(victim.join("mine")).unwrap(), "mine");
    drop(builder);
    fs::rename(index.join("segments"), dir.path().join("kept")).unwrap();
    for name in ["000000", "000001", "000002"] {
        symlink(dir.path().join("kept").join(name), victim.join(name)).unwrap();
    }
    symlink(&victim, index.join("segments")).unwrap();
    drop(Builder::open(&index, None, Limits::default()).unwrap());
    assert!(victim.join("000007").is_dir());
}

#[test]
fn one_changed_byte_is_noticed_when_the_index_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 6);
    let manifest = Manifest::read(dir.path()).unwrap();
    for name in manifest.segments[0].files.keys() {
        let path = dir.path().join("segments/000000").join(name);
        let whole = fs::read(&path).unwrap();
        for at in [0, whole.len() / 3, whole.len() - 1] {
            let mut bent = whole.clone();
            bent[at] ^= 4;
            fs::write(&path, bent).unwrap();
            let error = Index::open(dir.path()).err().unwrap().to_string();
            assert!(error.contains(name) && error.contains("SHA-256"), "{error}");
        }
        fs::write(&path, whole).unwrap();
    }
    Index::open(dir.path()).unwrap();
}

#[test]
fn an_index_without_samples_is_still_read() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 6);
    change(dir.path(), |manifest| {
        for file in manifest["segments"][0]["files"].as_object_mut().unwrap().values_mut() {
            assert!(file.as_object_mut().unwrap().remove("sample").is_some());
        }
    });
    Index::open(dir.path()).unwrap();
}

#[cfg(unix)]
#[test]
fn an_index_of_devices_and_pipes_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 3);
    let path = dir.path().join("segments/000000/names.json");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert!(Index::open(dir.path()).err().unwrap().to_string().contains("found no regular file"));
    fs::remove_file(dir.path().join("manifest.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", dir.path().join("manifest.json")).unwrap();
    assert!(Index::open(dir.path()).err().unwrap().to_string().contains("no regular file"));
}
