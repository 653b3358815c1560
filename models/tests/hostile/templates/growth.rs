//! Text, lists and work that grow with every step.

use super::{refused, rendered};

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
            "expected at most",
        ),
        (
            "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
            "expected at most",
        ),
        (
            "{% set ns = namespace(l={}) %}{% for i in range(60) %}{% set ns.l = {'a': ns.l, 'b': ns.l} %}{% endfor %}{{ ns.l }}",
            "expected at most",
        ),
        (
            "{% set ns = namespace(l=[1]) %}{% for i in range(9999) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}",
            "lists within lists",
        ),
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
    let long = "xxxxxxxxx\n".repeat(50_000);
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

/// Fuel counts steps; each of these steps takes long.
#[test]
fn the_work_of_all_steps_is_bounded() {
    let long = "{% set ns = namespace(s='x') %}{% for i in range(19) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{% set s = ns.s %}";
    let list = "{% set l = range(99999) | list %}";
    for (start, step) in [
        (long, "{% if s == s ~ '' %}{% endif %}"),
        (long, "{% set t = s ~ 'y' %}"),
        (long, "{% if s < s %}{% endif %}"),
        (long, "{% if s != s <= s %}{% endif %}"),
        (long, "{% if 'y' in s %}{% endif %}"),
        (long, "{% if s in [s] %}{% endif %}"),
        (long, "{% if s is eq s %}{% endif %}"),
        (long, "{% if s is startingwith s %}{% endif %}"),
        (long, "{% if s is lower %}{% endif %}"),
        (long, "{% set t = s | upper %}"),
        (long, "{% set t = s.upper() %}"),
        (long, "{% set t = s.count('y') %}"),
        (long, "{% set t = s.find('y') %}"),
        (long, "{% set t = s.strip(s ~ 'y') %}"),
        (long, "{% set t = s | trim(s) %}"),
        (long, "{% set t = s[1] %}"),
        (long, "{% set t = s[1:] %}"),
        (long, "{% for c in s %}{% break %}{% endfor %}"),
        (long, "{% set t = {s: 1}[s] %}"),
        (long, "{% set t = {s: 1} %}"),
        (long, "{% for c in [1] %}{% set t = loop.changed(s) %}{% endfor %}"),
        (long, "{% set t = strftime_now(s) %}"),
        (long, "{% set t = dict(a=s) %}"),
        (long, "{% set t = s | tojson %}"),
        (long, "{% set t = [s] | join('') %}"),
        (long, "{% set t = '%s' | format(s) %}"),
        (long, "{% set t = 1 if s in s %}"),
        (list, "{% set t = l | sort %}"),
        (list, "{% set t = l == l %}"),
        (list, "{% set t = 1 in l %}"),
        (list, "{% set t = l | map('string') | list %}"),
        (list, "{% set t = l[1:] %}"),
        (list, "{% set t = l ~ '' %}"),
        (list, "{% set t = l | sum %}"),
        (list, "{% set t = l | last is eq l %}"),
        (list, "{% set t = l | selectattr('a') | list %}"),
        (list, "{% set t = dict(*[{}], **{'a': l}) %}"),
        (list, "{% set t = range(*l) %}"),
        ("", "{% set t = range(99999)[99998] %}"),
        ("", "{% set t = range(99999) | list %}"),
        ("{% set l = ['a'] * 9999 %}{% set s = 'b' * 100000 %}", "{% set t = l | select('in', s) | list %}"),
        ("{% set l = ['a'] * 9999 %}{% set s = 'b.' * 9999 %}", "{% set t = l | map(attribute=s) | list %}"),
    ] {
        let source = format!(
            "{start}{{% for i in range(99999) %}}{{% for j in range(99999) %}}{step}{{% endfor %}}{{% endfor %}}"
        );
        let reason = refused(&format!("{source}{{{{ messages[0].content }}}}"));
        assert!(reason.contains("expected at most"), "{start}{step}: {reason}");
    }
    // Steps that take no fuel of their own.
    for step in [
        "{% with %}{% endwith %}",
        "{% macro m() %}{% endmacro %}",
        "{% set x %}{% endset %}",
        "{% autoescape 1 %}{% endautoescape %}",
    ] {
        let source = format!(
            "{{% for i in range(99999) %}}{}{{% endfor %}}{{{{ messages[0].content }}}}",
            format!("{step}\n").repeat(9999)
        );
        assert!(refused(&source).contains("fuel"), "{step}");
    }
}
