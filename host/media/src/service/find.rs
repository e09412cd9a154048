//! Look-ups of rows, with an error for an unknown id.

use qm_db::Tx;

use crate::LibraryError;
use crate::model::show::Show;
use crate::model::view::Listed;
use crate::repo;

/// A show, and the directory of its library.
pub async fn show_with_directory(tx: &mut Tx, id: &str) -> Result<(Show, String), LibraryError> {
    let found = repo::shows::find(tx, id).await?;
    let show = found.ok_or(LibraryError::NoSuchShow)?;
    let library = repo::libraries::find(tx, &show.library_id).await?;
    let path = library.ok_or(LibraryError::NoSuchShow)?.path;
    Ok((show, path))
}

/// An item with its file and the directory of its library.
pub async fn listed_item(tx: &mut Tx, id: &str) -> Result<Listed, LibraryError> {
    let found = repo::lists::find(tx, id).await?;
    let (item, file) = found.ok_or(LibraryError::NoSuchItem)?;
    let library = repo::libraries::find(tx, &item.library_id).await?;
    let path = library.ok_or(LibraryError::NoSuchItem)?.path;
    Ok((item, file, path))
}

/// A show.
pub async fn show(tx: &mut Tx, id: &str) -> Result<Show, LibraryError> {
    let found = repo::shows::find(tx, id).await?;
    found.ok_or(LibraryError::NoSuchShow)
}
