//! Media servers as an area of the service.

use std::sync::Arc;

use qm_platform::area::{Area, AreaSpec};

use crate::repo::sealed::MediaServerSecrets;
use crate::{Integrations, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "media_servers",
    events: &[],
    sealed: || vec![Arc::new(MediaServerSecrets)],
    modules: &[],
    context_actions: &[],
    described: || routes().described(),
};

/// The started area.
pub fn area(servers: &Arc<Integrations>) -> Area {
    let looked_after = servers.clone();
    Area::new(&AREA, routes().with_state(servers.clone())).looping(Integrations::HEALTH, move |stop| {
        looked_after.clone().health_loop(stop)
    })
}
