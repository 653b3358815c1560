//! Grouped-query attention over paged keys and values, causal or in both directions, for packed rows of many sequences at
//! once.

mod plan;
mod reference;
mod tiles;

pub use plan::AttentionPlan;

use super::{cpu_table, f32_slice, slice};
use crate::cpu::{AttentionCall, BlockScratch, Cached};
use crate::gpu::{KernelGroup, has_kernels};
use crate::launch::{self, AttentionShape, Element};
use crate::pages::PAGE;
use candle_core::{CpuStorage, CudaStorage, CustomOp3, Device, Layout, Result, Shape, Tensor, bail};
use plan::{OnGpu, ROUNDED_TASK_QUERIES, TASK_QUERIES};
use rayon::prelude::*;

/// Softmax(q · kᵀ · scale) · v, each row over the positions up to its own, or over its whole sequence if the plan says so.
#[derive(Debug, Clone, Copy)]
pub struct Attention<'a> {
    /// The pages that each row reads.
    pub plan: &'a AttentionPlan,
    /// Positions that a row attends to at most, the last ones, its own among them; in both directions, so many on each side.
    pub window: usize,
    /// Factor of the scores.
    pub scale: f32,
    /// `[heads]` f32: a logit in each head's softmax that has no value, so that a row's weights sum to less than one. Of
    /// gpt-oss, after <https://arxiv.org/abs/2309.17453>.
    pub sinks: Option<&'a Tensor>,
    /// On the CPU, by products of bf16, as AMX has them: faster there, with bits of its own. Rows that attend to later
    /// positions are computed in f32 all the same.
    pub rounded: bool,
}

impl<'a> Attention<'a> {
    /// Over all positions up to a row's own, without sinks.
    #[must_use]
    pub fn new(plan: &'a AttentionPlan, scale: f32) -> Self {
        Self { plan, window: usize::MAX, scale, sinks: None, rounded: false }
    }

    /// Attention of `q`, `[tokens, heads, head_dim]`, over caches as [`super::kv_store`] writes them; the result is like
    /// `q`. Heads `i * heads / kv_heads ..` read KV head `i`. The tokens' own keys and values must be stored already.
    ///
    /// # Errors
    /// Shapes that do not fit, sinks of another number of heads, or a page beyond the cache.
    pub fn apply(&self, [q, k_cache, v_cache]: [&Tensor; 3]) -> Result<Tensor> {
        match q.device() {
            Device::Cpu => q.contiguous()?.apply_op3_no_bwd(k_cache, v_cache, self),
            // The kernels are causal.
            Device::Cuda(_) if self.plan.ends().is_none() && on_tensor_cores(q, k_cache)? => {
                q.contiguous()?.apply_op3_no_bwd(k_cache, v_cache, self)
            }
            _ => self.reference([q, k_cache, v_cache]),
        }
    }

    /// As [`Self::apply`], by Candle's own operations, one sequence at a time; devices without a kernel of ours use it.
    ///
    /// # Errors
    /// Shapes that do not fit, or a page beyond the cache.
    pub fn reference(&self, tensors: [&Tensor; 3]) -> Result<Tensor> {
        reference::attend(tensors, self.plan, self.window, self.scale, self.sinks)
    }

    fn check(&self, q: &Layout, k: &Layout) -> Result<(usize, usize, usize, usize)> {
        let (tokens, heads, dim) = q.shape().dims3()?;
        let (pages, kv_heads, k_dim, page) = k.shape().dims4()?;
        let fits = tokens == self.plan.rows() && dim == k_dim && page == PAGE && heads % kv_heads == 0 && dim % 16 == 0;
        if !fits {
            bail!(
                "attention: q {:?} and keys {:?} do not fit a plan of {} rows (head_dim must be a multiple of 16)",
                q.shape(),
                k.shape(),
                self.plan.rows()
            );
        }
        if let Some(found) = self.sinks.filter(|sinks| sinks.dims() != [heads]) {
            bail!("attention: sinks {:?} for {heads} heads", found.dims());
        }
        for sequence in &self.plan.sequences {
            let needed = (sequence.start + sequence.len).div_ceil(PAGE);
            let read = sequence.pages.get((sequence.start + 1).saturating_sub(self.window) / PAGE..needed);
            if read.is_none_or(|read| read.iter().any(|&p| p as usize >= pages)) {
                bail!("attention: a sequence of {needed} pages has {:?}, of {pages} in the cache", sequence.pages);
            }
        }
        Ok((tokens, heads, kv_heads, dim))
    }
}

/// Whether there is a CUDA kernel for such heads of such numbers, and it may be used.
fn on_tensor_cores(q: &Tensor, k_cache: &Tensor) -> Result<bool> {
    let (_, heads, dim) = q.dims3()?;
    let kv_heads = k_cache.dim(1)?;
    let fits = Element::of(q.dtype()).is_some_and(|element| launch::attention_fits(element, heads, kv_heads, dim));
    Ok(fits && has_kernels(q.device(), KernelGroup::Attention))
}

fn cached<'a>(cache: &'a CpuStorage, layout: &Layout) -> Result<Cached<'a>> {
    Ok(match cache {
        CpuStorage::F16(_) => Cached::F16(slice("attention", cache, layout)?),
        _ => Cached::F32(f32_slice("attention", cache, layout)?),
    })
}

impl CustomOp3 for Attention<'_> {
    fn name(&self) -> &'static str {
        "attention"
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
        let (tokens, heads, kv_heads, head_dim) = self.check(q_layout, k_layout)?;
        let table = cpu_table()?;
        let sinks = self.sinks.map(Tensor::to_vec1::<f32>).transpose()?;
        let mut out = vec![0.0_f32; tokens * heads * head_dim];
        let call = AttentionCall {
            q: f32_slice("attention", q, q_layout)?,
            k: cached(k, k_layout)?,
            v: cached(v, v_layout)?,
            out: out.as_mut_ptr(),
            positions: self.plan.positions(),
            window: self.window,
            ends: self.plan.ends(),
            sinks: sinks.as_deref(),
            heads,
            kv_heads,
            head_dim,
            scale: self.scale,
        };
        let (shape, threads) = ([kv_heads, heads / kv_heads], rayon::current_num_threads());
        // SAFETY: the table was chosen by what this machine can run; tasks own disjoint queries.
        #[allow(unsafe_code)]
        if self.rounded && self.plan.ends().is_none() {
            let tiles = self.plan.block_tiles(self.window)?;
            let tasks = AttentionPlan::tasks(tiles, shape, ROUNDED_TASK_QUERIES, threads);
            tasks.par_iter().for_each_init(BlockScratch::default, |scratch, (tile, task)| unsafe {
                (table.bf16_attention)(&call, tile, task, scratch);
            });
        } else {
            let tasks = AttentionPlan::tasks(self.plan.tiles(self.window)?, shape, TASK_QUERIES, threads);
            tasks.par_iter().for_each(|(tile, task)| unsafe { (table.attention)(&call, tile, task) });
        }
        Ok((CpuStorage::F32(out), Shape::from((tokens, heads, head_dim))))
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
        let (_, heads, kv_heads, head_dim) = self.check(q_layout, k_layout)?;
        let shape = AttentionShape { heads, kv_heads, head_dim, scale: self.scale };
        let plan = self.plan.on_gpu(&shape, self.window, &Device::Cuda(q.device().clone()))?;
        let OnGpu { cascade, words, partial, .. } = &*plan;
        debug_assert_eq!(
            partial.elem_count(),
            launch::attention_partial_len(&shape, cascade).max(1),
            "a plan of others"
        );
        let tensors = [(q, q_layout), (k, k_layout), (v, v_layout)];
        let out = crate::cuda::attention(tensors, self.sinks, &shape, cascade, [words, partial])?;
        Ok((out, q_layout.shape().clone()))
    }
}
