//! Pairs of texts to probabilities of classes: cross-encoders, such as those for natural language inference.

use super::family::HeadOf;
use super::head::Head;
use super::labels::NliLabels;
use super::load::Loader;
use super::tokens::{Long, TextTokenizer, TextTokens};
use super::{Batches, Encoder, EncoderOptions, Packed, Pair, TextSettings, family};
use crate::arch::Config;
use crate::error::{ModelError, Result};
use crate::weights::{Safetensors, Weights};
use moot_kernels::math::exp_f32;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Logits and probabilities of pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Classified {
    /// `[pairs][labels]`, in the order of the pairs and of [`Classifier::labels`].
    pub logits: Vec<Vec<f32>>,
    /// Softmax of `logits`; of a model with one label, its sigmoid.
    pub probabilities: Vec<Vec<f32>>,
    /// Pairs that are longer than the model's limit, and were classified by their beginnings.
    pub truncated: usize,
}

/// An encoder with a classification head.
#[derive(Debug)]
pub struct Classifier {
    path: PathBuf,
    encoder: Encoder,
    /// Tokens that are computed together.
    tokens: usize,
    tokenizer: TextTokenizer,
    head: Head,
    labels: Vec<String>,
}

impl Classifier {
    /// Loads the folder `path`: config.json, tokenizer.json and the safetensors of a sequence classifier. `written` is how
    /// the model reads both texts of a pair as one, with `{premise}` and `{hypothesis}`: T5 has no other form of pairs. A
    /// `prompt` in config.json comes first.
    ///
    /// # Errors
    /// A file, field or tensor that is missing, malformed or not supported; a model whose pairs are one text, and nothing
    /// that says how it is written.
    pub fn open(path: &Path, options: &EncoderOptions, written: Option<&str>) -> Result<Self> {
        let config = Config::open(&path.join("config.json"))?;
        let (family, spec) = family::spec(&config)?;
        let settings = TextSettings::of(path, spec.context)?;
        let one_text = !matches!(family.head, HeadOf::Layers(_));
        let (tokenizer, words) = if one_text {
            let own = config.optional_str("prompt")?.map(|own| own.replace("{text1}", "{premise}"));
            let own = own.map(|own| own.replace("{text2}", "{hypothesis}"));
            let Some(written) = own.as_deref().or(written) else {
                let expected = "how the model reads a pair, with {premise} and {hypothesis}; or the model's short name, \
                                whose row of the catalog has it";
                return Err(config.wrong("prompt", expected));
            };
            let tokenizer = TextTokenizer::of_one_text(path, family, spec.vocab, &settings, written)?;
            let words = [tokenizer.first_id("0")?, tokenizer.first_id("1")?];
            if words[0] == words[1] && matches!(family.head, HeadOf::Step) {
                return Err(config.wrong("tokenizer.json", "words \"0\" and \"1\" that begin with different tokens"));
            }
            (tokenizer, words)
        } else {
            (TextTokenizer::open(path, family, spec.vocab, spec.segments, &settings)?, [0; 2])
        };
        let weights = Weights::Safetensors(Safetensors::open(path)?);
        let loader = Loader::new(&weights, family, options);
        let (head, labels) = Head::load(&loader, family, &spec, &config, words)?;
        let encoder = loader.encoder(family, spec)?;
        loader.nothing_left(family)?;
        Ok(Self { path: path.to_owned(), tokens: options.tokens, encoder, tokenizer, head, labels })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The encoder.
    #[must_use]
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The names of the classes, in the order of the logits.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The classes of natural language inference among [`Self::labels`], or among `known` where the catalog names them.
    ///
    /// # Errors
    /// [`ModelError::Field`] where the labels are not such classes: the number of a class does not say what it stands for.
    pub fn nli(&self, known: &[String]) -> Result<NliLabels> {
        let labels = if known.len() == self.labels.len() { known } else { &self.labels[..] };
        NliLabels::of(labels).ok_or_else(|| NliLabels::wrong(&self.path, labels))
    }

    /// Classes of `pairs`. A pair's numbers do not depend on the pairs beside it, bit for bit on the CPU.
    ///
    /// # Errors
    /// The tokenizer or an operation fails.
    pub fn classify(&self, pairs: &[Pair<'_>]) -> Result<Classified> {
        let tokens: Vec<TextTokens> = pairs.par_iter().map(|pair| self.tokenizer.pair(*pair)).collect::<Result<_>>()?;
        let logits = self.logits(&tokens)?;
        let probabilities = logits.iter().map(|row| probabilities(row)).collect();
        let truncated = tokens.iter().filter(|tokens| tokens.truncated).count();
        Ok(Classified { logits, probabilities, truncated })
    }

    /// The tokens of `pair`, its `long` text in windows: one where both texts are within the limit, else as many as that
    /// text needs, each overlapping the one before by a quarter of its length or more. The other text is in every window.
    /// It is cut (`truncated`) where it would leave less than half of the room.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn windows(&self, pair: Pair<'_>, long: Long) -> Result<Vec<TextTokens>> {
        self.tokenizer.windows(pair, long)
    }

    /// Probabilities of [`Self::labels`] for tokens of [`Self::windows`]: `[texts][labels]`. A row does not depend on the
    /// others, bit for bit on the CPU.
    ///
    /// # Errors
    /// An operation fails.
    pub fn probabilities(&self, tokens: &[TextTokens]) -> Result<Vec<Vec<f32>>> {
        Ok(self.logits(tokens)?.iter().map(|row| probabilities(row)).collect())
    }

    /// Checks that the model scores relevance.
    ///
    /// # Errors
    /// [`ModelError::Field`] where the head has other than one label.
    pub fn one_logit(&self) -> Result<()> {
        if self.labels.len() == 1 {
            return Ok(());
        }
        Err(ModelError::Field {
            path: self.path.join("config.json"),
            field: "id2label".into(),
            expected: "one label, as models have that score how relevant a passage is".into(),
            found: self.labels.join(", "),
        })
    }

    /// Logits of [`Self::labels`] for tokens of [`Self::windows`]: `[texts][labels]`, computed in groups of similar length. A
    /// row does not depend on the others, bit for bit on the CPU.
    ///
    /// # Errors
    /// An operation fails.
    pub fn logits(&self, tokens: &[TextTokens]) -> Result<Vec<Vec<f32>>> {
        let batches = Batches::new(tokens, self.tokens);
        let groups: Vec<&[usize]> = batches.iter().collect();
        let of_group = |group: &&[usize]| self.judge(&Packed::new(group.iter().map(|&text| &tokens[text])));
        // On the CPU every thread has a group of its own, as in `EmbeddingModel::embed`.
        let computed: Vec<Vec<Vec<f32>>> = if self.encoder.is_on_cpu() {
            groups.par_iter().with_max_len(1).map(of_group).collect::<Result<_>>()?
        } else {
            groups.iter().map(of_group).collect::<Result<_>>()?
        };
        let mut logits = vec![Vec::new(); tokens.len()];
        for (group, rows) in groups.into_iter().zip(computed) {
            for (row, &text) in rows.into_iter().zip(group) {
                logits[text] = row;
            }
        }
        Ok(logits)
    }

    /// Logits of every text of `packed`.
    fn judge(&self, packed: &Packed) -> Result<Vec<Vec<f32>>> {
        self.head.logits(&self.encoder.forward(packed)?, packed)
    }

    /// Whether files beside `tokenizer.json` changed its normaliser.
    #[must_use]
    pub fn recased(&self) -> bool {
        self.tokenizer.recased()
    }

    /// Tokens of a pair at most, special ones included.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.tokenizer.limit()
    }
}

fn probabilities(logits: &[f32]) -> Vec<f32> {
    if let [one] = logits {
        return vec![1.0 / (1.0 + exp_f32(-one))];
    }
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = logits.iter().map(|x| exp_f32(x - highest)).collect();
    let total: f32 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}
