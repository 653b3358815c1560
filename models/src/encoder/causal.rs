//! Decoders whose last token is read: its state is a text's vector (Qwen3-Embedding), or its logits say whether a passage
//! answers a query (Qwen3-Reranker). Where attention goes in both directions all tokens are read (EmbeddingGemma).

use super::family::DECODERS;
use super::tokens::{Pair, TextTokens, check_vocabulary};
use super::{Batches, EncoderOptions, Precision, TextSettings};
use crate::arch::Config;
use crate::arch::names::{Name, Naming};
use crate::decoder::{Decoder, LoadOptions, Residency};
use crate::error::{ModelError, Result};
use crate::spec::DecoderSpec;
use crate::tokenizer::{Segment, Tokenizer};
use crate::weights::{Safetensors, Weights};
use crate::{Batch, KvCache, arch};
use candle_core::{DType, Device};
use moot_kernels::{PAGE, SequenceRows, read_back};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Whether `config` is that of a decoder, not of an encoder.
pub(super) fn is_decoder(config: &Config) -> Result<bool> {
    Ok(DECODERS.contains(&config.str("model_type")?))
}

/// A decoder that reads texts to their ends.
#[derive(Debug)]
pub(super) struct Causal {
    decoder: Decoder,
    /// Tokens that are computed together, in whole pages.
    step: usize,
    /// Held while a GPU works: one thread at a time, as in an encoder.
    turn: Mutex<()>,
}

impl Causal {
    /// Loads the decoder of `weights`, whose configuration is `config` and whose spec `spec`.
    ///
    /// # Errors
    /// As [`crate::Model::open`]; a configuration without causal attention where the spec has it.
    pub(super) fn load(
        weights: &Weights,
        spec: DecoderSpec,
        config: &Config,
        options: &EncoderOptions,
    ) -> Result<Self> {
        if !spec.bidirectional {
            config.refuse("is_causal", |value| value == true, "true (causal attention)")?;
            config.refuse("use_bidirectional_attention", |value| value == false, "false (causal attention)")?;
        }
        let residency = match options.precision {
            Precision::Int16 => Residency::AsStored,
            Precision::F32 => Residency::Dense,
        };
        let load = LoadOptions { device: options.device.clone(), residency, ..LoadOptions::default() };
        let decoder = Decoder::load(spec, weights, &load)?;
        Ok(Self { decoder, step: options.tokens.next_multiple_of(PAGE), turn: Mutex::new(()) })
    }

    pub(super) fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// What `pool` makes of the normed states of each text's tokens, `[tokens, hidden]`, of a decoder that attends in both
    /// directions. A text's states do not depend on the other texts, bit for bit on the CPU.
    ///
    /// # Errors
    /// An operation fails.
    pub(super) fn pooled(&self, texts: &[TextTokens], pool: impl Fn(&[f32]) -> Vec<f32>) -> Result<Vec<Vec<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let _turn = (!self.decoder.is_on_cpu()).then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        let lengths: Vec<usize> = texts.iter().map(|text| text.ids.len()).collect();
        let batches = Batches::of_lengths(&lengths, self.step);
        let pages = |text: usize| lengths[text].div_ceil(PAGE) as u32;
        let most = batches.iter().map(|group| group.iter().map(|&text| pages(text)).sum::<u32>()).max();
        let kv = self.decoder.kv_cache(most.unwrap_or(0) as usize)?;
        let mut found = vec![Vec::new(); texts.len()];
        for group in batches.iter() {
            let (mut ids, mut sequences, mut next) = (Vec::new(), Vec::new(), 0);
            for &text in group {
                let end = next + pages(text);
                ids.extend_from_slice(&texts[text].ids);
                sequences.push(SequenceRows { start: 0, len: lengths[text], pages: (next..end).collect() });
                next = end;
            }
            let rows = (0..ids.len() as u32).collect();
            let states = self.decoder.hidden(&Batch::in_both_directions(ids, sequences, rows), &kv)?;
            let states: Vec<f32> = read_back(&states.to_dtype(DType::F32)?)?.flatten_all()?.to_vec1()?;
            let mut states = &states[..];
            for &text in group {
                let (own, others) = states.split_at(lengths[text] * self.decoder.spec().hidden);
                found[text] = pool(own);
                states = others;
            }
        }
        Ok(found)
    }

    /// The normed state of each text's last token, `[texts][hidden]`. The pages that all texts begin with are computed
    /// once. A state does not depend on the other texts, bit for bit on the CPU.
    ///
    /// # Errors
    /// An operation fails.
    pub(super) fn last(&self, texts: &[TextTokens]) -> Result<Vec<Vec<f32>>> {
        let Some(first) = texts.first() else { return Ok(Vec::new()) };
        let _turn = (!self.decoder.is_on_cpu()).then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        let shared = shared_pages(texts);
        let from = shared as usize * PAGE;
        let own: Vec<usize> = texts.iter().map(|text| text.ids.len() - from).collect();
        let pages = |text: usize| own[text].div_ceil(PAGE);
        let batches = Batches::of_lengths(&own, self.step);
        let most = batches.iter().map(|group| group.iter().map(|&text| pages(text)).sum::<usize>()).max();
        let kv = self.decoder.kv_cache(shared as usize + most.unwrap_or(0))?;
        self.prefill(&first.ids, &(0..shared).collect::<Vec<_>>(), 0..from, &kv)?;
        let mut found = vec![Vec::new(); texts.len()];
        for group in batches.iter() {
            let (mut ids, mut sequences, mut ends, mut next) = (Vec::new(), Vec::new(), Vec::new(), shared);
            for &text in group {
                let all = &texts[text].ids;
                let end = next + pages(text) as u32;
                let pages: Vec<u32> = (0..shared).chain(next..end).collect();
                // A text beyond the step, which is alone in its group, is computed in several.
                let start = from + (own[text] - 1) / self.step * self.step;
                self.prefill(all, &pages, from..start, &kv)?;
                ids.extend_from_slice(&all[start..]);
                ends.push(ids.len() as u32 - 1);
                sequences.push(SequenceRows { start, len: all.len() - start, pages });
                next = end;
            }
            let states = self.decoder.hidden(&Batch::new(ids, sequences, ends), &kv)?;
            let states: Vec<Vec<f32>> = read_back(&states.to_dtype(DType::F32)?)?.to_vec2()?;
            for (state, &text) in states.into_iter().zip(group) {
                found[text] = state;
            }
        }
        Ok(found)
    }

    /// Stores the keys and values of the `range` of `ids` in `pages`, which hold those before it.
    fn prefill(&self, ids: &[u32], pages: &[u32], range: Range<usize>, kv: &KvCache) -> Result<()> {
        for start in range.clone().step_by(self.step) {
            let end = (start + self.step).min(range.end);
            let sequence = SequenceRows { start, len: end - start, pages: pages[..end.div_ceil(PAGE)].to_vec() };
            self.decoder.hidden(&Batch::new(ids[start..end].to_vec(), vec![sequence], Vec::new()), kv)?;
        }
        Ok(())
    }
}

/// Whole pages that all of `texts` begin with, each of which has a token behind them.
fn shared_pages(texts: &[TextTokens]) -> u32 {
    let Some((first, others)) = texts.split_first().filter(|(_, others)| !others.is_empty()) else { return 0 };
    let common = |text: &TextTokens| first.ids.iter().zip(&text.ids).take_while(|(a, b)| a == b).count();
    let least = others.iter().map(|text| common(text).min(text.ids.len() - 1)).min().unwrap_or(0);
    (least.min(first.ids.len() - 1) / PAGE) as u32
}

/// The `model_type` of Qwen3-Reranker.
const RERANKER: &str = "qwen3";

/// Prompt text before query and passage, as in the training of Qwen3-Reranker.
const PREFIX: &str = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the \
                      Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n";
/// Prompt text after them.
const SUFFIX: &str = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
/// The task, where none is named.
const INSTRUCTION: &str = "Given a web search query, retrieve relevant passages that answer the query";
/// Tokens of a prompt at most, as its authors cut it.
const LONGEST: usize = 8192;

/// Qwen3-Reranker: a decoder that answers whether a passage is relevant by its next token, yes or no.
#[derive(Debug)]
pub struct CausalReranker {
    causal: Causal,
    tokenizer: Tokenizer,
    prefix: Vec<u32>,
    suffix: Vec<u32>,
    /// The output layer's row of yes less that of no: `[hidden]`.
    answer: Vec<f32>,
    limit: usize,
}

impl CausalReranker {
    /// Whether the folder `path` has a decoder of the one kind that is known to rerank.
    ///
    /// # Errors
    /// A config.json that cannot be read.
    pub fn is_at(path: &Path) -> Result<bool> {
        Ok(Config::open(&path.join("config.json"))?.str("model_type")? == RERANKER)
    }

    /// Loads the folder `path`.
    ///
    /// # Errors
    /// A file, field or tensor that is missing, malformed or not supported; a model without an output layer; a vocabulary
    /// without the special tokens of the prompt, or without "yes" and "no".
    pub fn open(path: &Path, options: &EncoderOptions) -> Result<Self> {
        let config = Config::open(&path.join("config.json"))?;
        let settings = TextSettings::of(path, config.usize("max_position_embeddings")?)?;
        let tokenizer = Tokenizer::from_dir_in(path, &settings.casing)?;
        let wrong = |file: &str, field: &str, expected: String, found: String| ModelError::Field {
            path: path.join(file),
            field: field.to_owned(),
            expected,
            found,
        };
        let missing = |expected| wrong("tokenizer.json", "vocabulary", expected, "none".to_owned());
        for token in ["<|im_start|>", "<|im_end|>", "<think>", "</think>"] {
            let known = tokenizer.special_id(token);
            known.ok_or_else(|| missing(format!("{token}, which Qwen3-Reranker's prompt has")))?;
        }
        let scaffold = |text: &str| tokenizer.encode_continuation(&[Segment::Scaffold(text.to_owned())]);
        let (prefix, suffix) = (scaffold(PREFIX)?, scaffold(SUFFIX)?);
        let limit = settings.limit.min(LONGEST);
        let least = prefix.len() + suffix.len() + 8;
        if limit < least {
            let expected = format!("at least {least} tokens, for the prompt");
            return Err(wrong("config.json", "max_position_embeddings", expected, limit.to_string()));
        }
        let weights = Weights::Safetensors(Safetensors::open(path)?);
        let [embedding, output] = [Name::Embedding, Name::Output].map(|name| Naming::FOLDER.name(name));
        let output = if config.flag("tie_word_embeddings")? { embedding } else { output };
        if !weights.contains(&output) {
            return Err(ModelError::NotAModel {
                path: path.to_owned(),
                expected: format!("{output}, the output layer, which a reranker answers yes or no by"),
                found: "none, as in an embedding model".into(),
            });
        }
        let causal = Causal::load(&weights, arch::spec(&weights)?, &config, options)?;
        let spec = causal.decoder.spec();
        check_vocabulary(&path.join("tokenizer.json"), &tokenizer, spec.vocab)?;
        let row = |word: &str| match tokenizer.encode_text(word)?[..] {
            [id] => {
                let row = weights.rows(&output, spec.vocab, spec.hidden)?.slice(id as usize..id as usize + 1);
                Ok(row.dense(DType::F32, &Device::Cpu)?.flatten_all()?.to_vec1::<f32>()?)
            }
            _ => Err(missing(format!("{word:?} as one token"))),
        };
        let answer = row("yes")?.iter().zip(row("no")?).map(|(yes, no)| yes - no).collect();
        Ok(Self { causal, tokenizer, prefix, suffix, answer, limit })
    }

    /// The prompt of `pair`, a query and a passage. What is beyond the limit is cut off at the end of the passage.
    ///
    /// # Errors
    /// The tokenizer's own pipeline fails on the texts.
    pub fn tokens(&self, pair: Pair<'_>) -> Result<TextTokens> {
        let Pair { first: query, second: passage } = pair;
        let asked = format!("<Instruct>: {INSTRUCTION}\n<Query>: {query}\n<Document>: {passage}");
        let mut asked = self.tokenizer.encode_text(&asked)?;
        let room = self.limit - self.prefix.len() - self.suffix.len();
        let truncated = asked.len() > room;
        asked.truncate(room);
        let ids = [&self.prefix[..], &asked, &self.suffix].concat();
        Ok(TextTokens { segments: vec![0; ids.len()], ids, truncated })
    }

    /// The logit of each prompt of [`Self::tokens`]: that of yes less that of no, so that its sigmoid is the softmax of the
    /// two. A prompt's logit does not depend on the others, bit for bit on the CPU.
    ///
    /// # Errors
    /// An operation fails.
    pub fn logits(&self, prompts: &[TextTokens]) -> Result<Vec<f32>> {
        let dot = |state: &Vec<f32>| state.iter().zip(&self.answer).map(|(a, b)| a * b).sum();
        Ok(self.causal.last(prompts)?.iter().map(dot).collect())
    }

    /// The decoder's architecture.
    #[must_use]
    pub fn architecture(&self) -> &'static str {
        self.causal.decoder.spec().architecture
    }

    /// Tokens of a prompt at most.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Whether files beside `tokenizer.json` changed its normaliser.
    #[must_use]
    pub fn recased(&self) -> bool {
        self.tokenizer.recased()
    }
}
