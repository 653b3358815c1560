//! Prints a debate.
