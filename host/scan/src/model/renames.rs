//! Files that were renamed without an event: a file that disappeared and one that appeared within one scan are the same
//! file.
//!
//! A file that keeps its number (inode) on its file system, and its size, is the same. A file from another file system keeps
//! its size and either its modification time or its head and tail. If several match, none is taken: a copy is no rename.

use std::collections::{HashMap, HashSet};

/// Properties by which a file is recognised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    pub device: Option<i64>,
    pub inode: Option<i64>,
    pub size: i64,
    /// Nanoseconds since 1970.
    pub mtime: i64,
    /// Digest of head and tail; `None`: not computed.
    pub fingerprint: Option<String>,
}

/// Pairs of a file that disappeared and one that appeared, by their positions in both lists.
#[derive(Debug, Default)]
pub struct Pairs {
    pub found: Vec<(usize, usize)>,
    went: HashSet<usize>,
    came: HashSet<usize>,
}

impl Pairs {
    /// Finds pairs by number and size, then by size and time.
    pub fn find(went: &[Trace], came: &[Trace]) -> Self {
        let mut pairs = Self::default();
        pairs.join(went, came, |trace| {
            let node = trace.device.zip(trace.inode)?;
            Some((node, trace.size))
        });
        pairs.join(went, came, |trace| {
            (trace.size > 0).then_some((trace.size, trace.mtime))
        });
        pairs
    }

    /// Positions of new files that may be a missing one by their content: of the same size, where a digest is known.
    pub fn doubtful(&self, went: &[Trace], came: &[Trace]) -> Vec<usize> {
        let open = went.iter().enumerate().filter(|(at, _)| !self.went.contains(at));
        let sizes: HashSet<i64> = open
            .filter(|(_, trace)| trace.size > 0 && trace.fingerprint.is_some())
            .map(|(_, trace)| trace.size)
            .collect();
        let new = came.iter().enumerate().filter(|(at, _)| !self.came.contains(at));
        new.filter(|(_, trace)| sizes.contains(&trace.size))
            .map(|(at, _)| at)
            .collect()
    }

    /// Finds pairs by size and content.
    pub fn compare(&mut self, went: &[Trace], came: &[Trace]) {
        self.join(went, came, |trace| Some((trace.size, trace.fingerprint.clone()?)));
    }

    fn join<K: Eq + std::hash::Hash>(
        &mut self,
        went: &[Trace],
        came: &[Trace],
        key: impl Fn(&Trace) -> Option<K>,
    ) {
        // `None`: several traces have this key.
        let mut by_key: HashMap<K, [Option<Option<usize>>; 2]> = HashMap::new();
        for (side, traces, taken) in [(0, went, &self.went), (1, came, &self.came)] {
            for (at, trace) in traces.iter().enumerate().filter(|(at, _)| !taken.contains(at)) {
                if let Some(key) = key(trace) {
                    let slot = &mut by_key.entry(key).or_default()[side];
                    *slot = Some(slot.is_none().then_some(at));
                }
            }
        }
        let mut found: Vec<(usize, usize)> = by_key
            .into_values()
            .filter_map(|[went, came]| Some((went??, came??)))
            .collect();
        found.sort_unstable();
        for (one, other) in found {
            self.went.insert(one);
            self.came.insert(other);
            self.found.push((one, other));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(inode: i64, size: i64, mtime: i64, fingerprint: Option<&str>) -> Trace {
        Trace {
            device: Some(1),
            inode: Some(inode),
            size,
            mtime,
            fingerprint: fingerprint.map(str::to_owned),
        }
    }

    #[test]
    fn what_went_and_came_is_found_once() {
        let went = [
            trace(1, 10, 5, None),
            trace(2, 20, 6, None),
            trace(3, 30, 7, Some("a")),
            trace(4, 40, 8, None),
            trace(5, 50, 9, None),
            trace(6, 50, 9, None),
        ];
        let came = [
            // The same, though touched.
            trace(1, 10, 99, None),
            // On another file system.
            trace(9, 20, 6, None),
            // Its content is to be looked at.
            trace(10, 30, 99, Some("a")),
            // Another file got the number.
            trace(4, 41, 100, None),
            // Two may be meant.
            trace(11, 50, 9, None),
        ];
        let mut pairs = Pairs::find(&went, &came);
        assert_eq!(pairs.found, [(0, 0), (1, 1)]);
        assert_eq!(
            pairs.doubtful(&went, &came),
            [2],
            "no digest is made of anything else"
        );
        pairs.compare(&went, &came);
        assert_eq!(pairs.found, [(0, 0), (1, 1), (2, 2)]);
    }
}
