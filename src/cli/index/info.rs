//! `moot index info`: describes an index.

use crate::cli::terminal::columns::table;
use crate::cli::terminal::output;
use crate::error::Result;
use crate::retrieval::index::{BuildEntry, Dense, Index};
use crate::units::readable;
use crate::workspace::Compared;
use serde::Serialize;
use std::path::PathBuf;

/// Describe an index: passages, corpora, embedder, types, sizes
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The index
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Read every file and compare it with its recorded hash
    #[arg(long)]
    pub verify: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Serialize)]
struct Info<'a> {
    path: &'a PathBuf,
    passages: u64,
    segments: usize,
    bytes: u64,
    vectors: Option<&'a Dense>,
    bm25: bool,
    /// Number of lists for approximate search; `None` if vectors are not clustered.
    lists: Option<usize>,
    grouped: u64,
    builds: &'a [BuildEntry],
    /// Files that differ from their records; `None` if they are not recorded, or not where they were.
    files: Option<Files>,
    /// Of an index without records: files of finished builds that were changed after it was written; `None` if they are not
    /// where they were.
    newer_files: Option<usize>,
    /// Why the index cannot be compared with its files.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_compared: Option<String>,
    verified: bool,
}

/// Numbers of files.
#[derive(Debug, Serialize)]
struct Files {
    all: usize,
    new: usize,
    changed: usize,
    deleted: usize,
}

/// Prints the description.
///
/// # Errors
/// A folder that is not an index, or a damaged one: the file is named.
pub(crate) fn run(args: &Args) -> Result<()> {
    let index = Index::open(&args.dir)?;
    let manifest = index.manifest();
    if args.verify {
        manifest.verify(&args.dir)?;
    }
    let (files, newer_files, not_compared) = match Compared::new(&args.dir, manifest) {
        Compared::Recorded(changes) => {
            let (new, changed, deleted) = (changes.new.len(), changes.changed.len(), changes.deleted.len());
            (Some(Files { all: changes.files(), new, changed, deleted }), None, None)
        }
        Compared::ByTime(newer) => (None, Some(newer), None),
        Compared::Unknown(why) => (None, None, Some(why)),
    };
    let info = Info {
        path: &args.dir,
        passages: manifest.passages(),
        segments: manifest.segments.len(),
        bytes: manifest.bytes(),
        vectors: manifest.dense.as_ref(),
        bm25: manifest.bm25,
        lists: manifest.clusters.as_ref().map(|clusters| clusters.lists),
        grouped: manifest.clusters.as_ref().map_or(0, |clusters| clusters.passages),
        builds: &manifest.builds,
        files,
        newer_files,
        not_compared,
        verified: args.verify,
    };
    if args.json { output::print_pretty_json(&info) } else { output::print_lines(&text(&info)) }
}

fn files(info: &Info<'_>) -> String {
    match info.newer_files {
        _ if info.files.is_some() => info.files.as_ref().map(recorded).unwrap_or_default(),
        None => format!("not compared: {}", info.not_compared.as_deref().unwrap_or_default()),
        Some(0) => "none changed after it was built".into(),
        Some(1) => "1 changed after it was built".into(),
        Some(count) => format!("{count} changed after it was built"),
    }
}

fn recorded(files: &Files) -> String {
    let Files { all, new, changed, deleted } = files;
    match new + changed + deleted {
        0 if *all == 0 => "none recorded".into(),
        0 => format!("{all}, none changed after it was built"),
        _ => format!("{all}, {new} new, {changed} changed, {deleted} deleted after it was built (moot index update)"),
    }
}

fn text(info: &Info<'_>) -> String {
    let mut rows = vec![
        vec!["index".into(), info.path.display().to_string()],
        vec![
            "passages".into(),
            format!("{} in {} segment{}", info.passages, info.segments, if info.segments == 1 { "" } else { "s" }),
        ],
    ];
    for build in info.builds {
        let state = if build.finished { "" } else { " (unfinished: run its command again to resume)" };
        rows.push(vec!["corpus".into(), format!("{}{state}", build.corpus.join(" "))]);
    }
    rows.push(vec!["files".into(), files(info)]);
    let vectors = match info.vectors {
        Some(dense) => format!("{} numbers in {} by {}", dense.dimension, dense.storage, dense.embedder),
        None => "none".into(),
    };
    rows.push(vec!["vectors".into(), vectors]);
    let search = match info.lists {
        Some(lists) => format!("approximate, {} passages in {lists} lists", info.grouped),
        None if info.vectors.is_some() => "exact".into(),
        None => "by words alone".into(),
    };
    rows.push(vec!["search".into(), search]);
    rows.push(vec!["size".into(), readable(info.bytes)]);
    if info.verified {
        rows.push(vec!["verified".into(), "every file is as it was finished".into()]);
    }
    table(&rows)
}
