//! Titledb as an area of the service.

use std::sync::Arc;
use std::time::Duration;

use qm_platform::area::{Area, AreaSpec};

use crate::routes;
use crate::service::Titledb;

pub static AREA: AreaSpec = AreaSpec {
    name: "titledb",
    events: &[],
    // The key is a member of a setting, and settings list their secrets themselves.
    sealed: Vec::new,
    // Titledb belongs to the module of the media manager.
    modules: &[],
    context_actions: &[],
    described: || routes().described(),
};

/// Interval between two checks for a due update.
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
