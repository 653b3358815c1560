//! Attention by products of bf16, sixteen keys by sixteen queries at a time.
//!
//! # The recipe
//! The same bits for any rows beside a row's own, and on every table.
//!
//! - Queries are multiplied by the scale and by log2 e, so that weights are powers of two. Queries and keys become the sum
//!   of two bf16 each, the second what the first leaves, values one; those below [`operands::LEAST`] are zero.
//! - A score is the products of both first parts, of the key's first and the query's second, and of the key's second and
//!   the query's first, added up for each 32 numbers of a head in ascending order as [`crate::cpu::bf16`] says.
//! - Keys come in blocks of [`BLOCK_PAGES`](super::BLOCK_PAGES) pages, counted from position 0. Weights are relative to a
//!   score that rises where a block has one that is higher by [`softmax::RISE`] or more. They become bf16, those below
//!   [`softmax::LEAST_WEIGHT`] zero, and their sum is that of the rounded weights.
//! - For each 32 keys a weighted sum gains their products with the values. What shrinks below [`softmax::LEAST_SUM`] as
//!   that score rises is zero. So no product or sum is subnormal, which AMX would take as zero.
//!
//! Keys are the rows of a product and queries its columns: a query's scores lie in one lane, and no maximum or sum crosses
//! lanes. Weights are written as the next product reads them.

mod operands;
mod products;
mod run;
mod shape;
mod softmax;

pub(in crate::cpu) use products::{Products, ScoreTask, ValueTask};
pub(crate) use run::Scratch;
pub(in crate::cpu) use run::{run, run_by_lanes};
pub(in crate::cpu) use shape::Floats;
