//! Compact set of title ids.

use std::collections::HashSet;

/// Ids below this are bits in pages allocated on demand: ids are numbered consecutively.
const DENSE: i64 = 1 << 28;
const PAGE_BITS: i64 = 1 << 16;
/// Limit of ids above that; the present data set has none.
const MOST_SPARSE: usize = 1_000_000;

/// Bounds: 32 MiB of bits, a million ids above.
#[derive(Default)]
pub struct IdSet {
    pages: Vec<Option<Box<[u64]>>>,
    sparse: HashSet<i64>,
}

impl IdSet {
    /// Adds an id; ids beyond the limits are dropped.
    pub fn insert(&mut self, id: i64) {
        if !(0..DENSE).contains(&id) {
            if self.sparse.len() < MOST_SPARSE {
                self.sparse.insert(id);
            }
            return;
        }
        let page = (id / PAGE_BITS) as usize;
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        let bits = self.pages[page].get_or_insert_with(|| vec![0; (PAGE_BITS / 64) as usize].into());
        let bit = (id % PAGE_BITS) as usize;
        bits[bit / 64] |= 1 << (bit % 64);
    }

    pub fn contains(&self, id: i64) -> bool {
        if !(0..DENSE).contains(&id) {
            return self.sparse.contains(&id);
        }
        let page = self.pages.get((id / PAGE_BITS) as usize);
        let bit = (id % PAGE_BITS) as usize;
        page.and_then(Option::as_ref)
            .is_some_and(|bits| bits[bit / 64] >> (bit % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_what_was_put_in() {
        let mut set = IdSet::default();
        let ids = [0, 1, 63, 64, 65_535, 65_536, DENSE - 1, DENSE, 9_999_999_999];
        for id in ids {
            assert!(!set.contains(id));
            set.insert(id);
        }
        assert!(ids.iter().all(|id| set.contains(*id)));
        assert!(!set.contains(2) && !set.contains(DENSE + 1) && !set.contains(-1));
    }
}
