use moot::retrieval::chunk::{Chunking, Overlap};
use proptest::prelude::*;

fn cut(text: &str, words: usize, overlap: Overlap) -> Vec<&str> {
    Chunking::new(words, overlap).unwrap().cut(text).into_iter().map(|range| &text[range]).collect()
}

const NONE: Overlap = Overlap::Words(0);
const TEXT: &str = "One two three. Four five six. Seven eight nine. Ten.";

#[test]
fn whole_sentences_up_to_a_budget() {
    assert_eq!(cut(TEXT, 6, NONE), ["One two three. Four five six.", "Seven eight nine. Ten."]);
    assert_eq!(cut(TEXT, 5, NONE), ["One two three.", "Four five six.", "Seven eight nine. Ten."]);
    assert_eq!(cut(TEXT, 100, NONE), [TEXT]);
    assert_eq!(cut(&format!(" {TEXT}\n\n"), 0, NONE), [TEXT]);
    assert_eq!(cut(" \n\t ", 0, NONE), Vec::<&str>::new());
    assert_eq!(cut(" \n\t ", 5, NONE), Vec::<&str>::new());
}

#[test]
fn a_sentence_longer_than_the_budget_is_cut_between_words() {
    assert_eq!(cut("One two three four five. Six.", 2, NONE), ["One two", "three four", "five. Six."]);
    let address = "x".repeat(100);
    assert_eq!(cut(&address, 2, NONE).iter().map(|piece| piece.len()).collect::<Vec<_>>(), [64, 36]);
    assert_eq!(cut("\u{6a4b}\u{6881}\u{5f00}\u{901a}", 3, NONE), ["\u{6a4b}\u{6881}\u{5f00}", "\u{901a}"]);
}

#[test]
fn overlap_repeats_whole_sentences_or_words() {
    let sentences = cut(TEXT, 6, Overlap::Sentences(1));
    assert_eq!(
        sentences,
        ["One two three. Four five six.", "Four five six. Seven eight nine.", "Seven eight nine. Ten."]
    );
    let words = cut(TEXT, 6, Overlap::Words(2));
    assert_eq!(words, ["One two three. Four five six.", "five six. Seven eight nine. Ten."]);
    // As much as fits beside what is new.
    assert_eq!(
        cut("Aa bb cc dd ee. Ff gg hh ii jj.", 6, Overlap::Words(4)),
        ["Aa bb cc dd ee.", "ee. Ff gg hh ii jj."]
    );
    assert_eq!(
        cut("Aa bb cc dd ee. Ff gg hh ii jj.", 6, Overlap::Sentences(1)),
        ["Aa bb cc dd ee.", "Ff gg hh ii jj."]
    );
}

#[test]
fn impossible_values_are_refused() {
    for (words, overlap) in [(0, Overlap::Words(1)), (5, Overlap::Words(5)), (5, Overlap::Sentences(9))] {
        assert!(Chunking::new(words, overlap).unwrap_err().to_string().contains("overlap"));
    }
    let described = [(0, NONE), (100, NONE), (9, Overlap::Words(2)), (9, Overlap::Sentences(1))]
        .map(|(words, overlap)| Chunking::new(words, overlap).unwrap().describe());
    assert_eq!(described, ["whole documents", "100 words", "9 words, overlap 2 words", "9 words, overlap 1 sentences"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_nothing_is_too_long(
        text in "([a-zA-Z\u{e9}\u{6a4b}0-9.!? \n\"'#-]|Dr\\. |\r\n){0,300}",
        words in 0_usize..12,
        overlap in 0_usize..12,
        by_sentence: bool,
    ) {
        let overlap = overlap.min(words.saturating_sub(1));
        let overlap = if by_sentence { Overlap::Sentences(overlap) } else { Overlap::Words(overlap) };
        let ranges = Chunking::new(words, overlap).unwrap().cut(&text);
        let mut covered = 0;
        for range in &ranges {
            let piece = &text[range.clone()];
            prop_assert!(!piece.is_empty() && piece.trim() == piece);
            prop_assert!(words == 0 || piece.split_whitespace().count() <= words);
            prop_assert!(range.end > covered, "every passage has something new");
            prop_assert!(range.start <= covered || text[covered..range.start].trim().is_empty());
            covered = range.end;
        }
        prop_assert!(text[covered..].trim().is_empty());
    }
}

#[test]
fn a_description_is_read_again() {
    for (words, overlap) in [(0, NONE), (100, NONE), (7, Overlap::Words(3)), (7, Overlap::Sentences(1))] {
        let chunking = Chunking::new(words, overlap).unwrap();
        assert_eq!(Chunking::described(&chunking.describe()), Some(chunking));
    }
    for wrong in ["", "words", "0 words", "-1 words", "7 words, overlap 9 words", "7 words, overlap 2 pages", "notes"] {
        assert_eq!(Chunking::described(wrong), None, "{wrong}");
    }
}
