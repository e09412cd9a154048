//! Indexers as an area of the service.

use std::sync::Arc;

use qm_platform::area::{Area, AreaSpec};

use crate::repo::sealed::IndexerSecrets;
use crate::{Indexers, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "indexers",
    events: &[],
    sealed: || vec![Arc::new(IndexerSecrets)],
    modules: &[],
    context_actions: &[],
    described: || routes().described(),
};

/// The started area.
pub fn area(indexers: &Arc<Indexers>) -> Area {
    Area::new(&AREA, routes().with_state(indexers.clone()))
}
