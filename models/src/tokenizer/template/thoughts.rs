//! The texts that stand around a model's thoughts.

/// The texts around a model's thoughts, in the order of a turn: `open`, thoughts, `close`, `then`, the reply.
#[derive(Debug, PartialEq, Eq)]
pub struct ThoughtMarks {
    /// Before the thoughts.
    pub open: &'static str,
    /// Behind them.
    pub close: &'static str,
    /// Between `close` and the reply.
    pub then: &'static str,
    /// Between thoughts that are broken off and `close`.
    pub before_close: &'static str,
    /// The beginning of a turn without thoughts, where a turn is a message in a channel or several: its reply's channel.
    pub channels: Option<&'static str>,
    /// Whether the model opens its thoughts itself, by no switch of its template.
    pub unswitched: bool,
}

/// Of Qwen3, DeepSeek-R1 and what was distilled from it. After a blank line, as in their training.
const THINK: ThoughtMarks = ThoughtMarks {
    open: "<think>",
    close: "</think>",
    then: "\n\n",
    before_close: "\n",
    channels: None,
    unswitched: false,
};

/// Of gpt-oss: OpenAI's harmony format. Thoughts are a message in the channel `analysis`, the reply is one in `final`.
/// <https://github.com/openai/harmony/blob/main/docs/format.md>
const HARMONY: ThoughtMarks = ThoughtMarks {
    open: "<|channel|>analysis<|message|>",
    close: "<|end|>",
    then: "<|start|>assistant<|channel|>final<|message|>",
    before_close: "",
    channels: Some("<|channel|>final<|message|>"),
    unswitched: false,
};

/// Of Gemma 4. Its template writes a turn's empty thoughts itself where the model is not to think.
const GEMMA4: ThoughtMarks = ThoughtMarks {
    open: "<|channel>thought",
    close: "<channel|>",
    then: "",
    before_close: "\n",
    channels: None,
    unswitched: false,
};

/// Of Ministral 3's models that reason: control tokens on either side, and the reply at once.
const MISTRAL: ThoughtMarks =
    ThoughtMarks { open: "[THINK]", close: "[/THINK]", then: "", before_close: "", channels: None, unswitched: true };

impl ThoughtMarks {
    /// Those of a chat template by its source.
    pub(super) fn of(source: &str) -> &'static Self {
        let has = |marks: &[&str]| marks.iter().all(|mark| source.contains(mark));
        if has(&["<|start|>", "<|channel|>", "<|message|>"]) {
            &HARMONY
        } else if has(&["<|channel>thought", "<channel|>"]) {
            &GEMMA4
        } else if has(&["[THINK]", "[/THINK]"]) {
            &MISTRAL
        } else {
            &THINK
        }
    }
}
