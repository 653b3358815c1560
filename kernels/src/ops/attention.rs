//! Causal grouped-query attention over paged keys and values, for packed rows of many sequences at once.

use super::cascade::{Cascade, Room};
use super::{PerDevice, cpu_table, f32_slice, slice, upload};
use crate::cpu::{AttentionCall, Cached, Task, Tile, Visit};
use crate::launch::{self, AttentionShape, Element};
use crate::pages::{PAGE, SequenceRows};
use candle_core::{CpuStorage, CudaStorage, CustomOp3, D, DType, Device, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Rows of a tile: enough to read a page for many, few enough that their running sums stay in L2.
const TILE_ROWS: usize = 32;

/// Rows whose scores [`reference`] computes at once.
const REFERENCE_ROWS: usize = 256;

/// Tasks for each thread: enough that threads end together, few enough that a page is not read by too many tasks.
const TASKS_PER_THREAD: usize = 4;

/// Queries of a task are a multiple of this, the most that share a loaded key, unless threads would have no task at all.
const TASK_QUERIES: usize = 8;

/// The plan of a step on a GPU, shared by all layers.
#[derive(Debug)]
struct OnGpu {
    /// The work of its thread blocks.
    cascade: Cascade,
    /// [`Cascade::words`] on the device.
    words: Tensor,
    /// Results of spans until they are merged; a layer's are merged before the next layer's are written.
    partial: Tensor,
}

impl OnGpu {
    fn new(cascade: Cascade, words: Tensor, shape: &AttentionShape) -> Result<Self> {
        let partial = launch::attention_partial_len(shape, &cascade).max(1);
        let partial = Tensor::zeros(partial, DType::F32, words.device())?;
        Ok(Self { cascade, words, partial })
    }
}

/// The pages that each row reads. Adjacent sequences of the batch that share pages read them together.
#[derive(Debug, Clone)]
pub struct AttentionPlan {
    positions: Vec<u32>,
    sequences: Vec<SequenceRows>,
    /// The work on the CPU, made when it is first needed: without a window, and with one.
    tiles: OnceLock<Vec<Tile>>,
    windowed: OnceLock<(usize, Vec<Tile>)>,
    on_gpu: PerDevice<OnGpu>,
}

impl AttentionPlan {
    /// Plans a batch whose rows are those of `sequences`, one after the other.
    #[must_use]
    pub fn new(sequences: Vec<SequenceRows>) -> Self {
        let positions = sequences.iter().flat_map(|s| s.start..s.start + s.len).map(|p| p as u32).collect();
        let (tiles, windowed) = (OnceLock::new(), OnceLock::new());
        Self { positions, sequences, tiles, windowed, on_gpu: PerDevice::default() }
    }

    /// The work on the CPU of layers whose rows attend to `window` positions at most. All such layers have one window.
    fn tiles(&self, window: usize) -> Result<&[Tile]> {
        if self.is_within_window(window) {
            return Ok(self.tiles.get_or_init(|| tiles(&self.sequences, usize::MAX)));
        }
        let (planned, tiles) = self.windowed.get_or_init(|| (window, tiles(&self.sequences, window)));
        if *planned != window {
            bail!("attention: a window of {window}, in a plan for one of {planned}");
        }
        Ok(tiles)
    }

    /// Whether every row attends to all positions up to its own although its window is `window` positions.
    #[must_use]
    pub fn is_within_window(&self, window: usize) -> bool {
        self.sequences.iter().all(|s| s.start + s.len <= window)
    }

    /// The plan of a GPU that may be captured, and the room it takes; `None` where attention has no kernel of ours or a
    /// sequence is a chunk of a prompt.
    #[must_use]
    pub fn to_capture(&self, dtype: DType, [heads, kv_heads, head_dim]: [usize; 3]) -> Option<(Cascade, Room)> {
        let kernel = launch::attention_fits(Element::of(dtype)?, heads, kv_heads, head_dim);
        let cascade = kernel.then(|| Cascade::new(&self.sequences, heads / kv_heads))?;
        let room = cascade.room(kv_heads)?;
        Some((cascade.padded(room), room))
    }

    /// The same rows by `cascade`, whose words are, or will be, in `words` on a GPU.
    ///
    /// # Errors
    /// No memory on the device.
    pub fn captured(&self, cascade: Cascade, words: Tensor, [heads, kv_heads, head_dim]: [usize; 3]) -> Result<Self> {
        let shape = AttentionShape { heads, kv_heads, head_dim, scale: 1.0 };
        let device = words.device().clone();
        let on_gpu = PerDevice::of(&device, OnGpu::new(cascade, words, &shape)?);
        Ok(Self { on_gpu, ..self.clone() })
    }

    /// Whether all pages are among the first `pages`.
    #[must_use]
    pub fn is_within(&self, pages: usize) -> bool {
        self.sequences.iter().all(|s| {
            let needed = (s.start + s.len).div_ceil(PAGE);
            s.pages.len() >= needed && s.pages.iter().all(|&page| (page as usize) < pages)
        })
    }

    /// Position of each row: `[tokens]`.
    #[must_use]
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// Rows in the batch.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.positions.len()
    }

    /// Pages read by the kernel, per KV head and layer without a window: a page that rows share counts once. Of a plan that
    /// was used on a GPU, the pages read there.
    #[must_use]
    pub fn page_reads(&self) -> usize {
        match self.on_gpu.any() {
            Some(on_gpu) => on_gpu.cascade.page_reads(),
            None => self.tiles(usize::MAX).map_or(0, |tiles| tiles.iter().map(|tile| tile.visits.len()).sum()),
        }
    }

    /// Pages that the tiles of the CPU would read if sequences shared none.
    #[must_use]
    pub fn page_reads_unshared(&self) -> usize {
        let reads = |s: &SequenceRows| {
            let ends = (0..s.len).step_by(TILE_ROWS).map(|done| s.start + s.len.min(done + TILE_ROWS));
            ends.map(|end| end.div_ceil(PAGE)).sum::<usize>()
        };
        self.sequences.iter().map(reads).sum()
    }

    /// The plan on a GPU. A batch is one model's, so `shape` is always the same.
    fn on_gpu(&self, shape: &AttentionShape, device: &Device) -> Result<Arc<OnGpu>> {
        self.on_gpu.get(device, || {
            let cascade = Cascade::new(&self.sequences, shape.heads / shape.kv_heads);
            let words = upload(cascade.words(), device)?;
            OnGpu::new(cascade, words, shape)
        })
    }

    /// The tasks of a layer with `kv_heads` KV heads and `group` query heads of each. Where there are few tiles (decoding),
    /// the queries of a tile are divided: each part reads the tile's pages again, and no result changes.
    fn tasks(tiles: &[Tile], kv_heads: usize, group: usize, threads: usize) -> Vec<(&Tile, Task)> {
        let whole = (tiles.len() * kv_heads).max(1);
        let mut tasks = Vec::new();
        for tile in tiles {
            let all = tile.rows.len() * group;
            let even = all.div_ceil((TASKS_PER_THREAD * threads).div_ceil(whole)).next_multiple_of(TASK_QUERIES);
            let size = if whole < threads { even.min(all.div_ceil(threads.div_ceil(whole))) } else { even };
            for kv_head in 0..kv_heads {
                let part = |first: usize| Task { kv_head, queries: first..(first + size).min(all) };
                tasks.extend((0..all).step_by(size).map(|first| (tile, part(first))));
            }
        }
        tasks
    }
}

/// One sequence's rows of a tile.
struct RowRun<'a> {
    sequence: &'a SequenceRows,
    rows: Range<usize>,
    /// From the page where the first row's window begins up to and with the last row's own.
    pages: Range<usize>,
}

fn tiles(sequences: &[SequenceRows], window: usize) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let mut runs: Vec<RowRun<'_>> = Vec::new();
    let mut row = 0;
    for sequence in sequences {
        let mut done = 0;
        while done < sequence.len {
            let open = runs.last().map_or(0, |last| last.rows.end - runs[0].rows.start);
            // A tile has rows of one sequence, or whole short sequences that begin with the same page.
            let joins = open > 0 && open + sequence.len <= TILE_ROWS && runs[0].sequence.pages[0] == sequence.pages[0];
            if open > 0 && !joins {
                tiles.push(close(&mut runs));
            }
            let take = (sequence.len - done).min(TILE_ROWS);
            let first = sequence.start + done;
            let pages = (first + 1).saturating_sub(window) / PAGE..(first + take).div_ceil(PAGE);
            runs.push(RowRun { sequence, rows: row..row + take, pages });
            row += take;
            done += take;
        }
    }
    if !runs.is_empty() {
        tiles.push(close(&mut runs));
    }
    tiles
}

fn close(runs: &mut Vec<RowRun<'_>>) -> Tile {
    let rows = runs[0].rows.start..runs[runs.len() - 1].rows.end;
    let mut visits: Vec<Visit> = Vec::new();
    let first = runs.iter().map(|run| run.pages.start).min().unwrap_or(0);
    for index in first..runs.iter().map(|run| run.pages.end).max().unwrap_or(0) {
        let level = visits.len();
        for run in runs.iter().filter(|run| run.pages.contains(&index)) {
            let page = run.sequence.pages[index] as usize;
            match visits[level..].last_mut() {
                Some(visit) if visit.page == page && visit.rows.end == run.rows.start => {
                    visit.rows.end = run.rows.end;
                }
                _ => visits.push(Visit { page, start: index * PAGE, rows: run.rows.clone() }),
            }
        }
    }
    runs.clear();
    Tile { rows, visits }
}

/// Softmax(q · kᵀ · scale) · v, each row over the positions up to its own, at most the last `window` of them.
///
/// `q` is `[tokens, heads, head_dim]`; the caches are as [`super::kv_store`] writes them; the result is like `q`. Heads
/// `i * heads / kv_heads ..` read KV head `i`. The tokens' own keys and values must be stored already.
///
/// # Errors
/// Shapes that do not fit, or a page beyond the cache.
pub fn attention(
    q: &Tensor,
    k_cache: &Tensor,
    v_cache: &Tensor,
    plan: &AttentionPlan,
    window: usize,
    scale: f32,
) -> Result<Tensor> {
    attention_with_sinks([q, k_cache, v_cache], plan, window, scale, None)
}

/// As [`attention`] of queries, keys and values, each head's softmax with a logit of `sinks`, `[heads]` f32, in its sum
/// that has no value: a row's weights sum to less than one. Of gpt-oss, after <https://arxiv.org/abs/2309.17453>.
///
/// # Errors
/// As [`attention`], and sinks of another number of heads.
pub fn attention_with_sinks(
    [q, k_cache, v_cache]: [&Tensor; 3],
    plan: &AttentionPlan,
    window: usize,
    scale: f32,
    sinks: Option<&Tensor>,
) -> Result<Tensor> {
    let op = Attention { plan, window, scale, sinks };
    match q.device() {
        Device::Cpu => q.contiguous()?.apply_op3_no_bwd(k_cache, v_cache, &op),
        // The kernels know neither sinks nor a window; a window that no row exceeds is none.
        Device::Cuda(_) if sinks.is_none() && plan.is_within_window(window) && on_tensor_cores(q, k_cache)? => {
            q.contiguous()?.apply_op3_no_bwd(k_cache, v_cache, &op)
        }
        _ => reference_with_sinks([q, k_cache, v_cache], plan, window, scale, sinks),
    }
}

/// Whether there is a CUDA kernel for such heads of such numbers.
fn on_tensor_cores(q: &Tensor, k_cache: &Tensor) -> Result<bool> {
    let (_, heads, dim) = q.dims3()?;
    let kv_heads = k_cache.dim(1)?;
    Ok(Element::of(q.dtype()).is_some_and(|element| launch::attention_fits(element, heads, kv_heads, dim)))
}

/// The reference by Candle's own operations, one sequence at a time; devices without a kernel of ours use it.
///
/// # Errors
/// Shapes that do not fit, or a page beyond the cache.
pub fn reference(
    q: &Tensor,
    k_cache: &Tensor,
    v_cache: &Tensor,
    plan: &AttentionPlan,
    window: usize,
    scale: f32,
) -> Result<Tensor> {
    reference_with_sinks([q, k_cache, v_cache], plan, window, scale, None)
}

/// The reference of [`attention_with_sinks`].
///
/// # Errors
/// Shapes that do not fit, or a page beyond the cache.
pub fn reference_with_sinks(
    [q, k_cache, v_cache]: [&Tensor; 3],
    plan: &AttentionPlan,
    window: usize,
    scale: f32,
    sinks: Option<&Tensor>,
) -> Result<Tensor> {
    let (_, heads, dim) = q.dims3()?;
    let kv_heads = k_cache.dim(1)?;
    let mut row = 0;
    let mut outs = Vec::with_capacity(plan.sequences.len());
    for sequence in &plan.sequences {
        let total = sequence.start + sequence.len;
        let pages = Tensor::new(&sequence.pages[..total.div_ceil(PAGE)], q.device())?;
        // To [kv_heads, positions, head_dim].
        let [k, v] = [k_cache, v_cache].map(|cache| cache.index_select(&pages, 0)?.to_dtype(q.dtype()));
        let k = k?.permute((1, 0, 3, 2))?.reshape((kv_heads, (), dim))?;
        let v = v?.permute((1, 0, 2, 3))?.reshape((kv_heads, (), dim))?;
        let (positions, k) = (k.dim(1)?, k.t()?.contiguous()?);
        let v = v.contiguous()?;
        // Some rows at once, since their scores are as wide as the positions.
        for first in (0..sequence.len).step_by(REFERENCE_ROWS) {
            let len = REFERENCE_ROWS.min(sequence.len - first);
            // To [kv_heads, group * len, head_dim].
            let own = q.narrow(0, row + first, len)?.reshape((len, kv_heads, heads / kv_heads, dim))?;
            let own = own.permute((1, 2, 0, 3))?.reshape((kv_heads, (), dim))?;
            let start = sequence.start + first;
            let attends = |i: usize, j: usize| j <= start + i && j.saturating_add(window) > start + i;
            let mask = (0..len).flat_map(|i| (0..positions).map(move |j| (i, j)));
            let mask = mask.map(|(i, j)| if attends(i, j) { 0.0 } else { f32::NEG_INFINITY });
            let mask = Tensor::from_iter(mask, q.device())?.reshape((1, 1, len, positions))?;
            let scores = (own.matmul(&k)?.to_dtype(DType::F32)? * f64::from(scale))?;
            let scores = scores.reshape((kv_heads, heads / kv_heads, len, positions))?.broadcast_add(&mask)?;
            let weights = match sinks {
                None => softmax(&scores)?,
                Some(sinks) => {
                    let sinks = sinks.reshape((kv_heads, heads / kv_heads, 1, 1))?.to_dtype(DType::F32)?;
                    let sinks = sinks.broadcast_as((kv_heads, heads / kv_heads, len, 1))?;
                    softmax(&Tensor::cat(&[&scores, &sinks], 3)?)?.narrow(3, 0, positions)?
                }
            };
            let weights = weights.to_dtype(q.dtype())?.contiguous()?;
            let out = weights.reshape((kv_heads, (), positions))?.matmul(&v)?;
            let out = out.reshape((kv_heads, heads / kv_heads, len, dim))?.permute((2, 0, 1, 3))?;
            outs.push(out.reshape((len, heads, dim))?);
        }
        row += sequence.len;
    }
    Tensor::cat(&outs, 0)
}

fn softmax(scores: &Tensor) -> Result<Tensor> {
    let weights = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?)?.exp()?;
    weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)
}

fn cached<'a>(cache: &'a CpuStorage, layout: &Layout) -> Result<Cached<'a>> {
    Ok(match cache {
        CpuStorage::F16(_) => Cached::F16(slice("attention", cache, layout)?),
        _ => Cached::F32(f32_slice("attention", cache, layout)?),
    })
}

struct Attention<'a> {
    plan: &'a AttentionPlan,
    window: usize,
    scale: f32,
    sinks: Option<&'a Tensor>,
}

impl Attention<'_> {
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
        for sequence in &self.plan.sequences {
            let needed = (sequence.start + sequence.len).div_ceil(PAGE);
            if sequence.pages.len() < needed || sequence.pages.iter().any(|&p| p as usize >= pages) {
                bail!("attention: a sequence of {needed} pages has {:?}, of {pages} in the cache", sequence.pages);
            }
        }
        Ok((tokens, heads, kv_heads, dim))
    }
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
        if let Some(found) = sinks.as_ref().map(Vec::len).filter(|&found| found != heads) {
            bail!("attention: {found} sinks for {heads} heads");
        }
        let mut out = vec![0.0_f32; tokens * heads * head_dim];
        let call = AttentionCall {
            q: f32_slice("attention", q, q_layout)?,
            k: cached(k, k_layout)?,
            v: cached(v, v_layout)?,
            out: out.as_mut_ptr(),
            positions: &self.plan.positions,
            window: self.window,
            sinks: sinks.as_deref(),
            heads,
            kv_heads,
            head_dim,
            scale: self.scale,
        };
        let tiles = self.plan.tiles(self.window)?;
        AttentionPlan::tasks(tiles, kv_heads, heads / kv_heads, rayon::current_num_threads()).par_iter().for_each(
            |(tile, task)| {
                // SAFETY: the table was chosen by what this machine can run; tasks own disjoint queries.
                #[allow(unsafe_code)]
                unsafe {
                    (table.attention)(&call, tile, task);
                }
            },
        );
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
        let plan = self.plan.on_gpu(&shape, &Device::Cuda(q.device().clone()))?;
        let OnGpu { cascade, words, partial } = &*plan;
        if partial.elem_count() < launch::attention_partial_len(&shape, cascade) {
            bail!("attention: a plan that was made for other heads");
        }
        let tensors = [(q, q_layout), (k, k_layout), (v, v_layout)];
        let out = crate::cuda::attention(tensors, &shape, cascade, [words, partial])?;
        Ok((out, q_layout.shape().clone()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The tasks of one layer: for each KV head, the queries of each tile once. Their sizes are returned.
    fn sizes(plan: &AttentionPlan, kv_heads: usize, group: usize, threads: usize) -> Vec<usize> {
        let tiles = plan.tiles(usize::MAX).unwrap();
        let tasks = AttentionPlan::tasks(tiles, kv_heads, group, threads);
        for tile in tiles {
            for kv_head in 0..kv_heads {
                let of = |(other, task): &&(&Tile, Task)| std::ptr::eq(*other, tile) && task.kv_head == kv_head;
                let covered: Vec<usize> = tasks.iter().filter(of).flat_map(|(_, task)| task.queries.clone()).collect();
                assert_eq!(covered, (0..tile.rows.len() * group).collect::<Vec<_>>());
            }
        }
        tasks.iter().map(|(_, task)| task.queries.len()).collect()
    }

    #[test]
    fn few_tiles_are_divided_so_that_every_thread_has_a_task() {
        let shared = |own: u32| SequenceRows { start: 520, len: 1, pages: (0..32).chain([100 + own]).collect() };
        let eight = AttentionPlan::new((0..8).map(shared).collect());
        assert_eq!(sizes(&eight, 3, 3, 1), [16, 8, 16, 8, 16, 8]);
        assert_eq!(sizes(&eight, 3, 3, 2), [8; 9]);
        assert_eq!(sizes(&eight, 2, 7, 2), [16, 16, 16, 8, 16, 16, 16, 8]);
        assert_eq!(sizes(&eight, 3, 3, 16).len(), 18);
        let one = AttentionPlan::new(vec![shared(0)]);
        assert_eq!(sizes(&one, 3, 3, 2), [3; 3]);
        assert_eq!(sizes(&one, 2, 7, 2), [7; 2]);
        assert_eq!(sizes(&one, 2, 7, 16), [1; 14]);
        let prompt = AttentionPlan::new(vec![SequenceRows { start: 0, len: 512, pages: (0..32).collect() }]);
        assert_eq!(sizes(&prompt, 3, 3, 2), [96; 48]);
        assert!(AttentionPlan::tasks(&[], 3, 3, 2).is_empty());
    }
}
