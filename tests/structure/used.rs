//! The paths of a source file that begin with `crate` or `super`, in braces and over several lines too.

use super::circles::paths::{Token, tokens};

/// A name of a path, and its line.
pub(super) type Name = (String, usize);

/// The paths of `source`, each from `crate` or `super` on. Comments and texts are not read.
pub(super) fn paths(source: &str) -> Vec<Vec<Name>> {
    let tokens = tokens(source);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let begins = is(&tokens, at, "crate") || is(&tokens, at, "super");
        let goes_on = at > 0 && is(&tokens, at - 1, "::");
        if begins && !goes_on && is(&tokens, at + 1, "::") {
            at = tree(&tokens, at, &[], &mut found);
        } else {
            at += 1;
        }
    }
    found
}

fn is(tokens: &[Token], at: usize, text: &str) -> bool {
    tokens.get(at).is_some_and(|token| token.text == text)
}

/// Adds the paths of the tree that begins at `at`, each behind `prefix`. Returns the index behind the tree.
fn tree(tokens: &[Token], mut at: usize, prefix: &[Name], found: &mut Vec<Vec<Name>>) -> usize {
    let mut path = prefix.to_vec();
    while let Some(word) = tokens.get(at).filter(|token| token.is_word()) {
        path.push((word.text.clone(), word.line));
        at += 1;
        if !is(tokens, at, "::") {
            found.push(path);
            return at;
        }
        at += 1;
    }
    if !is(tokens, at, "{") {
        found.push(path);
        return at;
    }
    at += 1;
    while at < tokens.len() && !is(tokens, at, "}") {
        if is(tokens, at, ",") || is(tokens, at, "*") {
            at += 1;
        } else if is(tokens, at, "as") {
            at += 2;
        } else {
            at = tree(tokens, at, &path, found).max(at + 1);
        }
    }
    at + 1
}

#[test]
fn paths_in_braces_and_over_several_lines_are_found() {
    let source = "use crate::{\n    cli::x,\n    eval::{self, record as other, *},\n};\n// use crate::serve;\n\
                  use super::super::a;\nfn f(_: crate::b::C<crate::D>) { \"crate::e\"; crate::F { g: 1 } }\n";
    let shown = |path: &Vec<Name>| path.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join("::");
    let found = paths(source);
    let want = [
        "crate::cli::x",
        "crate::eval::self",
        "crate::eval::record",
        "super::super::a",
        "crate::b::C",
        "crate::D",
        "crate::F",
    ];
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), want);
    assert_eq!((found[0][1].1, found[1][1].1, found[3][2].1), (2, 3, 6));
}
