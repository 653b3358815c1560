//! The value that a property takes of several declarations.

/// The value of a property: the last valid declaration counts, an important one before others.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cascade<T> {
    pub(super) value: Option<T>,
    important: bool,
}

impl<T: Copy> Cascade<T> {
    /// Takes a declaration; `None` where its value is not valid.
    pub(super) fn declare(&mut self, value: Option<T>, important: bool) {
        if value.is_some() && (important || !self.important) {
            (self.value, self.important) = (value, important);
        }
    }

    /// Takes the declaration of a later or stronger rule.
    pub(super) fn take(&mut self, stronger: Self) {
        self.declare(stronger.value, stronger.important);
    }
}
