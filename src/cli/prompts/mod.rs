//! `moot prompts`: lists the program's prompts, copies them out, and compares variants of one.

pub(crate) mod compare;

use crate::cli::terminal::columns::{pad, width};
use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::files::outputs::write_new;
use crate::methods::METHODS;
use crate::methods::replaceable;
use crate::prompts::File;
use crate::protocol::{Row, entailment};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  moot prompts list moot
  moot prompts export mine/ --method moot            then edit, and: moot ask ... --prompts mine/
  moot prompts compare ramdocs.jsonl -o out/ --role agent --variant short.jinja --rounds 1";

/// List the prompts, copy them to a folder, or compare variants of one on a dataset
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(ListArgs),
    Export(ExportArgs),
    Compare(Box<compare::Args>),
}

/// Print the names of the prompts, as `--prompts DIR` expects them, with the methods that use each
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Only those of this method
    #[arg(value_name = "METHOD")]
    method: Option<String>,
}

/// Copy the program's prompts to a folder, to edit them for `--prompts DIR`
#[derive(Debug, clap::Args)]
struct ExportArgs {
    /// The folder; files in it are never overwritten
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only the prompts of this method
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
}

/// Runs the subcommand.
///
/// # Errors
/// An unknown method, a folder that cannot be written, errors of a comparison.
pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::List(args) => output::print_lines(&list(&files(args.method.as_deref())?)),
        Command::Export(args) => export(&args.folder, &files(args.method.as_deref())?),
        Command::Compare(args) => compare::run(args),
    }
}

/// Prompts of one method, or all.
fn files(method: Option<&str>) -> Result<Vec<File>> {
    let row = method.map(Row::named).transpose()?;
    let used = |file: &File| row.is_none_or(|row| row.files().any(|other| other.name == file.name));
    Ok(replaceable().into_values().filter(used).collect())
}

fn list(files: &[File]) -> String {
    let row = |file: &File| {
        let uses = |row: &&&Row| row.files().any(|other| other.name == file.name);
        let mut methods: Vec<&str> = METHODS.iter().filter(uses).map(|row| row.name).collect();
        if methods.is_empty() && *file == entailment::PROMPT {
            methods.push("entailment without a classifier");
        }
        (file.name, methods.join(", "))
    };
    let rows: Vec<(&str, String)> = files.iter().map(row).collect();
    let column = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    rows.iter().map(|(name, methods)| format!("{}  {methods}\n", pad(name, column))).collect()
}

/// Writes each file below `folder`; nothing where one is there already.
fn export(folder: &Path, files: &[File]) -> Result<()> {
    if let Some(path) = files.iter().map(|file| folder.join(file.name)).find(|path| path.exists()) {
        let expected = "a file that is not there yet (choose another folder, or delete it)".to_owned();
        return Err(MootError::Input { path, line: None, expected, found: "one that is".into() });
    }
    for file in files {
        let path = folder.join(file.name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|e| MootError::io(parent, "create", e))?;
        write_new(&path, file.text.as_bytes())?;
    }
    output::print(&format!("{} prompts in {}\n", files.len(), folder.display()))
}
