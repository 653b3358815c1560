//! The forms of activations that quantised weights are multiplied with.

use super::weight::{Data, Packed, Weight};
use crate::cpu::{
    Bf16, Bf16Part, BlockCall, CHUNK, Format, Gate, Int8, PANEL, RowChunk, SumTile, Sums, TASK_PANELS, TASK_ROWS,
    TILE_ROWS, Table, TileCall,
};
use crate::ops::f32_slice;
use crate::ops::rounded::bf16_bits;
use candle_core::{CpuStorage, Layout, Result};
use rayon::prelude::*;
use std::ops::Range;

/// A quantised weight.
#[derive(Clone, Copy)]
pub(super) struct Blocks<'a> {
    pub format: Format,
    pub packed: &'a [u8],
    pub inputs: usize,
    pub outputs: usize,
}

impl<'a> Blocks<'a> {
    pub(super) fn of(weight: &'a Weight) -> Option<Self> {
        let Data::Packed(packed) = &weight.data else { return None };
        let Packed::Blocks(format, packed) = &**packed else { return None };
        Some(Self { format: *format, packed, inputs: weight.inputs, outputs: weight.outputs })
    }

    /// The panels of `columns`, which begin with one.
    fn panels(self, columns: &Range<usize>) -> Range<usize> {
        columns.start / PANEL..columns.end.div_ceil(PANEL)
    }

    fn packed_of(self, panels: Range<usize>) -> &'a [u8] {
        let bytes = self.format.panel_bytes(self.inputs);
        &self.packed[panels.start * bytes..panels.end * bytes]
    }
}

/// `all` in parts of up to `most`.
fn parts_of(all: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    all.clone().step_by(most).map(move |start| start..all.end.min(start + most))
}

/// The sums of some panels for some rows, `[panels][rows / 16][2 halves]`.
fn sums_of<'a>(
    table: &Table,
    call: &TileCall<'_>,
    sums: &'a mut Sums,
    panels: Range<usize>,
    rows: Range<usize>,
) -> &'a [SumTile] {
    let (count, many) = (panels.len(), rows.len());
    // SAFETY: the table was chosen by what this machine can run; there is room for the sums, and the kernel writes all of them.
    #[allow(unsafe_code)]
    unsafe {
        (table.bf16_linear)(call, panels, rows, sums.room(count, many));
        sums.tiles(count, many)
    }
}

/// How a product is cut into tasks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// Rows of a task are a multiple of this, unless there are fewer.
    pub rows: usize,
    /// Panels of a task are a multiple of this, unless there are fewer or few rows.
    pub panels: usize,
    /// Rows of a task at most.
    pub most_rows: usize,
    /// Panels of a task at most, where large tasks pay: then each thread gets as few as that allows, else several.
    pub most_panels: Option<usize>,
    /// Rows of a task of a feed-forward in one pass.
    pub hidden_rows: usize,
}

impl Default for Cut {
    /// As floats are cut.
    fn default() -> Self {
        Self { rows: 12, panels: 1, most_rows: usize::MAX, most_panels: None, hidden_rows: 128 }
    }
}

/// Activations in one of the forms.
pub(super) enum Ready {
    Int8(Int8),
    Bf16(Bf16),
}

/// `[rows, inputs]` as int8, or rounded to bf16.
pub(super) trait Form: Sized + Sync {
    /// Some rows of a chunk of inputs, to be written.
    type Part<'a>: Send
    where
        Self: 'a;

    /// Results of a task before they are in this form.
    type Room: Default;

    /// Room for `rows`.
    fn empty(rows: usize, inputs: usize) -> Self;

    /// All values, to be written in parts of one chunk and up to `rows_each` rows, which are whole tiles: the first row and the
    /// first input of each part, and the part.
    fn parts(&mut self, rows_each: usize) -> Vec<(usize, usize, Self::Part<'_>)>;

    /// `x` in this form.
    ///
    /// # Errors
    /// Another type than the form is made of.
    fn of(table: &'static Table, x: (&CpuStorage, &Layout), shape: (usize, usize)) -> Result<Self>;

    /// How products are cut into tasks.
    fn cut(table: &Table) -> Cut;

    /// Computes the columns of `panels` for `rows`.
    ///
    /// # Safety
    /// The table was chosen by what this machine can run; no other task writes these columns of these rows.
    #[allow(unsafe_code)]
    unsafe fn multiply(table: &Table, call: &BlockCall<'_, Self>, panels: Range<usize>, rows: Range<usize>);

    /// Writes `activation(gate(x)) * up(x)` of some columns and rows of `x`.
    fn write_hidden(
        table: &Table,
        layers: (Blocks<'_>, Blocks<'_>, Gate),
        x: &Self,
        place: (Range<usize>, Range<usize>),
        room: &mut Self::Room,
        part: Self::Part<'_>,
    );

    /// The values, for a product.
    fn ready(self) -> Ready;
}

impl Form for Int8 {
    type Part<'a> = RowChunk<'a>;
    type Room = [Vec<f32>; 2];

    fn empty(rows: usize, inputs: usize) -> Self {
        Self::new(rows, inputs)
    }

    fn parts(&mut self, rows_each: usize) -> Vec<(usize, usize, RowChunk<'_>)> {
        Self::parts(self, rows_each)
    }

    fn of(table: &'static Table, x: (&CpuStorage, &Layout), (rows, inputs): (usize, usize)) -> Result<Self> {
        let mut quantised = Self::new(rows, inputs);
        quantised.fill(table, f32_slice("linear", x.0, x.1)?);
        Ok(quantised)
    }

    fn cut(table: &Table) -> Cut {
        Cut { rows: table.tile_rows, panels: table.tile_panels, hidden_rows: 128, ..Cut::default() }
    }

    #[allow(unsafe_code)]
    unsafe fn multiply(table: &Table, call: &BlockCall<'_, Self>, panels: Range<usize>, rows: Range<usize>) {
        // SAFETY: the caller's.
        unsafe { (table.block_linear)(call, panels, rows) }
    }

    fn write_hidden(
        table: &Table,
        (gate, up, activation): (Blocks<'_>, Blocks<'_>, Gate),
        x: &Self,
        (columns, rows): (Range<usize>, Range<usize>),
        room: &mut Self::Room,
        part: RowChunk<'_>,
    ) {
        for (weight, out) in [gate, up].into_iter().zip(&mut *room) {
            let (panels, len) = (weight.panels(&columns), rows.len() * columns.len());
            out.clear();
            out.reserve(len);
            let (packed, outputs) = (weight.packed_of(panels.clone()), columns.len());
            let call =
                BlockCall { x, format: weight.format, packed, out: out.as_mut_ptr(), first_row: rows.start, outputs };
            // SAFETY: the table was chosen by what this machine can run; the call is of these panels and rows, this task has
            // all of them, there is room for the results, and all of them are written.
            #[allow(unsafe_code)]
            unsafe {
                (table.block_linear)(&call, 0..panels.len(), rows.clone());
                out.set_len(len);
            }
        }
        let ([gate, up], columns, mut row) = (&*room, columns.len(), [0.0; CHUNK]);
        for ((gate, up), out) in gate.chunks_exact(columns).zip(up.chunks_exact(columns)).zip(part.rows()) {
            // SAFETY: the table was chosen by what this machine can run; a row has at most a chunk's columns.
            #[allow(unsafe_code)]
            unsafe {
                (table.gated(activation))(gate, up, row.as_mut_ptr());
                (table.quantise_i8)(&row[..columns], out);
            }
        }
    }

    fn ready(self) -> Ready {
        Ready::Int8(self)
    }
}

impl Form for Bf16 {
    type Part<'a> = Bf16Part<'a>;
    type Room = [Sums; 2];

    fn empty(rows: usize, inputs: usize) -> Self {
        Self::new(rows, inputs)
    }

    fn parts(&mut self, rows_each: usize) -> Vec<(usize, usize, Bf16Part<'_>)> {
        Self::parts(self, rows_each)
    }

    fn of(_: &'static Table, x: (&CpuStorage, &Layout), (rows, inputs): (usize, usize)) -> Result<Self> {
        let bits = bf16_bits("linear", x.0, x.1)?;
        let mut tiles = Self::new(rows, inputs);
        tiles.parts(TILE_ROWS).into_par_iter().for_each(|(row, from, part)| {
            let columns = CHUNK.min(inputs - from);
            part.fill(columns, |number, out| {
                out.copy_from_slice(&bits[(row + number) * inputs + from..][..columns]);
            });
        });
        Ok(tiles)
    }

    fn cut(_: &Table) -> Cut {
        Cut { rows: 2 * TILE_ROWS, most_panels: Some(TASK_PANELS), hidden_rows: 256, ..Cut::default() }
    }

    #[allow(unsafe_code)]
    unsafe fn multiply(table: &Table, call: &BlockCall<'_, Self>, panels: Range<usize>, rows: Range<usize>) {
        let tiles = TileCall { x: call.x, format: call.format, packed: call.packed };
        let mut sums = Sums::default();
        for rows in parts_of(rows, TASK_ROWS) {
            for panels in parts_of(panels.clone(), TASK_PANELS) {
                let tiles = sums_of(table, &tiles, &mut sums, panels.clone(), rows.clone());
                let of_panels = tiles.chunks_exact(2 * rows.len().div_ceil(TILE_ROWS));
                for (panel, of_panel) in panels.zip(of_panels) {
                    for (number, row) in rows.clone().enumerate() {
                        for (half, tile) in of_panel[number / TILE_ROWS * 2..][..2].iter().enumerate() {
                            let column = panel * PANEL + half * PANEL / 2;
                            let columns = (PANEL / 2).min(call.outputs.saturating_sub(column));
                            let from = tile.rows()[number % TILE_ROWS].as_ptr();
                            // SAFETY: the caller's; these rows and columns exist.
                            unsafe {
                                let to = call.out(row, panel).wrapping_add(half * PANEL / 2);
                                std::ptr::copy_nonoverlapping(from, to, columns);
                            }
                        }
                    }
                }
            }
        }
    }

    fn write_hidden(
        table: &Table,
        (gate, up, activation): (Blocks<'_>, Blocks<'_>, Gate),
        x: &Self,
        (columns, rows): (Range<usize>, Range<usize>),
        [gates, ups]: &mut Self::Room,
        part: Bf16Part<'_>,
    ) {
        let (kernel, count) = (table.gated(activation), rows.len().div_ceil(TILE_ROWS));
        let of = |weight: Blocks<'_>, sums| {
            let panels = weight.panels(&columns);
            let packed = weight.packed_of(panels.clone());
            sums_of(table, &TileCall { x, format: weight.format, packed }, sums, 0..panels.len(), rows.clone())
        };
        let (gates, ups) = (of(gate, gates), of(up, ups));
        part.fill_tiles(columns.len(), |number, panel, out| {
            for half in 0..2 {
                let at = (panel * count + number) * 2 + half;
                let (mut gated, mut rounded) = ([0.0; TILE_ROWS * PANEL / 2], [0_u16; TILE_ROWS * PANEL / 2]);
                // SAFETY: the table was chosen by what this machine can run; these are whole tiles.
                #[allow(unsafe_code)]
                unsafe {
                    kernel(gates[at].sums(), ups[at].sums(), gated.as_mut_ptr());
                    (table.round_bf16)(&gated, rounded.as_mut_ptr());
                }
                for (out, row) in out.iter_mut().zip(rounded.as_chunks::<{ PANEL / 2 }>().0) {
                    out[half * PANEL / 2..][..PANEL / 2].copy_from_slice(row);
                }
            }
        });
    }

    fn ready(self) -> Ready {
        Ready::Bf16(self)
    }
}
