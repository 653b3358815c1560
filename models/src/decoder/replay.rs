//! Decoding steps that a GPU repeats. A step of few rows takes less time to compute than to enqueue, launch by launch;
//! captured as a graph, it is enqueued with two copies and one call.

use super::Decoder;
use super::block::Block;
use crate::batch::{Batch, Table};
use crate::error::{ModelError, Result};
use crate::kv::KvCache;
use crate::layers::{Linear, MOST_BY_BLOCKS};
use candle_core::{DType, Device, Tensor};
use moot_kernels::ops::cascade::{Cascade, PlanSize};
use moot_kernels::{Graph, KernelGroup, Written, has_kernels, overwrite, read_back, release_unused};
use std::collections::HashMap;

/// Most rows of a captured step: with more, computing takes longer than enqueuing.
pub(crate) const MOST_ROWS: usize = 64;
/// A step is captured when the third of its size comes: a capture takes as long as some steps.
const SEEN: usize = 3;
/// Most captured steps at once; attention's partial results take some megabytes each.
const MOST_STEPS: usize = 24;
/// Failed steps after which nothing more is captured: captured steps may take the memory that others need.
const MOST_RELEASES: usize = 3;

/// Captured steps of one decoder and one KV cache, by the size of their plans.
#[derive(Debug, Default)]
pub struct Replays {
    steps: HashMap<PlanSize, Step>,
    seen: HashMap<PlanSize, usize>,
    /// f32 `[MOST_ROWS, vocab]`: all captured steps write their logits here.
    logits: Option<Tensor>,
    counts: ReplayCounts,
    /// Why nothing is captured any more.
    refused: Option<String>,
}

/// Counts of [`Replays`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplayCounts {
    /// Steps captured.
    pub captured: usize,
    /// Steps launched from a capture.
    pub replayed: usize,
    /// Captures that failed, or whose first launch gave other bits than the step enqueued launch by launch. After one of
    /// these nothing more is replayed.
    pub refused: usize,
    /// Times that captured steps were dropped because a step failed, as for lack of memory.
    pub released: usize,
}

/// A captured step, with all that it reads and writes.
#[derive(Debug)]
struct Step {
    graph: Graph,
    buffers: Buffers,
    /// Whether a replay was compared with an enqueued step.
    compared: bool,
    /// The last inputs, from which the device may still copy.
    written: Option<[Written; 2]>,
    /// Holds attention's partial results.
    _batch: Batch,
}

/// Inputs of a captured step, and its result.
#[derive(Debug, Clone)]
struct Buffers {
    /// u32: ids of the rows, their slots, the words of the plan.
    words: Tensor,
    /// f32 `[rotations, 2, rows, head_dim / 2]`
    angles: Tensor,
    /// f32 `[rows, vocab]`, the first rows of [`Replays::logits`].
    logits: Tensor,
}

impl Replays {
    /// Counts so far.
    #[must_use]
    pub fn counts(&self) -> ReplayCounts {
        self.counts
    }

    /// Why nothing is captured any more.
    #[must_use]
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// As [`Decoder::forward`], by a captured step; `None` where the step is not captured. All calls must be with one decoder
    /// and one cache. The logits are valid until the next call.
    ///
    /// # Errors
    /// As [`Decoder::forward`].
    pub fn forward(&mut self, decoder: &Decoder, batch: &Batch, kv: &KvCache) -> Result<Option<Tensor>> {
        if self.refused.is_some() || !decoder.is_capturable() || !batch.is_capturable(kv) {
            return Ok(None);
        }
        // A captured step has one plan of attention, without a window. As long as none is exceeded it has no effect.
        if !batch.plan().is_within_window(decoder.spec.window) {
            return Ok(None);
        }
        let Some((cascade, size)) = batch.plan().to_capture(decoder.dtype, decoder.attention_shape()) else {
            return Ok(None);
        };
        if let Some(step) = self.steps.get_mut(&size) {
            return match step.replay(decoder, batch, &cascade, kv) {
                Ok(logits) => {
                    self.counts.replayed += 1;
                    Ok(Some(logits))
                }
                Err(error) => Ok(self.refuse(&error)),
            };
        }
        let seen = self.seen.entry(size).or_default();
        *seen += 1;
        if *seen < SEEN {
            return Ok(None);
        }
        if self.steps.len() >= MOST_STEPS {
            self.steps.clear();
        }
        let grown = if self.counts.captured == 0 { decoder.grow_scratch() } else { Ok(()) };
        let captured = grown.and_then(|()| self.room(decoder));
        match captured.and_then(|room| decoder.captured(batch, (cascade, size), kv, &room)) {
            Ok(step) => {
                self.counts.captured += 1;
                let logits = step.buffers.logits.clone();
                self.steps.insert(size, step);
                Ok(Some(logits))
            }
            Err(error) => Ok(self.refuse(&error)),
        }
    }

    /// Drops all captured steps, and returns memory that nothing uses to the driver, after a step failed. True where the
    /// step may be tried again: on a GPU, unless it may have changed recurrent states.
    pub fn release(&mut self, decoder: &Decoder) -> bool {
        if decoder.is_on_cpu() {
            return false;
        }
        self.counts.released += usize::from(!self.steps.is_empty());
        self.drop_steps();
        if self.counts.released >= MOST_RELEASES && self.refused.is_none() {
            self.refused = Some(format!("{MOST_RELEASES} steps failed beside captured steps"));
        }
        // What the failed step left is reported here, and not by the next step.
        for run in decoder.blocks.chunk_by(|block, next| block.device.same_device(&next.device)) {
            let _ = release_unused(&run[0].device);
        }
        decoder.spec.recurrence.is_none()
    }

    /// Nothing is replayed from now on: the caller enqueues the step, which writes the same keys and values.
    fn refuse(&mut self, error: &ModelError) -> Option<Tensor> {
        self.counts.refused += 1;
        self.refused = Some(error.to_string());
        self.drop_steps();
        None
    }

    fn drop_steps(&mut self) {
        self.steps.clear();
        self.seen.clear();
        self.logits = None;
    }

    /// The memory for logits.
    fn room(&mut self, decoder: &Decoder) -> Result<Tensor> {
        if let Some(logits) = &self.logits {
            return Ok(logits.clone());
        }
        let logits = Tensor::zeros((MOST_ROWS, decoder.spec.vocab), DType::F32, &decoder.device)?;
        Ok(self.logits.insert(logits).clone())
    }
}

impl Step {
    /// The logits of `batch`. The first time they are compared with those of the step enqueued launch by launch: other
    /// inputs than those of the capture show what a capture may have kept of them.
    fn replay(&mut self, decoder: &Decoder, batch: &Batch, cascade: &Cascade, kv: &KvCache) -> Result<Tensor> {
        // Dropped first: the device has done the last replay, whose logits were read, and so need not be waited for.
        self.written = None;
        self.written = Some(decoder.write(batch, cascade, &self.buffers)?);
        self.graph.launch()?;
        if !self.compared {
            let replayed = self.buffers.logits.force_contiguous()?;
            same_bits(&replayed, &decoder.forward(batch, kv)?)?;
            self.compared = true;
        }
        Ok(self.buffers.logits.clone())
    }
}

/// An error where two tensors differ, or are not numbers.
fn same_bits(found: &Tensor, expected: &Tensor) -> Result<()> {
    // A sum, because a maximum ignores NaN.
    let apart = read_back(&(found - expected)?.abs()?.sum_all()?)?.to_scalar::<f32>()?;
    if apart == 0.0 {
        return Ok(());
    }
    let what = format!("a captured step is off by {apart} in all from the same step enqueued launch by launch");
    Err(candle_core::Error::Msg(what).into())
}

impl Batch {
    /// Whether a captured step can do its work: every row's logits are wanted, and all pages are in `kv`.
    fn is_capturable(&self, kv: &KvCache) -> bool {
        let few = (1..=MOST_ROWS).contains(&self.tokens.len());
        few && !self.of_prompts
            && self.logits_of_all()
            && self.plan().is_within(kv.pages())
            && self.slots().is_within(kv.pages())
    }
}

impl Decoder {
    /// Whether its steps can be captured.
    fn is_capturable(&self) -> bool {
        // A router's choice is read by the host; factors of queries and angles of heads of two widths are not among the inputs of a
        // captured step.
        self.device.is_cuda()
            && has_kernels(&self.device, KernelGroup::Attention)
            && self.spec.window_heads.is_none()
            && self.spec.experts.is_none()
            && self.spec.recurrence.is_none()
            && self.spec.query_scaling.is_none()
            && self.blocks.iter().all(|block| block.device.same_device(&self.device))
    }

    /// Applies layers to the most rows that Candle multiplies by blocks. Its scratch memory moves where it grows, and a
    /// captured step keeps the address.
    fn grow_scratch(&self) -> Result<()> {
        /// Candle has one scratch memory up to this number of rows, and another one beyond.
        const FEW: usize = 8;
        // The scratch memory is as large as the inputs, so of layers with as many the one with the fewest outputs will do.
        let mut smallest: HashMap<usize, &Linear> = HashMap::new();
        for layer in self.blocks.iter().flat_map(Block::linears).chain([&self.output]) {
            let Some(inputs) = layer.inputs_of_blocks() else { continue };
            let held = smallest.entry(inputs).or_insert(layer);
            if layer.elements() < held.elements() {
                *held = layer;
            }
        }
        for (inputs, layer) in smallest {
            for rows in [FEW, MOST_BY_BLOCKS] {
                layer.apply(&Tensor::zeros((rows, inputs), self.dtype, &self.device)?)?;
            }
        }
        Ok(())
    }

    fn attention_shape(&self) -> [usize; 3] {
        [self.spec.heads, self.spec.kv_heads, self.spec.head_dim]
    }

    /// Runs `batch` in new buffers, with logits in the first rows of `room`, and captures it.
    fn captured(
        &self,
        batch: &Batch,
        (cascade, size): (Cascade, PlanSize),
        kv: &KvCache,
        room: &Tensor,
    ) -> Result<Step> {
        let (rows, device) = (batch.tokens.len(), &self.device);
        let buffers = Buffers {
            words: Tensor::zeros(2 * rows + size.words(), DType::U32, device)?,
            angles: Tensor::zeros((self.rotations.count(), 2, rows, self.spec.head_dim / 2), DType::F32, device)?,
            logits: room.narrow(0, 0, rows)?,
        };
        let written = Some(self.write(batch, &cascade, &buffers)?);
        let words = |from: usize, count: usize| buffers.words.narrow(0, from, count);
        let ids = words(0, rows)?;
        let in_place = Batch {
            tokens: batch.tokens.clone(),
            tables: vec![Table {
                plan: batch.plan().captured(cascade, words(2 * rows, size.words())?, self.attention_shape())?,
                slots: batch.slots().captured(words(rows, rows)?),
            }],
            logit_rows: batch.logit_rows.clone(),
            lens: batch.lens.clone(),
            states: Vec::new(),
            of_prompts: false,
        };
        let angles = self.rotations.angles_in(&buffers.angles)?;
        let graph = Graph::capture(device, || {
            let hidden = self.hidden_of(&in_place, &ids, angles.clone(), kv).map_err(candle_core::Error::wrap)?;
            let logits = self.logits(&hidden).map_err(candle_core::Error::wrap)?;
            buffers.logits.slice_set(&logits, 0, 0)
        })?;
        self.compare(&graph, &buffers)?;
        Ok(Step { graph, buffers, compared: false, written, _batch: in_place })
    }

    /// Launches `graph` once more, on the same inputs: the logits must have the same bits again.
    fn compare(&self, graph: &Graph, buffers: &Buffers) -> Result<()> {
        let expected = buffers.logits.force_contiguous()?;
        buffers.logits.zero_set()?;
        graph.launch()?;
        same_bits(&buffers.logits, &expected)
    }

    /// Writes the inputs of `batch` over those of a captured step.
    fn write(&self, batch: &Batch, cascade: &Cascade, to: &Buffers) -> Result<[Written; 2]> {
        let words = overwrite(&to.words, [&batch.tokens[..], batch.slots().words(), cascade.words()].concat())?;
        let angles = self.rotations.angles(batch.plan().positions(), DType::F32, &Device::Cpu)?;
        let angles = overwrite(&to.angles, angles.numbers()?.into_iter().map(f32::to_bits).collect())?;
        Ok([words, angles])
    }
}
