//! Indexers as an area of the service.

use std::sync::Arc;

use qm_net::Net;
use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::{Ground, Ports};
use qm_ports::indexer::Protocols;

use crate::repo::sealed::IndexerSecrets;
use crate::{Indexers, IndexersDeps, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "indexers",
    events: &[],
    sealed: || vec![Arc::new(IndexerSecrets)],
    module: "system",
    modules: &[],
    context_actions: &[],
    notifications: &[],
    described: || routes().described(),
    after: &[],
    make: Make::Plain(make),
};

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let indexers = Indexers::new(IndexersDeps {
        ground: ground.clone(),
        net: ports.get::<Net>()?,
        protocols: ports.get::<Arc<dyn Protocols>>()?,
    });
    Ok(area(&indexers))
}

/// Area with its routes and loops.
fn area(indexers: &Arc<Indexers>) -> Area {
    Area::new(&AREA, routes().with_state(indexers.clone()))
}
