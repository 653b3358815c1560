//! The folder of records: what is listed and served, and answers whose record cannot be written.

use super::schema::{description, wrong};
use super::{Started, tiny};
use moot::serve::ServeOptions;
use moot::workspace::Control;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Names that `moot run -o FOLDER` and users give records.
const NAMES: [&str; 4] = ["moot.smollm2-135m", "my_record", "été", "a 'b' 50%"];

fn documents() -> Value {
    json!([{ "text": "The Orrin ferry stopped in 1974." }, { "text": "The Orrin ferry stopped in 1968." }])
}

fn question() -> Value {
    let method = json!({ "name": "madam-rag", "preset": "every-answer", "max_tokens": 8 });
    json!({ "question": "When did the Orrin ferry stop?", "documents": documents(), "method": method })
}

fn recorded() -> (Started, PathBuf) {
    let server = Started::with(|options| {
        let records = Some(Path::new(&options.plan.model).with_file_name("asked"));
        ServeOptions { records, ..options }
    });
    let folder = server.folder.path().join("asked");
    (server, folder)
}

/// The path of a record, whose id is encoded as clients do it.
fn path(id: &str) -> String {
    let encode = |byte: u8| {
        if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    format!("/moot/v1/records/{}", id.bytes().map(encode).collect::<String>())
}

fn ids(server: &Started) -> Vec<String> {
    let listed = server.get("/moot/v1/records").json();
    let mut ids: Vec<String> =
        listed.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn records_of_any_name_are_listed_read_reported_and_forked() {
    let (server, folder) = recorded();
    let id = server.ask("/moot/v1/ask", &question())["id"].as_str().unwrap().to_owned();
    let text = std::fs::read_to_string(folder.join(format!("{id}.jsonl"))).unwrap();
    for name in NAMES {
        std::fs::write(folder.join(format!("{name}.jsonl")), &text).unwrap();
    }
    let mut expected: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).chain([id]).collect();
    expected.sort_unstable();
    let later = Started::with(|options| ServeOptions { records: Some(folder), ..options });
    assert_eq!(ids(&later), expected);
    for name in NAMES {
        assert_eq!(later.get(&path(name)).body, text, "{name}");
        assert_eq!(later.get(&format!("{}?format=json", path(name))).json()["id"], name);
        let report = later.get(&format!("{}/report", path(name)));
        assert_eq!(report.status, 200, "{name}: {}", report.body);
        let attached = report.header("content-disposition").unwrap();
        let encoded = path(&format!("moot-{name}.html")).replace("%2D", "-").replace("%2E", ".").replace("%5F", "_");
        let encoded = encoded.rsplit('/').next().unwrap();
        assert!(attached.is_ascii() && attached.matches('"').count() == 2, "{attached}");
        assert!(attached.contains(&format!("\"{encoded}\"")) || attached.ends_with(encoded), "{attached}: {encoded}");
        let forked = server.post(&format!("{}/fork", path(name)), &json!({ "tell": "It rained." }));
        assert_eq!(forked.status, 200, "{name}: {}", forked.body);
    }
}

#[test]
fn a_file_that_is_no_record_and_a_link_are_not_served() {
    let (server, folder) = recorded();
    let id = server.ask("/moot/v1/ask", &question())["id"].as_str().unwrap().to_owned();
    let compared = server.ask("/moot/v1/contradictions", &json!({ "documents": documents() }));
    let compared = compared["id"].as_str().unwrap().to_owned();
    let file = folder.join(format!("{id}.jsonl"));
    let text = std::fs::read_to_string(&file).unwrap();
    for (name, content) in
        [("package.json", "{\"name\": \"x\"}"), ("other.jsonl", "{}\n"), ("empty.jsonl", ""), ("empty2.json", "")]
    {
        std::fs::write(folder.join(name), content).unwrap();
    }
    std::fs::write(folder.join(".hidden.jsonl"), &text).unwrap();
    std::fs::create_dir(folder.join("folder.jsonl")).unwrap();
    let outside = server.folder.path().join("outside.jsonl");
    std::fs::write(&outside, &text).unwrap();
    #[cfg(unix)]
    for (name, target) in
        [("link.jsonl", outside.as_path()), ("inside.jsonl", &file), ("p.json", "/etc/passwd".as_ref())]
    {
        std::os::unix::fs::symlink(target, folder.join(name)).unwrap();
    }
    let later = Started::with(|options| ServeOptions { records: Some(folder.clone()), ..options });
    let mut expected = vec![id, compared];
    expected.sort_unstable();
    assert_eq!(ids(&later), expected);
    for name in
        ["package", "other", "empty", "empty2", ".hidden", "folder", "link", "inside", "p", "../outside", "a\nb", "\0"]
    {
        for more in ["", "?format=json", "/report"] {
            let refused = later.get(&format!("{}{more}", path(name)));
            assert_eq!(refused.status, 404, "{name}{more}: {}", refused.body);
            assert!(refused.error().starts_with("no record is called "), "{}", refused.body);
        }
        assert_eq!(later.post(&format!("{}/fork", path(name)), &json!({ "tell": "x" })).status, 404, "{name}");
    }

    // An altered record is sent as it is, and refused where it is read; a long one is sent whole.
    std::fs::write(folder.join("altered.jsonl"), text.replacen("1974", "1975", 1)).unwrap();
    assert!(later.get(&path("altered")).body.contains("1975"));
    let report = later.get(&format!("{}/report", path("altered")));
    assert_eq!(report.status, 400, "{}", report.body);
    let long = format!("{text}{}\n", "x".repeat(300_000));
    std::fs::write(folder.join("long.jsonl"), &long).unwrap();
    let sent = later.get(&path("long"));
    assert_eq!(sent.header("content-length"), Some(long.len().to_string().as_str()));
    assert!(sent.body == long);
}

/// Checks an answer without an id: it is as it is described, and a line of `notes` says why.
fn check_unrecorded(schema: &str, answer: &Value, notes: &str) {
    let found = wrong(&json!({ "$ref": format!("#/{schema}") }), answer, schema, &description());
    assert!(found.is_empty(), "{found:?}");
    let notes: Vec<&str> = answer[notes].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let said = notes.iter().any(|note| note.starts_with("this answer is not recorded: "));
    assert!(said && answer.get("id").is_none(), "{answer}");
    assert!(!notes.iter().any(|note| note.contains("/asked")), "the folder is the server's own: {notes:?}");
}

#[test]
fn an_answer_whose_record_cannot_be_written_is_given() {
    let (server, folder) = recorded();
    std::fs::remove_dir(&folder).unwrap();
    check_unrecorded("Answer", &server.ask("/moot/v1/ask", &question()), "notes");
    let check = json!({ "text": "The ferry stopped in 1974.", "documents": documents() });
    check_unrecorded("Assessment", &server.ask("/moot/v1/conflict", &check), "read");
    let compared = server.ask("/moot/v1/contradictions", &json!({ "documents": documents() }));
    check_unrecorded("Contradictions", &compared, "read");
    let messages = json!([{ "role": "user", "content": "When did the Orrin ferry stop?" }]);
    let chat = json!({ "model": "moot/madam-rag:every-answer", "messages": messages, "documents": documents() });
    let reply = server.ask("/v1/chat/completions", &chat);
    check_unrecorded("Answer", &reply["moot"], "notes");
    assert!(reply["id"].as_str().unwrap().len() > "chatcmpl-".len(), "{reply}");
    assert_eq!(server.metric("moot_questions_total"), 4.0);
    assert_eq!(server.get("/moot/v1/records").json(), json!([]));
}

/// A program that ends with the test, whatever its outcome.
#[cfg(unix)]
struct Program(std::process::Child);

#[cfg(unix)]
impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// The program, whose files may have at most a few hundred bytes, as on a disk that is full.
#[cfg(unix)]
#[test]
fn on_a_full_disk_answers_are_given_and_no_empty_record_is_left() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::sync::mpsc::channel;

    let folder = tempfile::tempdir().unwrap();
    let (model, asked) = (tiny(folder.path()), folder.path().join("asked"));
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_moot"), "serve", "--port", "0", "--offline", "-m", &model]);
    command.args(["--kv-memory", "64M", "--records"]).arg(&asked).env("MOOT_CACHE", folder.path().join("cache"));
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut program = Program(child.unwrap());
    let (sender, lines) = channel();
    let stderr = program.0.stderr.take().unwrap();
    std::thread::spawn(move || {
        BufReader::new(stderr).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    let noted = |wanted: &str| -> String {
        let mut all = Vec::new();
        while let Ok(line) = lines.recv_timeout(super::PATIENCE) {
            if line.contains(wanted) {
                return line;
            }
            all.push(line);
        }
        panic!("no {wanted}: {all:?}")
    };
    let line = noted("listening on http://");
    let address = line.split("http://").nth(1).unwrap().trim().to_owned();
    let server = Started { folder, address, control: Control::default(), thread: None };

    let run = json!({ "questions": [{ "question": "When?", "documents": ["In 1968."] }], "method": "madam-rag" });
    let refused = server.post("/moot/v1/runs", &run);
    let left: Vec<PathBuf> = std::fs::read_dir(&asked).unwrap().map(|entry| entry.unwrap().path()).collect();
    let answer = server.post("/moot/v1/ask", &question());
    let logged = noted("was not written: ");
    assert!(refused.status == 500 && refused.error().contains("cannot write"), "{}", refused.body);
    assert_eq!(left, Vec::<PathBuf>::new());
    assert_eq!(answer.status, 200, "{}", answer.body);
    check_unrecorded("Answer", &answer.json(), "notes");
    assert!(logged.contains("asked"), "the log has the path: {logged}");
}
