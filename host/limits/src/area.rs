//! Limits as an area of the service.

use std::sync::Arc;

use qm_engines::Engines;
use qm_kernel::Permission;
use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::notification::{Audience, CardBuilder, Category, NotificationSpec, Severity};
use qm_platform::{Ground, Ports};
use qm_ports::action::TorrentHands;
use qm_realtime::Hub;

use crate::service::EVENTS;
use crate::{Limits, LimitsDeps, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "limits",
    events: EVENTS,
    sealed: Vec::new,
    module: "torrents",
    modules: &[],
    context_actions: &[],
    notifications: NOTIFICATIONS,
    described: || routes().described(),
    after: &["torrents"],
    make: Make::Async(|ground, ports| Box::pin(make(ground, ports))),
};

/// Events that people can be told of.
const NOTIFICATIONS: &[NotificationSpec] = &[
    NotificationSpec::new(
        ("torrent.limit_reached", 52),
        (Category::Downloads, Severity::Info),
        Audience::owner_or_holders(Permission::TorrentsView),
        CardBuilder::Torrent,
    )
    .on_request(),
    NotificationSpec::new(
        ("torrent.limit_failed", 54),
        (Category::Downloads, Severity::Warning),
        Audience::owner_or_holders(Permission::TorrentsView),
        CardBuilder::Torrent,
    ),
];

/// The area, made from the ports of those before it.
async fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let limits = Limits::start(LimitsDeps {
        ground: ground.clone(),
        engines: ports.get::<Arc<Engines>>()?,
        hands: ports.get::<Arc<dyn TorrentHands>>()?,
        hub: ports.get::<Hub>()?,
    });
    let limits = limits.await.map_err(AreaError::describe(
        "cannot load the limits of torrents and engines",
    ))?;
    let (sharing, speeds) = (limits.clone(), limits.clone());
    let area = Area::new(&AREA, routes().with_state(limits))
        .looping(Limits::SHARING, move |stop| sharing.clone().sharing_loop(stop))
        .looping(Limits::SPEEDS, move |stop| speeds.clone().speed_loop(stop));
    Ok(area)
}
