//! Fuzzing of what a corpus, an index, a record, a server's response and a model's reply are read from. The loop, the counting allocator and the rules are those of
//! `models/fuzz`, whose README.md says how to run a target for longer.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

#[path = "../models/fuzz/allocator.rs"]
mod allocator;
#[allow(dead_code)]
#[path = "../models/fuzz/json.rs"]
mod json;
mod make;
#[allow(dead_code)]
#[path = "../models/fuzz/mutate.rs"]
mod mutate;
#[path = "../models/fuzz/random.rs"]
mod random;
#[path = "../models/fuzz/run.rs"]
mod run;
mod targets;

#[test]
fn pdf() {
    run::target("pdf");
}

#[test]
fn html() {
    run::target("html");
}

#[test]
fn text() {
    run::target("text");
}

#[test]
fn table() {
    run::target("table");
}

#[test]
fn lines() {
    run::target("lines");
}

#[test]
fn manifest() {
    run::target("manifest");
}

#[test]
fn package() {
    run::target("package");
}

#[test]
fn rtf() {
    run::target("rtf");
}

#[test]
fn workbook() {
    run::target("workbook");
}

#[test]
fn mail() {
    run::target("mail");
}

#[test]
fn notebook() {
    run::target("notebook");
}

#[test]
fn record() {
    run::target("record");
}

#[test]
fn stream() {
    run::target("stream");
}

#[test]
fn reply() {
    run::target("reply");
}

/// A target without a test above would never run.
#[test]
fn every_target_has_a_test_and_a_corpus() {
    #[rustfmt::skip]
    let tested = [
        "pdf", "html", "text", "table", "lines", "manifest", "package", "rtf", "workbook", "mail", "notebook", "record", "stream", "reply",
    ];
    assert!(targets::TARGETS.iter().map(|target| target.name).eq(tested));
    assert!(targets::TARGETS.iter().all(|target| run::corpus(target).len() >= 3));
}

/// Behind the hashes are the parser and everything that commands do with a record: a record out of date would reach neither.
#[test]
fn records_of_the_corpus_are_accepted_once_their_hashes_are_renewed() {
    let target = targets::TARGETS.iter().find(|target| target.name == "record").unwrap();
    for name in make::RECORDED {
        let record = std::fs::read(make::path_of(&format!("record/{name}.jsonl"))).unwrap();
        let outcome = (target.entry)(&targets::sealed(&record));
        assert!(outcome.is_ok(), "{name}: {}; make the record again (fuzz/make.rs)", outcome.unwrap_err());
    }
}

/// Bytes that a page or a text may take for each of its own: what `docs/limits-input.md` says.
const FACTOR: usize = 40;

/// Pages that take the most: short blocks, character references, words, control characters.
#[test]
fn pages_take_a_bounded_multiple_of_their_bytes() {
    let parts = [
        "<p>a",
        "<li>x</li>",
        "a<br>",
        "<td>1",
        "&#97;",
        "&gt",
        "a\r",
        "a ",
        "1<sup>2</sup> ",
        "<a href=b>c</a>",
        "<b hidden></b>",
        "\u{1}\u{2}",
        "a\n\n",
    ];
    let most = parts.into_iter().flat_map(|part| ["html", "text"].map(|name| (name, part))).map(|(name, part)| {
        let input = part.repeat((2 << 20) / part.len());
        let entry = targets::TARGETS.iter().find(|target| target.name == name).unwrap().entry;
        let ((), peak) = allocator::peak(|| drop(entry(input.as_bytes())));
        assert!(peak < (1 << 20) + FACTOR * input.len(), "{name}, {part:?}: {} bytes a byte", peak / input.len());
        (peak / input.len(), name, part)
    });
    let most = most.max();
    // Shown with --nocapture.
    #[allow(clippy::print_stderr)]
    {
        eprintln!("bytes for each byte: {most:?}");
    }
}
