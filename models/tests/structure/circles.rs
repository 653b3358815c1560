//! Finds circles among the source files of a package.
//!
//! File A uses file B where a path in A (`crate::`, `super::`, `self::`, a child module, or an imported name) leads to a
//! module or an item of B. Re-exports are followed to the file that defines the item, so a `mod.rs` that only declares and
//! re-exports its children uses none of them. Comments, texts and inline test modules are not read.
//!
//! The tests of several packages include this file by `#[path]`.

pub(super) mod paths;

use paths::{Token, Use, paths, tokens};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Re-exports of re-exports that are followed.
const DEPTH: usize = 16;
/// Words before the name of an item.
const ITEMS: [&str; 8] = ["const", "enum", "fn", "static", "struct", "trait", "type", "union"];

/// The circles among the files below `source`, one line each: all files of the circle, then one round with line numbers.
pub(super) fn circles(source: &Path) -> Vec<String> {
    let package = Package::read(source);
    let edges = package.edges();
    let reached: Vec<BTreeSet<usize>> = (0..edges.len()).map(|file| reachable(&edges, file)).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for file in 0..edges.len() {
        let members: Vec<usize> = (0..edges.len())
            .filter(|&other| reached[file].contains(&other) && reached[other].contains(&file))
            .collect();
        if members.len() < 2 || !seen.insert(members.clone()) {
            continue;
        }
        let names: Vec<&str> = members.iter().map(|&member| package.files[member].name.as_str()).collect();
        let round = shortest_round(&edges, file);
        let steps = round.windows(2).map(|step| {
            let (line, path) = &edges[step[0]][&step[1]];
            format!("{}:{line} uses {path}", package.files[step[0]].name)
        });
        found.push(format!("{} files ({}): {}", names.len(), names.join(", "), steps.collect::<Vec<_>>().join("; ")));
    }
    found
}

/// For each file, the files that it uses, each with a line and the path there.
type Edges = Vec<BTreeMap<usize, (usize, String)>>;

fn reachable(edges: &Edges, from: usize) -> BTreeSet<usize> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(edges[file].keys().copied().filter(|&used| seen.insert(used)));
    }
    seen
}

/// The shortest way from `file` back to itself.
fn shortest_round(edges: &Edges, file: usize) -> Vec<usize> {
    let mut ways = std::collections::VecDeque::from([vec![file]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for &used in edges[way[way.len() - 1]].keys() {
            let longer = [way.as_slice(), &[used]].concat();
            if used == file {
                return longer;
            }
            if seen.insert(used) {
                ways.push_back(longer);
            }
        }
    }
    Vec::new()
}

/// One source file.
struct File {
    /// Relative to the source folder.
    name: String,
    /// Its module path.
    module: Vec<String>,
    uses: Vec<Use>,
    /// Every word of the file, with how often it occurs.
    words: BTreeMap<String, usize>,
    /// Names of the items that the file defines.
    items: BTreeSet<String>,
}

struct Package {
    files: Vec<File>,
    modules: BTreeMap<Vec<String>, usize>,
}

impl Package {
    fn read(source: &Path) -> Self {
        let mut paths = Vec::new();
        list(source, &mut paths);
        paths.sort();
        let files: Vec<File> = paths.iter().map(|path| File::read(source, path)).collect();
        let modules = files.iter().enumerate().map(|(index, file)| (file.module.clone(), index)).collect();
        Self { files, modules }
    }

    fn edges(&self) -> Edges {
        self.files.iter().enumerate().map(|(index, file)| self.used_by(index, file)).collect()
    }

    fn used_by(&self, index: usize, file: &File) -> BTreeMap<usize, (usize, String)> {
        let mut used = BTreeMap::new();
        for one in &file.uses {
            for (path, target) in self.targets(file, one).into_iter().filter(|&(_, target)| target != index) {
                used.entry(target).or_insert_with(|| (one.line, path.join("::")));
            }
        }
        used
    }

    /// The files that one path of `file` leads to. Several for a glob: those of the names that occur in the file.
    fn targets(&self, file: &File, one: &Use) -> Vec<(Vec<String>, usize)> {
        let occurs = |name: &String, least: usize| file.words.get(name).is_some_and(|&count| count >= least);
        let child = self.is_module(&one.module, one.path.first());
        let resolved = |path: Vec<String>| Some((path.clone(), self.resolve(&one.module, &path, DEPTH)?));
        match one.alias.as_deref() {
            Some("*") if one.public && child => Vec::new(),
            Some("*") => {
                let names = file.words.keys().map(|name| [one.path.as_slice(), std::slice::from_ref(name)].concat());
                let found = names.filter_map(resolved);
                found.filter(|(path, target)| self.defines(*target, &path[path.len() - 1])).collect()
            }
            // A re-export of a child does not count as a use, unless the file itself names the item as well.
            Some(alias) if one.public && child && !occurs(&alias.to_owned(), 2) => Vec::new(),
            _ => resolved(one.path.clone()).into_iter().collect(),
        }
    }

    fn defines(&self, file: usize, name: &str) -> bool {
        self.files[file].items.contains(name)
    }

    fn is_module(&self, module: &[String], name: Option<&String>) -> bool {
        name.is_some_and(|name| self.modules.contains_key(&[module, std::slice::from_ref(name)].concat()))
    }

    /// The file that `path`, written in `module`, leads to. `None` for paths out of the package and for folders.
    fn resolve(&self, module: &[String], path: &[String], depth: usize) -> Option<usize> {
        let depth = depth.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(Vec::new(), rest, depth),
            "self" => self.walk(module.to_vec(), rest, depth),
            "super" => self.walk(module.split_last()?.1.to_vec(), rest, depth),
            _ if self.is_module(module, Some(first)) => self.walk(module.to_vec(), path, depth),
            _ => self.imported(module, first, rest, depth),
        }
    }

    /// Follows `path` down from `module`.
    fn walk(&self, mut module: Vec<String>, path: &[String], depth: usize) -> Option<usize> {
        let Some((first, rest)) = path.split_first() else {
            let file = self.file_of(&module)?;
            let folder = self.modules.keys().any(|other| other.len() > module.len() && other.starts_with(&module));
            return (!folder).then_some(file);
        };
        if first == "super" {
            module.pop()?;
            return self.walk(module, rest, depth);
        }
        if self.is_module(&module, Some(first)) {
            module.push(first.clone());
            return self.walk(module, rest, depth);
        }
        self.imported(&module, first, rest, depth).or_else(|| self.file_of(&module))
    }

    /// Follows a name that a `use` item of `module` brings in.
    fn imported(&self, module: &[String], name: &str, rest: &[String], depth: usize) -> Option<usize> {
        let file = &self.files[self.file_of(module)?];
        let here = || file.uses.iter().filter(|one| one.module == *module);
        let named = here().find(|one| one.alias.as_deref() == Some(name) && one.path.len() > 1);
        if let Some(item) = named {
            return self.resolve(module, &[item.path.as_slice(), rest].concat(), depth);
        }
        let globs = here().filter(|one| one.alias.as_deref() == Some("*"));
        let path = |glob: &Use| [glob.path.as_slice(), &[name.to_owned()]].concat();
        let mut found = globs.filter_map(|glob| self.resolve(module, &path(glob), depth));
        found.find(|&target| self.defines(target, name))
    }

    /// The file of a module, or that which an inline module stands in.
    fn file_of(&self, module: &[String]) -> Option<usize> {
        (0..=module.len()).rev().find_map(|length| self.modules.get(&module[..length]).copied())
    }
}

fn list(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

impl File {
    fn read(source: &Path, path: &Path) -> Self {
        let below = path.strip_prefix(source).unwrap();
        let mut module: Vec<String> =
            below.with_extension("").components().map(|part| part.as_os_str().to_str().unwrap().to_owned()).collect();
        if module.last().is_some_and(|last| last == "mod") || ["lib.rs", "main.rs"].map(Path::new).contains(&below) {
            module.pop();
        }
        let tokens = tokens(&fs::read_to_string(path).unwrap());
        let mut words = BTreeMap::new();
        for token in tokens.iter().filter(|token| token.is_word()) {
            *words.entry(token.text.clone()).or_insert(0) += 1;
        }
        let begins = |pair: &[Token]| ITEMS.contains(&pair[0].text.as_str());
        let items = tokens.windows(2).filter(|pair| begins(pair)).map(|pair| pair[1].text.clone()).collect();
        let uses = paths(&tokens, &module);
        Self { name: below.to_str().unwrap().replace('\\', "/"), module, uses, words, items }
    }
}
