//! Numbers of a spec that no kernel could work with, or that contradict each other.

use super::rope;
use crate::error::{ModelError, Result};
use crate::spec::{DecoderSpec, Experts, QueryScaling, Recurrence, WindowHeads};
use moot_kernels::ops::delta_net::DeltaShape;
use moot_kernels::ops::short_conv::ConvShape;
use std::path::Path;

/// Width of a feed-forward: far beyond any model.
const WIDEST: usize = 1 << 22;

/// Refuses numbers that no kernel could work with, before anything is allocated by them.
pub(super) fn check(path: &Path, spec: &DecoderSpec) -> Result<()> {
    let wrong = |field: &str, expected: &str, found: String| {
        Err(ModelError::Field { path: path.to_owned(), field: field.into(), expected: expected.into(), found })
    };
    let sizes = [
        ("vocabulary", spec.vocab, 1 << 24),
        ("hidden size", spec.hidden, 1 << 20),
        ("layers", spec.layers, DecoderSpec::MOST_LAYERS),
        ("heads", spec.heads, 1 << 12),
        ("key-value heads", spec.kv_heads, 1 << 12),
        ("head size", spec.head_dim, 1 << 12),
        ("feed-forward size", spec.intermediate, 1 << 22),
        ("context", spec.context, 1 << 31),
        ("attention window", spec.window, usize::MAX),
    ];
    for (field, found, limit) in sizes {
        if found == 0 || found > limit {
            return wrong(field, &format!("1 to {limit}"), found.to_string());
        }
    }
    if !spec.heads.is_multiple_of(spec.kv_heads) {
        let found = format!("{} and {}", spec.heads, spec.kv_heads);
        return wrong("heads and key-value heads", "the second to divide the first", found);
    }
    if !spec.head_dim.is_multiple_of(16) {
        return wrong("head size", "a multiple of 16", spec.head_dim.to_string());
    }
    if let Some((field, expected, found)) = spec.experts.and_then(|experts| experts_fault(experts, spec)) {
        return wrong(field, &expected, found);
    }
    if !(spec.norm_eps > 0.0 && spec.norm_eps < 1.0) {
        return wrong("norm epsilon", "between 0 and 1", spec.norm_eps.to_string());
    }
    if let Some((field, expected, found)) = spec.recurrence.and_then(|recurrence| recurrence_fault(recurrence, spec)) {
        return wrong(field, &expected, found);
    }
    let window_dim = spec.window_heads.map_or(spec.head_dim, |heads| heads.head_dim);
    for (rope, dim) in [(Some(&spec.rope), spec.head_dim), (spec.window_rope.as_ref(), window_dim)] {
        if let Some((field, expected, found)) = rope.and_then(|rope| rope::fault(rope, dim)) {
            return wrong(field, &expected, found);
        }
    }
    if let Some((field, expected, found)) = layers_fault(spec) {
        return wrong(field, &expected, found);
    }
    if let Some(QueryScaling { beta, original }) = spec.query_scaling {
        if !(0.0..=100.0).contains(&beta) {
            return wrong("scaling of queries", "0 to 100", beta.to_string());
        }
        if original.is_nan() || original < 1.0 {
            return wrong("positions of the first training", "at least 1", original.to_string());
        }
    }
    let scales = [
        ("attention scale", spec.attention_scale),
        ("embedding scale", spec.embedding_scale),
        ("residual scale", spec.residual_scale),
        ("logit scale", spec.logit_scale),
    ];
    for (field, scale) in scales {
        if !(scale.is_finite() && scale > 0.0) {
            return wrong(field, "a number above 0", scale.to_string());
        }
    }
    Ok(())
}

/// A field, what is expected of it, and what was found.
type Fault = (&'static str, String, String);

/// The first fault of what differs between layers.
fn layers_fault(spec: &DecoderSpec) -> Option<Fault> {
    let windowed = spec.window_rope.as_ref().map(|rope| rope.dims);
    match spec.window_heads {
        None if windowed.is_some_and(|dims| dims != spec.rope.dims) => {
            return Some(("rotated numbers of a head", "the same in all layers".into(), format!("{windowed:?}")));
        }
        Some(heads) if windowed != Some(heads.head_dim) || spec.rope.dims != spec.head_dim => {
            let found = format!("{windowed:?} and {}", spec.rope.dims);
            return Some(("rotated numbers of a head", "all, where heads differ between layers".into(), found));
        }
        Some(WindowHeads { kv_heads, head_dim }) => {
            if head_dim == 0 || head_dim > 1 << 12 || !head_dim.is_multiple_of(16) {
                return Some((
                    "head size of windowed layers",
                    "a multiple of 16, to 4096".into(),
                    head_dim.to_string(),
                ));
            }
            if kv_heads == 0 || !spec.heads.is_multiple_of(kv_heads) {
                let expected = format!("a divisor of {} heads", spec.heads);
                return Some(("key-value heads of windowed layers", expected, kv_heads.to_string()));
            }
        }
        None => {}
    }
    if let Some(width) = spec.widths.iter().find(|width| !(1..=WIDEST).contains(*width)) {
        return Some(("feed-forward size", format!("1 to {WIDEST}"), width.to_string()));
    }
    if !spec.widths.is_empty() && spec.widths.len() != spec.layers {
        let expected = format!("one for each of {} layers", spec.layers);
        return Some(("feed-forward sizes", expected, spec.widths.len().to_string()));
    }
    let own = spec.layers.saturating_sub(spec.shared_kv_layers);
    if let Some(layer) = (own..spec.layers).find(|&layer| spec.kv_layer(layer) == layer) {
        let expected = format!("few enough that layer {layer} has one of its kind before them");
        return Some(("layers without keys and values", expected, spec.shared_kv_layers.to_string()));
    }
    if spec.layer_inputs.is_some_and(|inputs| inputs.width == 0 || inputs.width > 1 << 16) {
        return Some(("width of layers' inputs", "1 to 65536".into(), format!("{:?}", spec.layer_inputs)));
    }
    if let Some(cap) = spec.logit_cap.filter(|cap| !(cap.is_finite() && *cap > 0.0)) {
        return Some(("cap of logits", "a number above 0".into(), cap.to_string()));
    }
    None
}

/// The first fault of a mixture of experts.
fn experts_fault(experts: Experts, spec: &DecoderSpec) -> Option<Fault> {
    /// Experts of a layer: far beyond any model.
    const MOST: usize = 1 << 12;
    let Experts { count, used, shared, dense, beside, .. } = experts;
    let widths = [
        ("width of the shared expert", shared),
        ("width of layers without experts", dense.map(|dense| dense.width)),
        ("width beside the experts", beside),
    ];
    let too_wide = |(field, width): (&'static str, Option<usize>)| {
        let width = width.filter(|width| !(1..=WIDEST).contains(width))?;
        Some((field, format!("1 to {WIDEST}"), width.to_string()))
    };
    if let Some(fault) = widths.into_iter().find_map(too_wide) {
        return Some(fault);
    }
    if let Some(dense) = dense.filter(|dense| !(1..spec.layers).contains(&dense.layers)) {
        let expected = format!("fewer than {}", spec.layers);
        return Some(("layers without experts", expected, dense.layers.to_string()));
    }
    if count > MOST || used == 0 || used > count {
        let expected = format!("at most {MOST}, of which a token uses 1 to all");
        return Some(("experts", expected, format!("{used} of {count}")));
    }
    None
}

/// The first fault of recurrent layers.
fn recurrence_fault(recurrence: Recurrence, spec: &DecoderSpec) -> Option<Fault> {
    let taps = match recurrence {
        Recurrence::Delta(delta) => delta.taps,
        Recurrence::ShortConv(ConvShape { channels, .. }) if !channels.is_multiple_of(16) => {
            return Some(("channels of short convolutions", "a multiple of 16".into(), channels.to_string()));
        }
        Recurrence::ShortConv(conv) => conv.taps,
    };
    if let Some(fault) = recurrence.delta().and_then(delta_fault) {
        return Some(fault);
    }
    if !(2..=16).contains(&taps) {
        return Some(("convolution of recurrent layers", "2 to 16 tokens".into(), taps.to_string()));
    }
    if spec.kv_layers() == 0 {
        return Some(("layers with attention", "at least one".into(), "none".into()));
    }
    None
}

/// The first fault of a gated delta net.
fn delta_fault(delta: DeltaShape) -> Option<Fault> {
    const MOST: usize = 1 << 12;
    let DeltaShape { key_heads, value_heads, key_dim, value_dim, .. } = delta;
    let heads = |heads: usize| (1..=MOST).contains(&heads);
    if !heads(key_heads) || !heads(value_heads) || !value_heads.is_multiple_of(key_heads) {
        let expected = format!("1 to {MOST}, the number of keys' heads to divide that of values'");
        return Some(("heads of recurrent layers", expected, format!("{key_heads} and {value_heads}")));
    }
    if ![key_dim, value_dim].iter().all(|&dim| heads(dim) && dim.is_multiple_of(16)) {
        let expected = format!("multiples of 16 up to {MOST}");
        return Some(("head sizes of recurrent layers", expected, format!("{key_dim} and {value_dim}")));
    }
    None
}
