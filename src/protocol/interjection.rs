//! A text that the user adds to the calls of a debate.

/// A text of the user's that calls are told in a debate that goes on from some round (`moot record fork --tell`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interjection {
    /// The first round whose calls are told, from 1.
    pub round: usize,
    /// The last paragraph of their last turn.
    pub text: String,
}
