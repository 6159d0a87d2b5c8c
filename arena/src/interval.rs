//! Ends of 95 % intervals.

/// Normal quantile of a two-sided 95 % interval.
pub(crate) const Z_95: f64 = 1.959_963_984_540_054;

/// Wilson's interval of a share that was seen in `n` independent trials (Wilson 1927). It keeps
/// an honest width where all trials came out alike.
pub fn wilson(share: f64, n: f64) -> (f64, f64) {
    if n <= 0.0 {
        return (0.0, 1.0);
    }
    let scale = 1.0 + Z_95 * Z_95 / n;
    let centre = (share + Z_95 * Z_95 / (2.0 * n)) / scale;
    let half = Z_95 / scale * (share * (1.0 - share) / n + Z_95 * Z_95 / (4.0 * n * n)).sqrt();
    ((centre - half).clamp(0.0, share), (centre + half).clamp(share, 1.0))
}
