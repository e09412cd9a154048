//! Folders of shows in media libraries, as an area sees them that puts the folders of one show together and does not know
//! the library's rows.

use async_trait::async_trait;

/// A show and its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderShow {
    pub id: String,
    pub library_id: String,
    /// Kind of the library: `tv`, `anime` or `general`.
    pub library_kind: String,
    /// Directory of the library, absolute.
    pub library: String,
    /// Absolute, as people are shown it.
    pub path: String,
    /// Text from which the folder is found again, also where its name is not UTF-8.
    pub place: String,
    pub title: String,
    pub year: Option<i64>,
    pub titledb_id: Option<String>,
    /// Equal for folders of one show.
    pub canonical_key: String,
}

/// Offered by the media library. Answers come from what scans found; the disk is not looked at.
#[async_trait]
pub trait ShowFolders: Send + Sync {
    /// Shows of a library, or of all, in the order of their libraries and folders; none for an unknown library.
    async fn list_shows(&self, library_id: Option<&str>) -> Result<Vec<FolderShow>, FoldersUnread>;

    /// Directories of all libraries, also of those without a show, absolute, as people are shown them.
    async fn list_directories(&self) -> Result<Vec<String>, FoldersUnread>;

    /// Those of the shows that exist, in the order of the ids that were asked for.
    async fn find_shows(&self, ids: &[String]) -> Result<Vec<FolderShow>, FoldersUnread>;

    /// Absolute paths of files of locked items below the folder of a show, as people are shown them.
    async fn list_locked(&self, show: &FolderShow) -> Result<Vec<String>, FoldersUnread>;

    /// Deletes the rows of shows whose folders are gone, unless these were moved meanwhile.
    async fn forget_shows(&self, shows: &[FolderShow]) -> Result<(), FoldersUnread>;

    /// Asks for a scan of a library; returns the id of its job. `by`: id of the user who has it scanned. `None`: there is no
    /// such library.
    async fn scan(&self, library_id: &str, by: Option<&str>) -> Result<Option<String>, FoldersUnread>;
}

/// The media library could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the media library could not be read: {0}")]
pub struct FoldersUnread(pub String);
