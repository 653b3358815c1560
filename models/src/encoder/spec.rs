//! The shape of an encoder as plain data, the same for all families.

use crate::spec::Rope;
use moot_kernels::Activation;
use moot_kernels::math::ln;

/// Shape and switches of a bidirectional transformer.
#[derive(Debug, Clone, PartialEq)]
pub struct EncoderSpec {
    /// The row of [`super::FAMILIES`].
    pub family: &'static str,
    /// Token ids: rows of the embedding.
    pub vocab: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Transformer blocks.
    pub layers: usize,
    /// Attention heads.
    pub heads: usize,
    /// Width of a head, a multiple of 16: `hidden / heads`, but in T5, which says it.
    pub head_dim: usize,
    /// Scale of attention scores.
    pub scale: f32,
    /// Width of the feed-forward's inner layer.
    pub intermediate: usize,
    /// Tokens of a text at most, special ones included.
    pub context: usize,
    /// Epsilon of the norms.
    pub norm_eps: f32,
    /// Whether norms divide by the root of the mean square and do nothing else (T5).
    pub root_mean_square: bool,
    /// Activation of the feed-forward.
    pub activation: Activation,
    /// Rows of the position table that is added to the embedding, and the row of the first token; `None` without one.
    pub positions: Option<PositionTable>,
    /// Rows of the segment (token type) table; 0 without one.
    pub segments: usize,
    /// Relative positions inside attention (DeBERTa).
    pub relative: Option<RelativePositions>,
    /// A number for the distance of two tokens that is added to their score, in all blocks (T5, MPNet).
    pub distances: Option<DistanceBuckets>,
    /// Rotated queries and keys (ModernBERT).
    pub rotary: Option<RotaryPositions>,
    /// Whether norms are in front of attention and feed-forward, and the residual stream is not normed.
    pub norm_first: bool,
    /// Whether linear layers and norms have biases.
    pub biases: bool,
}

/// Rotary positions, in blocks that see all of a text and blocks that see neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct RotaryPositions {
    /// Rotation of blocks that see all of a text.
    pub full: Rope,
    /// Rotation of the others.
    pub local: Rope,
    /// For each block, whether a token sees its neighbours alone.
    pub is_local: Vec<bool>,
    /// The largest distance of a neighbour.
    pub window: usize,
}

/// A learned vector for every position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositionTable {
    /// Rows of the table.
    pub rows: usize,
    /// Row of a text's first token: RoBERTa's tables begin after the padding token's.
    pub first: usize,
}

/// DeBERTa's disentangled attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelativePositions {
    /// Distances from `-span` to `span - 1` have a row each: half the rows of the table.
    pub span: usize,
    /// Logarithmic buckets for distances beyond half the span; `None` gives each distance a row of its own.
    pub buckets: Option<Buckets>,
    /// Whether the table is normed before it is used.
    pub normed: bool,
    /// Whether positions use the tokens' own key and query projections.
    pub shared: bool,
}

/// Buckets of distances that share a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    /// Rows in each direction.
    pub count: usize,
    /// The distance of the last row.
    pub farthest: usize,
}

/// Distances that share a number (Raffel et al. 2020, section 2.1): half of the buckets for keys behind the query, and of
/// each half one half for single distances and one for ranges that grow with the logarithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DistanceBuckets {
    /// Buckets for both directions, a multiple of 4.
    pub count: usize,
    /// Distances from here on share the last bucket.
    pub farthest: usize,
}

impl DistanceBuckets {
    /// The bucket of `distance`, the key's position minus the query's. Computed in f32 as by the reference.
    #[must_use]
    pub fn bucket(self, distance: i64) -> usize {
        let half = self.count / 2;
        let (single, far) = (half / 2, distance.unsigned_abs() as usize);
        let behind = if distance > 0 { half } else { 0 };
        if far < single {
            return behind + far;
        }
        let ln = |x: f32| ln(f64::from(x)) as f32;
        let share = ln(far as f32 / single as f32) / ln(self.farthest as f32 / single as f32);
        behind + (single + (share * (half - single) as f32) as usize).min(half - 1)
    }
}

impl RelativePositions {
    /// The row of distance `distance`, of `2 * span`.
    #[must_use]
    pub fn row(&self, distance: i64) -> u32 {
        let span = self.span as i64;
        let bucket = self.buckets.map_or(distance, |buckets| buckets.bucket(distance));
        (bucket + span).clamp(0, 2 * span - 1) as u32
    }
}

impl Buckets {
    /// The bucket of a distance: up to half the count each distance has its own; beyond, buckets grow with the logarithm.
    /// Computed in f32 as by the reference, so that distances at an edge fall into the same bucket.
    fn bucket(self, distance: i64) -> i64 {
        let middle = (self.count / 2) as i64;
        let far = distance.abs();
        if far <= middle {
            return distance;
        }
        let (middle_f, last) = (middle as f32, self.farthest as f32 - 1.0);
        let ln = |x: f32| ln(f64::from(x)) as f32;
        let share = ln(far as f32 / middle_f) / ln(last / middle_f);
        ((share * (middle_f - 1.0)).ceil() as i64 + middle) * distance.signum()
    }
}
