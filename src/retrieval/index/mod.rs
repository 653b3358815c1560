//! An index of passages: a folder that is built once, grows by segments, and is searched in place.
//!
//! ```text
//! DIR/manifest.json           what belongs to the index; replaced atomically
//! DIR/inputs-000000.json      the files that were read: paths, sizes, times, hashes
//! DIR/lock                    locked while a process builds
//! DIR/embedded.bin            vectors of the unfinished segment, for the build that goes on after a kill
//! DIR/segments/000000/        up to 65,536 passages, never changed once named
//!     passages.jsonl offsets.bin columns.bin names.json vectors.bin bm25.bin
//! DIR/clusters-000000/        the vectors of all segments, grouped for approximate search
//!     centroids.bin starts.bin ids.bin vectors.bin
//! ```
//!
//! Unfinished folders have names that begin with `building-`. Files are written and synced, then renamed, then listed in
//! the manifest. So a kill loses only the unfinished segment, whose vectors are kept, and readers never see a partial file. Everything is
//! memory-mapped, so an index uses free memory as page cache.
//!
//! An update ([`Builder::update`]) writes the passages of each segment that holds a passage of a changed or deleted file
//! into new segments, without that file's passages and with their vectors as they are. One replacement of the manifest
//! then exchanges the segments.

mod batch;
mod builder;
mod changes;
mod clustering;
mod clusters;
mod columns;
mod dense;
mod files;
mod folder;
mod inputs;
mod journal;
mod layout;
mod lexical;
mod manifest;
mod names;
mod progress;
mod reader;
mod regroup;
mod relevance;
mod retriever;
mod rows;
mod segment;
mod update;
mod words;
mod writer;

pub use builder::{Builder, Limits};
pub use changes::Changes;
pub(crate) use changes::HASHED_WHEN_SEARCHED;
pub use files::FileSum;
pub(crate) use manifest::storage_named;
pub use manifest::{BuildEntry, ClustersEntry, Dense, FORMAT, InputsEntry, Manifest, SegmentEntry};
pub use moot_models::kernels::Storage;
pub use progress::{BuildObserver, BuildProgress};
pub use reader::Index;
pub use relevance::Cutoff;
pub use retriever::{IndexRetriever, Mode, Search};
pub use update::Updated;
pub use words::full_text;
pub(crate) use words::without_spaces;
