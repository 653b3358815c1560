//! The command line: one file a subcommand, thin.

pub mod calls;
pub mod columns;
pub mod debate;
pub mod output;
pub mod run;
pub mod score;
pub mod show;
