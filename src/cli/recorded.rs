//! A recorded run opened again: its record, its method, its model, and tools for what the record does not hold.

use crate::cli::fetching::tell;
use crate::cli::interrupt::Interrupt;
use crate::cli::method::Resolved;
use crate::cli::tooling::{ClassifierArgs, Tooling};
use crate::cli::{model, retrieve};
use crate::error::{MootError, Result};
use crate::eval::fork;
use crate::eval::record::reader::Record;
use crate::llm::Llm;
use crate::protocol::Built;
use crate::sources::SourceWeights;
use std::path::{Path, PathBuf};

/// What the recorded run had, where it is needed again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The weights of sources that its votes carried
    #[arg(long, value_name = "FILE")]
    pub source_weights: Option<PathBuf>,
    /// The corpus that it searched, for searches that are not in the record.
    #[command(flatten)]
    pub retrieve: retrieve::Args,
    /// What classified pairs, for pairs that are not in the record.
    #[command(flatten)]
    pub classifier: ClassifierArgs,
    /// The record's model, if it is now under another name or path
    #[arg(short, long, help_heading = "Model")]
    pub model: Option<String>,
    /// Runtime arguments.
    #[command(flatten)]
    pub runtime: model::Runtime,
}

/// A record with its model.
pub(super) struct Recorded {
    pub(super) record: Record,
    /// The last hash of its file.
    pub(super) chain: String,
    pub(super) tooling: Tooling,
}

impl Recorded {
    /// Reads the record at `path`: everything that can be wrong before its model is opened.
    ///
    /// # Errors
    /// A record that cannot be read, or that was altered.
    pub(super) fn read(path: &Path) -> Result<(Record, String)> {
        let (record, ledger) = Record::read_whole(path)?;
        ledger.check(path)?;
        Ok((record, ledger.chain))
    }

    /// Opens the record's model, and what else is typed.
    ///
    /// # Errors
    /// A method that this program does not have; other source weights, or another model, than recorded; a model that cannot be
    /// opened.
    pub(super) fn open(record: Record, chain: String, args: &Args, interrupt: &Interrupt) -> Result<Self> {
        let header = &record.header;
        let resolved = Resolved {
            method: fork::method_of(&record)?,
            settings: header.settings.clone(),
            weights: weights(args, &record)?,
        };
        for file in fork::other_files(header, &resolved.method) {
            tell(&format!("note: {file} is another file than was recorded: calls that use it are computed anew"));
        }
        let roles = resolved.method.roles();
        let named = || roles.iter().map(|role| format!("{role}={}", header.model_of(role).name));
        let one = roles.iter().all(|role| header.model_of(role) == &header.model);
        let recorded = || if one { header.model.name.clone() } else { named().collect::<Vec<_>>().join(",") };
        let model = args.model.clone().unwrap_or_else(recorded);
        let model = model::Args { model, runtime: args.runtime.clone() };
        let tooling = Tooling::open_again(&model, &args.retrieve, &args.classifier, &[&resolved], interrupt)?;
        for role in &roles {
            same_model(&record, role, &tooling)?;
        }
        Ok(Self { record, chain, tooling })
    }

    /// The record's method, built anew.
    ///
    /// # Errors
    /// As [`fork::method_of`].
    pub(super) fn method(&self) -> Result<Built> {
        fork::method_of(&self.record)
    }
}

/// The source weights, which must be those of the record.
fn weights(args: &Args, record: &Record) -> Result<Option<(SourceWeights, crate::sources::WeightsIdentity)>> {
    let typed = args.source_weights.as_deref().map(SourceWeights::read).transpose()?;
    let found = typed.as_ref().map(|(_, identity)| identity.sha256.as_str());
    let recorded = record.header.weights.as_ref().map(|identity| identity.sha256.as_str());
    if found == recorded {
        return Ok(typed);
    }
    let told = |hash: Option<&str>| hash.map_or("none".to_owned(), |hash| format!("SHA-256 {hash}"));
    Err(MootError::Usage(format!(
        "--source-weights: expected those of the record ({}), found {}",
        told(recorded),
        told(found)
    )))
}

/// A debate that goes on must not mix the replies of two models.
fn same_model(record: &Record, role: &str, tooling: &Tooling) -> Result<()> {
    let (then, now) = (record.header.model_of(role), tooling.llm.identity_of(role));
    let same = if then.sha256.is_empty() { then.name == now.name } else { then.sha256 == now.sha256 };
    if !same {
        return Err(MootError::Input {
            path: record.path.clone(),
            line: Some(1),
            expected: format!("the model {} for the role {role}, which the record names", then.name),
            found: format!("{}, which has other weights", now.name),
        });
    }
    if then.recipe != now.recipe && !then.recipe.is_empty() {
        tell(&format!(
            "note: recorded by the recipe {:?}, this is {:?}: new replies may differ in their bits",
            then.recipe, now.recipe
        ));
    }
    Ok(())
}
