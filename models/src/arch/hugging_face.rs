//! config.json: the fields that all architectures share.

use super::config::Config;
use super::{bases, rope};
use crate::error::Result;
use crate::spec::{Bias, ContextLimit, DecoderSpec, Experts, LayerKind, Layout, Norms, Output, QkNorm, Values};
use moot_kernels::Gate;
use serde_json::Value;

/// Gives windows to the layers that `layer_types` says, or without it to those that `windowed` says; none where the
/// config has no `sliding_window`.
pub(super) fn read_windows(config: &Config, spec: &mut DecoderSpec, windowed: impl Fn(usize) -> bool) -> Result<()> {
    let Some(window) = config.window()? else { return Ok(()) };
    let kind = |windowed: bool| if windowed { LayerKind::WINDOWED } else { LayerKind::FULL };
    if !config.has("layer_types") {
        spec.set_kinds(|layer| kind(windowed(layer)));
    } else {
        let types = config.words("layer_types")?;
        let known = types.iter().all(|of| of == "full_attention" || of == "sliding_attention");
        if !known || types.len() != spec.layers {
            let expected = format!("full_attention or sliding_attention for each of {} layers", spec.layers);
            return Err(config.wrong("layer_types", &expected));
        }
        spec.set_kinds(|layer| kind(types[layer] == "sliding_attention"));
    }
    spec.window = window;
    Ok(())
}

/// A spec from the shared fields; no bias, no window, the plain layout. Heads are rotated whole, or refused.
pub(super) fn spec(config: &Config, architecture: &'static str) -> Result<DecoderSpec> {
    let spec = partly_rotated(config, architecture)?;
    if spec.rope.dims == spec.head_dim {
        return Ok(spec);
    }
    let parameters = config.section("rope_parameters")?.filter(|section| section.has("partial_rotary_factor"));
    let holder = parameters.as_ref().unwrap_or(config);
    Err(holder.wrong("partial_rotary_factor", &format!("1 ({architecture} has no partial rotation)")))
}

/// As [`spec`], of an architecture whose heads may be rotated in part.
pub(super) fn partly_rotated(config: &Config, architecture: &'static str) -> Result<DecoderSpec> {
    config.refuse("hidden_act", |value| value == "silu", "\"silu\"")?;
    of_any_activation(config, architecture)
}

/// As [`spec`], of an architecture whose gate is a GELU. The rotation is left plain where `rope_parameters` has one for
/// each kind of layer.
pub(super) fn gated_by_gelu(config: &Config, architecture: &'static str) -> Result<DecoderSpec> {
    config.refuse("hidden_act", |value| value == "gelu_pytorch_tanh", "\"gelu_pytorch_tanh\"")?;
    of_any_activation(config, architecture)
}

/// `spec` with a mixture of experts in every layer.
pub(super) fn with_experts(config: &Config, mut spec: DecoderSpec, normalised: bool) -> Result<DecoderSpec> {
    config.refuse("decoder_sparse_step", |value| value == 1, "1 (experts in every layer)")?;
    let none = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    config.refuse("mlp_only_layers", none, "[] (experts in every layer)")?;
    let (count, used) = (config.usize("num_experts")?, config.usize("num_experts_per_tok")?);
    spec.intermediate = config.usize("moe_intermediate_size")?;
    spec.experts = Some(Experts { normalised, ..Experts::of(count, used) });
    Ok(spec)
}

/// As [`spec`], of an architecture whose experts are in MXFP4; their number is left out.
pub(super) fn in_mxfp4(config: &Config, architecture: &'static str) -> Result<DecoderSpec> {
    config.refuse("hidden_act", |value| value == "silu", "\"silu\"")?;
    let mxfp4 = |value: &Value| value.get("quant_method").is_some_and(|method| method == "mxfp4");
    config.refuse("quantization_config", mxfp4, "the method \"mxfp4\"")?;
    fields(config, architecture)
}

fn of_any_activation(config: &Config, architecture: &'static str) -> Result<DecoderSpec> {
    refuse_quantised(config)?;
    fields(config, architecture)
}

/// Refuses weights that are quantised.
pub(super) fn refuse_quantised(config: &Config) -> Result<()> {
    config.refuse("quantization_config", |_| false, "weights that are not quantised (or a GGUF file of the model)")
}

fn fields(config: &Config, architecture: &'static str) -> Result<DecoderSpec> {
    config.refuse("mlp_bias", |value| value == false, "false")?;
    let heads = config.usize("num_attention_heads")?;
    let hidden = config.usize("hidden_size")?;
    let head_dim = match config.optional_usize("head_dim")? {
        Some(dim) => dim,
        None => hidden.checked_div(heads).unwrap_or(0),
    };
    let context = config.usize("max_position_embeddings")?;
    // Where every layer has experts, only their width may be there.
    let experts_alone = !config.has("intermediate_size") && config.has("moe_intermediate_size");
    let width = match config.has("block_ff_dim") {
        true => "block_ff_dim",
        false if experts_alone => "moe_intermediate_size",
        false => "intermediate_size",
    };
    let eps = if config.has("norm_eps") { "norm_eps" } else { "rms_norm_eps" };
    let (rope, reach) = rope::of_config(config, bases::usual(architecture), head_dim, context)?;
    let query_scaling = rope::query_scaling(config)?;
    let mut spec = DecoderSpec {
        architecture,
        vocab: config.optional_usize("vocab_size")?.unwrap_or(0),
        hidden,
        layers: config.usize("num_hidden_layers")?,
        heads,
        kv_heads: config.optional_usize("num_key_value_heads")?.unwrap_or(heads),
        head_dim,
        window_heads: None,
        shared_kv_layers: 0,
        widths: Vec::new(),
        intermediate: config.usize(width)?,
        experts: None,
        context,
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
        norm_eps: config.f64(eps)? as f32,
        rope,
        bias: Bias::None,
        qk_norm: QkNorm::None,
        values: Values::Projected,
        layer_inputs: None,
        layer_scales: false,
        logit_cap: None,
        output: if config.flag("tie_word_embeddings")? { Output::Tied } else { Output::Own },
        layout: Layout::PLAIN,
        prediction_blocks: 0,
    };
    spec.limit_context(reach, |claimed| ContextLimit::ShortRope { claimed });
    Ok(spec)
}
