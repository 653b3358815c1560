//! Recurrent states in slots of memory.

use super::shape::DeltaShape;
use crate::cpu::{DeltaCall, Table};
use crate::pages::StateRows;
use candle_core::{Result, bail};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The states of one layer: slots of [`DeltaShape::state_len`] numbers, in the CPU's memory.
#[derive(Debug)]
pub struct DeltaStates {
    shape: DeltaShape,
    slots: usize,
    data: Mutex<Vec<f32>>,
}

impl DeltaStates {
    /// `slots` states. The system backs a slot with memory when it is first written.
    #[must_use]
    pub fn new(shape: DeltaShape, slots: usize) -> Self {
        Self { shape, slots, data: Mutex::new(vec![0.0; slots * shape.state_len()]) }
    }

    /// Sizes of a state.
    #[must_use]
    pub fn shape(&self) -> DeltaShape {
        self.shape
    }

    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<f32>> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of slot `slot`: the convolution's latest inputs, `[taps - 1, channels]`, and then the heads'
    /// matrices in blocks of sixteen columns, `[value_heads, value_dim / 16, key_dim, 16]`.
    #[must_use]
    pub fn slot(&self, slot: usize) -> Vec<f32> {
        let len = self.shape.state_len();
        self.lock()[slot * len..(slot + 1) * len].to_vec()
    }
}

/// The slots that the sequences of a batch read and write, while they do.
///
/// No slot is written by two sequences, or read by one and written by another. So tasks on different sequences, or on
/// different columns of one, never touch the same numbers.
pub(super) struct Writers<'a> {
    data: *mut f32,
    len: usize,
    rows: &'a [StateRows],
    /// The tokens of each sequence.
    tokens: Vec<Range<usize>>,
    /// The sequence of each token.
    sequence_of: Vec<u32>,
}

// SAFETY: of the numbers behind `data`, each task uses its own, as said above.
#[allow(unsafe_code)]
unsafe impl Sync for Writers<'_> {}

impl<'a> Writers<'a> {
    pub(super) fn new(
        data: &mut [f32],
        len: usize,
        slots: usize,
        lens: &[usize],
        rows: &'a [StateRows],
    ) -> Result<Self> {
        if rows.len() != lens.len() {
            bail!("gated delta net: {} states for {} sequences", rows.len(), lens.len());
        }
        let mut written = BTreeSet::new();
        for (rows, len) in rows.iter().zip(lens) {
            let ends = rows.saves.iter().map(|(at, _)| *at);
            let sound = ends.clone().zip(ends.clone().skip(1)).all(|(a, b)| a < b) && ends.clone().all(|at| at <= *len);
            let all = rows.saves.iter().map(|(_, slot)| *slot).chain([rows.to]).collect::<Vec<_>>();
            let fresh = all.into_iter().all(|slot| (slot as usize) < slots && written.insert(slot));
            if !sound || !fresh || *len == 0 {
                bail!("gated delta net: {rows:?} of {len} tokens and {slots} slots (bug)");
            }
        }
        for rows in rows {
            let read = rows.from.filter(|&from| from != rows.to);
            if read.is_some_and(|from| from as usize >= slots || written.contains(&from)) {
                bail!("gated delta net: slot {read:?} is read and written, or beyond {slots} slots (bug)");
            }
        }
        let mut first = 0;
        let mut next = |len: &usize| {
            first += len;
            first - len..first
        };
        let tokens: Vec<Range<usize>> = lens.iter().map(&mut next).collect();
        let sequence_of =
            tokens.iter().enumerate().flat_map(|(i, tokens)| tokens.clone().map(move |_| i as u32)).collect();
        Ok(Self { data: data.as_mut_ptr(), len, rows, tokens, sequence_of })
    }

    pub(super) fn sequences(&self) -> usize {
        self.rows.len()
    }

    /// `count` numbers of slot `slot`, from number `at` on.
    fn numbers(&self, slot: u32, at: usize, count: usize) -> *mut f32 {
        debug_assert!(at + count <= self.len);
        // SAFETY: `new` has checked the slot, and `at` is within it.
        #[allow(unsafe_code)]
        unsafe {
            self.data.add(slot as usize * self.len + at)
        }
    }

    /// Row `row`, the oldest first, of the kept inputs of sequence `sequence`; `None` before its first token.
    fn kept(&self, sequence: usize, row: usize, channels: usize) -> Option<&[f32]> {
        let from = self.rows[sequence].from?;
        // SAFETY: a state begins with its kept inputs, which no task writes while others read them.
        #[allow(unsafe_code)]
        Some(unsafe { std::slice::from_raw_parts(self.numbers(from, row * channels, channels), channels) })
    }

    /// The inputs of the convolution of token `at`: its own is the last.
    pub(super) fn conv_rows<'b>(
        &'b self,
        at: usize,
        qkv: &'b [f32],
        zeros: &'b [f32],
        shape: &DeltaShape,
    ) -> Vec<&'b [f32]> {
        let sequence = self.sequence_of[at] as usize;
        self.input_rows(sequence, at + 1 - self.tokens[sequence].start, shape.taps, qkv, zeros, shape)
    }

    /// The `count` latest inputs after `seen` of the new tokens of `sequence`.
    fn input_rows<'b>(
        &'b self,
        sequence: usize,
        seen: usize,
        count: usize,
        qkv: &'b [f32],
        zeros: &'b [f32],
        shape: &DeltaShape,
    ) -> Vec<&'b [f32]> {
        let (channels, kept) = (shape.channels(), shape.taps - 1);
        let row = |j: usize| {
            // Counted from the first kept row.
            let index = kept + seen + j - count;
            match index.checked_sub(kept) {
                Some(token) => &qkv[(self.tokens[sequence].start + token) * channels..][..channels],
                None => self.kept(sequence, index, channels).unwrap_or(zeros),
            }
        };
        (0..count).map(row).collect()
    }

    /// Keeps the latest inputs of every sequence for its next tokens.
    pub(super) fn keep_inputs(&self, qkv: &[f32], shape: &DeltaShape) {
        let zeros = vec![0.0; shape.channels()];
        for (sequence, rows) in self.rows.iter().enumerate() {
            let ends = rows.saves.iter().copied().chain([(self.tokens[sequence].len(), rows.to)]);
            // Made before any is written: the slot may be the one that is read.
            let kept = |(seen, slot)| {
                let inputs = self.input_rows(sequence, seen, shape.taps - 1, qkv, &zeros, shape);
                (slot, inputs.concat())
            };
            for (slot, inputs) in ends.map(kept).collect::<Vec<(u32, Vec<f32>)>>() {
                let to = self.numbers(slot, 0, inputs.len());
                // SAFETY: the slot is this sequence's, and nothing else uses it now.
                #[allow(unsafe_code)]
                unsafe {
                    std::ptr::copy_nonoverlapping(inputs.as_ptr(), to, inputs.len());
                }
            }
        }
    }

    /// Carries `blocks` of columns of a head's state over the tokens of a sequence.
    pub(super) fn carry(
        &self,
        table: &Table,
        call: &DeltaCall<'_>,
        shape: &DeltaShape,
        (sequence, head): (usize, usize),
        blocks: Range<usize>,
    ) {
        let (rows, tokens) = (&self.rows[sequence], self.tokens[sequence].clone());
        let (at, block) = (shape.conv_len() + head * shape.head_len(), shape.key_dim * 16);
        let (start, count) = (at + blocks.start * block, blocks.len() * block);
        // SAFETY: the columns of this head and sequence are this task's alone; the table was chosen by what this
        // machine can run, and the call's offsets are those of the shape that was checked.
        #[allow(unsafe_code)]
        unsafe {
            let state = self.numbers(rows.to, start, count);
            match rows.from {
                None => state.write_bytes(0, count),
                Some(from) if from != rows.to => {
                    std::ptr::copy_nonoverlapping(self.numbers(from, start, count), state, count);
                }
                Some(_) => {}
            }
            for (tokens, save) in segments(tokens.start, tokens.len(), &rows.saves) {
                (table.delta_rule)(call, self.numbers(rows.to, at, shape.head_len()), blocks.clone(), tokens);
                if let Some(slot) = save {
                    std::ptr::copy_nonoverlapping(state, self.numbers(slot, start, count), count);
                }
            }
        }
    }
}

/// The tokens between the saves of a state, and where it is saved after them.
fn segments(first: usize, len: usize, saves: &[(usize, u32)]) -> impl Iterator<Item = (Range<usize>, Option<u32>)> {
    let ends = saves.iter().map(|(at, slot)| (*at, Some(*slot))).chain([(len, None)]).collect::<Vec<_>>();
    let mut done = 0;
    ends.into_iter().map(move |(end, slot)| {
        let tokens = first + done..first + end;
        done = end;
        (tokens, slot)
    })
}
