//! Pearson's χ² of one row of counts against another, as a normal deviate.

/// Least expected count of a category. The usual 5 is right for tests at 5 %. In the far tail, sums
/// of few events exceed the normal approximation: at 20, a Poisson count is above the χ² of
/// [`RESIDUAL`](super::RESIDUAL) with a probability of about 1e-11.
const LEAST_EXPECTED: f64 = 20.0;

/// How far the counts `observed` are from `expected`, as a normal deviate that is not negative.
/// `expected_of_others` are the expected counts of the row that they are compared with.
///
/// Neighbouring categories are joined until each is large enough. Where expected counts are sums over
/// strata, the deviates of honest rows are smaller than normal ones, never larger.
pub(super) fn residual(observed: &[f64], expected: &[f64], expected_of_others: &[f64]) -> f64 {
    let mut groups: Vec<[f64; 3]> = Vec::new();
    let mut open = [0.0; 3];
    for ((&observed, &expected), &of_others) in
        observed.iter().zip(expected).zip(expected_of_others)
    {
        open = [open[0] + observed, open[1] + expected, open[2] + of_others];
        if open[1].min(open[2]) >= LEAST_EXPECTED {
            groups.push(std::mem::take(&mut open));
        }
    }
    // What is left is too small for a group of its own.
    if let Some(last) = groups.last_mut() {
        last.iter_mut().zip(open).for_each(|(sum, rest)| *sum += rest);
    }
    let term = |[observed, expected, of_others]: &[f64; 3]| {
        // The two rows differ from their expectations by the same amount.
        (observed - expected).powi(2) * (1.0 / expected + 1.0 / of_others)
    };
    let degrees = groups.len().saturating_sub(1);
    if degrees == 0 { 0.0 } else { deviate(groups.iter().map(term).sum(), degrees as f64) }
}

/// The normal deviate with nearly the upper tail of `chi_square` at `degrees` of freedom, or 0 if it
/// is negative (Wilson and Hilferty 1931, "The distribution of chi-square"). For few degrees of
/// freedom it is too small in the far tail, so it flags rather too little.
fn deviate(chi_square: f64, degrees: f64) -> f64 {
    let variance = 2.0 / (9.0 * degrees);
    (((chi_square / degrees).cbrt() - (1.0 - variance)) / variance.sqrt()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviates_agree_with_tables_of_both_distributions() {
        // χ² and normal deviate of the same upper tail: 5 %, 0.1 % and 1e-9.
        let table = [
            (1.0, [(3.841, 1.645), (10.828, 3.090), (37.325, 5.998)]),
            (2.0, [(5.991, 1.645), (13.816, 3.090), (41.447, 5.998)]),
            (10.0, [(18.307, 1.645), (29.588, 3.090), (62.945, 5.998)]),
            (30.0, [(43.773, 1.645), (59.703, 3.090), (101.697, 5.998)]),
        ];
        for (degrees, row) in table {
            for (chi_square, expected) in row {
                let found = deviate(chi_square, degrees);
                assert!(found < expected + 0.05, "{degrees}, {chi_square}: {found}");
                assert!(found > expected * 0.88 - 0.05, "{degrees}, {chi_square}: {found}");
            }
        }
        assert_eq!(deviate(0.0, 4.0), 0.0);
    }

    #[test]
    fn the_statistic_of_a_table_is_that_of_pearson() {
        // 2 × 2: 60 of 100 against 40 of 100, χ² = 8 by hand, one degree of freedom.
        let found = residual(&[60.0, 40.0], &[50.0, 50.0], &[50.0, 50.0]);
        assert!((found - deviate(8.0, 1.0)).abs() < 1e-12);
        // Small categories are joined with their neighbours.
        let joined = residual(&[60.0, 30.0, 10.0], &[50.0, 40.0, 10.0], &[50.0, 40.0, 10.0]);
        assert!((joined - deviate(8.0, 1.0)).abs() < 1e-12);
        assert_eq!(residual(&[100.0], &[100.0], &[100.0]), 0.0);
        assert_eq!(residual(&[5.0, 0.0], &[2.5, 2.5], &[2.5, 2.5]), 0.0);
        assert_eq!(residual(&[], &[], &[]), 0.0);
    }
}
