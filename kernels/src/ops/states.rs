//! Recurrent states of a layer in slots of memory, and the slots that a batch reads and writes.

use crate::pages::StateRows;
use candle_core::{Result, bail};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A causal convolution of each channel by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvShape {
    /// Numbers of a token, a multiple of 16.
    pub channels: usize,
    /// Tokens that it takes in, its own included.
    pub taps: usize,
}

impl ConvShape {
    /// Numbers that a sequence keeps for its next tokens: the latest inputs, `[taps - 1, channels]`.
    #[must_use]
    pub fn state_len(&self) -> usize {
        (self.taps - 1) * self.channels
    }
}

/// The states of one layer: slots of `len` numbers, in the CPU's memory.
#[derive(Debug)]
pub(super) struct StateMemory {
    len: usize,
    slots: usize,
    data: Mutex<Vec<f32>>,
}

impl StateMemory {
    pub(super) fn new(len: usize, slots: usize) -> Self {
        Self { len, slots, data: Mutex::new(vec![0.0; slots * len]) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<f32>> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of slot `slot`.
    pub(super) fn slot(&self, slot: usize) -> Vec<f32> {
        self.lock()[slot * self.len..(slot + 1) * self.len].to_vec()
    }
}

/// Refuses rows that read or write a slot beyond `slots`, or one that another sequence writes.
pub(super) fn check_rows(slots: usize, lens: &[usize], rows: &[StateRows]) -> Result<()> {
    if rows.len() != lens.len() {
        bail!("recurrent states: {} states for {} sequences", rows.len(), lens.len());
    }
    let mut written = BTreeSet::new();
    for (rows, len) in rows.iter().zip(lens) {
        let ends = rows.saves.iter().map(|(at, _)| *at);
        let sound = ends.clone().zip(ends.clone().skip(1)).all(|(a, b)| a < b) && ends.clone().all(|at| at <= *len);
        let all = rows.saves.iter().map(|(_, slot)| *slot).chain([rows.to]).collect::<Vec<_>>();
        let fresh = all.into_iter().all(|slot| (slot as usize) < slots && written.insert(slot));
        if !sound || !fresh || *len == 0 {
            bail!("recurrent states: {rows:?} of {len} tokens and {slots} slots (bug)");
        }
    }
    for rows in rows {
        let read = rows.from.filter(|&from| from != rows.to);
        if read.is_some_and(|from| from as usize >= slots || written.contains(&from)) {
            bail!("recurrent states: slot {read:?} is read and written, or beyond {slots} slots (bug)");
        }
    }
    Ok(())
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
    /// `data` is what `memory` holds.
    pub(super) fn new(
        memory: &StateMemory,
        data: &'a mut [f32],
        lens: &[usize],
        rows: &'a [StateRows],
    ) -> Result<Self> {
        check_rows(memory.slots, lens, rows)?;
        let mut first = 0;
        let mut next = |len: &usize| {
            first += len;
            first - len..first
        };
        let tokens: Vec<Range<usize>> = lens.iter().map(&mut next).collect();
        let sequence_of =
            tokens.iter().enumerate().flat_map(|(i, tokens)| tokens.clone().map(move |_| i as u32)).collect();
        Ok(Self { data: data.as_mut_ptr(), len: memory.len, rows, tokens, sequence_of })
    }

    pub(super) fn sequences(&self) -> usize {
        self.rows.len()
    }

    /// The slots of sequence `sequence`, and its tokens.
    pub(super) fn sequence(&self, sequence: usize) -> (&'a StateRows, Range<usize>) {
        (&self.rows[sequence], self.tokens[sequence].clone())
    }

    /// `count` numbers of slot `slot`, from number `at` on.
    pub(super) fn numbers(&self, slot: u32, at: usize, count: usize) -> *mut f32 {
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
        new: &'b [f32],
        zeros: &'b [f32],
        shape: ConvShape,
    ) -> Vec<&'b [f32]> {
        let sequence = self.sequence_of[at] as usize;
        self.input_rows(sequence, at + 1 - self.tokens[sequence].start, shape.taps, new, zeros, shape)
    }

    /// The `count` latest inputs after `seen` of the new tokens of `sequence`.
    fn input_rows<'b>(
        &'b self,
        sequence: usize,
        seen: usize,
        count: usize,
        new: &'b [f32],
        zeros: &'b [f32],
        shape: ConvShape,
    ) -> Vec<&'b [f32]> {
        let (channels, kept) = (shape.channels, shape.taps - 1);
        let row = |j: usize| {
            // Counted from the first kept row.
            let index = kept + seen + j - count;
            match index.checked_sub(kept) {
                Some(token) => &new[(self.tokens[sequence].start + token) * channels..][..channels],
                None => self.kept(sequence, index, channels).unwrap_or(zeros),
            }
        };
        (0..count).map(row).collect()
    }

    /// Keeps the latest inputs of every sequence for its next tokens.
    pub(super) fn keep_inputs(&self, new: &[f32], shape: ConvShape) {
        let zeros = vec![0.0; shape.channels];
        for (sequence, rows) in self.rows.iter().enumerate() {
            let ends = rows.saves.iter().copied().chain([(self.tokens[sequence].len(), rows.to)]);
            // Made before any is written: the slot may be the one that is read.
            let kept = |(seen, slot)| {
                let inputs = self.input_rows(sequence, seen, shape.taps - 1, new, &zeros, shape);
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
}
