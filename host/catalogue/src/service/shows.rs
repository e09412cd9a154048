//! Shows with what is known of them.

use qm_media::LibraryError;
use qm_media::model::details::{Season, ShowMetadata};
use qm_media::model::extra::Extra;
use qm_media::model::show::Show;
use qm_media::model::titles::Suggestion;
use qm_media::repo;
use qm_media_names::place;

use super::Catalogue;

/// Facts and texts of a show beside its row.
pub struct ShowDetails {
    pub metadata: Option<ShowMetadata>,
    pub seasons: Vec<Season>,
    /// Titles it may be, the likeliest first; none where its id is known.
    pub suggestions: Vec<Suggestion>,
}

impl Catalogue {
    /// Metadata of a show and its seasons.
    pub async fn show_details(&self, id: &str) -> Result<ShowDetails, LibraryError> {
        let mut tx = self.db.begin_read().await?;
        Ok(ShowDetails {
            metadata: repo::details::metadata(&mut tx, id).await?,
            seasons: repo::details::seasons(&mut tx, id).await?,
            suggestions: repo::suggestions::of_show(&mut tx, id).await?,
        })
    }

    /// Extras of a show and of its seasons.
    pub async fn show_extras(&self, show: &Show) -> Result<Vec<Extra>, LibraryError> {
        let folder = place::shown(&show.place);
        let mut tx = self.db.begin_read().await?;
        Ok(repo::extras::of_owner(&mut tx, &show.library_id, &folder).await?)
    }
}
