//! Routes of the caller's own notifications: parse, call the service, shape.

mod channels;
mod faults;
mod inbox;
mod preferences;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::service::Notifications;

type App = axum::extract::State<Arc<Notifications>>;

/// Requests per client address and minute that send a message to an entered destination.
const SENDS: u32 = 10;
/// Requests per client address and minute that ask a service for an arrived code.
const LOOKS: u32 = 30;

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Notifications>> {
    let own = P::NotificationsChannelsManageOwn;
    Routes::new()
        .add(routes!(preferences::list_events).need(P::NotificationsViewOwn))
        .add(routes!(preferences::list_preferences).need(P::NotificationsViewOwn))
        .add(routes!(preferences::set_preference).need(P::NotificationsManageOwn))
        .add(routes!(preferences::set_preferences).need(P::NotificationsManageOwn))
        .add(routes!(channels::list_channels).need(P::NotificationsViewOwn))
        .add(routes!(channels::set_bot).need(own).limit(SENDS))
        .add(routes!(channels::link_bot).need(own))
        .add(routes!(channels::confirm_bot).need(own).limit(LOOKS))
        // A specific path hides the general one for all methods.
        .add(routes!(channels::connect_email).need(own).limit(SENDS))
        .add(routes!(channels::disconnect_email).need(own))
        .add(routes!(channels::connect_chat).need(own).limit(SENDS))
        .add(routes!(channels::disconnect_chat).need(own))
        .add(routes!(channels::connect).need(own).limit(SENDS))
        .add(routes!(channels::disconnect).need(own))
        .add(routes!(channels::link).need(own))
        .add(routes!(channels::confirm).need(own).limit(LOOKS))
        .add(routes!(channels::test_channel).need(own).limit(SENDS))
        .add(routes!(inbox::list_inbox).need(P::NotificationsViewOwn))
        .add(routes!(inbox::count_unread).need(P::NotificationsViewOwn))
        .add(routes!(inbox::read_all).need(P::NotificationsManageOwn))
        .add(routes!(inbox::mark_read).need(P::NotificationsManageOwn))
        .add(routes!(inbox::mark_unread).need(P::NotificationsManageOwn))
        .add(routes!(inbox::archive).need(P::NotificationsManageOwn))
}
