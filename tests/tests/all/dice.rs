//! Randomness that a failure can tell and a run can repeat.

use qm_kernel::Ctx;

/// A generator of numbers, known by its seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn thrown() -> Dice {
        Dice(u64::from_be_bytes(Ctx::system().bytes()))
    }

    pub fn below(&mut self, bound: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }
}
