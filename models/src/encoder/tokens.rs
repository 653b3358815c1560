//! Texts to an encoder's token ids: special tokens around the content, truncated to the model's limit.

use super::family::Family;
use super::settings::TextSettings;
use super::truncation::{longest_first, window_starts};
use crate::error::{ModelError, Result};
use crate::tokenizer::{Ends, Tokenizer};
use crate::weights::Metadata;
use std::path::Path;

/// The ids of one text or pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTokens {
    /// Special tokens included.
    pub ids: Vec<u32>,
    /// Of the second text of a pair and what closes it, 1 in most models that have segments; else 0.
    pub segments: Vec<u32>,
    /// Whether the text was truncated to the model's limit.
    pub truncated: bool,
}

/// Two texts that are classified together: premise and hypothesis for NLI, query and passage for a reranker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair<'a> {
    /// Comes first.
    pub first: &'a str,
    /// Comes second.
    pub second: &'a str,
}

/// The text of a pair that may be long, and is split into windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Long {
    /// The first: the premise.
    First,
    /// The second: the passage that a reranker reads.
    Second,
}

/// A tokenizer with the special tokens around its texts.
#[derive(Debug)]
pub(super) struct TextTokenizer {
    tokenizer: Tokenizer,
    ends: Ends,
    /// Mask tokens behind a text, where its vector is taken from them. A text that is too long then loses its beginning.
    masks: Vec<u32>,
    /// Whether words stand behind the first text of a pair, so that its last spaces are no tokens.
    joined: bool,
    /// Tokens of a text at most, special ones included.
    limit: usize,
}

impl TextTokenizer {
    /// The tokenizer of `folder`; the limit counts special tokens, of which a pair has four at most. Special tokens are those
    /// of its post-processor, else those that `family` has: multilingual E5 is a BERT with the tokens of XLM-R.
    ///
    /// # Errors
    /// No sound tokenizer.json, a special token that it does not know, more tokens than `vocab`, a limit that leaves no
    /// room.
    pub(super) fn open(
        folder: &Path,
        family: &Family,
        vocab: usize,
        segments: usize,
        settings: &TextSettings,
    ) -> Result<Self> {
        let tokenizer = Tokenizer::from_dir_in(folder, &settings.casing)?;
        let (path, limit) = (folder.join("tokenizer.json"), settings.limit);
        let wrong = |field: &str, expected: String, found: String| field_of(&path, field, expected, found);
        check_vocabulary(&path, &tokenizer, vocab)?;
        if limit < 8 {
            return Err(wrong("limit", "at least 8 tokens a text".into(), limit.to_string()));
        }
        let special = |text: &str| special_of(&path, &tokenizer, family, text);
        let mut ends = match Ends::open(&path)? {
            Some(ends) => ends,
            None => {
                let [begin, end] = family.ends;
                let (begin, end) = (special(begin)?, special(end)?);
                let pair = [vec![begin], vec![end; family.between], vec![end]];
                Ends { single: [vec![begin], vec![end]], pair, segment: 1 }
            }
        };
        let all = || ends.single.iter().chain(&ends.pair);
        if all().any(|tokens| !(1..=2).contains(&tokens.len())) {
            let expected = "one token or two before, between and behind texts".to_owned();
            return Err(wrong("post_processor", expected, format!("{:?} and {:?}", ends.single, ends.pair)));
        }
        check_ends(&path, all(), vocab)?;
        // Models without segments, or with one of them, have a tokenizer that does not name any.
        ends.segment = if segments > 1 { ends.segment } else { 0 };
        if ends.segment as usize >= segments.max(1) {
            return Err(wrong("post_processor", format!("segments below {segments}"), ends.segment.to_string()));
        }
        Ok(Self { tokenizer, ends, masks: Vec::new(), joined: false, limit })
    }

    /// The tokenizer of `folder`, whose pairs are one text, `written` with `{premise}` and `{hypothesis}`. Special tokens of
    /// `written` are those of the vocabulary, and the family's last one is behind the text.
    ///
    /// # Errors
    /// As [`Self::open`]; a text without both places in this order.
    pub(super) fn of_one_text(
        folder: &Path,
        family: &Family,
        vocab: usize,
        settings: &TextSettings,
        written: &str,
    ) -> Result<Self> {
        const LONGEST: usize = 4096;
        let tokenizer = Tokenizer::from_dir_in(folder, &settings.casing)?;
        let path = folder.join("tokenizer.json");
        check_vocabulary(&path, &tokenizer, vocab)?;
        if written.len() > LONGEST {
            let (expected, found) = (format!("at most {LONGEST} bytes"), written.len().to_string());
            return Err(field_of(&folder.join("config.json"), "prompt", expected, found));
        }
        let parts = written.split_once("{premise}").and_then(|(before, rest)| {
            let (between, behind) = rest.split_once("{hypothesis}")?;
            Some([before, between, behind])
        });
        let Some([before, between, behind]) = parts else {
            let expected = "a text with {premise} and, behind it, {hypothesis}".to_owned();
            return Err(field_of(&folder.join("config.json"), "prompt", expected, written.to_owned()));
        };
        let ids = |part: &str| ids_of(&tokenizer, part);
        let end = special_of(&path, &tokenizer, family, family.ends[1])?;
        let pair = [ids(before)?, ids(between)?, [ids(behind)?, vec![end]].concat()];
        check_ends(&path, pair.iter(), vocab)?;
        let (limit, least) = (settings.limit, pair.iter().map(Vec::len).sum::<usize>() + 8);
        if limit < least {
            return Err(field_of(&path, "limit", format!("at least {least} tokens a pair"), limit.to_string()));
        }
        let joined = !between.starts_with('<');
        let ends = Ends { single: Default::default(), pair, segment: 0 };
        Ok(Self { tokenizer, ends, masks: Vec::new(), joined, limit })
    }

    /// The tokenizer of a GGUF file, between the tokens that it names for the beginning and the end of a text.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(super) fn of_gguf(metadata: &Metadata, vocab: usize, limit: usize) -> Result<Self> {
        let tokenizer = Tokenizer::from_gguf(metadata)?;
        check_vocabulary(metadata.path(), &tokenizer, vocab)?;
        let id = |fields: &[&str]| -> Result<Vec<u32>> {
            for field in fields.iter().map(|field| format!("tokenizer.ggml.{field}_token_id")) {
                if let Some(id) = metadata.optional_usize(&field)? {
                    let id = u32::try_from(id).ok().filter(|&id| (id as usize) < vocab);
                    return Ok(vec![id.ok_or_else(|| metadata.wrong(&field, &format!("a token below {vocab}")))?]);
                }
            }
            Err(metadata.wrong(&format!("tokenizer.ggml.{}_token_id", fields[0]), "a token around texts"))
        };
        // llama.cpp writes the second name.
        let (before, behind) = (id(&["cls", "bos"])?, id(&["separator", "seperator", "eos"])?);
        if limit < 8 {
            return Err(metadata.wrong("bert.context_length", "at least 8 tokens a text"));
        }
        let ends = Ends { single: [before, behind], pair: Default::default(), segment: 0 };
        Ok(Self { tokenizer, ends, masks: Vec::new(), joined: false, limit })
    }

    /// The first token of `text`.
    ///
    /// # Errors
    /// The tokenizer fails, or gives none.
    pub(super) fn first_id(&self, text: &str) -> Result<u32> {
        let first = self.tokenizer.encode_text(text)?.first().copied();
        first.ok_or_else(|| {
            field_of(self.tokenizer.path(), "vocabulary", format!("a token for {text:?}"), "none".into())
        })
    }

    /// The tokenizer of `folder`, a decoder's. Where its last token is `read`, the post-processor puts one behind every text.
    ///
    /// # Errors
    /// As [`Self::open`]; no such token.
    pub(super) fn of_decoder(folder: &Path, vocab: usize, settings: &TextSettings, read: bool) -> Result<Self> {
        let tokenizer = Tokenizer::from_dir_in(folder, &settings.casing)?;
        let (path, limit) = (folder.join("tokenizer.json"), settings.limit);
        check_vocabulary(&path, &tokenizer, vocab)?;
        let single = Ends::of_text(&path)?.unwrap_or_default();
        // An empty text has a vector too.
        if single[usize::from(read)..].iter().all(Vec::is_empty) {
            let expected = match read {
                true => "a token behind every text, whose state is the text's vector",
                false => "a token before or behind every text",
            };
            return Err(field_of(&path, "post_processor", expected.to_owned(), "none".to_owned()));
        }
        let ends = Ends { single, pair: Default::default(), segment: 0 };
        check_ends(&path, ends.single.iter(), vocab)?;
        let least = ends.single.iter().map(Vec::len).sum::<usize>() + 1;
        if limit < least {
            return Err(field_of(&path, "limit", format!("at least {least} tokens a text"), limit.to_string()));
        }
        Ok(Self { tokenizer, ends, masks: Vec::new(), joined: false, limit })
    }

    /// With `count` of `family`'s mask tokens behind every text.
    ///
    /// # Errors
    /// The vocabulary has none.
    pub(super) fn with_masks(mut self, folder: &Path, family: &Family, count: usize) -> Result<Self> {
        let path = folder.join("tokenizer.json");
        let id = special_of(&path, &self.tokenizer, family, family.mask)?;
        let behind = &self.ends.single[1];
        if behind.len() != 1 {
            let expected = "one token behind a text whose vector is taken from masks".to_owned();
            return Err(field_of(&path, "post_processor", expected, format!("{behind:?}")));
        }
        self.masks = vec![id; count];
        Ok(self)
    }

    /// Whether files beside `tokenizer.json` changed its normaliser.
    pub(super) fn recased(&self) -> bool {
        self.tokenizer.recased()
    }

    /// Tokens of a text at most, special ones included.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// `text` between its special tokens.
    ///
    /// # Errors
    /// The tokenizer's own pipeline fails on the text.
    pub(super) fn text(&self, text: &str) -> Result<TextTokens> {
        let mut content = self.tokenizer.encode_text(text)?;
        let [before, behind] = &self.ends.single;
        let room = self.limit - before.len() - behind.len() - self.masks.len();
        let beyond = content.len().saturating_sub(room);
        let truncated = beyond > 0;
        if self.masks.is_empty() {
            content.truncate(room);
        } else {
            content.drain(..beyond);
        }
        let ids = [&before[..], &content, &self.masks, behind].concat();
        Ok(TextTokens { segments: vec![0; ids.len()], ids, truncated })
    }

    /// Both texts between their special tokens, cut where the longer text ends, as the reference's "longest first" does.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub(super) fn pair(&self, pair: Pair<'_>) -> Result<TextTokens> {
        let [mut first, mut second] = self.both(pair)?;
        let (keep_first, keep_second) = longest_first(first.len(), second.len(), self.room_of_pair());
        let truncated = keep_first < first.len() || keep_second < second.len();
        first.truncate(keep_first);
        second.truncate(keep_second);
        Ok(self.join(&first, &second, truncated))
    }

    /// As [`Self::pair`], of every window of the `long` text. The other text is whole in each, unless that leaves the long
    /// one less than half of the room: then it is cut, which is what `truncated` says.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub(super) fn windows(&self, pair: Pair<'_>, long: Long) -> Result<Vec<TextTokens>> {
        let [first, second] = self.both(pair)?;
        let (whole, other) = match long {
            Long::First => (&first, &second),
            Long::Second => (&second, &first),
        };
        let room = self.room_of_pair();
        let kept = &other[..other.len().min(room - whole.len().min(room / 2))];
        let window = room - kept.len();
        let of = |start: usize| {
            let part = &whole[start..whole.len().min(start + window)];
            match long {
                Long::First => self.join(part, kept, kept.len() < other.len()),
                Long::Second => self.join(kept, part, kept.len() < other.len()),
            }
        };
        Ok(window_starts(whole.len(), window).map(of).collect())
    }

    /// The tokens of both texts, without those around them.
    fn both(&self, pair: Pair<'_>) -> Result<[Vec<u32>; 2]> {
        let first = if self.joined { pair.first.trim_end() } else { pair.first };
        Ok([self.tokenizer.encode_text(first)?, self.tokenizer.encode_text(pair.second)?])
    }

    /// Tokens of both texts of a pair at most, without special ones.
    fn room_of_pair(&self) -> usize {
        self.limit - self.ends.pair.iter().map(Vec::len).sum::<usize>()
    }

    fn join(&self, first: &[u32], second: &[u32], truncated: bool) -> TextTokens {
        let [before, between, behind] = &self.ends.pair;
        let from = before.len() + first.len() + between.len();
        let ids = [&before[..], first, between, second, behind].concat();
        let segment = |index: usize| if index >= from { self.ends.segment } else { 0 };
        TextTokens { segments: (0..ids.len()).map(segment).collect(), ids, truncated }
    }
}

/// The tokens of a part of a text: its special tokens as such, and its words without the spaces at their ends, which the
/// tokenizer puts in front of words again.
fn ids_of(tokenizer: &Tokenizer, part: &str) -> Result<Vec<u32>> {
    let special = |rest: &str| {
        let end = rest.starts_with('<').then(|| rest.find('>')).flatten()? + 1;
        Some((tokenizer.special_id(&rest[..end])?, end))
    };
    let (mut ids, mut words, mut at) = (Vec::new(), String::new(), 0);
    while let Some(next) = part[at..].chars().next() {
        if let Some((id, length)) = special(&part[at..]) {
            ids.extend(tokenizer.encode_text(words.trim())?);
            words.clear();
            ids.push(id);
            at += length;
        } else {
            words.push(next);
            at += next.len_utf8();
        }
    }
    ids.extend(tokenizer.encode_text(words.trim())?);
    Ok(ids)
}

fn field_of(path: &Path, field: &str, expected: String, found: String) -> ModelError {
    ModelError::Field { path: path.to_owned(), field: field.to_owned(), expected, found }
}

/// The id of `text`, a special token of `family`.
fn special_of(path: &Path, tokenizer: &Tokenizer, family: &Family, text: &str) -> Result<u32> {
    let expected = || format!("{text}, as {} models have", family.name);
    tokenizer.special_id(text).ok_or_else(|| field_of(path, "added_tokens", expected(), "none".into()))
}

/// Refuses a tokenizer, the file `path`, with more tokens than `vocab`, the rows of the embedding.
pub(super) fn check_vocabulary(path: &Path, tokenizer: &Tokenizer, vocab: usize) -> Result<()> {
    if tokenizer.vocab_size() <= vocab {
        return Ok(());
    }
    let expected = format!("at most {vocab} tokens, the rows of the embedding");
    Err(field_of(path, "vocabulary", expected, tokenizer.vocab_size().to_string()))
}

/// Refuses special tokens around texts that the embedding has no rows of.
fn check_ends<'a>(path: &Path, ends: impl Iterator<Item = &'a Vec<u32>>, vocab: usize) -> Result<()> {
    match ends.flatten().find(|&&id| id as usize >= vocab) {
        Some(beyond) => Err(field_of(path, "post_processor", format!("tokens below {vocab}"), beyond.to_string())),
        None => Ok(()),
    }
}
