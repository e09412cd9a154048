//! Places of an item and of its neighbours, for orders that take files along.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use qm_db::Tx;
use qm_media::LibraryError;
use qm_media::model::extra::{Extra, folder_of};
use qm_media::model::item::Item;
use qm_media::model::library::MediaLibrary;
use qm_media::repo;
use qm_media::repo::copies::Lying;
use qm_media_names::place;

use super::Orders;

/// Place of an item, with its other files.
pub struct Whereabouts {
    pub item: Item,
    /// Its further files in the same library.
    pub copies: Vec<Lying>,
    /// Extras that belong to it alone, by its name.
    pub extras: Vec<Extra>,
    pub library: MediaLibrary,
    pub libraries: Vec<MediaLibrary>,
}

impl Orders {
    /// Places of an item; `None` if it no longer exists.
    pub(super) async fn whereabouts(&self, id: &str) -> Result<Option<Whereabouts>, LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let Some((item, _)) = repo::lists::find(&mut tx, id).await? else {
            return Ok(None);
        };
        let copies = repo::copies::lying(&mut tx, id, &item.library_id).await?;
        let mut extras = Vec::new();
        if let Some(folder) = folder_of(&item) {
            extras = repo::extras::of_owner(&mut tx, &item.library_id, &folder).await?;
            extras.retain(|extra| extra.same_key.is_some() && extra.is_of(&item));
        }
        let libraries = repo::libraries::all(&mut tx).await?;
        let library = libraries
            .iter()
            .find(|library| library.id == item.library_id)
            .cloned();
        Ok(library.map(|library| Whereabouts {
            item,
            copies,
            extras,
            library,
            libraries,
        }))
    }

    /// Items below a folder; `None` if one of them stays, of this library or of another one over it, or if a library or a
    /// root lies inside the folder.
    pub(super) async fn all_going(
        &self,
        at: &Whereabouts,
        folder: &str,
        going: &HashSet<String>,
    ) -> Result<Option<Vec<(String, String)>>, LibraryError> {
        let path = PathBuf::from(place::absolute(&at.library.path, folder));
        let roots = self.file_roots.iter().map(String::as_str);
        let mut tops = roots.chain(at.libraries.iter().map(|library| library.path.as_str()));
        if tops.any(|top| Path::new(top).starts_with(&path)) {
            return Ok(None);
        }
        let mut tx = self.db.begin_read().await?;
        let mut found = Vec::new();
        for library in &at.libraries {
            let Ok(below) = path.strip_prefix(&library.path) else {
                continue;
            };
            let is_this = library.id == at.library.id;
            // The same folder, as that library has it. What is not UTF-8 is compared as it is shown.
            let below = below.to_string_lossy().into_owned();
            let folder = if is_this { folder } else { &below };
            let mut rows = repo::bulk::below(&mut tx, &library.id, folder).await?;
            let copies = repo::copies::below(&mut tx, &library.id, folder).await?;
            rows.extend(copies.into_iter().map(|copy| (copy.item_id, copy.place)));
            if is_this {
                // They belong to what lies in the folder, or above.
                found.extend(self.extras_below(&mut tx, &library.id, folder).await?);
            }
            for (id, item) in rows {
                let is_in =
                    place::is_within(&item, folder) || Path::new(&place::shown(&item)).starts_with(&below);
                if !is_in {
                    continue;
                }
                if !going.contains(&id) {
                    return Ok(None);
                }
                if is_this {
                    found.push((id, item));
                }
            }
        }
        Ok(Some(found))
    }

    /// Places of the extras below a folder.
    async fn extras_below(
        &self,
        tx: &mut Tx,
        library_id: &str,
        folder: &str,
    ) -> Result<Vec<(String, String)>, LibraryError> {
        let extras = repo::extras::below(tx, library_id, folder).await?;
        let below = extras.into_iter().filter(|extra| extra.is_all_in(folder));
        Ok(below.map(|extra| (String::new(), extra.place)).collect())
    }
}
