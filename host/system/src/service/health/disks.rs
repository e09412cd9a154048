//! Free space of the file roots.
//!
//! A network mount whose server is gone blocks every caller, so each reading runs on its own thread, and a
//! root whose last reading still hangs is not read again: at most one thread per root is lost. They are not
//! threads of the async runtime, for which a stopping server would wait. Bounds: [`PATIENCE`] per reading.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::oneshot;

pub const PATIENCE: Duration = Duration::from_secs(3);

/// Space on the file system of one root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Path as it is configured.
    pub path: String,
    /// `None`: it could not be read.
    pub space: Option<Space>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes.
    pub total: u64,
    /// Bytes that ordinary users may still write.
    pub free: u64,
}

impl Space {
    /// Free space in percent, rounded; `None` for a file system without a size (such as `/proc`).
    pub fn free_percent(self) -> Option<u8> {
        let (free, total) = (u128::from(self.free.min(self.total)), u128::from(self.total));
        let rounded = (free * 200 + total).checked_div(total * 2)?;
        u8::try_from(rounded).ok()
    }
}

/// Reads the space of a path; may block.
pub type Reading = Arc<dyn Fn(&str) -> Option<Space> + Send + Sync>;

/// The file roots. Clones share the state of hanging reads.
#[derive(Clone)]
pub struct Disks {
    roots: Arc<[Root]>,
    reading: Reading,
}

struct Root {
    path: String,
    hangs: Arc<AtomicBool>,
}

impl Disks {
    pub fn new(roots: &[String]) -> Self {
        Self::reading_with(roots, Arc::new(space))
    }

    /// Uses `reading` instead of the operating system.
    pub fn reading_with(roots: &[String], reading: Reading) -> Self {
        let roots = roots.iter().map(|path| Root {
            path: path.clone(),
            hangs: Arc::default(),
        });
        Self {
            roots: roots.collect(),
            reading,
        }
    }

    /// Reads all roots concurrently, in configured order.
    pub async fn read(&self) -> Vec<Disk> {
        let readings = self.roots.iter().map(|root| async {
            Disk {
                path: root.path.clone(),
                space: root.read(self.reading.clone()).await,
            }
        });
        join_all(readings).await
    }
}

impl Root {
    async fn read(&self, reading: Reading) -> Option<Space> {
        if self.hangs.swap(true, Ordering::SeqCst) {
            return None;
        }
        let (say, heard) = oneshot::channel();
        let (path, hangs) = (self.path.clone(), self.hangs.clone());
        let started = std::thread::Builder::new()
            .name("disk-space".to_owned())
            .spawn(move || {
                let space = reading(&path);
                hangs.store(false, Ordering::SeqCst);
                // The caller may have timed out: the next reading uses the result.
                let _ = say.send(space);
            });
        if started.is_err() {
            self.hangs.store(false, Ordering::SeqCst);
            return None;
        }
        tokio::time::timeout(PATIENCE, heard).await.ok()?.ok()?
    }
}

fn space(path: &str) -> Option<Space> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(Space {
        total: stat.f_blocks.saturating_mul(stat.f_frsize),
        free: stat.f_bavail.saturating_mul(stat.f_frsize),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};

    use super::*;

    #[tokio::test]
    async fn a_root_is_read_and_a_missing_one_is_unavailable() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().to_str().unwrap().to_owned();
        let gone = format!("{here}/gone");
        let disks = Disks::new(&[gone.clone(), here.clone()]).read().await;
        assert_eq!(
            disks[0],
            Disk {
                path: gone,
                space: None
            }
        );
        let space = disks[1].space.unwrap();
        assert!(space.total > 0 && space.free <= space.total, "{space:?}");
        assert_eq!(disks[1].path, here);
    }

    static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

    fn hanging(path: &str) -> Space {
        if path == "/hangs" {
            let mut open = GATE.0.lock().unwrap();
            while !*open {
                open = GATE.1.wait(open).unwrap();
            }
        }
        Space { total: 4, free: 1 }
    }

    #[tokio::test]
    async fn a_root_that_hangs_delays_nobody_for_long_and_costs_one_thread() {
        let disks = Disks::reading_with(
            &["/hangs".to_owned(), "/fine".to_owned()],
            Arc::new(|path| Some(hanging(path))),
        );
        for _ in 0..2 {
            let read = disks.read().await;
            assert_eq!(
                (read[0].space, read[1].space),
                (None, Some(Space { total: 4, free: 1 }))
            );
        }
        let begun = std::time::Instant::now();
        disks.read().await;
        assert!(begun.elapsed() < PATIENCE, "it is not asked again while it hangs");
        *GATE.0.lock().unwrap() = true;
        GATE.1.notify_all();
        while disks.read().await[0].space.is_none() {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn percent_is_rounded() {
        for (free, total, percent) in [
            (0, 100, Some(0)),
            (5, 100, Some(5)),
            (54, 1000, Some(5)),
            (55, 1000, Some(6)),
            (154, 1000, Some(15)),
            (155, 1000, Some(16)),
            (100, 100, Some(100)),
            (200, 100, Some(100)),
            (u64::MAX, u64::MAX, Some(100)),
            (0, 0, None),
        ] {
            assert_eq!(Space { total, free }.free_percent(), percent, "{free} of {total}");
        }
    }
}
