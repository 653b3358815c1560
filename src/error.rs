//! The one error of this package: each variant states the expected and the found value, and the place.

use crate::escape::{beginning, excerpt};
use crate::fault::RemoteFault;
use crate::units::readable;
use moot_models::memory::Needed;
use moot_models::{ModelError, source};
use std::path::{Path, PathBuf};

/// Result of anything in this package.
pub type Result<T> = std::result::Result<T, MootError>;

/// Errors between a question and its record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MootError {
    /// Weights, tokenizer, template or source.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation.
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A line or field of the user's own file is not what it should be.
    #[error(
        "{}{}: expected {}, found {}", path.display(), line.map(|n| format!(":{n}")).unwrap_or_default(), excerpt(.expected),
        excerpt(.found)
    )]
    Input {
        /// The file.
        path: PathBuf,
        /// From 1; `None` if the error concerns the whole file.
        line: Option<usize>,
        /// The expected content.
        expected: String,
        /// The content found.
        found: String,
    },
    /// An argument or setting has no meaning here.
    #[error("{}", beginning(.0, 2000))]
    Usage(String),
    /// The command line does not parse.
    #[error("{wrong}")]
    Arguments {
        /// The fault and its position, one line.
        wrong: String,
        /// A near name, or where to read more.
        hint: String,
    },
    /// One question cannot be answered in this way; others may be.
    #[error("{0}")]
    Question(String),
    /// A search returned no passage, and the method needs one.
    #[error(
        "{method} needs at least 1 document: no passage of the corpus{} is about the question",
        if *filtered { " that the filters admit" } else { "" }
    )]
    NothingFound {
        /// The method.
        method: String,
        /// Passages were filtered by source or date.
        filtered: bool,
        /// Passages that have nothing to do with the question were left out.
        cut_off: bool,
    },
    /// A name that no table knows.
    #[error("no {kind} is called {:?} (known: {})", beginning(.name, 100), beginning(.known, 2000))]
    UnknownName {
        /// "method", "dataset", "metric".
        kind: &'static str,
        /// The text typed.
        name: String,
        /// All names, comma-separated.
        known: String,
    },
    /// A request can never run here: the numbers say why.
    #[error("{what}: needs {needed} tokens ({prompt} of prompt, {generate} to generate), {limit_name} is {limit}")]
    TooLong {
        /// Which request: "agent of notes.txt, round 1".
        what: String,
        /// `prompt + generate`.
        needed: usize,
        /// Prompt tokens.
        prompt: usize,
        /// Tokens that may be generated.
        generate: usize,
        /// "the context of the model" or "the key-value memory".
        limit_name: &'static str,
        /// In tokens.
        limit: usize,
    },
    /// A model needs more memory than there is: found before it is loaded.
    #[error(
        "{name} needs {} of memory ({} of weights, {} of keys and values, {} to work in); {} are available",
        readable(needed.total()), readable(needed.weights), readable(needed.kv), readable(needed.working),
        readable(*available)
    )]
    Memory {
        /// The model, as typed.
        name: String,
        /// Bytes, by what they are for.
        needed: Needed,
        /// Bytes, as the system and the control groups say.
        available: u64,
        /// The largest setting that would fit, one line.
        fits: String,
    },
    /// An index of passages is damaged, or does not fit the request.
    #[error("{}: {}", path.display(), beginning(.wrong, 600))]
    Index {
        /// The index's folder, or the file in it that the error concerns.
        path: PathBuf,
        /// Expected and found, one line.
        wrong: String,
        /// A remedy.
        hint: String,
    },
    /// `moot doctor` found something that cannot work.
    #[error("{}", .0.join("; "))]
    Broken(Vec<String>),
    /// A run ended, and some of its questions were recorded with an error.
    #[error("{}: {errors} of {questions} questions ended in an error ({first})", path.display())]
    Unanswered {
        /// The record.
        path: PathBuf,
        /// Questions without an answer.
        errors: usize,
        /// Questions in the record.
        questions: usize,
        /// The first of these errors, with its question.
        first: String,
    },
    /// Labels or calls are missing, so nothing can be said of what they would have shown.
    #[error("{missing} of {of} {what}: what they would show is not known")]
    Unlabelled {
        /// Those without a value.
        missing: usize,
        /// Those that were asked for.
        of: usize,
        /// "labels are missing".
        what: &'static str,
    },
    /// `moot record verify` found altered lines, replies that differ, or a run that did not finish; its output says
    /// which.
    #[error("verification failed: a line or a reply differs, or the run did not finish (see above)")]
    Differ,
    /// A prompt or grammar of ours is broken, or a template refuses it.
    #[error("{file}: {}", beginning(.reason, 600))]
    Prompt {
        /// The prompt or grammar file.
        file: String,
        /// One line.
        reason: String,
    },
    /// A model elsewhere did not answer, or not as the protocol says.
    #[error("{server}: {}", beginning(.reason, 1000))]
    Remote {
        /// Its address.
        server: String,
        /// The kind of fault.
        kind: RemoteFault,
        /// One line, the call named, the key left out.
        reason: String,
    },
    /// A server of vectors did not answer, or not as the protocol says.
    #[error("{server}: {}", beginning(.reason, 1000))]
    Collection {
        /// Its address, with the collection or the table.
        server: String,
        /// The kind of fault.
        kind: RemoteFault,
        /// One line, the key left out.
        reason: String,
        /// A remedy for the user, if one is known.
        hint: Option<&'static str>,
    },
    /// The system refused to start a thread.
    #[error("cannot start a thread: {0}")]
    Threads(std::io::Error),
    /// The engine stopped: its reason goes to every request in flight.
    #[error("the engine stopped: {0}")]
    Engine(String),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl MootError {
    /// The operating system refused `action` ("open", "read", "write") on `path`.
    #[must_use]
    pub fn io(path: &Path, action: &'static str, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), action, source }
    }

    /// Whether the failure belongs to one question, so that it is recorded and the run continues. Everything else would
    /// fail the next question too, or needs the user: it ends the run, and no answer is recorded.
    #[must_use]
    pub fn is_of_one_question(&self) -> bool {
        match self {
            Self::TooLong { .. } | Self::Question(_) | Self::NothingFound { .. } => true,
            Self::Remote { kind, .. } => !kind.befalls_all(),
            _ => false,
        }
    }

    /// A remedy for the user, if one is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Model(e) => model_hint(e),
            Self::NothingFound { filtered, cut_off, .. } => Some(hint_to_find(*filtered, *cut_off)),
            Self::Threads(_) => Some("raise the limit of processes (ulimit -u), or end other programs".into()),
            Self::Unanswered { .. } => Some("the same command with --retry-errors asks them again".into()),
            Self::Remote { kind, .. } => kind.hint().map(str::to_owned),
            Self::Collection { hint, .. } => hint.map(str::to_owned),
            Self::Arguments { hint, .. } | Self::Index { hint, .. } => Some(hint.clone()),
            Self::Memory { fits, .. } => Some(fits.clone()),
            Self::TooLong { limit_name, .. } if limit_name.contains("memory") => {
                Some("raise --kv-memory, shorten the document, or lower --max-tokens".into())
            }
            Self::TooLong { .. } => Some(
                "take fewer or shorter documents, lower --max-tokens, or take a model with a longer context".into(),
            ),
            _ => None,
        }
    }
}

/// `text`, in which options are named as on the command line (`--max-tokens`), with each name as `spell` writes it; one that
/// it does not know stays. A face that takes options from somewhere else passes errors and hints through it: from a JSON
/// body, with [`field_of`](crate::workspace::field_of).
#[must_use]
pub fn with_options_spelled(text: &str, spell: impl Fn(&str) -> Option<String>) -> String {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let mut parts = text.split("--");
    let mut spelled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
        let name = part[..end].trim_end_matches('-');
        let begins = !spelled.ends_with(|c: char| c.is_alphanumeric());
        let is_option = begins && name.starts_with(|c: char| c.is_ascii_lowercase());
        match spell(name).filter(|_| is_option) {
            Some(other) => {
                spelled.push_str(&other);
                spelled.push_str(&part[name.len()..]);
            }
            None => {
                spelled.push_str("--");
                spelled.push_str(part);
            }
        }
    }
    spelled
}

/// Advice for a search that returned no passages.
fn hint_to_find(filtered: bool, cut_off: bool) -> String {
    let ways = [
        (true, "ask in other words"),
        (filtered, "change --source, --from or --until"),
        (cut_off, "admit passages that share little with the question by --cutoff off"),
    ];
    let ways: Vec<&str> = ways.into_iter().filter(|(applies, _)| *applies).map(|(_, way)| way).collect();
    ways.join(", or ")
}

/// The package's own hint, except where following it would lose a user's own file, and where an address was meant.
fn model_hint(error: &ModelError) -> Option<String> {
    match error {
        ModelError::Format { path, .. } | ModelError::NotFinite { path, .. } | ModelError::Checksum { path, .. }
            if !was_fetched(path) =>
        {
            Some("moot reads .gguf files and model folders; if this is one, it is damaged or not all there".into())
        }
        ModelError::UnknownModel { name, .. } if is_address(name) => Some(address_hint(name)),
        ModelError::UnknownArchitecture { found, supported, .. } if !supported.contains("embedder") => {
            models_like(found).or_else(|| error.hint())
        }
        ModelError::Io { path, .. } if is_address(&path.to_string_lossy()) => {
            Some(address_hint(&path.to_string_lossy()))
        }
        other => other.hint(),
    }
}

/// Names models of the catalog that are called most like the architecture `found`: `qwen3-0.6b` for `qwen3_next`.
fn models_like(found: &str) -> Option<String> {
    let plain = |name: &str| -> Vec<char> {
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let found = plain(found);
    let shared = |alias: &str| found.iter().zip(plain(alias)).take_while(|(a, b)| *a == b).count();
    let models = source::Catalog::embedded().models;
    let most = models.iter().map(|model| shared(&model.alias)).max().filter(|&most| most >= 3)?;
    let near = models.iter().map(|model| model.alias.as_str()).filter(|alias| shared(alias) == most);
    let near = near.take(3).collect::<Vec<_>>().join(", ");
    Some(format!("take another model, such as {near}; `moot models list` has more"))
}

fn address_hint(typed: &str) -> String {
    format!("a server's address begins with http:// or https://, as http://{typed}")
}

/// Whether `path` was fetched, so that it can be fetched again: it is below a cache of models.
fn was_fetched(path: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Ok(cache) = source::default_cache() else { return false };
    let caches = source::cache_locations(&source::Options { cache, offline: true });
    let path = real(path);
    [caches.cache, caches.hub_cache].iter().any(|cache| path.starts_with(real(cache)))
}

/// Whether `typed` looks like `host:port`, perhaps with a path or a model's name behind it.
fn is_address(typed: &str) -> bool {
    let server = typed.split(['/', '#']).next().unwrap_or_default();
    let Some((host, port)) = server.rsplit_once(':') else { return false };
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '[' | ']' | ':');
    !host.is_empty() && host.chars().all(is_host) && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::{MootError, is_address, with_options_spelled};
    use moot_models::ModelError;

    #[test]
    fn an_unknown_architecture_is_answered_with_models_that_are_near() {
        let hint = |found: &str| {
            let error = ModelError::UnknownArchitecture {
                path: "config.json".into(),
                found: found.into(),
                reason: None,
                supported: "llama".into(),
            };
            MootError::Model(error).hint().unwrap_or_default()
        };
        assert!(hint("qwen3_next").contains("such as qwen3-0.6b, qwen3-1.7b, qwen3-4b;"), "{}", hint("qwen3_next"));
        assert!(hint("glm4_moe").contains("glm-4-9b") && hint("Llama4").contains("llama-"));
        assert!(hint("nemotron_h").starts_with("take a model of a supported family") && !hint("").contains('\n'));
    }

    #[test]
    fn an_address_without_its_scheme_is_known() {
        for typed in ["127.0.0.1:8123", "localhost:8080/v1", "gpu-1.example:8000#name", "[::1]:8080/v1#org/name"] {
            assert!(is_address(typed), "{typed}");
        }
        for typed in ["smollm2-135m", "name:q8_0", "qwen:99999", "hf:org/repo", "./a:1/b", ":80", "C:\\model.gguf"] {
            assert!(!is_address(typed), "{typed}");
        }
    }

    #[test]
    fn options_are_named_as_the_face_spells_them() {
        let spell = |name: &str| (name != "features").then(|| name.replace('-', "_"));
        for (text, expected) in [
            ("--max-tokens 0: a reply needs at least one token", "max_tokens 0: a reply needs at least one token"),
            ("expected --corpus PATH, or --method closed-book", "expected corpus PATH, or method closed-book"),
            ("a--b, -- and --, --5", "a--b, -- and --, --5"),
            ("raise --kv-memory, shorten", "raise kv_memory, shorten"),
            ("no option", "no option"),
            ("build with --features cuda", "build with --features cuda"),
        ] {
            assert_eq!(with_options_spelled(text, spell), expected);
        }
    }
}
