//! Trees of SHA-256 over blocks of 16 KiB (BEP 52), grown leaf by leaf.

use sha2::{Digest, Sha256};

pub(super) type Hash = [u8; 32];

/// Roots of trees whose leaves are all missing, by their height.
pub(super) struct Blanks(Vec<Hash>);

impl Blanks {
    /// Heights up to that of the largest file there can be.
    pub fn new() -> Self {
        let mut blanks = vec![Hash::default()];
        for height in 0..64 {
            blanks.push(hash_pair(&blanks[height], &blanks[height]));
        }
        Self(blanks)
    }

    fn of_height(&self, height: usize) -> &Hash {
        &self.0[height.min(self.0.len() - 1)]
    }
}

/// A tree that keeps one hash a level.
#[derive(Default)]
pub(super) struct Tree {
    /// Full subtrees, the highest first, each higher than the next one.
    full: Vec<(usize, Hash)>,
}

impl Tree {
    /// Adds a subtree. All of one tree have the same height.
    pub fn push(&mut self, mut height: usize, mut hash: Hash) {
        while let Some((_, left)) = self.full.pop_if(|(above, _)| *above == height) {
            hash = hash_pair(&left, &hash);
            height += 1;
        }
        self.full.push((height, hash));
    }

    /// Root at that height, with blanks for the leaves that are missing. The tree is empty afterwards.
    pub fn take_root(&mut self, height: usize, blanks: &Blanks) -> Hash {
        let Some((mut at, mut hash)) = self.full.pop() else {
            return *blanks.of_height(height);
        };
        loop {
            if let Some((_, left)) = self.full.pop_if(|(above, _)| *above == at) {
                hash = hash_pair(&left, &hash);
            } else if at < height {
                hash = hash_pair(&hash, blanks.of_height(at));
            } else {
                return hash;
            }
            at += 1;
        }
    }
}

fn hash_pair(left: &Hash, right: &Hash) -> Hash {
    Sha256::new()
        .chain_update(left)
        .chain_update(right)
        .finalize()
        .into()
}

/// Height of the lowest tree with so many leaves.
pub(super) fn height_of(leaves: u64) -> usize {
    leaves.max(1).next_power_of_two().trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree as the specification describes it: all leaves at once, blank ones added.
    fn root_at_once(mut level: Vec<Hash>, leaves: usize) -> Hash {
        level.resize(leaves, Hash::default());
        while level.len() > 1 {
            level = level
                .chunks(2)
                .map(|pair| hash_pair(&pair[0], &pair[1]))
                .collect();
        }
        level[0]
    }

    #[test]
    fn a_tree_grown_leaf_by_leaf_has_the_root_of_one_built_at_once() {
        let blanks = Blanks::new();
        for leaves in 0..=33u8 {
            for higher in 0..3 {
                let hashes: Vec<Hash> = (0..leaves).map(|n| Sha256::digest([n]).into()).collect();
                let mut tree = Tree::default();
                for hash in &hashes {
                    tree.push(0, *hash);
                }
                let height = height_of(u64::from(leaves)) + higher;
                assert_eq!(
                    tree.take_root(height, &blanks),
                    root_at_once(hashes, 1 << height),
                    "{leaves} leaves, height {height}"
                );
                assert!(tree.full.is_empty());
            }
        }
    }
}
