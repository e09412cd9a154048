//! The media library as an area of the service.

use std::sync::Arc;

use qm_confined::ServerPlaces;
use qm_jobs::Jobs;
use qm_kernel::Permission;
use qm_platform::Triggers;
use qm_platform::area::{Area, AreaError, AreaSpec, ContextAction, Make, MenuEntry, Module};
use qm_platform::notification::{Audience, CardBuilder, Category, NotificationSpec, Severity};
use qm_platform::{Ground, Ports};
use qm_ports::action::{HouseFirst, MediaHands, TorrentHands};
use qm_ports::beside::Beside;
use qm_ports::carry::DataMover;
use qm_ports::folders::ShowFolders;
use qm_ports::helpers::MediaHelpers;
use qm_ports::inventory::MediaStock;
use qm_ports::media_server::MediaServers;
use qm_ports::metadata::MetadataChain;
use qm_ports::notes::{MediaNotes, NoteTaker};
use qm_ports::shelves::MediaShelves;
use qm_ports::subjects::MediaSubjects;
use qm_ports::titledb::TitleData;
use qm_ports::{Holders, TorrentPayloads};
use qm_realtime::Hub;

use qm_media::service::Pace;
use qm_orders::{EVENTS, Outside};
use qm_probe::{Prober, Probing};
use qm_scan::Scanner;

use crate::routes;
use crate::service::{FileEvents, Library, LibraryDeps};

pub static AREA: AreaSpec = AreaSpec {
    name: "library",
    events: EVENTS,
    sealed: Vec::new,
    module: "media_manager",
    modules: &[Module {
        id: "media_manager",
        place: 100,
        name: "Media",
        about: "What lies in the media libraries, and what it is.",
        needs: &["files"],
        families: &["media_manager."],
        menu: &[MenuEntry {
            label: "Media",
            icon: "Library",
            path: "/media",
            permission: Permission::MediaManagerView,
        }],
        features: &["libraries", "items", "series"],
    }],
    context_actions: CONTEXT_ACTIONS,
    notifications: NOTIFICATIONS,
    described: routes::described,
    after: &[
        "torrents",
        "files",
        "jobs",
        "automation",
        "titledb",
        "media_servers",
        "metadata",
    ],
    make: Make::Plain(make),
};

/// Events that people can be told of.
const NOTIFICATIONS: &[NotificationSpec] = &[NotificationSpec::new(
    ("media_server.refresh_failed", 30),
    (Category::Providers, Severity::Warning),
    Audience::holders(Permission::MediaServerAnalyticsManageConnections),
    CardBuilder::Provider,
)];

const ITEM: &str = "media_item";
const UPKEEP: (&str, &str) = ("maintenance", ITEM);
const DESTRUCTIVE: (&str, &str) = ("destructive", ITEM);
/// Most items of one request.
const MOST: u32 = 1000;

/// Actions on items, in the order of the toolbar.
static CONTEXT_ACTIONS: &[ContextAction] = &[
    ContextAction::new(
        "media.library.scan",
        UPKEEP,
        &[Permission::MediaManagerScan],
        ("ScanLine", 10),
    )
    .about_nothing()
    .goes_on(),
    ContextAction::new(
        "media.metadata.refresh",
        ("metadata", ITEM),
        &[Permission::MediaManagerEditMetadata],
        ("RefreshCw", 10),
    )
    .goes_on()
    .at_most(MOST),
    ContextAction::new(
        "media.item.lock",
        UPKEEP,
        &[Permission::MediaManagerEditMetadata],
        ("Lock", 30),
    )
    .at_most(MOST),
    ContextAction::new(
        "media.item.unlock",
        UPKEEP,
        &[Permission::MediaManagerEditMetadata],
        ("Unlock", 40),
    )
    .at_most(MOST),
    ContextAction::new(
        "media.item.move",
        ("media", ITEM),
        &[Permission::MediaManagerMoveFiles],
        ("FolderInput", 50),
    )
    .at_most(MOST),
    ContextAction::new(
        "media.item.remove",
        DESTRUCTIVE,
        &[Permission::MediaManagerDelete],
        ("ListX", 60),
    )
    .destructive()
    .at_most(MOST),
    ContextAction::new(
        "media.item.deleteFiles",
        DESTRUCTIVE,
        &[Permission::MediaManagerDeleteFiles],
        ("Trash2", 70),
    )
    .destructive()
    .at_most(MOST),
];

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let places = ports.get::<ServerPlaces>()?;
    let helpers = Arc::new(MediaHelpers::default());
    let library = Library::new(LibraryDeps {
        ground: ground.clone(),
        jobs: ports.get::<Jobs>()?,
        triggers: ports.get::<Arc<dyn Triggers>>()?,
        helpers: helpers.clone(),
        file_roots: places.roots,
        own: places.own.into_iter().map(|place| place.path).collect(),
        pace: Pace::default(),
        prober: Prober::default(),
        holders: ports.get::<Arc<dyn Holders>>()?,
        hub: ports.get::<Hub>()?,
        titles: ports.get::<Arc<dyn TitleData>>()?,
        outside: Outside {
            mover: ports.get::<Arc<dyn DataMover>>()?,
            payloads: ports.get::<Arc<dyn TorrentPayloads>>()?,
            hands: ports.get::<Arc<dyn TorrentHands>>()?,
            servers: ports.get::<Arc<dyn MediaServers>>()?,
        },
        metadata: ports.get::<Arc<dyn MetadataChain>>()?,
    });
    ports.get::<Arc<HouseFirst>>()?.add(&library.orders);
    ports.offer(helpers);
    ports.offer::<Arc<dyn MediaHands>>(library.orders.clone());
    ports.offer::<Arc<dyn MediaShelves>>(library.catalogue.clone());
    ports.offer::<Arc<dyn MediaNotes>>(library.catalogue.clone());
    ports.offer::<Arc<dyn NoteTaker>>(library.identify.clone());
    ports.offer::<Arc<dyn MediaSubjects>>(library.catalogue.clone());
    ports.offer::<Arc<dyn MediaStock>>(library.catalogue.clone());
    ports.offer::<Arc<dyn ShowFolders>>(library.clone());
    ports.offer::<Arc<Beside>>(library.catalogue.beside());
    Ok(area(&library))
}

/// Area with its routes and loops.
fn area(library: &Arc<Library>) -> Area {
    let scanner = || library.scanner.clone();
    let (scanning, watching, moving) = (scanner(), scanner(), scanner());
    let probing = library.probing.clone();
    Area::new(&AREA, routes::all(library))
        .looping(Scanner::SCANS, move |stop| scanning.clone().scans_loop(stop))
        .looping(Probing::LOOP, move |stop| probing.clone().run_loop(stop))
        .looping(Scanner::WATCHES, move |stop| watching.clone().watch_loop(stop))
        .looping(Scanner::MOVES, move |stop| moving.clone().moves_loop(stop))
        .consuming(Arc::new(FileEvents(library.clone())))
}
