//! A fast 64-bit fingerprint of a row: tells whether it changed. Not against adversaries: who controls the client's
//! answers can lie without a collision.

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const PRIME_1: u64 = 0x9e37_79b1_85eb_ca87;
const PRIME_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME_3: u64 = 0x1656_67b1_9e37_79f9;

/// Bytes that the four lanes take at a time.
const BLOCK: usize = 32;

/// Fingerprint of a text, to see that it changed without keeping it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Print {
    hash: u64,
    /// Bytes of the text; as many more as 2³² do not count, which `hash` sees.
    length: u32,
}

impl Print {
    pub fn take(text: &[u8]) -> Self {
        Self {
            hash: fingerprint(text),
            length: text.len() as u32,
        }
    }

    pub fn length(self) -> usize {
        self.length as usize
    }
}

/// Four lanes of 64-bit multiplications, the widest that wasm does in one instruction.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    let mut lanes = [SEED, SEED ^ PRIME_1, SEED ^ PRIME_2, SEED ^ PRIME_3];
    // Of several blocks at a time: a guest's loop looks at the clock in each turn.
    let (runs, rest) = bytes.as_chunks::<{ 4 * BLOCK }>();
    for run in runs {
        let (blocks, _) = run.as_chunks::<BLOCK>();
        if let [a, b, c, d] = blocks {
            mix_block(&mut lanes, a);
            mix_block(&mut lanes, b);
            mix_block(&mut lanes, c);
            mix_block(&mut lanes, d);
        }
    }
    let (blocks, rest) = rest.as_chunks::<BLOCK>();
    for block in blocks {
        mix_block(&mut lanes, block);
    }
    let mut hash = (bytes.len() as u64).wrapping_mul(PRIME_3);
    for lane in lanes {
        hash = mix(hash, lane);
    }
    let (words, tail) = rest.as_chunks::<8>();
    for word in words {
        hash = mix(hash, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(tail) {
        *to = *from;
    }
    hash = mix(hash, u64::from_le_bytes(last));
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(PRIME_2);
    hash ^ (hash >> 29)
}

#[inline]
fn mix_block(lanes: &mut [u64; 4], block: &[u8; BLOCK]) {
    let (words, _) = block.as_chunks::<8>();
    for (lane, word) in lanes.iter_mut().zip(words) {
        *lane = mix(*lane, u64::from_le_bytes(*word));
    }
}

#[inline]
fn mix(lane: u64, word: u64) -> u64 {
    (lane.wrapping_add(word.wrapping_mul(PRIME_2)))
        .rotate_left(31)
        .wrapping_mul(PRIME_1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn one_changed_byte_changes_it() {
        let base: Vec<u8> = (0..200_u8).collect();
        let mut seen = HashSet::from([fingerprint(&base)]);
        for at in 0..base.len() {
            for flip in [1, 0x10, 0x80] {
                let mut other = base.clone();
                other[at] ^= flip;
                assert!(seen.insert(fingerprint(&other)), "byte {at} flipped by {flip}");
            }
        }
        for len in 0..base.len() {
            assert!(seen.insert(fingerprint(&base[..len])), "the first {len} bytes");
        }
    }
}
