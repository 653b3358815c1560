//! Checks and contradictions are recorded: listed, read by their id, reported; contradictions of the server's corpus.

use super::schema::{description, wrong};
use super::{PATIENCE, Started};
use moot::eval::corrections::CorrectedRecord;
use moot::serve::ServeOptions;
use serde_json::{Value, json};
use std::path::Path;

const TEXTS: [&str; 2] = ["The Orrin ferry stopped in 1974.", "The Orrin ferry stopped in 1968."];

/// A server that records, with the corpus `texts` where there are some.
fn recorded(texts: &[&str]) -> Started {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    Started::with(move |options| {
        let folder = Path::new(&options.plan.model).parent().unwrap().to_owned();
        let mut plan = options.plan.clone();
        if !texts.is_empty() {
            let notes = folder.join("notes");
            std::fs::create_dir(&notes).unwrap();
            for (number, text) in texts.iter().enumerate() {
                std::fs::write(notes.join(format!("{number}.txt")), text).unwrap();
            }
            plan.corpus.paths = vec![notes.display().to_string()];
            plan.corpus.embedder = Some("none".into());
        }
        ServeOptions { plan, records: Some(folder.join("asked")), ..options }
    })
}

fn documents() -> Value {
    json!([{ "name": "almanac", "text": TEXTS[0], "source": "county" }, { "name": "board", "text": TEXTS[1] }])
}

/// The record of `id` as the page shows it, which is as it is described.
fn shown(server: &Started, id: &str) -> Value {
    let shown = server.get(&format!("/moot/v1/records/{id}?format=json")).json();
    let found = wrong(&json!({ "$ref": "#/Recorded" }), &shown, "record", &description());
    assert!(found.is_empty(), "{found:?}");
    shown
}

#[test]
fn a_check_and_contradictions_are_kept() {
    let server = recorded(&[]);
    let text = format!("{} {}", TEXTS[0], "It was loved. ".repeat(30));
    let tokens = || ["prompt", "generated"].map(|kind| server.metric(&format!("moot_{kind}_tokens_total")));
    let check = server.ask("/moot/v1/conflict", &json!({ "text": text, "documents": documents() }));
    let of_check = tokens();
    assert!(of_check.iter().all(|count| *count > 0.0), "{of_check:?}");
    let compared = server.ask("/moot/v1/contradictions", &json!({ "documents": documents(), "least": 0.0 }));
    let of_both = tokens();
    assert!(of_both.iter().zip(of_check).all(|(both, check)| *both > check), "{of_check:?}, {of_both:?}");
    let ids = [&check, &compared].map(|reply| reply["id"].as_str().unwrap().to_owned());

    let listed = server.get("/moot/v1/records").json();
    assert_eq!((&listed[0]["kind"], &listed[0]["id"]), (&json!("contradictions"), &json!(ids[1])));
    assert_eq!((&listed[0]["documents"], &listed[0]["contradictions"]), (&json!(2), &json!(1)));
    assert_eq!((&listed[1]["kind"], &listed[1]["id"]), (&json!("check"), &json!(ids[0])));
    let beginning = listed[1]["text"].as_str().unwrap();
    assert!(text.starts_with(beginning.strip_suffix("...").unwrap()) && beginning.len() < 210, "{beginning}");

    let kept = shown(&server, &ids[0]);
    assert_eq!((&kept["assessment"]["claims"], &kept["answered"]), (&check["claims"], &json!(null)));
    assert_eq!(kept["documents"][0]["source"], "county");
    let kept = shown(&server, &ids[1]);
    assert_eq!(kept["contradictions"]["groups"], compared["groups"]);
    assert_eq!((&kept["documents"][1]["text"], &kept["read"]), (&json!(TEXTS[1]), &compared["read"]));

    let report = |id: &str| server.get(&format!("/moot/v1/records/{id}/report")).body;
    assert!(report(&ids[0]).contains("Claims and evidence"));
    assert!(report(&ids[1]).contains(TEXTS[0]) && report(&ids[1]).contains("almanac"));
    let downloaded = server.get(&format!("/moot/v1/records/{}", ids[1]));
    assert_eq!(downloaded.header("content-type"), Some("application/json"));
    assert_eq!(downloaded.json()["report"]["groups"], compared["groups"]);
    assert!(server.get(&format!("/moot/v1/records/{}", ids[0])).body.lines().count() > 1);

    // Neither is a debate that can go on.
    for id in &ids {
        let refused = server.post(&format!("/moot/v1/records/{id}/fork"), &json!({ "tell": "It rained." }));
        assert!(refused.status == 400 && refused.error().contains("expected the record of one question"), "{id}");
    }

    // A server that starts later lists both; a file that is not a record is left out.
    let folder = server.folder.path().join("asked");
    std::fs::write(folder.join("zz.json"), "{}").unwrap();
    let later = Started::with(|options| ServeOptions { records: Some(folder), ..options });
    assert_eq!(later.get("/moot/v1/records").json(), listed);
}

/// In a thread of its own: reading a pipe that nobody writes to would never return.
#[cfg(unix)]
#[test]
fn a_pipe_among_the_records_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    assert!(std::process::Command::new("mkfifo").arg(folder.path().join("zz.json")).status().unwrap().success());
    let records = Some(folder.path().to_owned());
    let (sender, listed) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let listed = Started::with(|options| ServeOptions { records, ..options }).get("/moot/v1/records").json();
        sender.send(listed).unwrap();
    });
    assert_eq!(listed.recv_timeout(PATIENCE).unwrap(), json!([]));
}

/// The labels are a person's, since those of the tiny model are senseless.
#[test]
fn a_claim_that_a_newer_document_contradicts_is_as_it_is_described() {
    let server = recorded(&[]);
    let documents = json!([
        { "name": "almanac", "text": TEXTS[0], "date": "1990" },
        { "name": "board", "text": TEXTS[1], "date": "2024" },
    ]);
    let whole = json!({ "switches": { "claims": "whole" } });
    let check = server.ask("/moot/v1/conflict", &json!({ "text": TEXTS[0], "documents": documents, "method": whole }));
    let folder = server.folder.path().join("asked");
    let file = |id: &str| folder.join(format!("{id}.jsonl"));
    let label = |document: usize, label: &str| json!({ "claim": 1, "document": document, "label": label }).to_string();
    let labels = folder.join("labels");
    std::fs::write(&labels, format!("{}\n{}\n", label(1, "supports"), label(2, "contradicts"))).unwrap();
    let corrected = CorrectedRecord::read(&file(check["id"].as_str().unwrap()), &labels).unwrap();
    corrected.write(&file("corrected")).unwrap();

    let mut assessment = shown(&server, "corrected")["assessment"].clone();
    let newest = json!({ "for": "1990", "against": "2024", "contradicted": true });
    assert_eq!(assessment["claims"][0]["newest"], newest);
    // As `/moot/v1/conflict` returns it, with two fields more.
    assessment["id"] = check["id"].clone();
    assessment["read"] = check["read"].clone();
    let found = wrong(&json!({ "$ref": "#/Assessment" }), &assessment, "assessment", &description());
    assert!(found.is_empty(), "{found:?}");
    let report = server.get("/moot/v1/records/corrected/report").body;
    assert!(report.contains("contradicted by a newer document (2024; for it 1990)"), "{report}");
}

#[test]
fn contradictions_of_the_corpus_are_found_where_a_request_has_no_documents() {
    let server = recorded(&TEXTS);
    let compared = server.ask("/moot/v1/contradictions", &json!({ "least": 0.0 }));
    assert_eq!((&compared["counts"]["documents"], compared["groups"].as_array().unwrap().len()), (&json!(2), 1));
    assert!(compared["documents"][0]["file"].as_str().unwrap().ends_with("0.txt"));
    assert_eq!(shown(&server, compared["id"].as_str().unwrap())["documents"], json!([]));
    // Those of a request are compared alone.
    let own = json!({ "documents": ["Tea is grown in Assam.", "Owls hunt at night.", "The weather was fine."] });
    assert_eq!(server.ask("/moot/v1/contradictions", &own)["counts"]["documents"], 3);
    let one = recorded(&TEXTS[..1]).post("/moot/v1/contradictions", &json!({}));
    assert!(one.status == 400 && one.error().contains("expected at least 2 documents"), "{}", one.body);
}
