//! The system as an area of the service.

use std::sync::Arc;

use qm_kernel::Permission;
use qm_platform::SecretSettings;
use qm_platform::area::{Area, AreaSpec, MenuEntry, Module};

use crate::repo::configurations::SealedConfigurations;
use crate::{EVENTS, System, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "system",
    events: EVENTS,
    sealed: || {
        vec![
            Arc::new(SecretSettings::declared()),
            Arc::new(SealedConfigurations),
        ]
    },
    modules: &[
        Module {
            id: "audit",
            place: 30,
            name: "Audit",
            about: "Who did what, and from where.",
            needs: &["users"],
            families: &["audit."],
            menu: &[MenuEntry {
                label: "Audit",
                icon: "ScrollText",
                path: "/audit",
                permission: Permission::AuditView,
            }],
            features: &["audit"],
        },
        Module {
            id: "settings",
            place: 40,
            name: "Settings",
            about: "Settings, health, updates and installed plugins.",
            needs: &["users"],
            families: &["settings.", "system."],
            menu: &[
                MenuEntry {
                    label: "Settings",
                    icon: "Settings",
                    path: "/settings",
                    permission: Permission::SettingsView,
                },
                MenuEntry {
                    label: "System",
                    icon: "Server",
                    path: "/system",
                    permission: Permission::SystemView,
                },
            ],
            features: &["settings", "health", "updates", "plugins", "realtime"],
        },
    ],
    context_actions: &[],
    described: || routes().described(),
};

/// The started area. Its background loops are started separately.
pub fn area(system: System) -> Area {
    Area::new(&AREA, routes().with_state(system))
}
