//! The kinds of server, recognised when a model is opened, and what each can do.
//!
//! | | scores | watched ids | prefill | raw prompts | log-probabilities |
//! |---|---|---|---|---|---|
//! | vLLM | `prompt_logprobs` | no | `continue_final_message` | `/v1/completions` | yes |
//! | SGLang | raw prompts, `/generate` | raw prompts, `token_ids_logprob` | `continue_final_message` | `/v1/completions` | yes |
//! | llama.cpp | `/completion`, a request a token | no | a last message of the assistant | `/v1/completions` | yes |
//! | moot | yes | yes | yes | yes | yes |
//! | OpenAI | no | no | no | no | yes |
//! | others | no | no | no | no | no |
//!
//! vLLM's `logprob_token_ids` is in its latest versions alone, and older ones ignore it, so that vLLM counts as a server
//! without watched ids.

use super::client::{Client, Stage};
use crate::generation::Prompt;
use crate::llm::{Call, Capabilities};

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Vllm,
    Sglang,
    LlamaCpp,
    /// `moot serve`, which takes calls whole ([`super::calls`]).
    Moot,
    /// api.openai.com itself.
    OpenAi,
    /// Any other: chat completions and JSON schemas alone are expected of it.
    Unknown,
}

/// Where a kind of server that does not say its name in the list of models is recognised: a path below the server's
/// root, and a field that only this kind answers there.
const MARKS: &[(Dialect, &str, &str)] = &[
    (Dialect::LlamaCpp, "/props", "/default_generation_settings"),
    (Dialect::Sglang, "/get_model_info", "/model_path"),
    (Dialect::Vllm, "/version", "/version"),
];

impl Dialect {
    /// The kind of the server that lists the model with `owned_by`. If that value is unknown, the endpoints in [`MARKS`] are
    /// probed, which only one kind of server has each; an error means another kind.
    pub(super) fn detect(client: &Client, stage: &Stage, owned_by: Option<&str>) -> Self {
        match owned_by {
            Some("vllm") => return Self::Vllm,
            Some("sglang") => return Self::Sglang,
            Some("llamacpp") => return Self::LlamaCpp,
            Some("moot") => return Self::Moot,
            // Proxies say "openai" of anything, so that the address decides.
            _ if client.is_at("api.openai.com") => return Self::OpenAi,
            _ => {}
        }
        let known = |(_, path, field): &&(Self, &str, &str)| {
            client.page(stage, path).is_some_and(|json| json.pointer(field).is_some())
        };
        MARKS.iter().find(known).map_or(Self::Unknown, |(dialect, _, _)| *dialect)
    }

    /// Capabilities of such a server. SGLang scores and watches raw prompts only; [`Dialect::check`] refuses it for a chat.
    pub(super) fn capabilities(self) -> Capabilities {
        let chat = Capabilities { schema: true, ..Capabilities::default() };
        match self {
            Self::Vllm | Self::LlamaCpp => {
                Capabilities { logprobs: true, prefill: true, scores: true, raw: true, ..chat }
            }
            Self::Sglang => Capabilities { grammar: false, ..Capabilities::ALL },
            Self::Moot => Capabilities::ALL,
            Self::OpenAi => Capabilities { logprobs: true, ..chat },
            Self::Unknown => chat,
        }
    }

    /// # Errors
    /// The needs of `call` that such a server lacks, with the servers that have them.
    pub(super) fn check(self, call: &Call) -> Result<(), String> {
        let missing = call.needs().missing_from(self.capabilities());
        if !missing.is_empty() {
            return Err(format!("{} gives no {}; {}", self.name(), missing.join(" and no "), self.able(call)));
        }
        let chat = matches!(call.prompt, Prompt::Chat(_));
        if self == Self::Sglang && chat && (call.score || call.needs().watch) {
            let able = self.able(call);
            return Err(format!(
                "SGLang gives scores and watched tokens for raw prompts alone, not for a chat; {able}"
            ));
        }
        Ok(())
    }

    /// A clause that names the other servers that can answer `call`.
    fn able(self, call: &Call) -> String {
        let all = [Self::Vllm, Self::Sglang, Self::LlamaCpp, Self::Moot, Self::OpenAi];
        let able = all.iter().filter(|one| **one != self && call.needs().missing_from(one.capabilities()).is_empty());
        match able.map(|one| one.name()).collect::<Vec<_>>() {
            names if names.is_empty() => "only a model in this process can".to_owned(),
            names => format!("{} can, and so can a model in this process", names.join(", ")),
        }
    }

    /// Whether the server encodes text to ids.
    pub(super) fn encodes(self) -> bool {
        matches!(self, Self::Vllm | Self::Sglang | Self::LlamaCpp | Self::Moot)
    }

    /// Its usual name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::LlamaCpp => "llama.cpp",
            Self::Moot => "moot serve",
            Self::OpenAi => "OpenAI",
            Self::Unknown => "a server of unknown kind",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Dialect;
    use crate::generation::{Logprobs, Prompt, Segment};
    use crate::llm::Call;

    #[test]
    fn a_refusal_names_the_missing_ability_and_servers_that_have_it() {
        let scored = |prompt| Call {
            score: true,
            prefill: vec![Segment::Content("yes".into())],
            ..Call::new("a call", "agent", prompt, 0)
        };
        let chat = scored(Prompt::Chat(Vec::new()));
        for able in [Dialect::Vllm, Dialect::LlamaCpp] {
            assert_eq!(able.check(&chat), Ok(()));
        }
        let refused = Dialect::Unknown.check(&chat).unwrap_err();
        assert!(refused.starts_with("a server of unknown kind gives no scores of given text; vLLM, "), "{refused}");
        assert!(Dialect::Sglang.check(&chat).unwrap_err().contains("raw prompts alone"));
        assert_eq!(Dialect::Sglang.check(&scored(Prompt::Raw(Vec::new()))), Ok(()));
        let watch = Some(Logprobs { top: 0, watch: vec![1] });
        let watched = Call { logprobs: watch, ..Call::new("a call", "agent", Prompt::Raw(Vec::new()), 1) };
        let refused = Dialect::Vllm.check(&watched).unwrap_err();
        assert!(refused.contains("log-probabilities of given tokens; SGLang, moot serve can"), "{refused}");
    }
}
