//! Chains of operators and of values: nothing is as deep as it is long.

use super::{on_a_small_stack, refused, rendered};
use moot_models::tokenizer::ChatTemplate;

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
