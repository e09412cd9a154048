//! Settings of the file manager.

use qm_platform::settings;

settings! {
    of "files";

    /// The only folder files may be managed in; empty: the roots of FILE_MANAGER_ROOTS.
    pub DEFAULT_ROOT_PATH: String = "fileManager.defaultRootPath",
        String::new, by_route("PUT /api/files/root"), seeded();

    /// Days that deleted files stay in the trash, fractions allowed; 0: for ever.
    pub TRASH_RETENTION_DAYS: f64 = "files.trashRetentionDays", || 30.0, accepts(|days| *days >= 0.0);
}
