/// The same numbers for the same seed, without any pattern.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % sides
    }

    pub fn pick<T>(&mut self, from: &mut Vec<T>) -> Option<T> {
        let count = from.len();
        (count > 0).then(|| from.swap_remove(self.roll(count)))
    }
}
