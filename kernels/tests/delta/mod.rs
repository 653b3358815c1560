//! A gated delta net against its reference: alone, in chunks, beside others, from a saved state.

use candle_core::{Device, Result, Tensor};
use moot_kernels::StateRows;
use moot_kernels::ops::delta_net::{
    DeltaInputs, DeltaShape, DeltaStates, DeltaWeights, HeadOrder, delta_net, reference,
};

const TOKENS: usize = 37;

struct Case {
    shape: DeltaShape,
    weights: DeltaWeights,
    qkv: Tensor,
    rate: Tensor,
    step: Tensor,
}

fn random(count: usize, scale: f32) -> Result<Vec<f32>> {
    Tensor::randn(0_f32, scale, count, &Device::Cpu)?.to_vec1()
}

impl Case {
    fn new(key_heads: usize, value_heads: usize, [key_dim, value_dim]: [usize; 2], order: HeadOrder) -> Result<Self> {
        let shape = DeltaShape { key_heads, value_heads, key_dim, value_dim, taps: 4, order };
        let weights = DeltaWeights {
            conv: random(4 * shape.channels(), 0.5)?,
            decay: random(value_heads, 1.0)?.iter().map(|x| -x.exp()).collect(),
            step_bias: random(value_heads, 1.0)?,
        };
        let tensor = |width: usize| Tensor::randn(0_f32, 1.0, (TOKENS, width), &Device::Cpu);
        let (qkv, rate, step) = (tensor(shape.channels())?, tensor(value_heads)?, tensor(value_heads)?);
        Ok(Self { shape, weights, qkv, rate, step })
    }

    /// Tokens of several sequences in one call; each is a range of this case's tokens.
    fn run(&self, parts: &[(usize, usize)], states: &DeltaStates, rows: &[StateRows]) -> Result<Vec<Vec<u32>>> {
        let cut = |x: &Tensor| {
            Tensor::cat(&parts.iter().map(|&(start, len)| x.narrow(0, start, len)).collect::<Result<Vec<_>>>()?, 0)
        };
        let (qkv, rate, step) = (cut(&self.qkv)?, cut(&self.rate)?, cut(&self.step)?);
        let lens: Vec<usize> = parts.iter().map(|part| part.1).collect();
        let inputs = DeltaInputs { qkv: &qkv, rate: &rate, step: &step };
        let out = delta_net(inputs, &self.weights, states, &lens, rows)?.to_vec2::<f32>()?;
        Ok(out.iter().map(|row| row.iter().map(|x| x.to_bits()).collect()).collect())
    }

    fn alone(&self) -> Result<Vec<Vec<u32>>> {
        self.run(&[(0, TOKENS)], &DeltaStates::new(self.shape, 1), &[to(None, 0)])
    }
}

fn to(from: Option<u32>, to: u32) -> StateRows {
    StateRows { from, to, saves: Vec::new() }
}

fn cases() -> Result<Vec<Case>> {
    use HeadOrder::{Grouped, Tiled};
    Ok(vec![
        Case::new(2, 2, [32, 32], Grouped)?,
        Case::new(2, 6, [16, 48], Grouped)?,
        Case::new(2, 6, [16, 48], Tiled)?,
        Case::new(3, 3, [128, 128], Tiled)?,
    ])
}

#[test]
fn it_is_its_reference() -> Result<()> {
    for case in cases()? {
        let inputs = DeltaInputs { qkv: &case.qkv, rate: &case.rate, step: &case.step };
        let expected = reference(inputs, &case.weights, &case.shape)?;
        for (t, (found, expected)) in case.alone()?.iter().zip(&expected).enumerate() {
            for (found, expected) in found.iter().zip(expected) {
                let found = f64::from(f32::from_bits(*found));
                assert!((found - expected).abs() < 1e-5, "{:?}, token {t}: {found} for {expected}", case.shape);
            }
        }
    }
    Ok(())
}

/// Chunks of any size, one of them shorter than the convolution, beside another sequence and in slots of others.
#[test]
fn bits_do_not_depend_on_chunks_or_neighbours() -> Result<()> {
    for case in cases()? {
        let alone = case.alone()?;
        let states = DeltaStates::new(case.shape, 5);
        let mut found = Vec::new();
        for (start, end) in [(0, 2), (2, 3), (3, 20), (20, 21), (21, TOKENS)] {
            let from = (start > 0).then_some(3);
            let rows = case.run(&[(5, 7), (start, end - start)], &states, &[to(None, 1), to(from, 3)])?;
            assert!(
                rows[..7] == case.run(&[(5, 7)], &DeltaStates::new(case.shape, 1), &[to(None, 0)])?,
                "{:?}",
                case.shape
            );
            found.extend_from_slice(&rows[7..]);
        }
        assert!(found == alone, "{:?}", case.shape);
    }
    Ok(())
}

#[test]
fn a_saved_state_goes_on_as_the_sequence_did() -> Result<()> {
    for case in cases()? {
        let alone = case.alone()?;
        let states = DeltaStates::new(case.shape, 4);
        let saving = StateRows { from: None, to: 0, saves: vec![(1, 1), (16, 2)] };
        assert!(case.run(&[(0, TOKENS)], &states, &[saving])? == alone);
        for (at, slot) in [(1, 1), (16, 2)] {
            // Into another slot, so that the saved one can be read again; then in place.
            for into in [3, slot] {
                let rest = case.run(&[(at, TOKENS - at)], &states, &[to(Some(slot), into)])?;
                assert!(rest == alone[at..], "{:?}, saved after {at}, into {into}", case.shape);
            }
        }
        assert_ne!(states.slot(0), vec![0.0; case.shape.state_len()]);
    }
    Ok(())
}

#[test]
fn slots_in_use_twice_and_shapes_that_do_not_fit_are_refused() -> Result<()> {
    let case = Case::new(2, 2, [32, 32], HeadOrder::Grouped)?;
    let states = DeltaStates::new(case.shape, 2);
    let two = |a: StateRows, b: StateRows| case.run(&[(0, 2), (2, 2)], &states, &[a, b]);
    assert!(two(to(None, 0), to(None, 0)).is_err(), "written twice");
    assert!(two(to(None, 0), to(Some(0), 1)).is_err(), "read while it is written");
    assert!(two(to(None, 0), to(None, 2)).is_err(), "beyond the slots");
    assert!(case.run(&[(0, 2)], &states, &[]).is_err(), "no state");
    let late = StateRows { from: None, to: 0, saves: vec![(3, 1)] };
    assert!(case.run(&[(0, 2)], &states, &[late]).is_err(), "saved after more tokens than there are");
    let odd = Case::new(2, 2, [20, 32], HeadOrder::Grouped)?;
    assert!(odd.run(&[(0, 2)], &DeltaStates::new(odd.shape, 1), &[to(None, 0)]).is_err(), "keys of 20");
    let other = DeltaStates::new(DeltaShape { value_heads: 4, ..case.shape }, 1);
    assert!(case.run(&[(0, 2)], &other, &[to(None, 0)]).is_err(), "inputs of another shape");
    Ok(())
}
