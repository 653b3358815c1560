//! A push ends, is stopped and goes on, and is refused where the collection is of something else.

use super::super::index::{WordEmbedder, build, passages, small};
use moot::fault::RemoteFault;
use moot::question::Passage;
use moot::retrieval::collection::{Contents, Found, Order, Pushed, Store, push};
use moot::retrieval::index::{Index, Storage, full_text};
use moot::retrieval::{Embedder, Side, Wanted};
use moot::{MootError, Result};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A server in memory.
#[derive(Default)]
struct Shelf {
    made: Mutex<Option<Contents>>,
    rows: Mutex<BTreeMap<u64, (Passage, Vec<f32>)>>,
}

impl Store for Shelf {
    fn address(&self) -> String {
        "shelf".into()
    }
    fn contents(&self) -> Result<Contents> {
        let missing = MootError::Collection {
            server: "shelf".into(),
            kind: RemoteFault::Missing,
            reason: "no".into(),
            hint: None,
        };
        self.made.lock().unwrap().clone().ok_or(missing)
    }
    fn begin(&self, dimension: usize, embedder: &str, exists: bool) -> Result<()> {
        let mut made = self.made.lock().unwrap();
        assert_eq!(made.is_some(), exists);
        let dimension = Ok(dimension as u64);
        let order = Ok(Order::Dot);
        *made =
            Some(Contents { dimension, order, embedder: Some(embedder.into()), finished: false, approximate: false });
        Ok(())
    }
    fn count(&self) -> Result<u64> {
        Ok(self.rows.lock().unwrap().len() as u64)
    }
    fn passage(&self, id: u64) -> Result<Option<Passage>> {
        Ok(self.rows.lock().unwrap().get(&id).map(|(passage, _)| passage.clone()))
    }
    fn insert(&self, first: u64, passages: &[Passage], vectors: &[f32], _: &str) -> Result<()> {
        let rows = vectors.chunks_exact(vectors.len() / passages.len());
        let rows = (first..).zip(passages.iter().cloned().zip(rows.map(<[f32]>::to_vec)));
        self.rows.lock().unwrap().extend(rows);
        Ok(())
    }
    fn finish(&self) -> Result<()> {
        self.made.lock().unwrap().as_mut().unwrap().finished = true;
        Ok(())
    }
    fn nearest(&self, _: &[f32], _: &str, _: &Wanted, _: usize, _: bool) -> Result<Vec<Found>> {
        unreachable!()
    }
    fn unusable(&self, reason: String) -> MootError {
        MootError::Usage(reason)
    }
}

fn index(count: usize) -> (tempfile::TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), count, Some(&WordEmbedder::new()), Storage::F32, small());
    let index = Index::open(folder.path()).unwrap();
    (folder, index)
}

fn pushed(index: &Index, shelf: &Shelf) -> Result<Pushed> {
    push(index, shelf, &mut |_| Ok(()))
}

#[test]
fn a_push_that_is_stopped_goes_on_where_it_was() {
    let (_folder, index) = index(700);
    let shelf = Shelf::default();
    let stopped = push(&index, &shelf, &mut |there| if there < 256 { Ok(()) } else { Err(MootError::Interrupted) });
    assert!(matches!(stopped, Err(MootError::Interrupted)));
    let before = shelf.count().unwrap();
    assert_eq!((before, shelf.contents().unwrap().finished), (256, false));
    assert_eq!(pushed(&index, &shelf).unwrap(), Pushed { before, total: 700 });
    assert!(shelf.contents().unwrap().finished);
    assert_eq!(pushed(&index, &shelf).unwrap(), Pushed { before: 700, total: 700 });
    let rows = shelf.rows.lock().unwrap();
    let all = passages(700);
    for (id, passage) in (0..).zip(&all) {
        let vector = WordEmbedder::new().embed(&[&full_text(passage)], Side::Passage).unwrap();
        assert_eq!(rows[&id], (passage.clone(), vector), "{id}");
    }
}

#[test]
fn vectors_that_are_grouped_are_those_of_their_passages() {
    let folder = tempfile::tempdir().unwrap();
    let limits = moot::retrieval::index::Limits { group_from: 256, ..small() };
    build(folder.path(), 500, Some(&WordEmbedder::new()), Storage::F32, limits);
    let index = Index::open(folder.path()).unwrap();
    assert!(index.manifest().clusters.is_some());
    let shelf = Shelf::default();
    pushed(&index, &shelf).unwrap();
    for (id, passage) in (0..).zip(passages(500)) {
        let vector = WordEmbedder::new().embed(&[&full_text(&passage)], Side::Passage).unwrap();
        assert_eq!(shelf.rows.lock().unwrap()[&id].1, vector, "{id}");
    }
}

#[test]
fn a_collection_of_something_else_is_refused() {
    let (_folder, index) = index(200);
    let refused = |change: &dyn Fn(&Shelf)| {
        let shelf = Shelf::default();
        pushed(&index, &shelf).unwrap();
        change(&shelf);
        pushed(&index, &shelf).unwrap_err().to_string()
    };
    let made =
        |change: fn(&mut Contents)| refused(&move |shelf: &Shelf| change(shelf.made.lock().unwrap().as_mut().unwrap()));
    assert_eq!(
        made(|made| made.dimension = Ok(384)),
        "the collection has vectors of 384, the embedder makes 40 (words)"
    );
    assert_eq!(
        made(|made| made.embedder = Some("others".into())),
        "the collection was embedded by others, expected words"
    );
    let rows = |change: fn(&mut BTreeMap<u64, (Passage, Vec<f32>)>)| {
        refused(&move |shelf: &Shelf| change(&mut shelf.rows.lock().unwrap()))
    };
    let hint = "(name a new one, or delete this one)";
    assert_eq!(
        rows(|rows| rows.get_mut(&199).unwrap().0.text.push('.')),
        format!("expected passages of this index, found another passage 199 {hint}")
    );
    assert_eq!(
        rows(|rows| drop(rows.insert(200, rows[&0].clone()))),
        format!("expected passages of this index, found 201 passages where the index has 200 {hint}")
    );
    assert_eq!(
        rows(|rows| drop(rows.remove(&0))),
        format!("expected passages of this index, found 199 passages without number 0 {hint}")
    );
    // Not among those that are compared, so it is missed at the end.
    assert_eq!(
        rows(|rows| drop(rows.remove(&5))),
        format!("expected passages of this index, found 199 passages at the end instead of 200 {hint}")
    );
}

#[test]
fn an_index_of_words_has_nothing_to_push() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), 10, None, Storage::F16, small());
    let refused = pushed(&Index::open(folder.path()).unwrap(), &Shelf::default()).unwrap_err();
    assert!(refused.to_string().ends_with("expected vectors, found BM25 alone"), "{refused}");
}
