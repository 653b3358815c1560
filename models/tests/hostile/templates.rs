//! Chat templates that make as much as they can of little: each ends in an error, soon and in little memory.

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

/// Chains become trees as deep as they are long, which are compiled and dropped recursively.
#[test]
fn chains_are_bounded_before_they_are_compiled() {
    on_a_small_stack(|| {
        let many = |part: &str| part.repeat((63 << 10) / part.len());
        let chains = [
            " + a",
            " - a",
            " ~ a",
            " * a",
            " / a",
            " // a",
            " % a",
            " ** a",
            " and a",
            " or a",
            " if a",
            " if a else b",
            " in a",
            " not in a",
            " | trim",
            " | trim('a')",
            ".a",
            "[0]",
            "[0:1]",
            "()",
            "(a)",
            " is defined",
            " is not b",
            " is b(c)",
        ];
        let chains = chains.map(|chain| format!("{{{{ a{} }}}}", many(chain)));
        let prefixes = ["not ", "- ", "(", "[", "{a: ", "a(", "a[", "f(a=", "a if b else ", "a + (", "not (", "a | b("];
        let prefixes = prefixes.map(|prefix| format!("{{{{ {}a }}}}", many(prefix)));
        let statements = [
            format!("{{% if a %}}{}{{% endif %}}", many("{% elif a %}")),
            format!("{{% set a{} = 1 %}}", many(".a")),
            format!("{{% set {}a = 1 %}}", many("(")),
            format!("{{% for {}a in b %}}{{% endfor %}}", many("(")),
            format!("{{% set a | b{} %}}{{% endset %}}", many(" | b")),
            format!("{{% filter b{} %}}{{% endfilter %}}", many(" | b")),
            format!("{{% do a{}() %}}", many("[0]")),
            many("{% if a %}"),
            many("{% for a in b %}"),
            many("{% with %}"),
            many("{% set a %}"),
            many("{% filter a %}"),
            many("{% macro a() %}"),
            many("{% if a %}{% elif a %}{% elif a %}{{ a + a }}"),
        ];
        for source in chains.into_iter().chain(prefixes).chain(statements) {
            let reason = refused(&format!("{source}{{{{ messages[0].content }}}}"));
            let says = ["levels of statements and operators within each other", "syntax error"];
            assert!(says.iter().any(|says| reason.contains(says)), "{}: {reason}", &source[..40]);
            assert!(reason.len() < 400, "{reason}");
        }
    });
}

/// As deep as they may be, templates need little of the stack.
#[test]
fn chains_at_the_bound_fit_on_a_small_stack() {
    on_a_small_stack(|| {
        let most = |prefix: &str, part: &str, suffix: &str, end: &str| {
            let source = |times: usize| {
                format!("{prefix}{}{suffix}{}{{{{ messages[0].content }}}}", part.repeat(times), end.repeat(times))
            };
            let levels = (1..400).take_while(|&times| {
                let outcome = ChatTemplate::new(&source(times), "test", None, None);
                !outcome
                    .is_err_and(|error| error.to_string().contains("levels") || error.to_string().contains("recursion"))
            });
            levels.last().unwrap()
        };
        assert!(most("{{ 1", " + 1", " }}", "") > 100);
        assert!(most("{{ a", " ~ a", " }}", "") > 100);
        assert!(most("{{ a", " | trim", " }}", "") > 100);
        assert!(most("{{ ", "not ", "a }}", "") > 100);
        assert!(most("{{ ", "(a + ", "a }}", "") < 100);
        assert!(most("{{ ", "[", "a", "]") > 50);
        assert!(most("{% if a %}", "{% elif a %}", "{% endif %}", "") > 100);
        assert!(most("", "{% for a in [1] %}", "x", "{% endfor %}") > 50);
        assert!(most("", "{% if a is defined or not a %}", "x", "{% endif %}") > 40);
        assert!(most("", "{% set a %}", "x", "{% endset %}") > 50);
    });
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

/// Values that hold each other would be dropped recursively, however long the chain.
#[test]
fn values_do_not_form_chains() {
    let many = |start: &str, step: &str| {
        format!("{{% set ns = namespace(l=[1]) %}}{start}{{% for i in range(99999) %}}{step}{{% endfor %}}")
    };
    let head = "{% set head = namespace() %}{% set ns.at = head %}";
    for source in [
        many("", "{% set ns.l = [ns.l] %}"),
        many("", "{% set ns.l = (ns.l, 1) %}"),
        many("", "{% set ns.l = {'a': ns.l} %}"),
        many("", "{% set ns.l = dict(a=ns.l) %}"),
        many("", "{% set ns.l = namespace(a=ns.l) %}"),
        many(head, "{% set n = namespace() %}{% set ns.at.next = n %}{% set ns.at = n %}"),
        many("", "{% for x in ns.l %}{% set ns.l = [loop, 1] %}{% endfor %}"),
        many("", "{% for x in ns.l %}{% set ns.l = {'a': loop} %}{% endfor %}"),
        many("", "{% macro m() %}{{ ns.l }}{% endmacro %}{% set ns.l = [m] %}"),
        "{% set a = namespace() %}{% set a.a = a %}{{ a }}".to_owned(),
        "{% set a = namespace() %}{% set b = namespace(b=a) %}{% set a.b = b %}{{ a == b }}".to_owned(),
        "{% set a = namespace() %}{% set a.l = [a] %}{{ {a: 1} }}".to_owned(),
    ] {
        on_a_small_stack(move || {
            let reason = refused(&format!("{source}{{{{ messages[0].content }}}}"));
            assert!(
                reason.contains("lists within lists") || reason.contains("within a list, map or namespace"),
                "{source}: {reason}"
            );
        });
    }
    for step in [
        "{% set ns.l = ns.l | reverse %}",
        "{% set ns.l = ns.l[::-1] %}",
        "{% set ns.l = ns.l + [] %}",
        "{% set ns.l = [] + ns.l %}",
        "{% set ns.l = ns.l * 1 %}",
        "{% set ns.l = ns.l | map('string') %}",
        "{% set ns.l = ns.l | batch(1) | first %}",
        "{% set ns.l = ns.l | select %}",
        "{% set ns.l = ns.l | list %}",
        "{% set ns.l = ns.l | default([]) %}",
    ] {
        let source = many("", step).replace("99999", "2000");
        on_a_small_stack(move || {
            assert_eq!(rendered(&format!("{source}{{{{ ns.l | length }}}}{{{{ messages[0].content }}}}")), "1question");
        });
    }
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
