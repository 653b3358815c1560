use moot::question::{Origin, Passage};
use moot::retrieval::fold::{fold, select};
use moot::retrieval::{Filter, Hit, Wanted};

fn hit(source: &str, text: &str) -> Hit {
    let origin =
        Origin { file: format!("{source}.txt"), id: None, line: None, page: None, characters: 0..text.len() as u64 };
    let source = Some(source.to_owned()).filter(|source| !source.is_empty());
    let passage = Passage { text: text.into(), title: None, source, date: None, url: None, notes: Vec::new(), origin };
    Hit { passage, score: 0.0, copies: Vec::new() }
}

/// Whether the two are folded, in either order.
fn folded(a: &str, b: &str) -> bool {
    let one = fold(vec![hit("a", a), hit("b", b)]);
    let other = fold(vec![hit("b", b), hit("a", a)]);
    assert_eq!(one.len(), other.len(), "{a:?} {b:?}");
    one.len() == 1
}

const OPENED: &str = "The bridge over the Elde opened in May 1932 after nine years of work. Twelve hundred people crossed it \
    on the first day, and the mayor spoke of a new age for the town.";

#[test]
fn copies_of_many_sources_are_one_document() {
    let copies = (0..10).map(|n| hit(&format!("s{n}"), OPENED)).collect();
    let folded = fold(copies);
    assert_eq!(folded.len(), 1);
    assert_eq!(folded[0].passage.source.as_deref(), Some("s0"));
    let sources: Vec<_> = folded[0].copies.iter().map(|copy| copy.source.as_deref().unwrap()).collect();
    assert_eq!(sources, ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"]);
}

#[test]
fn small_edits_are_the_same_voice() {
    for edited in [
        OPENED.to_uppercase(),
        OPENED.replace(", and", " and").replace(' ', "  "),
        OPENED.replace("the mayor", "mayor"),
        OPENED.replace("crossed", "crosssed").replace("people", "poeple"),
        format!("{OPENED} Subscribe to our newsletter."),
        format!("The town is old. {OPENED}"),
        OPENED.split_inclusive(". ").next().unwrap().to_owned(),
    ] {
        assert!(folded(OPENED, &edited), "{edited}");
    }
}

#[test]
fn contradicting_texts_stay_separate() {
    for (from, to) in [
        ("1932", "1933"),
        ("May 1932", "1932"),
        ("Elde", "Oder"),
        ("opened", "closed"),
        ("opened", "never opened"),
        ("Twelve", "Eleven"),
        ("the first day", "the second day"),
        ("The bridge", "It is a myth that the bridge"),
        ("new age", "golden age"),
    ] {
        assert!(!folded(OPENED, &OPENED.replace(from, to)), "{from} -> {to}");
    }
    assert!(!folded("It was legal in all of the towns by then.", "It was illegal in all of the towns by then."));
}

#[test]
fn a_paraphrase_is_another_voice() {
    let paraphrase = "After construction that had lasted nine years, the Elde bridge was opened to traffic in May 1932; on \
        day one it was used by twelve hundred people, and a new age for the town was proclaimed by its mayor.";
    assert!(!folded(OPENED, paraphrase));
    assert!(!folded("", ""));
    assert!(!folded("Yes.", "No."));
}

#[test]
fn short_texts_need_one_title() {
    let titled = |title: &str, text: &str| {
        let mut found = hit(title, text);
        found.passage.title = Some(title.into());
        found
    };
    let short = "He was born in London in 1802.";
    assert_eq!(fold(vec![titled("A", short), titled("B", short)]).len(), 2);
    assert_eq!(fold(vec![titled("A", short), titled("a", short)]).len(), 1);
    assert_eq!(fold(vec![titled("A", OPENED), titled("B", OPENED)]).len(), 1);
}

#[test]
fn the_best_of_all_or_of_each_source() {
    let texts = ["Ada built it.", "Bert built it.", "Cleo built it.", "Dora built it.", "Emil built it."];
    let candidates: Vec<Hit> = [("x", 0), ("x", 1), ("y", 0), ("x", 2), ("", 3), ("y", 4)]
        .map(|(source, text)| hit(source, texts[text]))
        .to_vec();
    let chosen = |by_source, fold, top, sources: &[&str]| -> Vec<(String, usize)> {
        let filter = Filter { sources: sources.iter().map(|&s| s.into()).collect(), ..Filter::default() };
        let wanted = Wanted { top, by_source, filter, fold };
        select(candidates.clone(), &wanted)
            .into_iter()
            .map(|f| (f.passage.text[..1].to_owned(), f.copies.len()))
            .collect()
    };
    let row = |letters: &str, copies: &[usize]| -> Vec<(String, usize)> {
        letters.chars().map(String::from).zip(copies.iter().copied()).collect()
    };
    assert_eq!(chosen(false, true, 2, &[]), row("AB", &[1, 0]));
    assert_eq!(chosen(false, false, 3, &[]), row("ABA", &[0, 0, 0]));
    // The next passage of y is taken instead of the copy in y; the passages of a source are together.
    assert_eq!(chosen(true, true, 1, &[]), row("ADE", &[1, 0, 0]));
    assert_eq!(chosen(true, true, 2, &[]), row("ABDE", &[1, 0, 0, 0]));
    assert_eq!(chosen(true, false, 1, &["y"]), row("A", &[0]));
}
