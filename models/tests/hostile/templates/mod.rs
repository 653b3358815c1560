//! Chat templates that make as much as they can of little: each ends in an error, soon and in little memory.

mod depth;
mod growth;

use moot_models::ModelError;
use moot_models::tokenizer::{ChatTemplate, Message, Role, Segment, Thinking};
use std::time::{Duration, Instant};

fn refused(source: &str) -> String {
    let started = Instant::now();
    let error = ChatTemplate::new(source, "test", None, None).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(8), "{source}: {:?}", started.elapsed());
    match error {
        ModelError::Template { reason, .. } => reason,
        other => panic!("{other}"),
    }
}

/// Runs `work` on a thread with half of the stack that threads have: where rendering is called from is not known.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap();
    thread.join().unwrap();
}

fn rendered(source: &str) -> String {
    let message = [Message::new(Role::User, "question")];
    let template = ChatTemplate::new(source, "test", None, None).unwrap_or_else(|error| panic!("{source}: {error}"));
    let segments = template.render(&message, true, Thinking::Off).unwrap();
    segments.iter().map(Segment::text).collect()
}

#[test]
fn usual_templates_render_within_the_limits() {
    for (body, expected) in [
        ("{{ 'a' ~ 1 ~ missing ~ [1, 2] }}", "a1[1, 2]"),
        ("{{ 'a' + 'b' }}{{ 1 + 2 }}{{ [1] + [2] }}{{ 2 * 3 }}{{ 'ab' * 2 }}", "ab3[1, 2]6abab"),
        (
            "{% if 'a' in 'cat' and 'role' in messages[0] and 3 not in [1] and not missing in [1] %}yes{% endif %}",
            "yes",
        ),
        ("{{ ' a\\nb ' | trim | indent(2) | upper }}", "A\n  B"),
        (
            "a{% for n in [1, 2, 3] %}b{% if n == 1 %}c{% elif n == 2 %}d{% continue %}{% else %}e{% endif %}f{% endfor %}g",
            "abcfbdbefg",
        ),
        (
            "{% macro m(x) %}<{{ x or 'none' }}{% if x and x > 1 %}!{% endif %}>{% endmacro %}a{{ m(2) }}b{{ m(0) }}c",
            "a<2!>b<none>c",
        ),
        (
            "a{% for n in [] %}b{% else %}c{% endfor %}d{% set x %}e{% endset %}{{ x }}f{{ 'g' if x == 'h' else 'i' }}j",
            "acdefij",
        ),
        ("{{ {'a': [1, 2]} | tojson }}", "{\"a\": [1, 2]}"),
        (
            "{{ 'question'[2:5] }}{{ 'question'[::-1] }}{{ [1, 2, 3][-2:] }}{{ [1, 2, 3][::2] }}",
            "estnoitseuq[2, 3][1, 3]",
        ),
        ("<{{ ''[::-1] }}{{ (' ' | trim)[-3::-2] }}{{ missing[::-1] }}>{{ [][::-1] }}{{ range(0)[::-1] }}", "<[]>[][]"),
        ("{{ '%s-%03d' | format('x', 7) }}{{ 'a,b'.split(',') | join('+') }}", "x-007a+b"),
        ("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{{ (1, 2)[1] }}", "a12"),
        ("{% macro m(x) %}<{{ x ~ '!' }}>{% endmacro %}{{ m('a') + m('b') }}", "<a!><b!>"),
        ("{% set ns = namespace(n=0) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", "3"),
        ("{{ messages | map(attribute='role') | join('+') }}{{ messages | length }}", "user1"),
    ] {
        assert_eq!(rendered(&format!("{body}{{{{ messages[0].content }}}}")), format!("{expected}question"), "{body}");
    }
}

#[test]
fn statements_and_names_that_no_template_needs_are_refused() {
    for (body, says) in [
        ("{% include 'chat_template' %}", "found the statement \"include\""),
        ("{% import 'chat_template' as x %}", "found the statement \"import\""),
        ("{% from 'chat_template' import x %}", "found the statement \"from\""),
        ("{% extends 'chat_template' %}", "found the statement \"extends\""),
        ("{% block a %}{{ self.a() }}{% endblock %}", "found the statement \"block\""),
        ("{% for x in [1] recursive %}{% if loop.depth < 9 %}{{ loop([2]) }}{% endif %}{% endfor %}", "recursive loop"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion"),
        ("{% macro m(n) %}{{ caller }}{% call(x) m(n) %}{% endcall %}{% endmacro %}{{ m(1) }}", "recursion"),
        ("{% for x in [1] %}{{ loop.cycle() }}{% endfor %}", "missing argument"),
        (&"x".repeat(1 << 16), "bytes in a line"),
        (&"\n".repeat(1 << 16), "lines"),
        (&format!("{{{{ {} }}}}", "a".repeat(257)), "bytes in a name"),
        (&format!("{{{{ x.{} }}}}", "a".repeat(257)), "bytes in a name"),
        (&format!("{{{{ f({}=1) }}}}", "a".repeat(257)), "bytes in a name"),
        (&format!("{{{{ 'a' | map({}'upper') | list }}}}", "'map', ".repeat(1500)), "filters within filters"),
    ] {
        let (source, says) = (format!("{body}{{{{ messages[0].content }}}}"), says.to_owned());
        on_a_small_stack(move || {
            let reason = refused(&source);
            assert!(reason.contains(&says), "{source}: {reason}");
        });
    }
    let long = format!("{{{{ messages[0].content }}}}Z{}", "q".repeat(60_000));
    assert!(ChatTemplate::new(&long, "test", None, None).is_ok(), "text like a placeholder's beginning");
}
