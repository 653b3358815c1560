//! A mixture of experts: each token goes through the feed-forwards that a router chooses for it.

use super::{FeedForward, FeedForwards, Linear};
use crate::spec::{Experts, Scoring};
use candle_core::{DType, Device, Result, Tensor};
use moot_kernels::ops::norm::rms_norm;
use moot_kernels::read_back;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// `Σ_e weight_e(x) · expert_e(x)` over the experts with the largest scores, and the shared expert's result.
#[derive(Debug)]
pub(crate) struct MixtureOfExperts {
    spec: Experts,
    router: Router,
    experts: Vec<FeedForward>,
    shared: Option<SharedExpert>,
    read: AtomicUsize,
}

/// The router, which chooses a token's experts.
#[derive(Debug)]
pub(crate) struct Router {
    /// An output for each expert.
    pub(crate) layer: Linear,
    /// Added to each expert's score where experts are chosen, and not to its weight.
    pub(crate) choice_bias: Option<Vec<f32>>,
    /// Factors of experts' weights.
    pub(crate) scales: Option<Vec<f32>>,
}

/// A feed-forward and experts side by side: `norm(dense(x_n)) + norm(experts(norm(x)))` of the residual stream `x` and its
/// norm `x_n`. The router's input is `x` under a norm of its own.
#[derive(Debug)]
pub(crate) struct FeedForwardBesideExperts {
    pub(crate) dense: FeedForward,
    pub(crate) experts: MixtureOfExperts,
    /// Weights of norms, `[hidden]` each.
    pub(crate) norms: BesideNorms,
    pub(crate) eps: f32,
}

/// The norms of [`FeedForwardBesideExperts`].
#[derive(Debug)]
pub(crate) struct BesideNorms {
    /// Behind the feed-forward.
    pub(crate) dense_output: Tensor,
    /// Before the router.
    pub(crate) router: Tensor,
    /// Before the experts.
    pub(crate) experts: Tensor,
    /// Behind the experts.
    pub(crate) experts_output: Tensor,
}

impl FeedForwardBesideExperts {
    /// `[tokens, hidden]` to the same; `form` gives activations the type that linear layers take.
    pub(crate) fn apply(&self, x: &Tensor, normed: &Tensor, form: &dyn Fn(Tensor) -> Result<Tensor>) -> Result<Tensor> {
        let norms = &self.norms;
        let before = |weight: &Tensor| form(rms_norm(x, weight, self.eps)?);
        let dense = rms_norm(&self.dense.apply(normed)?, &norms.dense_output, self.eps)?;
        let experts = self.experts.apply_routed(&before(&norms.experts)?, &before(&norms.router)?)?;
        dense + rms_norm(&experts, &norms.experts_output, self.eps)?
    }
}

/// The expert of every token: `sigmoid(gate(x)) · layers(x)`.
#[derive(Debug)]
pub(crate) struct SharedExpert {
    pub(crate) layers: FeedForward,
    /// One output.
    pub(crate) gate: Linear,
}

/// The tokens of an expert, ascending, and their weights.
#[derive(Debug, Clone, Default)]
struct Share {
    tokens: Vec<u32>,
    weights: Vec<f32>,
}

impl MixtureOfExperts {
    /// `router` chooses among `experts`.
    pub(crate) fn new(spec: Experts, router: Router, experts: Vec<FeedForward>, shared: Option<SharedExpert>) -> Self {
        Self { spec, router, experts, shared, read: AtomicUsize::new(0) }
    }

    /// `[tokens, hidden]` to the same. A token's result is summed in the order of experts, so its bits do not depend on the
    /// tokens beside it where those of a product do not.
    pub(crate) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        self.apply_routed(x, x)
    }

    /// As [`Self::apply`], with experts chosen by `routed`.
    fn apply_routed(&self, x: &Tensor, routed: &Tensor) -> Result<Tensor> {
        let logits = read_back(&self.router.layer.apply(routed)?.to_dtype(DType::F32)?)?.to_vec2::<f32>()?;
        let shares = self.shares(&logits);
        let used: Vec<(&FeedForward, &Share)> =
            self.experts.iter().zip(&shares).filter(|(_, share)| !share.tokens.is_empty()).collect();
        self.read.fetch_add(used.len(), Relaxed);
        let apply = |(expert, share): &(&FeedForward, &Share)| {
            let tokens = Tensor::new(&share.tokens[..], x.device())?;
            expert.apply(&x.index_select(&tokens, 0)?)
        };
        if x.device().is_cpu() {
            // Experts side by side: with few tokens each of them alone would keep few threads busy.
            let results = used.par_iter().map(apply).collect::<Result<Vec<_>>>()?;
            let results = used.iter().zip(&results).map(|((_, share), result)| (*share, result));
            let shared = self.shared.as_ref().map(|shared| shared.apply(x)).transpose()?;
            return summed(results.chain(shared.iter().map(|(share, result)| (share, result))), x);
        }
        let mut sum = x.zeros_like()?;
        for used in &used {
            let (tokens, weights) = (&used.1.tokens, &used.1.weights);
            let weights = Tensor::new(&weights[..], x.device())?.to_dtype(x.dtype())?.reshape((tokens.len(), 1))?;
            let result = apply(used)?.broadcast_mul(&weights)?;
            sum = sum.index_add(&Tensor::new(&tokens[..], x.device())?, &result, 0)?;
        }
        if let Some(shared) = &self.shared {
            let (share, result) = shared.apply(x)?;
            let weights = Tensor::from_vec(share.weights, (x.dim(0)?, 1), x.device())?.to_dtype(x.dtype())?;
            sum = (sum + result.broadcast_mul(&weights)?)?;
        }
        Ok(sum)
    }

    /// Of each expert its tokens.
    fn shares(&self, logits: &[Vec<f32>]) -> Vec<Share> {
        let mut shares = vec![Share::default(); self.spec.count];
        for (token, logits) in logits.iter().enumerate() {
            for (expert, weight) in chosen(logits, self.spec, self.router.choice_bias.as_deref()) {
                let scale = self.router.scales.as_ref().map_or(1.0, |scales| scales[expert]);
                shares[expert].tokens.push(token as u32);
                shares[expert].weights.push(weight * scale);
            }
        }
        shares
    }

    /// `so_far` and those of this layer.
    pub(crate) fn count(&self, so_far: FeedForwards) -> FeedForwards {
        let shared = self.shared.iter().map(|shared| &shared.layers);
        let so_far = self.experts.iter().chain(shared).fold(so_far, |so_far, expert| expert.count(so_far));
        FeedForwards { experts_read: so_far.experts_read + self.read.load(Relaxed), ..so_far }
    }

    /// Experts that a token goes through.
    pub(crate) fn used(&self) -> usize {
        self.spec.used
    }

    /// The matrices that every token goes through: the router, and the shared expert's.
    pub(crate) fn linears_of_all(&self) -> impl Iterator<Item = &Linear> {
        let shared = self.shared.iter().flat_map(|shared| shared.layers.linears().chain([&shared.gate]));
        [&self.router.layer].into_iter().chain(shared)
    }

    /// The matrices of one expert; those of the others are alike.
    pub(crate) fn linears_of_one(&self) -> impl Iterator<Item = &Linear> {
        self.experts.iter().take(1).flat_map(FeedForward::linears)
    }

    /// All matrices.
    pub(crate) fn linears(&self) -> impl Iterator<Item = &Linear> {
        self.linears_of_all().chain(self.experts.iter().flat_map(FeedForward::linears))
    }
}

impl SharedExpert {
    /// Every token with its weight, and the layers' results.
    fn apply(&self, x: &Tensor) -> Result<(Share, Tensor)> {
        let gates = read_back(&self.gate.apply(x)?.to_dtype(DType::F32)?)?.flatten_all()?;
        let weights = gates.to_vec1::<f32>()?.into_iter().map(sigmoid).collect();
        Ok((Share { tokens: (0..x.dim(0)? as u32).collect(), weights }, self.layers.apply(x)?))
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + moot_kernels::math::exp_f32(-x))
}

/// The experts of a token and their weights: of the largest scores, and of equal ones the first. Where they are normalised,
/// weights are divided by their sum.
fn chosen(logits: &[f32], spec: Experts, choice_bias: Option<&[f32]>) -> Vec<(usize, f32)> {
    /// Added to the sum of sigmoids, as transformers does.
    const EPS: f32 = 1e-6;
    let (scores, sum, eps): (Vec<f32>, f32, f32) = match spec.scoring {
        Scoring::Softmax => {
            let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let powers: Vec<f32> = logits.iter().map(|logit| moot_kernels::math::exp_f32(logit - highest)).collect();
            let sum = powers.iter().sum();
            (powers, sum, 0.0)
        }
        Scoring::Sigmoid => (logits.iter().map(|&logit| sigmoid(logit)).collect(), 1.0, EPS),
    };
    let rank = |expert: usize| scores[expert] + choice_bias.map_or(0.0, |bias| bias[expert]);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| rank(b).total_cmp(&rank(a)).then(a.cmp(&b)));
    order.truncate(spec.used);
    let weight = |expert: usize| scores[expert] / sum;
    let divisor = if spec.normalised { order.iter().map(|&expert| weight(expert)).sum::<f32>() + eps } else { 1.0 };
    order.into_iter().map(|expert| (expert, weight(expert) / divisor)).collect()
}

/// The weighted results of experts, each added to its tokens' rows, one after the other.
fn summed<'a>(results: impl Iterator<Item = (&'a Share, &'a Tensor)>, x: &Tensor) -> Result<Tensor> {
    let (tokens, hidden) = x.dims2()?;
    let mut sum = vec![0.0_f32; tokens * hidden];
    for (share, result) in results {
        moot_kernels::ops::read_floats(&result.contiguous()?, |result| {
            let rows = result.chunks_exact(hidden).zip(share.tokens.iter().zip(&share.weights));
            for (row, (&token, weight)) in rows {
                let to = &mut sum[token as usize * hidden..][..hidden];
                to.iter_mut().zip(row).for_each(|(to, value)| *to += weight * value);
            }
        })?;
    }
    Tensor::from_vec(sum, (tokens, hidden), &Device::Cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_weights_are_taken_and_of_equal_ones_the_first() {
        let spec = Experts { normalised: false, ..Experts::of(4, 2) };
        let all = chosen(&[0.0, 1.0, 1.0, 1.0], spec, None);
        assert_eq!(all.iter().map(|(expert, _)| *expert).collect::<Vec<_>>(), [1, 2]);
        let e = std::f32::consts::E;
        assert!((all[0].1 - e / (1.0 + 3.0 * e)).abs() < 1e-6);
        let normalised = chosen(&[0.0, 1.0, 3.0, -2.0], Experts::of(4, 2), None);
        assert_eq!(normalised.iter().map(|(expert, _)| *expert).collect::<Vec<_>>(), [2, 1]);
        assert!((normalised.iter().map(|(_, weight)| weight).sum::<f32>() - 1.0).abs() < 1e-6);
    }
    /// Of sigmoids 0.5, 0.731, 0.953 and 0.119 with a bias of 1 on the last: it is chosen, by its own weight.
    #[test]
    fn a_bias_chooses_experts_and_does_not_weight_them() {
        let (logits, bias) = ([0.0, 1.0, 3.0, -2.0], [0.0, 0.0, 0.0, 1.0]);
        let spec = Experts { scoring: Scoring::Sigmoid, ..Experts::of(4, 2) };
        let plain = chosen(&logits, Experts { normalised: false, ..spec }, Some(&bias));
        assert_eq!(plain.iter().map(|(expert, _)| *expert).collect::<Vec<_>>(), [3, 2]);
        assert!((plain[0].1 - 0.119_203).abs() < 1e-6 && (plain[1].1 - 0.952_574).abs() < 1e-6, "{plain:?}");
        let normalised = chosen(&logits, spec, Some(&bias));
        assert!((normalised[1].1 - 0.952_574 / 1.071_778).abs() < 1e-6, "{normalised:?}");
        let unbiased = chosen(&logits, spec, None);
        assert_eq!(unbiased.iter().map(|(expert, _)| *expert).collect::<Vec<_>>(), [2, 1]);
    }
}
