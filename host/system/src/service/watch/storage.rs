//! When free space on a file root is worth telling of. Pure.

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

    pub struct StorageRecovered: "system.storage_recovered" about "storage_root" {
        path: String,
        free_percent: u8,
    }
}

/// Free percent up to which it is so.
const WARNING_PERCENT: u8 = 15;
const CRITICAL_PERCENT: u8 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Band {
    Fine,
    Low,
    Critical,
}

impl Band {
    fn of(percent: u8) -> Self {
        match percent {
            low if low <= CRITICAL_PERCENT => Band::Critical,
            low if low <= WARNING_PERCENT => Band::Low,
            _ => Band::Fine,
        }
    }
}

/// What is to be told of a root, with its free percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Warning(u8),
    Critical(u8),
    Recovered(u8),
}

impl Told {
    /// What is told of the root at `path`.
    pub fn event(self, ctx: &Ctx, path: String) -> DomainEvent {
        let about = path.clone();
        match self {
            Told::Warning(free_percent) => {
                DomainEvent::new(ctx, Cause::NONE, about, &StorageWarning { path, free_percent })
            }
            Told::Critical(free_percent) => {
                DomainEvent::new(ctx, Cause::NONE, about, &StorageCritical { path, free_percent })
            }
            Told::Recovered(free_percent) => {
                DomainEvent::new(ctx, Cause::NONE, about, &StorageRecovered { path, free_percent })
            }
        }
    }
}

/// The bands the roots were last seen in.
#[derive(Default)]
pub struct StorageWatch {
    bands: HashMap<String, Band>,
}

impl StorageWatch {
    /// Takes readings in; answers what is to be told, by path. A root that could not be read stays as it was.
    pub fn look(&mut self, disks: &[Disk]) -> Vec<(String, Told)> {
        let readings = disks
            .iter()
            .filter_map(|disk| Some((&disk.path, disk.space?.free_percent()?)));
        readings
            .filter_map(|(path, percent)| Some((path.clone(), self.step(path, percent)?)))
            .collect()
    }

    fn step(&mut self, path: &str, percent: u8) -> Option<Told> {
        let now = Band::of(percent);
        let before = self.bands.insert(path.to_owned(), now)?;
        match (before, now) {
            (Band::Fine | Band::Low, Band::Critical) => Some(Told::Critical(percent)),
            (Band::Fine, Band::Low) => Some(Told::Warning(percent)),
            (Band::Low | Band::Critical, Band::Fine) => Some(Told::Recovered(percent)),
            // A little better is not well yet, and no news is no news.
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

    /// What is told of one root over a row of readings.
    fn told(readings: &[u64]) -> Vec<Option<Told>> {
        let mut watch = StorageWatch::default();
        let looks = readings.iter().map(|free| {
            let told = watch.look(&[disk("/a", Some(*free))]);
            told.into_iter().next().map(|(_, told)| told)
        });
        looks.collect()
    }

    #[test]
    fn every_step_between_two_bands() {
        use Told::{Critical, Recovered, Warning};
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
            assert_eq!(told(&[before, now]), [None, expected], "from {before} to {now}");
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
            assert_eq!(Band::of(percent), expected, "{percent}");
            assert_eq!(told(&[u64::from(percent)]), [None]);
        }
    }

    /// Whatever the readings, news are edges: a warning comes only out of good times, a recovery only out of bad ones,
    /// and the same news never comes twice without another between, but for a relapse from low to critical.
    #[test]
    fn all_rows_of_four_readings() {
        let bands = [0_u64, 10, 50];
        for row in 0..81_usize {
            let readings: Vec<u64> = (0..4).map(|place| bands[row / 3_usize.pow(place) % 3]).collect();
            for (place, told) in told(&readings).iter().enumerate() {
                let expected = match (
                    place.checked_sub(1).map(|before| readings[before]),
                    readings[place],
                ) {
                    (Some(50), 10) => Some(Told::Warning(10)),
                    (Some(50 | 10), 0) => Some(Told::Critical(0)),
                    (Some(0 | 10), 50) => Some(Told::Recovered(50)),
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
            [("/a".to_owned(), Told::Critical(3))]
        );
        assert_eq!(
            watch.look(&[disk("/a", Some(3)), disk("/b", Some(16))]),
            [("/b".to_owned(), Told::Recovered(16))]
        );
    }
}
