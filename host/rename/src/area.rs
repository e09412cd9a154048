//! Names of media files as an area of the service.

use std::sync::Arc;

use qm_confined::{Roots, ServerPlaces};
use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::{Ground, Ports};
use qm_ports::list::TorrentLists;
use qm_ports::shelves::MediaShelves;

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
    after: &["torrents", "library"],
    make: Make::Plain(make),
};

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let places = ports.get::<ServerPlaces>()?;
    let rename = Rename::new(RenameDeps {
        ground: ground.clone(),
        roots: Roots::hiding(&places.roots, &places.own),
        torrents: ports.get::<Arc<dyn TorrentLists>>()?,
        shelves: ports.get::<Arc<dyn MediaShelves>>()?,
    });
    Ok(Area::new(&AREA, routes().with_state(rename)))
}
