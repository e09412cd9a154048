//! Points a torrent to another directory. The data stays where it is: this kind has no `moves-data`.

use crate::client::{Call, Client};
use crate::commands::parts;
use crate::error::Error;
use crate::wire::{Clock, Transport};

impl<T: Transport, C: Clock> Client<T, C> {
    /// An open torrent would go on with the old files until it is closed and opened again, so that is done at once;
    /// what lies in the new place is checked.
    pub(crate) fn relocate(&self, target: &str, destination: &str) -> Result<(), Error> {
        let destination = directory(destination)?;
        let answers = self.multicall(&[
            ("d.state", vec![target.into()]),
            ("d.is_active", vec![target.into()]),
            ("d.is_open", vec![target.into()]),
            ("d.name", vec![target.into()]),
        ])?;
        let [started, active, open, name] = parts(answers)?;
        let (started, active, open, name) = (
            started?.int() != 0,
            active?.int() != 0,
            open?.int() != 0,
            name?.text(),
        );
        self.make_directory(destination)?;
        // Also one that is started but could not be opened: starting it again would do nothing.
        if open || started {
            self.steps(target, &["d.stop", "d.close"])?;
        }
        self.call("d.directory.set", &[target.into(), destination.into()])??;
        let now = self.call("d.directory", &[target.into()])??.text();
        // One that was paused stays stopped: rTorrent cannot open it without running it. The check comes first, or one
        // whose files are not there yet would stand still.
        if started && (active || !open) {
            self.steps(target, &["d.check_hash", "d.start"])?;
        }
        // A torrent with several files has a folder of its own in there.
        let is_there = now == destination
            || now
                .strip_prefix(destination)
                .and_then(|own| own.strip_prefix('/'))
                == Some(&name);
        if is_there {
            Ok(())
        } else {
            Err(Error::Rejected(format!("rTorrent saves into `{now}` instead")))
        }
    }

    /// rTorrent makes a torrent's own folder, but not the directories above it; without them it stands still and does
    /// not say why. Where this fails (no permission, say) the torrent will show it.
    pub(crate) fn make_directory(&self, path: &str) -> Result<(), Error> {
        let _made = self.call("execute.throw", &["", "mkdir", "-p", "--", path].map(Into::into))?;
        Ok(())
    }

    fn steps(&self, target: &str, methods: &[&'static str]) -> Result<(), Error> {
        let calls: Vec<Call<'_>> = methods
            .iter()
            .map(|method| (*method, vec![target.into()]))
            .collect();
        for answer in self.multicall(&calls)? {
            answer?;
        }
        Ok(())
    }
}

/// An absolute directory, without the slash at its end. Anything else rTorrent would take for something it must expand.
pub(crate) fn directory(path: &str) -> Result<&str, Error> {
    if !path.starts_with('/') {
        return Err(Error::Rejected("the directory must be absolute".to_owned()));
    }
    if path.chars().any(|char| char == '"' || char.is_control()) {
        return Err(Error::Rejected(
            "the directory has characters that no command of rTorrent may hold".to_owned(),
        ));
    }
    let trimmed = path.trim_end_matches('/');
    Ok(if trimmed.is_empty() { "/" } else { trimmed })
}
