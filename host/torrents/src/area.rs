//! Torrents as an area of the service.

use std::sync::Arc;

use async_trait::async_trait;
use qm_kernel::Permission;
use qm_platform::area::{Area, AreaSpec, Closing, ContextAction, MenuEntry, Module};

use crate::{EVENTS, EngineSecrets, Torrents, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "torrents",
    events: EVENTS,
    sealed: || vec![Arc::new(EngineSecrets)],
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
    described: || routes().described(),
};

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

/// The started area.
pub fn area(torrents: &Arc<Torrents>) -> Area {
    let (moving, removing, kept) = (torrents.clone(), torrents.clone(), torrents.clone());
    Area::new(&AREA, routes().with_state(torrents.clone()))
        .looping(Torrents::MOVES, move |stop| moving.clone().moves_loop(stop))
        .looping(Torrents::REMOVALS, move |stop| {
            removing.clone().removals_loop(stop)
        })
        .looping(Torrents::UPKEEP, move |stop| kept.clone().upkeep_loop(stop))
        .closing(torrents.clone())
}

#[async_trait]
impl Closing for Torrents {
    async fn close(&self) {
        self.shutdown().await;
    }
}
