//! Titledb as an area of the service.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use qm_confined::ServerPlaces;
use qm_jobs::Jobs;
use qm_kernel::as_error;
use qm_net::Net;
use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::{Ground, Ports};
use qm_ports::shows::ShowProvider;
use qm_ports::titledb::TitleData;
use qm_realtime::Hub;

use crate::routes;
use crate::service::{Titledb, TitledbDeps};

pub static AREA: AreaSpec = AreaSpec {
    name: "titledb",
    events: &[],
    // The key is a member of a setting, and settings list their secrets themselves.
    sealed: Vec::new,
    // The media manager is a module once its area is there; this is a part of it.
    module: "media_manager",
    modules: &[],
    context_actions: &[],
    notifications: &[],
    described: || routes().described(),
    after: &["jobs"],
    make: Make::Plain(make),
};

/// Interval between two checks for a due update.
const UPDATES: (&str, Duration) = ("titledb.auto_update", Duration::from_hours(1));

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let places = ports.get::<ServerPlaces>()?;
    let titledb = Titledb::new(TitledbDeps {
        ground: ground.clone(),
        hub: ports.get::<Hub>()?,
        jobs: ports.get::<Jobs>()?,
        net: ports.get::<Net>()?,
        file_roots: places.roots.iter().map(PathBuf::from).collect(),
        data_dir: places.data_dir,
    });
    ports.offer::<Arc<dyn TitleData>>(titledb.clone());
    ports.offer::<Arc<dyn ShowProvider>>(titledb.clone());
    Ok(area(&titledb))
}

/// Area with its routes and loops.
fn area(titledb: &Arc<Titledb>) -> Area {
    let updating = titledb.clone();
    Area::new(&AREA, routes().with_state(titledb.clone())).looping(UPDATES, move |stop| {
        let titledb = updating.clone();
        async move {
            loop {
                if let Err(error) = titledb.tick().await {
                    tracing::warn!(error = as_error(&error), "titledb cannot look for updates");
                }
                let pause = tokio::time::sleep(UPDATES.1);
                if stop.run_until_cancelled(pause).await.is_none() {
                    return;
                }
            }
        }
    })
}
