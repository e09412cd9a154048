//! The start of the service, in the order that finds every mistake before anything is written: configuration,
//! secrets, plugins directory, file roots, network settings, port, database; only then migrations, generated secrets, seeding.

mod backups;

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use qm_confined::{OwnKind, OwnPlace, check_roots};
use qm_db::{Db, DbError, SqliteFile};
use qm_identity::{HashCost, Pace};
use qm_kernel::Ctx;
use qm_net::{Net, NetConfig};
use qm_plugin_host::{Compiler, Limits};

use crate::app::{App, AppParts, Brought, Passwords};
use crate::config::{self, Config};
use crate::failure::StartError;
use crate::node::{Asked, Candidate};
use crate::secrets;

pub use backups::{migrate, stamp};

/// Brings the whole service up to the point where [`App::run`] answers requests; as a standby it waits for its turn first.
/// `None`: it was `asked` to end while it waited. Only a test has `brought` anything.
pub async fn start(
    config: Config,
    ctx: Ctx,
    brought: Brought,
    asked: Asked<'_>,
) -> Result<Option<App>, StartError> {
    let resolved = secrets::resolve(&config.secrets, config.production, &config.data_dir, &ctx)?;
    std::fs::read_dir(&config.plugins_dir).map_err(|source| StartError::PluginsDir {
        path: config.plugins_dir.clone(),
        source,
    })?;
    let compiler = Compiler::myself(["plugin", "compile"]).map_err(StartError::OwnProgram)?;
    check_roots(&config.file_roots, &own_places(&config)?)?;
    let net = Net::new(NetConfig {
        ssrf_allow_hosts: config.ssrf_allow_hosts.clone(),
        plugin_relays: config.plugin_relays.clone(),
    })?;
    let listener =
        qm_web::listen(config.listen).map_err(|source| StartError::listen(config.listen, source))?;
    // What may refuse the start does so before anything is written; a start that writes nothing goes on beside it.
    if resolved.unsaved.is_some() || makes_something(&config)? {
        net.has_authorities().await?;
    }
    let session = session(&ctx);
    let db = open_database(&config, &session).await?;
    let candidate = Candidate {
        config: &config,
        secrets: &resolved.secrets,
        ctx: &ctx,
        net: &net,
        compiler: &compiler,
        db,
        session,
        listener: &listener,
    };
    let Some(post) = candidate.turn(asked).await? else {
        return Ok(None);
    };
    let begun = async {
        if post.db.outdated().await?.is_some() {
            net.has_authorities().await?;
            migrate(&post.db, &config, &ctx).await?;
        }
        if let Some(unsaved) = &resolved.unsaved {
            unsaved.save()?;
        }
        for warning in resolved.warnings.iter().chain(&config::warnings(&config)) {
            tracing::warn!("{warning}");
        }
        let parts = AppParts {
            config,
            secrets: resolved.secrets,
            ctx,
            net,
            post: post.clone(),
            listener,
            brought,
            compiler,
            limits: Limits::default(),
            passwords: Passwords {
                hash_cost: HashCost::STANDARD,
                guesses: Pace::STANDARD,
            },
        };
        App::build(parts).await
    };
    match begun.await {
        Ok(app) => Ok(Some(app)),
        Err(error) => {
            // Another node may start successfully.
            post.give_back().await;
            Err(error)
        }
    }
}

/// True if opening the database creates the data directory or a file.
fn makes_something(config: &Config) -> Result<bool, DbError> {
    let file = SqliteFile::from_url(config.database_url.expose())?;
    Ok(!config.data_dir.is_dir() || file.is_some_and(|file| !file.path().is_file()))
}

/// A name for the sessions of one process on the database, which no other process has.
pub fn session(ctx: &Ctx) -> String {
    format!("quartermaster {}", ctx.id())
}

/// Places that the file manager must not show: the data directory with the secrets, backups and compiled plugins in it, the
/// plugins, an SQLite database.
pub fn own_places(config: &Config) -> Result<Vec<OwnPlace>, DbError> {
    let directory = |variable, path: &Path| OwnPlace {
        variable,
        path: path.to_owned(),
        kind: OwnKind::Directory,
    };
    let database = SqliteFile::from_url(config.database_url.expose())?.map(|file| OwnPlace {
        variable: "DATABASE_URL",
        path: file.path().to_owned(),
        kind: OwnKind::Database,
    });
    let directories = [
        directory("DATA_DIR", &config.data_dir),
        directory("PLUGINS_DIR", &config.plugins_dir),
    ];
    Ok(directories.into_iter().chain(database).collect())
}

/// Opens the database for a server, making the data directory first. It is the only one on an SQLite file.
pub async fn open_database(config: &Config, session: &str) -> Result<Db, StartError> {
    in_data_dir(config, Db::open_alone(config.database_url.expose(), session)).await
}

/// Opens a database that is there and up to date, beside a server that may be running.
pub async fn open_existing(config: &Config) -> Result<Db, StartError> {
    let url = config.database_url.expose();
    if let Some(file) = SqliteFile::from_url(url)?
        && !file.path().is_file()
    {
        return Err(StartError::NoDatabase(file.path().to_owned()));
    }
    let db = Db::open(url).await?;
    match db.outdated().await? {
        None => Ok(db),
        Some(outdated) => Err(StartError::Outdated(outdated.target)),
    }
}

/// Runs `work` in the data directory, which is created first. A directory created for failing work is removed again.
pub async fn in_data_dir<T>(
    config: &Config,
    work: impl Future<Output = Result<T, DbError>>,
) -> Result<T, StartError> {
    let made = make_private_dir(&config.data_dir).map_err(|source| StartError::DataDir {
        path: config.data_dir.clone(),
        source,
    })?;
    match work.await {
        Ok(done) => Ok(done),
        Err(error) => {
            for directory in made.iter().rev() {
                // One that is no longer empty stays.
                drop(std::fs::remove_dir(directory));
            }
            Err(error.into())
        }
    }
}

/// Creates the directory and its missing parents, open to this user only. Returns the created ones, parents first.
fn make_private_dir(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut missing: Vec<PathBuf> = path
        .ancestors()
        .filter(|part| !part.as_os_str().is_empty())
        .take_while(|part| !part.exists())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)?;
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_missing_directory_is_made_private_with_its_parents() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let deep = folder.path().join("a/b");
        assert_eq!(
            make_private_dir(&deep).expect("made"),
            [folder.path().join("a"), deep.clone()]
        );
        assert_eq!(
            std::fs::metadata(&deep).expect("there").permissions().mode() & 0o777,
            0o700
        );
        assert!(make_private_dir(&deep).expect("there").is_empty());
    }
}
