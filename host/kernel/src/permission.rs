//! The permission catalogue and the five seeded roles: one table, read by the guard, the seeder,
//! the OpenAPI document and the tests. A permission's string is its identity and never changes.

use serde::{Deserialize, Serialize};

macro_rules! catalogue {
    ($($name:ident = $key:literal, [$($role:ident)*];)*) => {
        /// A permission, e.g. [`Permission::TorrentsView`] = `torrents.view`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Permission { $(#[doc = $key] $name,)* }

        impl Permission {
            /// Every permission, in the order of the catalogue.
            pub const ALL: &'static [Permission] = &[$(Permission::$name,)*];

            /// The dotted string that stands in tokens, role tables and error messages.
            pub const fn key(self) -> &'static str {
                match self { $(Permission::$name => $key,)* }
            }

            /// The permission of a dotted string; `None` for a string the catalogue does not hold.
            pub fn from_key(key: &str) -> Option<Permission> {
                match key { $($key => Some(Permission::$name),)* _ => None }
            }

            /// The roles that hold it by seed, `SUPER_ADMIN` and `ADMINISTRATOR` written out like the rest.
            pub const fn roles(self) -> &'static [Role] {
                match self { $(Permission::$name => &[$(Role::$role,)*],)* }
            }
        }
    };
}

impl Permission {
    /// True for a permission that gives or changes rights, credentials, stored secrets, plugins or settings.
    /// Every route that needs such a permission and makes a change checks its caller in its own transaction;
    /// a test attacks all of them with the token of a user who has lost it.
    pub const fn hands_out_power(self) -> bool {
        matches!(
            self,
            Permission::UsersManage
                | Permission::RolesManage
                | Permission::ApikeysManage
                | Permission::SettingsManage
                | Permission::SettingsManageRootPath
                | Permission::SystemManage
                | Permission::EnginesManage
                // A rule acts with its author's permissions later, without them.
                | Permission::AutomationManage
                | Permission::IndexersManage
                | Permission::IntegrationsIndexerProxyManage
                | Permission::JobsManageSettings
                | Permission::MediaAcquisitionSettings
                | Permission::MediaDiscoveryProvidersManage
                | Permission::MediaServerAnalyticsManageConnections
                | Permission::MediaServerAnalyticsManageSettings
                | Permission::MediaManagerManageIntegrations
                | Permission::MediaManagerTitledbConfigure
                | Permission::NotificationsChannelsManageOwn
        )
    }
}

/// One of the five seeded roles; custom roles do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Role {
    SuperAdmin,
    Administrator,
    PowerUser,
    User,
    ReadOnly,
}

impl Role {
    pub const ALL: &'static [Role] = &[
        Role::SuperAdmin,
        Role::Administrator,
        Role::PowerUser,
        Role::User,
        Role::ReadOnly,
    ];

    /// The role's name on the wire and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Role::SuperAdmin => "SUPER_ADMIN",
            Role::Administrator => "ADMINISTRATOR",
            Role::PowerUser => "POWER_USER",
            Role::User => "USER",
            Role::ReadOnly => "READ_ONLY",
        }
    }

    pub fn from_name(name: &str) -> Option<Role> {
        Role::ALL.iter().copied().find(|role| role.name() == name)
    }

    /// Permissions of the role by seed, in the order of the catalogue.
    pub fn permissions(self) -> impl Iterator<Item = Permission> {
        Permission::ALL
            .iter()
            .copied()
            .filter(move |p| p.roles().contains(&self))
    }
}

impl Serialize for Permission {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

impl<'de> Deserialize<'de> for Permission {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Permission::from_key(&key)
            .ok_or_else(|| serde::de::Error::custom(format!("unknown permission `{key}`")))
    }
}

/// A set of permissions in two machine words: what a token grants, checked on every request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PermissionSet(u128);

impl PermissionSet {
    pub const fn empty() -> Self {
        Self(0)
    }

    pub fn all() -> Self {
        Permission::ALL.iter().copied().collect()
    }

    pub const fn with(self, permission: Permission) -> Self {
        Self(self.0 | 1 << permission as u8)
    }

    pub const fn contains(self, permission: Permission) -> bool {
        self.0 & (1 << permission as u8) != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.iter().copied().filter(move |p| self.contains(*p))
    }
}

impl FromIterator<Permission> for PermissionSet {
    fn from_iter<I: IntoIterator<Item = Permission>>(iter: I) -> Self {
        iter.into_iter().fold(Self::empty(), PermissionSet::with)
    }
}

catalogue! {
    TorrentsView = "torrents.view", [SuperAdmin Administrator PowerUser User ReadOnly];
    TorrentsAdd = "torrents.add", [SuperAdmin Administrator PowerUser User];
    TorrentsPause = "torrents.pause", [SuperAdmin Administrator PowerUser User];
    TorrentsResume = "torrents.resume", [SuperAdmin Administrator PowerUser User];
    TorrentsStart = "torrents.start", [SuperAdmin Administrator PowerUser User];
    TorrentsStop = "torrents.stop", [SuperAdmin Administrator PowerUser User];
    TorrentsDelete = "torrents.delete", [SuperAdmin Administrator PowerUser];
    TorrentsDeleteData = "torrents.delete_data", [SuperAdmin Administrator];
    TorrentsRecheck = "torrents.recheck", [SuperAdmin Administrator PowerUser];
    TorrentsManageTrackers = "torrents.manage_trackers", [SuperAdmin Administrator PowerUser];
    TorrentsManageFiles = "torrents.manage_files", [SuperAdmin Administrator PowerUser];
    TorrentsManageLimits = "torrents.manage_limits", [SuperAdmin Administrator PowerUser];
    TorrentsMove = "torrents.move", [SuperAdmin Administrator PowerUser];
    TorrentsRename = "torrents.rename", [SuperAdmin Administrator PowerUser];
    CategoriesManage = "categories.manage", [SuperAdmin Administrator PowerUser User];
    TagsManage = "tags.manage", [SuperAdmin Administrator PowerUser User];
    RssView = "rss.view", [SuperAdmin Administrator PowerUser User ReadOnly];
    RssManage = "rss.manage", [SuperAdmin Administrator PowerUser];
    RssShowStatusLookup = "rss.show_status.lookup", [SuperAdmin Administrator PowerUser User ReadOnly];
    RssShowStatusRefresh = "rss.show_status.refresh", [SuperAdmin Administrator PowerUser];
    RssShowStatusOverride = "rss.show_status.override", [SuperAdmin Administrator PowerUser];
    AutomationView = "automation.view", [SuperAdmin Administrator PowerUser ReadOnly];
    AutomationManage = "automation.manage", [SuperAdmin Administrator PowerUser];
    IndexersView = "indexers.view", [SuperAdmin Administrator PowerUser];
    IndexersManage = "indexers.manage", [SuperAdmin Administrator PowerUser];
    IndexersTest = "indexers.test", [SuperAdmin Administrator PowerUser];
    FilesView = "files.view", [SuperAdmin Administrator PowerUser User ReadOnly];
    FilesManage = "files.manage", [SuperAdmin Administrator PowerUser];
    FilesPreview = "files.preview", [SuperAdmin Administrator PowerUser User ReadOnly];
    FilesDownload = "files.download", [SuperAdmin Administrator PowerUser User ReadOnly];
    FilesCreateFolder = "files.create_folder", [SuperAdmin Administrator PowerUser];
    FilesRename = "files.rename", [SuperAdmin Administrator PowerUser];
    FilesMove = "files.move", [SuperAdmin Administrator PowerUser];
    FilesCopy = "files.copy", [SuperAdmin Administrator PowerUser];
    FilesDelete = "files.delete", [SuperAdmin Administrator PowerUser];
    FilesBulkActions = "files.bulk_actions", [SuperAdmin Administrator PowerUser];
    FilesCleanup = "files.cleanup", [SuperAdmin Administrator PowerUser];
    SettingsView = "settings.view", [SuperAdmin Administrator];
    SettingsManage = "settings.manage", [SuperAdmin Administrator];
    SettingsManageRootPath = "settings.manage_root_path", [SuperAdmin Administrator];
    UsersView = "users.view", [SuperAdmin Administrator];
    UsersManage = "users.manage", [SuperAdmin Administrator];
    RolesManage = "roles.manage", [SuperAdmin Administrator];
    AuditView = "audit.view", [SuperAdmin Administrator];
    SystemView = "system.view", [SuperAdmin Administrator PowerUser ReadOnly];
    SystemManage = "system.manage", [SuperAdmin];
    ApikeysManage = "apikeys.manage", [SuperAdmin Administrator];
    EnginesManage = "engines.manage", [SuperAdmin Administrator];
    JobsView = "jobs.view", [SuperAdmin Administrator PowerUser User ReadOnly];
    JobsViewAll = "jobs.view_all", [SuperAdmin Administrator];
    JobsViewEvents = "jobs.view_events", [SuperAdmin Administrator PowerUser User];
    JobsViewDiagnostics = "jobs.view_diagnostics", [SuperAdmin Administrator];
    JobsCancel = "jobs.cancel", [SuperAdmin Administrator PowerUser];
    JobsPause = "jobs.pause", [SuperAdmin Administrator];
    JobsResume = "jobs.resume", [SuperAdmin Administrator];
    JobsRetry = "jobs.retry", [SuperAdmin Administrator PowerUser];
    JobsRerun = "jobs.rerun", [SuperAdmin Administrator PowerUser];
    JobsBulkManage = "jobs.bulk_manage", [SuperAdmin Administrator];
    JobsManageSchedules = "jobs.manage_schedules", [SuperAdmin Administrator];
    JobsRunSchedules = "jobs.run_schedules", [SuperAdmin Administrator];
    JobsViewWorkers = "jobs.view_workers", [SuperAdmin Administrator PowerUser];
    JobsManageSettings = "jobs.manage_settings", [SuperAdmin Administrator];
    JobsAdmin = "jobs.admin", [SuperAdmin Administrator];
    MediaAcquisitionView = "media_acquisition.view", [SuperAdmin Administrator];
    MediaAcquisitionManageWatchlist = "media_acquisition.manage_watchlist", [SuperAdmin Administrator];
    MediaAcquisitionManageProfiles = "media_acquisition.manage_profiles", [SuperAdmin Administrator];
    MediaAcquisitionEvaluate = "media_acquisition.evaluate", [SuperAdmin Administrator];
    MediaAcquisitionApprove = "media_acquisition.approve", [SuperAdmin Administrator];
    MediaAcquisitionReject = "media_acquisition.reject", [SuperAdmin Administrator];
    MediaAcquisitionOverride = "media_acquisition.override", [SuperAdmin Administrator];
    MediaAcquisitionHistory = "media_acquisition.history", [SuperAdmin Administrator];
    MediaAcquisitionExport = "media_acquisition.export", [SuperAdmin Administrator];
    MediaAcquisitionSettings = "media_acquisition.settings", [SuperAdmin Administrator];
    MediaDiscoveryView = "media_discovery.view", [SuperAdmin Administrator PowerUser User ReadOnly];
    MediaDiscoveryManage = "media_discovery.manage", [SuperAdmin Administrator PowerUser];
    MediaDiscoveryTemplatesManage = "media_discovery.templates.manage", [SuperAdmin Administrator];
    MediaDiscoveryProvidersManage = "media_discovery.providers.manage", [SuperAdmin Administrator];
    MediaServerAnalyticsView = "media_server_analytics.view", [SuperAdmin Administrator];
    MediaServerAnalyticsManageConnections = "media_server_analytics.manage_connections", [SuperAdmin Administrator];
    MediaServerAnalyticsManageMappings = "media_server_analytics.manage_mappings", [SuperAdmin Administrator];
    MediaServerAnalyticsViewLiveActivity = "media_server_analytics.view_live_activity", [SuperAdmin Administrator];
    MediaServerAnalyticsSessionsTerminate = "media_server_analytics.sessions.terminate", [SuperAdmin Administrator];
    MediaServerAnalyticsViewUsers = "media_server_analytics.view_users", [SuperAdmin Administrator];
    MediaServerAnalyticsViewHistory = "media_server_analytics.view_history", [SuperAdmin Administrator];
    MediaServerAnalyticsViewReports = "media_server_analytics.view_reports", [SuperAdmin Administrator];
    MediaServerAnalyticsExport = "media_server_analytics.export", [SuperAdmin Administrator];
    MediaServerAnalyticsManageNewsletters = "media_server_analytics.manage_newsletters", [SuperAdmin Administrator];
    MediaServerAnalyticsSendNewsletters = "media_server_analytics.send_newsletters", [SuperAdmin Administrator];
    MediaServerAnalyticsManageImports = "media_server_analytics.manage_imports", [SuperAdmin Administrator];
    MediaServerAnalyticsRunImports = "media_server_analytics.run_imports", [SuperAdmin Administrator];
    MediaServerAnalyticsManageSettings = "media_server_analytics.manage_settings", [SuperAdmin Administrator];
    MediaServerAnalyticsAdmin = "media_server_analytics.admin", [SuperAdmin Administrator];
    MediaManagerView = "media_manager.view", [SuperAdmin Administrator PowerUser User ReadOnly];
    MediaManagerManageLibraries = "media_manager.manage_libraries", [SuperAdmin Administrator PowerUser];
    MediaManagerScan = "media_manager.scan", [SuperAdmin Administrator PowerUser];
    MediaManagerMatch = "media_manager.match", [SuperAdmin Administrator PowerUser];
    MediaManagerEditMetadata = "media_manager.edit_metadata", [SuperAdmin Administrator PowerUser];
    MediaManagerManageArtwork = "media_manager.manage_artwork", [SuperAdmin Administrator PowerUser];
    MediaManagerManageSubtitles = "media_manager.manage_subtitles", [SuperAdmin Administrator PowerUser];
    MediaManagerRename = "media_manager.rename", [SuperAdmin Administrator PowerUser];
    MediaManagerMoveFiles = "media_manager.move_files", [SuperAdmin Administrator PowerUser];
    MediaManagerGenerateNfo = "media_manager.generate_nfo", [SuperAdmin Administrator PowerUser];
    MediaManagerManageIntegrations = "media_manager.manage_integrations", [SuperAdmin Administrator];
    MediaManagerDelete = "media_manager.delete", [SuperAdmin Administrator];
    MediaManagerDeleteFiles = "media_manager.delete_files", [SuperAdmin Administrator];
    MediaManagerExport = "media_manager.export", [SuperAdmin Administrator PowerUser];
    MediaManagerAdmin = "media_manager.admin", [SuperAdmin Administrator];
    MediaManagerTitledbView = "media_manager.titledb.view", [SuperAdmin Administrator PowerUser User];
    MediaManagerTitledbConfigure = "media_manager.titledb.configure", [SuperAdmin Administrator PowerUser];
    MediaManagerTitledbImportDataset = "media_manager.titledb.import_dataset", [SuperAdmin Administrator PowerUser];
    MediaManagerTitledbSearch = "media_manager.titledb.search", [SuperAdmin Administrator PowerUser User];
    MediaManagerTitledbMatch = "media_manager.titledb.match", [SuperAdmin Administrator PowerUser];
    NotificationsViewOwn = "notifications.view_own", [SuperAdmin Administrator PowerUser User ReadOnly];
    NotificationsManageOwn = "notifications.manage_own", [SuperAdmin Administrator PowerUser User ReadOnly];
    NotificationsChannelsManageOwn = "notifications.channels_manage_own", [SuperAdmin Administrator PowerUser User ReadOnly];
    IntegrationsIndexerProxyView = "integrations.indexer_proxy.view", [SuperAdmin Administrator PowerUser];
    IntegrationsIndexerProxyManage = "integrations.indexer_proxy.manage", [SuperAdmin Administrator PowerUser];
    IntegrationsIndexerProxyTest = "integrations.indexer_proxy.test", [SuperAdmin Administrator PowerUser];
    IntegrationsIndexerProxyOpen = "integrations.indexer_proxy.open", [SuperAdmin Administrator PowerUser];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_sizes_are_those_of_the_contract() {
        let sizes: Vec<usize> = Role::ALL.iter().map(|role| role.permissions().count()).collect();
        assert_eq!(sizes, [119, 118, 68, 22, 14]);
        assert_eq!(Permission::ALL.len(), 119);
    }

    #[test]
    fn keys_round_trip_and_fit_the_set() {
        for &permission in Permission::ALL {
            assert_eq!(Permission::from_key(permission.key()), Some(permission));
            let set = PermissionSet::empty().with(permission);
            assert_eq!(set.iter().collect::<Vec<_>>(), [permission]);
        }
    }
}
