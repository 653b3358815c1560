//! The format of what several sentences are about.

use crate::prompt_file;
use crate::protocol::format::Format;
use crate::protocol::list::one_line;
use crate::transcript::Parsed;
use serde::Deserialize;
use serde_json::Value;

/// `3: X`, a line for each of the sentences `numbers`, in words of `text`: `{"numbers": [1, 3], "text": "..."}` as format values.
pub static SUBJECTS: Format = Format {
    name: "subjects",
    about: "what each of several sentences is about",
    explains_first: false,
    grammar: Some(prompt_file!("reply/subjects.lark")),
    schema: Some(prompt_file!("reply/subjects.jsonc")),
    line,
    parse: |text, _, values| parse(text, values),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    subjects: Vec<String>,
}

fn line(object: &str) -> Option<String> {
    let said: Said = serde_json::from_str(object.trim()).ok()?;
    let lines = (1..).zip(&said.subjects).map(|(number, subject)| format!("{number}: {}", one_line(subject)));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// One subject a number; empty where its line is missing. `None` without any line.
fn parse(reply: &str, values: &Value) -> Option<Parsed> {
    let numbers: Vec<u64> = values.get("numbers")?.as_array()?.iter().filter_map(Value::as_u64).collect();
    let mut answers = vec![String::new(); numbers.len()];
    let mut found = false;
    for line in reply.lines() {
        let Some((number, subject)) = line.trim().split_once(':') else { continue };
        let number = number.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().ok();
        let at = numbers.iter().position(|wanted| Some(*wanted) == number);
        let Some(answer) = at.and_then(|at| answers.get_mut(at)) else { continue };
        if answer.is_empty() {
            *answer = one_line(subject);
            found |= !answer.is_empty();
        }
    }
    found.then_some(Parsed::Answers { answers, explanation: String::new() })
}

#[cfg(test)]
mod tests {
    use super::{SUBJECTS, line};
    use crate::generation::Finish;
    use crate::transcript::Parsed;
    use serde_json::json;

    fn read(reply: &str) -> Parsed {
        SUBJECTS.read(reply, Finish::Stop, &json!({ "numbers": [1, 2, 4], "text": "" }))
    }

    #[test]
    fn a_line_that_is_missing_leaves_its_sentence_without_a_subject() {
        let answers =
            |list: [&str; 3]| Parsed::Answers { answers: list.map(str::to_owned).into(), explanation: String::new() };
        assert_eq!(read("1: the mill\n2: its owner\n4: the mill"), answers(["the mill", "its owner", "the mill"]));
        assert_eq!(read("Here:\n1: the mill\n4: a: b\n9: x"), answers(["the mill", "", "a: b"]));
        assert_eq!(read("the mill"), Parsed::Malformed);
        assert_eq!(line(r#"{"subjects":["the mill","it"]}"#).as_deref(), Some("1: the mill\n2: it"));
    }
}
