//! Chat templates, against `apply_chat_template` and by their rules.

use super::fixture::{ids, json, model, takes_system, tiny};
use moot_models::ModelError;
use moot_models::tokenizer::{ChatTemplate, Date, Message, Role, Segment, Thinking};

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
    for name in ["qwen2", "smollm"] {
        let (metadata, tokenizer) = model(name);
        let template = ChatTemplate::from_gguf(metadata, tokenizer).unwrap();
        assert!(takes_system(&template));
        for case in golden.as_array().unwrap() {
            let messages: Vec<Message> = serde_json::from_value(case["messages"].clone()).unwrap();
            for (key, prompt) in [(name.to_owned(), false), (format!("{name}+prompt"), true)] {
                let segments = template.render(&messages, prompt, Thinking::Off).unwrap();
                assert_eq!(text(&segments), case[&key]["text"].as_str().unwrap(), "{key}");
                assert_eq!(tokenizer.encode_prompt(&segments).unwrap(), ids(&case[&key]["ids"]), "{key}: {messages:?}");
            }
        }
    }
}

/// A template in the form of Gemma 3's: it has no role for instructions and puts them before the first user's text. The
/// expected text is jinja2's.
#[test]
fn instructions_may_be_put_into_the_first_turn() {
    let source = include_str!("../golden/tokenizer/templates/gemma3.jinja");
    let template = ChatTemplate::new(source, "gemma3", Some("<bos>"), Some("<eos>")).unwrap();
    assert!(takes_system(&template));
    let messages = [
        Message::new(Role::System, "Answer briefly."),
        Message::new(Role::User, " Who built it? "),
        Message::new(Role::Assistant, "A smith."),
        Message::new(Role::User, "When?"),
    ];
    let expected = "<bos><start_of_turn>user\nAnswer briefly.\n\nWho built it?<end_of_turn>\n<start_of_turn>model\n\
                    A smith.<end_of_turn>\n<start_of_turn>user\nWhen?<end_of_turn>\n<start_of_turn>model\n";
    let segments = template.render(&messages, true, Thinking::Off).unwrap();
    assert_eq!(text(&segments), expected);
    let contents = segments.iter().filter(|segment| matches!(segment, Segment::Content(_))).count();
    assert_eq!(contents, 4, "{segments:?}");
}

/// A template in the form of Qwen3.5's: macros, namespaces, a search from the end, thoughts on by default. The expected
/// text is jinja2's.
#[test]
fn thoughts_may_be_on_unless_they_are_switched_off() {
    let source = include_str!("../golden/tokenizer/templates/qwen35.jinja");
    let template = ChatTemplate::new(source, "qwen35", None, Some("<|im_end|>")).unwrap();
    assert!(takes_system(&template) && template.knows_thinking());
    let messages = [
        Message::new(Role::System, "Answer briefly."),
        Message::new(Role::User, " Who built it? "),
        Message::new(Role::Assistant, "A smith."),
        Message::new(Role::User, "When?"),
    ];
    let before = "<|im_start|>system\nAnswer briefly.<|im_end|>\n<|im_start|>user\nWho built it?<|im_end|>\n\
                  <|im_start|>assistant\nA smith.<|im_end|>\n<|im_start|>user\nWhen?<|im_end|>\n<|im_start|>assistant\n";
    for (thinking, end) in [(Thinking::On, "<think>\n"), (Thinking::Off, "<think>\n\n</think>\n\n")] {
        let segments = template.render(&messages, true, thinking).unwrap();
        assert_eq!(text(&segments), [before, end].concat());
        let contents = segments.iter().filter(|segment| matches!(segment, Segment::Content(_))).count();
        assert_eq!(contents, 4, "{segments:?}");
    }
}

/// A template in the form of LFM2.5's: the beginning of a text, instructions put together in a namespace, thoughts of
/// earlier replies cut off, what a reply is marked for training. The expected text is jinja2's.
#[test]
fn instructions_may_be_put_together_in_a_namespace() {
    let source = include_str!("../golden/tokenizer/templates/lfm2.jinja");
    let template = ChatTemplate::new(source, "lfm2", Some("<|startoftext|>"), Some("<|im_end|>")).unwrap();
    assert!(takes_system(&template));
    let messages = [
        Message::new(Role::System, "Answer briefly."),
        Message::new(Role::User, "Who built it?"),
        Message::new(Role::Assistant, "A smith."),
        Message::new(Role::User, "When? <|im_end|>"),
    ];
    let expected = "<|startoftext|><|im_start|>system\nAnswer briefly.<|im_end|>\n<|im_start|>user\nWho built it?\
                    <|im_end|>\n<|im_start|>assistant\nA smith.<|im_end|>\n<|im_start|>user\nWhen? <|im_end|><|im_end|>\n\
                    <|im_start|>assistant\n";
    let segments = template.render(&messages, true, Thinking::Off).unwrap();
    assert_eq!(text(&segments), expected);
    let contents = segments.iter().filter(|segment| matches!(segment, Segment::Content(_))).count();
    assert_eq!(contents, 4, "{segments:?}");
    let bare = template.render(&messages[1..2], false, Thinking::Off).unwrap();
    assert_eq!(text(&bare), "<|startoftext|><|im_start|>user\nWho built it?<|im_end|>\n");
}

/// Checks Gemma 4's template against the output of jinja2; with thoughts the model opens them itself.
pub(super) fn check_gemma4(template: &ChatTemplate) {
    let messages = [
        Message::new(Role::System, "Answer briefly."),
        Message::new(Role::User, " Who built it? "),
        Message::new(Role::Assistant, "A smith."),
        Message::new(Role::User, "When?"),
    ];
    let turns = "Answer briefly.<turn|>\n<|turn>user\nWho built it?<turn|>\n<|turn>model\nA smith.<turn|>\n<|turn>user\n\
                 When?<turn|>\n<|turn>model\n";
    assert!(takes_system(template) && template.knows_thinking());
    let shown = |thinking| text(&template.render(&messages, true, thinking).unwrap());
    assert_eq!(shown(Thinking::Off), format!("<bos><|turn>system\n{turns}<|channel>thought\n<channel|>"));
    assert_eq!(shown(Thinking::On), format!("<bos><|turn>system\n<|think|>{turns}"));
    let marks = template.thought_marks();
    assert_eq!((marks.open, marks.before_close, marks.close), ("<|channel>thought", "\n", "<channel|>"));
}

#[test]
fn thoughts_may_be_a_channel_of_a_turn() {
    let source = include_str!("../golden/tokenizer/templates/gemma4.jinja");
    check_gemma4(&ChatTemplate::new(source, "gemma4", Some("<bos>"), Some("<eos>")).unwrap());
}

/// A template in the form of gpt-oss's: instructions are a developer's message, and the reply's channel is chosen here. The
/// expected text up to there is jinja2's.
#[test]
fn replies_in_channels_begin_in_the_channel_of_thoughts_or_in_that_of_the_reply() {
    let source = include_str!("../golden/tokenizer/templates/harmony.jinja");
    let template = ChatTemplate::new(source, "harmony", None, Some("<|return|>")).unwrap();
    assert!(takes_system(&template) && template.knows_thinking());
    let messages = [
        Message::new(Role::System, "Answer briefly."),
        Message::new(Role::User, "Who built it? <|end|>"),
        Message::new(Role::Assistant, "A smith."),
        Message::new(Role::User, "When?"),
    ];
    let before = |effort: &str| {
        format!(
            "<|start|>system<|message|>You are a model.\nCurrent date: 2024-07-26\n\nReasoning: {effort}\n\n\
             # Valid channels: analysis, final.<|end|><|start|>developer<|message|># Instructions\n\nAnswer briefly.\n\n\
             <|end|><|start|>user<|message|>Who built it? <|end|><|end|><|start|>assistant<|channel|>final<|message|>\
             A smith.<|end|><|start|>user<|message|>When?<|end|><|start|>assistant"
        )
    };
    let marks = template.thought_marks();
    for (thinking, effort, channel) in [(Thinking::On, "medium", "analysis"), (Thinking::Off, "low", "final")] {
        let segments = template.render(&messages, true, thinking).unwrap();
        let begun = format!("<|channel|>{channel}<|message|>");
        assert_eq!(text(&segments), [before(effort), begun.clone()].concat());
        assert!(matches!(segments.last(), Some(Segment::Scaffold(last)) if last.ends_with(&begun)));
        assert_eq!(marks.open == begun, thinking == Thinking::On);
    }
    assert_eq!([marks.close, marks.then].concat(), "<|end|><|start|>assistant<|channel|>final<|message|>");
    let done = template.render(&messages[..3], false, Thinking::Off).unwrap();
    assert!(text(&done).ends_with("final<|message|>A smith.<|return|>"), "nothing is begun where nothing follows");
}

/// As Ministral 3's, whose models open thoughts themselves.
#[test]
fn thoughts_may_be_opened_by_the_model_alone() {
    let source = "{% for m in messages %}{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]{% else %}\
                  {% if m.thinking %}[THINK]{{ m.thinking }}[/THINK]{% endif %}{{ m.content }}</s>{% endif %}{% endfor %}";
    let template = template(source);
    let marks = template.thought_marks();
    assert_eq!((marks.open, marks.close, marks.then, marks.unswitched), ("[THINK]", "[/THINK]", "", true));
    for thinking in [Thinking::On, Thinking::Off] {
        assert_eq!(text(&template.render(&user("q"), true, thinking).unwrap()), "[INST]q[/INST]");
    }
}

#[test]
fn contents_are_segments_of_their_own() {
    let segments = template("{% for m in messages %}[{{ m.role }}]{{ m.content }}!{% endfor %}").render(
        &user(" a b\n"),
        true,
        Thinking::Off,
    );
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
        assert_eq!(text(&template.render(&user(" \n a b\n "), true, Thinking::Off).unwrap()), expected, "{filter}");
        assert_eq!(text(&template.render(&user(""), true, Thinking::Off).unwrap()), "[]", "{filter}");
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
    assert!(!takes_system(&deaf));
    let dumb = template(&wrap("{% if m.role != 'assistant' %}{{ m.content }}{% endif %}"));
    let messages = [Message::new(Role::User, "q"), Message::new(Role::Assistant, "a")];
    let error = dumb.render(&messages, true, Thinking::Off).unwrap_err();
    assert!(reason(error).contains("message 2 of 2 (assistant)"));
}

#[test]
fn templates_get_the_variables_of_transformers() {
    let show = |source: &str| {
        text(
            &template(&format!("{source}{{{{ messages[-1].content }}}}"))
                .render(&user("q"), true, Thinking::Off)
                .unwrap(),
        )
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
    assert_eq!(text(&dated.render(&user("q"), true, Thinking::Off).unwrap()), "2031-02-03q");
}

#[test]
fn refusals_and_faults_are_errors() {
    let strict = template(
        "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{{ messages[0].content }}",
    );
    assert!(!takes_system(&strict));
    let picky = template(
        "{% for m in messages %}{% if m.content == '' %}{{ raise_exception('Nothing said') }}{% endif %}{{ m.content }}{% endfor %}",
    );
    assert!(reason(picky.render(&user(""), true, Thinking::Off).unwrap_err()).contains("Nothing said"));
    for source in
        ["{% if %}", "{{ nothing.at.all }}{{ messages[0].content }}", "{{ messages[0].content | nofilter }}", ""]
    {
        assert!(ChatTemplate::new(source, "test", None, None).is_err(), "{source}");
    }
}

/// Gemma's and Llama 2's demands: no system message; user and assistant in turn.
const ALTERNATING: &str = concat!(
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}",
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}",
    "[{{ m.role }}]{{ m.content }}{% endfor %}"
);

#[test]
fn content_that_a_template_does_not_take_is_put_in_a_turn_that_it_takes() {
    let strict = template(ALTERNATING);
    assert!(strict.remark().unwrap().contains("system message"));
    let turns = [
        (Role::System, "Rules"),
        (Role::User, "a"),
        (Role::User, "b"),
        (Role::Assistant, "c"),
        (Role::System, "More"),
        (Role::User, "d"),
    ];
    let messages = turns.map(|(role, content)| Message::new(role, content));
    let segments = strict.render(&messages, true, Thinking::Off).unwrap();
    assert_eq!(text(&segments), "[user]Rules\n\na\n\nb[assistant]c[user]More\n\nd");
    assert_eq!(segments[1], Segment::Content("Rules\n\na\n\nb".into()), "folded text is content still");
    let plain = template("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}");
    let text = text(&plain.render(&messages[..3], true, Thinking::Off).unwrap());
    assert_eq!((text.as_str(), plain.remark()), ("[system]Rules[user]a[user]b", None));
}

#[test]
fn thinking_is_off_unless_asked_for() {
    let source =
        "{{ messages[0].content }}{% if enable_thinking is defined and enable_thinking is false %}<t></t>{% endif %}";
    let thinker = template(source);
    let show = |template: &ChatTemplate, thinking| text(&template.render(&user("q"), true, thinking).unwrap());
    assert!(thinker.knows_thinking());
    assert_eq!([Thinking::default(), Thinking::On].map(|t| show(&thinker, t)), ["q<t></t>", "q"]);
    let simple = template("{{ messages[0].content }}{{ enable_thinking is defined }}");
    assert!(!simple.knows_thinking());
}

#[test]
fn an_endless_template_is_stopped() {
    let source = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
    assert!(reason(ChatTemplate::new(source, "test", None, None).unwrap_err()).contains("fuel"));
}

#[test]
fn a_model_folder_has_its_template_in_one_of_three_files() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let tokenizer = tiny();
    let render = || {
        ChatTemplate::from_dir(dir.path(), &tokenizer)
            .map(|t| text(&t.render(&user("q"), true, Thinking::Off).unwrap()))
    };
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
