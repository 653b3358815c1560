//! Scores become weights, relative to a score that rises with them.

use super::products::{Ahead, Products, ScoreTask};
use super::shape::{Floats, STEP, TILE};
use crate::cpu::bf16::Line;
use crate::cpu::blocks::LANES;
use crate::cpu::lanes::{Lanes, OFFSET};
use crate::pages::PAGE;

/// How much higher a score is, as a power of two, that weights become relative to.
pub(super) const RISE: f32 = 8.0;
/// Weights of a smaller magnitude are taken as zero: 2^-40.
pub(super) const LEAST_WEIGHT: f32 = 9.094_947e-13;
/// And sums of weights or of weighted values that a higher score has made smaller: 2^-80.
pub(super) const LEAST_SUM: f32 = 8.271_806e-25;

/// Taken from the scores of keys that a query does not attend to: more than from any score to [`LOWEST`].
const MASK: f32 = 1_073_741_824.0;
/// The score before the first key, far below any. A sum of it and a score has at least four bits behind the point.
pub(super) const LOWEST: f32 = -1_048_576.0;

/// Two to the power of each lane, which is clamped to [-126, 127]: relative error below 4e-6, and 1 of 0.
#[inline(always)]
unsafe fn power_of_two<L: Lanes>(x: L) -> L {
    /// Of the polynomial for [-1/2, 1/2] with the least relative error that is 1 at 0, the last coefficient first.
    const COEFFICIENTS: [f32; 4] = [0.009_582_853, 0.055_906_426, 0.240_240_99, 0.693_124_2];
    // SAFETY: lane-wise methods of the caller's own instruction set.
    unsafe {
        let x = x.max(L::splat(-126.0)).min(L::splat(127.0));
        // The nearest whole number.
        let whole = x.fma(L::splat(1.0), L::splat(OFFSET)).sub(L::splat(OFFSET));
        let rest = x.sub(whole);
        let [first, others @ ..] = COEFFICIENTS;
        let mut power = L::splat(first);
        for coefficient in others {
            power = power.fma(rest, L::splat(coefficient));
        }
        power.fma(rest, L::splat(1.0)).mul_power_of_two(whole)
    }
}

/// Turns the scores of sixteen queries into weights, pairs of keys in tiles of 32, and adds them to their sum. Where they become
/// relative to a higher score, `sums` shrink before.
#[inline(always)]
pub(super) unsafe fn weigh<L: Lanes, P: Products>(
    of: &ScoreTask,
    partly: Option<&[[f32; LANES]; 2]>,
    [highest, total]: &mut [Floats; 2],
    sums: &mut [Floats],
    weights: *mut Line,
    mut ahead: Ahead<'_, P>,
) {
    let (keys, scores) = (of.pages * PAGE, of.scores);
    // SAFETY: the caller's: instructions, the scores, and room for as many weights in whole tiles.
    unsafe {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let score = |key: usize| scores.add(key).cast::<f32>();
        let before = L::load(highest.0.as_ptr());
        // Several, so that one does not wait for the next. The second operand is taken where the first is NaN.
        let mut most = [before; 4];
        if let Some([first, end]) = partly {
            let (first, end) = (L::load(first.as_ptr()).sub(one), L::load(end.as_ptr()));
            for key in 0..keys {
                let at = L::splat(key as f32);
                // One where the query attends to the key, else zero.
                let attends = at.sub(first).min(end.sub(at)).min(one).max(zero);
                let masked = attends.sub(one).fma(L::splat(MASK), L::load(score(key)));
                masked.store(score(key));
                most[key % 4] = masked.max(most[key % 4]);
            }
        } else {
            for key in (0..keys).step_by(4) {
                for (chain, most) in most.iter_mut().enumerate() {
                    *most = L::load(score(key + chain)).max(*most);
                }
            }
        }
        let [a, b, c, d] = most;
        let rise = a.max(b).max(c.max(d)).sub(before).at_least(L::splat(RISE));
        let (mut level, mut total_before) = (before, L::load(total.0.as_ptr()));
        if rise.largest() > 0.0 {
            level = one.fma(before, rise);
            level.store(highest.0.as_mut_ptr());
            let shrink = power_of_two(before.sub(level));
            // Zero in the lanes that stay: their numbers do too.
            let least = rise.min(L::splat(LEAST_SUM));
            for sum in sums {
                L::load(sum.0.as_ptr()).mul(shrink).at_least(least).store(sum.0.as_mut_ptr());
            }
            total_before = total_before.mul(shrink).at_least(least);
        }
        let mut totals = [zero; 4];
        for key in (0..keys).step_by(4) {
            ahead.go_on(key + 4, keys);
            let mut of = [zero; 4];
            for (chain, (weight, total)) in of.iter_mut().zip(&mut totals).enumerate() {
                let power = power_of_two(L::load(score(key + chain)).sub(level));
                *weight = power.at_least(L::splat(LEAST_WEIGHT)).rounded_bf16();
                *total = one.fma(*weight, *total);
            }
            of[0].store_bf16_pairs(of[1], (*weights.add(key / 2)).as_mut_ptr());
            of[2].store_bf16_pairs(of[3], (*weights.add(key / 2 + 1)).as_mut_ptr());
        }
        let [a, b, c, d] = totals;
        one.fma(one.fma(one.fma(a, b), one.fma(c, d)), total_before).store(total.0.as_mut_ptr());
        for line in keys / 2..keys.next_multiple_of(STEP) / 2 {
            weights.add(line).write(Line::ZERO);
        }
    }
}

/// Divides weighted values by the sum of weights, and of a sink's where there are sinks. `to` says where sixteen numbers of a lane's
/// query go, from number `d` on.
#[inline(always)]
pub(super) unsafe fn divide<L: Lanes>(
    [level, total]: &[Floats; 2],
    sinks: Option<&[f32; LANES]>,
    sums: &[Floats],
    to: impl Fn(usize, usize) -> Option<*mut f32>,
) {
    // SAFETY: the caller's instructions and pointers.
    unsafe {
        let one = L::splat(1.0);
        let mut total = L::load(total.0.as_ptr());
        if let Some(sinks) = sinks {
            let sinks = L::load(sinks.as_ptr()).mul(L::splat(std::f32::consts::LOG2_E));
            total = one.fma(power_of_two(sinks.sub(L::load(level.0.as_ptr()))), total);
        }
        let share = one.div(total);
        for (number, sums) in sums.as_chunks::<TILE>().0.iter().enumerate() {
            let mut columns = [share; LANES];
            for (column, sums) in columns.iter_mut().zip(sums) {
                *column = L::load(sums.0.as_ptr()).mul(share);
            }
            for (lane, values) in L::transpose(columns).into_iter().enumerate() {
                if let Some(to) = to(lane, number * TILE) {
                    values.store(to);
                }
            }
        }
    }
}
