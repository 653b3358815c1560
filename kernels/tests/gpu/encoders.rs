//! Operations of encoders.

use super::{bits, close, gpu, random};
use candle_core::{DType, Result};
use moot_kernels::ops::{add_norm, bidirectional};
use moot_kernels::{DistanceBias, Distances, Relative, Texts};

#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn norms_of_encoders_are_their_reference() -> Result<()> {
    let gpu = gpu();
    for (rows, hidden) in [(1, 1), (5, 37), (300, 384)] {
        let [(x, gx), (y, gy)] =
            [random(&[rows, hidden], DType::F32, &gpu)?, random(&[rows, hidden], DType::F32, &gpu)?];
        let [(w, gw), (b, gb)] = [random(&[hidden], DType::F32, &gpu)?, random(&[hidden], DType::F32, &gpu)?];
        let got = add_norm::add_norm(&gx, &gy, &gw, &gb, 1e-5)?;
        close("norm of the sum", &got, &add_norm::reference(&x, &y, &w, &b, 1e-5)?, 1e-4)?;
    }
    Ok(())
}

/// Heads of 80 and relative positions have no kernel and take Candle's operations.
#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn attention_of_encoders_is_its_reference_and_a_texts_bits_are_its_own() -> Result<()> {
    let gpu = gpu();
    for (heads, dim) in [(12, 32), (12, 64), (3, 80)] {
        let texts = Texts::new([130, 7, 1, 64, 257]);
        let shape = [texts.tokens(), heads * dim];
        let [(q, gq), (k, gk), (v, gv)] =
            [random(&shape, DType::F32, &gpu)?, random(&shape, DType::F32, &gpu)?, random(&shape, DType::F32, &gpu)?];
        let (rows, middle) = (20, 300);
        let [(key, gkey), (query, gquery)] =
            [random(&[rows, shape[1]], DType::F32, &gpu)?, random(&[rows, shape[1]], DType::F32, &gpu)?];
        let of_distance: Vec<u32> = (0..=2 * middle).map(|i| (i * rows / (2 * middle + 1)) as u32).collect();
        let relative = Relative { key, query, of_distance, middle };
        let on_gpu = Relative { key: gkey, query: gquery, ..relative.clone() };
        let both = (Some(Distances::Relative(&relative)), Some(Distances::Relative(&on_gpu)));
        let window = Some(Distances::Window(20));
        let (values, gvalues) = random(&[heads, 2 * middle + 1], DType::F32, &gpu)?;
        let biases = [DistanceBias { values, middle }, DistanceBias { values: gvalues, middle }];
        let biases = (Some(Distances::Bias(&biases[0])), Some(Distances::Bias(&biases[1])));
        for (relative, on_gpu) in [(None, None), both, (window, window), biases] {
            let got = bidirectional::bidirectional([&gq, &gk, &gv], &texts, heads, 0.2, on_gpu)?;
            let want = bidirectional::reference([&q, &k, &v], &texts, heads, 0.2, relative)?;
            close("attention", &got, &want, 1e-3)?;
            let range = texts.range(4);
            let [q, k, v] = [&gq, &gk, &gv].map(|x| x.narrow(0, range.start, range.len()).unwrap());
            let alone = bidirectional::bidirectional([&q, &k, &v], &Texts::new([range.len()]), heads, 0.2, on_gpu)?;
            assert_eq!(bits(&alone)?, bits(&got.narrow(0, range.start, range.len())?)?, "alone");
        }
    }
    Ok(())
}
