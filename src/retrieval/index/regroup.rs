//! Grouped vectors without those of some segments: an update keeps the centroids and removes rows from their lists.

use super::clustering::{in_folder, next_name};
use super::files::{HashedFile, torn};
use super::layout::{CENTROIDS, IDS, ROWS, STARTS};
use super::manifest::ClustersEntry;
use super::reader::Index;
use crate::error::Result;
use std::collections::BTreeMap;

/// The grouped vectors of the segments that stay: `stays` has one flag for each segment of `index`. Passages are numbered
/// as they are once the other segments are gone. `None` if no grouped segment stays, or nothing is grouped.
pub(super) fn kept(index: &Index, stays: &[bool]) -> Result<Option<ClustersEntry>> {
    let manifest = index.manifest();
    let (Some(entry), Some(clusters), Some(dense)) = (&manifest.clusters, &index.clusters, &manifest.dense) else {
        return Ok(None);
    };
    let grouped = || manifest.segments[..entry.segments].iter().zip(stays);
    let segments = grouped().filter(|(_, stays)| **stays).count();
    if segments == entry.segments {
        return Ok(Some(entry.clone()));
    }
    // Number of each grouped passage from now on.
    let mut numbers: Vec<Option<u32>> = Vec::with_capacity(clusters.count());
    let mut next = 0_u32;
    for (segment, stays) in grouped() {
        for _ in 0..segment.passages {
            numbers.push(stays.then_some(next));
            next += u32::from(*stays);
        }
    }
    if next == 0 {
        return Ok(None);
    }
    let stride = dense.storage()?.stride(dense.dimension);
    let name = next_name(index);
    let files = in_folder(index.dir(), &name, |folder| {
        let file = |name: &str| HashedFile::create(folder.join(name));
        let (mut starts, mut ids, mut rows) = (file(STARTS)?, file(IDS)?, file(ROWS)?);
        let mut written = 0_u64;
        starts.write(&written.to_le_bytes())?;
        for list in 0..clusters.lists() {
            for row in clusters.rows(list) {
                let old = u32::from_le_bytes(clusters.ids()[row]);
                if let Some(number) = numbers[old as usize] {
                    ids.write(&number.to_le_bytes())?;
                    rows.write(&clusters.bytes()[row * stride..][..stride])?;
                    written += 1;
                }
            }
            starts.write(&written.to_le_bytes())?;
        }
        // Opening has checked that ids are in range, not that each occurs once.
        if written != u64::from(next) {
            let wrong = format!("expected {next} passages of the segments that stay, found {written}");
            return Err(torn(&index.dir().join(&entry.name).join(IDS), wrong));
        }
        let mut centroids = file(CENTROIDS)?;
        centroids.write(clusters.centroids())?;
        let finished = [(CENTROIDS, centroids), (STARTS, starts), (IDS, ids), (ROWS, rows)];
        let sum = |(name, file): (&str, HashedFile)| -> Result<_> { Ok((name.to_owned(), file.finish()?)) };
        finished.into_iter().map(sum).collect::<Result<BTreeMap<_, _>>>()
    })?;
    Ok(Some(ClustersEntry { name, segments, passages: u64::from(next), lists: entry.lists, files }))
}
