//! Pictures of media as an area of the service.

use std::sync::Arc;

use qm_confined::{Roots, ServerPlaces};
use qm_jobs::Jobs;
use qm_net::Net;
use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::{Ground, Ports};
use qm_ports::action::HouseFirst;
use qm_ports::beside::Beside;
use qm_ports::helpers::MediaHelpers;
use qm_ports::metadata::MetadataChain;
use qm_ports::subjects::MediaSubjects;

use crate::routes;
use crate::service::{ArtworkArea, ArtworkDeps};

pub static AREA: AreaSpec = AreaSpec {
    name: "artwork",
    events: &[],
    sealed: Vec::new,
    module: "media_manager",
    modules: &[],
    context_actions: &[],
    notifications: &[],
    described: || routes().described(),
    after: &["jobs", "metadata", "library"],
    make: Make::Plain(make),
};

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let places = ports.get::<ServerPlaces>()?;
    let artwork = ArtworkArea::new(ArtworkDeps {
        ground: ground.clone(),
        roots: Roots::hiding(&places.roots, &places.own),
        data_dir: &places.data_dir,
        subjects: ports.get::<Arc<dyn MediaSubjects>>()?,
        providers: ports.get::<Arc<dyn MetadataChain>>()?,
        fetch: Arc::new(ports.get::<Net>()?),
        jobs: ports.get::<Jobs>()?,
    });
    ports.get::<Arc<Beside>>()?.add_pictures(&artwork);
    let (sweeping, looking) = (artwork.clone(), artwork.clone());
    ports.get::<Arc<HouseFirst>>()?.add(&artwork);
    ports.get::<Arc<MediaHelpers>>()?.add_companions(&artwork);
    let area = Area::new(&AREA, routes().with_state(artwork));
    Ok(area
        .looping(ArtworkArea::SWEEP, move |stop| sweeping.clone().sweep_loop(stop))
        .looping(ArtworkArea::CHANGED, move |stop| looking.clone().looks_loop(stop)))
}
