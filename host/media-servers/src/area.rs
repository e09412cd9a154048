//! Media servers as an area of the service.

use std::sync::Arc;

use qm_jobs::Jobs;
use qm_kernel::Permission;
use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::notification::{Audience, CardBuilder, Category, NotificationSpec, Severity};
use qm_platform::{Ground, Ports};
use qm_ports::action::HouseFirst;
use qm_ports::media_server::{MediaServerKinds, MediaServers};

use crate::repo::sealed::MediaServerSecrets;
use crate::{Integrations, IntegrationsDeps, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "media_servers",
    events: &[],
    sealed: || vec![Arc::new(MediaServerSecrets)],
    module: "media_server_analytics",
    modules: &[],
    context_actions: &[],
    notifications: NOTIFICATIONS,
    described: || routes().described(),
    after: &["jobs"],
    make: Make::Plain(make),
};

const WATCHING: Audience = Audience::holders(Permission::MediaServerAnalyticsViewLiveActivity);

/// Events that people can be told of. Nothing publishes them yet: they come with the statistics of media servers.
const NOTIFICATIONS: &[NotificationSpec] = &[
    NotificationSpec::new(
        ("media_server.user_started_watching", 10),
        (Category::Playback, Severity::Info),
        WATCHING,
        CardBuilder::Playback,
    )
    .on_request(),
    NotificationSpec::new(
        ("media_server.user_stopped_watching", 20),
        (Category::Playback, Severity::Info),
        WATCHING,
        CardBuilder::Playback,
    )
    .on_request(),
];

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let servers = Integrations::new(IntegrationsDeps {
        ground: ground.clone(),
        kinds: ports.get::<Arc<dyn MediaServerKinds>>()?,
        jobs: ports.get::<Jobs>()?,
    });
    ports.get::<Arc<HouseFirst>>()?.add(&servers);
    ports.offer::<Arc<dyn MediaServers>>(servers.clone());
    Ok(area(&servers))
}

/// Area with its routes and loops.
fn area(servers: &Arc<Integrations>) -> Area {
    let looked_after = servers.clone();
    Area::new(&AREA, routes().with_state(servers.clone())).looping(Integrations::HEALTH, move |stop| {
        looked_after.clone().health_loop(stop)
    })
}
