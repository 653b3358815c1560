//! Layers that take the same input, as one product where possible.

use super::Linear;
use candle_core::{Result, Tensor};
use moot_kernels::Gate;
use moot_kernels::ops::gated::gated;

/// `N` linear layers of one input. On a CUDA device they are one matrix where all are floats, packed, or of one type: with few
/// rows a launch costs more there than the product. On the CPU they stay apart, and threads synchronise once for all of them.
#[derive(Debug)]
pub(crate) struct Joined<const N: usize> {
    layers: Layers<N>,
    /// Biases that [`Self::apply`] leaves out, `[outputs]` each: the kernel that reads the result adds them.
    pub(crate) biases: [Option<Tensor>; N],
}

#[derive(Debug)]
enum Layers<const N: usize> {
    Apart([Linear; N]),
    /// All outputs of one layer, then all of the next, and how many each has.
    Together(Linear, [usize; N]),
    /// The same of a gate and what it is multiplied with, packed so that a product with few rows is gated.
    Gated(Linear, [usize; N]),
}

impl<const N: usize> Joined<N> {
    /// Layers with matrices of their own, and the biases that they do not hold themselves.
    pub(crate) fn apart(layers: [Linear; N], biases: [Option<Tensor>; N]) -> Self {
        Self { layers: Layers::Apart(layers), biases }
    }

    /// One matrix whose outputs are those of all layers, one layer after the other, as many as `outputs` says.
    pub(crate) fn together(all: Linear, outputs: [usize; N], biases: [Option<Tensor>; N]) -> Self {
        Self { layers: Layers::Together(all, outputs), biases }
    }

    /// The same layers, which add `biases` themselves, `[outputs]` each.
    pub(crate) fn with_biases(self, biases: [Tensor; N]) -> Result<Self> {
        let layers = match self.layers {
            Layers::Apart(layers) => {
                let mut biases = biases.into_iter();
                Layers::Apart(layers.map(|layer| biases.by_ref().take(1).fold(layer, Linear::with_bias)))
            }
            Layers::Together(all, outputs) => Layers::Together(all.with_bias(Tensor::cat(&biases, 0)?), outputs),
            Layers::Gated(..) => candle_core::bail!("biases of a product that is gated (bug)"),
        };
        Ok(Self { layers, ..self })
    }

    /// `[tokens, inputs]` to `[tokens, outputs]` each, without [`Self::biases`]; the results may be columns of one
    /// tensor.
    pub(crate) fn apply(&self, x: &Tensor) -> Result<[Tensor; N]> {
        match &self.layers {
            Layers::Apart(layers) => Linear::apply_all(layers.each_ref(), x),
            Layers::Together(all, outputs) => columns(&all.apply(x)?, *outputs),
            Layers::Gated(both, outputs) => columns(&both.apply_widened(x)?, *outputs),
        }
    }

    /// The matrices: one for each layer, or the joined one.
    pub(crate) fn linears(&self) -> &[Linear] {
        match &self.layers {
            Layers::Apart(layers) => layers,
            Layers::Together(all, _) | Layers::Gated(all, _) => std::slice::from_ref(all),
        }
    }
}

impl Joined<2> {
    /// A gate and what it is multiplied with, packed together, without biases.
    pub(crate) fn gated(both: Linear, outputs: [usize; 2]) -> Self {
        Self { layers: Layers::Gated(both, outputs), biases: [const { None }; 2] }
    }

    /// `activation(gate) * up` of both layers' results.
    pub(crate) fn apply_gated(&self, x: &Tensor, activation: Gate) -> Result<Tensor> {
        if let Layers::Gated(both, _) = &self.layers
            && both.is_for_few(x)?
        {
            return both.apply(x);
        }
        let [gate, up] = self.apply(x)?;
        gated(&gate, &up, activation)
    }
}

/// The columns of `y`, as many as `outputs` says for each layer.
fn columns<const N: usize>(y: &Tensor, outputs: [usize; N]) -> Result<[Tensor; N]> {
    let mut first = 0;
    let columns = outputs.map(|width| {
        first += width;
        y.narrow(1, first - width, width)
    });
    let columns: Vec<Tensor> = columns.into_iter().collect::<Result<_>>()?;
    columns.try_into().map_err(|_| candle_core::Error::Msg("another number of columns than of layers (bug)".into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use candle_core::Device;
    use moot_kernels::Weight;

    #[test]
    fn joined_layers_give_the_results_of_separate_ones() {
        let rows = |outputs: usize, seed: usize| {
            let values = (0..outputs * 8).map(|i| ((i * 7 + seed) % 13) as f32 - 6.0).collect::<Vec<_>>();
            Tensor::from_vec(values, (outputs, 8), &Device::Cpu).unwrap()
        };
        let (a, b) = (rows(5, 1), rows(3, 2));
        let x = rows(4, 3);
        let linear = |w: &Tensor| Linear::dense(Weight::new(w).unwrap(), None);
        let apart = Joined::apart([linear(&a), linear(&b)], [None, None]);
        let both = Joined::together(linear(&Tensor::cat(&[&a, &b], 0).unwrap()), [5, 3], [None, None]);
        for (one, other) in apart.apply(&x).unwrap().iter().zip(both.apply(&x).unwrap()) {
            assert_eq!(one.to_vec2::<f32>().unwrap(), other.to_vec2::<f32>().unwrap());
        }
        let elements = |joined: &Joined<2>| joined.linears().iter().map(Linear::elements).sum::<usize>();
        assert_eq!((elements(&apart), elements(&both)), (64, 64));
    }
}
