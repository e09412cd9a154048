//! Notifications that areas bring: the events that people can be told of. An area lists them in its
//! [`AreaSpec`](crate::area::AreaSpec); the area of notifications decides who is told, and sends.

use std::sync::Arc;

use qm_kernel::Permission;

/// Event that people can be told of.
#[derive(Debug, PartialEq, Eq)]
pub struct NotificationSpec {
    /// Key of the domain event.
    pub key: &'static str,
    /// Sort position among the notifications of all areas, lowest first.
    pub place: u16,
    pub category: Category,
    pub severity: Severity,
    /// True when the event appears in the inbox of users without a preference.
    pub default_in_app: bool,
    pub audience: Audience,
    pub builder: CardBuilder,
}

impl NotificationSpec {
    /// A notification that appears in inboxes by default.
    pub const fn new(
        (key, place): (&'static str, u16),
        (category, severity): (Category, Severity),
        audience: Audience,
        builder: CardBuilder,
    ) -> Self {
        Self {
            key,
            place,
            category,
            severity,
            default_in_app: true,
            audience,
            builder,
        }
    }

    /// The same, but only for those who ask for it.
    #[must_use]
    pub const fn on_request(self) -> Self {
        Self {
            default_in_app: false,
            ..self
        }
    }
}

/// Recipients of a notification, and the permission that they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audience {
    pub recipients: Recipients,
    /// Permission of the recipients; `None` for an event of the user's own account.
    pub permission: Option<Permission>,
}

impl Audience {
    /// The user whom the event concerns.
    pub const AFFECTED: Self = Self {
        recipients: Recipients::AffectedUser,
        permission: None,
    };

    /// The owner of the thing, or else all who hold the permission.
    pub const fn owner_or_holders(permission: Permission) -> Self {
        Self {
            recipients: Recipients::ResourceOwner,
            permission: Some(permission),
        }
    }

    /// All who hold the permission.
    pub const fn holders(permission: Permission) -> Self {
        Self {
            recipients: Recipients::PermissionHolders,
            permission: Some(permission),
        }
    }
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
    /// Builder of the event's card, in the area of notifications.
    CardBuilder {
        Playback = "playback",
        Torrent = "torrent",
        Storage = "storage",
        Provider = "provider",
        Security = "security",
        User = "user",
        Notice = "notice",
    }
}

/// Notifications of all areas, in the order in which clients list them.
#[derive(Clone, Debug)]
pub struct NotificationCatalogue(Arc<[&'static NotificationSpec]>);

impl NotificationCatalogue {
    pub fn new(specs: impl IntoIterator<Item = &'static NotificationSpec>) -> Self {
        let mut specs: Vec<_> = specs.into_iter().collect();
        specs.sort_by_key(|spec| spec.place);
        Self(specs.into())
    }

    pub fn iter(&self) -> impl Iterator<Item = &'static NotificationSpec> {
        self.0.iter().copied()
    }

    /// The notification of the event with this key.
    pub fn find(&self, key: &str) -> Option<&'static NotificationSpec> {
        self.iter().find(|spec| spec.key == key)
    }
}
