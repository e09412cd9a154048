//! The areas this build consists of, as clients draw their menu from them. All of them are always on: nothing is
//! licensed, and nothing can be switched off.
//!
//! An area is listed once it is built, under the id that clients know it by. Its permissions are those of the catalogue that begin with one of its families.

use qm_kernel::Permission;

/// An area.
#[derive(Debug)]
pub struct Module {
    pub id: &'static str,
    pub name: &'static str,
    pub about: &'static str,
    /// Areas it builds on, by id.
    pub needs: &'static [&'static str],
    /// What its permissions begin with, the dot included.
    families: &'static [&'static str],
    pub menu: &'static [MenuEntry],
    /// What it can do, one word each.
    pub features: &'static [&'static str],
}

/// A page of clients.
#[derive(Clone, Copy, Debug)]
pub struct MenuEntry {
    pub label: &'static str,
    /// Where clients keep it.
    pub path: &'static str,
    /// Who may see it.
    pub permission: Permission,
}

impl Module {
    /// In the order of the catalogue.
    pub fn permissions(&self) -> impl Iterator<Item = Permission> {
        Permission::ALL.iter().copied().filter(|permission| {
            self.families
                .iter()
                .any(|family| permission.key().starts_with(family))
        })
    }
}

/// Every area, each after those it needs.
pub const MODULES: &[Module] = &[
    Module {
        id: "dashboard",
        name: "Dashboard",
        about: "What the torrent clients are doing, and what happened last.",
        needs: &[],
        families: &[],
        menu: &[MenuEntry {
            label: "Dashboard",
            path: "/dashboard",
            permission: Permission::TorrentsView,
        }],
        features: &["summary", "activity", "search"],
    },
    Module {
        id: "users",
        name: "Users",
        about: "Users, roles, two-factor sign-in and API keys.",
        needs: &[],
        families: &["users.", "roles.", "apikeys."],
        menu: &[
            MenuEntry {
                label: "Users",
                path: "/users",
                permission: Permission::UsersView,
            },
            MenuEntry {
                label: "API keys",
                path: "/api-keys",
                permission: Permission::ApikeysManage,
            },
        ],
        features: &["users", "roles", "two-factor", "api-keys"],
    },
    Module {
        id: "audit",
        name: "Audit",
        about: "Who did what, and from where.",
        needs: &["users"],
        families: &["audit."],
        menu: &[MenuEntry {
            label: "Audit",
            path: "/audit",
            permission: Permission::AuditView,
        }],
        features: &["audit"],
    },
    Module {
        id: "settings",
        name: "Settings",
        about: "Settings, health, updates and installed plugins.",
        needs: &["users"],
        families: &["settings.", "system."],
        menu: &[
            MenuEntry {
                label: "Settings",
                path: "/settings",
                permission: Permission::SettingsView,
            },
            MenuEntry {
                label: "System",
                path: "/system",
                permission: Permission::SystemView,
            },
        ],
        features: &["settings", "health", "updates", "plugins", "realtime"],
    },
    Module {
        id: "torrents",
        name: "Torrents",
        about: "Torrent clients as engines, and the torrents in them.",
        needs: &["users", "settings"],
        families: &["torrents.", "engines.", "categories.", "tags."],
        menu: &[
            MenuEntry {
                label: "Torrents",
                path: "/torrents",
                permission: Permission::TorrentsView,
            },
            MenuEntry {
                label: "Engines",
                path: "/engines",
                permission: Permission::SystemView,
            },
        ],
        features: &["engines", "torrents", "categories", "tags"],
    },
    Module {
        id: "files",
        name: "Files",
        about: "The files below the configured roots: browsing, changes, trash and streaming.",
        needs: &["users", "settings"],
        families: &["files."],
        menu: &[MenuEntry {
            label: "Files",
            path: "/files",
            permission: Permission::FilesView,
        }],
        features: &["browse", "operations", "trash", "preview", "stream"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stands_after_what_it_needs() {
        for (at, module) in MODULES.iter().enumerate() {
            for need in module.needs {
                assert!(
                    MODULES[..at].iter().any(|earlier| earlier.id == *need),
                    "{} needs {need}",
                    module.id
                );
            }
            assert!(
                MODULES[..at].iter().all(|earlier| earlier.id != module.id),
                "{} twice",
                module.id
            );
        }
    }

    #[test]
    fn ids_are_those_that_clients_know() {
        let ids: Vec<&str> = MODULES.iter().map(|module| module.id).collect();
        assert_eq!(
            ids,
            ["dashboard", "users", "audit", "settings", "torrents", "files"]
        );
    }

    #[test]
    fn every_family_has_permissions_and_every_permission_one_module() {
        for module in MODULES {
            for family in module.families {
                assert!(
                    module
                        .permissions()
                        .any(|permission| permission.key().starts_with(family)),
                    "{family} names no permission"
                );
            }
        }
        for permission in Permission::ALL {
            let owners = MODULES
                .iter()
                .filter(|module| module.permissions().any(|owned| owned == *permission));
            assert!(owners.count() <= 1, "{}", permission.key());
        }
    }
}
