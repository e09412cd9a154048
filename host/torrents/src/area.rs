//! Torrents as an area of the service.

use std::sync::Arc;

use async_trait::async_trait;
use qm_confined::ServerPlaces;
use qm_engines::{EVENTS, EngineSecrets, Engines};
use qm_kernel::Permission;
use qm_net::Net;
use qm_platform::area::{Area, AreaError, AreaSpec, Closing, ContextAction, Make, MenuEntry, Module};
use qm_platform::notification::{Audience, CardBuilder, Category, NotificationSpec, Severity};
use qm_platform::{Ground, Ports};
use qm_ports::action::{TagKeeper, TorrentHands};
use qm_ports::engine::EngineKinds;
use qm_ports::intake::{IntakeTellers, TorrentIntake};
use qm_ports::list::TorrentLists;
use qm_ports::preferences::ClientPreferences;
use qm_ports::rules::RuleWatch;
use qm_ports::seed::SeedIntake;
use qm_ports::sight::EngineSights;
use qm_ports::{EngineProbes, TorrentPayloads};
use qm_realtime::Hub;
use qm_torrent_data::TorrentData;

use crate::{Torrents, TorrentsDeps, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "torrents",
    events: EVENTS,
    sealed: || vec![Arc::new(EngineSecrets)],
    module: "torrents",
    modules: &[
        Module {
            id: "dashboard",
            place: 10,
            name: "Dashboard",
            about: "What the torrent clients are doing, and what happened last.",
            needs: &[],
            families: &[],
            menu: &[MenuEntry {
                label: "Dashboard",
                icon: "LayoutDashboard",
                path: "/dashboard",
                permission: Permission::TorrentsView,
            }],
            features: &["summary", "activity", "search"],
        },
        Module {
            id: "torrents",
            place: 50,
            name: "Torrents",
            about: "Torrent clients as engines, and the torrents in them.",
            needs: &["users", "settings"],
            families: &["torrents.", "engines.", "categories.", "tags."],
            menu: &[
                MenuEntry {
                    label: "Torrents",
                    icon: "Download",
                    path: "/torrents",
                    permission: Permission::TorrentsView,
                },
                MenuEntry {
                    label: "Engines",
                    icon: "Plug",
                    path: "/engines",
                    permission: Permission::SystemView,
                },
            ],
            features: &["engines", "torrents", "categories", "tags"],
        },
    ],
    context_actions: CONTEXT_ACTIONS,
    notifications: NOTIFICATIONS,
    described: || routes().described(),
    after: &[],
    make: Make::Async(|ground, ports| Box::pin(make(ground, ports))),
};

/// Events that people can be told of.
const NOTIFICATIONS: &[NotificationSpec] = &[
    NotificationSpec::new(
        ("torrent.completed", 40),
        (Category::Downloads, Severity::Success),
        Audience::owner_or_holders(Permission::TorrentsView),
        CardBuilder::Torrent,
    ),
    NotificationSpec::new(
        ("torrent.failed", 50),
        (Category::Downloads, Severity::Error),
        Audience::owner_or_holders(Permission::TorrentsView),
        CardBuilder::Torrent,
    ),
];

/// In the order in which toolbars are given them.
static CONTEXT_ACTIONS: &[ContextAction] = &[
    ContextAction::new(
        "torrents.resume",
        MEDIA,
        &[Permission::TorrentsResume],
        ("Play", 10),
    )
    .capability("resume")
    .shown_disabled(),
    ContextAction::new(
        "torrents.pause",
        MEDIA,
        &[Permission::TorrentsPause],
        ("Pause", 20),
    )
    .capability("pause")
    .shown_disabled(),
    ContextAction::new(
        "torrents.stop",
        MEDIA,
        &[Permission::TorrentsStop],
        ("Square", 30),
    )
    .capability("stop")
    .shown_disabled(),
    ContextAction::new(
        "torrents.recheck",
        UPKEEP,
        &[Permission::TorrentsRecheck],
        ("RefreshCw", 10),
    )
    .capability("recheck")
    .shown_disabled(),
    ContextAction::new(
        "torrents.remove",
        UPKEEP,
        &[Permission::TorrentsDelete],
        ("Trash2", 90),
    )
    .destructive()
    .shown_disabled(),
    ContextAction::new(
        "torrents.removeData",
        UPKEEP,
        &[Permission::TorrentsDeleteData],
        ("Trash2", 91),
    )
    .destructive()
    .operations_only()
    .shown_disabled(),
];

const MEDIA: (&str, &str) = ("media", "torrent");
const UPKEEP: (&str, &str) = ("maintenance", "torrent");

/// The area, made from the ports of those before it.
async fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let places = ports.get::<ServerPlaces>()?;
    let torrents = Torrents::start(TorrentsDeps {
        ground: ground.clone(),
        kinds: ports.get::<Arc<dyn EngineKinds>>()?,
        net: ports.get::<Net>()?,
        hub: ports.get::<Hub>()?,
        file_roots: places.roots,
        own: places.own,
        watch: ports.get::<Arc<dyn RuleWatch>>()?,
    });
    let torrents = torrents
        .await
        .map_err(AreaError::describe("cannot load the configured engines"))?;
    ports.offer(torrents.clone());
    ports.offer(torrents.engines.clone());
    ports.offer(torrents.data.clone());
    ports.offer::<Arc<dyn TorrentPayloads>>(torrents.clone());
    ports.offer::<Arc<dyn TorrentHands>>(torrents.clone());
    ports.offer::<Arc<dyn TagKeeper>>(torrents.clone());
    ports.offer::<Arc<dyn TorrentIntake>>(torrents.clone());
    ports.offer::<Arc<IntakeTellers>>(torrents.tellers.clone());
    ports.offer::<Arc<dyn SeedIntake>>(torrents.clone());
    ports.offer::<Arc<dyn TorrentLists>>(torrents.engines.clone());
    ports.offer::<Arc<dyn EngineProbes>>(torrents.engines.clone());
    ports.offer::<Arc<dyn EngineSights>>(torrents.engines.clone());
    ports.offer::<Arc<dyn ClientPreferences>>(torrents.data.clone());
    Ok(area(&torrents))
}

/// Area with its routes and loops.
fn area(torrents: &Arc<Torrents>) -> Area {
    let (moving, removing) = (torrents.data.clone(), torrents.data.clone());
    let kept = torrents.engines.clone();
    Area::new(&AREA, routes().with_state(torrents.clone()))
        .looping(TorrentData::MOVES, move |stop| moving.clone().moves_loop(stop))
        .looping(TorrentData::REMOVALS, move |stop| {
            removing.clone().removals_loop(stop)
        })
        .looping(Engines::UPKEEP, move |stop| kept.clone().upkeep_loop(stop))
        .closing(torrents.clone())
}

#[async_trait]
impl Closing for Torrents {
    async fn close(&self) {
        self.shutdown().await;
    }
}
