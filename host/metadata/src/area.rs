//! Metadata as an area of the service.

use std::sync::Arc;

use qm_platform::area::{Area, AreaSpec};

use crate::{MetadataArea, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "metadata",
    events: &[],
    // The keys are settings, and those are known already.
    sealed: Vec::new,
    // The media manager is a module once its area is there; this is a part of it.
    modules: &[],
    context_actions: &[],
    described: || routes().described(),
};

/// The started area.
pub fn area(metadata: &Arc<MetadataArea>) -> Area {
    Area::new(&AREA, routes().with_state(metadata.clone()))
}
