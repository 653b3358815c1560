//! Random weights in a catalog shape, to measure time and memory.

use super::located::LocatedModel;
use super::memory_plan::kv_memory;
use super::options::Options;
use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::llm::local::Local;
use candle_core::quantized::GgmlDType;
use moot_models::arch::{self, Config};
use moot_models::source::{Catalog, Name};
use moot_models::weights::{RandomOptions, Weights, type_name};
use moot_models::{DecoderSpec, Model};
use std::path::Path;

/// Generates random weights in the shape of the catalog's model `name`, the same in every call, and starts an engine on
/// them. Matrices are stored as `storage`, or if that is `None` as most are in the catalog's file. The model's name
/// contains both.
///
/// # Errors
/// [`MootError::Usage`] if `name` is not in the catalog; not enough memory.
pub fn random(name: &str, storage: Option<GgmlDType>, options: &Options, cancel: Cancel) -> Result<Local> {
    let (spec, of_file) = shape(name)?;
    let storage = storage.unwrap_or(of_file);
    let weights = Weights::random(&spec, RandomOptions { seed: 0, storage });
    let name = format!("{name} (random {})", type_name(storage));
    let found = LocatedModel::of(&name, weights.path(), &weights, options)?;
    // Before a byte of them is made.
    let kv_memory = kv_memory(&found, options)?;
    found.start(Model::load(&weights, &found.load)?, kv_memory, options, cancel)
}

/// The shape of the catalog's model `name`, and how its file stores most weights.
fn shape(name: &str) -> Result<(DecoderSpec, GgmlDType)> {
    let Name::Alias(alias) = Name::parse(name)? else {
        let expected = "expected a short name of the catalog, whose shape they take";
        return Err(MootError::Usage(format!("--weights random with --model {name}: {expected}")));
    };
    let catalog = Catalog::embedded();
    let entry = catalog.find(&alias)?;
    // The path is for errors alone: the catalog is a part of the program.
    let config = Config::of(Path::new("models/catalog.toml"), entry.shape.config())?;
    Ok((arch::spec_of_config(&config)?, entry.storage()))
}
