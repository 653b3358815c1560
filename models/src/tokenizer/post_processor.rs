//! The special tokens that the post-processor of a `tokenizer.json` puts around a text and around a pair of texts.

use super::files::{parse, read_text, wrong};
use crate::error::Result;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Special tokens around a text, and around and between the texts of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ends {
    /// Before a text, and behind it.
    pub single: [Vec<u32>; 2],
    /// Before the first text of a pair, between both, and behind the second one.
    pub pair: [Vec<u32>; 3],
    /// The segment of the second text and of what closes it; the first one's is 0.
    pub segment: u32,
}

#[derive(Deserialize)]
struct Document {
    post_processor: Option<Value>,
}

/// The processors of Hugging Face's `tokenizers` that encoders and decoders have.
#[derive(Deserialize)]
#[serde(tag = "type")]
enum Processor {
    ByteLevel {},
    BertProcessing { sep: (String, u32), cls: (String, u32) },
    RobertaProcessing { sep: (String, u32), cls: (String, u32) },
    TemplateProcessing { single: Vec<Piece>, pair: Vec<Piece>, special_tokens: BTreeMap<String, Special> },
    Sequence { processors: Vec<Self> },
}

#[derive(Deserialize)]
enum Piece {
    Sequence { id: Text, type_id: u32 },
    SpecialToken { id: String, type_id: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
enum Text {
    A,
    B,
}

#[derive(Deserialize)]
struct Special {
    ids: Vec<u32>,
}

impl Ends {
    /// Those of the `tokenizer.json` at `path`; `None` where its post-processor adds no token.
    ///
    /// # Errors
    /// A file that cannot be read, an unknown post-processor, two that add tokens, a template whose texts are not A, or A
    /// and then B.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        Self::read(path, true)
    }

    /// Those around a text, before and behind it; those of pairs are not looked at: Gemma's tokenizers begin the second text
    /// of a pair like the first.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn of_text(path: &Path) -> Result<Option<[Vec<u32>; 2]>> {
        Ok(Self::read(path, false)?.map(|ends| ends.single))
    }

    fn read(path: &Path, with_pairs: bool) -> Result<Option<Self>> {
        let document: Document = parse(path, &read_text(path)?)?;
        let Some(value) = document.post_processor else { return Ok(None) };
        let kind = value.get("type").and_then(Value::as_str).unwrap_or("no type").to_owned();
        let expected = "ByteLevel, BertProcessing, RobertaProcessing, TemplateProcessing, or a Sequence of these";
        let processor: Processor =
            serde_json::from_value(value).map_err(|_| wrong(path, "post_processor", expected, &kind))?;
        let ends =
            processor.ends(with_pairs).map_err(|expected| wrong(path, "post_processor", expected, "another one"))?;
        Ok(ends.filter(|ends| ends.single.iter().chain(&ends.pair).any(|tokens| !tokens.is_empty())))
    }
}

impl Processor {
    /// The tokens that it adds; an error is what was expected.
    fn ends(self, with_pairs: bool) -> std::result::Result<Option<Ends>, &'static str> {
        match self {
            Self::ByteLevel {} => Ok(None),
            Self::BertProcessing { sep: (_, sep), cls: (_, cls) } => {
                Ok(Some(Ends { single: [vec![cls], vec![sep]], pair: [vec![cls], vec![sep], vec![sep]], segment: 1 }))
            }
            Self::RobertaProcessing { sep: (_, sep), cls: (_, cls) } => Ok(Some(Ends {
                single: [vec![cls], vec![sep]],
                pair: [vec![cls], vec![sep, sep], vec![sep]],
                segment: 0,
            })),
            Self::TemplateProcessing { single, pair, special_tokens } => {
                template(&single, with_pairs.then_some(&pair[..]), &special_tokens)
            }
            Self::Sequence { processors } => {
                let all = processors
                    .into_iter()
                    .map(|one| one.ends(with_pairs))
                    .collect::<std::result::Result<Vec<_>, _>>()?;
                let mut adding = all.into_iter().flatten();
                match (adding.next(), adding.next()) {
                    (found, None) => Ok(found),
                    _ => Err("at most one processor that adds tokens"),
                }
            }
        }
    }
}

fn template(
    single: &[Piece],
    pair: Option<&[Piece]>,
    special: &BTreeMap<String, Special>,
) -> std::result::Result<Option<Ends>, &'static str> {
    let (single, _) = split(single, special)?;
    let single: [Vec<u32>; 2] = single.try_into().map_err(|_| "a template of one text A")?;
    let Some(pair) = pair else { return Ok(Some(Ends { single, pair: Default::default(), segment: 0 })) };
    let (pair, segment) = split(pair, special)?;
    let pair: [Vec<u32>; 3] = pair.try_into().map_err(|_| "a template of a pair: A, and then B")?;
    Ok(Some(Ends { single, pair, segment }))
}

/// The tokens before, between and behind the texts of a template, and the segment of the last text.
fn split(
    pieces: &[Piece],
    special: &BTreeMap<String, Special>,
) -> std::result::Result<(Vec<Vec<u32>>, u32), &'static str> {
    const SEGMENTS: &str = "segment 0 up to the second text of a template, and one segment from there on";
    let (mut parts, mut segment) = (vec![Vec::new()], 0);
    for piece in pieces {
        match piece {
            Piece::Sequence { id, type_id } => {
                let next = if parts.len() == 1 { Text::A } else { Text::B };
                if *id != next || (next == Text::A && *type_id != 0) {
                    return Err("the texts A, and then B, of a template");
                }
                segment = *type_id;
                parts.push(Vec::new());
            }
            Piece::SpecialToken { id, type_id } => {
                if *type_id != segment {
                    return Err(SEGMENTS);
                }
                let token = special.get(id).ok_or("the ids of each special token of a template")?;
                parts.last_mut().expect("it begins with one part (bug)").extend_from_slice(&token.ids);
            }
        }
    }
    Ok((parts, segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::needless_pass_by_value)] // A literal of each test.
    fn ends(processor: Value) -> std::result::Result<Option<Ends>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        std::fs::write(&path, serde_json::json!({ "post_processor": processor }).to_string()).unwrap();
        Ends::open(&path).map_err(|error| error.to_string())
    }

    fn text(id: &str, type_id: u32) -> Value {
        serde_json::json!({ "Sequence": { "id": id, "type_id": type_id } })
    }

    fn token(id: &str, type_id: u32) -> Value {
        serde_json::json!({ "SpecialToken": { "id": id, "type_id": type_id } })
    }

    fn template(pair: &[Value]) -> Value {
        let ids = |id: u32| serde_json::json!({ "id": "x", "ids": [id], "tokens": ["x"] });
        serde_json::json!({
            "type": "TemplateProcessing", "single": [token("<s>", 0), text("A", 0), token("</s>", 0)], "pair": pair,
            "special_tokens": { "<s>": ids(0), "</s>": ids(2) },
        })
    }

    #[test]
    fn each_processor_has_its_tokens() {
        let bert = serde_json::json!({ "type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101] });
        let found = ends(bert).unwrap().unwrap();
        assert_eq!((found.single, found.segment), ([vec![101], vec![102]], 1));
        let roberta = serde_json::json!({
            "type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": true, "add_prefix_space": false
        });
        let found = ends(roberta).unwrap().unwrap();
        assert_eq!((found.pair, found.segment), ([vec![0], vec![2, 2], vec![2]], 0));
        let pair = [token("<s>", 0), text("A", 0), token("</s>", 0), token("</s>", 0), text("B", 1), token("</s>", 1)];
        let found = ends(template(&pair)).unwrap().unwrap();
        assert_eq!((found.pair, found.segment), ([vec![0], vec![2, 2], vec![2]], 1));
        let bytes = serde_json::json!({ "type": "ByteLevel", "trim_offsets": false });
        let both = serde_json::json!({ "type": "Sequence", "processors": [bytes, template(&pair)] });
        assert!(ends(both).unwrap().is_some());
        assert_eq!(ends(bytes), Ok(None));
        assert_eq!(ends(Value::Null), Ok(None));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let unknown = ends(serde_json::json!({ "type": "Other" })).unwrap_err();
        assert!(unknown.contains("field post_processor: expected ByteLevel") && unknown.contains("Other"), "{unknown}");
        let sound = [text("A", 0), token("</s>", 0), text("B", 0)];
        assert!(ends(template(&sound)).is_ok());
        assert!(ends(template(&[text("B", 0), token("</s>", 0), text("A", 0)])).unwrap_err().contains("A, and then B"));
        assert!(ends(template(&[text("A", 0)])).unwrap_err().contains("a template of a pair"));
        assert!(ends(template(&[text("A", 0), token("</s>", 1), text("B", 1)])).unwrap_err().contains("segment"));
        assert!(ends(template(&[text("A", 0), token("x", 0), text("B", 0)])).unwrap_err().contains("ids"));
        let two = serde_json::json!({ "type": "Sequence", "processors": [template(&sound), template(&sound)] });
        assert!(ends(two).unwrap_err().contains("at most one processor"));
    }
}
