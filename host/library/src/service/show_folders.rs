//! Shows and their folders, for the area that puts the folders of one show together.

use async_trait::async_trait;
use qm_ports::folders::{FolderShow, FoldersUnread, ShowFolders};

use super::Library;

#[async_trait]
impl ShowFolders for Library {
    async fn list_shows(&self, library_id: Option<&str>) -> Result<Vec<FolderShow>, FoldersUnread> {
        self.catalogue.list_folders(library_id).await
    }

    async fn list_directories(&self) -> Result<Vec<String>, FoldersUnread> {
        self.catalogue.list_directories().await
    }

    async fn find_shows(&self, ids: &[String]) -> Result<Vec<FolderShow>, FoldersUnread> {
        self.catalogue.find_folders(ids).await
    }

    async fn list_locked(&self, show: &FolderShow) -> Result<Vec<String>, FoldersUnread> {
        self.catalogue.list_locked_files(show).await
    }

    async fn forget_shows(&self, shows: &[FolderShow]) -> Result<(), FoldersUnread> {
        self.catalogue.forget_folders(shows).await
    }

    async fn scan(&self, library_id: &str, by: Option<&str>) -> Result<Option<String>, FoldersUnread> {
        let asked = self.scanner.scan_after_merge(library_id, by).await;
        asked.map_err(|error| FoldersUnread(error.to_string()))
    }
}
