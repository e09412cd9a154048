//! Folders of shows as an area of the service.

use std::sync::Arc;

use async_trait::async_trait;
use qm_confined::{Roots, ServerPlaces};
use qm_platform::area::{Area, AreaError, AreaSpec, Closing, Make};
use qm_platform::{Ground, Ports};
use qm_ports::folders::ShowFolders;
use qm_ports::media_server::MediaServers;
use qm_ports::trash::FileTrash;

use crate::routes;
use crate::service::{Folders, FoldersDeps};

pub static AREA: AreaSpec = AreaSpec {
    name: "show_folders",
    events: &[],
    sealed: Vec::new,
    module: "media_manager",
    modules: &[],
    context_actions: &[],
    notifications: &[],
    described: || routes().described(),
    after: &["files", "media_servers", "library"],
    make: Make::Plain(make),
};

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let places = ports.get::<ServerPlaces>()?;
    let folders = Folders::new(FoldersDeps {
        ground: ground.clone(),
        roots: Roots::hiding(&places.roots, &places.own),
        shows: ports.get::<Arc<dyn ShowFolders>>()?,
        trash: ports.get::<Arc<dyn FileTrash>>()?,
        servers: ports.get::<Arc<dyn MediaServers>>()?,
    });
    let kept = folders.clone();
    Ok(Area::new(&AREA, routes().with_state(folders.clone()))
        .looping(Folders::UPKEEP, move |stop| kept.clone().upkeep_loop(stop))
        .closing(folders))
}

#[async_trait]
impl Closing for Folders {
    /// A merge ends after the step it is at, and goes on when it is asked for again.
    fn stop(&self) {
        Folders::stop(self);
    }

    async fn close(&self) {
        self.wait_for_merge().await;
    }
}
