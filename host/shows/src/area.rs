//! Shows as an area of the service.

use std::sync::Arc;

use qm_platform::area::{Area, AreaSpec};

use crate::{EVENTS, Shows, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "shows",
    events: EVENTS,
    sealed: Vec::new,
    modules: &[],
    context_actions: &[],
    described: || routes().described(),
};

/// The started area.
pub fn area(shows: &Arc<Shows>) -> Area {
    let refreshing = shows.clone();
    Area::new(&AREA, routes().with_state(shows.clone()))
        .looping(Shows::REFRESH, move |stop| refreshing.clone().refresh_loop(stop))
}
