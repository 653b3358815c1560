//! Vectors in clusters, for methods that draw varied documents.

use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Iterations at most; a few dozen vectors settle far earlier.
const ITERATIONS: usize = 50;

/// k-means (Lloyd): the cluster of each vector, from 0 to `clusters` - 1. It begins with random vectors as centroids, by
/// `seed`, and an empty cluster begins again from a random one. Vectors that are all alike leave clusters empty.
///
/// `vectors` is `[vectors, dimension]`, at least `clusters` of them.
pub(crate) fn k_means(vectors: &[Vec<f32>], clusters: usize, seed: u64) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut centroids: Vec<Vec<f32>> =
        index::sample(&mut random, vectors.len(), clusters).iter().map(|row| vectors[row].clone()).collect();
    let mut assigned = nearest(vectors, &centroids);
    for _ in 0..ITERATIONS {
        for (cluster, centroid) in centroids.iter_mut().enumerate() {
            let members = vectors.iter().zip(&assigned).filter(|(_, of)| **of == cluster).map(|(vector, _)| vector);
            *centroid = mean(members).unwrap_or_else(|| vectors[random.random_range(0..vectors.len())].clone());
        }
        let now = nearest(vectors, &centroids);
        // An empty cluster gets another random centroid, which may still change the assignments.
        let settled = now == assigned && (0..clusters).all(|cluster| now.contains(&cluster));
        assigned = now;
        if settled {
            break;
        }
    }
    assigned
}

/// The closest centroid of each vector; of equals the first.
fn nearest(vectors: &[Vec<f32>], centroids: &[Vec<f32>]) -> Vec<usize> {
    let closest = |vector: &Vec<f32>| {
        let distances = centroids.iter().map(|centroid| distance(vector, centroid)).enumerate();
        distances.min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(cluster, _)| cluster)
    };
    vectors.iter().map(closest).collect()
}

/// Squared Euclidean distance.
fn distance(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn mean<'a>(mut vectors: impl Iterator<Item = &'a Vec<f32>>) -> Option<Vec<f32>> {
    let mut sum = vectors.next()?.clone();
    let mut count = 1.0;
    for vector in vectors {
        sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
        count += 1.0;
    }
    sum.iter_mut().for_each(|sum| *sum /= count);
    Some(sum)
}

/// DBSCAN (Ester et al., 1996) by cosine distance: the cluster of each vector, numbered by their first vectors; `None` is
/// noise. A vector with at least `least` vectors within `distance`, itself counted, is a core; clusters are cores within
/// `distance` of each other, and the vectors within `distance` of one of them, each in the first such cluster.
pub(crate) fn dbscan(vectors: &[Vec<f32>], distance: f32, least: usize) -> Vec<Option<usize>> {
    let near =
        // `a == b` first: the cosine distance of a zero vector to itself is 1.
        |a: usize| (0..vectors.len()).filter(move |&b| a == b || cosine_distance(&vectors[a], &vectors[b]) <= distance);
    let mut clusters: Vec<Option<usize>> = vec![None; vectors.len()];
    let mut count = 0;
    for start in 0..vectors.len() {
        if clusters[start].is_some() || near(start).count() < least {
            continue;
        }
        let mut reached = vec![start];
        while let Some(vector) = reached.pop() {
            clusters[vector] = Some(count);
            if near(vector).count() >= least {
                reached.extend(near(vector).filter(|&other| clusters[other].is_none()));
            }
        }
        count += 1;
    }
    clusters
}

/// 1 less the cosine; 1 for a vector without length.
fn cosine_distance(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { 1.0 - dot(a, b) / lengths } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::dbscan;

    /// Unit vectors at these angles, in degrees: a cosine distance of 0.07 is 21.6 degrees.
    fn at(degrees: &[f32]) -> Vec<Vec<f32>> {
        degrees.iter().map(|d| vec![2.0 * d.to_radians().cos(), 2.0 * d.to_radians().sin()]).collect()
    }

    #[test]
    fn clusters_are_chains_of_near_vectors() {
        assert_eq!(dbscan(&at(&[0.0, 90.0, 20.0, 40.0, 112.0]), 0.07, 1), [0, 1, 0, 0, 2].map(Some));
        assert_eq!(dbscan(&at(&[0.0, 21.0, 43.0]), 0.07, 1), [0, 0, 1].map(Some));
        assert_eq!(dbscan(&[vec![0.0, 0.0], vec![0.0, 0.0]], 0.07, 1), [Some(0), Some(1)], "no length, no neighbour");
    }

    #[test]
    fn a_vector_with_too_few_neighbours_is_noise_or_a_border() {
        // 20 has three vectors within reach; 0 and 40 have two each and hang on it; 90 has itself alone.
        assert_eq!(dbscan(&at(&[0.0, 20.0, 40.0, 90.0]), 0.07, 3), [Some(0), Some(0), Some(0), None]);
    }
}
