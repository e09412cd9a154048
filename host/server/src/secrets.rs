//! The two secrets of the service: the key that signs access tokens and the key that encrypts what is stored.
//!
//! In production both come from the environment and must be strong. Otherwise one that is not set is generated once
//! and kept in the data directory (`secrets.json`, mode 0600); there is no known default. A file that is there but
//! cannot be read stops the start: making new keys would leave every stored secret unreadable.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use qm_kernel::{Ctx, Secret};
use qm_platform::Cipher;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::config::SuppliedSecrets;

const FILE: &str = "secrets.json";
const MIN_LENGTH: usize = 32;
/// 384 bits: 64 characters.
const GENERATED_BYTES: usize = 48;

/// The secrets the service runs with.
#[derive(Clone, Debug)]
pub struct Secrets {
    pub jwt_access: Secret,
    pub encryption: Secret,
    /// Keys that older stored values may still be encrypted with, the newest first.
    pub encryption_previous: Vec<Secret>,
}

impl Secrets {
    /// Fingerprint of the keys, which shows only if two servers have the same ones.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update("quartermaster: the keys of a node\0");
        for secret in [&self.jwt_access, &self.encryption] {
            hash.update(Sha256::digest(secret.expose()));
        }
        hex::encode(hash.finalize())
    }

    /// Cipher with the present and the previous encryption keys.
    pub fn cipher(&self, ctx: &Ctx) -> Cipher {
        Cipher::new(&self.encryption, ctx.clone()).with_previous(&self.encryption_previous)
    }
}

/// Path of the file with generated secrets.
pub fn file(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

/// Resolved secrets, with warnings and the ones still to be saved.
#[derive(Debug)]
pub struct Resolved {
    pub secrets: Secrets,
    /// Weaknesses of supplied secrets, to be logged.
    pub warnings: Vec<String>,
    /// Newly generated ones, to be written once the start is sure to go on.
    pub unsaved: Option<Unsaved>,
}

/// Secrets that exist only in memory so far.
#[derive(Debug)]
pub struct Unsaved {
    path: PathBuf,
    stored: Stored,
}

#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    #[error(
        "refusing to start in production: {}; set JWT_ACCESS_SECRET and ENCRYPTION_KEY to two different random texts \
         of at least {MIN_LENGTH} characters (openssl rand -base64 48)",
        .0.join("; ")
    )]
    Weak(Vec<String>),
    #[error("cannot read the generated secrets in `{}`: {reason}; restore the file, or set JWT_ACCESS_SECRET and ENCRYPTION_KEY", .path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("cannot write the generated secrets to `{}`: {source}; make the directory writable, or set JWT_ACCESS_SECRET and ENCRYPTION_KEY", .path.display())]
    Unwritable { path: PathBuf, source: io::Error },
}

/// The file's content. A secret that the environment supplied is not in it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    #[serde(skip_serializing_if = "Option::is_none")]
    jwt_access_secret: Option<Stash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encryption_key: Option<Stash>,
}

/// A secret that may be serialized, but only to this one file.
#[derive(Clone, Debug)]
struct Stash(Secret);

impl Serialize for Stash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose())
    }
}

impl<'de> Deserialize<'de> for Stash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Stash(Secret::new(text)))
    }
}

/// Everything wrong with the supplied secrets, as sentences without a full stop.
fn problems(supplied: &SuppliedSecrets) -> Vec<String> {
    let named = [
        ("JWT_ACCESS_SECRET", &supplied.jwt_access),
        ("ENCRYPTION_KEY", &supplied.encryption),
    ];
    let mut problems = Vec::new();
    for (name, secret) in named {
        let Some(secret) = secret else {
            problems.push(format!("{name} is not set"));
            continue;
        };
        if is_known_default(secret.expose()) {
            problems.push(format!("{name} is a known default"));
        }
        if secret.expose().chars().count() < MIN_LENGTH {
            problems.push(format!("{name} is shorter than {MIN_LENGTH} characters"));
        }
    }
    if supplied.jwt_access.is_some() && supplied.jwt_access == supplied.encryption {
        problems.push("JWT_ACCESS_SECRET and ENCRYPTION_KEY are equal".to_owned());
    }
    problems
}

fn is_known_default(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.starts_with("dev-") || text.contains("change-me") || text.contains("changeme")
}

/// Decides which secrets the service runs with. Reads `secrets.json`, writes nothing.
pub fn resolve(
    supplied: &SuppliedSecrets,
    production: bool,
    data_dir: &Path,
    ctx: &Ctx,
) -> Result<Resolved, SecretsError> {
    let problems = problems(supplied);
    if production && !problems.is_empty() {
        return Err(SecretsError::Weak(problems));
    }
    // What is not set is generated, so only what was set badly is worth a warning.
    let mut warnings: Vec<String> = problems
        .into_iter()
        .filter(|problem| !problem.ends_with("is not set"))
        .collect();
    let encryption_previous = supplied.encryption_previous.clone();
    if let (Some(jwt_access), Some(encryption)) = (&supplied.jwt_access, &supplied.encryption) {
        let secrets = Secrets {
            jwt_access: jwt_access.clone(),
            encryption: encryption.clone(),
            encryption_previous,
        };
        return Ok(Resolved {
            secrets,
            warnings,
            unsaved: None,
        });
    }

    let path = file(data_dir);
    let mut stored = load(&path, &mut warnings)?;
    let mut generated = false;
    let mut pick = |supplied: &Option<Secret>, kept: &mut Option<Stash>| match supplied {
        Some(secret) => secret.clone(),
        None => kept
            .get_or_insert_with(|| {
                generated = true;
                Stash(Secret::new(
                    BASE64_URL_SAFE_NO_PAD.encode(ctx.bytes::<GENERATED_BYTES>()),
                ))
            })
            .0
            .clone(),
    };
    let secrets = Secrets {
        jwt_access: pick(&supplied.jwt_access, &mut stored.jwt_access_secret),
        encryption: pick(&supplied.encryption, &mut stored.encryption_key),
        encryption_previous,
    };
    Ok(Resolved {
        secrets,
        warnings,
        unsaved: generated.then_some(Unsaved { path, stored }),
    })
}

fn load(path: &Path, warnings: &mut Vec<String>) -> Result<Stored, SecretsError> {
    let unreadable = |reason: String| SecretsError::Unreadable {
        path: path.to_owned(),
        reason,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        // Without the directory there is no file either; making the directory comes later and tells its own troubles.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Stored::default());
        }
        Err(error) => return Err(unreadable(error.to_string())),
    };
    let metadata = file.metadata().map_err(|error| unreadable(error.to_string()))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        warnings.push(format!(
            "`{}` can be read by other users; run chmod 600 on it",
            path.display()
        ));
    }
    let stored: Stored =
        serde_json::from_reader(io::BufReader::new(file)).map_err(|error| unreadable(error.to_string()))?;
    let secrets = [&stored.jwt_access_secret, &stored.encryption_key];
    if secrets
        .into_iter()
        .flatten()
        .any(|stash| stash.0.expose().len() < MIN_LENGTH)
    {
        return Err(unreadable("a secret in it is cut short".to_owned()));
    }
    Ok(stored)
}

impl Unsaved {
    /// Writes the file whole or not at all: a start that is killed half-way leaves the old file or none.
    pub fn save(&self) -> Result<(), SecretsError> {
        self.write().map_err(|source| SecretsError::Unwritable {
            path: self.path.clone(),
            source,
        })
    }

    fn write(&self) -> io::Result<()> {
        let temporary = self.path.with_extension(format!("{}.tmp", std::process::id()));
        let mut text = serde_json::to_vec_pretty(&self.stored)?;
        text.push(b'\n');
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| std::fs::rename(&temporary, &self.path));
        if written.is_err() {
            drop(std::fs::remove_file(&temporary));
        }
        written?;
        // The rename itself must survive a power cut before anything is encrypted with the key.
        self.path
            .parent()
            .map_or(Ok(()), |directory| File::open(directory)?.sync_all())
    }
}

#[cfg(test)]
mod tests;
