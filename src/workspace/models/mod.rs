//! Models from names: located, planned under one memory budget, loaded or connected to.

mod gpu_check;
mod located;
mod memory_plan;
mod opening;
mod options;
mod random;
mod recommended;
mod runtime;
mod storage;

pub use located::LocatedModel;
pub use memory_plan::{Member, MemoryPlan};
pub(crate) use opening::served;
pub use opening::{Opening, Purpose, open, open_all};
pub use options::{Options, best_device, recipe};
pub use random::random;
pub use recommended::{AUTO, Offer, best, fits};
pub use runtime::RuntimeOptions;
pub(crate) use runtime::{device, opened_device};
pub use storage::WeightStorage;
