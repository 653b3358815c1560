//! A Hugging Face `tokenizer.json`.

use super::added::Flags;
use super::blueprint::{Blueprint, Locations, Subwords};
use super::casing::Casing;
use super::entry::Entry;
use super::files::{parse, unsound, wrong};
use super::metaspace::Metaspace;
use super::special::SpecialTokens;
use super::steps::{normalizers, splitters, step_names};
use super::table::{Spelling, TokenKind};
use super::unigram::Unigram;
use crate::error::Result;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Longest WordPiece word in characters; the time for a word grows with the square. BERT has 100.
const LONGEST_WORD: usize = 1024;

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    post_processor: Option<Value>,
    decoder: Option<Value>,
    model: Value,
}

#[derive(Deserialize)]
struct Added {
    id: u32,
    content: String,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    normalized: bool,
    #[serde(default)]
    special: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Model {
    #[serde(rename = "BPE")]
    Bpe(Bpe),
    WordPiece(WordPiece),
    Unigram(Unigram),
}

#[derive(Deserialize)]
struct Bpe {
    vocab: HashMap<String, u32>,
    merges: Vec<Merge>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    fuse_unk: bool,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
}

#[derive(Deserialize)]
struct WordPiece {
    vocab: HashMap<String, u32>,
    unk_token: Option<String>,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Pair(String, String),
    Line(String),
}

/// Reads `text`, which came from `path`; `casing` changes its normaliser.
pub(super) fn read(path: &Path, text: &str, special: &SpecialTokens, casing: &Casing) -> Result<Blueprint> {
    let mut document: Document = parse(path, text)?;
    let normalizer = casing.apply(document.normalizer.clone());
    let recased = normalizer != document.normalizer;
    for token in &mut document.added_tokens {
        token.normalized = special.normalized.get(&token.id).copied().unwrap_or(token.normalized);
    }
    let (vocab, unknown, subwords) = match model(path, document.model)? {
        Model::Bpe(bpe) => bpe.parts(path)?,
        Model::WordPiece(word_piece) => word_piece.parts(path)?,
        Model::Unigram(pieces) => {
            let (vocab, unknown, scores) = pieces.parts(path, document.pre_tokenizer.as_ref())?;
            (vocab, unknown, Subwords::Unigram(scores))
        }
    };
    let decoder = document.decoder.as_ref();
    let spelling = match subwords {
        Subwords::Bpe { .. } | Subwords::Unigram(_) => spelling(path, decoder)?,
        Subwords::WordPiece { .. } => Spelling::WordPiece,
    };
    let mut entries = entries(path, &vocab, &document.added_tokens)?;
    let find = |text: &str| id_of(text, &vocab, &document.added_tokens);
    let named = |field, text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => find(text).map(Some).ok_or_else(|| wrong(path, field, "a token of the vocabulary", text)),
    };
    let bos = named("bos_token", &special.bos)?;
    let mut eos: Vec<u32> = named("eos_token", &special.eos)?.into_iter().collect();
    for &id in &special.eos_ids {
        // A vocabulary may be smaller than the model's: such an id cannot come out as text either.
        eos.extend(entries.get(id as usize).filter(|e| e.kind != TokenKind::Absent).map(|_| id));
    }
    if let Some(id) = named("model.unk_token", &unknown)? {
        entries[id as usize].kind = TokenKind::Unknown;
    }
    // Where no setting says it, the post-processor does: whether it puts the token first.
    let adds = || bos.is_some() && first_special(document.post_processor.as_ref()) == special.bos.as_deref();
    let splitter = document.pre_tokenizer;
    let metaspace = Metaspace::of(normalizer.as_ref(), splitter.as_ref());
    let spelled = metaspace.is_some_and(Metaspace::is_normalizer);
    Ok(Blueprint {
        path: path.to_owned(),
        locations: Locations { tokens: "model.vocab", merges: "model.merges" },
        entries,
        flags: document.added_tokens.iter().map(|t| (t.id, t.flags(spelled))).collect::<BTreeMap<_, _>>(),
        leading_space: spelling != Spelling::ByteLevel && takes_space(decoder),
        spelling,
        subwords,
        metaspace,
        recased,
        normalizers: normalizers(path, normalizer.as_ref())?,
        splitters: splitters(path, splitter.as_ref())?,
        bos,
        eos,
        add_bos: bos.is_some() && special.add_bos.unwrap_or_else(adds),
    })
}

fn model(path: &Path, mut model: Value) -> Result<Model> {
    // Old files leave the type out.
    if let Some(fields) = model.as_object_mut() {
        fields.entry("type").or_insert_with(|| "BPE".into());
    }
    let kind = model.get("type").and_then(Value::as_str).unwrap_or("no text");
    if !["BPE", "WordPiece", "Unigram"].contains(&kind) {
        return Err(wrong(path, "model.type", "\"BPE\", \"WordPiece\" or \"Unigram\"", kind));
    }
    let sound = format!("a {kind} model");
    serde_json::from_value(model).map_err(|reason| unsound(path, "model", &sound, reason.to_string()))
}

/// Vocabulary, text of the unknown token, and how words become tokens.
type Parts = (HashMap<String, u32>, Option<String>, Subwords);

impl Bpe {
    fn parts(self, path: &Path) -> Result<Parts> {
        for (field, affix) in [
            ("model.continuing_subword_prefix", &self.continuing_subword_prefix),
            ("model.end_of_word_suffix", &self.end_of_word_suffix),
        ] {
            if let Some(affix) = affix.as_deref().filter(|affix| !affix.is_empty()) {
                return Err(wrong(path, field, "none (affixes are not supported)", affix));
            }
        }
        let subwords = Subwords::Bpe {
            merges: merges(path, self.merges)?,
            ignore_merges: self.ignore_merges,
            byte_fallback: self.byte_fallback,
            fuse_unknown: self.fuse_unk,
        };
        Ok((self.vocab, self.unk_token, subwords))
    }
}

impl WordPiece {
    fn parts(self, path: &Path) -> Result<Parts> {
        if self.continuing_subword_prefix != "##" {
            return Err(wrong(path, "model.continuing_subword_prefix", "\"##\"", &self.continuing_subword_prefix));
        }
        let longest_word = self.max_input_chars_per_word;
        if longest_word > LONGEST_WORD {
            let expected = format!("at most {LONGEST_WORD}");
            return Err(wrong(path, "model.max_input_chars_per_word", &expected, &longest_word.to_string()));
        }
        Ok((self.vocab, self.unk_token, Subwords::WordPiece { longest_word }))
    }
}

impl Added {
    /// `spelled`: the normaliser is SentencePiece's, which puts a space in front of every text. Special tokens are matched
    /// as written then, as transformers' Llama classes do whatever the file says: a template may write them one after
    /// the other.
    fn flags(&self, spelled: bool) -> Flags {
        let normalized = self.normalized && !(spelled && self.special);
        Flags { lstrip: self.lstrip, rstrip: self.rstrip, single_word: self.single_word, normalized }
    }

    fn kind(&self) -> TokenKind {
        if self.special { TokenKind::Control } else { TokenKind::Marker }
    }
}

fn id_of(text: &str, vocab: &HashMap<String, u32>, added: &[Added]) -> Option<u32> {
    added.iter().find(|token| token.content == text).map(|token| token.id).or_else(|| vocab.get(text).copied())
}

/// Entries by id, with gaps filled. More gaps than tokens are refused.
fn entries(path: &Path, vocab: &HashMap<String, u32>, added: &[Added]) -> Result<Vec<Entry>> {
    let count = vocab.len() + added.len();
    let highest = vocab.values().copied().chain(added.iter().map(|token| token.id)).max();
    let highest = highest.ok_or_else(|| wrong(path, "model.vocab", "at least one token", "none"))? as usize;
    if highest > 2 * count + 1024 {
        return Err(wrong(
            path,
            "model.vocab",
            &format!("ids near {count}, the number of tokens"),
            &highest.to_string(),
        ));
    }
    let mut entries = vec![Entry::absent(); highest + 1];
    for (text, &id) in vocab {
        let entry = &mut entries[id as usize];
        if entry.kind != TokenKind::Absent {
            let found = format!("{:?} and {text:?} at {id}", entry.text);
            return Err(wrong(path, "model.vocab", "one token an id", &found));
        }
        *entry = Entry { text: text.clone(), kind: TokenKind::Text };
    }
    for token in added {
        let entry = &mut entries[token.id as usize];
        if entry.kind != TokenKind::Absent && entry.text != token.content {
            let found = format!("{:?} and {:?} at {}", entry.text, token.content, token.id);
            return Err(wrong(path, "added_tokens", "the text that model.vocab has for the id", &found));
        }
        *entry = Entry { text: token.content.clone(), kind: token.kind() };
    }
    Ok(entries)
}

fn merges(path: &Path, merges: Vec<Merge>) -> Result<Vec<(String, String)>> {
    let rows = merges.into_iter().enumerate();
    rows.map(|(index, merge)| match merge {
        Merge::Pair(left, right) => Ok((left, right)),
        Merge::Line(line) => match line.split_once(' ').filter(|(_, right)| !right.contains(' ')) {
            Some((left, right)) => Ok((left.to_owned(), right.to_owned())),
            None => Err(wrong(path, &format!("model.merges[{index}]"), "two tokens with a space between", &line)),
        },
    })
    .collect()
}

fn spelling(path: &Path, decoder: Option<&Value>) -> Result<Spelling> {
    let names = decoder.map(|decoder| step_names(decoder, "decoders")).unwrap_or_default();
    if names.contains(&"ByteLevel") {
        Ok(Spelling::ByteLevel)
    } else if names.iter().any(|name| ["ByteFallback", "Metaspace"].contains(name)) {
        Ok(Spelling::Metaspace)
    } else {
        Err(wrong(path, "decoder", "ByteLevel, or ByteFallback or Metaspace", &format!("{names:?}")))
    }
}

/// Whether decoding takes a space off the text's beginning.
fn takes_space(decoder: Option<&Value>) -> bool {
    let Some(decoder) = decoder else { return false };
    match decoder["type"].as_str() {
        Some("Sequence") => decoder["decoders"].as_array().is_some_and(|all| all.iter().any(|d| takes_space(Some(d)))),
        Some("Strip") => decoder["content"] == " " && decoder["start"].as_u64() > Some(0),
        Some("Metaspace") => decoder["prepend_scheme"] != "never" && decoder["add_prefix_space"] != false,
        name => name == Some("WordPiece"),
    }
}

/// The special token that the post-processor sets in front of a single text.
fn first_special(processor: Option<&Value>) -> Option<&str> {
    let processor = processor?;
    if let Some(inner) = processor.get("processors").and_then(Value::as_array) {
        return inner.iter().find_map(|processor| first_special(Some(processor)));
    }
    processor.get("single")?.get(0)?.get("SpecialToken")?.get("id")?.as_str()
}
