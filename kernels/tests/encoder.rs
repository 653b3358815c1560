//! The ops of encoders as the models call them, against their references.
#![allow(missing_docs, clippy::unwrap_used)]

use candle_core::{Device, Result, Tensor};
use moot_kernels::ops::{add_norm, bidirectional, linear, sum_of_rows};
use moot_kernels::{Activation, Affine, DistanceBias, Distances, Relative, Texts, Weight};

fn normal(shape: (usize, usize)) -> Result<Tensor> {
    Tensor::randn(0_f32, 1.0, shape, &Device::Cpu)
}

fn largest_difference(a: &Tensor, b: &Tensor) -> Result<f32> {
    (a - b)?.abs()?.flatten_all()?.max(0)?.to_scalar()
}

fn bits(t: &Tensor) -> Vec<u32> {
    t.flatten_all().unwrap().to_vec1::<f32>().unwrap().iter().map(|x| x.to_bits()).collect()
}

#[test]
fn rows_of_tables_are_added_in_their_order() -> Result<()> {
    let (token_table, position_table) = (normal((50, 24))?, normal((9, 24))?);
    for tokens in [0, 1, 70] {
        let ids: Vec<u32> = (0..tokens).map(|i| i * 7 % 50).collect();
        let at: Vec<u32> = (0..tokens).map(|i| i % 9).collect();
        let parts = [(&token_table, &ids[..]), (&position_table, &at[..])];
        assert_eq!(bits(&sum_of_rows::sum_of_rows(&parts)?), bits(&sum_of_rows::reference(&parts)?));
        assert_eq!(sum_of_rows::sum_of_rows(&parts[..1])?.dims(), [tokens as usize, 24]);
    }
    let beyond = sum_of_rows::sum_of_rows(&[(&token_table, &[50])]).unwrap_err().to_string();
    assert!(beyond.contains("50, 24"), "{beyond}");
    Ok(())
}

#[test]
fn layers_are_their_reference_and_rows_do_not_depend_on_the_batch() -> Result<()> {
    for (rows, inputs, outputs) in [(1, 32, 1), (70, 384, 130), (300, 1536, 384)] {
        let (x, w, bias) = (normal((rows, inputs))?, normal((outputs, inputs))?, normal((1, outputs))?.squeeze(0)?);
        let dense = w.to_vec2::<f32>()?;
        let read = |row: usize, out: &mut [f32]| out.copy_from_slice(&dense[row]);
        let plain = Weight::from_rows(outputs, inputs, read);
        let int16 = Weight::from_rows_as_i16(outputs, inputs, read).unwrap();
        for activation in [Activation::None, Activation::Gelu, Activation::GeluTanh, Activation::Relu] {
            let layer = |weight| Affine { weight, bias: Some(&bias), activation };
            let want = linear::affine_reference(&layer(&plain), &x)?;
            for (weight, tolerance) in [(&plain, 1e-3), (&int16, 0.1)] {
                let got = Weight::apply_all(&[layer(weight), layer(weight)], &x)?;
                assert!(largest_difference(&got[1], &want)? < tolerance, "{activation:?} {rows} x {inputs}");
                let alone = Weight::apply_all(&[layer(weight)], &x.narrow(0, rows - 1, 1)?)?;
                assert_eq!(bits(&alone[0]), bits(&got[0].narrow(0, rows - 1, 1)?));
            }
        }
        let ids = Tensor::new(&[outputs as u32 - 1], &Device::Cpu)?;
        assert!(largest_difference(&int16.rows(&ids)?, &plain.rows(&ids)?)? < 1e-2);
    }
    assert!(Weight::from_rows_as_i16(3, 48, |_, _| ()).is_none());
    let (x, weight) = (normal((2, 32))?, Weight::new(&normal((4, 32))?)?);
    let bias = Tensor::zeros(3, candle_core::DType::F32, &Device::Cpu)?;
    assert!(
        Weight::apply_all(&[Affine { weight: &weight, bias: Some(&bias), activation: Activation::None }], &x).is_err()
    );
    Ok(())
}

#[test]
fn norm_of_a_sum_is_its_reference() -> Result<()> {
    for (rows, hidden) in [(1, 1), (5, 37), (40, 384)] {
        let (x, residual) = (normal((rows, hidden))?, normal((rows, hidden))?);
        let (weight, bias) = (normal((1, hidden))?.squeeze(0)?, normal((1, hidden))?.squeeze(0)?);
        let got = add_norm::add_norm(&x, &residual, &weight, &bias, 1e-5)?;
        assert!(largest_difference(&got, &add_norm::reference(&x, &residual, &weight, &bias, 1e-5)?)? < 2e-5);
    }
    let (x, short) = (normal((2, 8))?, normal((1, 7))?.squeeze(0)?);
    assert!(add_norm::add_norm(&x, &x, &short, &short, 1e-5).is_err());
    Ok(())
}

#[test]
fn attention_is_its_reference_with_and_without_positions() -> Result<()> {
    for (heads, dim, lengths) in [(1, 16, vec![1, 2]), (12, 32, vec![130, 7, 1, 64]), (3, 80, vec![33, 12])] {
        let texts = Texts::new(lengths.clone());
        let shape = (texts.tokens(), heads * dim);
        let (q, k, v) = ((normal(shape)? * 2.0)?, normal(shape)?, normal(shape)?);
        let (rows, middle) = (20, 200);
        let of_distance = (0..=2 * middle).map(|i| (i * rows / (2 * middle + 1)) as u32).collect();
        let positions = (normal((rows, shape.1))?, normal((rows, shape.1))?);
        let relative = Relative { key: positions.0, query: positions.1, of_distance, middle };
        // Shifted, so that a tensor within a larger one is read where it is.
        let values = (normal((heads + 1, 2 * middle + 1))? * 2.0)?.narrow(0, 1, heads)?;
        let bias = DistanceBias { values, middle };
        let windows = [0, 1, 20, 64, 500].map(|window| Some(Distances::Window(window)));
        let learned = [None, Some(Distances::Relative(&relative)), Some(Distances::Bias(&bias))];
        for distances in windows.into_iter().chain(learned) {
            let got = bidirectional::bidirectional([&q, &k, &v], &texts, heads, 0.2, distances)?;
            let want = bidirectional::reference([&q, &k, &v], &texts, heads, 0.2, distances)?;
            assert!(largest_difference(&got, &want)? < 2e-5, "{heads} heads of {dim}");
            for text in 0..texts.count() {
                let range = texts.range(text);
                let [q, k, v] = [&q, &k, &v].map(|x| x.narrow(0, range.start, range.len()).unwrap());
                let own = Texts::new([range.len()]);
                let alone = bidirectional::bidirectional([&q, &k, &v], &own, heads, 0.2, distances)?;
                assert_eq!(bits(&alone), bits(&got.narrow(0, range.start, range.len())?));
            }
        }
    }
    Ok(())
}

#[test]
fn attention_that_does_not_fit_is_an_error() -> Result<()> {
    let texts = Texts::new([3]);
    let (x, narrow) = (normal((3, 32))?, normal((3, 24))?);
    let fails = |q: &Tensor, k: &Tensor, heads, relative: Option<&Relative>| {
        bidirectional::bidirectional([q, k, k], &texts, heads, 1.0, relative.map(Distances::Relative)).is_err()
    };
    assert!(fails(&x, &narrow, 2, None) && fails(&narrow, &narrow, 1, None) && fails(&x, &x, 0, None));
    let relative =
        |middle, row| Relative { key: x.clone(), query: x.clone(), of_distance: vec![row; 2 * middle + 1], middle };
    assert!(fails(&x, &x, 2, Some(&relative(1, 0))), "a text beyond the positions");
    for (fits, of_heads, middle) in [(true, 2, 2), (false, 1, 2), (false, 2, 1)] {
        let bias = DistanceBias { values: normal((of_heads, 2 * middle + 1))?, middle };
        let distances = Some(Distances::Bias(&bias));
        let got = bidirectional::bidirectional([&x, &x, &x], &texts, 2, 1.0, distances);
        assert_eq!(got.is_ok(), fits, "{of_heads} heads, distances to {middle}");
    }
    assert!(fails(&x, &x, 2, Some(&relative(2, 3))), "a row beyond the table");
    Ok(())
}
