//! Shows as an area of the service.

use std::sync::Arc;

use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::{Ground, Ports};
use qm_ports::shows::{ShowProvider, ShowStatuses};
use qm_realtime::Hub;

use crate::{EVENTS, Shows, ShowsDeps, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "shows",
    events: EVENTS,
    sealed: Vec::new,
    module: "system",
    modules: &[],
    context_actions: &[],
    notifications: &[],
    described: || routes().described(),
    after: &["titledb"],
    make: Make::Plain(make),
};

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let shows = Shows::new(ShowsDeps {
        ground: ground.clone(),
        hub: ports.get::<Hub>()?,
        providers: vec![ports.get::<Arc<dyn ShowProvider>>()?],
    });
    ports.offer(shows.clone());
    ports.offer::<Arc<dyn ShowStatuses>>(shows.clone());
    Ok(area(&shows))
}

/// Area with its routes and loops.
fn area(shows: &Arc<Shows>) -> Area {
    let refreshing = shows.clone();
    Area::new(&AREA, routes().with_state(shows.clone()))
        .looping(Shows::REFRESH, move |stop| refreshing.clone().refresh_loop(stop))
}
