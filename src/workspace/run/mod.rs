//! Runs: methods over datasets, each with a record, resumed where they stopped.

mod batch;
mod dry;
mod outputs;
mod prepare;
mod record_file;
mod recording;

pub use batch::RunReport;
pub use dry::DryRun;
pub(super) use outputs::model_label;
pub use recording::Recording;
