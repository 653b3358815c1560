//! Writes the keys and values of new tokens into their pages.
//!
//! Keys are transposed in a page, `[pages, kv_heads, head_dim, PAGE]`, so that attention works on sixteen keys at a
//! time without a horizontal sum; values are `[pages, kv_heads, PAGE, head_dim]`. On the CPU both are f32, or f16: rounded
//! to the nearest, ties to even, values beyond its range to its largest number.

use super::{PerDevice, f32_slice, upload};
use crate::pages::PAGE;
use candle_core::{CpuStorage, Device, InplaceOp2, Layout, Result, Tensor, bail};
use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

/// Pages up to which the calling thread stores alone: a row that decodes has one token in one page.
const PAGES_ALONE: usize = 16;

/// The slots of a batch's tokens: token `i` goes to `slots[i]`, which is `page * PAGE + offset in the page`.
#[derive(Debug, Clone)]
pub struct Slots {
    slots: Vec<u32>,
    uploaded: PerDevice<Tensor>,
}

impl Slots {
    /// Each slot may appear once.
    #[must_use]
    pub fn new(slots: Vec<u32>) -> Self {
        Self { slots, uploaded: PerDevice::default() }
    }

    /// These slots, which are, or will be, in `words` on a GPU.
    #[must_use]
    pub fn captured(&self, words: Tensor) -> Self {
        let device = words.device().clone();
        Self { slots: self.slots.clone(), uploaded: PerDevice::of(&device, words) }
    }

    /// Whether all slots are among those of the first `pages` pages.
    #[must_use]
    pub fn is_within(&self, pages: usize) -> bool {
        self.slots.iter().all(|&slot| (slot as usize) < pages * PAGE)
    }

    /// The slots.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.slots
    }

    /// Stores `k` and `v`, `[tokens, kv_heads, head_dim]`, into the two caches.
    ///
    /// # Errors
    /// A slot beyond the caches, or shapes that do not fit.
    pub fn store(&self, k: &Tensor, v: &Tensor, k_cache: &Tensor, v_cache: &Tensor) -> Result<()> {
        self.check(k, k_cache)?;
        let (_, kv_heads, head_dim) = k.dims3()?;
        let shape = Planes { kv_heads, head_dim };
        match k_cache.device() {
            Device::Cpu => {
                k_cache.inplace_op2(&k.contiguous()?, &Store { slots: &self.slots, shape, transposed: true })?;
                v_cache.inplace_op2(&v.contiguous()?, &Store { slots: &self.slots, shape, transposed: false })
            }
            _ => {
                self.copy(k, k_cache, true)?;
                self.copy(v, v_cache, false)
            }
        }
    }

    /// Checks that `k` has one token for each slot, and that the cache has these slots.
    pub(super) fn check(&self, k: &Tensor, k_cache: &Tensor) -> Result<()> {
        let (tokens, capacity) = (k.dim(0)?, k_cache.dim(0)? * PAGE);
        if tokens != self.slots.len() {
            bail!("kv store: {tokens} tokens, {} slots", self.slots.len());
        }
        if let Some(slot) = self.slots.iter().find(|&&slot| slot as usize >= capacity) {
            bail!("kv store: slot {slot} is not below {capacity}");
        }
        Ok(())
    }

    /// The slots on a GPU.
    pub(super) fn on(&self, device: &Device) -> Result<std::sync::Arc<Tensor>> {
        self.uploaded.get(device, || upload(&self.slots, device))
    }

    /// The reference, by Candle's own copies of tokens whose slots follow each other in a page; devices without a kernel
    /// of ours use it. Candle's scatter of single numbers is one thread on a GPU.
    fn copy(&self, new: &Tensor, cache: &Tensor, transposed: bool) -> Result<()> {
        let mut first = 0;
        for run in self.slots.chunk_by(|slot, next| *next == slot + 1 && !(*next as usize).is_multiple_of(PAGE)) {
            let (page, offset) = (run[0] as usize / PAGE, run[0] as usize % PAGE);
            let values = new.narrow(0, first, run.len())?.transpose(0, 1)?.unsqueeze(0)?;
            let (values, positions) = if transposed { (values.transpose(2, 3)?, 3) } else { (values, 2) };
            cache.narrow(0, page, 1)?.slice_set(&values.contiguous()?, positions, offset)?;
            first += run.len();
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
struct Planes {
    kv_heads: usize,
    head_dim: usize,
}

impl Planes {
    /// Indices in a cache of the `[kv_heads, head_dim]` values of a slot.
    fn indices(self, slot: usize, transposed: bool) -> impl Iterator<Item = usize> {
        let (page, offset, dim) = (slot / PAGE, slot % PAGE, self.head_dim);
        (0..self.kv_heads).flat_map(move |head| {
            let plane = (page * self.kv_heads + head) * PAGE * dim;
            (0..dim).map(move |d| plane + if transposed { d * PAGE + offset } else { offset * dim + d })
        })
    }
}

struct Store<'a> {
    slots: &'a [u32],
    shape: Planes,
    transposed: bool,
}

impl Store<'_> {
    /// The pages of `cache` that tokens go to, each with its tokens out of `order`, which is sorted by slot.
    fn pages<'c, 'o, T>(&self, mut cache: &'c mut [T], order: &'o [usize]) -> Vec<(&'c mut [T], &'o [usize])> {
        let size = self.shape.kv_heads * self.shape.head_dim * PAGE;
        let page_of = |token: &usize| self.slots[*token] as usize / PAGE;
        let mut passed = 0;
        let pages = order.chunk_by(|a, b| page_of(a) == page_of(b)).map(|tokens| {
            let number = page_of(&tokens[0]);
            let (page, rest) = std::mem::take(&mut cache)[(number - passed) * size..].split_at_mut(size);
            (cache, passed) = (rest, number + 1);
            (page, tokens)
        });
        pages.collect()
    }

    /// Stores `new`, `[tokens, kv_heads, head_dim]`.
    fn put<T: Held>(&self, new: &[f32], cache: &mut [T]) {
        let width = self.shape.kv_heads * self.shape.head_dim;
        let put = |(page, tokens): (&mut [T], &[usize])| {
            let mut held = vec![T::default(); width];
            for &token in tokens {
                T::of(&new[token * width..][..width], &mut held);
                let offset = self.slots[token] as usize % PAGE;
                for (index, value) in self.shape.indices(offset, self.transposed).zip(&held) {
                    page[index] = *value;
                }
            }
        };
        let mut order: Vec<usize> = (0..self.slots.len()).collect();
        order.sort_by_key(|&token| self.slots[token]);
        let pages = self.pages(cache, &order);
        if pages.len() <= PAGES_ALONE {
            pages.into_iter().for_each(put);
        } else {
            pages.into_par_iter().for_each(put);
        }
    }
}

/// A number as a cache holds it.
trait Held: Copy + Default + Send {
    /// Numbers of a token as the cache holds them.
    fn of(new: &[f32], held: &mut [Self]);
}

impl Held for f32 {
    fn of(new: &[f32], held: &mut [Self]) {
        held.copy_from_slice(new);
    }
}

impl Held for f16 {
    fn of(new: &[f32], held: &mut [Self]) {
        const LARGEST: f32 = 65_504.0;
        // A part at a time, since the conversion takes a slice.
        let mut within = [0.0; 64];
        for (new, held) in new.chunks(within.len()).zip(held.chunks_mut(within.len())) {
            let within = &mut within[..new.len()];
            for (within, new) in within.iter_mut().zip(new) {
                *within = new.clamp(-LARGEST, LARGEST);
            }
            held.convert_from_f32_slice(within);
        }
    }
}

impl InplaceOp2 for Store<'_> {
    fn name(&self) -> &'static str {
        "kv_store"
    }

    fn cpu_fwd(&self, s1: &mut CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<()> {
        let new = f32_slice("kv_store", s2, l2)?;
        let Some((from, to)) = l1.contiguous_offsets() else { bail!("kv store: the cache must be contiguous") };
        match s1 {
            CpuStorage::F16(cache) => self.put(new, &mut cache[from..to]),
            CpuStorage::F32(cache) => self.put(new, &mut cache[from..to]),
            _ => bail!("kv store: the CPU cache must be f16 or f32"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::DType;

    /// Runs within a page and across its end, slots that descend, and a page that tokens return to.
    #[test]
    fn copies_store_what_the_kernel_does() -> Result<()> {
        let (kv_heads, head_dim, cpu) = (3, 8, Device::Cpu);
        let slots = Slots::new((PAGE as u32 - 3..PAGE as u32 + 2).chain([40, 39, 38, 3, 4, PAGE as u32 + 2]).collect());
        let [k, v] = [(); 2].map(|()| Tensor::randn(0_f32, 1.0, (slots.words().len(), kv_heads, head_dim), &cpu));
        let (k, v) = (k?, v?);
        let caches = || -> Result<[Tensor; 2]> {
            let shapes = [(3, kv_heads, head_dim, PAGE), (3, kv_heads, PAGE, head_dim)];
            let [k, v] = shapes.map(|shape| Tensor::zeros(shape, DType::F32, &cpu));
            Ok([k?, v?])
        };
        let (stored, copied) = (caches()?, caches()?);
        slots.store(&k, &v, &stored[0], &stored[1])?;
        slots.copy(&k, &copied[0], true)?;
        slots.copy(&v, &copied[1], false)?;
        for (stored, copied) in stored.iter().zip(&copied) {
            assert_eq!(copied.flatten_all()?.to_vec1::<f32>()?, stored.flatten_all()?.to_vec1::<f32>()?);
        }
        Ok(())
    }
}
