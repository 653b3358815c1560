//! Presets: named settings of a method's switches, chosen by measurement or by a paper. [`PRESETS`](crate::methods::PRESETS) has a row for each.

/// A row of [`PRESETS`](crate::methods::PRESETS).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// As typed after `--preset`.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// The method's name.
    pub method: &'static str,
    /// Its switches that differ from the method's defaults, as typed.
    pub switches: &'static [(&'static str, &'static str)],
}
