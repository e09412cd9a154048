//! Identity as an area of the service.

use std::sync::Arc;

use qm_kernel::Permission;
use qm_platform::area::{Area, AreaError, AreaSpec, Make, MenuEntry, Module};
use qm_platform::notification::{Audience, CardBuilder, Category, NotificationSpec, Severity};
use qm_platform::{Ground, Ports};
use qm_realtime::Hub;

use crate::{EVENTS, Identity, TotpSeeds, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "identity",
    events: EVENTS,
    sealed: || vec![Arc::new(TotpSeeds)],
    module: "system",
    modules: &[Module {
        id: "users",
        place: 20,
        name: "Users",
        about: "Users, roles, two-factor sign-in and API keys.",
        needs: &[],
        families: &["users.", "roles.", "apikeys."],
        menu: &[
            MenuEntry {
                label: "Users",
                icon: "Users",
                path: "/users",
                permission: Permission::UsersView,
            },
            MenuEntry {
                label: "API keys",
                icon: "KeyRound",
                path: "/api-keys",
                permission: Permission::ApikeysManage,
            },
        ],
        features: &["users", "roles", "two-factor", "api-keys"],
    }],
    context_actions: &[],
    notifications: NOTIFICATIONS,
    described: || routes().described(),
    after: &[],
    make: Make::Plain(make),
};

/// Events that people can be told of.
const NOTIFICATIONS: &[NotificationSpec] = &[
    NotificationSpec::new(
        ("security.password_changed", 110),
        (Category::Security, Severity::Warning),
        Audience::AFFECTED,
        CardBuilder::Security,
    ),
    NotificationSpec::new(
        ("security.two_factor_disabled", 120),
        (Category::Security, Severity::Warning),
        Audience::AFFECTED,
        CardBuilder::Security,
    ),
    NotificationSpec::new(
        ("security.api_key_created", 130),
        (Category::Security, Severity::Warning),
        Audience::AFFECTED,
        CardBuilder::Security,
    ),
    NotificationSpec::new(
        ("security.login_failed", 140),
        (Category::Security, Severity::Warning),
        Audience::AFFECTED,
        CardBuilder::Security,
    ),
    NotificationSpec::new(
        ("user.created", 150),
        (Category::Users, Severity::Info),
        Audience::holders(Permission::UsersManage),
        CardBuilder::User,
    ),
    NotificationSpec::new(
        ("user.role_changed", 160),
        (Category::Users, Severity::Warning),
        Audience::holders(Permission::UsersManage),
        CardBuilder::User,
    ),
];

/// The area, made from the ports of those before it.
fn make(_: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let (identity, hub) = (ports.get::<Identity>()?, ports.get::<Hub>()?);
    Ok(area(&identity, &hub))
}

/// Area with its routes and loops.
fn area(identity: &Identity, hub: &Hub) -> Area {
    let (pruned, watched, hub) = (identity.clone(), identity.clone(), hub.clone());
    Area::new(&AREA, routes().with_state(identity.clone()))
        .looping(Identity::ENDINGS, move |stop| {
            watched.clone().end_sockets_loop(hub.clone(), stop)
        })
        .looping(Identity::PRUNING, move |stop| pruned.clone().prune_loop(stop))
}
