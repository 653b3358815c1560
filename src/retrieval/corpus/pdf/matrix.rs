//! Transformations.

/// A transformation as in PDF: `[a b c d e f]` maps (x, y) to (ax + cy + e, bx + dy + f).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Matrix(pub(super) [f64; 6]);

impl Matrix {
    pub(super) const ONE: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    pub(super) fn shift(x: f64, y: f64) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// The composition that applies `inner` first.
    pub(super) fn then(self, inner: Self) -> Self {
        let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (self.0, inner.0);
        Self([a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f])
    }

    pub(super) fn point(self, (x, y): (f64, f64)) -> (f64, f64) {
        let [a, b, c, d, e, f] = self.0;
        (a * x + c * y + e, b * x + d * y + f)
    }

    /// The direction of (x, y), of length 1; that of (1, 0) where there is none.
    pub(super) fn direction(self, (x, y): (f64, f64)) -> (f64, f64) {
        let [a, b, c, d, ..] = self.0;
        let (x, y) = (a * x + c * y, b * x + d * y);
        let length = x.hypot(y);
        if length > 0.0 && length.is_finite() { (x / length, y / length) } else { (1.0, 0.0) }
    }

    /// The height of a letter of height `size` after the transformation.
    pub(super) fn height(self, size: f64) -> f64 {
        (self.0[2].hypot(self.0[3]) * size).abs()
    }

    /// The area of the unit square after the transformation.
    pub(super) fn area(self) -> f64 {
        let [a, b, c, d, ..] = self.0;
        (a * d - b * c).abs()
    }
}
