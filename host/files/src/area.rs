//! The file manager as an area of the service.

use std::sync::Arc;

use async_trait::async_trait;
use qm_kernel::Permission;
use qm_platform::area::{Area, AreaSpec, Closing, MenuEntry, Module};

use crate::{EVENTS, Files, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "files",
    events: EVENTS,
    sealed: Vec::new,
    modules: &[Module {
        id: "files",
        place: 60,
        name: "Files",
        about: "The files below the configured roots: browsing, changes, trash and streaming.",
        needs: &["users", "settings"],
        families: &["files."],
        menu: &[MenuEntry {
            label: "Files",
            path: "/files",
            permission: Permission::FilesView,
        }],
        features: &["browse", "operations", "trash", "preview", "stream"],
    }],
    described: || routes().described(),
};

/// The started area.
pub fn area(files: &Arc<Files>) -> Area {
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
