//! Loading of what all requests share.

use crate::error::Result;
use crate::serve::state::State;
use crate::workspace::{Control, CorpusOptions, Phase, Plan, PlanOptions, Workspace};

/// Opens the workspace of `plan` for all requests; `calls` ends theirs.
///
/// # Errors
/// As [`Plan::of`] and [`Workspace::open`].
pub(super) fn load(state: &State, plan: PlanOptions, control: &Control, calls: &Control) -> Result<()> {
    // Questions of a person: passages that have nothing to do with one are left out.
    let corpus = CorpusOptions { cutoff: plan.corpus.cutoff.or(plan.corpus.is_given().then_some(true)), ..plan.corpus };
    let plan = Plan::of(PlanOptions { corpus, ..plan }, control)?;
    state.open(Workspace::open_to_share(plan, calls)?, control.watch.clone());
    control.watch.phase(Phase::Working);
    Ok(())
}
