//! Mail as an area of the service.

use std::sync::Arc;

use qm_platform::area::{Area, AreaSpec};

use crate::{Mail, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "mail",
    events: &[],
    // The password is a member of a setting, and settings list their secrets themselves.
    sealed: Vec::new,
    modules: &[],
    context_actions: &[],
    described: || routes().described(),
};

/// The started area.
pub fn area(mail: &Arc<Mail>) -> Area {
    Area::new(&AREA, routes().with_state(mail.clone()))
}
