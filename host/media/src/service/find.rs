//! Rows as they are looked for, where one that is not there is an error.

use qm_db::Tx;

use crate::LibraryError;
use crate::model::show::Show;
use crate::repo;

/// A show, and the directory of its library.
pub async fn show_with_directory(tx: &mut Tx, id: &str) -> Result<(Show, String), LibraryError> {
    let found = repo::shows::find(tx, id).await?;
    let show = found.ok_or(LibraryError::NoSuchShow)?;
    let library = repo::libraries::find(tx, &show.library_id).await?;
    let path = library.ok_or(LibraryError::NoSuchShow)?.path;
    Ok((show, path))
}
