//! Chat templates that make as much as they can of little: each ends in an error, soon and in little memory.

use moot_models::ModelError;
use moot_models::tokenizer::{ChatTemplate, Message, Role, Segment, Thinking};
use std::time::{Duration, Instant};

fn refused(source: &str) -> String {
    let started = Instant::now();
    let error = ChatTemplate::new(source, "test", None, None).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(20), "{source}: {:?}", started.elapsed());
    match error {
        ModelError::Template { reason, .. } => reason,
        other => panic!("{other}"),
    }
}

fn rendered(source: &str) -> String {
    let message = [Message::new(Role::User, "question")];
    let template = ChatTemplate::new(source, "test", None, None).unwrap_or_else(|error| panic!("{source}: {error}"));
    let segments = template.render(&message, true, Thinking::Off).unwrap();
    segments.iter().map(Segment::text).collect()
}

#[test]
fn text_and_lists_do_not_grow_without_a_bound() {
    for (body, says) in [
        ("{{ 'x' | indent(5000000000) }}", "bytes of text"),
        ("{{ 'x' | indent(width=5000000000) }}", "bytes of text"),
        (
            "{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
            "bytes of text",
        ),
        (
            "{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
            "bytes of text",
        ),
        (
            "{% set ns = namespace(s='%') %}{% for i in range(99) %}{% set ns.s = ns.s | urlencode %}{% endfor %}{{ ns.s }}",
            "",
        ),
        (
            "{% set ns = namespace(s='<') %}{% for i in range(99) %}{% set ns.s = ns.s | replace('<', '<<') %}{% endfor %}",
            "bytes of text",
        ),
        (
            "{% set ns = namespace(s='<') %}{% for i in range(99) %}{% set ns.s = ns.s.replace('<', '<<') %}{% endfor %}",
            "bytes of text",
        ),
        (
            "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s.join([ns.s, ns.s]) %}{% endfor %}",
            "bytes of text",
        ),
        ("{{ '%1000000000d' | format(1) }}", "bytes of text"),
        ("{{ '%*d' | format(1000000000, 1) }}", "bytes of text"),
        ("{{ '{:1000000000}'.format(1) }}", "bytes of text"),
        ("{{ 'x' * 99999999 }}", "bytes of text"),
        ("{{ 99999999 * 'x' }}", "bytes of text"),
        ("{{ [1] | batch(5000000000, 'x') | list }}", "items"),
        ("{{ [1] | slice(5000000000, 'x') | list }}", "items"),
        ("{{ [1, [2]] | tojson(indent=5000000000) }}", "columns"),
        (
            "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = ns.l + ns.l %}{% endfor %}{{ ns.l | list | length }}",
            "may make at most",
        ),
        (
            "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
            "may make at most",
        ),
        (
            "{% set ns = namespace(l={}) %}{% for i in range(60) %}{% set ns.l = {'a': ns.l, 'b': ns.l} %}{% endfor %}{{ ns.l }}",
            "may make at most",
        ),
        (
            "{% set ns = namespace(l=[1]) %}{% for i in range(9999) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}",
            "lists within lists",
        ),
        ("{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}", "lists within lists"),
        ("{% set ns = namespace() %}{% set ns.a = ns %}{{ ns ~ 'x' }}", "lists within lists"),
        ("{% set ns = namespace() %}{% set ns.a = ns %}{{ ns in 'x' }}", "lists within lists"),
        ("{% set ns = namespace() %}{% set ns.a = ns %}{{ ns | string }}", "lists within lists"),
        ("{% set x %}{% for i in range(99999) %}{{ '0123456789' * 100 }}{% endfor %}{% endset %}", "bytes printed"),
        ("{% for i in range(99999) %}{{ '0123456789' * 100 }}{% endfor %}", "bytes printed"),
    ] {
        let reason = refused(&format!("{body}{{{{ messages[0].content }}}}"));
        assert!(reason.contains(says) && !reason.contains('\n'), "{body}: {reason}");
    }
}

/// The compiler computes products of constants: they are refused before it does.
#[test]
fn constants_do_not_grow_without_a_bound() {
    for body in [
        "{{ 'x' * 99999999 }}".to_owned(),
        "{{ 99999999 * 'x' }}".to_owned(),
        "{{ ('x' * 9999) * 9999 }}".to_owned(),
        "{{ 'x' * (9999 * 9999) }}".to_owned(),
        "{{ 'x' * 10 ** 8 }}".to_owned(),
        "{{ 'x' * 99999999.0 }}".to_owned(),
        "{{ 'x' * (1 // 0.00000001) }}".to_owned(),
        "{{ [1] * 99999999 }}".to_owned(),
        "{% if false %}{{ 'x' * 99999999 }}{% endif %}".to_owned(),
        "{% set x = 'x' * 99999999 %}".to_owned(),
        "{% if false %}{{ 'x' * 99999 }}{% endif %}".repeat(99),
    ] {
        let reason = refused(&format!("{body}{{{{ messages[0].content }}}}"));
        assert!(reason.contains("bytes of text by products of constants"), "{body}: {reason}");
    }
    assert!(rendered("{{ messages | length * 1000 * 100 }}{{ messages[0].content }}").starts_with("100000"));
}

#[test]
fn the_templates_own_text_is_bounded_too() {
    let long = "x".repeat(500_000);
    let (short, content) = ("0123456789", "{{ messages[0].content }}");
    for body in [
        format!("{{% set x %}}{{% for a in range(99999) %}}{long}{{% endfor %}}{{% endset %}}{content}"),
        format!("{{% for a in range(9999) %}}{{% for b in range(9999) %}}{short}{{% endfor %}}{{% endfor %}}{content}"),
        format!(
            "{{% macro m() %}}{long}{{% endmacro %}}{{% for a in range(9999) %}}{{{{ m() }}}}{{% endfor %}}{content}"
        ),
    ] {
        let reason = refused(&body);
        assert!(reason.contains("bytes printed"), "{reason}");
    }
    assert!(refused("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}").contains("fuel"));
    assert!(refused(&"x".repeat(2 << 20)).contains("expected at most 1048576 bytes"));
}

#[test]
fn what_templates_do_every_day_is_as_before() {
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
