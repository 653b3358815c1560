mod columns;
mod letters;
pub(crate) mod make;
mod parts;

use super::{folder, one, open, read};
use moot::retrieval::chunk::Chunking;
use std::path::Path;

/// Made by `tests/golden/pdf/make.py`.
fn golden(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/pdf").join(name)).unwrap()
}

const FIRST: &str = "The bridge over the Elde opened in May 1932, after nine years of work. Its official name is \
    Br\u{fc}cke der Einheit \u{2013} few use it.";

#[test]
fn pages_are_documents() {
    let pages = one("text.pdf", &golden("text.pdf")).unwrap();
    assert_eq!(pages.len(), 2);
    let paragraphs: Vec<String> =
        pages[0].text.split("\n\n").map(|p| p.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(paragraphs, [FIRST, "A second paragraph."]);
    assert_eq!(pages[1].text, "The council closed it in 1998.");
    assert!(pages.iter().all(|page| page.title.as_deref() == Some("The bridge & the town")));
}

#[test]
fn passages_have_their_page() {
    let f = folder(&[("papers/text.pdf", &golden("text.pdf"))]);
    let corpus = open(&f, &["corpus"]).unwrap();
    let passages: Vec<_> = corpus.passages(Chunking::default()).map(Result::unwrap).collect();
    let origins: Vec<_> = passages.iter().map(|p| (p.origin.page, p.origin.line, p.origin.characters.start)).collect();
    assert_eq!(origins, [(Some(1), None, 0), (Some(2), None, 0)]);
    assert_eq!(passages[1].origin.characters.end, 30);
    assert_eq!(passages[1].source.as_deref(), Some("papers"));
}

#[test]
fn unreadable_files_are_named() {
    let text = golden("text.pdf");
    let cases = [
        (golden("encrypted.pdf"), "a.pdf: expected a PDF that opens without a password, found an encrypted one"),
        (golden("picture.pdf"), "a.pdf: expected a PDF with text, found only pictures (on 1 page)"),
        (b"%PDF-1.7 and nothing else".to_vec(), "a.pdf: expected a PDF, found something else, or a broken one"),
        (Vec::new(), "a.pdf: expected a PDF, found something else, or a broken one"),
    ];
    for (content, expected) in &cases {
        assert_eq!(&one("a.pdf", content).unwrap_err(), expected);
    }
    let f = folder(&[("a.pdf", &cases[0].0), ("b.pdf", &text)]);
    let (pages, skipped) = read(&f, "corpus").unwrap();
    assert_eq!((pages.len(), skipped.len()), (2, 1));
    assert_eq!(skipped[0], format!("corpus/{}", cases[0].1));
}

#[test]
fn damaged_files_end_in_text_or_one_line() {
    let sound = golden("text.pdf");
    for step in 0..60 {
        let at = sound.len() * step / 60;
        let cut = &sound[..at];
        let mut bent = sound.clone();
        bent[at..(at + 20).min(sound.len())].fill(b'9');
        for content in [cut, &bent] {
            if let Err(said) = one("a.pdf", content) {
                assert!(said.starts_with("a.pdf: expected a PDF") && !said.contains('\n'), "{said}");
            }
        }
    }
}
