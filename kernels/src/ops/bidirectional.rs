//! Attention without a mask, for the packed tokens of many texts at once: each token sees all of its own text.

use super::{PerDevice, cpu_table, f32_slice, upload};
use crate::cpu::{BiasCall, BidirectionalCall, RelativeCall, Scratch};
use crate::gpu::{KernelGroup, has_kernels};
use crate::launch;
use candle_core::{CpuStorage, CudaStorage, CustomOp3, D, DType, Device, Layout, Result, Shape, Storage, Tensor, bail};
use rayon::prelude::*;
use std::ops::Range;

/// The ranges of tokens of texts: cumulative lengths, from 0 to the number of tokens.
#[derive(Debug, Clone)]
pub struct Texts {
    starts: Vec<usize>,
    /// The work of a GPU's thread blocks, the same in all layers.
    blocks: PerDevice<Tensor>,
}

impl PartialEq for Texts {
    fn eq(&self, other: &Self) -> bool {
        self.starts == other.starts
    }
}

impl Eq for Texts {}

impl Texts {
    /// Texts of these lengths, one after the other.
    #[must_use]
    pub fn new(lengths: impl IntoIterator<Item = usize>) -> Self {
        let mut starts = vec![0];
        starts.extend(lengths.into_iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        }));
        Self { starts, blocks: PerDevice::default() }
    }

    /// Number of texts.
    #[must_use]
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Tokens of all texts.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.starts[self.count()]
    }

    /// The tokens of text `text`.
    #[must_use]
    pub fn range(&self, text: usize) -> Range<usize> {
        self.starts[text]..self.starts[text + 1]
    }

    fn longest(&self) -> usize {
        (0..self.count()).map(|text| self.range(text).len()).max().unwrap_or(0)
    }
}

/// Relative positions as DeBERTa has them (He et al. 2021, <https://arxiv.org/abs/2006.03654>, equation 4): a score
/// gets `q_i · key[row(i - j)] + k_j · query[row(i - j)]` beside `q_i · k_j`, all under one scale.
#[derive(Debug, Clone)]
pub struct Relative {
    /// `[rows, heads * head_dim]`
    pub key: Tensor,
    /// Like `key`.
    pub query: Tensor,
    /// The row of distance `d = i - j` at `d + middle`.
    pub of_distance: Vec<u32>,
    /// The longest distance in [`Self::of_distance`], in both directions.
    pub middle: usize,
}

impl Relative {
    fn row(&self, query: usize, key: usize) -> u32 {
        self.of_distance[self.middle + query - key]
    }
}

/// A learned number for every distance and head, added to scaled scores (T5: Raffel et al. 2020,
/// <https://arxiv.org/abs/1910.10683>, section 2.1; MPNet).
#[derive(Debug, Clone)]
pub struct DistanceBias {
    /// `[heads, 2 * middle + 1]`, f32: that of query `i` and key `j` at `j - i + middle`.
    pub values: Tensor,
    /// The longest distance in `values`, in both directions.
    pub middle: usize,
}

/// How the distance of two tokens changes their attention.
#[derive(Debug, Clone, Copy)]
pub enum Distances<'a> {
    /// Scores get terms of the distance.
    Relative(&'a Relative),
    /// Scores get a number of the distance.
    Bias(&'a DistanceBias),
    /// Tokens farther apart than this do not see each other (ModernBERT's local attention).
    Window(usize),
}

impl<'a> Distances<'a> {
    fn relative(self) -> Option<&'a Relative> {
        if let Self::Relative(relative) = self { Some(relative) } else { None }
    }

    fn bias(self) -> Option<&'a DistanceBias> {
        if let Self::Bias(bias) = self { Some(bias) } else { None }
    }

    fn window(self) -> Option<usize> {
        if let Self::Window(window) = self { Some(window) } else { None }
    }

    /// The longest distance that is known; `None` where all are.
    fn reach(self) -> Option<usize> {
        match self {
            Self::Relative(relative) => Some(relative.middle),
            Self::Bias(bias) => Some(bias.middle),
            Self::Window(_) => None,
        }
    }
}

/// Softmax((q · kᵀ + relative) · scale + bias) · v, each text by itself, over the keys that `distances` admit: `q`, `k`, `v`
/// and the result are `[tokens, heads * head_dim]`.
///
/// # Errors
/// Shapes that do not fit; on the CPU a head whose width is no multiple of 16; a text longer than relative positions
/// reach.
pub fn bidirectional(
    [q, k, v]: [&Tensor; 3],
    texts: &Texts,
    heads: usize,
    scale: f32,
    distances: Option<Distances<'_>>,
) -> Result<Tensor> {
    if let Some(middle) = distances.and_then(Distances::reach).filter(|middle| texts.longest() > middle + 1) {
        bail!("attention: a text of {} tokens, and positions reach {}", texts.longest(), middle + 1);
    }
    match q.device() {
        Device::Cpu => {
            let op = Bidirectional { texts, heads, scale, distances };
            q.contiguous()?.apply_op3_no_bwd(&k.contiguous()?, &v.contiguous()?, &op)
        }
        Device::Cuda(_) if distances.is_none() && has_kernel([q, k, v], heads)? => {
            let op = Bidirectional { texts, heads, scale, distances };
            q.contiguous()?.apply_op3_no_bwd(&k.contiguous()?, &v.contiguous()?, &op)
        }
        _ => reference([q, k, v], texts, heads, scale, distances),
    }
}

/// Whether there is a CUDA kernel for such heads of such numbers, and it may be used.
fn has_kernel(tensors: [&Tensor; 3], heads: usize) -> Result<bool> {
    let head_dim = tensors[0].dims2()?.1 / heads.max(1);
    let floats = tensors.iter().all(|tensor| tensor.dtype() == DType::F32);
    let fits = floats && launch::ENCODER_HEAD_DIMS.contains(&head_dim);
    Ok(fits && has_kernels(tensors[0].device(), KernelGroup::Encoders))
}

/// The reference by Candle's own operations, one text at a time; devices without a kernel of ours use it.
///
/// # Errors
/// Shapes that do not fit.
pub fn reference(
    [q, k, v]: [&Tensor; 3],
    texts: &Texts,
    heads: usize,
    scale: f32,
    distances: Option<Distances<'_>>,
) -> Result<Tensor> {
    let (_, width) = q.dims2()?;
    let by_head = |x: &Tensor, rows: Range<usize>| -> Result<Tensor> {
        let own = x.narrow(0, rows.start, rows.len())?.reshape((rows.len(), heads, width / heads))?;
        own.transpose(0, 1)?.contiguous()
    };
    let mut outs = Vec::with_capacity(texts.count());
    for text in 0..texts.count() {
        let rows = texts.range(text);
        let len = rows.len();
        let (q, k, v) = (by_head(q, rows.clone())?, by_head(k, rows.clone())?, by_head(v, rows)?);
        let mut scores = q.matmul(&k.t()?.contiguous()?)?;
        if let Some(relative) = distances.and_then(Distances::relative) {
            let count = relative.key.dim(0)?;
            let gathered_rows = |of: &dyn Fn(usize, usize) -> u32| {
                let rows = (0..len).flat_map(|i| (0..len).map(move |j| (i, j))).map(|(i, j)| of(i, j));
                Tensor::from_iter(rows, q.device())?.reshape((1, len, len))?.expand((heads, len, len))?.contiguous()
            };
            let by_query = q.matmul(&by_head(&relative.key, 0..count)?.t()?.contiguous()?)?;
            let by_query = by_query.gather(&gathered_rows(&|i, j| relative.row(i, j))?, 2)?;
            let by_key = k.matmul(&by_head(&relative.query, 0..count)?.t()?.contiguous()?)?;
            let by_key = by_key.gather(&gathered_rows(&|j, i| relative.row(i, j))?, 2)?;
            scores = ((scores + by_query)? + by_key.t()?)?;
        }
        let mut scores = (scores.to_dtype(DType::F32)? * f64::from(scale))?;
        if let Some(bias) = distances.and_then(Distances::bias) {
            let rows = (0..len * len).map(|at| (at % len + bias.middle - at / len) as u32);
            let numbers = bias.values.index_select(&Tensor::from_iter(rows, q.device())?, 1)?;
            scores = (scores + numbers.reshape((heads, len, len))?)?;
        }
        if let Some(window) = distances.and_then(Distances::window) {
            let far = |i: usize, j: usize| if i.abs_diff(j) > window { f32::NEG_INFINITY } else { 0.0 };
            let mask = Tensor::from_iter((0..len * len).map(|at| far(at / len, at % len)), q.device())?;
            scores = scores.broadcast_add(&mask.reshape((1, len, len))?)?;
        }
        let weights = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?)?.exp()?;
        let weights = weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)?.to_dtype(v.dtype())?;
        outs.push(weights.matmul(&v)?.transpose(0, 1)?.reshape((len, width))?);
    }
    Tensor::cat(&outs, 0)
}

struct Bidirectional<'a> {
    texts: &'a Texts,
    heads: usize,
    scale: f32,
    distances: Option<Distances<'a>>,
}

impl Bidirectional<'_> {
    fn check(&self, layouts: [&Layout; 3]) -> Result<(usize, usize)> {
        let [q, k, v] = layouts.map(Layout::shape);
        let (tokens, width) = q.dims2()?;
        let whole = self.heads > 0 && width.is_multiple_of(16 * self.heads);
        if q != k || q != v || tokens != self.texts.tokens() || !whole {
            let wanted = format!("{} tokens and {} heads of a multiple of 16", self.texts.tokens(), self.heads);
            bail!("attention: q {q:?}, k {k:?}, v {v:?} do not fit {wanted}");
        }
        if let Some(DistanceBias { values, middle }) = self.distances.and_then(Distances::bias)
            && values.dims() != [self.heads, 2 * middle + 1]
        {
            bail!("attention: a bias {:?} for {} heads and distances to {middle}", values.dims(), self.heads);
        }
        if let Some(Relative { key, query, of_distance, middle }) = self.distances.and_then(Distances::relative) {
            let (rows, wide) = key.dims2()?;
            let known = of_distance.len() > 2 * middle && of_distance.iter().all(|&row| (row as usize) < rows);
            if wide != width || key.dims() != query.dims() || !known {
                bail!("attention: positions {:?} and {:?} do not fit q {q:?}", key.dims(), query.dims());
            }
        }
        Ok((tokens, width))
    }
}

impl CustomOp3 for Bidirectional<'_> {
    fn name(&self) -> &'static str {
        "bidirectional"
    }

    fn cpu_fwd(
        &self,
        q: &CpuStorage,
        q_layout: &Layout,
        k: &CpuStorage,
        k_layout: &Layout,
        v: &CpuStorage,
        v_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        const OP: &str = "bidirectional";
        let (tokens, width) = self.check([q_layout, k_layout, v_layout])?;
        let relative = self.distances.and_then(Distances::relative);
        let positions =
            relative.map(|relative| (relative.key.storage_and_layout(), relative.query.storage_and_layout()));
        let relative = match (&positions, relative) {
            (Some(((key, key_at), (query, query_at))), Some(Relative { of_distance, middle, .. })) => {
                let (Storage::Cpu(key), Storage::Cpu(query)) = (&**key, &**query) else {
                    bail!("attention: positions are on another device than q")
                };
                let (key, query) = (f32_slice(OP, key, key_at)?, f32_slice(OP, query, query_at)?);
                let (rows, middle) = (key.len() / width, *middle);
                Some(RelativeCall { key, query, rows, of_distance, middle })
            }
            _ => None,
        };
        let bias = self.distances.and_then(Distances::bias);
        let numbers = bias.map(|bias| (bias.values.storage_and_layout(), bias.middle));
        let bias = match &numbers {
            Some(((values, at), middle)) => {
                let Storage::Cpu(values) = &**values else { bail!("attention: the bias is on another device than q") };
                Some(BiasCall { values: f32_slice(OP, values, at)?, middle: *middle })
            }
            None => None,
        };
        let table = cpu_table()?;
        let mut out: Vec<f32> = Vec::with_capacity(tokens * width);
        let call = BidirectionalCall {
            q: f32_slice(OP, q, q_layout)?,
            k: f32_slice(OP, k, k_layout)?,
            v: f32_slice(OP, v, v_layout)?,
            out: out.as_mut_ptr(),
            heads: self.heads,
            head_dim: width / self.heads,
            scale: self.scale,
            relative,
            bias,
            window: self.distances.and_then(Distances::window),
        };
        (0..self.texts.count() * self.heads).into_par_iter().for_each_init(Scratch::default, |scratch, task| {
            let (text, head) = (self.texts.range(task / self.heads), task % self.heads);
            // SAFETY: the table was chosen by what this machine can run; tasks own disjoint rows and heads.
            #[allow(unsafe_code)]
            unsafe {
                (table.bidirectional)(&call, text, head, scratch);
            }
        });
        // SAFETY: it has this capacity, and the tasks have written every head of every token.
        #[allow(unsafe_code)]
        unsafe {
            out.set_len(tokens * width);
        }
        Ok((CpuStorage::F32(out), Shape::from((tokens, width))))
    }

    fn cuda_fwd(
        &self,
        q: &CudaStorage,
        q_layout: &Layout,
        k: &CudaStorage,
        k_layout: &Layout,
        v: &CudaStorage,
        v_layout: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        use candle_core::backend::BackendStorage;
        let (tokens, width) = self.check([q_layout, k_layout, v_layout])?;
        let device = Device::Cuda(q.device().clone());
        let texts = self.texts;
        let blocks = texts.blocks.get(&device, || {
            upload(&launch::bidirectional_blocks((0..texts.count()).map(|text| texts.range(text))), &device)
        })?;
        let tensors = [(q, q_layout), (k, k_layout), (v, v_layout)];
        let out = crate::cuda::bidirectional(tensors, &blocks, [self.heads, width / self.heads], self.scale)?;
        Ok((out, Shape::from((tokens, width))))
    }
}
