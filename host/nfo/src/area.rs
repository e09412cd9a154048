//! Notes of media as an area of the service.

use std::sync::Arc;

use qm_confined::{Roots, ServerPlaces};
use qm_jobs::Jobs;
use qm_kernel::Permission;
use qm_platform::area::{Area, AreaError, AreaSpec, ContextAction, Make};
use qm_platform::{Ground, Ports};
use qm_ports::TorrentPayloads;
use qm_ports::action::HouseFirst;
use qm_ports::beside::Beside;
use qm_ports::helpers::MediaHelpers;
use qm_ports::notes::{MediaNotes, NoteTaker};
use qm_ports::subjects::MediaSubjects;

use crate::routes;
use crate::service::{Nfo, NfoDeps};

pub static AREA: AreaSpec = AreaSpec {
    name: "nfo",
    events: &[],
    sealed: Vec::new,
    module: "media_manager",
    modules: &[],
    context_actions: CONTEXT_ACTIONS,
    notifications: &[],
    described: || routes().described(),
    after: &["torrents", "jobs", "library"],
    make: Make::Plain(make),
};

static CONTEXT_ACTIONS: &[ContextAction] = &[ContextAction::new(
    "media.nfo.generate",
    ("metadata", "media_item"),
    &[Permission::MediaManagerGenerateNfo],
    ("FileCog", 20),
)
.goes_on()
.at_most(1000)];

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let places = ports.get::<ServerPlaces>()?;
    let nfo = Nfo::new(NfoDeps {
        ground: ground.clone(),
        roots: Roots::hiding(&places.roots, &places.own),
        notes: ports.get::<Arc<dyn MediaNotes>>()?,
        subjects: ports.get::<Arc<dyn MediaSubjects>>()?,
        takers: ports.get::<Arc<dyn NoteTaker>>()?,
        payloads: ports.get::<Arc<dyn TorrentPayloads>>()?,
        jobs: ports.get::<Jobs>()?,
    });
    ports.get::<Arc<Beside>>()?.add_notes(&nfo);
    ports.get::<Arc<HouseFirst>>()?.add(&nfo);
    ports.get::<Arc<MediaHelpers>>()?.add_notes(&nfo);
    let looking = nfo.clone();
    let area = Area::new(&AREA, routes().with_state(nfo));
    Ok(area.looping(Nfo::CHANGED, move |stop| looking.clone().looks_loop(stop)))
}
