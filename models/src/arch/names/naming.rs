//! The naming conventions of files, and every tensor's name by each of them.

use super::{BlockTensor, Inner, Name};

/// The naming convention of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// llama.cpp's.
    Gguf,
    /// llama.cpp's, of LFM2.
    GgufLfm2,
    /// transformers'.
    HuggingFace(Folder),
    /// transformers', of LFM2.
    HuggingFaceLfm2,
}

/// What names differ by between transformers folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Folder {
    /// Where the text is.
    pub text: Text,
    /// Whether experts stand beside `mlp`, and not in it (Gemma 4).
    pub experts_beside: bool,
}

/// Where a transformers folder has the tensors of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Text {
    /// The model is of text alone: `model.layers.0`.
    #[default]
    Alone,
    /// The model takes images too: `model.language_model.layers.0`.
    Within,
    /// The same in the form of older files: `language_model.model.layers.0`.
    Older,
}

impl Text {
    /// Those of models that take images too.
    pub const WITH_IMAGES: [Self; 2] = [Self::Within, Self::Older];

    fn prefix(self) -> &'static str {
        match self {
            Self::Alone => "model",
            Self::Within => "model.language_model",
            Self::Older => "language_model.model",
        }
    }
}

impl Naming {
    /// transformers', of a model of text alone.
    pub const FOLDER: Self = Self::HuggingFace(Folder { text: Text::Alone, experts_beside: false });

    /// The tensor's name in the file.
    #[must_use]
    pub fn name(self, name: Name) -> String {
        match self {
            // llama.cpp's own mistake, kept for the files that have it.
            Self::GgufLfm2 if name == Name::OutputNorm => "token_embd_norm.weight".into(),
            Self::Gguf | Self::GgufLfm2 => gguf_name(name),
            Self::HuggingFace(folder) => hugging_face_name(folder, name),
            Self::HuggingFaceLfm2 => lfm2_name(name),
        }
    }

    /// Whether it is llama.cpp's.
    #[must_use]
    pub fn is_gguf(self) -> bool {
        matches!(self, Self::Gguf | Self::GgufLfm2)
    }

    /// The tensor's shape in the file, of its shape by [`tensors`](crate::arch::tensors::tensors).
    #[must_use]
    pub fn shape(self, name: Name, shape: Vec<usize>) -> Vec<usize> {
        let Name::Block(_, tensor) = name else { return shape };
        match (tensor, &shape[..]) {
            _ if self.is_gguf() => shape,
            // A convolution of one input a channel.
            (BlockTensor::DeltaConvolution | BlockTensor::ShortConvolution, [out, taps]) => vec![*out, 1, *taps],
            (BlockTensor::SharedExpertGate, [hidden]) => vec![1, *hidden],
            _ => shape,
        }
    }
}

fn gguf_name(name: Name) -> String {
    match name {
        Name::Embedding => "token_embd.weight".into(),
        Name::OutputNorm => "output_norm.weight".into(),
        Name::Output => "output.weight".into(),
        Name::LayerEmbedding => "per_layer_token_embd.weight".into(),
        Name::LayerProjection => "per_layer_model_proj.weight".into(),
        Name::LayerProjectionNorm => "per_layer_proj_norm.weight".into(),
        Name::Block(i, BlockTensor::Experts(inner)) => format!("blk.{i}.ffn_{}_exps.weight", inner.name()),
        Name::Block(i, BlockTensor::ExpertsBias(inner)) => format!("blk.{i}.ffn_{}_exps.bias", inner.name()),
        Name::Block(i, BlockTensor::SharedExpert(inner)) => format!("blk.{i}.ffn_{}_shexp.weight", inner.name()),
        Name::Block(i, tensor) => format!("blk.{i}.{}", tensor.names().0),
    }
}

fn hugging_face_name(folder: Folder, name: Name) -> String {
    let prefix = folder.text.prefix();
    let experts = if folder.experts_beside { "experts" } else { "mlp.experts" };
    match name {
        Name::Embedding => format!("{prefix}.embed_tokens.weight"),
        Name::OutputNorm => format!("{prefix}.norm.weight"),
        Name::Output if folder.text == Text::Older => "language_model.lm_head.weight".into(),
        Name::Output => "lm_head.weight".into(),
        Name::LayerEmbedding => format!("{prefix}.embed_tokens_per_layer.weight"),
        Name::LayerProjection => format!("{prefix}.per_layer_model_projection.weight"),
        Name::LayerProjectionNorm => format!("{prefix}.per_layer_projection_norm.weight"),
        Name::Block(i, BlockTensor::Expert(expert, inner)) => {
            format!("{prefix}.layers.{i}.{experts}.{expert}.{}_proj.weight", inner.name())
        }
        Name::Block(i, BlockTensor::SharedExpert(inner)) => {
            format!("{prefix}.layers.{i}.mlp.shared_expert.{}_proj.weight", inner.name())
        }
        Name::Block(i, BlockTensor::Experts(inner)) => format!("{prefix}.layers.{i}.{experts}.{}_proj", inner.name()),
        Name::Block(i, BlockTensor::ExpertsGateUp) => format!("{prefix}.layers.{i}.{experts}.gate_up_proj"),
        Name::Block(i, BlockTensor::ExpertsBias(inner)) => {
            format!("{prefix}.layers.{i}.{experts}.{}_proj_bias", inner.name())
        }
        Name::Block(i, tensor) => format!("{prefix}.layers.{i}.{}", tensor.names().1),
    }
}

fn lfm2_name(name: Name) -> String {
    match name {
        Name::OutputNorm => "model.embedding_norm.weight".into(),
        Name::Block(i, BlockTensor::Expert(expert, inner)) => {
            format!("model.layers.{i}.feed_forward.experts.{expert}.{}.weight", inner.lfm2_name())
        }
        Name::Block(i, tensor) => match tensor.lfm2_name() {
            Some(own) => format!("model.layers.{i}.{own}"),
            None => hugging_face_name(Folder::default(), name),
        },
        _ => hugging_face_name(Folder::default(), name),
    }
}

impl Inner {
    fn name(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    fn lfm2_name(self) -> &'static str {
        match self {
            Self::Gate => "w1",
            Self::Up => "w3",
            Self::Down => "w2",
        }
    }
}

impl BlockTensor {
    /// Its name within a block of an LFM2 folder, where that is another one than in other folders.
    fn lfm2_name(self) -> Option<&'static str> {
        Some(match self {
            Self::AttentionNorm => "operator_norm.weight",
            Self::QueryNorm => "self_attn.q_layernorm.weight",
            Self::KeyNorm => "self_attn.k_layernorm.weight",
            Self::AttentionOutput => "self_attn.out_proj.weight",
            Self::FeedForwardNorm => "ffn_norm.weight",
            Self::Gate => "feed_forward.w1.weight",
            Self::Up => "feed_forward.w3.weight",
            Self::Down => "feed_forward.w2.weight",
            Self::Router => "feed_forward.gate.weight",
            Self::ExpertsGateUp => "feed_forward.experts.gate_up_proj",
            Self::Experts(Inner::Down) => "feed_forward.experts.down_proj",
            _ => return None,
        })
    }

    /// Its name within a block: in a GGUF, in a transformers folder.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::AttentionNorm => ("attn_norm.weight", "input_layernorm.weight"),
            Self::Query => ("attn_q.weight", "self_attn.q_proj.weight"),
            Self::QueryBias => ("attn_q.bias", "self_attn.q_proj.bias"),
            Self::QueryNorm => ("attn_q_norm.weight", "self_attn.q_norm.weight"),
            Self::Key => ("attn_k.weight", "self_attn.k_proj.weight"),
            Self::KeyBias => ("attn_k.bias", "self_attn.k_proj.bias"),
            Self::KeyNorm => ("attn_k_norm.weight", "self_attn.k_norm.weight"),
            Self::Value => ("attn_v.weight", "self_attn.v_proj.weight"),
            Self::ValueBias => ("attn_v.bias", "self_attn.v_proj.bias"),
            Self::QueryKeyValue => ("attn_qkv.weight", "self_attn.qkv_proj.weight"),
            Self::AttentionOutput => ("attn_output.weight", "self_attn.o_proj.weight"),
            Self::AttentionOutputBias => ("attn_output.bias", "self_attn.o_proj.bias"),
            Self::AttentionSinks => ("attn_sinks.weight", "self_attn.sinks"),
            Self::FeedForwardNorm => ("ffn_norm.weight", "post_attention_layernorm.weight"),
            Self::AttentionOutputNorm => ("post_attention_norm.weight", "post_attention_layernorm.weight"),
            Self::SelfAttentionOutputNorm => ("post_attention_norm.weight", "post_self_attn_layernorm.weight"),
            Self::FeedForwardInputNorm => ("ffn_norm.weight", "pre_feedforward_layernorm.weight"),
            Self::FeedForwardOutputNorm => ("post_ffw_norm.weight", "post_feedforward_layernorm.weight"),
            Self::MlpOutputNorm => ("post_ffw_norm.weight", "post_mlp_layernorm.weight"),
            Self::Gate => ("ffn_gate.weight", "mlp.gate_proj.weight"),
            Self::Up => ("ffn_up.weight", "mlp.up_proj.weight"),
            // llama.cpp has no name for the two together: a tensor of twice the rows under the name of one.
            Self::GateUp => ("ffn_up.weight", "mlp.gate_up_proj.weight"),
            Self::Down => ("ffn_down.weight", "mlp.down_proj.weight"),
            Self::DeltaQkv => ("attn_qkv.weight", "linear_attn.in_proj_qkv.weight"),
            Self::DeltaGate => ("attn_gate.weight", "linear_attn.in_proj_z.weight"),
            Self::DeltaRate => ("ssm_beta.weight", "linear_attn.in_proj_b.weight"),
            Self::DeltaStep => ("ssm_alpha.weight", "linear_attn.in_proj_a.weight"),
            Self::DeltaConvolution => ("ssm_conv1d.weight", "linear_attn.conv1d.weight"),
            Self::DeltaDecay => ("ssm_a", "linear_attn.A_log"),
            Self::DeltaStepBias => ("ssm_dt.bias", "linear_attn.dt_bias"),
            Self::DeltaNorm => ("ssm_norm.weight", "linear_attn.norm.weight"),
            Self::DeltaOutput => ("ssm_out.weight", "linear_attn.out_proj.weight"),
            Self::ShortConvInputs => ("shortconv.in_proj.weight", "conv.in_proj.weight"),
            Self::ShortConvolution => ("shortconv.conv.weight", "conv.conv.weight"),
            Self::ShortConvOutput => ("shortconv.out_proj.weight", "conv.out_proj.weight"),
            Self::Router => ("ffn_gate_inp.weight", "mlp.gate.weight"),
            Self::ChoiceBias => ("exp_probs_b.bias", "feed_forward.expert_bias"),
            Self::BiasedRouter => ("ffn_gate_inp.weight", "mlp.router.weight"),
            Self::RouterBias => ("ffn_gate_inp.bias", "mlp.router.bias"),
            Self::ExpertsGateUpBias => ("ffn_gate_up_exps.bias", "mlp.experts.gate_up_proj_bias"),
            Self::SharedExpertGate => ("ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight"),
            Self::ScaledRouter => ("ffn_gate_inp.weight", "router.proj.weight"),
            Self::RouterScale => ("ffn_gate_inp.scale", "router.scale"),
            Self::ExpertScales => ("ffn_down_exps.scale", "router.per_expert_scale"),
            Self::BesideOutputNorm => ("post_ffw_norm_1.weight", "post_feedforward_layernorm_1.weight"),
            Self::ExpertsInputNorm => ("pre_ffw_norm_2.weight", "pre_feedforward_layernorm_2.weight"),
            Self::ExpertsOutputNorm => ("post_ffw_norm_2.weight", "post_feedforward_layernorm_2.weight"),
            Self::LayerInputGate => ("inp_gate.weight", "per_layer_input_gate.weight"),
            Self::LayerInputProjection => ("proj.weight", "per_layer_projection.weight"),
            Self::LayerInputNorm => ("post_norm.weight", "post_per_layer_input_norm.weight"),
            Self::LayerScale => ("layer_output_scale.weight", "layer_scalar"),
            // No GGUF stores experts one by one. The others are named with what holds them.
            Self::Expert(..) => ("expert of a GGUF", "expert"),
            Self::ExpertsGateUp => ("ffn_gate_up_exps.weight", "gate and up of experts"),
            Self::Experts(_) => ("experts", "experts"),
            Self::ExpertsBias(_) => ("biases of experts", "biases of experts"),
            Self::SharedExpert(_) => ("shared expert", "shared expert"),
        }
    }
}
