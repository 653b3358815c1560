//! Records whose texts try to be markup, script, templates or steering characters.

use super::{data, input};
use crate::eval::{answered, call, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use html5gum::{Token, Tokenizer};
use moot::eval::record::Header;
use moot::question::{Document, Label};
use moot::report::{Options, page};
use moot::transcript::{Event, Parsed};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const HOSTILE: [&str; 7] = [
    "</script><script>owned()</script>",
    "</style><img src=x onerror=owned()>",
    "\" onmouseover=\"owned()",
    "javascript:owned()",
    "\u{202e}evil\u{2066}\u{200b}\u{2028}\u{0}\u{1b}[31m\u{e0041}",
    "{{ 7 * 7 }}{% for x in y %}{# #}",
    "<!-- ]]> <svg/onload=owned()> &lt;b&gt;",
];

fn hostile() -> String {
    page_of(HOSTILE)
}

/// A page about a record with these texts in every field that takes a text.
fn page_of(texts: [&str; 7]) -> String {
    let all = texts.join(" ");
    let mut record = answered(&all, &[texts[0]], &[texts[1]], &texts);
    record.question.text = all.clone();
    record.question.slices = texts.map(str::to_owned).to_vec();
    record.question.options = texts.map(str::to_owned).to_vec();
    let document = |text: &str| Document {
        name: text.into(),
        text: all.clone(),
        source: Some(text.into()),
        url: Some(text.into()),
        date: Some(text.into()),
        label: Some(Label { kind: text.into(), answer: text.into() }),
        ..Document::default()
    };
    record.question.documents = texts.iter().map(|text| document(text)).collect();
    record.conclusion.as_mut().unwrap().explanation = all.clone();
    let mut one = call(1, &all, Parsed::Malformed);
    (one.role, one.prompt, one.raw) = (all.clone(), all.clone(), Some(all.clone()));
    one.messages[0].content = all.clone();
    record.calls.push(one);
    record.events.push(Event::Fallback { stage: 1, what: all.clone(), dropped: None });
    let mut header = Header { method: all.clone(), label: Some(all.clone()), ..header() };
    header.model.name = all.clone();
    header.switches = serde_json::json!({ texts[0]: texts[1] });
    header.prompts = texts.iter().map(|text| ((*text).to_owned(), (*text).to_owned())).collect();
    header.own_prompts = header.prompts.clone();
    header.dataset.as_mut().unwrap().name = all.clone();
    let options = Options { title: all, ..Options::default() };
    page(vec![input(texts[1], header, vec![record])], &options).unwrap()
}

#[test]
fn a_hostile_record_adds_no_element_and_no_attribute() {
    // Elements and the names of attributes are those of a page with harmless texts instead.
    let count = |page: &str| {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for token in Tokenizer::new(page) {
            let Token::StartTag(tag) = token.unwrap() else { continue };
            let name = String::from_utf8_lossy(&tag.name).into_owned();
            for (attribute, value) in &tag.attributes {
                let (attribute, value) = (String::from_utf8_lossy(attribute), String::from_utf8_lossy(&value.value));
                assert!(!attribute.starts_with("on"), "{name} {attribute}");
                assert!(attribute != "href" || value.starts_with('#'), "{name} {value}");
                assert!(!["src", "style", "action", "srcdoc"].contains(&attribute.as_ref()), "{name} {attribute}");
                found.entry(format!("{name} {attribute}")).or_default();
            }
            *found.entry(name).or_default() += 1;
        }
        found
    };
    let hostile = count(&hostile());
    assert_eq!(hostile, count(&page_of(["a", "b", "c", "d", "e", "f", "g"])));
    assert_eq!((hostile["script"], hostile["style"], hostile.get("img")), (4, 1, None));
}

#[test]
fn the_page_has_no_control_characters() {
    let page = hostile();
    for c in ['\u{202e}', '\u{2066}', '\u{200b}', '\u{2028}', '\u{0}', '\u{1b}', '\u{e0041}'] {
        assert!(!page.contains(c), "{c:?}");
        for id in ["data-index", "data-texts", "data-0"] {
            let mut values = vec![data(&page, id)];
            while let Some(value) = values.pop() {
                match value {
                    serde_json::Value::String(text) => assert!(!text.contains(c), "{id}: {text:?}"),
                    serde_json::Value::Array(list) => values.extend(list),
                    serde_json::Value::Object(fields) => {
                        assert!(fields.keys().all(|key| !key.contains(c)), "{id}");
                        values.extend(fields.into_iter().map(|(_, value)| value));
                    }
                    _ => {}
                }
            }
        }
    }
    // Text other than control characters is shown as it is, template syntax included.
    assert!(data(&page, "data-0")["id"].as_str().unwrap().contains("{{ 7 * 7 }}{% for x in y %}{# #}"));
    assert!(page.contains("{{ 7 * 7 }}{% for x in y %}{# #}"), "as text of the heading");
}

#[test]
fn the_policy_allows_this_style_and_this_script_alone() {
    let page = hostile();
    let between = |from: &str, to: &str| {
        let rest = page.split_once(from).unwrap().1;
        rest.split_once(to).unwrap().0.to_owned()
    };
    let hash = |text: &str| format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())));
    let policy = between("http-equiv=\"Content-Security-Policy\" content=\"", "\"")
        .replace("&#x27;", "'")
        .replace("&#x2f;", "/");
    let script = page.rsplit_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    let expected = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(&between("<style>", "</style>"))
    );
    assert_eq!(policy, expected);
    // Before the first element that it applies to.
    assert!(page.find("Content-Security-Policy").unwrap() < page.find("<style>").unwrap());
    // The script makes no markup of texts and asks for nothing.
    for banned in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "fetch(",
        "XMLHttp",
        "http:",
        "https:",
    ] {
        assert!(!script.contains(banned), "{banned}");
    }
}
