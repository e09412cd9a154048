//! Points a torrent to another directory. The data stays where it is: this kind has no `moves-data`, but `follows-data`: the
//! host has it let go of its files, moves them, and tells it where they are.

use crate::client::{Call, Client};
use crate::commands::parts;
use crate::error::Error;
use crate::names;
use crate::wire::{Clock, Transport};

/// The torrent's own note of how it ran before it let go of its data.
const RAN: &str = "quartermaster_ran";
const ACTIVE: &str = "active";
const PAUSED: &str = "paused";
const STOPPED: &str = "stopped";
/// Behind one of them: its data was being checked.
const CHECKED: &str = "+check";

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
            names::decoded(&name?.text()),
        );
        self.make_directory(destination)?;
        // Also one that is started but could not be opened: starting it again would do nothing.
        if open || started {
            self.steps(target, &["d.stop", "d.close"])?;
        }
        self.call("d.directory.set", &[target.into(), destination.into()])??;
        let now = names::decoded(&self.call("d.directory", &[target.into()])??.text());
        // One that was paused stays stopped: rTorrent cannot open it without running it. The check comes first, or one
        // whose files are not there yet would stand still.
        if started && (active || !open) {
            self.steps(target, &["d.check_hash", "d.start"])?;
        }
        // A torrent with several files has a folder of its own in there.
        let own = now
            .strip_prefix(destination)
            .and_then(|own| own.strip_prefix('/'));
        if now == destination || own == Some(&name) {
            Ok(())
        } else {
            Err(elsewhere(&now))
        }
    }

    /// Closes a torrent and remembers with it, in the session that outlives rTorrent, how it ran. One that was let go of
    /// before and was not started since keeps what is remembered.
    pub(crate) fn detach(&self, target: &str) -> Result<(), Error> {
        let answers = self.multicall(&[
            ("d.state", vec![target.into()]),
            ("d.is_active", vec![target.into()]),
            ("d.is_open", vec![target.into()]),
            ("d.hashing", vec![target.into()]),
            ("d.custom", vec![target.into(), RAN.into()]),
        ])?;
        let [started, active, open, hashing, before] = parts(answers)?;
        let (started, active, open) = (started?.int() != 0, active?.int() != 0, open?.int() != 0);
        let is_checked = hashing?.int() != 0;
        let before = before.map(|before| before.text()).unwrap_or_default();
        if before.is_empty() || started {
            let mut ran = match (started, active, open) {
                (false, ..) => STOPPED,
                (true, false, true) => PAUSED,
                // One that is started and not open is on its way, or could not be opened.
                (true, ..) => ACTIVE,
            }
            .to_owned();
            if is_checked {
                ran.push_str(CHECKED);
            }
            self.call("d.custom.set", &[target.into(), RAN.into(), (&ran).into()])??;
        }
        if open || started || is_checked {
            self.steps(target, &["d.stop", "d.close"])?;
        }
        self.store(target);
        if self.call("d.is_open", &[target.into()])??.int() == 0 {
            Ok(())
        } else {
            Err(Error::Rejected(
                "rTorrent does not close the torrent's files".to_owned(),
            ))
        }
    }

    /// Points a torrent at its data and lets it run as it did before it let go of it. What lies there is as it was: rTorrent
    /// trusts what it remembers of a file whose size and time are the same, and checks any other.
    pub(crate) fn attach(&self, target: &str, save_path: &str) -> Result<(), Error> {
        let answers = self.multicall(&[
            ("d.state", vec![target.into()]),
            ("d.is_open", vec![target.into()]),
            ("d.name", vec![target.into()]),
            ("d.is_multi_file", vec![target.into()]),
            ("d.directory", vec![target.into()]),
            ("d.custom", vec![target.into(), RAN.into()]),
        ])?;
        let [started, open, name, multi, present, ran] = parts(answers)?;
        let mut wanted = save_path.trim_end_matches('/').to_owned();
        if multi?.int() != 0 {
            wanted = format!("{wanted}/{}", names::decoded(&name?.text()));
        }
        if names::decoded(&present?.text()).trim_end_matches('/') != wanted {
            let save_path = directory(save_path)?;
            if open?.int() != 0 || started?.int() != 0 {
                self.steps(target, &["d.stop", "d.close"])?;
            }
            self.call("d.directory.set", &[target.into(), save_path.into()])??;
            let now = names::decoded(&self.call("d.directory", &[target.into()])??.text());
            if now.trim_end_matches('/') != wanted {
                return Err(elsewhere(&now));
            }
            self.store(target);
        }
        let ran = ran.map(|ran| ran.text()).unwrap_or_default();
        let how = ran.strip_suffix(CHECKED);
        if how.is_some() {
            self.steps(target, &["d.check_hash"])?;
        }
        match how.unwrap_or(&ran) {
            ACTIVE => self.steps(target, &["d.start"])?,
            // It cannot be opened without running it.
            PAUSED => self.steps(target, &["d.start", "d.pause"])?,
            _ => {}
        }
        if !ran.is_empty() {
            self.call("d.custom.set", &[target.into(), RAN.into(), "".into()])??;
            self.store(target);
        }
        Ok(())
    }

    /// Has rTorrent store what it knows of a torrent: otherwise it does so now and then, and after a crash would look for the
    /// data where it was. Without a session directory it cannot.
    pub(crate) fn store(&self, target: &str) {
        let _stored = self.call("d.save_full_session", &[target.into()]);
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

fn elsewhere(now: &str) -> Error {
    Error::Rejected(format!("rTorrent saves into `{now}` instead"))
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
