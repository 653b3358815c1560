//! The footprint of a model that is not here, by its shape.

use super::storage::{StoredType, add, planned_type, sorted};
use super::{Footprint, KV, Placement, projected};
use crate::arch::{Config, spec_of_config};
use crate::kv::PageGroups;
use crate::source::Shape;
use crate::spec::Recurrence;
use std::collections::BTreeMap;
use std::path::Path;

/// Tensors by their storage type.
struct Plan<'a> {
    quant: &'a str,
    types: BTreeMap<String, StoredType>,
}

impl Plan<'_> {
    /// `count` matrices; important ones are stored more finely.
    fn matrices(&mut self, count: usize, rows: usize, columns: usize, important: bool) {
        self.matrices_of(self.quant, count, [rows, columns], important);
    }

    fn matrices_of(&mut self, quant: &str, count: usize, [rows, columns]: [usize; 2], important: bool) {
        if count > 0 {
            add(
                &mut self.types,
                planned_type(quant, columns, important),
                count,
                (count * rows) as u64 * columns as u64,
            );
        }
    }

    /// `count` matrices of which `Q4_K_M` and its like store every other one more finely: values and `down`.
    fn every_other(&mut self, quant: &str, count: usize, shape: [usize; 2]) {
        self.matrices_of(quant, count / 2, shape, quant.ends_with("_M"));
        self.matrices_of(quant, count - count / 2, shape, false);
    }

    /// `count` tensors of `numbers` together.
    fn floats(&mut self, count: usize, numbers: usize) {
        add(&mut self.types, "F32", count, numbers as u64);
    }

    fn feed_forwards(&mut self, shape: &Shape) {
        let (hidden, layers) = (shape.hidden_size, shape.num_hidden_layers);
        let dense = if shape.num_experts.is_some() { shape.num_dense_layers.unwrap_or(0).min(layers) } else { layers };
        self.matrices(2 * dense, shape.intermediate_size, hidden, false);
        self.every_other(self.quant, dense, [hidden, shape.intermediate_size]);
        let Some(experts) = shape.num_experts else { return };
        let (with, inner) = (layers - dense, shape.moe_intermediate_size.unwrap_or(shape.intermediate_size));
        let quant = if self.quant == "MXFP4_MOE" { "MXFP4" } else { self.quant };
        self.matrices_of(quant, 2 * with * experts, [inner, hidden], false);
        // Of a layer all or none.
        self.matrices_of(quant, with / 2 * experts, [hidden, inner], quant.ends_with("_M"));
        self.matrices_of(quant, (with - with / 2) * experts, [hidden, inner], false);
        self.floats(with, with * experts * hidden);
        if shape.model_type == "lfm2_moe" {
            self.floats(with, with * experts);
        }
        if let Some(shared) = shape.shared_expert_intermediate_size.filter(|&shared| shared > 0) {
            self.matrices(2 * with, shared, hidden, false);
            self.matrices(with, hidden, shared, false);
            self.floats(with, with * hidden);
        }
    }

    fn attention(&mut self, shape: &Shape, layers: usize, gated: bool) {
        let (heads, kv_heads, dim) = (shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim());
        let hidden = shape.hidden_size;
        self.matrices(layers, if gated { 2 * heads * dim } else { heads * dim }, hidden, false);
        self.matrices(layers, kv_heads * dim, hidden, false);
        self.matrices(layers, hidden, heads * dim, false);
        self.every_other(self.quant, layers, [kv_heads * dim, hidden]);
    }

    /// `layers` layers with a recurrent state, and the norms of heads in the `attending` others.
    fn recurrent(&mut self, recurrence: Recurrence, shape: &Shape, layers: usize, attending: usize) {
        let hidden = shape.hidden_size;
        let vectors = match recurrence {
            Recurrence::Delta(delta) => {
                self.matrices(layers, delta.channels() + delta.outputs() + 2 * delta.value_heads, hidden, false);
                self.matrices(layers, hidden, delta.outputs(), false);
                delta.taps * delta.channels() + 2 * delta.value_heads + delta.value_dim
            }
            Recurrence::ShortConv(conv) => {
                self.matrices(layers, 3 * conv.channels, hidden, false);
                self.matrices(layers, hidden, conv.channels, false);
                conv.taps * conv.channels
            }
        };
        self.floats(4 * layers, layers * vectors);
        self.floats(2 * attending, attending * 2 * shape.head_dim());
    }

    /// The vectors that some architectures have besides.
    fn of_architecture(&mut self, shape: &Shape) {
        let (heads, kv_heads, dim) = (shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim());
        let (layers, hidden, experts) = (shape.num_hidden_layers, shape.hidden_size, shape.num_experts.unwrap_or(1));
        match shape.model_type.as_str() {
            "qwen2" => self.floats(3 * layers, layers * (heads + 2 * kv_heads) * dim),
            "gemma3_text" => self.floats(4 * layers, layers * 2 * (hidden + dim)),
            "gpt_oss" => {
                let inner = shape.moe_intermediate_size.unwrap_or(shape.intermediate_size);
                self.floats(5 * layers, layers * ((heads + 2 * kv_heads) * dim + hidden + heads));
                self.floats(4 * layers, layers * experts * (1 + 2 * inner + hidden));
            }
            "olmo2" | "olmo3" => self.floats(2 * layers, layers * (heads + kv_heads) * dim),
            "glm4" => self.floats(5 * layers, layers * (2 * hidden + (heads + 2 * kv_heads) * dim)),
            "qwen3" | "qwen3_moe" => self.floats(2 * layers, layers * 2 * dim),
            _ => {}
        }
    }
}

/// The groups of layers that pages are of; one group of the `attending` layers where the shape is no model's.
fn groups(shape: &Shape, attending: usize) -> PageGroups {
    let config = Config::of(Path::new("models/catalog.toml"), shape.config());
    let one = PageGroups { layers: attending, full: 1, windowed: 0, window: usize::MAX };
    config.and_then(|config| spec_of_config(&config)).map_or(one, |spec| PageGroups::of(&spec))
}

impl Footprint {
    /// Of a model of `shape` whose file is of kind `quant`: an estimate, to some per cent.
    #[must_use]
    pub fn planned(shape: &Shape, quant: &str) -> Self {
        let (heads, kv_heads, dim) = (shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim());
        let (hidden, layers) = (shape.hidden_size, shape.num_hidden_layers);
        let mut plan = Plan { quant, types: BTreeMap::new() };
        plan.feed_forwards(shape);
        let recurrence = shape.recurrence();
        let attending = layers - recurrence.map_or(0, |(_, recurrent)| recurrent);
        // The output layer is stored more finely.
        plan.matrices(1, shape.vocab_size, hidden, shape.tie_word_embeddings);
        plan.matrices(usize::from(!shape.tie_word_embeddings), shape.vocab_size, hidden, true);
        plan.attention(shape, attending, recurrence.and_then(|(recurrence, _)| recurrence.delta()).is_some());
        if let Some((recurrence, recurrent)) = recurrence {
            plan.recurrent(recurrence, shape, recurrent, attending);
        }
        plan.floats(2 * layers + 1, (2 * layers + 1) * hidden);
        plan.of_architecture(shape);
        let inner = shape.moe_intermediate_size.unwrap_or(shape.intermediate_size);
        let used = inner * shape.num_experts_per_tok.unwrap_or(1) + shape.shared_expert_intermediate_size.unwrap_or(0);
        let dense = shape.num_dense_layers.map_or(0, |_| shape.intermediate_size);
        let layer_bytes = (2 * kv_heads * dim * KV.size_in_bytes()) as u64;
        let groups = groups(shape, attending);
        Self {
            types: sorted(plan.types),
            kv_token_bytes: attending as u64 * layer_bytes,
            groups,
            group_token_bytes: groups.layers as u64 * layer_bytes,
            state_bytes: recurrence.map_or(0, |(of, recurrent)| (recurrent * of.state_len() * size_of::<f32>()) as u64),
            hidden,
            attention: projected((heads + 2 * kv_heads) * dim, recurrence.map(|(recurrence, _)| recurrence)),
            intermediate: used.max(dense),
            vocab: shape.vocab_size,
            placement: Placement::Cpu,
        }
    }
}
