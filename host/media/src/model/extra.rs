//! Extras: files that belong to a film, a show or a season, and are neither a film nor an episode.

use qm_kernel::Timestamp;
use qm_media_names::naming::member;
use qm_media_names::place;

use super::item::Item;

/// A file that belongs to a film or a show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    pub id: String,
    pub library_id: String,
    pub place: String,
    /// `trailer`, `sample`, `featurette` and so on: see `naming::extra`.
    pub kind: String,
    /// Path of the folder of its film or its show below the library's directory, as it is shown.
    pub owner: String,
    pub season: Option<i64>,
    /// Key of the film in that folder whose name it has, if it has one.
    pub same_key: Option<String>,
    pub size: i64,
    /// Nanoseconds since 1970.
    pub mtime: i64,
    pub created_at: Timestamp,
}

impl Extra {
    /// True if another state of it has the same values.
    pub fn is_as(&self, other: &Self) -> bool {
        let said = |extra: &Self| (extra.size, extra.mtime, extra.season);
        said(self) == said(other)
            && self.kind == other.kind
            && self.owner == other.owner
            && self.same_key == other.same_key
    }

    /// True if it belongs to this film: by the folder, or by the name.
    pub fn is_of(&self, film: &Item) -> bool {
        match &self.same_key {
            Some(key) => film.same_key.as_ref() == Some(key),
            // In the library's own directory nothing says which film it belongs to.
            None => !self.owner.is_empty(),
        }
    }

    /// True if it lies in this folder together with all of its film or show. Extras of a season stay with the rest of the
    /// show.
    pub fn is_all_in(&self, folder: &str) -> bool {
        place::is_within(&self.place, folder) && place::is_within(&self.owner, &place::shown(folder))
    }

    /// The name of its file.
    pub fn name(&self) -> String {
        let shown = place::shown(&self.place);
        shown.rsplit('/').next().unwrap_or_default().to_owned()
    }
}

/// Folder whose extras belong to an item: that of its film. `None` for an episode, as extras belong to the show.
pub fn folder_of(item: &Item) -> Option<String> {
    let is_episode = matches!(&*item.media_type, "tv" | "anime" | "episode");
    (!is_episode).then(|| member::film_folder(&place::shown(&item.place)))
}
