//! The copy of the database that is made before a migration changes it.
//!
//! Owns `backups/auto-*` in the data directory and nothing else there: other files are never deleted. Bound: the last
//! [`KEPT`] copies stay.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use qm_db::{Db, Outdated, SqliteFile};
use qm_kernel::{Ctx, Timestamp};

use crate::config::Config;
use crate::failure::StartError;

const DIRECTORY: &str = "backups";
const PREFIX: &str = "auto-";
const SUFFIX: &str = ".db";
/// Ending of a copy's name while it is made; see `qm_db`.
const UNFINISHED: &str = ".part";
const KEPT: usize = 5;

/// Brings the database up to date. An SQLite database that holds something is copied first; without room for the
/// copy nothing is migrated. (A PostgreSQL server has its own backups, and its migrations roll back.)
pub async fn migrate(db: &Db, config: &Config, ctx: &Ctx) -> Result<(), StartError> {
    if let Some(outdated) = db.outdated().await?
        && let Some(version) = outdated.version
        && let Some(file) = SqliteFile::from_url(config.database_url.expose())?
    {
        copy(
            &file,
            &config.data_dir.join(DIRECTORY),
            version,
            &outdated,
            ctx.now(),
        )
        .await?;
    }
    db.migrate().await?;
    Ok(())
}

async fn copy(
    file: &SqliteFile,
    directory: &Path,
    version: i64,
    outdated: &Outdated,
    now: Timestamp,
) -> Result<(), StartError> {
    let of_directory = |source| StartError::BackupDir {
        path: directory.to_owned(),
        source,
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(of_directory)?;
    // Those of a start that was killed: only one server at a time works here.
    remove(&found(directory, UNFINISHED).map_err(of_directory)?);
    let to = directory.join(format!("{PREFIX}{}-schema-{version}{SUFFIX}", stamp(now)));
    let copied = file
        .backup(&to, false)
        .await
        .map_err(|source| StartError::NotBackedUp {
            migration: outdated.target,
            source,
        })?;
    tracing::info!(file = %to.display(), bytes = copied.bytes, "database copied before its migration");
    let copies = found(directory, SUFFIX).map_err(of_directory)?;
    remove(&copies[..copies.len().saturating_sub(KEPT)]);
    Ok(())
}

/// An instant as part of a file's name, ordered like the instants: `20310402T091500000Z`.
pub fn stamp(now: Timestamp) -> String {
    now.to_string().replace(['-', ':', '.'], "")
}

/// Our files in the directory that end so, oldest first.
fn found(directory: &Path, suffix: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let ours = name
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(suffix));
        if ours && entry.file_type()?.is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// One that cannot be removed costs room, not the start.
fn remove(files: &[PathBuf]) {
    for file in files {
        if let Err(error) = std::fs::remove_file(file) {
            tracing::warn!(file = %file.display(), %error, "an old automatic backup was not removed");
        }
    }
}
