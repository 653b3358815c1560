//! Elements that are out of sight by their place and extent, and runs that are moved above or below their line.

use super::cascade::Cascade;
use super::length::{self, EM};
use crate::unicode::baseline::Shift;

/// Pixels to the left of a page, or above it, from which nothing is seen.
const FAR: f64 = -500.0;
/// The same of a transformation: galleries move what is seen by the width of some pictures.
const FAR_MOVED: f64 = -5000.0;
/// Pixels by which a run is above or below its line, and no longer in it.
const SHIFT: std::ops::RangeInclusive<f64> = 3.0..=EM;

/// Declarations of place and extent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    clipped: Cascade<bool>,
    cut: Cascade<bool>,
    shrunk: Cascade<bool>,
    filtered: Cascade<bool>,
    /// `text-indent` and `margin-left`.
    indent: Cascade<f64>,
    margin: Cascade<f64>,
    left: Cascade<f64>,
    top: Cascade<f64>,
    position: Cascade<Position>,
    overflows: Cascade<bool>,
    height: Cascade<bool>,
    width: Cascade<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Position {
    #[default]
    InLine,
    Relative,
    Outside,
}

/// A move of this many pixels upwards as a level of its text.
pub(super) fn shift(pixels: f64) -> Option<Shift> {
    let level = if pixels > 0.0 { Shift::Raised } else { Shift::Lowered };
    SHIFT.contains(&pixels.abs()).then_some(level)
}

impl Place {
    /// Takes a declaration; `false` where its property does not count.
    pub(super) fn declare(&mut self, property: &str, value: &str, important: bool) -> bool {
        let pixels = length::value(value, EM);
        match property {
            "clip" => self.clipped.declare(Some(is_empty_shape(value)), important),
            "clip-path" => self.cut.declare(Some(is_empty_shape(value)), important),
            "transform" => self.shrunk.declare(Some(is_zero_scale(value) || is_far(value)), important),
            "filter" => self.filtered.declare(Some(is_transparent(value)), important),
            "text-indent" => self.indent.declare(pixels, important),
            "margin-left" => self.margin.declare(pixels, important),
            "left" => self.left.declare(pixels, important),
            "top" => self.top.declare(pixels, important),
            "position" => {
                let position = match value {
                    "absolute" | "fixed" => Position::Outside,
                    "relative" => Position::Relative,
                    _ => Position::InLine,
                };
                self.position.declare(Some(position), important);
            }
            "overflow" => self.overflows.declare(Some(!matches!(value, "hidden" | "clip")), important),
            // A height that is not a length, as `auto`, has an extent.
            "height" | "max-height" => self.height.declare(Some(pixels == Some(0.0)), important),
            "width" | "max-width" => self.width.declare(Some(pixels == Some(0.0)), important),
            _ => return false,
        }
        true
    }

    /// Takes the declarations of a later or stronger rule.
    pub(super) fn take(&mut self, stronger: &Self) {
        self.clipped.take(stronger.clipped);
        self.cut.take(stronger.cut);
        self.shrunk.take(stronger.shrunk);
        self.filtered.take(stronger.filtered);
        self.indent.take(stronger.indent);
        self.margin.take(stronger.margin);
        self.left.take(stronger.left);
        self.top.take(stronger.top);
        self.position.take(stronger.position);
        self.overflows.take(stronger.overflows);
        self.height.take(stronger.height);
        self.width.take(stronger.width);
    }

    /// Whether nothing of the element is seen.
    pub(super) fn is_unseen(&self) -> bool {
        let far = |moved: &Cascade<f64>| moved.value.is_some_and(|pixels| pixels <= FAR);
        let is_moved = self.position.value == Some(Position::Outside) && (far(&self.left) || far(&self.top));
        let is_flat = self.height.value == Some(true) || self.width.value == Some(true);
        let is_cut = [&self.clipped, &self.cut, &self.shrunk, &self.filtered]
            .iter()
            .any(|property| property.value == Some(true));
        is_cut || is_moved || far(&self.indent) || far(&self.margin) || (is_flat && self.overflows.value == Some(false))
    }

    /// The level of text that is moved from its line.
    pub(super) fn level(&self) -> Option<Shift> {
        self.top.value.filter(|_| self.position.value == Some(Position::Relative)).and_then(|pixels| shift(-pixels))
    }
}

/// Whether a shape has no extent: `rect(0 0 0 0)`, `rect(1px, 1px, 1px, 1px)`, `inset(50%)`, `circle(0)`.
fn is_empty_shape(value: &str) -> bool {
    let Some((shape, rest)) = value.split_once('(') else { return false };
    let sides: Vec<Option<f64>> = rest
        .trim_end_matches(')')
        .split([' ', ','])
        .filter(|part| !part.is_empty())
        .map(|part| length::value(part, 100.0))
        .collect();
    match (shape.trim(), sides.as_slice()) {
        ("rect", [top, right, bottom, left]) => top.is_some() && top == bottom && right.is_some() && right == left,
        // Pixels say nothing without the extent of the element.
        ("inset", [all]) => rest.contains('%') && all.is_some_and(|all| all >= 50.0),
        ("circle", [radius]) => *radius == Some(0.0),
        _ => false,
    }
}

/// Whether a transformation makes an element as small as a point.
fn is_zero_scale(value: &str) -> bool {
    let scale = value.strip_prefix("scale(").and_then(|rest| rest.strip_suffix(')'));
    scale.is_some_and(|scale| scale.split(',').any(|factor| length::value(factor.trim(), 1.0) == Some(0.0)))
}

/// Whether a transformation moves an element out of the page, to the left or above it.
fn is_far(value: &str) -> bool {
    let moved =
        ["translate(", "translatex(", "translatey(", "translate3d("].iter().find_map(|name| value.strip_prefix(name));
    let mut parts = moved.and_then(|rest| rest.strip_suffix(')')).into_iter().flat_map(|parts| parts.split(','));
    parts.any(|part| length::value(part.trim(), EM).is_some_and(|pixels| pixels <= FAR_MOVED))
}

fn is_transparent(filter: &str) -> bool {
    let opacity = filter.strip_prefix("opacity(").and_then(|rest| rest.strip_suffix(')'));
    opacity.is_some_and(|opacity| length::value(opacity.trim(), 1.0) == Some(0.0))
}

#[cfg(test)]
mod tests {
    use super::{is_empty_shape, is_far, is_transparent, is_zero_scale};

    #[test]
    fn shapes_without_extent() {
        for shape in ["rect(0 0 0 0)", "rect(1px, 1px, 1px, 1px)", "inset(50%)", "inset(100%)", "circle(0)"] {
            assert!(is_empty_shape(shape), "{shape}");
        }
        for shape in ["auto", "rect(0 9px 9px 0)", "rect(auto auto auto auto)", "inset(10px)", "circle(50%)", "none"] {
            assert!(!is_empty_shape(shape), "{shape}");
        }
        assert!(
            is_far("translatex(-9999px)") && is_far("translate(0, -1000em)") && !is_far("translate3d(-1340px, 0, 0)")
        );
        assert!(is_transparent("opacity(0)") && is_transparent("opacity(0%)") && !is_transparent("blur(0)"));
        assert!(is_zero_scale("scale(0)") && is_zero_scale("scale(1, 0)") && !is_zero_scale("scale(0.5)"));
    }
}
