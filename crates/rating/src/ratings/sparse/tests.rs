//! Factors against matrices that are written out.

use std::collections::BTreeMap;
use std::sync::Arc;

use ouro_game::Rng;

use super::graph::Pairs;
use super::*;

/// Distinct random edges.
fn random_pairs(rng: &mut Rng, size: usize, edges: usize) -> Vec<(u32, u32)> {
    let mut pairs = BTreeMap::new();
    for _ in 0..edges {
        let (a, b) = (rng.below(size as u32), rng.below(size as u32));
        if a != b {
            pairs.insert((a.min(b), a.max(b)), ());
        }
    }
    pairs.into_keys().collect()
}

/// A random matrix of a graph, made positive definite by its diagonal.
fn random_matrix(rng: &mut Rng, size: usize, pairs: &Pairs) -> Matrix {
    let mut matrix = Matrix::zero(size, pairs.len());
    for value in &mut matrix.diagonal {
        *value = 0.1 + rng.unit();
    }
    for (value, &(a, b)) in matrix.beside.iter_mut().zip(pairs) {
        let weight = rng.unit();
        *value = -weight;
        matrix.diagonal[a as usize] += weight;
        matrix.diagonal[b as usize] += weight;
    }
    matrix
}

/// The matrix with all its entries.
fn dense(pairs: &Pairs, matrix: &Matrix) -> Vec<Vec<f64>> {
    let size = matrix.diagonal.len();
    let mut rows = vec![vec![0.0; size]; size];
    for (index, &value) in matrix.diagonal.iter().enumerate() {
        rows[index][index] = value;
    }
    for (&(a, b), &value) in pairs.iter().zip(&matrix.beside) {
        rows[a as usize][b as usize] = value;
        rows[b as usize][a as usize] = value;
    }
    rows
}

/// Rows and edges of random graphs: from a single row to one without zeros.
const SIZES: [(usize, usize); 9] =
    [(1, 0), (2, 1), (5, 4), (12, 30), (40, 60), (30, 400), (60, 60), (90, 200), (120, 300)];

#[test]
fn solutions_and_inverses_are_those_of_the_matrix_written_out() {
    for (seed, &(size, edges)) in SIZES.iter().enumerate() {
        let mut rng = Rng::new(seed as u64, "sparse");
        let pairs = random_pairs(&mut rng, size, edges);
        let matrix = random_matrix(&mut rng, size, &pairs);
        let factor = Factor::new(&Arc::new(Analysis::new(size, &pairs)), &matrix).unwrap();
        let rows = dense(&pairs, &matrix);
        let diagonal = factor.inverse_diagonal();
        for column in 0..size {
            let mut unit = vec![0.0; size];
            unit[column] = 1.0;
            let x = factor.solve(&unit);
            for (row, entries) in rows.iter().enumerate() {
                let product: f64 = entries.iter().zip(&x).map(|(a, x)| a * x).sum();
                let expected = f64::from(u8::from(row == column));
                assert!((product - expected).abs() < 1e-9, "{seed}: {product}");
            }
            assert!((x[column] - diagonal[column]).abs() < 1e-9, "{seed}: {column}");
        }
    }
}
