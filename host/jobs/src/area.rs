//! Jobs as an area of the service.

use std::sync::Arc;

use async_trait::async_trait;
use qm_platform::area::{Area, AreaSpec, Closing};

use crate::{Jobs, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "jobs",
    events: &[],
    sealed: Vec::new,
    modules: &[],
    described: || routes().described(),
};

/// The started area. Its loops run from [`Jobs::start`] on.
pub fn area(jobs: &Jobs) -> Area {
    Area::new(&AREA, routes().with_state(jobs.clone())).closing(Arc::new(jobs.clone()))
}

#[async_trait]
impl Closing for Jobs {
    fn stop(&self) {
        self.drain();
    }

    /// Its leases are prolonged by a loop, so it goes before those.
    async fn settle(&self) {
        self.shutdown().await;
    }
}
