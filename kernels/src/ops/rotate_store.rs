//! What lies between the projections and attention: queries and keys are turned by their positions, keys and values
//! stored in their pages.

use super::kv_store::Slots;
use super::rope::rope;
use candle_core::{CpuStorage, CudaStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};

/// Where keys and values go, and by what they are turned.
#[derive(Debug, Clone, Copy)]
pub struct RotateStore<'a> {
    /// `[tokens, head_dim / 2]`: f32 on a CUDA device, else like the numbers that are turned.
    pub cos: &'a Tensor,
    /// Like `cos`.
    pub sin: &'a Tensor,
    /// A slot a token.
    pub slots: &'a Slots,
    /// `[pages, kv_heads, head_dim, PAGE]`
    pub k_cache: &'a Tensor,
    /// `[pages, kv_heads, PAGE, head_dim]`
    pub v_cache: &'a Tensor,
}

impl RotateStore<'_> {
    /// Turns `q` `[tokens, heads, head_dim]` and `k` `[tokens, kv_heads, head_dim]`, stores `k` and `v`, and gives `q`.
    ///
    /// # Errors
    /// Shapes that do not fit, or a slot beyond the caches.
    pub fn apply(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        if q.device().is_cuda() {
            self.slots.check(k, self.k_cache)?;
            return q.contiguous()?.apply_op3_no_bwd(&k.contiguous()?, &v.contiguous()?, self);
        }
        self.reference(q, k, v)
    }

    /// The reference: one after the other, by the ops of that name.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn reference(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        self.slots.store(&rope(k, self.cos, self.sin)?, v, self.k_cache, self.v_cache)?;
        rope(q, self.cos, self.sin)
    }
}

impl CustomOp3 for RotateStore<'_> {
    fn name(&self) -> &'static str {
        "rotate_store"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        bail!("rotate and store: the CPU has another way (bug)")
    }

    fn cuda_fwd(
        &self,
        q: &CudaStorage,
        ql: &Layout,
        k: &CudaStorage,
        kl: &Layout,
        v: &CudaStorage,
        vl: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        let (tokens, _, dim) = ql.shape().dims3()?;
        let fits = kl.shape() == vl.shape() && kl.dims()[0] == tokens && kl.dims()[2] == dim && dim % 2 == 0;
        if !fits || self.cos.dims() != [tokens, dim / 2] || self.sin.dims() != self.cos.dims() {
            let table = self.cos.shape();
            bail!("rotate and store: q {:?}, k {:?}, v {:?}, cos {table:?}", ql.shape(), kl.shape(), vl.shape());
        }
        let slots = self.slots.on(self.cos.device())?;
        let out = crate::cuda::rotate_store([(q, ql), (k, kl), (v, vl)], self, &slots)?;
        Ok((out, ql.shape().clone()))
    }
}
