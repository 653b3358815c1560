//! Weights and text in; logits out. Knows nothing of questions or requests.
//!
//! [`Model::open`] loads a file or a folder, [`source::locate`] finds one by a name of the catalog. Random weights in any
//! shape need neither:
//!
//! ```
//! use moot_models::arch::{Config, spec_of_config};
//! use moot_models::tokenizer::{Message, Role, Thinking};
//! use moot_models::weights::{RandomOptions, type_named};
//! use moot_models::{LoadOptions, Model};
//! use std::path::Path;
//!
//! let config = br#"{"model_type": "llama", "vocab_size": 300, "hidden_size": 64, "num_hidden_layers": 2,
//!     "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 64, "rms_norm_eps": 1e-5}"#;
//! let spec = spec_of_config(&Config::parse(Path::new("config.json"), config)?)?;
//! let random = RandomOptions { seed: 1, storage: type_named("Q8_0").unwrap() };
//! let model = Model::random(&spec, random, &LoadOptions::default())?;
//!
//! let prompt = model.prompt(&[Message::new(Role::User, "When?")], Thinking::Off)?;
//! let logits = model.decoder.forward_alone(&prompt)?;
//! assert_eq!((logits.len(), logits[0].len()), (prompt.len(), 300));
//! # Ok::<(), moot_models::ModelError>(())
//! ```

pub mod arch;
mod batch;
mod decoder;
pub mod encoder;
pub mod error;
mod kv;
mod layers;
pub mod memory;
mod model;
pub mod source;
mod spec;
mod stand_in;
pub mod tokenizer;
pub mod weights;

pub use batch::Batch;
pub use candle_core::{DType, Device};
pub use decoder::{Decoder, LinearWeights, LoadOptions, Recipe, ReplayCounts, Replays, Residency};
pub use error::{ModelError, Result};
pub use kv::{KvCache, PageGroups};
pub use layers::FeedForwards;
pub use model::Model;
pub use moot_kernels as kernels;
pub use moot_kernels::{PAGE, SequenceRows, StateRows};
pub use spec::{
    Bias, ContextLimit, DecoderSpec, DenseLayers, ExpertTensors, Experts, Heads, LayerInputs, LayerKind, Layout,
    NormNames, NormWeights, Norms, Output, Projections, QkNorm, QkRows, QueryScaling, Recurrence, Rope, RopeScaling,
    Rotation, Scoring, Values, WindowHeads,
};
