//! A method with its settings and source weights, resolved from options.

use crate::error::{MootError, Result};
use crate::escape::line;
use crate::eval::record::{DatasetIdentity, Header, VERSION};
use crate::generation::Sampling;
use crate::llm::remote::Notice;
use crate::methods::{self, RUN};
use crate::protocol::ctx::{Settings, Tools};
use crate::protocol::presets::Preset;
use crate::protocol::switches::Typed;
use crate::protocol::{Built, OwnPrompts, Row, entailment};
use crate::question::Document;
use crate::retrieval::Retriever;
use crate::sources::{SourceWeights, WeightsIdentity};
use crate::workspace::options::MethodOptions;
use crate::workspace::ranges::{count, count_or_none};
use std::collections::{BTreeMap, BTreeSet};

/// A method with everything that its answers depend on but models, documents and tools.
pub struct MethodPlan {
    /// The method with its switches and prompts.
    pub method: Built,
    /// Settings of every method.
    pub settings: Settings,
    /// The weight of each source, and the file that it was read from.
    pub weights: Option<(SourceWeights, WeightsIdentity)>,
}

/// A method, and one of its presets.
#[derive(Clone, Copy)]
struct Choice {
    row: &'static Row,
    preset: Option<&'static Preset>,
}

impl Choice {
    /// One method, one preset, or both; `default` is the method where neither is named.
    fn of(method: Option<&str>, preset: Option<&str>, default: &str) -> Result<Self> {
        let (row, preset) = match (method, preset) {
            (None, Some(preset)) => methods::preset(preset).map(|(row, preset)| (row, Some(preset)))?,
            (method, preset) => {
                let row = Row::named(method.unwrap_or(default))?;
                (row, preset.map(|preset| row.preset(preset)).transpose()?)
            }
        };
        Ok(Self { row, preset })
    }

    /// Each method with each preset, of lists `a,b`, by the names of their records.
    fn all(methods: Option<&str>, presets: Option<&str>) -> Result<Vec<(String, Self)>> {
        let (mut all, presets) = (Vec::new(), parts(presets));
        for method in parts(methods) {
            for &preset in &presets {
                let name = match (method, preset) {
                    (Some(method), Some(preset)) => format!("{method}.{preset}"),
                    (Some(name), None) | (None, Some(name)) => name.to_owned(),
                    (None, None) => RUN.to_owned(),
                };
                all.push((name, Self::of(method, preset, RUN)?));
            }
        }
        Ok(all)
    }

    fn build(self, switches: &Typed) -> Result<Built> {
        match self.preset {
            Some(preset) => self.row.build_preset(preset, switches),
            None => self.row.build(switches),
        }
    }
}

/// The names of a list `a,b`; one `None` where there is no list.
fn parts(list: Option<&str>) -> Vec<Option<&str>> {
    list.map_or(vec![None], |list| list.split(',').map(|name| Some(name.trim())).collect())
}

impl MethodOptions {
    /// The one method that is named; where neither a method nor a preset is, `default`.
    ///
    /// # Errors
    /// An unknown method or preset, a switch that the method does not have, a prompt that cannot be read, a number out of
    /// range.
    pub fn resolve(&self, default: &str, notice: &Notice) -> Result<MethodPlan> {
        let choice = Choice::of(self.name.as_deref(), self.preset.as_deref(), default)?;
        self.with_settings(choice.build(&self.switches)?.with_prompts(self.own_prompts(notice)?)?)
    }

    /// `methods`, which the caller has built, with these settings and their names among the records of a run.
    ///
    /// # Errors
    /// Options that name or change a method; a number out of range.
    pub(super) fn resolve_built(&self, methods: Vec<Built>) -> Result<Vec<(String, MethodPlan)>> {
        let named = [
            ("--method", self.name.is_some()),
            ("--preset", self.preset.is_some()),
            ("--set", !self.switches.is_empty()),
            ("--prompts", self.prompts.is_some()),
        ];
        if let Some((option, _)) = named.iter().find(|(_, named)| *named) {
            return Err(MootError::Usage(format!("{option}: expected none with methods that are built already")));
        }
        let named = |method: Built| {
            let name = method.row.name;
            let name = method.preset.map_or_else(|| name.to_owned(), |preset| format!("{name}.{preset}"));
            Ok((name, self.with_settings(method)?))
        };
        methods.into_iter().map(named).collect()
    }

    /// Every combination of the methods and presets that are named (`a,b`), each with its name. A switch or a custom
    /// prompt goes to the methods that have it.
    ///
    /// # Errors
    /// As [`MethodOptions::resolve`]; a combination twice; a switch or a prompt that none of them has.
    pub fn resolve_all(&self, notice: &Notice) -> Result<Vec<(String, MethodPlan)>> {
        let choices = Choice::all(self.name.as_deref(), self.preset.as_deref())?;
        if let [(name, _)] = &choices[..] {
            return Ok(vec![(name.clone(), self.resolve(RUN, notice)?)]);
        }
        let names = choices.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let prompts = self.own_prompts(notice)?;
        let mut all: Vec<(String, MethodPlan)> = Vec::new();
        for (name, choice) in &choices {
            let row = choice.row;
            if all.iter().any(|(known, _)| known == name) {
                return Err(MootError::Usage(format!("{name} is given twice: expected different methods")));
            }
            let has = |switch: &str| row.switches.iter().any(|row| row.name == switch);
            let own: Typed =
                self.switches.iter().filter(|(switch, _)| has(switch)).map(|(s, v)| (s.clone(), v.clone())).collect();
            let used = if prompts.among(row.files()).is_empty() { OwnPrompts::default() } else { prompts.clone() };
            all.push((name.clone(), self.with_settings(choice.build(&own)?.with_prompts(used)?)?));
        }
        let unused =
            |switch: &&String| all.iter().all(|(_, plan)| plan.row().switches.iter().all(|row| row.name != **switch));
        if let Some(switch) = self.switches.keys().find(unused) {
            return Err(MootError::Usage(format!("none of {names} has a switch {switch:?}")));
        }
        if !prompts.is_empty() && all.iter().all(|(_, plan)| plan.method.prompts.is_empty()) {
            return Err(MootError::Usage(format!("none of {names} uses one of the prompts given")));
        }
        Ok(all)
    }

    /// The methods of `rows` with their own switches. The preset and custom prompts go to the methods that have them.
    ///
    /// # Errors
    /// As [`MethodOptions::resolve`]; a preset or a prompt that none of them has.
    pub fn resolve_rows(&self, rows: &[(&str, Typed)], notice: &Notice) -> Result<Vec<MethodPlan>> {
        let prompts = self.own_prompts(notice)?;
        let mut all: Vec<MethodPlan> = Vec::new();
        for (name, switches) in rows {
            let row = Row::named(name)?;
            let preset = self.preset.as_ref().and_then(|wanted| row.presets.iter().find(|own| own.name == wanted));
            let used = if prompts.among(row.files()).is_empty() { OwnPrompts::default() } else { prompts.clone() };
            all.push(self.with_settings(Choice { row, preset }.build(switches)?.with_prompts(used)?)?);
        }
        if let Some(preset) = self.preset.as_ref().filter(|_| all.iter().all(|plan| plan.method.preset.is_none())) {
            return Err(MootError::Usage(format!("--preset {preset}: no method of these rows has it")));
        }
        if !prompts.is_empty() && all.iter().all(|plan| plan.method.prompts.is_empty()) {
            return Err(MootError::Usage("--prompts: no method of these rows uses one of the prompts given".into()));
        }
        Ok(all)
    }

    /// The prompts that replace the program's. A note names those that never show the question or the documents.
    fn own_prompts(&self, notice: &Notice) -> Result<OwnPrompts> {
        let Some(dir) = &self.prompts else { return Ok(OwnPrompts::default()) };
        let all = methods::replaceable();
        let own = OwnPrompts::read(dir, &all)?;
        for (name, missing) in own.leaving_out(&all) {
            let missing: Vec<String> = missing.iter().map(|value| format!("{{{{ {value} }}}}")).collect();
            notice.tell(&format!("note: your {name} omits {}, which the built-in one has", missing.join(" and no ")));
        }
        Ok(own)
    }

    /// The built method with the settings and weights of these options.
    pub(super) fn with_settings(&self, method: Built) -> Result<MethodPlan> {
        let max_tokens = self.max_tokens.unwrap_or(method.row.max_tokens);
        if max_tokens == 0 {
            return Err(MootError::Usage("--max-tokens 0: a reply needs at least one token".into()));
        }
        count("--max-tokens", max_tokens)?;
        count_or_none("--think", self.think)?;
        let settings = Settings {
            seed: self.seed,
            max_tokens,
            sampling: self.sampling()?,
            free_form: self.free_form,
            think: self.think,
        };
        let weights = self.source_weights.as_deref().map(SourceWeights::read).transpose()?;
        Ok(MethodPlan { method, settings, weights })
    }

    fn sampling(&self) -> Result<Sampling> {
        let sampling = Sampling::new(self.temperature.unwrap_or(0.0), self.top_k, self.top_p).map_err(|wrong| {
            let (option, found) = (wrong.field.replace('_', "-"), wrong.found);
            MootError::Usage(format!("--{option} {found}: expected {}", wrong.expected))
        })?;
        let narrowed = [("--top-k", self.top_k > 0), ("--top-p", self.top_p < 1.0)];
        if let Some((option, _)) = narrowed.iter().find(|(_, set)| *set && self.temperature.is_none()) {
            return Err(MootError::Usage(format!("{option} needs --temperature")));
        }
        Ok(sampling)
    }
}

impl MethodPlan {
    /// `method` with default settings and no weights.
    #[must_use]
    pub fn of(method: Built) -> Self {
        Self { method, settings: Settings::default(), weights: None }
    }

    /// The method's row.
    #[must_use]
    pub fn row(&self) -> &'static Row {
        self.method.row
    }

    /// `recorded` with the fields of this run's header that are known before a model is opened.
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

    /// Lines on given options that the method ignores: `--top`, where the method retrieves for its own queries, and source
    /// weights, where its conclusion does not depend on votes.
    pub(super) fn unread(&self, top: Option<usize>) -> impl Iterator<Item = String> + '_ {
        let row = self.row();
        let own = row.switches.iter().find(|switch| ["per-query", "per-source"].contains(&switch.name));
        let top = top
            .zip(own)
            .map(|(top, own)| format!("{} ignores --top {top}: {} (--set {}={top})", row.name, own.about, own.name));
        let weights = self.weights.as_ref().filter(|_| !self.method.method.weighs()).map(|(_, identity)| {
            let name = line(&identity.name);
            format!("{} ignores the source weights of {name}: they are only displayed", row.name)
        });
        top.into_iter().chain(weights)
    }

    /// One line where sources of these documents have no weight in the file that was given; `None` without documents.
    #[must_use]
    pub fn unknown_sources<'a>(&self, documents: impl IntoIterator<Item = &'a Document>) -> Option<String> {
        let (weights, identity) = self.weights.as_ref()?;
        let mut documents = documents.into_iter().peekable();
        documents.peek()?;
        let sources: BTreeSet<&str> = documents.filter_map(|document| document.source.as_deref()).collect();
        weights.unknown(&identity.name, &sources).map(|text| line(&text))
    }

    /// The record's first line.
    #[must_use]
    pub fn header(&self, dataset: Option<DatasetIdentity>, tools: Tools<'_>) -> Header {
        let (row, llm) = (self.method.row, tools.llm);
        let entailment = row.needs.entails().then(|| entailment::ROLE.to_owned());
        let roles = self.method.roles().into_iter().chain(entailment);
        let mut roles: BTreeMap<_, _> = roles.map(|role| (role.clone(), llm.identity_of(&role).clone())).collect();
        // Roles need no table of models if one model answers all.
        roles.retain(|_, model| model != llm.identity());
        let retriever = tools.retriever.filter(|_| row.needs.searches());
        let classifier = tools.classifier.filter(|_| row.needs.entails());
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
            corrected: None,
            reused: Vec::new(),
            embedder: tools.embedder.filter(|_| row.needs.embedder).map(|embedder| embedder.identity().to_owned()),
            classifier: classifier.map(|classifier| classifier.identity().clone()),
        }
    }
}
