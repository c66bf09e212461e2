//! What is said about a row of samples.

#[derive(Debug, Clone, Copy)]
pub struct Spread {
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

/// The median and the quartiles; of three samples and fewer, the least and the greatest.
pub fn spread(samples: impl IntoIterator<Item = f64>) -> Option<Spread> {
    let mut samples: Vec<f64> = samples.into_iter().collect();
    samples.sort_by(f64::total_cmp);
    let last = samples.len().checked_sub(1)?;
    let quartile = samples.len() / 4;
    Some(Spread {
        low: samples[quartile],
        median: (samples[last / 2] + samples[last.div_ceil(2)]) / 2.0,
        high: samples[last - quartile],
    })
}
