//! Arguments of the method and its settings, shared by `ask` and `run`.

use crate::cli::columns::printable;
use crate::cli::fetching::tell;
use crate::cli::switches::Switches;
use crate::cli::values;
use crate::error::{MootError, Result};
use crate::eval::record::{DatasetIdentity, Header, VERSION};
use crate::generation::Sampling;
use crate::methods;
use crate::protocol::ctx::{Settings, Tools};
use crate::protocol::presets::Preset;
use crate::protocol::switches::Typed;
use crate::protocol::{Built, OwnPrompts, Row, entailment};
use crate::question::Document;
use crate::retrieval::Retriever;
use crate::sources::{SourceWeights, WeightsIdentity};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The method where neither a method nor a preset is typed.
const METHOD: &str = "madam-rag";

/// The arguments as typed.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Method")]
pub struct Args {
    /// Method that answers each question (moot methods lists them); madam-rag by default. `moot run` takes several, a,b
    #[arg(long, value_name = "NAME", conflicts_with = "preset")]
    pub method: Option<String>,
    /// A named setting of a method's switches (moot methods lists them). `moot run` takes several, a,b
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Its switches.
    #[command(flatten)]
    pub switches: Switches,
    /// A folder of your own prompts, named as by `moot prompts list`
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<PathBuf>,
    /// Votes of sources, as `moot sources estimate` wrote them
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub source_weights: Option<PathBuf>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = Settings::default().seed, value_parser = values::whole::<u64>, hide_short_help = true)]
    #[arg(allow_negative_numbers = true)]
    pub seed: u64,
    /// Maximum tokens of a reply
    #[arg(long, value_name = "N", default_value_t = Settings::default().max_tokens, value_parser = values::count, hide_short_help = true)]
    #[arg(allow_negative_numbers = true)]
    pub max_tokens: usize,
    /// Do not constrain replies to their format by a grammar
    #[arg(long, hide_short_help = true)]
    pub free_form: bool,
    /// Maximum tokens of thought before each reply, for models that can think; 0 turns thinking off
    #[arg(long, value_name = "N", default_value_t = Settings::default().think, value_parser = values::count_or_none, hide_short_help = true)]
    #[arg(allow_negative_numbers = true)]
    pub think: usize,
    /// Sample at this temperature instead of taking the likeliest token
    #[arg(long, value_name = "T", value_parser = values::number, allow_negative_numbers = true, hide_short_help = true)]
    pub temperature: Option<f32>,
    /// With --temperature: keep only the K likeliest tokens
    #[arg(
        long,
        value_name = "K",
        requires = "temperature",
        default_value_t = 0,
        hide_default_value = true,
        hide_short_help = true
    )]
    #[arg(value_parser = values::whole::<usize>, allow_negative_numbers = true)]
    pub top_k: usize,
    /// With --temperature: keep the likeliest tokens that together reach probability P
    #[arg(
        long,
        value_name = "P",
        requires = "temperature",
        default_value_t = 1.0,
        hide_default_value = true,
        hide_short_help = true
    )]
    #[arg(value_parser = values::number, allow_negative_numbers = true)]
    pub top_p: f32,
}

/// The resolved arguments.
pub struct Resolved {
    /// The method with its switches.
    pub method: Built,
    /// Settings of every method.
    pub settings: Settings,
    /// The weight of each source, and the file that it was read from.
    pub weights: Option<(SourceWeights, WeightsIdentity)>,
}

impl Args {
    /// Resolves the method, its switches, prompts and the settings.
    ///
    /// # Errors
    /// An unknown method or preset, a switch that the method does not have, a prompt that cannot be read, a number out of range.
    pub fn resolve(&self) -> Result<Resolved> {
        self.resolve_or(None)
    }

    /// As [`Args::resolve`]; where neither a method nor a preset is typed, `preset` counts.
    ///
    /// # Errors
    /// As [`Args::resolve`].
    pub fn resolve_or(&self, preset: Option<&str>) -> Result<Resolved> {
        let typed = self.switches.typed()?;
        let preset = self.preset.as_deref().or(preset.filter(|_| self.method.is_none()));
        let method = match preset {
            Some(name) => Preset::named(name)?.build(&typed)?,
            None => methods::build(self.method.as_deref().unwrap_or(METHOD), &typed)?,
        };
        self.with_settings(method.with_prompts(self.own_prompts()?)?)
    }

    /// The prompts of `--prompts`. Prints which of them never show the question or the documents.
    fn own_prompts(&self) -> Result<OwnPrompts> {
        let own = self
            .prompts
            .as_deref()
            .map(|dir| OwnPrompts::read(dir, &methods::replaceable()))
            .transpose()?
            .unwrap_or_default();
        for (name, missing) in own.leaving_out(&methods::replaceable()) {
            let missing: Vec<String> = missing.iter().map(|value| format!("{{{{ {value} }}}}")).collect();
            tell(&format!("note: your {name} has no {}, which the program's shows", missing.join(" and no ")));
        }
        Ok(own)
    }

    /// Every method, or every preset, that is named (`a,b`), each with its name. A switch, and a prompt of one's own, goes to
    /// the methods that have it.
    ///
    /// # Errors
    /// As [`Args::resolve`]; a method twice; a switch or a prompt that none of them has.
    pub fn resolve_all(&self) -> Result<Vec<(String, Resolved)>> {
        let (presets, names) = (self.preset.is_some(), self.preset.as_deref().or(self.method.as_deref()));
        let names: Vec<&str> = names.unwrap_or(METHOD).split(',').map(str::trim).collect();
        if names.len() == 1 {
            return Ok(vec![(names[0].to_owned(), self.resolve()?)]);
        }
        let typed = self.switches.typed()?;
        let prompts = self.own_prompts()?;
        let mut all: Vec<(String, Resolved)> = Vec::new();
        for name in &names {
            let preset = if presets { Some(Preset::named(name)?) } else { None };
            let row = Row::named(preset.map_or(name, |preset| preset.method))?;
            if all.iter().any(|(known, _)| known == name) {
                return Err(MootError::Usage(format!("{name} stands there twice: expected different methods")));
            }
            let has = |switch: &str| row.switches.iter().any(|row| row.name == switch);
            let own: Typed =
                typed.iter().filter(|(switch, _)| has(switch)).map(|(s, v)| (s.clone(), v.clone())).collect();
            let method = preset.map_or_else(|| row.build(&own), |preset| preset.build(&own))?;
            let used = if prompts.among(row.files()).is_empty() { OwnPrompts::default() } else { prompts.clone() };
            all.push(((*name).to_owned(), self.with_settings(method.with_prompts(used)?)?));
        }
        let unused =
            |switch: &&String| all.iter().all(|(_, r)| r.row().switches.iter().all(|row| row.name != **switch));
        if let Some(switch) = typed.keys().find(unused) {
            return Err(MootError::Usage(format!("none of {} has a switch {switch:?}", names.join(", "))));
        }
        if !prompts.is_empty() && all.iter().all(|(_, resolved)| resolved.method.prompts.is_empty()) {
            return Err(MootError::Usage(format!("none of {} uses one of the prompts given", names.join(", "))));
        }
        Ok(all)
    }

    /// The built method with the settings and weights that were typed.
    fn with_settings(&self, method: Built) -> Result<Resolved> {
        if self.max_tokens == 0 {
            return Err(MootError::Usage("--max-tokens 0: a reply needs at least one token".into()));
        }
        let settings = Settings {
            seed: self.seed,
            max_tokens: self.max_tokens,
            sampling: self.sampling()?,
            free_form: self.free_form,
            think: self.think,
        };
        let weights = self.source_weights.as_deref().map(SourceWeights::read).transpose()?;
        Ok(Resolved { method, settings, weights })
    }

    fn sampling(&self) -> Result<Sampling> {
        let Some(temperature) = self.temperature.filter(|&t| t != 0.0) else { return Ok(Sampling::Greedy) };
        if !(temperature > 0.0 && temperature.is_finite()) {
            return Err(MootError::Usage(format!("--temperature {temperature}: expected a number of at least 0")));
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return Err(MootError::Usage(format!("--top-p {}: expected a number above 0 and up to 1", self.top_p)));
        }
        Ok(Sampling::Seeded { temperature, top_k: self.top_k, top_p: self.top_p })
    }
}

impl Resolved {
    /// The method's row.
    #[must_use]
    pub fn row(&self) -> &'static Row {
        self.method.row
    }

    /// `recorded` with all that is known of this run's header before a model is.
    #[must_use]
    pub fn known(&self, recorded: &Header, dataset: &DatasetIdentity) -> Header {
        Header {
            dataset: Some(dataset.clone()),
            method: self.method.row.name.to_owned(),
            label: self.method.values.label().map(str::to_owned),
            switches: self.method.values.json(),
            settings: self.settings.clone(),
            prompts: self.method.hashes(),
            weights: self.weights.as_ref().map(|(_, identity)| identity.clone()),
            ..recorded.clone()
        }
    }

    /// One line where sources of these documents have no weight in the file that was given; `None` without documents.
    #[must_use]
    pub fn unknown_sources<'a>(&self, documents: impl IntoIterator<Item = &'a Document>) -> Option<String> {
        let (weights, identity) = self.weights.as_ref()?;
        let mut documents = documents.into_iter().peekable();
        documents.peek()?;
        let sources: BTreeSet<&str> = documents.filter_map(|document| document.source.as_deref()).collect();
        weights.unknown(&identity.name, &sources).map(|line| printable(&line))
    }

    /// The record's first line.
    #[must_use]
    pub fn header(&self, dataset: Option<DatasetIdentity>, tools: Tools<'_>) -> Header {
        let (row, llm) = (self.method.row, tools.llm);
        let entailment = row.needs.entails().then(|| entailment::ROLE.to_owned());
        let roles = self.method.roles().into_iter().chain(entailment);
        let mut roles: BTreeMap<_, _> = roles.map(|role| (role.clone(), llm.identity_of(&role).clone())).collect();
        // One model for everything needs no table of which role has which.
        roles.retain(|_, model| model != llm.identity());
        let retriever = tools.retriever.filter(|_| row.needs.searches());
        Header {
            moot_record: VERSION,
            program: concat!("moot ", env!("CARGO_PKG_VERSION")).to_owned(),
            dataset,
            method: row.name.to_owned(),
            label: self.method.values.label().map(str::to_owned),
            preset: self.method.preset.map(str::to_owned),
            switches: self.method.values.json(),
            settings: self.settings.clone(),
            model: llm.identity().clone(),
            roles,
            prompts: self.method.hashes(),
            own_prompts: self.method.prompts.among(row.files()),
            weights: self.weights.as_ref().map(|(_, identity)| identity.clone()),
            retriever: retriever.map(Retriever::identity),
            wanted: retriever.map(|_| self.method.method.wanted(tools.wanted.clone())),
            replayed: None,
            forked: None,
            reused: Vec::new(),
            embedder: tools.embedder.filter(|_| row.needs.embedder).map(|embedder| embedder.identity().to_owned()),
            classifier: tools
                .classifier
                .filter(|_| row.needs.entails())
                .map(|classifier| classifier.identity().clone()),
        }
    }
}
