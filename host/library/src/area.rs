//! The media library as an area of the service.

use std::sync::Arc;

use qm_kernel::Permission;
use qm_platform::area::{Area, AreaSpec, MenuEntry, Module};

use crate::events::EVENTS;
use crate::routes;
use crate::service::{FileEvents, Library};

pub static AREA: AreaSpec = AreaSpec {
    name: "library",
    events: EVENTS,
    sealed: Vec::new,
    modules: &[Module {
        id: "media_manager",
        place: 100,
        name: "Media",
        about: "What lies in the media libraries, and what it is.",
        needs: &["files"],
        families: &["media_manager."],
        menu: &[MenuEntry {
            label: "Media",
            path: "/media",
            permission: Permission::MediaManagerView,
        }],
        features: &["libraries", "items", "series"],
    }],
    context_actions: &[],
    described: || routes().described(),
};

/// The started area.
pub fn area(library: &Arc<Library>) -> Area {
    let (scanning, watching, probing) = (library.clone(), library.clone(), library.clone());
    let moving = library.clone();
    Area::new(&AREA, routes().with_state(library.clone()))
        .looping(Library::SCANS, move |stop| scanning.clone().scans_loop(stop))
        .looping(Library::PROBES, move |stop| probing.clone().probes_loop(stop))
        .looping(Library::WATCHES, move |stop| watching.clone().watch_loop(stop))
        .looping(Library::MOVES, move |stop| moving.clone().moves_loop(stop))
        .consuming(Arc::new(FileEvents(library.clone())))
}
