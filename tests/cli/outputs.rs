//! Outputs of commands: never over their inputs, whole or not at all, and within limits of the system.

use super::program::{THREE, Workspace, moot, run, text};
use crate::eval::{answered, header};
use crate::llm::server::{Server, reply};
use moot::eval::record::Writer;
use moot::eval::record::reader::Record;
use std::fs;
use std::path::Path;
use std::process::Output;
#[cfg(unix)]
use std::process::{Command, Stdio};

/// A record of one question at `path`.
fn record(path: &Path) {
    let mut writer = Writer::open(path, &header()).unwrap();
    writer.append(&answered("q0", &["yes"], &["no"], &["yes"])).unwrap();
}

/// A command in the folder of `workspace`, without a model: it refuses before it looks for one.
fn typed_in(workspace: &Workspace, typed: &str) -> Output {
    let mut command = moot(typed.split(' '));
    command.current_dir(workspace.path("")).env("MOOT_CACHE", workspace.path("cache")).env("MOOT_OFFLINE", "1");
    command.output().unwrap()
}

/// Names and contents of the files in the folder of `workspace`.
fn files(workspace: &Workspace) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(workspace.path("")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        all.push((name, fs::read(&path).unwrap_or_default()));
    }
    all.sort();
    all
}

#[test]
fn no_output_is_an_input_or_another_output() {
    let workspace = Workspace::new();
    for folder in ["corpus", "sub"] {
        fs::create_dir(workspace.path(folder)).unwrap();
    }
    for name in ["q.jsonl", "corpus/a.csv", "docs.csv"] {
        fs::copy(THREE, workspace.path(name)).unwrap();
    }
    fs::hard_link(workspace.path("q.jsonl"), workspace.path("hard.jsonl")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("q.jsonl", workspace.path("soft.jsonl")).unwrap();
    record(&workspace.path("r.jsonl"));
    for name in ["w.json", "v.json"] {
        fs::write(workspace.path(name), "{}").unwrap();
    }
    let before = files(&workspace);
    let read = "expected a file that the command does not read";
    let another = "expected another file than that of -o";
    let mut refused = vec![
        ("run q.jsonl --answers q.jsonl", read),
        ("run q.jsonl --answers ./sub/../q.jsonl", read),
        ("run q.jsonl --answers z.jsonl -o z.jsonl", another),
        ("run q.jsonl --answers sub/../z.jsonl -o z.jsonl", another),
        ("run q.jsonl -o z.jsonl --answers docs.csv --corpus docs.csv", read),
        ("run q.jsonl -o z.jsonl --answers docs.csv --corpus docs*.csv", read),
        ("run q.jsonl -o z.jsonl --answers corpus/a.csv --corpus corpus", read),
        ("run q.jsonl -o z.jsonl --answers r.jsonl --reuse r.jsonl", read),
        ("conflict --record r.jsonl -o r.jsonl", read),
        ("conflict --record r.jsonl 1 -o q.jsonl --docs q.jsonl:2", read),
        ("report r.jsonl -o r.jsonl", read),
        ("sources estimate r.jsonl -o r.jsonl", read),
        ("sources merge w.json v.json -o w.json", read),
        // These take no file that is there.
        ("run q.jsonl -o q.jsonl", read),
        ("merge r.jsonl -o r.jsonl", "exists already"),
        ("replay r.jsonl -o r.jsonl", "exists already"),
        ("fork r.jsonl 1 --drop 1 -o r.jsonl", "exists already"),
        ("slices q.jsonl --kind imbalance -o q.jsonl", "exists already"),
    ];
    if cfg!(unix) {
        refused.extend([("run q.jsonl --answers hard.jsonl", read), ("run q.jsonl --answers soft.jsonl", read)]);
    }
    for (typed, why) in refused {
        let output = typed_in(&workspace, typed);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(why), "{typed}: {said}");
        assert!(said.lines().count() <= 2, "one line and a hint: {typed}: {said}");
        assert_eq!(files(&workspace), before, "{typed}");
    }
}

#[test]
fn files_with_names_of_unfinished_ones_are_left_alone() {
    let workspace = Workspace::new();
    record(&workspace.path("r.jsonl"));
    let mine = ["y.part", "y.html.part", "y.csv.part", "y.new", "building-w.json", "w.json.part", "m.jsonl.part"];
    for name in mine {
        fs::write(workspace.path(name), "mine").unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("y.part", workspace.path("z.html.part")).unwrap();
    for typed in ["report r.jsonl -o y.html", "report r.jsonl -o z.html", "merge r.jsonl -o m.jsonl"] {
        let output = typed_in(&workspace, typed);
        assert!(output.status.success(), "{typed}: {}", text(&output.stderr));
    }
    fs::copy(THREE, workspace.path("set.jsonl")).unwrap();
    run(workspace.moot(["run", "set.jsonl", "--answers", "y.csv", "--limit", "1"]));
    for name in mine {
        assert_eq!(fs::read_to_string(workspace.path(name)).unwrap(), "mine", "{name}");
    }
    assert!(fs::read_to_string(workspace.path("y.csv")).unwrap().starts_with("id,question"));
    assert!(!files(&workspace).iter().any(|(name, _)| name.starts_with(".moot-")), "nothing unfinished is left");
}

#[test]
fn one_method_writes_into_a_folder_as_several_do() {
    let workspace = Workspace::new();
    fs::copy(THREE, workspace.path("set.jsonl")).unwrap();
    fs::create_dir(workspace.path("there")).unwrap();
    for folder in ["new/", "there"] {
        let mut command = moot(["run", "set.jsonl", "-o", folder, "--limit", "1", "--answers", "a.csv"]);
        command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
        command.args(["--method", "closed-book", "--model", "tiny.gguf", "--offline", "--kv-memory", "64M"]);
        let said = text(&run(command).stderr);
        let path = workspace.path(folder).join("closed-book.tiny.jsonl");
        assert_eq!(Record::read(&path).unwrap().questions.len(), 1, "{said}");
    }
    assert!(workspace.path("a.csv").exists());
}

/// The program after `limit`, a line of the shell's.
#[cfg(unix)]
fn limited(workspace: &Workspace, limit: &str, typed: &str) -> Output {
    let line = format!("{limit}; exec \"$0\" {typed}");
    let mut command = Command::new("sh");
    command.args(["-c", &line, env!("CARGO_BIN_EXE_moot")]).current_dir(workspace.path(""));
    command.env("MOOT_CACHE", workspace.path("")).env("MOOT_OFFLINE", "1");
    command.stdin(Stdio::null()).output().unwrap()
}

/// A note or an error that cannot be written is lost, and nothing else.
#[cfg(target_os = "linux")]
#[test]
fn standard_error_on_a_full_disk_ends_no_work() {
    let workspace = Workspace::new();
    fs::copy(THREE, workspace.path("set.jsonl")).unwrap();
    let run = "run set.jsonl -o out.jsonl --model tiny.gguf --kv-memory 64M --max-tokens 8 2>/dev/full";
    assert_eq!(limited(&workspace, "true", run).status.code(), Some(0));
    assert_eq!(Record::read(&workspace.path("out.jsonl")).unwrap().questions.len(), 3);
    for (typed, code) in [("score nowhere.jsonl 2>/dev/full", 1), ("aks 2>/dev/full", 2)] {
        assert_eq!(limited(&workspace, "true", typed).status.code(), Some(code), "{typed}");
    }
}

#[cfg(unix)]
#[test]
fn a_limit_of_the_file_size_is_one_line() {
    let workspace = Workspace::new();
    fs::write(workspace.path("set.jsonl"), fs::read_to_string(THREE).unwrap().repeat(4)).unwrap();
    let typed = "run set.jsonl -o out.jsonl --model tiny.gguf --kv-memory 64M --max-tokens 8";
    let output = limited(&workspace, "ulimit -f 16", typed);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("out.jsonl: cannot write: "), "{said}");
    // Whole lines are kept, and the run continues without the limit.
    assert!(!Record::read(&workspace.path("out.jsonl")).unwrap().torn);
    assert!(limited(&workspace, "true", typed).status.success());
    assert_eq!(Record::read(&workspace.path("out.jsonl")).unwrap().questions.len(), 12);
    // A page is whole or not there.
    let output = limited(&workspace, "ulimit -f 8", "report out.jsonl -o page.html");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("page.html: cannot write: "), "{}", text(&output.stderr));
    assert!(!files(&workspace).iter().any(|(name, _)| name.starts_with(".moot-") || name == "page.html"));
}

/// The stack that is asked for is larger than the address space, so no thread can be started.
#[cfg(unix)]
#[test]
fn without_threads_there_is_one_line() {
    let workspace = Workspace::new();
    record(&workspace.path("r.jsonl"));
    let output = limited(&workspace, "export RUST_MIN_STACK=140737488355328", "report r.jsonl -o y.html");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: cannot start a thread: "), "{said}");
    assert_eq!(said.lines().count(), 2, "{said}");
}

/// As many threads as the address space has room for stacks: from none at all to enough.
#[cfg(unix)]
#[test]
fn with_few_threads_there_is_one_line_or_a_result() {
    let place = Workspace::new();
    fs::write(place.path("a.pdf"), include_bytes!("../golden/pdf/text.pdf")).unwrap();
    let calls = r#"{"question":"q","stage":0,"messages":[{"role":"user","content":"Who?"}],"completion_tokens":2}"#;
    fs::write(place.path("calls.jsonl"), format!("{calls}\n{}\n", calls.replace("\"q\"", "\"r\""))).unwrap();
    let bench = "lab bench --calls calls.jsonl --in-flight 4 --model tiny.gguf --kv-memory 64M --threads 1";
    let nowhere = "HF_ENDPOINT=http://127.0.0.1:9 PIP_INDEX_URL=http://127.0.0.1:9/simple";
    let mut ended_well = [0; 4];
    for gibibytes in (3..=17).step_by(2) {
        let limit =
            format!("ulimit -v {}; export RUST_MIN_STACK=2147483648 {nowhere}; unset MOOT_OFFLINE", gibibytes << 20);
        let index = format!("index build a.pdf -o index{gibibytes} --embedder none");
        for (command, typed) in [index.as_str(), bench, "doctor", "models pull hf:no/model"].into_iter().enumerate() {
            let output = limited(&place, &limit, typed);
            let said = text(&output.stderr);
            assert!(
                !said.contains("panicked") && output.status.code() != Some(101),
                "{typed}, {gibibytes} GiB: {said}"
            );
            ended_well[command] += usize::from(output.status.success());
        }
    }
    // The model is nowhere.
    assert!(ended_well[..3].iter().all(|count| *count > 0) && ended_well[3] == 0, "{ended_well:?}");
}

/// The thread that cannot start may be the one that looks up the server's address.
#[cfg(unix)]
#[test]
fn a_server_is_asked_with_few_threads() {
    let server = Server::start(|_, _, stream| reply(stream, "Answer: 1931. Explanation: It says so."));
    let place = Workspace::new();
    fs::write(place.path("a.txt"), "The bridge opened in 1931.").unwrap();
    let typed = format!("ask When? --docs a.txt --method majority-vote --free-form --model {}", server.base);
    let mut ended_well = 0;
    for gibibytes in (3..=19).step_by(2) {
        let limit = format!("ulimit -v {}; export RUST_MIN_STACK=2147483648 RAYON_NUM_THREADS=1", gibibytes << 20);
        let output = limited(&place, &limit, &typed);
        let said = text(&output.stderr);
        assert!(!said.contains("panicked") && output.status.code() != Some(101), "{gibibytes} GiB: {said}");
        ended_well += usize::from(output.status.success());
    }
    assert!(ended_well > 0, "the largest have room for all");
}

/// Memory of 4 GiB would not hold the list as values.
#[cfg(unix)]
#[test]
fn a_list_of_models_of_countless_values_is_refused_in_a_line() {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let part = "[],".repeat(1 << 20);
            // The reader leaves when it has enough.
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"data\":[");
            let _ = (0..40).try_for_each(|_| stream.write_all(part.as_bytes()));
        }
    });
    let place = Workspace::new();
    fs::write(place.path("a.txt"), "The bridge opened in 1931.").unwrap();
    let started = std::time::Instant::now();
    let typed = format!("ask When? --docs a.txt --model http://{address}/v1");
    let output = limited(&place, "ulimit -v 4194304", &typed);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the reply is longer than 8388608 bytes") && said.len() < 1000, "{said}");
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

/// A replay that was killed leaves nothing under the name that it was to have.
#[cfg(unix)]
#[test]
fn a_killed_replay_can_be_repeated() {
    let workspace = Workspace::new();
    run(workspace.run_of(20, "r.jsonl"));
    let mut command = moot(["record", "replay", "r.jsonl", "-o", "again.jsonl"]);
    let mut child = command.current_dir(workspace.path("")).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(30));
    child.kill().unwrap();
    child.wait().unwrap();
    let finished = workspace.path("again.jsonl").exists();
    let output = typed_in(&workspace, "replay r.jsonl -o again.jsonl");
    assert!(finished || output.status.success(), "{}", text(&output.stderr));
    assert_eq!(Record::read(&workspace.path("again.jsonl")).unwrap().questions.len(), 60);
}

#[test]
fn a_record_whose_header_was_forged_is_refused() {
    let workspace = Workspace::new();
    record(&workspace.path("r.jsonl"));
    let whole = fs::read_to_string(workspace.path("r.jsonl")).unwrap();
    let (first, rest) = whole.split_once('\n').unwrap();
    let forged = first.strip_suffix('}').unwrap();
    let model = r#""model":{"name":"qwen2.5-72b","sha256":"ff","architecture":"llama","context":8192}"#;
    fs::write(workspace.path("r.jsonl"), format!("{forged},{model}}}\n{rest}")).unwrap();
    for typed in ["verify r.jsonl --hashes", "score r.jsonl", "report r.jsonl -o y.html", "show r.jsonl"] {
        let output = typed_in(&workspace, typed);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{typed}: {said}");
        assert!(said.contains("r.jsonl:1: ") && said.contains("found `model` twice"), "{typed}: {said}");
    }
}
