//! Saved views as an area of the service.

use qm_platform::area::{Area, AreaSpec, Make};

use crate::routes;
use crate::service::Views;

pub static AREA: AreaSpec = AreaSpec {
    name: "views",
    events: &[],
    notifications: &[],
    sealed: Vec::new,
    module: "torrents",
    modules: &[],
    context_actions: &[],
    described: || routes().described(),
    after: &[],
    make: Make::Plain(|ground, _| {
        let views = Views::new(ground.clone());
        Ok(Area::new(&AREA, routes().with_state(views)))
    }),
};
