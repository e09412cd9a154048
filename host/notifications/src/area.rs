//! Notifications as an area of the service.

use std::sync::Arc;

use qm_kernel::Permission;
use qm_platform::area::{Area, AreaError, AreaSpec, Make, MenuEntry, Module};
use qm_platform::notification::NotificationCatalogue;
use qm_platform::{Ground, People, Ports};
use qm_ports::action::HouseFirst;
use qm_ports::channel::Channels;
use qm_realtime::Hub;

use crate::model::catalogue::NOTICE;
use crate::repo::sealed::ChannelSecrets;
use crate::service::dispatch::Dispatch;
use crate::{Notifications, NotificationsDeps, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "notifications",
    events: &[],
    sealed: || vec![Arc::new(ChannelSecrets)],
    module: "system",
    modules: &[Module {
        id: "notifications",
        place: 90,
        name: "Notifications",
        about: "What people are told, in the inbox and by channels of their own.",
        needs: &[],
        families: &["notifications."],
        menu: &[MenuEntry {
            label: "Notifications",
            icon: "Bell",
            path: "/account/notifications",
            permission: Permission::NotificationsViewOwn,
        }],
        features: &["inbox", "preferences", "channels"],
    }],
    context_actions: &[],
    notifications: &[NOTICE],
    described: || routes().described(),
    after: &[],
    make: Make::Plain(make),
};

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let notifications = Notifications::new(NotificationsDeps {
        ground: ground.clone(),
        people: ports.get::<Arc<dyn People>>()?,
        hub: ports.get::<Hub>()?,
        channels: ports.get::<Arc<dyn Channels>>()?,
        catalogue: ports.get::<NotificationCatalogue>()?,
    })?;
    ports.get::<Arc<HouseFirst>>()?.add(&notifications);
    Ok(area(&notifications))
}

/// Area with its routes and loops.
fn area(notifications: &Arc<Notifications>) -> Area {
    let worker = notifications.clone();
    let area = Area::new(&AREA, routes().with_state(notifications.clone()))
        .looping(Notifications::WORKER, move |stop| {
            worker.clone().worker_loop(stop)
        });
    let consumers = Dispatch::for_catalogue(notifications).into_iter();
    consumers.fold(area, |area, consumer| area.consuming(Arc::new(consumer)))
}
