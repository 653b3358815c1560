//! The key of a server.

use sha2::{Digest, Sha256};

/// The key that clients send, as a hash: equal lengths are compared, whatever is sent.
pub(super) struct Key([u8; 32]);

impl Key {
    pub(super) fn new(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }

    /// Whether the two are equal, in a time that does not depend on where they differ.
    pub(super) fn is(&self, sent: &str) -> bool {
        let sent: [u8; 32] = Sha256::digest(sent.as_bytes()).into();
        self.0.iter().zip(sent).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn a_key_is_equal_to_itself_alone() {
        let key = Key::new("secret");
        assert!(key.is("secret"));
        assert!(["", "secre", "secret ", "Secret"].iter().all(|sent| !key.is(sent)));
    }
}
