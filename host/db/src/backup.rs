//! Copy and replacement of the SQLite database file.
//!
//! A copy is made by `VACUUM INTO`: one read transaction, so it is one state of the database however much is written
//! meanwhile, it holds every commit acknowledged before it began, and no writer waits for it. (Copying the file with
//! other tools would miss what still lies in the write-ahead log.) What is copied is checked before, the copy is
//! checked after, and only a whole one gets its name.
//!
//! A restored file never meets the write-ahead log of another database, which SQLite would apply to it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteLockingMode};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use crate::error::{Class, DbError, class};
use crate::lock::{FileLock, beside};
use crate::migrate::{Applied, known_to_us};
use crate::open::{postgres_options, sqlite_path};

/// Endings of the files that SQLite keeps beside a database.
const LOG: &str = "-wal";
const INDEX: &str = "-shm";
/// Time limit on waiting for another process, for an operation on the whole file.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest number of names tried for an unfinished copy: killed copies may have left files.
const ATTEMPTS: u32 = 100;

/// An SQLite database by its file.
#[derive(Clone, Debug)]
pub struct SqliteFile {
    path: PathBuf,
}

/// A copy that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    pub bytes: u64,
    /// The last migration it holds.
    pub schema: String,
}

/// A database that was put in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The last migration it holds.
    pub schema: String,
    /// Path of the database file that was replaced; it was renamed.
    pub replaced: Option<PathBuf>,
}

impl SqliteFile {
    /// The database file that `url` names; `None` for PostgreSQL.
    pub fn from_url(url: &str) -> Result<Option<Self>, DbError> {
        match url.split_once(':') {
            Some(("sqlite", rest)) => Ok(Some(Self {
                path: sqlite_path(rest)?,
            })),
            _ => Ok(None),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a copy of the database as it is now to `to`, readable by its owner only. Servers may go on writing.
    /// A file that is there already is replaced with `overwrite` and refused otherwise.
    pub async fn backup(&self, to: &Path, overwrite: bool) -> Result<Copied, DbError> {
        if !self.path.is_file() {
            return Err(refuse(&self.path, "there is no such database"));
        }
        self.refuse_own(to)?;
        if !overwrite && to.symlink_metadata().is_ok() {
            return Err(refuse(
                to,
                "it exists already; name another file, or replace it with --force",
            ));
        }
        let part = Part::make(to)?;
        let mut source = connect(&self.path, options(&self.path)).await?;
        let copied = copy(&mut source, &self.path, &part).await;
        let closed = source.close().await;
        let applied = copied?;
        closed.map_err(|error| sqlite(&self.path, &error))?;
        let bytes = part.publish(to, overwrite)?;
        Ok(Copied {
            bytes,
            schema: applied.last(),
        })
    }

    /// Puts a copy of the backup `from` in this database's place. What was there is kept beside it, as
    /// `….replaced-<stamp>`. Nothing is changed when anything is wrong with the backup, or a server has the database
    /// open.
    pub async fn restore(&self, from: &Path, stamp: &str) -> Result<Restored, DbError> {
        self.refuse_own(from)?;
        check_header(from)?;
        let lock = FileLock::take(&self.path)?;
        match self.restore_alone(from, stamp).await {
            Ok(restored) => Ok(restored),
            Err(error) => {
                lock.discard();
                Err(error)
            }
        }
    }

    async fn restore_alone(&self, from: &Path, stamp: &str) -> Result<Restored, DbError> {
        let part = Part::make(&self.path)?;
        // A database copied by hand may have its log beside it; a backup has none, and then nothing is
        // written there.
        let has_log = std::fs::metadata(beside(from, LOG)).is_ok_and(|log| log.len() > 0);
        let mut source = connect(from, options(from).read_only(true).immutable(!has_log)).await?;
        let copied = copy(&mut source, from, &part).await;
        drop(source.close().await);
        let applied = copied?;
        known_to_us(&applied)?;
        let whole = self.fold_log().await?;
        let replaced = self.replace(part, stamp, whole)?;
        Ok(Restored {
            schema: applied.last(),
            replaced,
        })
    }

    /// Merges the log into the file, exclusively; true if the file then holds the whole database. `false` for
    /// a damaged database; one that is open elsewhere is refused.
    async fn fold_log(&self) -> Result<bool, DbError> {
        if !self.path.exists() {
            return Ok(false);
        }
        let alone = options(&self.path).locking_mode(SqliteLockingMode::Exclusive);
        let folded = async {
            let mut connection = alone.connect().await?;
            let folded = sqlx::query_as::<_, (i64, i64, i64)>("PRAGMA wal_checkpoint(TRUNCATE)")
                .fetch_one(&mut connection)
                .await;
            let closed = connection.close().await;
            folded.and_then(|(busy, ..)| closed.map(|()| busy == 0))
        };
        match folded.await {
            Ok(true) => Ok(true),
            Err(error) if !is_busy(&error) => Ok(false),
            Ok(false) | Err(_) => Err(refuse(&self.path, "another process has it open; stop that first")),
        }
    }

    /// Last step: the old database gets its second name, then the new one takes the first by one rename.
    fn replace(&self, part: Part, stamp: &str, whole: bool) -> Result<Option<PathBuf>, DbError> {
        let kept = beside(&self.path, &format!(".replaced-{stamp}"));
        let failed = |error: io::Error| refuse(&self.path, &io_advice(&error));
        let existed = self.path.exists();
        if existed {
            second_name(&self.path, &kept).map_err(failed)?;
        }
        let log = beside(&self.path, LOG);
        let moved = (!whole && log.exists()).then(|| beside(&kept, LOG));
        let put = || {
            match &moved {
                Some(moved) => std::fs::rename(&log, moved)?,
                None => remove(&log)?,
            }
            remove(&beside(&self.path, INDEX))?;
            part.file.sync_all()?;
            std::fs::rename(&part.path, &self.path)
        };
        if let Err(error) = put() {
            if let Some(moved) = &moved {
                drop(std::fs::rename(moved, &log));
            }
            if existed {
                drop(std::fs::remove_file(&kept));
            }
            return Err(failed(error));
        }
        sync_directory(&self.path).map_err(failed)?;
        Ok(existed.then_some(kept))
    }

    /// Refuses the database itself, or one of its files, as the copy.
    fn refuse_own(&self, copy: &Path) -> Result<(), DbError> {
        let identity = |path: &Path| std::fs::metadata(path).map(|found| (found.dev(), found.ino()));
        let Ok(copy_is) = identity(copy) else {
            return Ok(());
        };
        let own = ["", LOG, INDEX, ".lock"].map(|suffix| beside(&self.path, suffix));
        if own
            .iter()
            .any(|path| identity(path).is_ok_and(|own| own == copy_is))
        {
            return Err(refuse(
                copy,
                "it belongs to the database itself; name another file",
            ));
        }
        Ok(())
    }
}

/// Arguments by which PostgreSQL's own tools connect to `url`, without its password.
pub fn postgres_arguments(url: &str) -> Result<String, DbError> {
    let options = postgres_options(url)?;
    let host = options
        .get_socket()
        .map_or_else(|| options.get_host().into(), |socket| socket.to_string_lossy());
    let (user, port) = (options.get_username(), options.get_port().to_string());
    let named = [
        ("--host", &*host),
        ("--port", &port),
        ("--username", user),
        ("--dbname", options.get_database().unwrap_or(user)),
    ];
    let arguments = named.map(|(name, value)| format!("{name}={}", shell_word(value)));
    Ok(arguments.join(" "))
}

/// `text` as one word of a shell.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// An unfinished copy, under a temporary name beside its final one. Dropping it removes the file.
struct Part {
    path: PathBuf,
    file: File,
}

impl Part {
    fn make(to: &Path) -> Result<Self, DbError> {
        for attempt in 0..ATTEMPTS {
            let path = beside(to, &format!(".{}-{attempt}.part", std::process::id()));
            let opened = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path);
            match opened {
                Ok(file) => return Ok(Self { path, file }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(refuse(to, &io_advice(&error))),
            }
        }
        Err(refuse(
            to,
            "too many unfinished copies (*.part) lie beside it; remove them",
        ))
    }

    /// Syncs the copy to disk and renames it. Returns its size.
    fn publish(self, to: &Path, overwrite: bool) -> Result<u64, DbError> {
        let publish = || {
            self.file.sync_all()?;
            let bytes = self.file.metadata()?.len();
            if overwrite {
                std::fs::rename(&self.path, to)?;
            } else {
                rename_to_new(&self.path, to)?;
            }
            sync_directory(to)?;
            Ok(bytes)
        };
        publish().map_err(|error: io::Error| refuse(to, &io_advice(&error)))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // After a rename neither exists.
        drop(std::fs::remove_file(&self.path));
        drop(std::fs::remove_file(beside(&self.path, "-journal")));
    }
}

/// Checks `source`, copies it into `part` and checks that.
async fn copy(source: &mut SqliteConnection, shown: &Path, part: &Part) -> Result<Applied, DbError> {
    check(source, shown).await?;
    let name = part
        .path
        .to_str()
        .ok_or_else(|| refuse(&part.path, "its path is not UTF-8; name another"))?;
    sqlx::query("VACUUM INTO $1")
        .bind(name)
        .execute(&mut *source)
        .await
        .map_err(|error| sqlite(shown, &error))?;
    let mut copy = connect(&part.path, options(&part.path).read_only(true).immutable(true)).await?;
    let applied = check(&mut copy, &part.path).await;
    drop(copy.close().await);
    applied
}

/// Checks that the database is undamaged and ours; returns its migrations.
async fn check(connection: &mut SqliteConnection, shown: &Path) -> Result<Applied, DbError> {
    let complaints: Vec<(String,)> = sqlx::query_as("PRAGMA integrity_check(1)")
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| sqlite(shown, &error))?;
    if let Some((complaint,)) = complaints.iter().find(|(complaint,)| complaint != "ok") {
        let first = complaint.lines().next().unwrap_or_default();
        return Err(refuse(
            shown,
            &format!("it is damaged ({first}); a sound backup is needed"),
        ));
    }
    Applied::read(connection)
        .await
        .ok_or_else(|| refuse(shown, "it is not a database of Quartermaster"))
}

/// Recognises a file that is no SQLite database before SQLite opens it: an empty one would pass for a new
/// database.
fn check_header(path: &Path) -> Result<(), DbError> {
    const HEADER: &[u8] = b"SQLite format 3\0";
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEADER.len() as u64).read_to_end(&mut start));
    match read {
        Ok(_) if start == HEADER => Ok(()),
        Ok(_) => Err(refuse(path, "it is not an SQLite database; name another file")),
        Err(error) => Err(refuse(path, &io_advice(&error))),
    }
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .busy_timeout(PATIENCE)
}

async fn connect(path: &Path, options: SqliteConnectOptions) -> Result<SqliteConnection, DbError> {
    options.connect().await.map_err(|error| sqlite(path, &error))
}

/// One name more for a file: a link where the file system has them, else a copy.
fn second_name(path: &Path, name: &Path) -> io::Result<()> {
    if std::fs::hard_link(path, name).is_ok() {
        return Ok(());
    }
    std::fs::copy(path, name)?;
    File::open(name)?.sync_all()
}

/// A rename that never replaces, where the file system has links; elsewhere there is a moment between look and rename.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if to.symlink_metadata().is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(from, to),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A new name survives a power cut once its directory is on the disk.
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

fn is_busy(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(error) if matches!(class(&**error), Class::Busy))
}

fn refuse(path: &Path, reason: &str) -> DbError {
    DbError::Copy(format!("`{}`: {reason}", path.display()))
}

fn io_advice(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            "there is no such file or directory".to_owned()
        }
        io::ErrorKind::PermissionDenied => "permission denied; let this user read and write there".to_owned(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk is full; free some space".to_owned()
        }
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        io::ErrorKind::AlreadyExists => "it exists already; name another file".to_owned(),
        _ => error.to_string(),
    }
}

fn sqlite(path: &Path, error: &sqlx::Error) -> DbError {
    let code = match error {
        sqlx::Error::Database(database) => database.code().and_then(|code| code.parse::<u32>().ok()),
        _ => None,
    };
    let advice = match code.map(|code| code & 0xff) {
        Some(5 | 6) => "another process holds it; try again or stop that".to_owned(),
        Some(8) => "it or its directory is read-only".to_owned(),
        Some(10) => "it cannot be read, or there is no room to write the copy".to_owned(),
        Some(11) => "it is damaged; a sound backup is needed".to_owned(),
        Some(13) => "the disk is full; free some space".to_owned(),
        Some(14) => "it cannot be opened; let this user read and write it and its directory".to_owned(),
        Some(26) => "it is not an SQLite database; name another file".to_owned(),
        _ => error.to_string(),
    };
    refuse(path, &advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_postgresql_are_told_all_but_the_password() {
        let arguments = postgres_arguments("postgres://qm:s3cret@db.example:5433/media").unwrap();
        assert_eq!(
            arguments,
            "--host=db.example --port=5433 --username=qm --dbname=media"
        );
        let odd = postgres_arguments("postgres://o%27b:x@h/a%20b").unwrap();
        assert!(odd.ends_with(r"--username='o'\''b' --dbname='a b'"), "{odd}");
    }
}
