//! Duplicates as an area of the service.

use std::sync::Arc;

use async_trait::async_trait;
use qm_jobs::Jobs;
use qm_kernel::Permission;
use qm_platform::area::{Area, AreaError, AreaSpec, Closing, ContextAction, Make};
use qm_platform::{Ground, Ports};
use qm_ports::beside::Beside;
use qm_ports::inventory::MediaStock;
use qm_ports::trash::FileTrash;
use qm_realtime::Hub;

use crate::routes;
use crate::service::{Duplicates, DuplicatesDeps};

pub static AREA: AreaSpec = AreaSpec {
    name: "duplicates",
    events: &[],
    sealed: Vec::new,
    module: "media_manager",
    modules: &[],
    context_actions: CONTEXT_ACTIONS,
    notifications: &[],
    described: || routes().described(),
    after: &["jobs", "files", "library"],
    make: Make::Plain(make),
};

const GROUP: &str = "media_duplicate_group";
/// Most groups of one request.
const MOST: u32 = 100;

/// Actions on groups, in the order of the toolbar.
static CONTEXT_ACTIONS: &[ContextAction] = &[
    ContextAction::new(
        "media.duplicates.detect",
        ("maintenance", GROUP),
        &[Permission::MediaManagerScan],
        ("ScanSearch", 110),
    )
    .about_nothing()
    .goes_on(),
    ContextAction::new(
        "media.duplicates.ignore",
        ("maintenance", GROUP),
        &[Permission::MediaManagerMatch],
        ("EyeOff", 120),
    )
    .arity("single"),
    ContextAction::new(
        "media.duplicates.reopen",
        ("maintenance", GROUP),
        &[Permission::MediaManagerMatch],
        ("Undo2", 130),
    )
    .arity("single"),
    ContextAction::new(
        "media.duplicates.resolve",
        ("destructive", GROUP),
        &[Permission::MediaManagerView, Permission::MediaManagerDelete],
        ("Trash2", 140),
    )
    .destructive()
    .at_most(MOST),
];

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let duplicates = Duplicates::new(DuplicatesDeps {
        ground: ground.clone(),
        jobs: ports.get::<Jobs>()?,
        hub: ports.get::<Hub>()?,
        stock: ports.get::<Arc<dyn MediaStock>>()?,
        trash: ports.get::<Arc<dyn FileTrash>>()?,
    });
    ports.get::<Arc<Beside>>()?.add_groups(&duplicates);
    let kept = duplicates.clone();
    Ok(Area::new(&AREA, routes().with_state(duplicates.clone()))
        .looping(Duplicates::UPKEEP, move |stop| kept.clone().upkeep_loop(stop))
        .closing(duplicates))
}

#[async_trait]
impl Closing for Duplicates {
    /// A plan that is being carried out ends after the file it is at.
    fn stop(&self) {
        Duplicates::stop(self);
    }

    async fn close(&self) {
        self.wait_for_plan().await;
    }
}
