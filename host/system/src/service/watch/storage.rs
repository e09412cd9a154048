//! State machine that decides when to report free space on a file root. Pure.

use std::collections::HashMap;

use qm_kernel::Ctx;
use qm_kernel::event::{Cause, DomainEvent};

use crate::service::health::disks::Disk;

qm_kernel::events! {
    pub struct StorageWarning: "system.storage_warning" about "storage_root", once in 21600 {
        path: String,
        free_percent: u8,
    }

    pub struct StorageCritical: "system.storage_critical" about "storage_root", once in 21600 {
        path: String,
        free_percent: u8,
    }

    /// The same step as a warning or a critical state, for rules: with numbers, and each time.
    pub struct StorageLow: "storage.low" about "storage_root" {
        path: String,
        /// `low` or `critical`
        level: String,
        free_percent: u8,
        free_bytes: u64,
        total_bytes: u64,
        /// The limit that was reached.
        threshold_percent: u8,
    }

    pub struct StorageRecovered: "system.storage_recovered" about "storage_root" {
        path: String,
        free_percent: u8,
    }
}

/// Upper limits of the bands in percent of free space.
const WARNING_PERCENT: u8 = 15;
const CRITICAL_PERCENT: u8 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Band {
    Fine,
    Low,
    Critical,
}

impl Band {
    fn from_percent(percent: u8) -> Self {
        match percent {
            low if low <= CRITICAL_PERCENT => Band::Critical,
            low if low <= WARNING_PERCENT => Band::Low,
            _ => Band::Fine,
        }
    }
}

/// A change of a root to report, with its free percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateChange {
    Warning(u8),
    Critical(u8),
    Recovered(u8),
}

impl StateChange {
    /// The event about the root at `path`.
    pub fn event(self, ctx: &Ctx, path: String) -> DomainEvent {
        let about = path.clone();
        match self {
            StateChange::Warning(free_percent) => {
                DomainEvent::new(ctx, Cause::NONE, about, &StorageWarning { path, free_percent })
            }
            StateChange::Critical(free_percent) => {
                DomainEvent::new(ctx, Cause::NONE, about, &StorageCritical { path, free_percent })
            }
            StateChange::Recovered(free_percent) => {
                DomainEvent::new(ctx, Cause::NONE, about, &StorageRecovered { path, free_percent })
            }
        }
    }
}

/// The event for rules about a change for the worse of one of the disks.
pub fn low(ctx: &Ctx, disks: &[Disk], path: &str, change: StateChange) -> Option<DomainEvent> {
    let (level, free_percent, threshold_percent) = match change {
        StateChange::Warning(percent) => ("low", percent, WARNING_PERCENT),
        StateChange::Critical(percent) => ("critical", percent, CRITICAL_PERCENT),
        StateChange::Recovered(_) => return None,
    };
    let space = disks.iter().find(|disk| disk.path == path)?.space?;
    let low = StorageLow {
        path: path.to_owned(),
        level: level.to_owned(),
        free_percent,
        free_bytes: space.free,
        total_bytes: space.total,
        threshold_percent,
    };
    Some(DomainEvent::new(ctx, Cause::NONE, path, &low))
}

/// Band of each root at the last reading.
#[derive(Default)]
pub struct StorageWatch {
    bands: HashMap<String, Band>,
}

impl StorageWatch {
    /// Takes in readings; returns the changes to report, by path. A root that could not be read keeps its
    /// band.
    pub fn look(&mut self, disks: &[Disk]) -> Vec<(String, StateChange)> {
        let readings = disks
            .iter()
            .filter_map(|disk| Some((&disk.path, disk.space?.free_percent()?)));
        readings
            .filter_map(|(path, percent)| Some((path.clone(), self.step(path, percent)?)))
            .collect()
    }

    fn step(&mut self, path: &str, percent: u8) -> Option<StateChange> {
        let now = Band::from_percent(percent);
        let before = self.bands.insert(path.to_owned(), now)?;
        match (before, now) {
            (Band::Fine | Band::Low, Band::Critical) => Some(StateChange::Critical(percent)),
            (Band::Fine, Band::Low) => Some(StateChange::Warning(percent)),
            (Band::Low | Band::Critical, Band::Fine) => Some(StateChange::Recovered(percent)),
            // Leaving `Critical` for `Low` is no recovery yet.
            (Band::Critical, Band::Low | Band::Critical)
            | (Band::Fine, Band::Fine)
            | (Band::Low, Band::Low) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::health::disks::Space;

    fn disk(path: &str, free: Option<u64>) -> Disk {
        Disk {
            path: path.to_owned(),
            space: free.map(|free| Space { total: 100, free }),
        }
    }

    /// Changes reported for one root over a series of readings.
    fn changes(readings: &[u64]) -> Vec<Option<StateChange>> {
        let mut watch = StorageWatch::default();
        let looks = readings.iter().map(|free| {
            let told = watch.look(&[disk("/a", Some(*free))]);
            told.into_iter().next().map(|(_, told)| told)
        });
        looks.collect()
    }

    #[test]
    fn every_step_between_two_bands() {
        use StateChange::{Critical, Recovered, Warning};
        for (before, now, expected) in [
            (16, 16, None),
            (16, 15, Some(Warning(15))),
            (16, 6, Some(Warning(6))),
            (16, 5, Some(Critical(5))),
            (16, 0, Some(Critical(0))),
            (15, 16, Some(Recovered(16))),
            (15, 6, None),
            (15, 5, Some(Critical(5))),
            (5, 100, Some(Recovered(100))),
            (5, 6, None),
            (5, 15, None),
            (5, 0, None),
        ] {
            assert_eq!(
                changes(&[before, now]),
                [None, expected],
                "from {before} to {now}"
            );
        }
    }

    #[test]
    fn every_percent_has_its_band_and_the_first_look_is_silent() {
        for percent in 0..=100 {
            let expected = match percent {
                0..=5 => Band::Critical,
                6..=15 => Band::Low,
                _ => Band::Fine,
            };
            assert_eq!(Band::from_percent(percent), expected, "{percent}");
            assert_eq!(changes(&[u64::from(percent)]), [None]);
        }
    }

    /// For all readings: a warning follows only the normal state, a recovery only a bad one, and the same
    /// change is never reported twice in a row, except a relapse from low to critical.
    #[test]
    fn all_rows_of_four_readings() {
        let bands = [0_u64, 10, 50];
        for row in 0..81_usize {
            let readings: Vec<u64> = (0..4).map(|place| bands[row / 3_usize.pow(place) % 3]).collect();
            for (place, told) in changes(&readings).iter().enumerate() {
                let expected = match (
                    place.checked_sub(1).map(|before| readings[before]),
                    readings[place],
                ) {
                    (Some(50), 10) => Some(StateChange::Warning(10)),
                    (Some(50 | 10), 0) => Some(StateChange::Critical(0)),
                    (Some(0 | 10), 50) => Some(StateChange::Recovered(50)),
                    _ => None,
                };
                assert_eq!(*told, expected, "{readings:?} at {place}");
            }
        }
    }

    #[test]
    fn roots_are_told_apart_and_one_that_cannot_be_read_stays_as_it_was() {
        let mut watch = StorageWatch::default();
        assert!(
            watch
                .look(&[disk("/a", Some(50)), disk("/b", Some(10))])
                .is_empty()
        );
        assert!(watch.look(&[disk("/a", None), disk("/b", None)]).is_empty());
        let empty = Disk {
            path: "/b".to_owned(),
            space: Some(Space { total: 0, free: 0 }),
        };
        assert_eq!(
            watch.look(&[disk("/a", Some(3)), empty]),
            [("/a".to_owned(), StateChange::Critical(3))]
        );
        assert_eq!(
            watch.look(&[disk("/a", Some(3)), disk("/b", Some(16))]),
            [("/b".to_owned(), StateChange::Recovered(16))]
        );
    }
}
