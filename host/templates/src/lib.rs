//! Templates for `quartermaster plugin new`: a plugin to start from, in each role and language, with the
//! contract.
//!
//! Owns: the templates (`files/`: `LANGUAGE/common` and `LANGUAGE/ROLE`, and `ROLE` for all languages; `@WORDS@` are filled in and
//! the ending `.in` falls away), the names a plugin may have, and the folder that is written. What it writes is built and held
//! against the contract by the tests of the whole server. Never: reads the place it runs in; every file is in the program.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Purpose of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A kind of torrent client.
    Engine,
    /// A notification channel.
    Channel,
    /// Actions for rules.
    Actions,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Engine, Role::Channel, Role::Actions];

    pub const fn word(self) -> &'static str {
        match self {
            Role::Engine => "engine",
            Role::Channel => "channel",
            Role::Actions => "actions",
        }
    }

    /// Folder of its contract below `wit/`, and its world.
    pub const fn contract(self) -> (&'static str, &'static str) {
        match self {
            Role::Engine => ("engine@0.2.0", "engine-provider"),
            Role::Channel => ("channel@0.1.0", "notification-channel"),
            Role::Actions => ("actions@0.1.0", "action-set"),
        }
    }

    const fn what(self) -> &'static str {
        match self {
            Role::Engine => "a kind of torrent client",
            Role::Channel => "a notification channel",
            Role::Actions => "actions for rules",
        }
    }

    /// Instructions to try the plugin, for its README.
    const fn trial(self) -> &'static str {
        match self {
            Role::Engine => {
                "Hold it against the contract. `try/` is a torrent client made of files, whose list can be read:\n\n```sh\n\
                 python3 -m http.server --bind 127.0.0.1 --directory try 8000 &\nquartermaster plugin check @ID@.wasm \
                 --config '{\"url\":\"http://127.0.0.1:8000\"}'\n```"
            }
            Role::Channel => {
                "Hold it against the contract. Any web server will do to begin with; nothing is sent to it:\n\n```sh\n\
                 python3 -m http.server --bind 127.0.0.1 8000 &\nquartermaster plugin check @ID@.wasm \
                 --config '{\"url\":\"http://127.0.0.1:8000/\"}'\n```\n\nIn the service every user enters an address of their \
                 own. It leads outside, or to what the operator lists in `SSRF_ALLOW_HOSTS`."
            }
            Role::Actions => {
                "Hold it against the contract, which touches no torrent and sends nothing:\n\n```sh\nquartermaster plugin check \
                 @ID@.wasm --config '{}'\n```"
            }
        }
    }
}

/// Programming language of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Rust,
    Python,
    JavaScript,
}

impl Language {
    pub const ALL: [Language; 3] = [Language::Rust, Language::Python, Language::JavaScript];

    pub const fn word(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::Python => "python",
            Language::JavaScript => "javascript",
        }
    }
}

/// Name of a plugin's folder: a lower-case letter, then lower-case letters, digits, `_` and `-`, at most 64
/// characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

/// An invalid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no name for a plugin: begin with a lower-case letter and go on with lower-case letters, digits, `_` or `-`, 64 at most, e.g. `my-channel`"
)]
pub struct BadName(String);

/// Largest number of characters of a plugin's id, by the contract.
const LONGEST: usize = 64;

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let fits =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        if begins && text.len() <= LONGEST && text.bytes().all(fits) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadName(text.chars().take(LONGEST + 1).collect()))
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Name {
    /// Name under which the template itself is built and tested.
    pub fn of_trial(role: Role, language: Language) -> Self {
        Self(format!("trial-{}-{}", role.word(), language.word()))
    }

    /// Id of the plugin, which users store.
    pub fn id(&self) -> String {
        self.0.replace('-', "_")
    }

    /// Name for display, until the author chooses a better one.
    fn label(&self) -> String {
        let words = self.0.split(['-', '_']).filter(|word| !word.is_empty());
        let capital = |word: &str| {
            let (first, rest) = word.split_at(1);
            first.to_ascii_uppercase() + rest
        };
        words.map(capital).collect::<Vec<_>>().join(" ")
    }
}

/// One file of a new plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path below the plugin's folder, with `/`.
    pub path: String,
    pub text: String,
}

/// Files of a new plugin, sorted by path.
pub fn files(role: Role, language: Language, name: &Name) -> Vec<File> {
    let (folder, world) = role.contract();
    let fill = |text: &str| {
        text.replace("@TRY@", role.trial())
            .replace("@WHAT@", role.what())
            .replace("@WORLD@", world)
            .replace("@LABEL@", &name.label())
            .replace("@NAME@", &name.0)
            .replace("@ID@", &name.id())
    };
    let parts = [
        format!("{}/common/", language.word()),
        format!("{}/{}/", language.word(), role.word()),
        format!("{}/", role.word()),
    ];
    let own = FILES.iter().filter_map(|(path, text)| {
        let inside = parts.iter().find_map(|part| path.strip_prefix(part.as_str()))?;
        let path = inside.strip_suffix(".in")?.to_owned();
        Some(File {
            path,
            text: fill(text),
        })
    });
    let contract = WIT.iter().filter_map(|(path, text)| {
        let (package, file) = path.split_once('/')?;
        let below = match package {
            package if package == folder => "wit",
            "base@0.1.0" => "wit/deps/base",
            _ => return None,
        };
        Some(File {
            path: format!("{below}/{file}"),
            text: (*text).to_owned(),
        })
    });
    let mut all: Vec<File> = own.chain(contract).collect();
    all.sort_by(|one, other| one.path.cmp(&other.path));
    all
}

/// Reason why no plugin was written.
#[derive(Debug, thiserror::Error)]
pub enum NewError {
    #[error("`{}` is there already: choose another name, or move it away first", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Writes `files` into `folder`, which must not exist. After a failure the partial folder is removed.
pub fn write(folder: &Path, files: &[File]) -> Result<(), NewError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| NewError::Write { path, source }
    };
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(NewError::Exists(folder.to_owned()));
        }
        made => made.map_err(failed(folder))?,
    }
    let written = files.iter().try_for_each(|file| {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        std::fs::write(&path, &file.text).map_err(failed(&path))
    });
    if written.is_err() {
        // The first failure is more useful than one of the removal.
        let _ = std::fs::remove_dir_all(folder);
    }
    written
}

/// All files as one text, to compare a built plugin with its template.
pub fn as_one(files: &[File]) -> Vec<u8> {
    let mut all = Vec::new();
    for File { path, text } in files {
        all.extend(format!("{path} {}\n", text.len()).into_bytes());
        all.extend(text.as_bytes());
    }
    all
}

#[cfg(test)]
mod tests;
