//! Catalogue of the events that users can be notified of.

use qm_kernel::Permission;

/// An event that people can be told of.
#[derive(Debug, PartialEq, Eq)]
pub struct EventDef {
    /// The key of the domain event.
    pub key: &'static str,
    pub category: Category,
    pub severity: Severity,
    /// True when the event appears in the inbox of users without a preference.
    pub default_in_app: bool,
    pub recipients: Recipients,
    /// Permission of the recipients; `None` for an event of the user's own account.
    pub permission: Option<Permission>,
    pub builder: Builder,
}

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($variant,)+ }

        impl $name {
            /// The word in the API and in the database.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }
        }
    };
}

words! {
    /// Group of events in clients.
    Category {
        Playback = "playback",
        Downloads = "downloads",
        Storage = "storage",
        Providers = "providers",
        Security = "security",
        Users = "users",
        Workflows = "workflows",
    }
}

words! {
    Severity {
        Info = "info",
        Success = "success",
        Warning = "warning",
        Error = "error",
    }
}

words! {
    /// Rule that selects the recipients; always active users only.
    Recipients {
        // Whom the event concerns, else who made it happen.
        AffectedUser = "affected_user",
        // The same where they are active; otherwise all who hold the event's permission.
        ResourceOwner = "resource_owner",
        PermissionHolders = "permission_holders",
    }
}

words! {
    /// Builder of the event's card, see [`crate::model::render`].
    Builder {
        Playback = "playback",
        Torrent = "torrent",
        Storage = "storage",
        Provider = "provider",
        Security = "security",
        User = "user",
        Notice = "notice",
    }
}

/// The event with this key.
pub fn find(key: &str) -> Option<&'static EventDef> {
    CATALOGUE.iter().find(|event| event.key == key)
}

/// Notice sent by an automation rule. It is no event of the bus: the automation area calls the notifier.
pub const NOTICE: EventDef = event(
    "automation.notice",
    (Category::Workflows, Severity::Info),
    OWN,
    Builder::Notice,
);

const fn event(
    key: &'static str,
    (category, severity): (Category, Severity),
    (recipients, permission): (Recipients, Option<Permission>),
    builder: Builder,
) -> EventDef {
    EventDef {
        key,
        category,
        severity,
        default_in_app: true,
        recipients,
        permission,
        builder,
    }
}

impl EventDef {
    const fn off(self) -> Self {
        Self {
            default_in_app: false,
            ..self
        }
    }
}

const LIVE: (Recipients, Option<Permission>) = (
    Recipients::PermissionHolders,
    Some(Permission::MediaServerAnalyticsViewLiveActivity),
);
const OWNER: (Recipients, Option<Permission>) = (Recipients::ResourceOwner, Some(Permission::TorrentsView));
const SYSTEM: (Recipients, Option<Permission>) =
    (Recipients::PermissionHolders, Some(Permission::SystemView));
const OWN: (Recipients, Option<Permission>) = (Recipients::AffectedUser, None);
const MANAGERS: (Recipients, Option<Permission>) =
    (Recipients::PermissionHolders, Some(Permission::UsersManage));

/// Every event, in the order in which clients list them.
pub static CATALOGUE: &[EventDef] = &[
    event(
        "media_server.user_started_watching",
        (Category::Playback, Severity::Info),
        LIVE,
        Builder::Playback,
    )
    .off(),
    event(
        "media_server.user_stopped_watching",
        (Category::Playback, Severity::Info),
        LIVE,
        Builder::Playback,
    )
    .off(),
    event(
        "media_server.refresh_failed",
        (Category::Providers, Severity::Warning),
        (
            Recipients::PermissionHolders,
            Some(Permission::MediaServerAnalyticsManageConnections),
        ),
        Builder::Provider,
    ),
    event(
        "torrent.completed",
        (Category::Downloads, Severity::Success),
        OWNER,
        Builder::Torrent,
    ),
    event(
        "torrent.failed",
        (Category::Downloads, Severity::Error),
        OWNER,
        Builder::Torrent,
    ),
    event(
        "system.storage_warning",
        (Category::Storage, Severity::Warning),
        SYSTEM,
        Builder::Storage,
    ),
    event(
        "system.storage_critical",
        (Category::Storage, Severity::Error),
        SYSTEM,
        Builder::Storage,
    ),
    event(
        "system.storage_recovered",
        (Category::Storage, Severity::Success),
        SYSTEM,
        Builder::Storage,
    ),
    event(
        "provider.offline",
        (Category::Providers, Severity::Error),
        SYSTEM,
        Builder::Provider,
    ),
    event(
        "provider.recovered",
        (Category::Providers, Severity::Success),
        SYSTEM,
        Builder::Provider,
    ),
    event(
        "security.password_changed",
        (Category::Security, Severity::Warning),
        OWN,
        Builder::Security,
    ),
    event(
        "security.two_factor_disabled",
        (Category::Security, Severity::Warning),
        OWN,
        Builder::Security,
    ),
    event(
        "security.api_key_created",
        (Category::Security, Severity::Warning),
        OWN,
        Builder::Security,
    ),
    event(
        "security.login_failed",
        (Category::Security, Severity::Warning),
        OWN,
        Builder::Security,
    ),
    event(
        "user.created",
        (Category::Users, Severity::Info),
        MANAGERS,
        Builder::User,
    ),
    event(
        "user.role_changed",
        (Category::Users, Severity::Warning),
        MANAGERS,
        Builder::User,
    ),
    NOTICE,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn keys_are_told_apart_and_found() {
        let keys: BTreeSet<&str> = CATALOGUE.iter().map(|event| event.key).collect();
        assert_eq!((keys.len(), CATALOGUE.len()), (17, 17));
        assert_eq!(find(NOTICE.key), Some(&NOTICE));
        for event in CATALOGUE {
            assert_eq!(find(event.key), Some(event));
        }
        assert_eq!(find("torrent.rules_due"), None);
        assert_eq!(find(""), None);
    }

    /// An event without permission would have no holders to notify.
    #[test]
    fn only_events_of_ones_own_account_need_no_permission() {
        for event in CATALOGUE {
            let own = event.recipients == Recipients::AffectedUser;
            assert_eq!(event.permission.is_none(), own, "{}", event.key);
        }
    }

    #[test]
    fn the_inbox_shows_all_but_what_people_watch() {
        let off: Vec<&str> = CATALOGUE
            .iter()
            .filter(|event| !event.default_in_app)
            .map(|event| event.key)
            .collect();
        assert_eq!(
            off,
            [
                "media_server.user_started_watching",
                "media_server.user_stopped_watching"
            ]
        );
    }
}
