//! Use cases of this area. [`Library`] is the part that the server wires.

#[cfg(test)]
mod awkward;
#[cfg(test)]
mod cared;
#[cfg(test)]
mod downloaded;
#[cfg(test)]
mod enriched;
mod file_events;
#[cfg(test)]
mod foldered;
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
mod show_folders;
#[cfg(test)]
mod stocked;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod titled;
#[cfg(test)]
mod told_tests;
#[cfg(test)]
mod watched;

use std::path::PathBuf;
use std::sync::Arc;

pub use file_events::FileEvents;
use qm_jobs::Jobs;
use qm_media::service::{Pace, Rights, Shared};
use qm_platform::{Ground, Triggers};
use qm_ports::Holders;
use qm_ports::helpers::MediaHelpers;
use qm_ports::metadata::MetadataChain;
use qm_ports::titledb::TitleData;
use qm_realtime::Hub;

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
    /// Areas that name files, fetch pictures and write notes; they come after this one.
    pub helpers: Arc<MediaHelpers>,
    /// `FILE_MANAGER_ROOTS`
    pub file_roots: Vec<String>,
    /// The service's own directories and files, which are in no library.
    pub own: Vec<PathBuf>,
    pub pace: Pace,
    /// Probing program.
    pub prober: Prober,
    /// Port that checks if a person still has the permissions for an order.
    pub holders: Arc<dyn Holders>,
    /// Realtime channel to clients.
    pub hub: Hub,
    /// Data set of titles.
    pub titles: Arc<dyn TitleData>,
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
        let shared = Shared {
            db: deps.ground.db,
            ctx: deps.ground.ctx,
            audit: deps.ground.audit,
            rights: Rights {
                acting: deps.ground.acting,
                holders: deps.holders,
            },
            jobs: deps.jobs,
            triggers: deps.triggers,
            helpers: deps.helpers,
            file_roots: deps.file_roots,
            own: deps.own,
            pace: deps.pace,
        };
        let probing = Probing::new(ProbingDeps {
            db: shared.db.clone(),
            ctx: shared.ctx.clone(),
            file_roots: shared.file_roots.clone(),
            own: shared.own.clone(),
            prober: deps.prober,
        });
        let catalogue = Catalogue::new(shared.db.clone(), shared.audit.clone());
        let identify = Identification::new(IdentificationDeps {
            shared: shared.clone(),
            titles: deps.titles,
            metadata: deps.metadata,
            hub: deps.hub,
        });
        let scanner = Scanner::new(ScannerDeps {
            shared: shared.clone(),
            probing: probing.clone(),
            catalogue: catalogue.clone(),
            identify: identify.clone(),
        });
        let orders = Orders::new(OrdersDeps {
            shared,
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
