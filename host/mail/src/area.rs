//! Mail as an area of the service.

use std::sync::Arc;

use qm_net::Net;
use qm_platform::area::{Area, AreaError, AreaSpec, Make};
use qm_platform::{Ground, Ports};
use qm_ports::mail::Mailer;

use crate::{Mail, MailDeps, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "mail",
    events: &[],
    // The password is a member of a setting, and settings list their secrets themselves.
    sealed: Vec::new,
    module: "system",
    modules: &[],
    context_actions: &[],
    notifications: &[],
    described: || routes().described(),
    after: &[],
    make: Make::Plain(make),
};

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let mail = Mail::new(MailDeps {
        ground: ground.clone(),
        net: ports.get::<Net>()?,
    });
    ports.offer::<Arc<dyn Mailer>>(mail.clone());
    Ok(area(&mail))
}

/// Area with its routes and loops.
fn area(mail: &Arc<Mail>) -> Area {
    Area::new(&AREA, routes().with_state(mail.clone()))
}
