//! Collections on servers: pushed from an index, searched as the index is.

mod cluster;
mod postgres;
mod push;
mod qdrant;

use moot::llm::remote::Patience;
use std::time::Duration;

/// Limits for servers of tests, which answer at once or not at all.
fn impatient() -> Patience {
    let (short, long) = (Duration::from_millis(300), Duration::from_secs(3));
    Patience {
        connect: long,
        silence: short,
        total: long,
        retries: 2,
        first_wait: Duration::from_millis(2),
        ..Patience::default()
    }
}
