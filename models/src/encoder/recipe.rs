//! How an encoder's texts are prepared and its output pooled, as a sentence-transformers folder describes it.

use super::family;
use super::pooling::{MASKS, Pooling, Prefixes};
use crate::arch::Config;
use crate::error::{ModelError, Result, shortened};
use crate::source::EncoderEntry;
use crate::weights::Metadata;
use serde::Deserialize;
use std::path::Path;

/// Pooling of an encoder's output, and preparation of its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// How tokens become one vector.
    pub pooling: Pooling,
    /// Whether vectors are normalised to length 1. Models without it are trained for the dot product.
    pub normalise: bool,
    /// Prefixes of queries and passages.
    pub prefixes: Prefixes,
    /// Whether the folder or the catalog says so. Where neither does, prefixes are empty, which may be wrong.
    pub prefixes_known: bool,
    /// Tokens of a text at most, special ones included.
    pub limit: usize,
    /// Folders of the layers behind the pooling, in their order.
    pub dense: Vec<String>,
}

/// What `modules.json` says.
struct Modules {
    pooling: Pooling,
    dense: Vec<String>,
    normalise: bool,
}

#[derive(Deserialize)]
struct Module {
    #[serde(default)]
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

impl Recipe {
    /// The recipe of `folder`: its own files first, then what `known` says; `limit` is `TextSettings::limit`.
    ///
    /// # Errors
    /// A malformed file, a module or a pooling that is not supported, and a folder that does not state its pooling and has
    /// no row in the catalog: a guess would give wrong vectors without an error.
    pub fn of(folder: &Path, known: Option<&EncoderEntry>, limit: usize) -> Result<Self> {
        let own = modules(folder)?;
        let known_pooling = || {
            let known = known?;
            Some(Modules { pooling: known.pooling?, dense: Vec::new(), normalise: known.normalise })
        };
        let Modules { pooling, dense, normalise } =
            own.or_else(known_pooling).ok_or_else(|| ModelError::NotAModel {
                path: folder.to_owned(),
                expected:
                    "modules.json and 1_Pooling/config.json, as sentence-transformers write them, or the folder of an \
                       embedding model of the catalog, under its name"
                        .into(),
                found: "a model that does not say how its tokens become one vector".into(),
            })?;
        let prefixes = prompts(folder)?.or_else(|| known.map(EncoderEntry::prefixes));
        let prefixes_known = prefixes.is_some();
        Ok(Self { pooling, normalise, prefixes: prefixes.unwrap_or_default(), prefixes_known, limit, dense })
    }

    /// The recipe of a GGUF file: its pooling, and vectors of length 1 unless `known` says otherwise. Prefixes are `known`'s.
    ///
    /// # Errors
    /// A pooling that is absent or not supported.
    pub fn of_gguf(metadata: &Metadata, known: Option<&EncoderEntry>, limit: usize) -> Result<Self> {
        let pooling = family::gguf::pooling(metadata)?;
        let prefixes = known.map(EncoderEntry::prefixes);
        let (prefixes_known, normalise) = (prefixes.is_some(), known.is_none_or(|known| known.normalise));
        let (prefixes, dense) = (prefixes.unwrap_or_default(), Vec::new());
        Ok(Self { pooling, normalise, prefixes, prefixes_known, limit, dense })
    }

    /// One line for the user where something that changes vectors is not known.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let note = "no prefixes are known for queries and passages, so none are used; if the model's card asks for some, \
                    put them under \"prompts\" (\"query\", \"passage\") in its config_sentence_transformers.json";
        (!self.prefixes_known).then(|| note.to_owned())
    }

    /// One text's vector from those of its tokens, `[tokens, hidden]`, not normalised.
    #[must_use]
    pub fn pool(&self, tokens: &[f32], hidden: usize) -> Vec<f32> {
        let tokens = match self.pooling {
            Pooling::Mean => tokens,
            Pooling::Cls => &tokens[..hidden],
            Pooling::Last => &tokens[tokens.len() - hidden..],
            // In front of the closing token.
            Pooling::Masks => &tokens[tokens.len() - (MASKS + 1) * hidden..tokens.len() - hidden],
        };
        let mut vector = tokens[..hidden].to_vec();
        if tokens.len() > hidden {
            for row in tokens.chunks_exact(hidden).skip(1) {
                vector.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            }
            let count = (tokens.len() / hidden) as f32;
            vector.iter_mut().for_each(|x| *x /= count);
        }
        vector
    }

    /// Scales a vector to length 1 where the model does.
    pub fn normalise(&self, vector: &mut [f32]) {
        if self.normalise {
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            // As the reference: a vector of zeros stays one.
            vector.iter_mut().for_each(|x| *x /= length.max(1e-12));
        }
    }
}

/// Pooling, layers and normalisation that `modules.json` says; `None` without one.
fn modules(folder: &Path) -> Result<Option<Modules>> {
    let path = folder.join("modules.json");
    let Some(text) = read(&path)? else { return Ok(None) };
    let modules: Vec<Module> = serde_json::from_str(&text).map_err(|error| ModelError::Format {
        path: path.clone(),
        format: "modules.json",
        location: format!("line {}", error.line()),
        expected: "a list of modules with type and path".into(),
        found: shortened(&error.to_string()),
    })?;
    let (mut pooling, mut dense, mut normalise) = (None, Vec::new(), false);
    for (index, module) in modules.iter().enumerate() {
        match module.kind.rsplit('.').next().unwrap_or_default() {
            "Transformer" if index == 0 && module.path.is_empty() => {}
            "Pooling" if index == 1 => pooling = Some(pooling_of(folder, &module.path)?),
            "Dense" if index >= 2 && !normalise => dense.push(inner(folder, "Dense", &module.path)?.to_owned()),
            "Normalize" if index >= 2 && !normalise => normalise = true,
            _ => {
                return Err(ModelError::Field {
                    path,
                    field: format!("module {index}"),
                    expected: "Transformer at the folder itself, Pooling, and perhaps Dense and Normalize".into(),
                    found: shortened(&format!("{} at {:?}", module.kind, module.path)),
                });
            }
        }
    }
    pooling.map(|pooling| Some(Modules { pooling, dense, normalise })).ok_or_else(|| ModelError::Field {
        path,
        field: "module 1".into(),
        expected: "Pooling".into(),
        found: "none".into(),
    })
}

/// The path of a module, which must be a folder of `folder`.
fn inner<'a>(folder: &Path, kind: &str, module: &'a str) -> Result<&'a str> {
    let plain = !module.is_empty() && !module.contains(['/', '\\', ':']) && module != "..";
    if plain {
        return Ok(module);
    }
    Err(ModelError::Field {
        path: folder.join("modules.json"),
        field: format!("path of {kind}"),
        expected: "a folder of this one".into(),
        found: shortened(&format!("{module:?}")),
    })
}

fn pooling_of(folder: &Path, module: &str) -> Result<Pooling> {
    let module = inner(folder, "Pooling", module)?;
    let config = Config::open(&folder.join(module).join("config.json"))?;
    config.refuse("include_prompt", |value| value == true, "true")?;
    // Later versions write one word, earlier ones a switch for every mode.
    if let Some(mode) = config.optional_str("pooling_mode")? {
        return match mode {
            "mean" => Ok(Pooling::Mean),
            "cls" => Ok(Pooling::Cls),
            "lasttoken" => Ok(Pooling::Last),
            _ => Err(config.wrong("pooling_mode", "mean, cls or lasttoken")),
        };
    }
    for other in ["max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens"] {
        let expected = "false (mean, cls and lasttoken are built)";
        config.refuse(&format!("pooling_mode_{other}"), |value| value == false, expected)?;
    }
    let flag = |mode: &str| config.flag(&format!("pooling_mode_{mode}"));
    match (flag("mean_tokens")?, flag("cls_token")?, flag("lasttoken")?) {
        (true, false, false) => Ok(Pooling::Mean),
        (false, true, false) => Ok(Pooling::Cls),
        (false, false, true) => Ok(Pooling::Last),
        _ => {
            let expected = "one of it, pooling_mode_cls_token and pooling_mode_lasttoken to be true";
            Err(config.wrong("pooling_mode_mean_tokens", expected))
        }
    }
}

/// The prompts of `config_sentence_transformers.json`; `None` where it has none.
fn prompts(folder: &Path) -> Result<Option<Prefixes>> {
    let path = folder.join("config_sentence_transformers.json");
    if !path.exists() {
        return Ok(None);
    }
    let config = Config::open(&path)?;
    let Some(prompts) = config.section("prompts")? else { return Ok(None) };
    let default = match config.optional_str("default_prompt_name")? {
        Some(name) => prompts.str(name)?.to_owned(),
        None => String::new(),
    };
    let first = |names: &[&str]| -> Result<Option<String>> {
        for name in names {
            if let Some(text) = prompts.optional_str(name)? {
                return Ok(Some(text.to_owned()));
            }
        }
        Ok(None)
    };
    let (query, passage) = (first(&["query"])?, first(&["passage", "document", "corpus"])?);
    // Newer versions write empty prompts into every model, so they state nothing.
    if default.is_empty() && query.as_deref().unwrap_or("").is_empty() && passage.as_deref().unwrap_or("").is_empty() {
        return Ok(None);
    }
    Ok(Some(Prefixes { query: query.unwrap_or_else(|| default.clone()), passage: passage.unwrap_or(default) }))
}

/// The text of `path`; `None` where there is no such file.
fn read(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ModelError::Io { path: path.to_owned(), action: "read", source }),
    }
}
