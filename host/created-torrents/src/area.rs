//! Created torrents as an area of the service.

use std::sync::Arc;

use qm_confined::{Roots, ServerPlaces};
use qm_jobs::Jobs;
use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::{Ground, Ports};
use qm_ports::DefaultRoot;
use qm_ports::seed::SeedIntake;

use crate::routes;
use crate::service::{CreatedTorrents, Deps};

pub static AREA: AreaSpec = AreaSpec {
    name: "created_torrents",
    events: &[],
    notifications: &[],
    sealed: Vec::new,
    module: "torrents",
    modules: &[],
    context_actions: &[],
    described: || routes().described(),
    after: &["torrents", "files", "jobs"],
    make: Make::Plain(make),
};

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let places = ports.get::<ServerPlaces>()?;
    let created = CreatedTorrents::new(Deps {
        ground: ground.clone(),
        jobs: ports.get::<Jobs>()?,
        seeds: ports.get::<Arc<dyn SeedIntake>>()?,
        default_root: ports.get::<Arc<dyn DefaultRoot>>()?,
        roots: Roots::hiding(&places.roots, &places.own),
    });
    let kept = created.clone();
    let area = Area::new(&AREA, routes().with_state(created));
    Ok(area.looping(CreatedTorrents::UPKEEP, move |stop| {
        kept.clone().upkeep_loop(stop)
    }))
}
