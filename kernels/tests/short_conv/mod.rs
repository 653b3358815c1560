//! A short convolution against sums by hand and against its reference: alone, in chunks, beside others, from a saved state.

use candle_core::{DType, Device, Result, Tensor};
use moot_kernels::StateRows;
use moot_kernels::ops::short_conv::{ConvShape, ConvStates, ShortConvInputs, reference, short_conv};

const TOKENS: usize = 37;
const SLOTS: usize = 5;

struct Case {
    shape: ConvShape,
    weights: Tensor,
    before: Tensor,
    after: Tensor,
    x: Tensor,
}

/// Tokens from the first on, and how many.
type Part = (usize, usize);

impl Case {
    fn new(channels: usize, taps: usize) -> Result<Self> {
        let tensor = |rows: usize| Tensor::randn(0_f32, 1.0, (rows, channels), &Device::Cpu);
        let (before, after, x) = (tensor(TOKENS)?, tensor(TOKENS)?, tensor(TOKENS)?);
        Ok(Self { shape: ConvShape { channels, taps }, weights: tensor(taps)?, before, after, x })
    }

    /// Tokens of several sequences in one call.
    fn with<T>(&self, parts: &[Part], call: impl Fn(ShortConvInputs<'_>, &[usize]) -> Result<T>) -> Result<T> {
        let cut = |x: &Tensor| {
            Tensor::cat(&parts.iter().map(|&(start, len)| x.narrow(0, start, len)).collect::<Result<Vec<_>>>()?, 0)
        };
        let (before, after, x) = (cut(&self.before)?, cut(&self.after)?, cut(&self.x)?);
        let lens: Vec<usize> = parts.iter().map(|part| part.1).collect();
        call(ShortConvInputs { before: &before, after: &after, x: &x }, &lens)
    }

    fn run(&self, parts: &[Part], states: &ConvStates, rows: &[StateRows]) -> Result<Vec<Vec<u32>>> {
        let out = self.with(parts, |inputs, lens| short_conv(inputs, &self.weights, states, lens, rows))?;
        Ok(out.to_vec2::<f32>()?.iter().map(|row| row.iter().map(|x| x.to_bits()).collect()).collect())
    }

    fn states(&self) -> Result<ConvStates> {
        ConvStates::new(self.shape, SLOTS, &Device::Cpu)
    }

    fn alone(&self) -> Result<Vec<Vec<u32>>> {
        self.run(&[(0, TOKENS)], &self.states()?, &[to(None, 0)])
    }
}

fn to(from: Option<u32>, to: u32) -> StateRows {
    StateRows { from, to, saves: Vec::new() }
}

fn cases() -> Result<Vec<Case>> {
    Ok(vec![Case::new(32, 3)?, Case::new(16, 2)?, Case::new(80, 5)?])
}

#[test]
fn it_is_the_sum_by_hand() -> Result<()> {
    for case in cases()? {
        let rows = |x: &Tensor| x.to_vec2::<f32>();
        let (weights, before, after, x) =
            (rows(&case.weights)?, rows(&case.before)?, rows(&case.after)?, rows(&case.x)?);
        for (t, found) in case.alone()?.iter().enumerate() {
            for (c, found) in found.iter().enumerate() {
                let taps = (0..case.shape.taps).filter(|j| t + j + 1 >= case.shape.taps);
                let input = |at: usize| f64::from(before[at][c]) * f64::from(x[at][c]);
                let sum: f64 = taps.map(|j| f64::from(weights[j][c]) * input(t + j + 1 - case.shape.taps)).sum();
                let (found, expected) = (f64::from(f32::from_bits(*found)), f64::from(after[t][c]) * sum);
                assert!((found - expected).abs() < 1e-4, "{:?}, token {t}: {found} for {expected}", case.shape);
            }
        }
    }
    Ok(())
}

/// Chunks of any size, some of them shorter than the convolution, beside another sequence and in slots of others.
#[test]
fn bits_do_not_depend_on_chunks_or_neighbours() -> Result<()> {
    for case in cases()? {
        let (alone, states) = (case.alone()?, case.states()?);
        let mut found = Vec::new();
        for (start, end) in [(0, 1), (1, 2), (2, 3), (3, 20), (20, 21), (21, TOKENS)] {
            let from = (start > 0).then_some(3);
            let rows = case.run(&[(5, 7), (start, end - start)], &states, &[to(None, 1), to(from, 3)])?;
            assert!(rows[..7] == case.run(&[(5, 7)], &case.states()?, &[to(None, 0)])?, "{:?}", case.shape);
            found.extend_from_slice(&rows[7..]);
        }
        assert!(found == alone, "{:?}", case.shape);
    }
    Ok(())
}

#[test]
fn a_saved_state_goes_on_as_the_sequence_did() -> Result<()> {
    for case in cases()? {
        let (alone, states) = (case.alone()?, case.states()?);
        let saving = StateRows { from: None, to: 0, saves: vec![(1, 1), (16, 2)] };
        assert!(case.run(&[(0, TOKENS)], &states, &[saving])? == alone);
        for (at, slot) in [(1, 1), (16, 2)] {
            // Into another slot, so that the saved one can be read again; then in place.
            for into in [3, slot] {
                let rest = case.run(&[(at, TOKENS - at)], &states, &[to(Some(slot), into)])?;
                assert!(rest == alone[at..], "{:?}, saved after {at}, into {into}", case.shape);
            }
        }
    }
    Ok(())
}

/// The same calls in the same order to both: beginnings, continuations in place and into another slot, copies.
#[test]
fn it_is_its_reference() -> Result<()> {
    for case in cases()? {
        let states = case.states()?;
        let rows = SLOTS * (case.shape.taps - 1);
        let slots = Tensor::zeros((rows, case.shape.channels), DType::F32, &Device::Cpu)?;
        let first = StateRows { from: None, to: 0, saves: vec![(1, 1), (9, 2)] };
        let calls: [(Vec<Part>, Vec<StateRows>); 3] = [
            (vec![(0, 12), (3, 1)], vec![first, to(None, 3)]),
            (vec![(12, 1), (9, 20), (4, 3)], vec![to(Some(0), 0), to(Some(2), 4), to(Some(3), 3)]),
            (vec![(13, 7), (1, 2), (29, 1)], vec![to(Some(0), 3), to(Some(1), 2), to(Some(4), 4)]),
        ];
        for (number, (parts, rows)) in calls.iter().enumerate() {
            let found = case.run(parts, &states, rows)?;
            let expected = case
                .with(parts, |inputs, lens| reference(inputs, &case.weights, &slots, lens, rows))?
                .to_vec2::<f32>()?;
            for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
                let found = f32::from_bits(*found);
                assert!((found - expected).abs() < 1e-5, "{:?}, call {number}: {found} for {expected}", case.shape);
            }
        }
    }
    Ok(())
}

#[test]
fn slots_in_use_twice_and_shapes_that_do_not_fit_are_refused() -> Result<()> {
    let case = Case::new(32, 3)?;
    let states = case.states()?;
    let slots = Tensor::zeros((2 * SLOTS, 32), DType::F32, &Device::Cpu)?;
    let late = StateRows { from: None, to: 0, saves: vec![(3, 1)] };
    let refused = [
        ("written twice", vec![to(None, 0), to(None, 0)]),
        ("read while it is written", vec![to(None, 0), to(Some(0), 1)]),
        ("beyond the slots", vec![to(None, 0), to(None, SLOTS as u32)]),
        ("no state", vec![]),
        ("saved after more tokens than there are", vec![late, to(None, 2)]),
    ];
    let parts = [(0, 2), (2, 2)];
    for (what, rows) in &refused {
        assert!(case.run(&parts, &states, rows).is_err(), "{what}");
        let by_candle = case.with(&parts, |inputs, lens| reference(inputs, &case.weights, &slots, lens, rows));
        assert!(by_candle.is_err(), "{what}");
    }
    let odd = Case::new(20, 3)?;
    assert!(odd.run(&[(0, 2)], &odd.states()?, &[to(None, 0)]).is_err(), "20 channels");
    let other = ConvStates::new(ConvShape { taps: 4, ..case.shape }, 1, &Device::Cpu)?;
    assert!(case.run(&[(0, 2)], &other, &[to(None, 0)]).is_err(), "weights of another shape");
    Ok(())
}
