//! Advice on small models, printed once for each model after its first debate.

use crate::cli::terminal::columns::wrap;
use crate::cli::terminal::output;
use crate::cli::terminal::tell;
use crate::files::outputs::write_new;
use crate::transcript::QuestionRecord;
use moot_models::source::default_cache;
use std::path::Path;

/// Small models and their measured accuracy; `docs/models.md` has the figures.
const SMALL: &[(&str, &str)] = &[
    ("smollm2-135m", "it often takes its answer from the prompt's worked example"),
    (
        "qwen2.5-coder-0.5b",
        "its labels for and against a claim are right in 28 % of cases; a constant label is right in 47 %",
    ),
    (
        "qwen2.5-coder-1.5b",
        "its labels for and against a claim are right in 48 % of cases; a constant label is right in 47 %",
    ),
];

/// Prints the recommendation after the first debate with a small model, which is remembered in the cache folder. `roles` are
/// the method's.
pub(super) fn after_a_debate(model: &str, roles: &[String], record: &QuestionRecord) {
    let debated = record.calls.iter().any(|call| call.document.is_some());
    if let Some(line) = line(model, roles).filter(|_| debated)
        && default_cache().is_ok_and(|cache| is_first(&cache.join("told"), model))
    {
        wrap(&line, output::error_columns()).iter().for_each(|line| tell(line));
    }
}

/// The recommendation; `None` for a model of which nothing was measured.
fn line(model: &str, roles: &[String]) -> Option<String> {
    let (_, found) = SMALL.iter().find(|(name, _)| *name == model)?;
    Some(format!(
        "note: {model} is small, and does not judge reliably which of several answers is right ({found}). Compare the documents \
         for and against each answer, or let a larger model conclude: --model {}. docs/models.md has the figures. This note is \
         printed once.",
        larger(model, roles)
    ))
}

/// The value of `--model` that gives the concluding role to a larger model: the last one, as `Row::roles` lists them.
pub(super) fn larger(model: &str, roles: &[String]) -> String {
    match roles {
        [_, .., last] => format!("{model},{last}=NAME"),
        _ => "NAME".to_owned(),
    }
}

/// Whether this is the first time, which is noted in `folder`. Where nothing can be noted it is never the first.
fn is_first(folder: &Path, model: &str) -> bool {
    let note = folder.join(format!("small-model-{model}"));
    !note.exists() && std::fs::create_dir_all(folder).is_ok() && write_new(&note, b"").is_ok()
}

#[cfg(test)]
mod tests {
    use super::{SMALL, is_first, line};
    use crate::workspace::DEFAULT_MODEL;

    #[test]
    fn the_default_is_among_the_models_and_each_is_listed_once() {
        assert!(SMALL.iter().any(|(name, _)| *name == DEFAULT_MODEL));
        assert!(
            line(DEFAULT_MODEL, &[]).unwrap().contains("does not judge reliably") && line("qwen2.5-72b", &[]).is_none()
        );
        let folder = tempfile::tempdir().unwrap();
        let first = |model| is_first(&folder.path().join("told"), model);
        assert!(first(DEFAULT_MODEL) && !first(DEFAULT_MODEL) && first("smollm2-135m"));
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert!(!is_first(&folder.path().join("file"), DEFAULT_MODEL), "no folder can be made there");
    }
}
