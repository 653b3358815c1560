//! # Texts to vectors
//!
//! ```text
//! cargo run --release --example embed [MODEL] [FILE] [VECTORS]
//! ```
//!
//! `LocalEmbedder::open` takes an alias of the catalog, a folder of safetensors, or an address on a hub. What the model
//! wants in front of a query and of a passage, how its tokens become one vector and whether vectors are brought to length 1
//! stands in its folder or in the catalog; a program says only which side it is on.
//!
//! Texts go in together: they are sorted by length and computed without padding, on all cores. A text's vector is the same
//! to the last bit whether it comes alone or among thousands.
//!
//! FILE has a text a line; with none, three sentences show what near and far mean. With VECTORS the vectors go to that
//! file, as f32 in the order of the texts, which is how `benches/peers/embed.py` compares them with PyTorch's.
#![allow(clippy::print_stdout)]

use moot::retrieval::{Embedder, EmbedderOptions, LocalEmbedder, Side};
use moot::{MootError, Result};
use moot_models::encoder::Precision;
use std::path::PathBuf;
use std::time::Instant;

/// The program's own: activations come and go by the megabyte.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let mut typed = std::env::args().skip(1);
    let name = typed.next().unwrap_or_else(|| "all-minilm-l6-v2".into());
    let mut options = EmbedderOptions::default();
    // The reference's numbers, at half the speed.
    if std::env::var("MOOT_PRECISION").is_ok_and(|precision| precision == "f32") {
        options.load.precision = Precision::F32;
    }
    if let Some(tokens) = std::env::var("MOOT_TOKENS").ok().and_then(|tokens| tokens.parse().ok()) {
        options.load.tokens = tokens;
    }
    let embedder = LocalEmbedder::open(&name, &options, &mut |_| {})?;
    match typed.next() {
        Some(file) => whole_file(&embedder, file.into(), typed.next().map(PathBuf::from)),
        None => three_sentences(&embedder),
    }
}

fn three_sentences(embedder: &LocalEmbedder) -> Result<()> {
    let passages =
        ["The bridge was closed for repairs in 1998.", "Repairs shut the bridge that year.", "She plays chess."];
    let query = embedder.embed(&["When was the bridge closed?"], Side::Query)?;
    let vectors = embedder.embed(&passages, Side::Passage)?;
    println!("{}", embedder.identity());
    for (passage, vector) in passages.iter().zip(vectors.chunks(embedder.dimension())) {
        let score: f32 = vector.iter().zip(&query).map(|(a, b)| a * b).sum();
        println!("{score:6.3}  {passage}");
    }
    Ok(())
}

fn whole_file(embedder: &LocalEmbedder, file: PathBuf, vectors_to: Option<PathBuf>) -> Result<()> {
    let io = |path: PathBuf, action| move |source| MootError::Io { path, action, source };
    let text = std::fs::read_to_string(&file).map_err(io(file, "read"))?;
    let texts: Vec<&str> = text.lines().collect();
    // Memory is touched and threads are started before the clock is.
    embedder.embed(&texts[..texts.len().min(64)], Side::Passage)?;
    let started = Instant::now();
    let vectors = embedder.embed(&texts, Side::Passage)?;
    let seconds = started.elapsed().as_secs_f64();
    if let Some(path) = vectors_to {
        let bytes: Vec<u8> = vectors.iter().flat_map(|x| x.to_le_bytes()).collect();
        std::fs::write(&path, bytes).map_err(io(path, "write"))?;
    }
    let (count, rate) = (texts.len(), texts.len() as f64 / seconds);
    println!("{{\"texts\": {count}, \"seconds\": {seconds:.3}, \"texts_a_second\": {rate:.1}}}");
    Ok(())
}
