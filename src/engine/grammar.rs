//! Grammars over the model's vocabulary, by llguidance: which tokens may come next.

use crate::error::{MootError, Result};
use crate::generation::Grammar;
use llguidance::api::{StopReason, TopLevelGrammar};
use llguidance::toktrie::{ApproximateTokEnv, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory};
use moot_models::Model;
use moot_models::tokenizer::{Segment, Tokenizer};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

/// Most compiled grammars kept.
const MOST: usize = 64;

/// Most bytes of source of the compiled grammars kept.
const MOST_BYTES: usize = 1 << 20;

/// llguidance's bound on the work for one mask, fifty times its default, some 300 ms. A slow mask is rare, and one that
/// is refused ends the reply: "Answer: No. Explanation" takes 1,200,000 over the 152,000 tokens of Qwen2.5, since the
/// answer may continue after "No." if it is an abbreviation.
const MASK_FUEL: u64 = 10_000_000;

/// Bytes of a token that grammars offer. The trie of tokens takes none of more than 1024 bytes; longer ones are runs of one
/// character, as the 1024 spaces of GLM-4, and shorter tokens spell them too.
const LONGEST_TOKEN: usize = 512;

/// Bytes of all tokens that the trie takes.
const MOST_TOKEN_BYTES: usize = (1 << 22) - 1;

/// Bytes of forced text that are tokenised: more than the draft tokens of a step spell.
const FORCED_BYTES: usize = 128;

/// Compiles grammars for one vocabulary and caches them: the least recently used goes first.
pub(super) struct Grammars {
    model: Arc<Model>,
    /// `None` for a vocabulary without an end-of-turn token: no grammar could ever end there.
    eos: Option<u32>,
    /// Computed on a thread of its own, which the first grammar waits for: a third of a second for 150,000 tokens.
    tables: Arc<OnceLock<Tables>>,
    cache: Cache<Matcher>,
    compiled: usize,
}

/// The vocabulary as llguidance searches it, or why it refuses it.
type Tables = std::result::Result<ParserFactory, String>;

impl Grammars {
    /// # Errors
    /// The vocabulary has more bytes than the tables take.
    pub(super) fn new(model: Arc<Model>) -> Result<Self> {
        let tokenizer = &model.tokenizer;
        let eos = tokenizer.eos_id().or(tokenizer.eos_ids().first().copied());
        let tables = Arc::new(OnceLock::new());
        if let Some(eos) = eos {
            // Not on the thread: a vocabulary that is too large must be refused when the engine starts.
            let words = words(tokenizer).map_err(|reason| refused("the vocabulary", &reason))?;
            let tables = tables.clone();
            // Where the system allows no further thread, the first grammar computes them.
            let _ = Builder::new().name("grammars".into()).spawn(move || {
                tables.get_or_init(|| factory(&words, eos));
            });
        }
        Ok(Self { model, eos, tables, cache: Cache::new(MOST, MOST_BYTES), compiled: 0 })
    }

    /// Grammars compiled so far.
    pub(super) fn compiled(&self) -> usize {
        self.compiled
    }

    /// A fresh constraint at the grammar's beginning.
    ///
    /// # Errors
    /// The grammar does not compile, llguidance refuses the vocabulary, or it has no end-of-turn token.
    pub(super) fn start(&mut self, grammar: &Grammar) -> Result<Constraint> {
        let file = &grammar.name;
        let Some(eos) = self.eos else {
            return Err(refused(file, "the model's vocabulary has no end-of-turn token, so no grammar can end"));
        };
        // Waits for the thread, or computes the tables if it did not start.
        let tables = self.tables.get_or_init(|| factory(&words(&self.model.tokenizer)?, eos));
        let factory = tables.as_ref().map_err(|reason| refused("the vocabulary", reason))?;
        let matcher = match self.cache.get(&grammar.lark) {
            // A plain clone shares the lexer behind a lock, and the masks of a step are computed in parallel.
            Some(matcher) => matcher.deep_clone(),
            None => {
                let matcher = compile(factory, grammar)?;
                self.compiled += 1;
                let fresh = matcher.deep_clone();
                self.cache.put(grammar.lark.clone(), matcher);
                fresh
            }
        };
        Ok(Constraint { matcher, file: file.clone(), model: self.model.clone() })
    }
}

fn compile(factory: &ParserFactory, grammar: &Grammar) -> Result<Matcher> {
    let parser = factory.create_parser(TopLevelGrammar::from_lark(grammar.lark.to_string()));
    let mut matcher = Matcher::new(parser);
    if let Some(reason) = matcher.get_error() {
        return Err(refused(&grammar.name, &reason));
    }
    // The first mask is the same for every request: computed here, its clones have it.
    matcher.compute_mask().map_err(|reason| refused(&grammar.name, &reason))?;
    Ok(matcher)
}

fn factory(words: &[Vec<u8>], eos: u32) -> Tables {
    let info = TokRxInfo::new(words.len() as u32, eos);
    let env = Arc::new(ApproximateTokEnv::new(TokTrie::from(&info, words)));
    let mut factory = ParserFactory::new_simple(&(env as _)).map_err(|e| e.to_string())?;
    // Otherwise llguidance prints to standard error.
    factory.quiet();
    factory.limits_mut().step_lexer_fuel = MASK_FUEL;
    Ok(factory)
}

/// The bytes of each token for the trie; none for a token that grammars do not offer.
///
/// # Errors
/// More bytes than the trie takes.
fn words(tokenizer: &Tokenizer) -> std::result::Result<Vec<Vec<u8>>, String> {
    let bytes = |id| tokenizer.token_bytes(id).filter(|bytes| bytes.len() < LONGEST_TOKEN);
    let word = |id| match bytes(id) {
        // A marker byte that no UTF-8 text has keeps control tokens out of every text rule.
        Some(bytes) if tokenizer.is_special(id) => [&[TokTrie::SPECIAL_TOKEN_MARKER], bytes].concat(),
        Some(bytes) => bytes.to_vec(),
        None => Vec::new(),
    };
    let words: Vec<Vec<u8>> = (0..tokenizer.vocab_size() as u32).map(word).collect();
    let bytes: usize = words.iter().map(Vec::len).sum();
    if bytes > MOST_TOKEN_BYTES {
        return Err(format!("expected at most {MOST_TOKEN_BYTES} bytes of tokens, found {bytes}"));
    }
    Ok(words)
}

fn refused(file: &str, reason: &(impl ToString + ?Sized)) -> MootError {
    MootError::Prompt { file: file.to_owned(), reason: one_line(&reason.to_string()) }
}

/// llguidance's reason in one line. It goes on with the state of its parser, or with the place in the grammar.
fn one_line(reason: &str) -> String {
    let mut lines = reason.lines();
    let first = lines.next().unwrap_or_default();
    if first == StopReason::NoExtensionBias.to_string() {
        return "no text satisfies this grammar".to_owned();
    }
    // "regex parse error:", the pattern, a mark below it, and "error: unclosed group".
    match lines.find_map(|line| line.strip_prefix("error: ")).filter(|_| first.ends_with(':')) {
        Some(error) => format!("{first} {error}"),
        None => first.to_owned(),
    }
}

/// One reply's position in its grammar.
pub(super) struct Constraint {
    matcher: Matcher,
    file: Arc<str>,
    model: Arc<Model>,
}

impl Constraint {
    /// The text that the grammar forces from here on, in the tokenizer's tokens; empty where it leaves a choice.
    ///
    /// llguidance gives forced tokens only in an environment that tokenises canonically, which needs a tokenizer; it
    /// gives forced bytes in any environment. The tokens are a guess, since other tokens spell the same text.
    pub(super) fn forced(&mut self) -> Vec<u32> {
        let bytes = self.matcher.compute_ff_bytes();
        let bytes = &bytes[..bytes.len().min(FORCED_BYTES)];
        // A character cut in two, or the marker of a control token, ends the text.
        let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        if text.is_empty() {
            return Vec::new();
        }
        // Without a draft the same text is sampled token by token, so an error changes no reply.
        self.model.tokenizer.encode_continuation(&[Segment::Content(text.to_owned())]).unwrap_or_default()
    }

    /// Which of the first `vocab` tokens may come next, a bit each. Every end-of-turn token is allowed where one is.
    ///
    /// # Errors
    /// llguidance's limits were exceeded.
    pub(super) fn mask(&mut self, vocab: usize) -> Result<Vec<u32>> {
        let mask = self.matcher.compute_mask_or_eos().map_err(|reason| refused(&self.file, &reason))?;
        let mut words = Vec::from(mask);
        // llguidance's masks have one bit more than the vocabulary, which may take a word more.
        words.resize(vocab.div_ceil(32), 0);
        let eos = self.model.tokenizer.eos_ids();
        // llguidance knows one end-of-turn token, and models have several.
        if eos.iter().any(|&id| words[id as usize / 32] >> (id % 32) & 1 == 1) {
            eos.iter().for_each(|&id| words[id as usize / 32] |= 1 << (id % 32));
        }
        Ok(words)
    }

    /// Advances over `token`; returns whether the grammar is complete, so that only the end may follow.
    ///
    /// # Errors
    /// The token was not allowed.
    pub(super) fn accept(&mut self, token: u32) -> Result<bool> {
        if self.model.tokenizer.eos_ids().contains(&token) {
            // llguidance would refuse the end-of-turn tokens that it does not know.
            return Ok(true);
        }
        self.matcher.consume_token(token).map_err(|reason| refused(&self.file, &reason))?;
        Ok(self.matcher.is_stopped())
    }
}

/// Values by their source text, bounded by their number and by the bytes of the sources.
struct Cache<T> {
    most: usize,
    most_bytes: usize,
    /// Each with the time of its last use.
    entries: HashMap<Arc<str>, (T, u64)>,
    bytes: usize,
    clock: u64,
}

impl<T> Cache<T> {
    fn new(most: usize, most_bytes: usize) -> Self {
        Self { most, most_bytes, entries: HashMap::new(), bytes: 0, clock: 0 }
    }

    fn get(&mut self, source: &str) -> Option<&T> {
        self.clock += 1;
        let (value, used) = self.entries.get_mut(source)?;
        *used = self.clock;
        Some(value)
    }

    /// Adds a value that is not in it. One whose source alone exceeds the limit is dropped.
    fn put(&mut self, source: Arc<str>, value: T) {
        if source.len() > self.most_bytes {
            return;
        }
        while self.entries.len() >= self.most || self.bytes + source.len() > self.most_bytes {
            let oldest = self.entries.iter().min_by_key(|(_, (_, used))| *used).map(|(source, _)| source.clone());
            let Some(oldest) = oldest else { return };
            self.bytes -= oldest.len();
            self.entries.remove(&oldest);
        }
        self.clock += 1;
        self.bytes += source.len();
        self.entries.insert(source, (value, self.clock));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Cache, MOST_TOKEN_BYTES, Matcher, TokTrie, TopLevelGrammar, factory, words};
    use moot_models::tokenizer::{SpecialTokens, Tokenizer};
    use std::path::Path;

    /// A vocabulary with `texts` after the end-of-turn token, and a control token of 2000 bytes.
    fn vocabulary(texts: &[String]) -> Tokenizer {
        let vocab: serde_json::Map<String, serde_json::Value> =
            texts.iter().zip(1..).map(|(text, id)| (text.clone(), id.into())).collect();
        let document = serde_json::json!({
            "added_tokens": [
                {"id": 0, "content": "<|im_end|>", "special": true},
                {"id": texts.len() + 1, "content": "x".repeat(2000), "special": true},
            ],
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
            "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
            "model": {"type": "BPE", "vocab": vocab, "merges": []},
        });
        Tokenizer::from_json(Path::new("tokenizer.json"), &document.to_string(), &SpecialTokens::default()).unwrap()
    }

    #[test]
    fn tokens_that_the_trie_cannot_hold_are_not_offered() {
        let tokenizer = vocabulary(&[1, 511, 512, 1024, 1025, 70_000].map(|times| "a".repeat(times)));
        let lengths: Vec<usize> = words(&tokenizer).unwrap().iter().map(Vec::len).collect();
        assert_eq!(lengths, [11, 1, 511, 0, 0, 0, 0, 0]);
        assert!(factory(&words(&tokenizer).unwrap(), 0).is_ok());
        let long: Vec<String> = (0..MOST_TOKEN_BYTES / 500 + 1).map(|id| format!("{id:0500}")).collect();
        let refused = words(&vocabulary(&long)).unwrap_err();
        assert!(refused.starts_with("expected at most 4194303 bytes of tokens, found"), "{refused}");
    }

    /// A vocabulary of the size of Qwen2.5's: what a mask costs grows with it.
    #[test]
    fn masks_behind_a_short_answer_stay_within_the_limit() {
        let letters = || b'a'..=b'z';
        let mut words: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        words.extend(('\u{80}'..='\u{ffff}').map(|character| character.to_string().into_bytes()));
        for (a, b, c) in letters().flat_map(|a| letters().flat_map(move |b| letters().map(move |c| (a, b, c)))) {
            words.extend([
                vec![a, b, c],
                vec![b' ', a, b, c],
                vec![b' ', a - 32, b, c, b':'],
                vec![b'.', b' ', a, b, c],
            ]);
        }
        let end = words.len() as u32;
        words.push(vec![TokTrie::SPECIAL_TOKEN_MARKER]);
        let factory = factory(&words, end).unwrap();
        let lark = include_str!("../prompts/reply/answer.lark");
        for reply in
            ["Answer: No. Explanation: So.", "Answer: St. Gall. Explanation: So.", "Answer: U.S. Explanation: So."]
        {
            let mut matcher = Matcher::new(factory.create_parser(TopLevelGrammar::from_lark(lark.to_owned())));
            for byte in reply.bytes() {
                matcher.compute_mask().unwrap_or_else(|reason| panic!("{reply}: {reason}"));
                matcher.consume_token(u32::from(byte)).unwrap();
            }
        }
    }

    fn filled(sources: &[&str]) -> Cache<usize> {
        let mut cache = Cache::new(3, 10);
        sources.iter().enumerate().for_each(|(value, source)| cache.put((*source).into(), value));
        cache
    }

    #[test]
    fn the_least_recently_used_is_dropped_by_count_and_by_bytes() {
        let mut cache = filled(&["a", "b", "c"]);
        assert_eq!(cache.get("a"), Some(&0));
        cache.put("d".into(), 3);
        assert_eq!(["a", "b", "c", "d"].map(|source| cache.get(source).copied()), [Some(0), None, Some(2), Some(3)]);
        // Eight bytes leave room for two.
        cache.put("12345678".into(), 4);
        assert_eq!(["a", "c", "d"].map(|source| cache.get(source).copied()), [None, Some(2), Some(3)]);
        assert_eq!(cache.get("12345678"), Some(&4));
        assert_eq!(cache.bytes, 10);
    }

    #[test]
    fn a_source_that_is_too_large_is_not_kept() {
        let mut cache = filled(&["a", "b"]);
        cache.put("12345678901".into(), 2);
        assert_eq!(cache.get("12345678901"), None);
        assert_eq!(cache.get("a"), Some(&0));
        assert_eq!(cache.bytes, 2);
    }
}
