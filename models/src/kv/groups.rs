//! Groups of layers that have pages of their own.
//!
//! A layer of a window needs no position that its window has left; a full layer needs all of them. So each has pages of
//! its own. All groups have equally many places: any free page serves any group, and what windowed layers give back, full
//! layers can take.

use crate::spec::DecoderSpec;
use candle_core::DType;
use moot_kernels::PAGE;

/// Most groups: each has a table of pages and a plan of attention in every step.
const MOST_GROUPS: usize = 8;

/// How the layers with keys and values are divided. A page has the keys and values of [`PAGE`] positions in the layers of one
/// group. Groups of full layers come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageGroups {
    /// Places of a group, each with room for the widest keys and values of any layer; the last group of a kind may leave
    /// some empty.
    pub places: usize,
    /// Groups of layers that attend to every position. If no pages are given back, there is one group, with all layers.
    pub full: usize,
    /// Groups of layers that attend to the last `window` positions alone.
    pub windowed: usize,
    /// Positions that a row of a windowed group attends to, its own included; `usize::MAX` where there is no such group.
    pub window: usize,
    /// Layers that share a place of a full group, and of a windowed one.
    pub shares: [usize; 2],
}

/// Where the keys and values of a layer are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LayerPlace {
    /// Its group.
    pub group: usize,
    /// Its place in a page of the group.
    pub place: usize,
    /// Which of the layers that share the place it is, and how many these are.
    pub share: (usize, usize),
}

impl PageGroups {
    /// One group of all layers with keys and values: no page is given back while a sequence runs.
    #[must_use]
    pub fn one(spec: &DecoderSpec) -> Self {
        Self { places: spec.kv_layers(), full: 1, windowed: 0, window: usize::MAX, shares: [1, 1] }
    }

    /// Groups by window if giving pages back saves memory, with as many layers in each as waste the fewest places. Else
    /// one group.
    #[must_use]
    pub fn of(spec: &DecoderSpec) -> Self {
        let one = Self::one(spec);
        let own = || (0..spec.layers).filter(|&layer| spec.has_kv(layer));
        let windowed = own().filter(|&layer| spec.kind(layer).windowed).count();
        if windowed == 0 || spec.window >= spec.context || spec.recurrence.is_some() {
            return one;
        }
        let full = own().count() - windowed;
        let widest = widest(spec);
        let share = |windowed: bool| {
            let alike = own().find(|&layer| spec.kind(layer).windowed == windowed);
            alike.map_or(1, |layer| widest / spec.heads_of(layer).kv_width().max(1))
        };
        let shares = [share(false), share(true)];
        if own().any(|layer| spec.heads_of(layer).kv_width() * shares[usize::from(spec.kind(layer).windowed)] != widest)
        {
            return one;
        }
        let with = |places: usize| Self {
            places,
            full: full.div_ceil(places * shares[0]),
            windowed: windowed.div_ceil(places * shares[1]),
            window: spec.window.max(1),
            shares,
        };
        let possible = (1..=full.max(windowed)).rev().map(with).filter(|groups| groups.count() <= MOST_GROUPS);
        let best =
            possible.min_by_key(|groups| (groups.count() * groups.places, groups.full * groups.places)).unwrap_or(one);
        // Otherwise groups save nothing in a long context.
        if best.full * best.places * widest < kv_width(spec) { best } else { one }
    }

    /// Groups of both kinds.
    #[must_use]
    pub fn count(&self) -> usize {
        self.full + self.windowed
    }

    /// Layers that share a place of group `group`: page `p` is their page `p` times this.
    pub(crate) fn share(&self, group: usize) -> usize {
        self.shares[usize::from(group >= self.full)]
    }

    /// For each layer, the place of its keys and values, or of those of the layer that it shares them with. Layers with
    /// a recurrent state have a value without meaning.
    pub(crate) fn layer_places(&self, spec: &DecoderSpec) -> Vec<LayerPlace> {
        let mut counts = [0, 0];
        let place = |layer: usize| {
            let windowed = spec.kind(layer).windowed && self.windowed > 0;
            let (count, share) = (&mut counts[usize::from(windowed)], self.shares[usize::from(windowed)]);
            let (place, part) = (*count / share, *count % share);
            *count += usize::from(spec.has_kv(layer));
            let group = place / self.places.max(1) + if windowed { self.full } else { 0 };
            LayerPlace { group, place: place % self.places.max(1), share: (part, share) }
        };
        let own: Vec<LayerPlace> = (0..spec.layers).map(place).collect();
        (0..spec.layers).map(|layer| own[spec.kv_layer(layer)]).collect()
    }

    /// Bytes of a page of one group, whose numbers are of `dtype`.
    pub(crate) fn page_bytes(&self, spec: &DecoderSpec, dtype: DType) -> usize {
        let numbers = if self.count() == 1 { kv_width(spec) } else { self.places * widest(spec) };
        2 * numbers * PAGE * dtype.size_in_bytes()
    }

    /// The first page, in the order of positions, that windowed layers read for the token at `position` or for a later one.
    #[must_use]
    pub fn first_reached(&self, position: usize) -> usize {
        position.saturating_add(1).saturating_sub(self.window) / PAGE
    }

    /// Pages of a windowed group that a sequence holds at most where a step computes one token of it: those that the window
    /// touches, and one for draft tokens. A step's further tokens need [`Self::step_pages`] besides, over all sequences.
    #[must_use]
    pub fn window_pages(&self) -> usize {
        (self.window - 1).div_ceil(PAGE).saturating_add(2)
    }

    /// Pages of a windowed group for the tokens of a step of `step_tokens`.
    #[must_use]
    pub fn step_pages(step_tokens: usize) -> usize {
        step_tokens.div_ceil(PAGE)
    }

    /// Pages that `sequences` of `positions` each take at most, in steps of `step_tokens`, of all groups together.
    #[must_use]
    pub fn pages(&self, sequences: usize, positions: usize, step_tokens: usize) -> usize {
        let all = positions.div_ceil(PAGE);
        let held = all.min(self.window_pages());
        let step = Self::step_pages(step_tokens).min((all - held).saturating_mul(sequences));
        let each = self.full.saturating_mul(all).saturating_add(self.windowed.saturating_mul(held));
        each.saturating_mul(sequences).saturating_add(self.windowed.saturating_mul(step))
    }

    /// Positions of one sequence for which `pages` are enough.
    #[must_use]
    pub fn positions(&self, pages: usize, step_tokens: usize) -> usize {
        let most = self.window_pages().saturating_add(Self::step_pages(step_tokens));
        // Up to here every position takes a page of every group.
        let short = (pages / self.count().max(1)).min(most);
        let long = pages.saturating_sub(self.count().saturating_mul(most)).checked_div(self.full).unwrap_or(usize::MAX);
        if short < most { short.saturating_mul(PAGE) } else { most.saturating_add(long).saturating_mul(PAGE) }
    }
}

/// Numbers of a token's keys in all layers that have their own.
pub(super) fn kv_width(spec: &DecoderSpec) -> usize {
    (0..spec.layers).filter(|&layer| spec.has_kv(layer)).map(|layer| spec.heads_of(layer).kv_width()).sum()
}

/// Numbers of a token's keys in the layer that has the most.
pub(super) fn widest(spec: &DecoderSpec) -> usize {
    let own = (0..spec.layers).filter(|&layer| spec.has_kv(layer));
    own.map(|layer| spec.heads_of(layer).kv_width()).max().unwrap_or(0)
}
