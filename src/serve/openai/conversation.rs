//! The messages of a chat as a model takes them.
//!
//! Tools are not called here, but a client may go on here with a chat in which another model called some. Its calls and
//! their results are text for this model: a call is a line of the assistant, a result is a message of the user.

use super::fields::{ContentPart, Function, Incoming, ToolCall};
use crate::generation::{Message, Role};
use crate::serve::body::TextOrList;
use crate::serve::refusal::{Answer, Refusal};
use serde_json::Value;

/// The messages in their order.
///
/// # Errors
/// No message, an unknown role, a part that is not text.
pub(super) fn messages(all: &[Incoming]) -> Answer<Vec<Message>> {
    if all.is_empty() {
        return Err(Refusal::field("messages", "at least one message", "none"));
    }
    all.iter().enumerate().map(|(index, message)| one(all, index, message)).collect()
}

fn one(all: &[Incoming], index: usize, message: &Incoming) -> Answer<Message> {
    let content = text(message, index)?;
    match message.role.as_str() {
        "system" | "developer" => Ok(Message::new(Role::System, content)),
        "user" => Ok(Message::new(Role::User, content)),
        "assistant" => Ok(Message::new(Role::Assistant, with_calls(content, message))),
        "tool" | "function" => {
            let of = called(&all[..index], message).map(|name| format!(" of {name}")).unwrap_or_default();
            Ok(Message::new(Role::User, format!("Result{of}:\n{content}")))
        }
        other => {
            let field = format!("messages[{index}].role");
            let found = crate::escape::beginning(other, 40);
            Err(Refusal::field(&field, "system, developer, user, assistant, tool or function", found))
        }
    }
}

/// An assistant's text, then a line for each tool call: `NAME(ARGUMENTS)`.
fn with_calls(content: String, message: &Incoming) -> String {
    let line = |function: &Function| {
        let arguments = match &function.arguments {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        format!("{}({arguments})", function.name)
    };
    let functions = message.tool_calls.iter().filter_map(|call| call.function.as_ref()).chain(&message.function_call);
    let said = Some(content).filter(|content| !content.is_empty());
    said.into_iter().chain(functions.map(line)).collect::<Vec<_>>().join("\n")
}

/// The tool whose result `message` is: of the call with its id, else as the message names it.
fn called<'a>(before: &'a [Incoming], message: &'a Incoming) -> Option<&'a str> {
    let id = message.tool_call_id.as_deref();
    let mut calls = before.iter().rev().flat_map(|message| &message.tool_calls);
    let call = calls.find(|call: &&ToolCall| id.is_some() && call.id.as_deref() == id);
    let named = call.and_then(|call| call.function.as_ref()).map(|function| function.name.as_str());
    named.or(message.name.as_deref())
}

/// The text of a message.
///
/// # Errors
/// Parts that are no text.
pub(super) fn text(message: &Incoming, index: usize) -> Answer<String> {
    match &message.content {
        None => Ok(String::new()),
        Some(TextOrList::Text(text)) => Ok(text.clone()),
        Some(TextOrList::List(parts)) => {
            let text = |(at, part): (usize, &ContentPart)| match (part.kind.as_str(), &part.text) {
                ("text", Some(text)) => Ok(text.clone()),
                (kind, _) => {
                    let field = format!("messages[{index}].content[{at}]");
                    Err(Refusal::field(&field, "a part of type text", crate::escape::beginning(kind, 40)))
                }
            };
            parts.iter().enumerate().map(text).collect::<Answer<Vec<String>>>().map(|texts| texts.join("\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::messages;
    use serde_json::{Value, json};

    fn told(all: Value) -> Vec<(&'static str, String)> {
        let all: Vec<_> = serde_json::from_value(all).unwrap();
        messages(&all).unwrap().into_iter().map(|message| (message.role.name(), message.content)).collect()
    }

    #[test]
    fn calls_of_tools_and_their_results_are_text() {
        let call = |id: &str, name: &str, arguments: Value| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
        let calls =
            json!([call("a", "weather", json!("{\"city\": \"Orrin\"}")), call("b", "clock", json!({ "zone": 1 }))]);
        let found = told(json!([
            { "role": "user", "content": "How is it there?" },
            { "role": "assistant", "content": null, "tool_calls": calls },
            { "role": "tool", "tool_call_id": "b", "content": "noon" },
            { "role": "tool", "tool_call_id": "a", "content": [{ "type": "text", "text": "rain" }] },
            { "role": "assistant", "content": "It rains.", "tool_calls": null },
            { "role": "function", "name": "dice", "content": "6" },
            { "role": "tool", "tool_call_id": "z", "content": "?" },
        ]));
        let want = [
            ("user", "How is it there?"),
            ("assistant", "weather({\"city\": \"Orrin\"})\nclock({\"zone\":1})"),
            ("user", "Result of clock:\nnoon"),
            ("user", "Result of weather:\nrain"),
            ("assistant", "It rains."),
            ("user", "Result of dice:\n6"),
            ("user", "Result:\n?"),
        ];
        assert_eq!(found, want.map(|(role, text)| (role, text.to_owned())));
    }
}
