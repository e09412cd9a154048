//! Metadata as an area of the service.

use std::sync::Arc;

use qm_net::Net;
use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::{Ground, Ports};
use qm_ports::metadata::{MetadataChain, Providers};

use crate::{EnvironmentKeys, MetadataArea, MetadataDeps, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "metadata",
    events: &[],
    // The keys are settings, which list their secrets themselves.
    sealed: Vec::new,
    module: "media_manager",
    modules: &[],
    context_actions: &[],
    notifications: &[],
    described: || routes().described(),
    after: &[],
    make: Make::Plain(make),
};

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let metadata = MetadataArea::new(MetadataDeps {
        ground: ground.clone(),
        providers: ports.get::<Arc<dyn Providers>>()?,
        environment: ports.get::<EnvironmentKeys>()?,
        net: ports.get::<Net>()?,
    });
    ports.offer::<Arc<dyn MetadataChain>>(metadata.clone());
    Ok(area(&metadata))
}

/// Area with its routes and loops.
fn area(metadata: &Arc<MetadataArea>) -> Area {
    Area::new(&AREA, routes().with_state(metadata.clone()))
}
