//! Chat templates, against `apply_chat_template` and by their rules.

use super::fixture::{MODELS, ids, json, model, tiny};
use moot_models::ModelError;
use moot_models::tokenizer::{ChatTemplate, Date, Message, Role, Segment};

fn template(source: &str) -> ChatTemplate {
    ChatTemplate::new(source, "test", Some("<s>"), Some("</s>")).unwrap()
}

fn text(segments: &[Segment]) -> String {
    segments.iter().map(Segment::text).collect()
}

fn user(content: &str) -> [Message; 1] {
    [Message::new(Role::User, content)]
}

fn reason(error: ModelError) -> String {
    match error {
        ModelError::Template { reason, .. } => reason,
        other => panic!("not a template error: {other}"),
    }
}

#[test]
fn text_and_ids_equal_apply_chat_template() {
    let golden = json("chats.json");
    for name in MODELS {
        let (metadata, tokenizer) = model(name);
        let template = ChatTemplate::from_gguf(metadata, tokenizer).unwrap();
        assert!(template.takes_system());
        for case in golden.as_array().unwrap() {
            let messages: Vec<Message> = serde_json::from_value(case["messages"].clone()).unwrap();
            for (key, prompt) in [(name.to_owned(), false), (format!("{name}+prompt"), true)] {
                let segments = template.render(&messages, prompt).unwrap();
                assert_eq!(text(&segments), case[&key]["text"].as_str().unwrap(), "{key}");
                assert_eq!(tokenizer.encode_prompt(&segments).unwrap(), ids(&case[&key]["ids"]), "{key}: {messages:?}");
            }
        }
    }
}

#[test]
fn contents_are_segments_of_their_own() {
    let segments =
        template("{% for m in messages %}[{{ m.role }}]{{ m.content }}!{% endfor %}").render(&user(" a b\n"), true);
    let expected = ["[user]", " a b\n", "!"];
    let [Segment::Scaffold(open), Segment::Content(content), Segment::Scaffold(close)] = &segments.unwrap()[..] else {
        panic!("not scaffold, content, scaffold");
    };
    assert_eq!([open, content, close], expected);
}

#[test]
fn a_template_that_trims_trims() {
    for (filter, expected) in [
        ("| trim", "[a b]"),
        (".strip()", "[a b]"),
        (".lstrip()", "[a b\n ]"),
        (".rstrip()", "[ \n a b]"),
        (".strip('\\n')", "[ \n a b\n ]"),
    ] {
        let template = template(&format!("{{% for m in messages %}}[{{{{ m.content{filter} }}}}]{{% endfor %}}"));
        assert_eq!(text(&template.render(&user(" \n a b\n "), true).unwrap()), expected, "{filter}");
        assert_eq!(text(&template.render(&user(""), true).unwrap()), "[]", "{filter}");
    }
}

#[test]
fn a_content_must_come_out_once_and_whole() {
    let wrap = |body: &str| format!("{{% for m in messages %}}{body}{{% endfor %}}");
    for (body, expected) in [
        ("{{ m.content | upper }}", "drops or rewrites the content of message 1 of 1 (user)"),
        ("{{ m.content | tojson }}", "drops or rewrites the content of message 1 of 1 (user)"),
        ("{{ m.content | e }}", "drops or rewrites the content of message 1 of 1 (user)"),
        ("{{ m.content[:5] }}", "drops or rewrites the content of message 1 of 1 (user)"),
        ("{{ m.content + m.content }}", "repeats the content of message 1 of 1 (user)"),
    ] {
        let error = ChatTemplate::new(&wrap(body), "test", None, None).unwrap_err();
        assert!(reason(error).contains(expected), "{body}");
    }
    let deaf = template(&wrap("{% if m.role != 'system' %}{{ m.content }}{% endif %}"));
    assert!(!deaf.takes_system());
    let messages = [Message::new(Role::System, "rules"), Message::new(Role::User, "q")];
    assert!(reason(deaf.render(&messages, true).unwrap_err()).contains("message 1 of 2 (system)"));
}

#[test]
fn what_transformers_gives_to_templates() {
    let show = |source: &str| {
        text(&template(&format!("{source}{{{{ messages[-1].content }}}}")).render(&user("q"), true).unwrap())
    };
    assert_eq!(show("{{ bos_token }}{{ eos_token }}{{ pad_token }}"), "<s></s>q");
    assert_eq!(show("{% if tools is none and documents is none and not x %}ok{% endif %}"), "okq");
    assert_eq!(show("{{ {'a': [1, '<é>']} | tojson }}"), "{\"a\": [1, \"<é>\"]}q");
    assert_eq!(show("{{ strftime_now('%d %b %Y') }} "), "26 Jul 2024 q");
    assert_eq!(show("  {% generation %}\nx\n  {%- endgeneration -%} \n y"), "xyq");
    assert_eq!(show("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}"), "01q");
    assert_eq!(show("{% set ns = namespace(n=1) %}{% set ns.n = 'a,b'.split(',')[1] %}{{ ns.n }}"), "bq");
    let dated =
        template("{{ strftime_now('%Y-%m-%d') }}{{ messages[0].content }}").with_date(Date::new(2031, 2, 3).unwrap());
    assert_eq!(text(&dated.render(&user("q"), true).unwrap()), "2031-02-03q");
}

#[test]
fn refusals_and_faults_are_errors() {
    let strict = template(
        "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{{ messages[0].content }}",
    );
    assert!(!strict.takes_system());
    let refused = strict.render(&[Message::new(Role::System, "s")], true).unwrap_err();
    assert!(reason(refused).contains("System role not supported"));
    for source in
        ["{% if %}", "{{ nothing.at.all }}{{ messages[0].content }}", "{{ messages[0].content | nofilter }}", ""]
    {
        assert!(ChatTemplate::new(source, "test", None, None).is_err(), "{source}");
    }
}

#[test]
fn an_endless_template_is_stopped() {
    let source = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
    assert!(reason(ChatTemplate::new(source, "test", None, None).unwrap_err()).contains("fuel"));
}

#[test]
fn a_model_folder_has_its_template_in_one_of_three_places() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let tokenizer = tiny();
    let render = || ChatTemplate::from_dir(dir.path(), &tokenizer).map(|t| text(&t.render(&user("q"), true).unwrap()));
    assert!(reason(render().unwrap_err()).contains("there is none"));
    write("tokenizer_config.json", r#"{"chat_template": "A{{ messages[0].content }}{{ eos_token }}"}"#);
    assert_eq!(render().unwrap(), "Aq</s>");
    write("tokenizer_config.json", r#"{"chat_template": [{"name": "rag", "template": "x"}]}"#);
    assert!(reason(render().unwrap_err()).contains("rag"));
    write(
        "tokenizer_config.json",
        r#"{"chat_template": [{"name": "rag", "template": "x"}, {"name": "default", "template": "B{{ messages[0].content }}"}]}"#,
    );
    assert_eq!(render().unwrap(), "Bq");
    write("chat_template.jinja", "C{{ messages[0].content }}\n");
    assert_eq!(render().unwrap(), "Cq");
}
