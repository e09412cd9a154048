//! Dependencies of sync loops, for tests of this crate.

use std::sync::Arc;

use arc_swap::ArcSwap;
use prometheus::Registry;
use qm_db::Db;
use qm_kernel::Ctx;
use qm_ports::rules::NoRules;
use qm_realtime::{Hub, HubConfig};
use qm_test_base::{Heard, NoTokens};
use qm_torrent_lists::Limits;

use crate::sync::SyncDeps;
use crate::sync::metrics::SyncMetrics;

pub fn sync_deps(db: &Db, heard: &Arc<Heard>) -> SyncDeps {
    let ctx = Ctx::system();
    SyncDeps {
        db: db.clone().telling(heard.clone()),
        hub: Hub::new(HubConfig::default(), Arc::new(NoTokens), ctx.clone()),
        ctx,
        metrics: SyncMetrics::new(&Registry::new()).unwrap(),
        limits: Arc::new(ArcSwap::from_pointee(Limits {
            torrents: 200_000,
            bytes: 256 << 20,
        })),
        watch: Arc::new(NoRules),
    }
}
