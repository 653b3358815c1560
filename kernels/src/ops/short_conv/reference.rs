//! The op by Candle's own operations; devices without a kernel of ours use it.

use super::inputs::ShortConvInputs;
use crate::ops::states::check_rows;
use crate::pages::StateRows;
use candle_core::{DType, Result, Tensor};

/// As [`super::short_conv`], with the slots as a tensor, `[slots * (taps - 1), channels]` f32, which is overwritten.
///
/// # Errors
/// As of [`super::short_conv`].
pub fn reference(
    inputs: ShortConvInputs<'_>,
    weights: &Tensor,
    slots: &Tensor,
    lens: &[usize],
    rows: &[StateRows],
) -> Result<Tensor> {
    let (taps, channels) = weights.dims2()?;
    check_rows(slots.dim(0)? / (taps - 1), lens, rows)?;
    let device = inputs.x.device();
    let selected = |from: &Tensor, rows: &[u32]| from.index_select(&Tensor::new(rows, device)?, 0);
    let gather = Gather::new(taps, lens, rows);
    let products = (inputs.before.to_dtype(DType::F32)? * inputs.x.to_dtype(DType::F32)?)?;
    let mut known = vec![Tensor::zeros((1, channels), DType::F32, device)?];
    if !gather.read.is_empty() {
        known.push(selected(slots, &gather.read)?);
    }
    known.push(products);
    let known = Tensor::cat(&known, 0)?;
    let term = |(tap, rows): (usize, &Vec<u32>)| selected(&known, rows)?.broadcast_mul(&weights.narrow(0, tap, 1)?);
    let mut terms = gather.taps.iter().enumerate().map(term);
    let first = terms.next().unwrap_or_else(|| inputs.x.zeros_like())?;
    let sum = terms.try_fold(first, |sum, term| sum + term?)?;
    let written = Tensor::new(&gather.written[..], device)?.unsqueeze(1)?;
    let written = written.broadcast_as((gather.written.len(), channels))?.contiguous()?;
    slots.scatter_set(&written, &selected(&known, &gather.kept)?, 0)?;
    (inputs.after.to_dtype(DType::F32)? * sum)?.to_dtype(inputs.x.dtype())
}

/// Rows by number. The known ones are a row of zeros, the inputs that sequences have kept, and those of the batch.
struct Gather {
    /// Rows of the slots that are read.
    read: Vec<u32>,
    /// Of each tap the known row of every token.
    taps: Vec<Vec<u32>>,
    /// The known rows that are kept.
    kept: Vec<u32>,
    /// The rows of the slots that they are written to.
    written: Vec<u32>,
}

impl Gather {
    fn new(taps: usize, lens: &[usize], rows: &[StateRows]) -> Self {
        let kept_rows = taps - 1;
        let mut read = Vec::new();
        let mut first_kept = |rows: &StateRows| {
            let from = rows.from? as usize * kept_rows;
            read.extend((from..from + kept_rows).map(|row| row as u32));
            Some(1 + read.len() - kept_rows)
        };
        let firsts: Vec<Option<usize>> = rows.iter().map(&mut first_kept).collect();
        let mut next = 1 + read.len();
        let (mut taps, mut kept, mut written) = (vec![Vec::new(); taps], Vec::new(), Vec::new());
        for ((rows, first), len) in rows.iter().zip(firsts).zip(lens) {
            // Input `index` of the sequence, counted from the first that it has kept.
            let known = |index: usize| match index.checked_sub(kept_rows) {
                Some(token) => (next + token) as u32,
                None => first.map_or(0, |first| (first + index) as u32),
            };
            for (tap, of_tap) in taps.iter_mut().enumerate() {
                of_tap.extend((0..*len).map(|token| known(token + tap)));
            }
            for (seen, slot) in rows.saves.iter().copied().chain([(*len, rows.to)]) {
                kept.extend((0..kept_rows).map(|row| known(seen + row)));
                written.extend((0..kept_rows).map(|row| slot * kept_rows as u32 + row as u32));
            }
            next += len;
        }
        Self { read, taps, kept, written }
    }
}
