//! Vectors that were made elsewhere: FAISS' flat indexes and NumPy's arrays, compared with the embedder.

use super::*;
use moot::MootError;
use moot::retrieval::GivenVectors;
use moot::retrieval::index::full_text;
use std::fs;
use std::path::PathBuf;

/// The vectors of the first `count` passages.
fn vectors(count: usize) -> Vec<f32> {
    let passages = passages(count);
    let texts: Vec<_> = passages.iter().map(full_text).collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    WordEmbedder::new().embed(&texts, Side::Passage).unwrap()
}

/// A file as `numpy.save` writes it; `descr` is the type of its numbers.
fn npy(descr: &str, shape: &str, numbers: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &length, header.as_bytes(), numbers].concat()
}

/// A file as `faiss.write_index` writes a flat index.
fn faiss(mark: &[u8; 4], metric: i32, dimension: i32, rows: &[f32]) -> Vec<u8> {
    let count = rows.len() as i64 / i64::from(dimension);
    let unused = (1_i64 << 20).to_le_bytes();
    let mut file = mark.to_vec();
    file.extend(dimension.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend([unused, unused].concat());
    file.push(1);
    file.extend(metric.to_le_bytes());
    file.extend((rows.len() as u64).to_le_bytes());
    file.extend(singles(rows));
    file
}

fn singles(rows: &[f32]) -> Vec<u8> {
    rows.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn open(folder: &Path, files: &[&[u8]]) -> Result<GivenVectors> {
    let paths: Vec<PathBuf> = (0..files.len()).map(|at| folder.join(format!("part{at}"))).collect();
    paths.iter().zip(files).for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    GivenVectors::open(&paths)
}

/// An index of `count` passages whose vectors are those of `files`, and the least cosine.
fn index_of(dir: &Path, count: usize, files: &[&[u8]]) -> Result<Option<f32>> {
    let folder = tempfile::tempdir().unwrap();
    let given = open(folder.path(), files)?;
    let embedder = WordEmbedder::new();
    let mut builder = Builder::create(dir, Some(&embedder), Storage::F32, small())?;
    builder.takes(given, count as u64)?;
    builder.run(&corpus(), &mut passages(count).into_iter().map(Ok), Some(&embedder), &mut silent)?;
    Ok(builder.least_cosine())
}

#[test]
fn an_index_of_given_vectors_is_that_of_the_embedder() {
    let rows = vectors(150);
    let whole = tempfile::tempdir().unwrap();
    build(whole.path(), 150, Some(&WordEmbedder::new()), Storage::F32, small());
    let doubles: Vec<u8> = rows.iter().flat_map(|x| f64::from(*x).to_le_bytes()).collect();
    let half = rows.len() / 40 / 2 * 40;
    for files in [
        vec![faiss(b"IxFI", 0, 40, &rows)],
        vec![faiss(b"IxF2", 1, 40, &rows)],
        vec![npy("<f4", "150, 40", &singles(&rows))],
        vec![npy("<f8", "150, 40", &doubles)],
        // Two files follow each other.
        vec![npy("<f4", "75, 40", &singles(&rows[..half])), faiss(b"IxFI", 0, 40, &rows[half..])],
    ] {
        let dir = tempfile::tempdir().unwrap();
        let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
        let least = index_of(dir.path(), 150, &files).unwrap().unwrap();
        assert!(least > 0.9999, "{least}");
        for query in ["s1w3 common2", "s4w20 s4w9"] {
            let found = |dir: &Path| find(dir, Mode::Dense, query, &wanted(8));
            assert_eq!(lines(&found(dir.path())), lines(&found(whole.path())), "{query}");
        }
    }
}

#[test]
fn vectors_of_another_corpus_order_or_length_are_refused() {
    let rows = vectors(100);
    let refused = |rows: &[f32], shape: &str, count: usize| {
        let dir = tempfile::tempdir().unwrap();
        index_of(dir.path(), count, &[&npy("<f4", shape, &singles(rows))]).unwrap_err().to_string()
    };
    // One passage further on: each has another one's vector.
    let shifted = [&rows[40..], &rows[..40]].concat();
    assert!(
        refused(&shifted, "100, 40", 100).contains("vector 0 has a cosine of"),
        "{}",
        refused(&shifted, "100, 40", 100)
    );
    let longer: Vec<f32> = rows.iter().map(|x| x * 3.0).collect();
    assert!(refused(&longer, "100, 40", 100).contains("a length of 3.000, where the embedder's own vector has 1.000"));
    assert!(refused(&rows, "100, 40", 99).contains("a vector for each of the 99 passages of the corpus, found 100"));
    assert!(refused(&rows, "200, 20", 200).contains("expected vectors of 40 numbers, as the embedder makes, found 20"));
    let none = vec![f32::NAN; 4000];
    assert!(refused(&none, "100, 40", 100).contains("a cosine of NaN"));
}

#[test]
fn a_file_that_is_no_whole_array_is_refused_with_what_was_expected() {
    let rows = singles(&[1.0; 8]);
    let folder = tempfile::tempdir().unwrap();
    let cut = {
        let whole = faiss(b"IxFI", 0, 4, &[1.0; 8]);
        whole[..whole.len() - 1].to_vec()
    };
    for (file, expected) in [
        (npy("<f4", "2, 4", &rows[1..]), "expected 2 vectors of 4 numbers of 4 bytes"),
        (npy("<i4", "2, 4", &rows), "numbers of '<f2', '<f4' or '<f8'"),
        (npy("<f4", "8,", &rows), "a shape of two numbers"),
        (npy("<f4", "2, 0", &[]), "vectors of 1 to 65536 numbers"),
        (npy("<f4", "99999999999999999999, 4", &rows), "a shape of two numbers"),
        (npy("<f4", "4611686018427387904, 4", &rows), "vectors of 4 numbers"),
        (faiss(b"IxFI", 7, 4, &[1.0; 8]), "the metric 0 (inner product) or 1"),
        (
            faiss(b"IxPQ", 0, 4, &[1.0; 8]),
            "a flat index of FAISS or an array of NumPy (.npy), found a file that begins with IxPQ",
        ),
        (cut, "expected 2 vectors of 4 numbers of 4 bytes behind 45 bytes, found 76 bytes in all"),
        (b"IxFI".to_vec(), "the whole header"),
        (b"x".to_vec(), "fewer than 4 bytes"),
    ] {
        let error = open(folder.path(), &[&file]).unwrap_err();
        assert!(matches!(error, MootError::Input { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let two = open(folder.path(), &[&npy("<f4", "2, 4", &rows), &npy("<f4", "4, 2", &rows)]).unwrap_err();
    assert!(two.to_string().contains("expected vectors of 4 numbers, as in"), "{two}");
}

/// Vectors continue where a stopped build continues.
#[test]
fn a_stopped_build_continues_with_the_right_vectors() {
    let (folder, dir, whole) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    build(whole.path(), 200, Some(&WordEmbedder::new()), Storage::F32, small());
    let file = npy("<f4", "200, 40", &singles(&vectors(200)));
    let embedder = WordEmbedder::new();
    let run = |observe: &mut dyn FnMut(&BuildProgress) -> Result<()>| {
        let mut builder = Builder::create(dir.path(), Some(&embedder), Storage::F32, small())?;
        builder.takes(open(folder.path(), &[&file])?, 200)?;
        builder.run(&corpus(), &mut passages(200).into_iter().map(Ok), Some(&embedder), observe)
    };
    let stopped = run(&mut |progress| match progress {
        BuildProgress::Indexed(done) if *done >= 128 => Err(MootError::Interrupted),
        _ => Ok(()),
    });
    assert!(matches!(stopped, Err(MootError::Interrupted)));
    run(&mut silent).unwrap();
    let found = |dir: &Path| lines(&find(dir, Mode::Dense, "s2w7 common4 s2w1", &wanted(10)));
    assert_eq!(found(dir.path()), found(whole.path()));
}
