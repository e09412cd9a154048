//! `quartermaster backup` and `restore`: the SQLite database as one file.

use std::path::Path;

use qm_db::{SqliteFile, postgres_arguments};
use qm_kernel::Ctx;

use super::say;
use crate::config::Config;
use crate::failure::StartError;
use crate::{logging, secrets, start};

/// Copies the database to `file`, also while a server runs on it.
pub async fn backup(file: &Path, force: bool) -> Result<(), StartError> {
    let config = Config::from_env()?;
    logging::init(&config.log);
    let database = sqlite(&config, |target| {
        // What was imported of titles can be had again, and is larger than everything else: SQLite's copy has none of it either.
        format!(
            "pg_dump --format=custom --exclude-schema='titledb*' --file={} {target}",
            file.display()
        )
    })?;
    let copied = database.backup(file, force).await?;
    say(format_args!(
        "`{}` is a backup of `{}`: {} bytes, schema {}, checked.",
        file.display(),
        database.path().display(),
        copied.bytes,
        copied.schema
    ));
    let key = key_place(&config);
    say(format_args!(
        "{key} is not in it: keep that too, in another place. Without it the stored passwords cannot be read."
    ));
    Ok(())
}

/// Puts the backup `file` in the place of the database.
pub async fn restore(file: &Path) -> Result<(), StartError> {
    let config = Config::from_env()?;
    logging::init(&config.log);
    let database = sqlite(&config, |target| {
        format!(
            "pg_restore --clean --if-exists --no-owner {target} {}",
            file.display()
        )
    })?;
    let stamp = start::stamp(Ctx::system().now());
    let restored = start::in_data_dir(&config, database.restore(file, &stamp)).await?;
    say(format_args!(
        "`{}` is what `{}` holds: schema {}.",
        database.path().display(),
        file.display(),
        restored.schema
    ));
    if let Some(replaced) = restored.replaced {
        say(format_args!(
            "What was there is `{}` now; delete it when all is well.",
            replaced.display()
        ));
    }
    let key = key_place(&config);
    say(format_args!(
        "{key} must be the one it was stored under: start the service, and see GET /api/system/health."
    ));
    Ok(())
}

/// The SQLite database; for PostgreSQL the command of its own tools, `tool` given the arguments that name it.
fn sqlite(config: &Config, tool: impl FnOnce(String) -> String) -> Result<SqliteFile, StartError> {
    let url = config.database_url.expose();
    match SqliteFile::from_url(url)? {
        Some(file) => Ok(file),
        None => Err(StartError::PostgresTools(tool(postgres_arguments(url)?))),
    }
}

/// Place of the key of the stored secrets, for people.
fn key_place(config: &Config) -> String {
    match &config.secrets.encryption {
        Some(_) => "ENCRYPTION_KEY".to_owned(),
        None => format!("The key in `{}`", secrets::file(&config.data_dir).display()),
    }
}
