//! Seeds of calls.

use sha2::{Digest, Sha256};

/// A call's seed: the first eight bytes, little-endian, of the SHA-256 of (run seed, question id, role, round, call),
/// each number as eight bytes, each text led by its length. A call is counted among those of its role and round.
#[must_use]
pub fn derive_seed(run: u64, question: &str, role: &str, round: usize, call: usize) -> u64 {
    let mut hash = Sha256::new();
    hash.update(run.to_le_bytes());
    for text in [question, role] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    for number in [round, call] {
        hash.update((number as u64).to_le_bytes());
    }
    let digest = hash.finalize();
    u64::from_le_bytes(std::array::from_fn(|i| digest[i]))
}
