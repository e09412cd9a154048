//! Client preferences as an area of the service.

use std::sync::Arc;

use qm_platform::area::{Area, AreaSpec, Make};
use qm_ports::preferences::ClientPreferences;

use crate::routes;
use crate::service::Preferences;

pub static AREA: AreaSpec = AreaSpec {
    name: "client_preferences",
    events: &[],
    notifications: &[],
    sealed: Vec::new,
    module: "torrents",
    modules: &[],
    context_actions: &[],
    described: || routes().described(),
    after: &["torrents"],
    make: Make::Plain(|ground, ports| {
        let preferences = Preferences::new(ground.clone(), ports.get::<Arc<dyn ClientPreferences>>()?);
        Ok(Area::new(&AREA, routes().with_state(preferences)))
    }),
};
