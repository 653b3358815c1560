//! Presets: named settings of a method's switches, chosen by measurement or by a paper.

/// The preset of every method that has none of this name: its switches' defaults are the paper's.
pub(crate) static PAPER: Preset =
    Preset { name: "paper", about: "the settings of the paper, which are the method's defaults", switches: &[] };

/// A row of [`Row::presets`](crate::protocol::Row::presets).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// As typed after `--preset`.
    pub name: &'static str,
    /// A description, one line.
    pub about: &'static str,
    /// The switches that differ from the method's defaults, as typed.
    pub switches: &'static [(&'static str, &'static str)],
}
