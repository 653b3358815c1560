//! Cancellation tokens (leaf module).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Cancels the calls that share it.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    own: Arc<AtomicBool>,
    /// The tokens that also cancel this one.
    above: Vec<Arc<AtomicBool>>,
}

impl Cancel {
    /// A token that is cancelled together with `self`; cancelling the child leaves `self` alone.
    #[must_use]
    pub fn child(&self) -> Self {
        let above = self.above.iter().chain([&self.own]).cloned().collect();
        Self { own: Arc::default(), above }
    }

    /// A token that is cancelled together with `self` and together with `other`.
    #[must_use]
    pub fn child_of_both(&self, other: &Self) -> Self {
        let mut both = self.child();
        both.above.extend(other.child().above);
        both
    }

    /// Cancels; work in flight ends with [`MootError::Interrupted`](crate::MootError::Interrupted).
    pub fn cancel(&self) {
        // The flag guards no other memory, so no stronger order is needed.
        self.own.store(true, Ordering::Relaxed);
    }

    /// Whether [`Self::cancel`] was called on this token or on one above it.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.above.iter().chain([&self.own]).any(|flag| flag.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::Cancel;

    #[test]
    fn a_child_is_cancelled_by_each_of_those_above_and_cancels_none_of_them() {
        for cancelled in 0..3 {
            let tokens = [Cancel::default(), Cancel::default(), Cancel::default()];
            let child = tokens[0].child().child_of_both(&tokens[1].child_of_both(&tokens[2]));
            assert!(!child.is_cancelled());
            tokens[cancelled].cancel();
            assert!(child.is_cancelled(), "{cancelled}");
        }
        let token = Cancel::default();
        token.child().cancel();
        assert!(!token.is_cancelled());
    }
}
