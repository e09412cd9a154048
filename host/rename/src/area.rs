//! Names of media files as an area of the service.

use std::sync::Arc;

use qm_confined::{Roots, ServerPlaces};
use qm_jobs::Jobs;
use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::{Ground, Ports};
use qm_ports::TorrentPayloads;
use qm_ports::action::HouseFirst;
use qm_ports::helpers::MediaHelpers;
use qm_ports::list::TorrentLists;
use qm_ports::media_server::MediaServers;
use qm_ports::shelves::MediaShelves;

use crate::ops::fault::Faults;
use crate::routes;
use crate::service::{Rename, RenameDeps};

pub static AREA: AreaSpec = AreaSpec {
    name: "rename",
    events: &[],
    sealed: Vec::new,
    module: "media_manager",
    modules: &[],
    context_actions: &[],
    notifications: &[],
    described: || routes().described(),
    after: &["torrents", "jobs", "media_servers", "library"],
    make: Make::Plain(make),
};

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let places = ports.get::<ServerPlaces>()?;
    let rename = Rename::new(RenameDeps {
        ground: ground.clone(),
        jobs: ports.get::<Jobs>()?,
        roots: Roots::hiding(&places.roots, &places.own),
        torrents: ports.get::<Arc<dyn TorrentLists>>()?,
        payloads: ports.get::<Arc<dyn TorrentPayloads>>()?,
        shelves: ports.get::<Arc<dyn MediaShelves>>()?,
        servers: ports.get::<Arc<dyn MediaServers>>()?,
        faults: Faults::default(),
    });
    ports.get::<Arc<HouseFirst>>()?.add(&rename);
    ports.get::<Arc<MediaHelpers>>()?.add_naming(&rename);
    let recovering = rename.clone();
    Ok(Area::new(&AREA, routes().with_state(rename.clone()))
        .looping(Rename::LOOP, move |stop| recovering.clone().recovery_loop(stop))
        .closing(rename))
}
