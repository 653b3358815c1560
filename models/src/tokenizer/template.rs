//! Chat templates: Jinja programs that models carry, rendered so that no content passes through them.
//!
//! A template is rendered with a placeholder in the place of every content, the result is cut at the placeholders,
//! and the contents are put between the pieces. So the template's text and the content never mix, and a template that
//! does more to a content than strip white space from its ends is caught: its placeholder does not come back.
//!
//! White space at a content's ends stays outside the placeholder, so that a template may trim it.
//!
//! The language is Jinja2 as `transformers.apply_chat_template` sets it up: `trim_blocks`, `lstrip_blocks`, loop
//! controls, Python's string methods, `raise_exception`, `strftime_now`, a `tojson` without HTML escapes, and
//! `{% generation %}` blocks, which are transparent.

use super::chat::{fold_system, join_turns};
use super::json::{read_optional, read_text};
use super::python::{Date, json_dumps};
use super::template_bounds;
use super::{Message, Role, Segment, Thinking, Tokenizer};
use crate::error::{ModelError, Result};
use crate::weights::Metadata;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value, context};
use std::borrow::Cow;
use std::path::Path;

const NAME: &str = "chat_template";
const GGUF_FIELD: &str = "tokenizer.chat_template";
/// Bytes of a template at most; the longest that are published have a tenth of them.
const MAX_SOURCE: usize = 1 << 20;

/// A model's chat template, compiled.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    origin: String,
    bos: Option<String>,
    eos: Option<String>,
    /// Begins every placeholder; not in the template's source.
    mark: String,
    takes: Takes,
}

/// Capabilities of a chat template, tested when it is compiled.
#[derive(Debug, Clone, Copy, Default)]
struct Takes {
    system: bool,
    repeated_turns: bool,
    thinking: bool,
}

/// One content on its way through a template.
struct Slot<'a> {
    lead: &'a str,
    core: &'a str,
    trail: &'a str,
    placeholder: String,
}

impl ChatTemplate {
    /// Compiles `source`, which came from `origin` (a file and field, for messages). `bos` and `eos` are the texts
    /// that the template knows as `bos_token` and `eos_token`.
    ///
    /// # Errors
    /// [`ModelError::Template`] when it does not parse or fails on a conversation of one user message.
    pub fn new(source: &str, origin: &str, bos: Option<&str>, eos: Option<&str>) -> Result<Self> {
        if source.len() > MAX_SOURCE {
            let reason = format!("expected at most {MAX_SOURCE} bytes, found {}", source.len());
            return Err(ModelError::Template { origin: origin.to_owned(), reason });
        }
        let mut environment = environment();
        let mut mark = "Zq".to_owned();
        while source.contains(&mark) {
            mark.push('q');
        }
        let source = without_generation_tags(source);
        let compiled = template_bounds::constants(&source).and_then(|()| environment.add_template_owned(NAME, source));
        compiled.map_err(|error| failed(origin, &error))?;
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let takes = Takes::default();
        let template = Self { environment, origin: origin.to_owned(), bos: owned(bos), eos: owned(eos), mark, takes };
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
        let now = move |pattern: &str| date.format(pattern).map_err(|why| Error::new(ErrorKind::InvalidOperation, why));
        self.environment.add_function("strftime_now", now);
        self
    }

    /// Whether the template has a place for a system message. Where it refuses one or leaves it out, [`Self::render`]
    /// puts its text in front of the next user turn; see [`Self::remark`].
    #[must_use]
    pub fn takes_system(&self) -> bool {
        self.takes.system
    }

    /// Whether the template knows `enable_thinking`: whether [`Thinking`] makes a difference to it.
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
    /// A system message that the template has no place for goes in front of the next user turn, and where roles must
    /// alternate, turns of one role that follow each other become one; a blank line stands between.
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
            let content = format!("{}{}{}", slot.lead, slot.placeholder, slot.trail);
            context! { role => message.role.name(), content }
        };
        let turns: Vec<Value> = messages.iter().zip(&slots).map(turn).collect();
        let text = self.render_turns(turns, add_generation_prompt, thinking)?;
        self.cut(&text, messages, &slots)
    }

    fn render_turns(&self, turns: Vec<Value>, add_generation_prompt: bool, thinking: Thinking) -> Result<String> {
        let defined = |text: &Option<String>| text.as_deref().map_or(Value::UNDEFINED, Value::from);
        let context = context! {
            messages => turns,
            add_generation_prompt,
            enable_thinking => thinking == Thinking::On,
            tools => (),
            documents => (),
            bos_token => defined(&self.bos),
            eos_token => defined(&self.eos),
        };
        template_bounds::render(&self.environment, NAME, context).map_err(|error| failed(&self.origin, &error))
    }

    /// Cuts `text` at the placeholders and puts the contents back.
    fn cut(&self, text: &str, messages: &[Message], slots: &[Slot<'_>]) -> Result<Vec<Segment>> {
        let mut places = Vec::with_capacity(slots.len());
        for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| !slot.placeholder.is_empty()) {
            let mut found = text.match_indices(&slot.placeholder).map(|(at, _)| at);
            match (found.next(), found.next()) {
                (Some(at), None) => places.push((at, slot)),
                (at, _) => {
                    let role = messages[index].role.name();
                    let fate = if at.is_none() { "drops or rewrites" } else { "repeats" };
                    let reason = format!("it {fate} the content of message {} of {} ({role})", index + 1, slots.len());
                    return Err(ModelError::Template { origin: self.origin.clone(), reason });
                }
            }
        }
        places.sort_by_key(|&(at, _)| at);
        let mut segments = Vec::with_capacity(2 * places.len() + 1);
        let mut from = 0;
        for (at, slot) in places {
            let (lead, trail) = slot.kept_space(&text[from..at], &text[at + slot.placeholder.len()..]);
            push_scaffold(&mut segments, &text[from..at - lead.len()]);
            segments.push(Segment::Content([lead, slot.core, trail].concat()));
            from = at + slot.placeholder.len() + trail.len();
        }
        push_scaffold(&mut segments, &text[from..]);
        Ok(segments)
    }
}

impl<'a> Slot<'a> {
    /// A blank content needs no placeholder: it goes through as it is, since templates ask whether there is any.
    fn new(mark: &str, index: usize, message: &'a Message) -> Self {
        let content = message.content.as_str();
        let core = content.trim();
        if core.is_empty() {
            return Self { lead: content, core, trail: "", placeholder: String::new() };
        }
        let start = content.len() - content.trim_start().len();
        let (lead, rest) = content.split_at(start);
        let trail = &rest[core.len()..];
        // Letters of both cases, and what HTML, JSON and URL escapes rewrite: a template that does more than trim
        // must not go unnoticed.
        Self { lead, core, trail, placeholder: format!("{mark}\"<&>'\\ %é{index}z") }
    }

    /// How much of the content's own white space is left around its placeholder. Where the scaffold ends with the
    /// like, it is taken for content, which is the safe side.
    fn kept_space(&self, before: &str, after: &str) -> (&'a str, &'a str) {
        let starts = |text: &'a str| text.char_indices().map(|(at, _)| at).chain([text.len()]);
        let lead = starts(self.lead).map(|at| &self.lead[at..]).find(|lead| before.ends_with(lead));
        let mut trails: Vec<usize> = starts(self.trail).collect();
        trails.reverse();
        let trail = trails.into_iter().map(|at| &self.trail[..at]).find(|trail| after.starts_with(trail));
        (lead.unwrap_or_default(), trail.unwrap_or_default())
    }
}

fn push_scaffold(segments: &mut Vec<Segment>, text: &str) {
    if !text.is_empty() {
        segments.push(Segment::Scaffold(text.to_owned()));
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default());
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    template_bounds::bound(&mut environment);
    environment.add_function("raise_exception", |message: String| -> std::result::Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    environment
}

#[allow(clippy::needless_pass_by_value)] // minijinja hands arguments over by value
pub(super) fn to_json(value: &Value, options: Kwargs) -> std::result::Result<Value, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let _: Option<bool> = options.get("ensure_ascii")?;
    options.assert_all_used()?;
    let value = serde_json::to_value(value).map_err(|why| Error::new(ErrorKind::BadSerialization, why.to_string()))?;
    Ok(Value::from(json_dumps(&value, indent)))
}

/// `{% generation %}` marks for training what the assistant said. As blocks that are always true, the tags keep their
/// white-space control and do nothing else.
fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        // Not the sign that the tag begins with: `{%}` has no end.
        let Some(length) = rest[start + 2..].find("%}").map(|length| length + 2) else { break };
        let (tag, after) = rest[start..].split_at(length);
        out.push_str(&rest[..start]);
        match tag[2..].trim_matches(['-', '+']).trim() {
            "generation" => out.push_str(&tag.replace("generation", "if true")),
            "endgeneration" => out.push_str(&tag.replace("endgeneration", "endif")),
            _ => out.push_str(tag),
        }
        rest = after;
    }
    out.push_str(rest);
    out
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
