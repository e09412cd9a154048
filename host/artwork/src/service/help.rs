//! Pictures and subtitles for the media library, when it follows a download by itself.

use async_trait::async_trait;
use qm_kernel::Requester;
use qm_ports::helpers::{HelpError, MediaCompanions};

use super::ArtworkArea;
use crate::error::ArtworkError;

/// Languages of which an item should have subtitles: those that the route for missing ones takes if it is told none.
const WANTED: [&str; 1] = ["en"];

#[async_trait]
impl MediaCompanions for ArtworkArea {
    async fn complete_pictures(&self, who: &Requester, item_id: &str) -> Result<Vec<String>, HelpError> {
        let (_, missing) = self.list_missing(item_id).await.map_err(failed)?;
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let imported = self.import_for_item(who.caller(), item_id).await;
        Ok(match imported.map_err(failed)? {
            // The provider was asked: it has no more.
            Some(_) => Vec::new(),
            None => missing.iter().map(|kind| kind.as_str().to_owned()).collect(),
        })
    }

    async fn look_for_subtitles(&self, item_id: &str) -> Result<Vec<String>, HelpError> {
        self.index_subtitles(item_id).await.map_err(failed)?;
        let there = self.list_all_subtitles(item_id).await.map_err(failed)?;
        let has = |language: &str| there.iter().any(|(one, _)| one.subtitle.tag.language == language);
        let missing = WANTED.into_iter().filter(|language| !has(language));
        Ok(missing.map(str::to_owned).collect())
    }
}

fn failed(error: ArtworkError) -> HelpError {
    HelpError::Failed(error.to_string())
}
