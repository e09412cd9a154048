//! Automation as an area of the service.

use std::sync::Arc;

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_kernel::Permission;
use qm_platform::area::{Area, AreaError, AreaSpec, Make, MenuEntry, Module};
use qm_platform::{Ground, Ports, Triggers};
use qm_ports::action::HouseFirst;
use qm_ports::list::TorrentLists;
use serde_json::{Map, Value};

use crate::service::edges::{Edges, Occasions};
use crate::service::loops::{EVENTS, NOTIFICATIONS};
use crate::{Automation, AutomationDeps, RuleBook, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "automation",
    events: EVENTS,
    sealed: Vec::new,
    module: "system",
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
    notifications: NOTIFICATIONS,
    described: || routes().described(),
    after: &["torrents"],
    make: Make::Async(|ground, ports| Box::pin(make(ground, ports))),
};

/// The area, made from the ports of those before it.
async fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let automation = Automation::start(AutomationDeps {
        ground: ground.clone(),
        actions: ports.get::<Arc<HouseFirst>>()?,
        torrents: ports.get::<Arc<dyn TorrentLists>>()?,
        book: ports.get::<Arc<RuleBook>>()?,
    });
    let automation = automation.await.map_err(AreaError::describe(
        "cannot read what waits to be run for automation rules",
    ))?;
    ports.offer::<Arc<dyn Triggers>>(Arc::new(RuleTriggers(automation.clone())));
    Ok(area(&automation))
}

/// Area with its routes and loops.
fn area(automation: &Arc<Automation>) -> Area {
    let (running, filling, timing) = (automation.clone(), automation.clone(), automation.clone());
    let area = Area::new(&AREA, routes().with_state(automation.clone()))
        .looping(Automation::RUNNER, move |stop| running.clone().runner_loop(stop))
        .looping(Automation::BACKFILL, move |stop| {
            filling.clone().backfill_loop(stop)
        })
        .looping(Automation::SCHEDULES, move |stop| {
            timing.clone().schedule_loop(stop)
        })
        .consuming(Arc::new(Edges(automation.clone())));
    let occasions = Occasions::for_triggers(automation).into_iter();
    occasions.fold(area, |area, consumer| area.consuming(Arc::new(consumer)))
}

/// Triggers of other areas, for rules.
struct RuleTriggers(Arc<Automation>);

#[async_trait]
impl Triggers for RuleTriggers {
    async fn fire(&self, tx: &mut Tx, trigger: &str, context: &Map<String, Value>) -> Result<(), DbError> {
        self.0.fire(tx, trigger, None, context).await
    }
}
