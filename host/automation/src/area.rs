//! Automation as an area of the service.

use std::sync::Arc;

use qm_kernel::Permission;
use qm_platform::area::{Area, AreaSpec, MenuEntry, Module};

use crate::service::edges::{Edges, Occasions};
use crate::{Automation, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "automation",
    events: &[],
    sealed: Vec::new,
    modules: &[Module {
        id: "automation",
        place: 80,
        name: "Automation",
        about: "Rules that act by themselves.",
        needs: &["torrents"],
        families: &["automation."],
        menu: &[MenuEntry {
            label: "Automation",
            icon: "Workflow",
            path: "/automation",
            permission: Permission::AutomationView,
        }],
        features: &["rules", "preview", "logs"],
    }],
    context_actions: &[],
    described: || routes().described(),
};

/// The started area.
pub fn area(automation: &Arc<Automation>) -> Area {
    let (running, filling) = (automation.clone(), automation.clone());
    Area::new(&AREA, routes().with_state(automation.clone()))
        .looping(Automation::RUNNER, move |stop| running.clone().runner_loop(stop))
        .looping(Automation::BACKFILL, move |stop| {
            filling.clone().backfill_loop(stop)
        })
        .consuming(Arc::new(Edges(automation.clone())))
        .consuming(Arc::new(Occasions(automation.clone())))
}
