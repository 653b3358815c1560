//! Recurrent states in slots of memory.

use super::shape::DeltaShape;
use crate::cpu::{DeltaCall, Table};
use crate::ops::states::{StateMemory, Writers};
use std::ops::Range;

/// The states of one layer: slots of [`DeltaShape::state_len`] numbers, in the CPU's memory.
#[derive(Debug)]
pub struct DeltaStates {
    shape: DeltaShape,
    memory: StateMemory,
}

impl DeltaStates {
    /// `slots` states. The system backs a slot with memory when it is first written.
    #[must_use]
    pub fn new(shape: DeltaShape, slots: usize) -> Self {
        Self { shape, memory: StateMemory::new(shape.state_len(), slots) }
    }

    /// Sizes of a state.
    #[must_use]
    pub fn shape(&self) -> DeltaShape {
        self.shape
    }

    pub(super) fn memory(&self) -> &StateMemory {
        &self.memory
    }

    /// The numbers of slot `slot`: the convolution's latest inputs, `[taps - 1, channels]`, and then the heads'
    /// matrices in blocks of sixteen columns, `[value_heads, value_dim / 16, key_dim, 16]`.
    #[must_use]
    pub fn slot(&self, slot: usize) -> Vec<f32> {
        self.memory.slot(slot)
    }
}

impl Writers<'_> {
    /// Carries `blocks` of columns of a head's state over the tokens of a sequence.
    pub(super) fn carry(
        &self,
        table: &Table,
        call: &DeltaCall<'_>,
        shape: &DeltaShape,
        (sequence, head): (usize, usize),
        blocks: Range<usize>,
    ) {
        let (rows, tokens) = self.sequence(sequence);
        let (at, block) = (shape.conv().state_len() + head * shape.head_len(), shape.key_dim * 16);
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
