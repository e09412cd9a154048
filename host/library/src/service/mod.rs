//! Use cases of this area. [`Library`] is the part that the server wires.

#[cfg(test)]
mod awkward;
#[cfg(test)]
mod downloaded;
#[cfg(test)]
mod enriched;
mod file_events;
#[cfg(test)]
mod follow_up_tests;
#[cfg(test)]
mod hands_tests;
#[cfg(test)]
mod moves_tests;
#[cfg(test)]
mod owned_tests;
#[cfg(test)]
mod probed;
#[cfg(test)]
mod property;
#[cfg(test)]
mod recognised;
#[cfg(test)]
mod said_by_nfo;
#[cfg(test)]
mod shelved;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod titled;
#[cfg(test)]
mod watched;

use std::path::PathBuf;
use std::sync::Arc;

pub use file_events::FileEvents;
use qm_jobs::Jobs;
use qm_media::service::{Pace, Rights};
use qm_platform::{Ground, Triggers};
use qm_ports::metadata::MetadataChain;

use qm_catalogue::Catalogue;
use qm_identify::{Identification, IdentificationDeps};
use qm_orders::{Orders, OrdersDeps, Outside};
use qm_probe::{Prober, Probing, ProbingDeps};
use qm_scan::{Scanner, ScannerDeps};

/// Dependencies of the area.
pub struct LibraryDeps {
    pub ground: Ground,
    pub jobs: Jobs,
    pub triggers: Arc<dyn Triggers>,
    /// `FILE_MANAGER_ROOTS`
    pub file_roots: Vec<String>,
    /// The service's own directories and files, which are in no library.
    pub own: Vec<PathBuf>,
    pub pace: Pace,
    /// Probing program.
    pub prober: Prober,
    pub outside: Outside,
    /// Providers of metadata.
    pub metadata: Arc<dyn MetadataChain>,
}

/// The area, made of its crates.
pub struct Library {
    pub(crate) probing: Arc<Probing>,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) identify: Arc<Identification>,
    pub(crate) scanner: Arc<Scanner>,
    pub(crate) orders: Arc<Orders>,
}

impl Library {
    /// Makes the parts of the area and registers their types of jobs. Nothing runs before the jobs are started.
    pub fn new(deps: LibraryDeps) -> Arc<Self> {
        let rights = Rights {
            acting: deps.ground.acting,
            holders: deps.outside.holders.clone(),
        };
        let probing = Probing::new(ProbingDeps {
            db: deps.ground.db.clone(),
            ctx: deps.ground.ctx.clone(),
            file_roots: deps.file_roots.clone(),
            own: deps.own.clone(),
            prober: deps.prober,
        });
        let catalogue = Catalogue::new(deps.ground.db.clone(), deps.ground.audit.clone());
        let identify = Identification::new(IdentificationDeps {
            db: deps.ground.db.clone(),
            ctx: deps.ground.ctx.clone(),
            audit: deps.ground.audit.clone(),
            rights: rights.clone(),
            jobs: deps.jobs.clone(),
            triggers: deps.triggers.clone(),
            pace: deps.pace,
            titles: deps.outside.titles.clone(),
            metadata: deps.metadata,
            hub: deps.outside.hub.clone(),
        });
        let scanner = Scanner::new(ScannerDeps {
            db: deps.ground.db.clone(),
            ctx: deps.ground.ctx.clone(),
            audit: deps.ground.audit.clone(),
            rights: rights.clone(),
            jobs: deps.jobs.clone(),
            triggers: deps.triggers.clone(),
            file_roots: deps.file_roots.clone(),
            own: deps.own.clone(),
            pace: deps.pace,
            probing: probing.clone(),
            catalogue: catalogue.clone(),
            identify: identify.clone(),
        });
        let orders = Orders::new(OrdersDeps {
            db: deps.ground.db,
            ctx: deps.ground.ctx,
            audit: deps.ground.audit,
            rights,
            jobs: deps.jobs,
            triggers: deps.triggers,
            file_roots: deps.file_roots,
            own: deps.own,
            pace: deps.pace,
            outside: deps.outside,
            identify: identify.clone(),
            scanner: scanner.clone(),
        });
        Arc::new(Self {
            probing,
            catalogue,
            identify,
            scanner,
            orders,
        })
    }
}
