//! A model's chat template, compiled, and conversations rendered with it.

use super::super::chat::{Message, Role, Segment, Thinking, fold_system, join_turns};
use super::super::coder::Tokenizer;
use super::super::files::{read_optional, read_text};
use super::super::python::Date;
use super::slots::{Slot, cut};
use super::thoughts::ThoughtMarks;
use super::{budget, checked, filters, operators, source};
use crate::error::{ModelError, Result};
use crate::weights::Metadata;
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value, context};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::path::Path;

const NAME: &str = "chat_template";
const GGUF_FIELD: &str = "tokenizer.chat_template";
/// Native calls within each other while rendering: a macro that calls a macro takes four. The deepest that was seen in a
/// published template is three macros.
const MAX_CALLS: usize = 64;
/// Bytes of a format of a date.
const MAX_DATE_FORMAT: usize = 256;

/// A model's chat template, compiled.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    source: String,
    origin: String,
    bos: Option<String>,
    eos: Option<String>,
    /// Begins every placeholder.
    mark: String,
    takes: Takes,
    /// Around the model's thoughts.
    marks: &'static ThoughtMarks,
}

/// Capabilities of a chat template, tested when it is compiled.
#[derive(Debug, Clone, Copy, Default)]
struct Takes {
    system: bool,
    repeated_turns: bool,
    thinking: bool,
}

impl ChatTemplate {
    /// Compiles `source`, which came from `origin` (a file and field, for messages). `bos` and `eos` are the texts
    /// that the template knows as `bos_token` and `eos_token`.
    ///
    /// # Errors
    /// [`ModelError::Template`] when it does not parse or fails on a conversation of one user message.
    pub fn new(source: &str, origin: &str, bos: Option<&str>, eos: Option<&str>) -> Result<Self> {
        let mut environment = environment();
        let mark = mark(source);
        let compiled = source::check(source)
            .and_then(|()| environment.add_template_owned(NAME, source::without_generation_tags(source)));
        compiled.map_err(|error| failed(origin, &error))?;
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let template = Self {
            environment,
            source: source.to_owned(),
            origin: origin.to_owned(),
            bos: owned(bos),
            eos: owned(eos),
            mark,
            takes: Takes::default(),
            marks: ThoughtMarks::of(source),
        };
        template.with_date(Date::default()).tried_out()
    }

    /// Tries the template on small conversations to learn what it takes. Fails where it refuses a single question.
    fn tried_out(mut self) -> Result<Self> {
        let user = || Message::new(Role::User, "question");
        let ask = |messages: &[Message], thinking| self.render_as_is(messages, true, thinking);
        let plain = ask(&[user()], Thinking::Off)?;
        let thinking = ask(&[user()], Thinking::On).is_ok_and(|prompt| prompt != plain);
        let system = ask(&[Message::new(Role::System, "instructions"), user()], Thinking::Off).is_ok();
        let repeated_turns = ask(&[user(), user()], Thinking::Off).is_ok();
        self.takes = Takes { system, repeated_turns, thinking };
        Ok(self)
    }

    /// The template in a GGUF file's metadata.
    ///
    /// # Errors
    /// [`ModelError::Template`] when there is none or it is not sound.
    pub fn from_gguf(metadata: &Metadata, tokenizer: &Tokenizer) -> Result<Self> {
        let origin = metadata.path().display().to_string();
        let source = metadata.optional_str(GGUF_FIELD)?.ok_or_else(|| ModelError::Template {
            origin: origin.clone(),
            reason: format!("there is none (field {GGUF_FIELD} is absent); is this a base model?"),
        })?;
        Self::for_tokenizer(source, &origin, tokenizer)
    }

    /// The template in a model folder: `chat_template.jinja`, else `chat_template` of `tokenizer_config.json`, a text
    /// or a list of named ones of which "default" is taken.
    ///
    /// # Errors
    /// [`ModelError::Template`] when there is none or it is not sound; [`ModelError::Io`], [`ModelError::Format`]
    /// when the file that holds it cannot be read.
    pub fn from_dir(dir: &Path, tokenizer: &Tokenizer) -> Result<Self> {
        let jinja = dir.join("chat_template.jinja");
        if jinja.exists() {
            return Self::for_tokenizer(&read_text(&jinja)?, &jinja.display().to_string(), tokenizer);
        }
        let path = dir.join("tokenizer_config.json");
        let origin = path.display().to_string();
        let config: Option<serde_json::Value> = read_optional(&path)?;
        let source = default_template(config.as_ref().and_then(|config| config.get("chat_template")));
        let source = source.map_err(|reason| ModelError::Template { origin: origin.clone(), reason })?;
        Self::for_tokenizer(source, &origin, tokenizer)
    }

    fn for_tokenizer(source: &str, origin: &str, tokenizer: &Tokenizer) -> Result<Self> {
        let text = |id: Option<u32>| id.and_then(|id| tokenizer.special_text(id));
        Self::new(source, origin, text(tokenizer.bos_id()), text(tokenizer.eos_id()))
    }

    /// The same template on another day (see [`Date`]).
    #[must_use]
    pub fn with_date(mut self, date: Date) -> Self {
        let now = move |pattern: &str| {
            budget::fits(pattern.len(), MAX_DATE_FORMAT, "bytes in a format of a date")?;
            date.format(pattern).map_err(|why| Error::new(ErrorKind::InvalidOperation, why))
        };
        self.environment.add_function("strftime_now", now);
        self
    }

    /// The template as it was given.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The texts around the model's thoughts.
    #[must_use]
    pub fn thought_marks(&self) -> &'static ThoughtMarks {
        self.marks
    }

    /// Whether the template knows `enable_thinking`, or channels: whether [`Thinking`] makes a difference to it.
    #[must_use]
    pub fn knows_thinking(&self) -> bool {
        self.takes.thinking
    }

    /// One line for the user on how this template treats conversations, where that is unusual.
    #[must_use]
    pub fn remark(&self) -> Option<&'static str> {
        (!self.takes.system).then_some(
            "the model's chat template takes no system message: instructions go in front of the first user message",
        )
    }

    /// The prompt for `messages`, as scaffold and contents in turn; with `add_generation_prompt` it ends where the
    /// assistant's next turn begins. Templates that do not know `thinking` ignore it.
    ///
    /// A system message that the template does not take goes in front of the next user turn, and where roles must
    /// alternate, turns of one role that follow each other become one; with a blank line between them.
    ///
    /// # Errors
    /// [`ModelError::Template`] when the template refuses the conversation, and when a content does not come out
    /// exactly once and whole: dropped, repeated or rewritten. The reason names the message.
    pub fn render(
        &self,
        messages: &[Message],
        add_generation_prompt: bool,
        thinking: Thinking,
    ) -> Result<Vec<Segment>> {
        let mut fitting = Cow::Borrowed(messages);
        if !self.takes.system && fitting.iter().any(|message| message.role == Role::System) {
            fitting = Cow::Owned(fold_system(&fitting));
        }
        if !self.takes.repeated_turns && fitting.windows(2).any(|pair| pair[0].role == pair[1].role) {
            fitting = Cow::Owned(join_turns(&fitting));
        }
        self.render_as_is(&fitting, add_generation_prompt, thinking)
    }

    fn render_as_is(
        &self,
        messages: &[Message],
        add_generation_prompt: bool,
        thinking: Thinking,
    ) -> Result<Vec<Segment>> {
        let slots: Vec<Slot<'_>> = messages.iter().enumerate().map(|(i, m)| Slot::new(&self.mark, i, m)).collect();
        let turn = |(message, slot): (&Message, &Slot<'_>)| {
            context! { role => message.role.name(), content => slot.given() }
        };
        let turns: Vec<Value> = messages.iter().zip(&slots).map(turn).collect();
        let mut text = self.render_turns(turns, add_generation_prompt, thinking)?;
        if let (true, Some(channels)) = (add_generation_prompt, &self.marks.channels) {
            // The template leaves the channel to the model.
            text.push_str(if thinking == Thinking::On { self.marks.open } else { channels });
        }
        cut(&text, messages, &slots).map_err(|reason| ModelError::Template { origin: self.origin.clone(), reason })
    }

    fn render_turns(&self, turns: Vec<Value>, add_generation_prompt: bool, thinking: Thinking) -> Result<String> {
        let defined = |text: &Option<String>| text.as_deref().map_or(Value::UNDEFINED, Value::from);
        let effort = match (self.marks.channels, thinking) {
            (None, _) => Value::UNDEFINED,
            (Some(_), Thinking::On) => Value::from("medium"),
            (Some(_), Thinking::Off) => Value::from("low"),
        };
        let context = context! {
            messages => turns,
            add_generation_prompt,
            enable_thinking => thinking == Thinking::On,
            reasoning_effort => effort,
            tools => (),
            documents => (),
            bos_token => defined(&self.bos),
            eos_token => defined(&self.eos),
        };
        checked::render(&self.environment, NAME, context).map_err(|error| failed(&self.origin, &error))
    }
}

fn environment() -> Environment<'static> {
    // Without the language's own filters, tests and functions: only those that are checked are registered.
    let mut environment = Environment::empty();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default());
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(budget::FUEL));
    environment.set_recursion_limit(MAX_CALLS);
    // Errors would keep a copy of all variables.
    environment.set_debug(false);
    operators::register(&mut environment);
    filters::register(&mut environment);
    environment
}

/// A text that begins every placeholder, and that `source` does not hold: it could not know its own hash.
fn mark(source: &str) -> String {
    let hash = Sha256::digest(source);
    let digits: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("Zq{digits}")
}

fn default_template(field: Option<&serde_json::Value>) -> std::result::Result<&str, String> {
    use serde_json::Value::{Array, String};
    match field {
        Some(String(source)) => Ok(source),
        Some(Array(named)) => {
            let text =
                |entry: &serde_json::Value, key: &str| entry.get(key).and_then(|v| v.as_str()).map(str::to_owned);
            let default = named.iter().find(|entry| text(entry, "name").as_deref() == Some("default"));
            default.and_then(|entry| entry.get("template")?.as_str()).ok_or_else(|| {
                let names: Vec<_> = named.iter().filter_map(|entry| text(entry, "name")).collect();
                format!("none of those in field chat_template is called \"default\" (found: {})", names.join(", "))
            })
        }
        Some(_) => Err("field chat_template is neither a text nor a list".to_owned()),
        None => Err("there is none (no chat_template.jinja, no field chat_template); is this a base model?".to_owned()),
    }
}

fn failed(origin: &str, error: &Error) -> ModelError {
    let reason = error.to_string().lines().collect::<Vec<_>>().join(" ");
    ModelError::Template { origin: origin.to_owned(), reason }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::PUBLISHED;
    use super::{ChatTemplate, Message, Role, Thinking, budget};

    #[test]
    fn published_templates_stay_far_below_the_limits() {
        let pair = [Message::new(Role::User, " a question\n"), Message::new(Role::Assistant, "an answer")];
        let long: Vec<Message> = pair.into_iter().cycle().take(99).collect();
        for file in std::fs::read_dir(PUBLISHED).unwrap() {
            let path = file.unwrap().path();
            let source = std::fs::read_to_string(&path).unwrap();
            let mut template = ChatTemplate::new(&source, "test", Some("<s>"), Some("</s>")).unwrap();
            template.environment.set_fuel(Some(budget::FUEL / 20));
            template.render(&long, true, Thinking::Off).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            assert!(budget::spent() * 20 < budget::MAX_WORK, "{path:?}: {}", budget::spent());
        }
    }
}
