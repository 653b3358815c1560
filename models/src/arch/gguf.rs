//! GGUF metadata: the fields that all architectures share.

use super::rope;
use crate::error::Result;
use crate::spec::{
    Bias, ContextLimit, DecoderSpec, Experts, LayerKind, Layout, Norms, Output, QkNorm, QueryScaling, RopeScaling,
    Scoring, Values,
};
use crate::weights::Metadata;
use moot_kernels::Gate;

/// A spec from `<architecture>.*`; no bias, the plain layout, an output tensor of its own. What only the tensors tell
/// (the vocabulary, biases, a tied output, divisors of rotation speeds) is added where the file is at hand. Heads are
/// rotated whole, or refused, as llama.cpp does.
pub(super) fn spec(metadata: &Metadata, architecture: &'static str) -> Result<DecoderSpec> {
    let spec = partly_rotated(metadata, architecture)?;
    if spec.rope.dims == spec.head_dim {
        return Ok(spec);
    }
    let expected = format!("{}, the head size ({architecture} has no partial rotation)", spec.head_dim);
    Err(metadata.wrong(&format!("{architecture}.rope.dimension_count"), &expected))
}

/// As [`spec`], of an architecture whose heads may be rotated in part.
pub(super) fn partly_rotated(metadata: &Metadata, architecture: &'static str) -> Result<DecoderSpec> {
    let experts = format!("{architecture}.expert_count");
    if metadata.optional_usize(&experts)?.is_some_and(|count| count > 0) {
        return Err(metadata.wrong(&experts, &format!("0 ({architecture} has no experts)")));
    }
    fields(metadata, architecture, "feed_forward_length")
}

/// As [`partly_rotated`], of an architecture with a mixture of experts in every layer: a softmax over all experts, the
/// weights of the used ones divided by their sum.
pub(super) fn with_experts(metadata: &Metadata, architecture: &'static str) -> Result<DecoderSpec> {
    with_scored_experts(metadata, architecture, Scoring::Softmax)
}

/// As [`with_experts`], by any scoring.
pub(super) fn with_scored_experts(
    metadata: &Metadata,
    architecture: &'static str,
    scoring: Scoring,
) -> Result<DecoderSpec> {
    check_router(metadata, architecture, scoring)?;
    let field = |name: &str| format!("{architecture}.{name}");
    let (count, used) = (metadata.usize(&field("expert_count"))?, metadata.usize(&field("expert_used_count"))?);
    let mut spec = fields(metadata, architecture, "expert_feed_forward_length")?;
    spec.experts = Some(Experts { scoring, ..Experts::of(count, used) });
    Ok(spec)
}

/// Refuses another router than one by `scoring`.
pub(super) fn check_router(metadata: &Metadata, architecture: &str, scoring: Scoring) -> Result<()> {
    let field = |name: &str| format!("{architecture}.{name}");
    // Other numbers are other routers.
    let (kinds, expected) = match scoring {
        Scoring::Softmax => (0..=1, "1, a softmax"),
        Scoring::Sigmoid => (2..=2, "2, sigmoids"),
    };
    if !kinds.contains(&metadata.optional_usize(&field("expert_gating_func"))?.unwrap_or(0)) {
        return Err(metadata.wrong(&field("expert_gating_func"), expected));
    }
    if metadata.optional_f64(&field("expert_weights_scale"))?.is_some_and(|scale| scale != 0.0 && scale != 1.0) {
        return Err(metadata.wrong(&field("expert_weights_scale"), "1"));
    }
    Ok(())
}

/// The fields of [`partly_rotated`]; `width` names that of the feed-forward's width.
fn fields(metadata: &Metadata, architecture: &'static str, width: &str) -> Result<DecoderSpec> {
    let kv_heads = kv_heads(metadata, &format!("{architecture}.attention.head_count_kv"))?;
    with_kv_heads(metadata, architecture, width, kv_heads)
}

/// As [`fields`], of an architecture whose key and value heads are `kv_heads`, or as many as query heads.
pub(super) fn with_kv_heads(
    metadata: &Metadata,
    architecture: &'static str,
    width: &str,
    kv_heads: Option<usize>,
) -> Result<DecoderSpec> {
    let field = |name: &str| format!("{architecture}.{name}");
    let heads = metadata.usize(&field("attention.head_count"))?;
    let hidden = metadata.usize(&field("embedding_length"))?;
    let eps = metadata.optional_f64(&field("attention.layer_norm_rms_epsilon"))?;
    let head_dim = match metadata.optional_usize(&field("attention.key_length"))? {
        Some(dim) => dim,
        None => hidden.checked_div(heads).unwrap_or(0),
    };
    let values = field("attention.value_length");
    if metadata.optional_usize(&values)?.is_some_and(|dim| dim != head_dim) {
        return Err(metadata.wrong(&values, &format!("{head_dim}, as in keys")));
    }
    let rope = rope::of_gguf(metadata, architecture, head_dim)?;
    let beta = metadata.optional_f64(&field("attention.temperature_scale"))?.filter(|&beta| beta != 0.0);
    let query_scaling =
        beta.map(|beta| match rope.scaling {
            RopeScaling::Yarn { original, .. } => Ok(QueryScaling { beta, original }),
            _ => Err(metadata
                .wrong(&field("rope.scaling.type"), "\"yarn\", whose context attention.temperature_scale needs")),
        });
    let query_scaling = query_scaling.transpose()?;
    // A number, or one for each layer.
    let widths = metadata.optional_usizes(&field(width))?.unwrap_or_default();
    let intermediate = match widths.first() {
        Some(&first) => first,
        None => metadata.usize(&field(width))?,
    };
    let mut spec = DecoderSpec {
        architecture,
        vocab: 0,
        hidden,
        layers: metadata.usize(&field("block_count"))?,
        heads,
        kv_heads: kv_heads.unwrap_or(heads),
        head_dim,
        window_heads: None,
        shared_kv_layers: 0,
        widths,
        intermediate,
        experts: None,
        context: metadata.usize(&field("context_length"))?,
        limit: ContextLimit::Trained,
        window: usize::MAX,
        window_rope: None,
        layer_kinds: Vec::new(),
        recurrence: None,
        attention_scale: 1.0 / (head_dim as f32).sqrt(),
        query_scaling,
        attention_gate: false,
        attention_sinks: false,
        bidirectional: false,
        embedding_scale: 1.0,
        residual_scale: 1.0,
        logit_scale: 1.0,
        gate: Gate::Silu,
        norms: Norms::Before,
        norm_eps: eps.ok_or_else(|| metadata.wrong(&field("attention.layer_norm_rms_epsilon"), "a number"))? as f32,
        rope,
        bias: Bias::None,
        qk_norm: QkNorm::None,
        values: Values::Projected,
        layer_inputs: None,
        layer_scales: false,
        logit_cap: None,
        output: Output::Own,
        layout: Layout::PLAIN,
        prediction_blocks: 0,
    };
    // Converters write 0 for a model without a window.
    if let Some(window) = metadata.optional_usize(&field("attention.sliding_window"))?.filter(|&window| window > 0) {
        spec.window = window;
        spec.set_kinds(|_| LayerKind::WINDOWED);
    }
    Ok(spec)
}

/// The number of key and value heads, or that of an array with one for each layer, which have all the same or 0: a layer
/// with 0 has no attention, and no tensors for it.
fn kv_heads(metadata: &Metadata, field: &str) -> Result<Option<usize>> {
    let Some(by_layer) = metadata.optional_usizes(field)? else { return metadata.optional_usize(field) };
    let mut of_attention = by_layer.into_iter().filter(|&heads| heads > 0);
    let first = of_attention.next();
    match of_attention.all(|heads| Some(heads) == first) {
        true => Ok(first),
        false => Err(metadata.wrong(field, "the same number in all layers with attention")),
    }
}

/// Refuses fields that would change the forward in a way not built: anything but absent or 0.
pub(super) fn refuse(metadata: &Metadata, fields: &[&str]) -> Result<()> {
    for field in fields {
        if metadata.optional_f64(field)?.is_some_and(|number| number != 0.0) {
            return Err(metadata.wrong(field, "nothing, or 0 (not supported)"));
        }
    }
    Ok(())
}
