//! Files of this package do not use each other in a circle; files that do are found.

#[path = "circles.rs"]
mod circles;

use circles::circles;
use std::fs;
use std::path::Path;

/// The circles of a folder with these files.
fn of(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    circles(folder.path())
}

#[test]
fn files_do_not_use_each_other_in_a_circle() {
    let found = circles(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_circle_is_found_and_named() {
    let found = of(&[
        ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub use a::A;\n"),
        ("a.rs", "use crate::b::B;\npub struct A(B);\n"),
        ("b.rs", "pub struct B;\nfn f() {\n    super::c::g();\n}\n"),
        ("c.rs", "pub fn g() -> crate::A { todo!() }\n"),
        ("d.rs", "use crate::{a::A, b::B};\n"),
    ]);
    assert_eq!(
        found,
        ["3 files (a.rs, b.rs, c.rs): a.rs:1 uses crate::b::B; b.rs:3 uses super::c::g; c.rs:1 uses crate::A"]
    );
}

#[test]
fn a_folder_that_re_exports_its_files_is_in_no_circle() {
    let folder = |more: &str| format!("mod one;\nmod two;\npub use one::One;\nuse two::Two;\n{more}");
    let files = |module: &str| {
        of(&[
            ("lib.rs", "mod folder;\n"),
            ("folder/mod.rs", &folder(module)),
            ("folder/one.rs", "use super::Two;\npub struct One(Two);\n"),
            (
                "folder/two.rs",
                "pub struct Two;\n/// As [`super::One`], crate::folder::one::One.\nconst A: &str = \"super::One\";\n",
            ),
        ])
    };
    assert_eq!(files(""), [""; 0]);
    assert_eq!(files("pub struct Three(One);\n"), [""; 0]);
    let found = of(&[
        ("lib.rs", "mod folder;\n"),
        ("folder/mod.rs", "mod one;\npub use one::One;\npub struct Two(One);\n"),
        ("folder/one.rs", "use super::Two;\npub struct One(Box<Two>);\n"),
    ]);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("2 files (folder/mod.rs, folder/one.rs): "), "{}", found[0]);
}

#[test]
fn paths_of_all_kinds_are_read() {
    let circle = |a: &str| {
        !of(&[("lib.rs", "mod a;\nmod b;\n"), ("a.rs", a), ("b.rs", "use crate::a;\nstruct B(a::A);\n")]).is_empty()
    };
    for a in [
        "use super::b::*;\nstruct A(B);",
        "use super::{b};",
        "use crate::b as other;\nfn f(_: other::B) {}",
        "use crate::{std::x, b::{self, B as C}};",
        "mod inner {\n    fn f<'a>(c: char) -> super::super::b::B { 'b'; todo!() }\n}",
        "fn f() { format!(\"{}\", crate::b::B) }",
        "const A: char = '\"'; fn f() { crate::b::g() }",
        "const A: &str = r#\"\"\"#; fn f() { crate::b::g() }",
    ] {
        assert!(circle(a), "{a}");
    }
    for a in [
        "use super::b_::*;",
        "use std::b::B;",
        "// use crate::b;",
        "/* crate::b::B */",
        "const A: &str = \"crate::b::B\";",
        "const A: &str = r#\"crate::b::B\"#;",
        "#[cfg(test)]\n#[allow(dead_code)]\nmod tests {\n    use crate::b::B;\n    mod deeper {}\n}\n",
    ] {
        assert!(!circle(a), "{a}");
    }
}
