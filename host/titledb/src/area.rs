//! Titledb as an area of the service.

use std::sync::Arc;
use std::time::Duration;

use qm_platform::area::{Area, AreaSpec};

use crate::routes;
use crate::service::Titledb;

pub static AREA: AreaSpec = AreaSpec {
    name: "titledb",
    events: &[],
    // The key is a member of a setting, and those are known already.
    sealed: Vec::new,
    // The media manager is a module once its area is there; this is a part of it.
    modules: &[],
    context_actions: &[],
    described: || routes().described(),
};

/// From look to look at whether an update is due.
const UPDATES: (&str, Duration) = ("titledb.auto_update", Duration::from_hours(1));

/// The started area.
pub fn area(titledb: &Arc<Titledb>) -> Area {
    let updating = titledb.clone();
    Area::new(&AREA, routes().with_state(titledb.clone())).looping(UPDATES, move |stop| {
        let titledb = updating.clone();
        async move {
            loop {
                if let Err(error) = titledb.tick().await {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "titledb cannot look for updates"
                    );
                }
                let pause = tokio::time::sleep(UPDATES.1);
                if stop.run_until_cancelled(pause).await.is_none() {
                    return;
                }
            }
        }
    })
}
