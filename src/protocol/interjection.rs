//! A text that the user adds to the calls of a debate.

/// A text of the user that is added to calls of a forked debate (`moot record fork --tell`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interjection {
    /// The first round whose calls get the text, from 1.
    pub round: usize,
    /// The text: the last paragraph of the last turn.
    pub text: String,
}
