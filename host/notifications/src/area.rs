//! Notifications as an area of the service.

use std::sync::Arc;

use qm_kernel::Permission;
use qm_platform::area::{Area, AreaSpec, MenuEntry, Module};

use crate::repo::sealed::ChannelSecrets;
use crate::service::dispatch::Dispatch;
use crate::{Notifications, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "notifications",
    events: &[],
    sealed: || vec![Arc::new(ChannelSecrets)],
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
    described: || routes().described(),
};

/// The started area.
pub fn area(notifications: &Arc<Notifications>) -> Area {
    let worker = notifications.clone();
    Area::new(&AREA, routes().with_state(notifications.clone()))
        .looping(Notifications::WORKER, move |stop| {
            worker.clone().worker_loop(stop)
        })
        .consuming(Arc::new(Dispatch(notifications.clone())))
}
