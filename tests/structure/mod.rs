//! The order of the modules of `src`: each may use those before it, none after. Files do not use each other in a circle.

#[path = "../../models/tests/structure/circles.rs"]
mod circles;
mod pages;
mod used;
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

/// The names after `crate::` in a source file, each with its line.
fn named(source: &str) -> BTreeSet<(usize, String)> {
    let paths = used::paths(source).into_iter().filter(|path| path[0].0 == "crate");
    paths.filter_map(|path| path.into_iter().nth(1)).map(|(name, line)| (line, name)).collect()
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
        for (line, name) in named(&fs::read_to_string(&path).unwrap()).into_iter().filter(|(_, name)| name != module) {
            if rank(&name).is_none_or(|used| rank(module).is_none_or(|own| used > own)) {
                wrong.push(format!("{}:{line} uses {name}", below.display()));
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
    write("eval/mod.rs", "use crate::{\n    cli::x,\n    error::{self, Y},\n};\n");
    let (mut wrong, _) = against_the_order(folder.path());
    wrong.sort();
    let want = [
        "engine/mod.rs:1 uses llm",
        "engine/mod.rs:2 uses Workspace",
        "engine/mod.rs:3 uses nowhere",
        "eval/mod.rs:2 uses cli",
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
    let modules = children(folder);
    for path in paths.into_iter().filter(|path| *path != folder.join("mod.rs")) {
        let below = path.strip_prefix(folder).unwrap();
        let first = below.components().next().unwrap().as_os_str().to_str().unwrap();
        let own = first.strip_suffix(".rs").unwrap_or(first);
        // So many times `super` is the top module; in an inline module once more.
        let depth = below.components().count() - usize::from(below.ends_with("mod.rs"));
        let after_top = |path: Vec<used::Name>| {
            let supers = path.iter().take_while(|(name, _)| name == "super").count();
            let of_top = path[0].0 == "crate" && path.get(1).is_some_and(|(name, _)| name == top);
            let begins = if of_top { Some(2) } else { Some(supers).filter(|&supers| supers >= depth) };
            path.into_iter().nth(begins?)
        };
        let others: BTreeSet<(usize, String)> = used::paths(&fs::read_to_string(&path).unwrap())
            .into_iter()
            .filter_map(after_top)
            .filter(|(name, _)| name != own && modules.contains(name) && !shared.contains(&name.as_str()))
            .map(|(name, line)| (line, name))
            .collect();
        wrong.extend(others.into_iter().map(|(line, name)| format!("{}:{line} uses {name}", below.display())));
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
    write(
        "run/dry.rs",
        "use super::ask;\nuse crate::{\n  cli::{\n    args,\n    show::row,\n  },\n};\nuse super::super::ask;\n",
    );
    for name in ["args.rs", "terminal.rs", "show.rs"] {
        write(name, "");
    }
    let found = uses_of_neighbours(folder.path(), "cli", &["args", "terminal"]);
    let want = [
        "ask.rs:2 uses run",
        "ask.rs:4 uses show",
        "run/dry.rs:5 uses show",
        "run/dry.rs:8 uses ask",
        "run/mod.rs:2 uses ask",
    ];
    assert_eq!(found, want);
}
