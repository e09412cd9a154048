//! The file manager as an area of the service.

use std::sync::Arc;

use async_trait::async_trait;
use qm_confined::ServerPlaces;
use qm_jobs::Jobs;
use qm_kernel::Permission;
use qm_platform::area::{Area, AreaError, AreaSpec, Closing, ContextAction, Make, MenuEntry, Module};
use qm_platform::{Ground, Ports};
use qm_ports::carry::DataMover;
use qm_ports::trash::FileTrash;
use qm_ports::{DefaultRoot, Holders, TorrentPayloads};
use qm_realtime::Hub;

use crate::{EVENTS, Files, FilesDeps, StreamConfig, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "files",
    events: EVENTS,
    sealed: Vec::new,
    module: "system",
    modules: &[Module {
        id: "files",
        place: 60,
        name: "Files",
        about: "The files below the configured roots: browsing, changes, trash and streaming.",
        needs: &["users", "settings"],
        families: &["files."],
        menu: &[MenuEntry {
            label: "Files",
            icon: "Folder",
            path: "/files",
            permission: Permission::FilesView,
        }],
        features: &["browse", "operations", "trash", "preview", "stream"],
    }],
    context_actions: CONTEXT_ACTIONS,
    notifications: &[],
    described: || routes().described(),
    after: &["torrents", "jobs"],
    make: Make::Async(|ground, ports| Box::pin(make(ground, ports))),
};

/// Actions of the context menu, in the order in which toolbars show them.
static CONTEXT_ACTIONS: &[ContextAction] = &[
    ContextAction::new(
        "files.open",
        ("media", FILE),
        &[Permission::FilesView],
        ("FolderOpen", 10),
    )
    .arity("single")
    .capability("openable"),
    ContextAction::new(
        "files.preview",
        ("media", FILE),
        &[Permission::FilesPreview],
        ("Eye", 20),
    )
    .arity("single")
    .capability("readable"),
    ContextAction::new(
        "files.download",
        ("export", FILE),
        &[Permission::FilesDownload],
        ("Download", 10),
    )
    .arity("single")
    .capability("readable"),
    ContextAction::new(
        "files.rename",
        UPKEEP,
        &[Permission::FilesRename],
        ("PenLine", 10),
    )
    .arity("single"),
    ContextAction::new(
        "files.move",
        UPKEEP,
        &[Permission::FilesMove, Permission::FilesBulkActions],
        ("FolderInput", 20),
    ),
    ContextAction::new(
        "files.copy",
        UPKEEP,
        &[Permission::FilesCopy, Permission::FilesBulkActions],
        ("Copy", 30),
    ),
    ContextAction::new(
        "files.cleanup",
        UPKEEP,
        &[Permission::FilesDelete, Permission::FilesBulkActions],
        ("Sparkles", 40),
    ),
    ContextAction::new(
        "files.delete",
        UPKEEP,
        &[Permission::FilesDelete, Permission::FilesBulkActions],
        ("Trash2", 90),
    )
    .destructive(),
];

const FILE: &str = "file";
const UPKEEP: (&str, &str) = ("maintenance", FILE);

/// The area, made from the ports of those before it.
async fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let places = ports.get::<ServerPlaces>()?;
    let files = Files::new(FilesDeps {
        ground: ground.clone(),
        jobs: ports.get::<Jobs>()?,
        hub: ports.get::<Hub>()?,
        payloads: ports.get::<Arc<dyn TorrentPayloads>>()?,
        holders: ports.get::<Arc<dyn Holders>>()?,
        streaming: ports.get::<StreamConfig>()?,
        file_roots: places.roots,
        own: places.own,
    });
    // Settles what a crash left open.
    let recovered = files.recover().await;
    recovered.map_err(AreaError::describe("cannot check the trash of the file manager"))?;
    ports.offer(files.clone());
    ports.offer::<Arc<dyn DataMover>>(files.clone());
    ports.offer::<Arc<dyn DefaultRoot>>(files.clone());
    ports.offer::<Arc<dyn FileTrash>>(files.clone());
    Ok(area(&files))
}

/// Area with its routes and loops.
fn area(files: &Arc<Files>) -> Area {
    let kept = files.clone();
    Area::new(&AREA, routes().with_state(files.clone()))
        .looping(Files::UPKEEP, move |stop| kept.clone().upkeep_loop(stop))
        .closing(files.clone())
}

#[async_trait]
impl Closing for Files {
    /// A request waits for its file operation: none is to keep the others waiting.
    fn stop(&self) {
        Files::stop(self);
    }

    async fn close(&self) {
        self.shutdown().await;
    }
}
