//! Failures of the start: each reads as one line that names the problem and the remedy.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use qm_confined::RootRefused;
use qm_db::DbError;
use qm_identity::IdentityError;
use qm_net::NetError;
use qm_platform::PortMissing;
use qm_platform::area::AreaError;
use qm_plugin_host::PluginHostError;

use crate::config::ConfigError;
use crate::secrets::SecretsError;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error("cannot read the plugins directory `{}` ({source}); create it, or set PLUGINS_DIR to the directory that holds the plugins", .path.display())]
    PluginsDir { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Roots(#[from] RootRefused),
    #[error("cannot listen on {address} ({source}); {advice}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
        advice: &'static str,
    },
    #[error("cannot create the data directory `{}` ({source}); create it for the user that runs the service, or set DATA_DIR", .path.display())]
    DataDir { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Database(#[from] DbError),
    #[error("there is no database `{}`; start the service once, or correct DATABASE_URL", .0.display())]
    NoDatabase(PathBuf),
    #[error("the database lacks migration `{0}`; start the service or run `quartermaster migrate` first")]
    Outdated(&'static str),
    #[error("cannot use the directory `{}` for the backup before a migration ({source}); let the user that runs the service write there", .path.display())]
    BackupDir { path: PathBuf, source: io::Error },
    #[error(
        "migration `{migration}` was not begun, because the database could not be backed up before: {source}"
    )]
    NotBackedUp {
        migration: &'static str,
        source: DbError,
    },
    #[error("a PostgreSQL database is copied with its own tools (PGPASSWORD holds the password): {0}")]
    PostgresTools(String),
    #[error(
        "there is no key yet that anything could be stored under; set ENCRYPTION_KEY, or start the service once"
    )]
    NoKey,
    #[error(
        "ADMIN_EMAIL `{email}` belongs to another user than `{username}`; set ADMIN_USERNAME to that user's name, or another ADMIN_EMAIL"
    )]
    AdminEmailTaken { username: String, email: String },
    #[error(
        "no user is named `{0}`; `quartermaster user list` shows the names, which are told apart by case"
    )]
    NoUser(String),
    #[error(
        "the password on standard input has {0} characters; give one of 10 to 256 characters on the first line"
    )]
    PasswordLength(usize),
    #[error("cannot read the password from standard input")]
    Input(#[source] io::Error),
    #[error("cannot work on the accounts")]
    Users(#[source] IdentityError),
    #[error("cannot prepare the accounts")]
    Accounts(#[source] IdentityError),
    #[error(transparent)]
    Network(#[from] NetError),
    #[error(transparent)]
    Plugins(#[from] PluginHostError),
    #[error(transparent)]
    Area(#[from] AreaError),
    #[error(transparent)]
    Port(#[from] PortMissing),
    #[error(
        "the node `{node}` ({address}) is active on this database with other secrets: give both the same JWT_ACCESS_SECRET and \
         ENCRYPTION_KEY, or the same secrets.json in DATA_DIR (to change a key, stop all nodes first)"
    )]
    OtherSecrets { node: String, address: String },
    #[error("cannot set up the metrics")]
    Metrics(#[from] prometheus::Error),
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    #[error("cannot find out which program this is")]
    OwnProgram(#[source] io::Error),
    #[error("cannot start the asynchronous runtime")]
    Runtime(#[source] io::Error),
}

impl StartError {
    /// Binding `address` failed.
    pub fn listen(address: SocketAddr, source: io::Error) -> Self {
        let advice = match source.kind() {
            io::ErrorKind::AddrInUse => "stop the process that uses the port, or set PORT to another one",
            io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege, set PORT to a higher one",
            io::ErrorKind::AddrNotAvailable => "this machine does not have the address, correct HOST",
            _ => "correct HOST and PORT",
        };
        Self::Listen {
            address,
            source,
            advice,
        }
    }

    /// The failure with its causes, in one line.
    pub fn line(&self) -> String {
        one_line(self)
    }
}

/// An error and its causes, joined; a cause that its parent's text already ends with is not repeated.
pub fn one_line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        next = cause.source();
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_follow_and_line_breaks_do_not() {
        let cause = io::Error::other("no\nsuch   thing");
        assert_eq!(
            StartError::Signals(cause).line(),
            "cannot listen for signals: no such thing"
        );
    }

    #[test]
    fn a_cause_the_text_names_already_is_not_repeated() {
        let address = SocketAddr::from(([127, 0, 0, 1], 4000));
        let line = StartError::listen(address, io::Error::from(io::ErrorKind::AddrInUse)).line();
        assert_eq!(
            line,
            "cannot listen on 127.0.0.1:4000 (address in use); stop the process that uses the port, or set PORT to another one"
        );
    }
}
