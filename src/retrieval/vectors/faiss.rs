//! FAISS' flat indexes, as `faiss.write_index` writes `IndexFlatIP` and `IndexFlatL2`.

use super::layout::{Fault, Layout, Number};
use std::fs::File;
use std::io::Read;

/// Bytes behind the mark: dimension (4), count (8), two numbers that are not used (16), trained (1), metric (4), then the
/// number of stored numbers (8).
const HEADER: usize = 41;
const MARK: u64 = 4;

pub(super) fn layout(file: &mut File) -> Result<Layout, Fault> {
    let mut header = [0; HEADER];
    file.read_exact(&mut header).map_err(|e| Fault::ended(&e))?;
    let word = |at: usize| i32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
    let metric = word(29);
    if !(0..=1).contains(&metric) {
        return Err(Fault::new("the metric 0 (inner product) or 1 (squared distance)", metric.to_string()));
    }
    let dimension = u64::try_from(word(0)).map_err(|_| Fault::new("a positive dimension", word(0).to_string()))?;
    let (count, numbers) = (long(4), long(33));
    if count.checked_mul(dimension) != Some(numbers) {
        return Err(Fault::new(
            "as many numbers as count times dimension",
            format!("{numbers} for {count} x {dimension}"),
        ));
    }
    Ok(Layout { count, dimension, number: Number::F32, offset: MARK + HEADER as u64 })
}
