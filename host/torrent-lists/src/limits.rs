//! Limits on the torrents that are taken from an engine's list.
//!
//! An engine may list more than there is memory for, by mistake or on purpose. Torrents that were taken stay. Those for
//! which there is no room are left out, and the engine's state says so until a full list has fitted again.

use qm_ports::engine::LIST_LIMIT;

/// The room there is for one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub torrents: usize,
    /// Bytes of texts and JSON; what else a torrent takes is bounded by the number of torrents.
    pub bytes: usize,
}

impl Limits {
    /// The room that is left beside `torrents` torrents, which take `bytes` in all.
    pub fn room_beside(self, torrents: usize, bytes: usize) -> Room {
        Room {
            torrents: self.torrents.saturating_sub(torrents),
            bytes: self.bytes.saturating_sub(bytes),
        }
    }
}

/// The torrents and bytes that may still be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    torrents: usize,
    bytes: usize,
}

impl Room {
    /// Takes room for a new torrent; `Err` when there is none.
    pub fn enter(&mut self, bytes: usize) -> Result<(), Excess> {
        let torrents = self.torrents.checked_sub(1).ok_or(Excess::Torrents)?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Excess::Bytes)?;
        self.torrents = torrents;
        Ok(())
    }

    /// Takes room for a torrent that had taken `before` bytes; one that does not grow always has it.
    pub fn change(&mut self, before: usize, now: usize) -> Result<(), Excess> {
        if now <= before {
            self.bytes = self.bytes.saturating_add(before - now);
            return Ok(());
        }
        self.bytes = self.bytes.checked_sub(now - before).ok_or(Excess::Bytes)?;
        Ok(())
    }

    /// The limit that a new torrent of at least `bytes` would exceed; `None` if there is room for it.
    pub fn refuses(self, bytes: usize) -> Option<Excess> {
        let mut copy = self;
        copy.enter(bytes).err()
    }

    /// True if enough is free for it to be worth asking for the full list again.
    pub fn is_worth_a_list(self, limits: Limits) -> bool {
        self.torrents > 0 && self.bytes > limits.bytes / 64
    }
}

/// The limit for which not all that an engine lists is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    Torrents,
    Bytes,
    /// The list was too long to be handed over whole.
    List,
}

impl Excess {
    /// The sentence that the engine's state tells.
    pub fn sentence(self, limits: Limits) -> String {
        match self {
            Excess::Torrents => format!(
                "It lists more than {} torrents, the limit of the setting engine.maxTorrents; the rest is left out",
                limits.torrents
            ),
            Excess::Bytes => format!(
                "Its torrents take more than {} bytes, the limit of the setting engine.maxSnapshotBytes; what is too much is left \
                 out",
                limits.bytes
            ),
            Excess::List => format!(
                "It lists more than {LIST_LIMIT} torrents at once; the rest is left out, and torrents that are gone may stay"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever comes and grows, what was let in never takes more than there is.
        #[test]
        fn nothing_gets_past_the_limits(
            steps in prop::collection::vec((any::<bool>(), 0usize..40, 0usize..40), 0..60),
            torrents in 0usize..10,
            bytes in 0usize..200,
        ) {
            let limits = Limits { torrents, bytes };
            let mut room = limits.room_beside(0, 0);
            let mut taken: Vec<usize> = Vec::new();
            for (is_new, size, which) in steps {
                if is_new || taken.is_empty() {
                    let refused = room.refuses(size);
                    let entered = room.enter(size);
                    prop_assert_eq!(refused, entered.err());
                    if entered.is_ok() { taken.push(size); }
                } else {
                    let at = which % taken.len();
                    if room.change(taken[at], size).is_ok() { taken[at] = size; }
                }
                let sum: usize = taken.iter().sum();
                prop_assert!(taken.len() <= torrents && sum <= bytes);
                prop_assert_eq!(room, limits.room_beside(taken.len(), sum));
            }
        }
    }
}
