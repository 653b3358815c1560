//! The operations between the projections and attention: biases are added, heads normed, queries and keys rotated by
//! their positions, keys and values stored in their pages.

mod operands;

pub use operands::RotateStore;

use super::norm::rms_norm;
use super::rope::rope;
use crate::gpu::{KernelGroup, has_kernels};
use crate::pages::PAGE;
use candle_core::{CpuStorage, CudaStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};

impl RotateStore<'_> {
    /// Takes `q` `[tokens, heads * head_dim]` and `k` and `v` `[tokens, kv_heads * head_dim]`, which may be columns of
    /// one tensor, stores keys and values, and gives the queries, `[tokens, heads, head_dim]`.
    ///
    /// # Errors
    /// Shapes that do not fit, or a slot beyond the caches.
    pub fn apply(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        if q.device().is_cuda() && has_kernels(q.device(), KernelGroup::Attention) {
            self.slots.check(k, self.k_cache)?;
            return q.apply_op3_no_bwd(k, v, self);
        }
        self.reference(q, k, v)
    }

    /// The reference: one op after the other; also used on the CPU.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn reference(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let [q, k, v] = [(q, self.biases[0]), (k, self.biases[1]), (v, self.biases[2])].map(|(x, bias)| {
            let biased = bias.map(|bias| x.broadcast_add(bias)).transpose()?;
            by_head(biased.as_ref().unwrap_or(x), self.head_dim()?)
        });
        let [q, k] = [(q?, self.norms[0]), (k?, self.norms[1])].map(|(x, norm)| match norm {
            Some(weight) => rms_norm(&x, weight, self.norm_eps),
            None => Ok(x),
        });
        self.slots.store(&rope(&k?, self.cos, self.sin)?, &v?, self.k_cache, self.v_cache)?;
        rope(&q?, self.cos, self.sin)
    }

    fn head_dim(&self) -> Result<usize> {
        self.k_cache.dim(2)
    }

    /// `[heads, kv_heads, head_dim]` of queries, keys and values of these shapes.
    fn shape(&self, [q, k, v]: [&Layout; 3]) -> Result<[usize; 3]> {
        let ((tokens, width), (kv_heads, dim)) = (q.shape().dims2()?, (self.k_cache.dim(1)?, self.head_dim()?));
        let pages = self.k_cache.dim(0)?;
        let of_a_head = |x: Option<&Tensor>| x.is_none_or(|x| x.dims() == [dim]);
        let fits = [
            k.dims() == [tokens, kv_heads * dim] && v.dims() == k.dims(),
            dim > 0 && dim % 2 == 0 && width > 0 && width % dim == 0,
            self.k_cache.dims() == [pages, kv_heads, dim, PAGE] && self.v_cache.dims() == [pages, kv_heads, PAGE, dim],
            [self.cos, self.sin].iter().all(|table| table.dims() == [tokens, dim / 2]),
            self.norms.into_iter().all(of_a_head),
            self.biases.iter().zip([q, k, v]).all(|(bias, x)| bias.is_none_or(|bias| bias.dims() == [x.dims()[1]])),
        ];
        if fits.contains(&false) {
            let (table, cache, values) = (self.cos.shape(), self.k_cache.shape(), self.v_cache.shape());
            let rows = format!("q {:?}, k {:?}, v {:?}", q.shape(), k.shape(), v.shape());
            bail!("rotate and store: {rows}, angles {table:?}, caches {cache:?} and {values:?} do not fit");
        }
        Ok([width / dim, kv_heads, dim])
    }
}

/// `[tokens, heads * dim]` to `[tokens, heads, dim]`.
fn by_head(x: &Tensor, dim: usize) -> Result<Tensor> {
    let (tokens, width) = x.dims2()?;
    x.reshape((tokens, width / dim.max(1), dim))
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
        bail!("rotate and store: called on the CPU, which uses the separate ops (bug)")
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
        let [heads, kv_heads, dim] = self.shape([ql, kl, vl])?;
        let slots = self.slots.on(self.cos.device())?;
        let out = crate::cuda::rotate_store([(q, ql), (k, kl), (v, vl)], self, &slots, [heads, kv_heads, dim])?;
        Ok((out, Shape::from((ql.dims()[0], heads, dim))))
    }
}
