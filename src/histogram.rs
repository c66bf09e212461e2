/// How often values of which size came up: in buckets that grow with what they count, so that each is
/// known to an eighth.
///
/// It takes no room until the first value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    buckets: Box<[u64]>,
    count: u64,
    sum: u128,
    longest: u64,
}

/// Each power of two is divided into so many buckets, by as many bits.
const DIVISION_BITS: u32 = 3;
const DIVISIONS: usize = 1 << DIVISION_BITS;
const BUCKETS: usize = (u64::BITS - DIVISION_BITS + 1) as usize * DIVISIONS;

impl Histogram {
    pub(crate) fn record(&mut self, value: u64) {
        if self.buckets.is_empty() {
            self.buckets = vec![0; BUCKETS].into();
        }
        self.buckets[bucket_of(value)] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.longest = self.longest.max(value);
    }

    /// Adds what another one has counted.
    pub(crate) fn add(&mut self, other: &Self) {
        if self.buckets.is_empty() {
            self.buckets.clone_from(&other.buckets);
        } else {
            let counts = self.buckets.iter_mut().zip(&other.buckets);
            counts.for_each(|(count, more)| *count += more);
        }
        self.count += other.count;
        self.sum += other.sum;
        self.longest = self.longest.max(other.longest);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn sum(&self) -> u128 {
        self.sum
    }

    pub(crate) fn longest(&self) -> u64 {
        self.longest
    }

    /// A value that this share of all does not exceed.
    pub(crate) fn quantile(&self, share: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = (share.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        Some(bucket.map_or(self.longest, largest_of).min(self.longest))
    }
}

fn bucket_of(value: u64) -> usize {
    let Some(shift) = value.checked_ilog2().and_then(|log| log.checked_sub(DIVISION_BITS)) else {
        return value as usize;
    };
    (shift as usize * DIVISIONS) + (value >> shift) as usize
}

/// The largest value that belongs in this bucket.
fn largest_of(bucket: usize) -> u64 {
    let Some(shift) = (bucket / DIVISIONS).checked_sub(1) else { return bucket as u64 };
    let first = ((DIVISIONS + bucket % DIVISIONS) as u64) << shift;
    first + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, Histogram, bucket_of, largest_of};

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for bucket in 0..BUCKETS {
            let largest = largest_of(bucket);
            assert_eq!(bucket_of(largest), bucket);
            let next = largest.checked_add(1).map(bucket_of);
            assert_eq!(next, (bucket + 1 < BUCKETS).then_some(bucket + 1));
        }
        assert_eq!((bucket_of(0), bucket_of(u64::MAX)), (0, BUCKETS - 1));
    }

    #[test]
    fn a_quantile_is_known_to_an_eighth() {
        for scale in [1, 1_000, 1 << 40] {
            let mut histogram = Histogram::default();
            (1..=1000_u64).for_each(|value| histogram.record(value * scale));
            for (share, exact) in [(0.0, 1), (0.5, 500), (0.9, 900), (0.999, 999), (1.0, 1000)] {
                let value = histogram.quantile(share).expect("there are values");
                let exact = exact * scale;
                assert!((exact..=exact + exact / 8).contains(&value), "{share}: {value}");
            }
        }
    }

    #[test]
    fn a_quantile_is_never_longer_than_the_longest() {
        let mut histogram = Histogram::default();
        histogram.record(1_000_000);
        assert_eq!(histogram.quantile(0.5), Some(1_000_000));
    }

    #[test]
    fn without_a_value_there_is_no_quantile_and_no_room() {
        let histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.buckets.len()), (None, 0));
    }

    #[test]
    fn two_that_are_added_are_as_one() {
        let (mut odd, mut even, mut both) = <(Histogram, Histogram, Histogram)>::default();
        for value in 0..1000 {
            if value % 2 == 0 {
                even.record(value)
            } else {
                odd.record(value)
            }
            both.record(value);
        }
        let mut sum = Histogram::default();
        sum.add(&odd);
        sum.add(&even);
        sum.add(&Histogram::default());
        assert_eq!(sum, both);
        assert_eq!((sum.count(), sum.sum(), sum.longest()), (1000, 499_500, 999));
    }
}
