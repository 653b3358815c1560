//! Files of this package do not use each other in a circle.

#[path = "../../../models/tests/structure/circles.rs"]
mod circles;

use circles::circles;
use std::path::Path;

#[test]
fn files_do_not_use_each_other_in_a_circle() {
    let found = circles(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(found.is_empty(), "{found:#?}");
}
