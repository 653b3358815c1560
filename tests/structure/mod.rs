//! The order of the modules of `src`: each may use those before it, none after. Files do not use each other in a circle.

#[path = "../../models/tests/structure/circles.rs"]
mod circles;
mod pages;
mod writes;

use circles::circles;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The top modules, lowest first. A new one is added here; a cycle of modules has no order.
const ORDER: &[&str] = &[
    "units",
    "escape",
    "unicode",
    "dates",
    "cancel",
    "fault",
    "generation",
    "error",
    "files",
    "charset",
    "threads",
    "resolver",
    "gather",
    "jsonl",
    "sources",
    "question",
    "prompts",
    "transcript",
    "engine",
    "llm",
    "nli",
    "retrieval",
    "answers",
    "protocol",
    "methods",
    "assess",
    "contradictions",
    "eval",
    "report",
    "memory",
    "workspace",
    "doctor",
    "serve",
    "cli",
    "program",
];

/// Names that `lib.rs` re-exports, and the modules that they come from.
const NAMES: &[(&str, &str)] = &[
    ("Result", "error"),
    ("MootError", "error"),
    ("Plan", "workspace"),
    ("PlanOptions", "workspace"),
    ("Workspace", "workspace"),
    ("program", "program"),
    ("prompt_file", "prompts"),
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The names after `crate::` in a line of code: one, or several in braces; none in a comment.
fn named(line: &str) -> Vec<String> {
    let code = line.trim_start();
    if code.starts_with("//") {
        return Vec::new();
    }
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut names = Vec::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            Some(several) => {
                let several = several.split('}').next().unwrap_or_default();
                names.extend(several.split(',').map(|name| word(name.trim())).filter(|name| !name.is_empty()));
            }
            None => names.push(word(after)),
        }
    }
    names
}

/// `from/file.rs:12 uses it`, for every use that goes against the order; and the top modules that were found.
fn against_the_order(source: &Path) -> (Vec<String>, BTreeSet<String>) {
    let rank = |name: &str| {
        let module = NAMES.iter().find(|(known, _)| *known == name).map_or(name, |(_, module)| module);
        ORDER.iter().position(|known| *known == module)
    };
    let (mut paths, mut wrong, mut met) = (Vec::new(), Vec::new(), BTreeSet::new());
    files(source, &mut paths);
    for path in paths {
        let below = path.strip_prefix(source).unwrap();
        let first = below.components().next().unwrap().as_os_str().to_str().unwrap();
        let module = first.strip_suffix(".rs").unwrap_or(first);
        if ["lib", "main"].contains(&module) {
            continue;
        }
        met.insert(module.to_owned());
        for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            for name in named(line).into_iter().filter(|name| name != module) {
                if rank(&name).is_none_or(|used| rank(module).is_none_or(|own| used > own)) {
                    wrong.push(format!("{}:{} uses {name}", below.display(), number + 1));
                }
            }
        }
    }
    (wrong, met)
}

#[test]
fn no_module_uses_one_above_it() {
    let (wrong, met) = against_the_order(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(wrong.is_empty(), "against the order of tests/structure/mod.rs:\n{}", wrong.join("\n"));
    let order: BTreeSet<String> = ORDER.iter().map(|&module| module.to_owned()).collect();
    assert_eq!(met, order, "the modules on disk and in the order");
}

#[test]
fn a_use_against_the_order_is_found_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("units.rs", "use crate::error::Result;\n");
    write("error.rs", "use crate::units::readable;\n/// As [`crate::cli`] says.\n// use crate::cli;\n");
    write("llm/remote/request.rs", "fn f() {\n    let _: crate::eval::Record = crate::error::x();\n}\n");
    write(
        "engine/mod.rs",
        "use crate::{error, llm::Call, units};\npub use crate::Workspace;\nuse crate::nowhere::X;\n",
    );
    write("cli/mod.rs", "use crate::cli::run;\nuse crate::eval::{self, record};\nuse crate::Result;\n");
    let (mut wrong, _) = against_the_order(folder.path());
    wrong.sort();
    let want = [
        "engine/mod.rs:1 uses llm",
        "engine/mod.rs:2 uses Workspace",
        "engine/mod.rs:3 uses nowhere",
        "llm/remote/request.rs:2 uses eval",
        "units.rs:1 uses error",
    ];
    assert_eq!(wrong, want);
}

/// Paths that begin with `super::` are checked too, because they can leave the module.
#[test]
fn files_of_the_top_do_not_reach_their_neighbours_by_super() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    for module in ORDER {
        for path in [source.join(format!("{module}.rs")), source.join(module).join("mod.rs")] {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let uses =
                text.lines().filter(|line| line.starts_with("use super::") || line.starts_with("pub use super::"));
            found.extend(uses.map(|line| (line.to_owned(), path.clone())));
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn files_do_not_use_each_other_in_a_circle() {
    let found = circles(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(found.is_empty(), "{found:#?}");
}

/// A module with modules of its own is `mod.rs` in their folder: no file stands beside a folder of its name that has modules.
fn beside_their_folders(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    files(folder, &mut paths);
    paths.sort();
    let has_modules = |path: &PathBuf| {
        let mut found = Vec::new();
        let folder = path.with_extension("");
        if folder.is_dir() {
            files(&folder, &mut found);
        }
        !found.is_empty()
    };
    paths.into_iter().filter(has_modules).collect()
}

#[test]
fn a_module_with_modules_is_in_their_folder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["src", "tests", "examples", "benches", "fuzz", "kernels", "models", "python"];
    let found: Vec<PathBuf> = folders.iter().flat_map(|folder| beside_their_folders(&root.join(folder))).collect();
    assert!(found.is_empty(), "expected a mod.rs (of a test, main.rs) in the folder of this name: {found:?}");
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.rs", "a/b.rs", "c.rs", "c/page.html", "d/mod.rs", "d/e.rs"] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    assert_eq!(beside_their_folders(folder.path()), [folder.path().join("a.rs")]);
}

/// The examples of faces need no module but `workspace`, which has all that a face fills and receives.
#[test]
fn the_examples_of_faces_use_the_workspace_alone() {
    for (name, used) in [("face", &["Result", "workspace"][..]), ("claims", &["MootError", "Result", "workspace"])] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.rs"));
        let text = fs::read_to_string(path).unwrap();
        let word = |path: &str| path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        let found: BTreeSet<String> = text.split("moot::").skip(1).map(word).collect();
        assert_eq!(found, used.iter().map(|&name| name.to_owned()).collect(), "{name}");
        assert!(text.lines().count() <= 60, "{name}: {} lines: expected at most 60", text.lines().count());
    }
}

/// Modules of `cli` that its subcommands share.
const SHARED: &[&str] = &["advice", "args", "choice", "claims", "debate", "records", "report_page", "terminal"];

/// The modules of a folder: its files and folders, `mod.rs` apart.
fn children(folder: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let names = names.filter(|path| path.is_dir() || path.extension().is_some_and(|ending| ending == "rs"));
    let names = names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    names.filter(|name| name != "mod").collect()
}

/// `ask.rs:12 uses run`, for every use of one module of `folder`, the top module `top`, by a file of another. `mod.rs` may use all,
/// and all may use those of `shared`.
fn uses_of_neighbours(folder: &Path, top: &str, shared: &[&str]) -> Vec<String> {
    let (mut paths, mut wrong) = (Vec::new(), Vec::new());
    files(folder, &mut paths);
    paths.sort();
    let (modules, path_of_top) = (children(folder), format!("crate::{top}::"));
    for path in paths.into_iter().filter(|path| *path != folder.join("mod.rs")) {
        let below = path.strip_prefix(folder).unwrap();
        let first = below.components().next().unwrap().as_os_str().to_str().unwrap();
        let own = first.strip_suffix(".rs").unwrap_or(first);
        // In a file of the folder, and in the `mod.rs` of a folder there, `super` is the top module.
        let depth = below.components().count();
        let is_child = depth == 1 || depth == 2 && below.ends_with("mod.rs");
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let line = if is_child { line.replace("super::", &path_of_top) } else { line.to_owned() };
            let line = line.split(&path_of_top).skip(1).map(|after| format!("crate::{after}")).collect::<String>();
            let others = named(&line).into_iter().filter(|name| name != own && modules.contains(name));
            let others = others.filter(|name| !shared.contains(&name.as_str()));
            wrong.extend(others.map(|name| format!("{}:{} uses {name}", below.display(), number + 1)));
        }
    }
    wrong
}

#[test]
fn no_subcommand_uses_another() {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli");
    let wrong = uses_of_neighbours(&cli, "cli", SHARED);
    assert!(wrong.is_empty(), "what subcommands share goes to a module of SHARED:\n{}", wrong.join("\n"));
    for name in SHARED {
        assert!(cli.join(format!("{name}.rs")).exists() || cli.join(name).is_dir(), "SHARED: {name} is gone");
    }
}

/// Code that methods share belongs to `protocol`.
#[test]
fn no_method_uses_another() {
    let methods = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/methods");
    let wrong = uses_of_neighbours(&methods, "methods", &[]);
    assert!(wrong.is_empty(), "what methods share goes to src/protocol:\n{}", wrong.join("\n"));
}

#[test]
fn a_use_of_a_neighbour_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("mod.rs", "use crate::cli::ask;\n");
    write(
        "ask.rs",
        "use crate::cli::args::values;\nuse crate::cli::run::Args;\nuse crate::eval::run;\nuse super::show::row;\n",
    );
    write("run/mod.rs", "use crate::cli::run::dry;\nuse crate::cli::{ask, terminal};\n/// As [`crate::cli::show`].\n");
    write("run/dry.rs", "use super::ask;\n");
    for name in ["args.rs", "terminal.rs", "show.rs"] {
        write(name, "");
    }
    let found = uses_of_neighbours(folder.path(), "cli", &["args", "terminal"]);
    assert_eq!(found, ["ask.rs:2 uses run", "ask.rs:4 uses show", "run/mod.rs:2 uses ask"]);
}
