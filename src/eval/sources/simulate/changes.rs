//! Settings of a simulated world that differ from a figure's own.

use super::World;
use crate::eval::sources::reliability::Prior;

/// Sources that kappa-RRSS and kappa-RSS select (section 5.1).
pub(super) const KAPPA_OF_PAPER: usize = 4;

/// A setting that can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// N.
    Sources,
    /// r.
    Coverage,
    /// The mean of w.
    Mean,
    /// Wrong answers to a question.
    Wrong,
    /// Sources that are selected.
    Kappa,
}

impl Setting {
    /// As typed.
    #[must_use]
    pub fn option(self) -> &'static str {
        match self {
            Self::Sources => "--sources",
            Self::Coverage => "--coverage",
            Self::Mean => "--mean",
            Self::Wrong => "--wrong",
            Self::Kappa => "--kappa",
        }
    }

    /// As titles have it.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Sources => "N",
            Self::Coverage => "r",
            Self::Mean => "mean w",
            Self::Wrong => "wrong answers",
            Self::Kappa => "kappa",
        }
    }
}

/// Changed settings; `None` keeps the figure's own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Changes {
    /// Independent sources (N).
    pub sources: Option<usize>,
    /// The probability that a source has relevant documents on a question (r).
    pub coverage: Option<f64>,
    /// The mean of the reliabilities, of Beta(2 w / (1 - w), 2).
    pub mean: Option<f64>,
    /// Wrong answers to a question.
    pub wrong: Option<u16>,
    /// Sources that are selected.
    pub kappa: Option<usize>,
}

impl Changes {
    /// The changed settings with their values.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Setting, String)> {
        let all = [
            (Setting::Sources, self.sources.map(|sources| sources.to_string())),
            (Setting::Coverage, self.coverage.map(|coverage| coverage.to_string())),
            (Setting::Mean, self.mean.map(|mean| mean.to_string())),
            (Setting::Wrong, self.wrong.map(|wrong| wrong.to_string())),
            (Setting::Kappa, self.kappa.map(|kappa| kappa.to_string())),
        ];
        all.into_iter().filter_map(|(setting, value)| Some((setting, value?)))
    }

    /// The world with the changed settings.
    pub(super) fn apply(&self, world: World) -> World {
        World {
            sources: self.sources.unwrap_or(world.sources),
            coverage: self.coverage.map_or(world.coverage, |coverage| (coverage, coverage)),
            prior: self.mean.map_or(world.prior, Prior::Beta),
            wrong: self.wrong.unwrap_or(world.wrong),
            ..world
        }
    }
}
