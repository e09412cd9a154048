//! Parking as an area of the service.

use std::sync::Arc;

use async_trait::async_trait;
use qm_engines::Engines;
use qm_platform::area::{Area, AreaError, AreaSpec, Closing, Make};
use qm_platform::{Ground, Ports};
use qm_ports::parking::Parking;
use qm_realtime::Hub;
use qm_torrent_data::TorrentData;

use crate::{ParkingDeps, ParkingLot, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "parking",
    events: &[],
    sealed: Vec::new,
    module: "torrents",
    modules: &[],
    context_actions: &[],
    notifications: &[],
    described: || routes().described(),
    after: &["torrents"],
    make: Make::Async(|ground, ports| Box::pin(make(ground, ports))),
};

/// The area, made from the ports of those before it.
async fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let lot = ParkingLot::start(ParkingDeps {
        ground: ground.clone(),
        engines: ports.get::<Arc<Engines>>()?,
        data: ports.get::<Arc<TorrentData>>()?,
        hub: ports.get::<Hub>()?,
    });
    let lot = lot
        .await
        .map_err(AreaError::describe("cannot load the parked torrents"))?;
    ports.offer::<Arc<dyn Parking>>(lot.clone());
    let sweeping = lot.clone();
    let area = Area::new(&AREA, routes().with_state(lot.clone()))
        .looping(ParkingLot::SWEEPS, move |stop| sweeping.clone().sweeps_loop(stop))
        .closing(lot);
    Ok(area)
}

#[async_trait]
impl Closing for ParkingLot {
    fn stop(&self) {
        // The method of the same name, which is the area's own.
        ParkingLot::stop(self);
    }
}
