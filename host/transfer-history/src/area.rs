//! Transfer history as an area of the service.

use std::sync::Arc;

use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::{Ground, Ports};
use qm_ports::sight::EngineSights;

use crate::routes;
use crate::service::TransferHistory;

pub static AREA: AreaSpec = AreaSpec {
    name: "transfer_history",
    events: &[],
    notifications: &[],
    sealed: Vec::new,
    module: "torrents",
    modules: &[],
    context_actions: &[],
    described: || routes().described(),
    after: &["torrents"],
    make: Make::Plain(make),
};

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let history = TransferHistory::new(ground.clone(), ports.get::<Arc<dyn EngineSights>>()?);
    let (counting, kept) = (history.clone(), history.clone());
    let area = Area::new(&AREA, routes().with_state(history));
    Ok(area
        .looping(TransferHistory::COUNTING, move |stop| {
            counting.clone().counting_loop(stop)
        })
        .looping(TransferHistory::UPKEEP, move |stop| {
            kept.clone().upkeep_loop(stop)
        }))
}
