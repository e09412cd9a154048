//! Events about files, for every area that moves or removes some. The media library follows them.

qm_kernel::events! {
    pub struct FileMoved: "file.moved" about "file" {
        /// Absolute.
        from: String,
        /// Absolute.
        to: String,
    }

    pub struct FileDeleted: "file.deleted" about "file" {
        /// Absolute.
        path: String,
    }
}
