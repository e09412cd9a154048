//! Metadata as an area of the service.

use std::sync::Arc;

use qm_platform::area::{Area, AreaSpec};

use crate::{MetadataArea, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "metadata",
    events: &[],
    // The keys are settings, which list their secrets themselves.
    sealed: Vec::new,
    // Metadata belongs to the module of the media manager.
    modules: &[],
    context_actions: &[],
    described: || routes().described(),
};

/// The started area.
pub fn area(metadata: &Arc<MetadataArea>) -> Area {
    Area::new(&AREA, routes().with_state(metadata.clone()))
}
