//! The command line: one file a subcommand, thin.

pub mod calls;
pub mod output;
pub mod run;
pub mod score;
pub mod show;
