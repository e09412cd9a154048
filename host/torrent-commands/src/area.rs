//! Commands of torrents as an area of the service.

use std::sync::Arc;

use qm_engines::Engines;
use qm_jobs::Jobs;
use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::{Ground, Ports};
use qm_ports::action::{HouseFirst, TagKeeper};
use qm_ports::carry::DataMover;
use qm_torrent_data::TorrentData;

use crate::routes;
use crate::service::{Deps, TorrentCommands};

pub static AREA: AreaSpec = AreaSpec {
    name: "torrent_commands",
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
    let commands = TorrentCommands::new(Deps {
        ground: ground.clone(),
        jobs: ports.get::<Jobs>()?,
        engines: ports.get::<Arc<Engines>>()?,
        data: ports.get::<Arc<TorrentData>>()?,
        tags: ports.get::<Arc<dyn TagKeeper>>()?,
        mover: ports.get::<Arc<dyn DataMover>>()?,
    });
    ports.get::<Arc<HouseFirst>>()?.add(&commands);
    let area = Area::new(&AREA, routes().with_state(commands.clone()));
    Ok(area.closing(commands))
}
