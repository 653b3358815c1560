//! SentencePiece vocabularies of GGUF files, by small cases; the real ones are in `golden` and `families`.

use super::fixture::{model, small_sentencepiece};
use crate::tokenizer::content;
use moot_models::tokenizer::{Segment, Tokenizer};
use moot_models::weights::Value;

fn tokenizer(pieces: &[&str], more: &[(&str, Value)]) -> Tokenizer {
    Tokenizer::from_gguf(&small_sentencepiece(pieces, more)).unwrap()
}

/// The texts of the tokens of `text`.
fn pieces(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
    let ids = tokenizer.encode_text(text).unwrap();
    ids.iter().map(|&id| String::from_utf8_lossy(tokenizer.token_bytes(id).unwrap()).into_owned()).collect()
}

#[test]
fn the_best_union_is_joined_first() {
    // "ab" is better than "bc", so "abc" is reached only by "ab" + "c".
    let by_ab = tokenizer(&["▁", "a", "b", "c", "ab", "bc", "abc"], &[]);
    assert_eq!(pieces(&by_ab, "abc bc"), [" ", "abc", " ", "bc"]);
    let by_bc = tokenizer(&["▁", "a", "b", "c", "bc", "ab"], &[]);
    assert_eq!(pieces(&by_bc, "abc"), [" ", "a", "bc"]);
}

#[test]
fn characters_without_a_piece_are_bytes() {
    let tokenizer = tokenizer(&["▁", "a"], &[]);
    let ids = tokenizer.encode_text("aé\n").unwrap();
    assert_eq!(ids, [259, 260, 3 + 0xc3, 3 + 0xa9, 3 + 0x0a]);
    assert_eq!(tokenizer.decode_text(&ids), "aé\n");
    assert_eq!(tokenizer.decode_bytes(&ids[2..3]), [0xc3], "half a character is half a character");
}

#[test]
fn spelled_bytes_and_the_unknown_token_are_text() {
    let all: Vec<String> =
        ["<unk>", "<0x0A>", "<s>"].iter().flat_map(|t| (1..t.len()).map(|n| t[..n].to_owned())).collect();
    let mut parts: Vec<&str> = vec!["▁", "k", ">", "0", "x", "A", "s", "u", "n"];
    for text in &all {
        if !parts.contains(&text.as_str()) {
            parts.push(text);
        }
    }
    let tokenizer = tokenizer(&parts, &[]);
    for text in ["<unk>", "<0x0A>", "<s>"] {
        let ids = tokenizer.encode_text(text).unwrap();
        assert!(ids.iter().all(|&id| id >= 259), "{text}: {ids:?}");
        assert_eq!(tokenizer.decode_text(&ids), text);
    }
}

#[test]
fn the_space_in_front() {
    let spaced = tokenizer(&["▁", "a", "▁a", "▁▁"], &[]);
    assert_eq!(pieces(&spaced, "a"), [" a"]);
    assert_eq!(pieces(&spaced, " a"), [" ", " a"]);
    assert_eq!([" a", "a", "  "].map(|text| spaced.decode_text(&spaced.encode_text(text).unwrap())), [" a", "a", "  "]);
    assert!(spaced.leading_space());
    // After an added token too, as in Llama 2's published tokenizer.
    let prompt = [Segment::Scaffold("<s>a</s>".into()), Segment::Content("a".into())];
    assert_eq!(spaced.encode_prompt(&prompt).unwrap(), [1, 261, 2, 261]);
    // Control tokens come back as scaffold alone, and the space behind them is the tokenizer's own there too.
    assert_eq!(
        (spaced.decode_text(&[1, 261, 2]), spaced.decode_scaffold(&[1, 261, 2])),
        ("a".into(), "<s>a</s>".into())
    );
    let bare = tokenizer(&["▁", "a", "▁a"], &[("tokenizer.ggml.add_space_prefix", Value::Bool(false))]);
    assert_eq!((pieces(&bare, "a"), pieces(&bare, " a")), (vec!["a".into()], vec![" a".to_owned()]));
    assert_eq!(bare.decode_text(&bare.encode_text(" a").unwrap()), " a");
}

#[test]
fn a_continuation_gets_no_space_in_front_and_no_bos() {
    let tokenizer = tokenizer(&["▁", "a", "▁a", "▁▁"], &[("tokenizer.ggml.add_bos_token", Value::Bool(true))]);
    let continuation = |segments: &[Segment]| tokenizer.encode_continuation(segments).unwrap();
    let content = |text: &str| Segment::Content(text.into());
    assert_eq!(continuation(&[content("a")]), [260]);
    assert_eq!(continuation(&[content(" a")]), [261]);
    assert_eq!(continuation(&[]), [0_u32; 0]);
    assert_eq!(tokenizer.encode_prompt(&[content("a")]).unwrap(), [1, 261]);
    // After an added token as in a prompt, and control tokens in scaffold alone.
    assert_eq!(continuation(&[Segment::Scaffold("a</s>".into()), content("a")]), [260, 2, 261]);
    assert!(!continuation(&[content("</s>")]).contains(&2));
}

#[test]
fn extra_white_space_is_removed_where_the_file_says_so() {
    let remove = [("tokenizer.ggml.remove_extra_whitespaces", Value::Bool(true))];
    let tokenizer = tokenizer(&["▁", "a", "▁a"], &remove);
    assert_eq!(pieces(&tokenizer, "  a   a "), [" a", " a"]);
    assert!(tokenizer.encode_text("   ").unwrap().is_empty());
}

#[test]
fn user_defined_pieces_are_markers_or_white_space() {
    let mut metadata = small_sentencepiece(&["▁", "a", "<tool>", "▁▁▁"], &[]);
    let Some(Value::SignedArray(types)) = metadata.get("tokenizer.ggml.token_type") else { panic!("no types") };
    let mut types = types.clone();
    (types[261], types[262]) = (4, 4);
    metadata = super::fixture::with(&metadata, "tokenizer.ggml.token_type", Some(Value::SignedArray(types)));
    let tokenizer = Tokenizer::from_gguf(&metadata).unwrap();
    assert!(tokenizer.is_special(261) && !tokenizer.encode_text("<tool>").unwrap().contains(&261));
    assert_eq!(tokenizer.encode_text("a   a").unwrap(), [259, 260, 262, 259, 260]);
    assert_eq!(tokenizer.decode_bytes(&[262]), b"   ");
}

#[test]
fn one_bos_however_many_are_written() {
    let tokenizer = &model("mistral").1;
    let encode = |text: &str| tokenizer.encode_prompt(&[Segment::Scaffold(text.into())]).unwrap();
    let [none, one, three] = ["[INST] a[/INST]", "<s>[INST] a[/INST]", "<s><s><s>[INST] a[/INST]"].map(encode);
    assert_eq!((&none, none[0]), (&one, 1));
    assert_eq!(one, three);
    // Later ones are the template's business: Llama 2's begins every turn with one.
    assert_eq!(encode("<s>a</s><s>b").iter().filter(|&&id| id == 1).count(), 2);
    let content = [Segment::Content("<s><s>".into())];
    assert_eq!(tokenizer.encode_prompt(&content).unwrap().iter().filter(|&&id| id == 1).count(), 1);
}

#[test]
fn a_family_is_known_by_its_added_tokens() {
    // Mistral's tokenizer puts a space at the text's beginning alone, and none after [INST].
    let mistral = &model("mistral").1;
    let prompt = [Segment::Scaffold("<s>[INST]".into()), Segment::Content("a".into())];
    let bare = mistral.encode_text("a").unwrap();
    let ids = mistral.encode_prompt(&prompt).unwrap();
    assert_eq!(
        (ids.len(), mistral.token_bytes(ids[2]), mistral.token_bytes(bare[0])),
        (3, Some(&b"a"[..]), Some(&b" a"[..]))
    );
    // Phi-3's added tokens swallow the white space after them, content's too.
    let mut metadata = small_sentencepiece(&["▁", "a", "<|user|>", "<|assistant|>", "<|end|>"], &[]);
    let Some(Value::SignedArray(types)) = metadata.get("tokenizer.ggml.token_type") else { panic!("no types") };
    let types = types.iter().enumerate().map(|(id, &kind)| if id > 260 { 3 } else { kind }).collect();
    metadata = super::fixture::with(&metadata, "tokenizer.ggml.token_type", Some(Value::SignedArray(types)));
    let phi3 = Tokenizer::from_gguf(&metadata).unwrap();
    let prompt = [
        Segment::Scaffold("<s> <|user|>\n".into()),
        Segment::Content("  a".into()),
        Segment::Scaffold("<|end|>\n".into()),
    ];
    assert_eq!(phi3.encode_prompt(&prompt).unwrap(), [1, 259, 259, 261, 259, 260, 263]);
    content::check_disguises("phi3", &phi3);
}

/// Gemma 4's kind: merges as they are listed, on texts that are not cut into words, and BOS in front whatever the file says.
#[test]
fn merges_of_a_file_reach_over_spaces() {
    let listed = |merges: &[&str]| {
        let merges = merges.iter().map(|pair| pair.as_bytes().to_vec()).collect();
        let more = [
            ("tokenizer.ggml.model", Value::String("gemma4".into())),
            ("tokenizer.ggml.merges", Value::StringArray(merges)),
            ("tokenizer.ggml.add_bos_token", Value::Bool(false)),
        ];
        tokenizer(&["▁", "a", "b", "\n", "\n\n", "ab", "b▁", "ab▁", "b▁a"], &more)
    };
    let by_space = listed(&["b ▁", "b▁ a", "\n \n", "a b", "ab ▁"]);
    assert_eq!(pieces(&by_space, "ab ab"), ["a", "b a", "b"]);
    assert_eq!(pieces(&by_space, "b\n\n\nb"), ["b", "\n\n", "\n", "b"]);
    assert_eq!(pieces(&listed(&["a b", "ab ▁", "b ▁"]), "ab ab"), ["ab ", "ab"]);
    let ids = by_space.encode_text("é\u{2581}").unwrap();
    assert_eq!(ids, [3 + 0xc3, 3 + 0xa9, 259], "a character without a token is its bytes");
    let prompt = by_space.encode_prompt(&[Segment::Scaffold("a".into())]).unwrap();
    assert_eq!(prompt, [1, 260]);
}
