//! KV pages as tensors, and recurrent states. Who owns which page or state is the engine's business.

mod groups;

use groups::LayerPlace;
pub use groups::PageGroups;

use crate::error::{ModelError, Result};
use crate::spec::{DecoderSpec, Recurrence};
use candle_core::{DType, Device, Tensor};
use moot_kernels::cpu::try_zeroed;
use moot_kernels::ops::delta_net::DeltaStates;
use moot_kernels::ops::short_conv::ConvStates;
use moot_kernels::{FreedOn, PAGE};

/// Keys and values of every layer that has its own, in pages of [`PAGE`] positions and one group of layers, and the states
/// of every recurrent layer.
#[derive(Debug)]
pub struct KvCache {
    layers: Vec<(FreedOn, Layer)>,
    pages: usize,
}

#[derive(Debug)]
enum Layer {
    /// `[pages, kv_heads, head_dim, PAGE]` and `[pages, kv_heads, PAGE, head_dim]`, of which the pages of the layer's group
    /// are its own. The layers in the same place of other groups have the same memory. Where layers share a place, these are
    /// the layer's pages and the others' in turn, from its first on.
    Pages {
        keys: Tensor,
        values: Tensor,
        group: usize,
    },
    Delta(DeltaStates),
    ShortConv(ConvStates),
}

impl KvCache {
    /// Reserves `pages`, each of one of `groups`, and `states`, each layer's on its own device. On the CPU the system
    /// backs a page or a state with memory when it is first written.
    ///
    /// # Errors
    /// A device has not that much memory.
    pub fn new<'a>(
        spec: &DecoderSpec,
        groups: &PageGroups,
        pages: usize,
        states: usize,
        dtype: DType,
        device_of: impl Fn(usize) -> &'a Device,
    ) -> Result<Self> {
        let what = |source| ModelError::Tensor {
            what: format!("reserving {pages} KV pages"),
            source: moot_kernels::without_backtrace(source),
        };
        if (0..spec.layers).any(|layer| device_of(layer).is_cpu()) {
            reservable(spec, groups, pages, dtype).map_err(what)?;
        }
        states_reservable(spec, states).map_err(what)?;
        let zeros = |numbers: usize, device: &Device| match (device, dtype) {
            (Device::Cpu, DType::F16) => {
                let refused =
                    || candle_core::Error::Msg(format!("{} bytes: the system has not that much", 2 * numbers));
                Tensor::from_vec(try_zeroed(numbers).ok_or_else(refused)?, numbers, device)
            }
            _ => Tensor::zeros(numbers, dtype, device),
        };
        let places = groups.layer_places(spec);
        // Of each place its keys and values.
        let mut held: Vec<(FreedOn, [Tensor; 2])> = Vec::new();
        let mut layer = |layer: usize| -> candle_core::Result<Layer> {
            let device = device_of(layer);
            match spec.recurrence_of(layer) {
                None => {}
                Some(Recurrence::Delta(shape)) => return Ok(Layer::Delta(DeltaStates::new(shape, states))),
                Some(Recurrence::ShortConv(shape)) => {
                    return Ok(Layer::ShortConv(ConvStates::new(shape, states, device)?));
                }
            }
            let (LayerPlace { group, place, share: (part, of) }, heads) = (places[layer], spec.heads_of(layer));
            // Places of a group are taken in the order of layers.
            if place >= held.len() {
                let numbers = pages * of * heads.kv_width() * PAGE;
                held.push((FreedOn::new(device), [zeros(numbers, device)?, zeros(numbers, device)?]));
                // GPU work is asynchronous: synchronise so that errors surface here, not in the first step.
                device.synchronize()?;
            }
            let in_pages = |of_place: &Tensor, rows: usize, columns: usize| {
                let all = of_place.reshape((pages * of, heads.kv, rows, columns))?;
                if of == 1 { Ok(all) } else { all.narrow(0, part, (pages * of).saturating_sub(of - 1)) }
            };
            let (_, [keys, values]) = &held[place];
            let (keys, values) = (in_pages(keys, heads.dim, PAGE)?, in_pages(values, PAGE, heads.dim)?);
            Ok(Layer::Pages { keys, values, group })
        };
        let layers = (0..spec.layers).map(|index| Ok((FreedOn::new(device_of(index)), layer(index)?)));
        let layers = layers.collect::<candle_core::Result<_>>().map_err(what)?;
        Ok(Self { layers, pages })
    }

    /// Bytes of one page over all layers.
    #[must_use]
    pub fn page_bytes(spec: &DecoderSpec, dtype: DType) -> usize {
        PageGroups::one(spec).page_bytes(spec, dtype)
    }

    /// Bytes of one recurrent state over all layers; 0 where there are no such layers.
    #[must_use]
    pub fn state_bytes(spec: &DecoderSpec) -> usize {
        spec.recurrence.map_or(0, |of| spec.recurrent_layers() * of.state_len() * size_of::<f32>())
    }

    /// Pages reserved.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Keys and values of layer `layer`, and its group.
    pub(crate) fn layer(&self, layer: usize) -> Result<((&Tensor, &Tensor), usize)> {
        match &self.layers[layer].1 {
            Layer::Pages { keys, values, group } => Ok(((keys, values), *group)),
            Layer::Delta(_) | Layer::ShortConv(_) => Err(another_kind(layer)),
        }
    }

    /// The states of layer `layer`, a gated delta net.
    pub(crate) fn delta_states(&self, layer: usize) -> Result<&DeltaStates> {
        match &self.layers[layer].1 {
            Layer::Delta(states) => Ok(states),
            Layer::Pages { .. } | Layer::ShortConv(_) => Err(another_kind(layer)),
        }
    }

    /// The states of layer `layer`, a short convolution.
    pub(crate) fn conv_states(&self, layer: usize) -> Result<&ConvStates> {
        match &self.layers[layer].1 {
            Layer::ShortConv(states) => Ok(states),
            Layer::Pages { .. } | Layer::Delta(_) => Err(another_kind(layer)),
        }
    }
}

fn another_kind(layer: usize) -> ModelError {
    candle_core::Error::Msg(format!("the cache has another kind of layer {layer} than the model (bug)")).into()
}

/// As [`reservable`], for the states of one layer.
fn states_reservable(spec: &DecoderSpec, states: usize) -> candle_core::Result<()> {
    let Some(recurrence) = spec.recurrence else { return Ok(()) };
    let Some(numbers) = recurrence.state_len().checked_mul(states) else {
        candle_core::bail!("{states} states are too many")
    };
    let refused = |e| candle_core::Error::Msg(format!("{numbers} numbers of recurrent states a layer: {e}"));
    Vec::<f32>::new().try_reserve_exact(numbers).map_err(refused)
}

/// Candle's own allocation would end the process where the system refuses it. For numbers that Candle allocates this asks
/// first, for what one layer needs, and gives it back.
fn reservable(spec: &DecoderSpec, groups: &PageGroups, pages: usize, dtype: DType) -> candle_core::Result<()> {
    let page = 2 * groups::widest(spec) * PAGE * dtype.size_in_bytes();
    let most_shares = groups.shares.into_iter().max().unwrap_or(1);
    let slots = pages.checked_mul(PAGE * most_shares).filter(|&slots| u32::try_from(slots).is_ok());
    let Some(bytes) = slots.and_then(|_| pages.checked_mul(page)) else {
        candle_core::bail!("{} pages are the most", u32::MAX as usize / PAGE / most_shares)
    };
    if dtype == DType::F16 {
        return Ok(());
    }
    let refused = |e| candle_core::Error::Msg(format!("{bytes} bytes a layer: {e}"));
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(refused)
}
