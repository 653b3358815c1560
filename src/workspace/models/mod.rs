//! Models from names: located, planned under one memory budget, loaded or connected to.

mod gpu_check;
mod located;
mod memory_plan;
mod opening;
mod options;
mod random;
mod recipe;
mod recommended;
mod runtime;
mod storage;

pub(crate) use gpu_check::forget as forget_gpu_check;
pub use located::LocatedModel;
pub use memory_plan::{Member, MemoryPlan};
pub(crate) use opening::served;
pub use opening::{Opening, Purpose, open, open_all};
pub use options::{Options, best_device};
pub use random::random;
pub use recipe::{RecipeChoice, recipe};
pub use recommended::{AUTO, Offer, best, fits};
pub use runtime::RuntimeOptions;
pub(crate) use runtime::{device, opened_device};
pub use storage::WeightStorage;
