//! Commands of users to torrents: most take one call a torrent, with many torrents in one connection.

use crate::client::{Call, Client, target};
use crate::error::{Error, Fault, Subject, is_transport};
use crate::fields;
use crate::label;
use crate::wire::{Clock, Transport};
use crate::xml::{Param, Response};
use engine_model::{Command, peer_addresses};

/// Result of a command for one hash.
pub type Outcome = Result<(), Error>;

impl<T: Transport, C: Clock> Client<T, C> {
    /// Does `command` to every hash; an outcome each, in order.
    pub fn run(&self, hashes: &[String], command: &Command) -> Vec<Outcome> {
        match command {
            // A torrent that was paused is started already, but not running until it is resumed as well.
            Command::Start | Command::Resume => {
                self.each(hashes, &[("d.start", None), ("d.resume", None)], 0)
            }
            Command::Stop => self.each(hashes, &[("d.stop", None), ("d.close", None)], 1),
            Command::Pause => self.each(hashes, &[("d.pause", None)], 0),
            Command::ForceStart(true) => self.each(
                hashes,
                &[("d.priority.set", Some(3)), ("d.start", None), ("d.resume", None)],
                0,
            ),
            Command::ForceStart(false) => self.each(hashes, &[("d.priority.set", Some(2))], 0),
            Command::Recheck => self.each(hashes, &[("d.check_hash", None)], 0),
            Command::Reannounce => self.each(hashes, &[("d.tracker_announce", None)], 0),
            Command::SuperSeeding(on) => one_by_one(hashes, |hash| self.set_super_seeding(hash, *on)),
            Command::TorrentPriority(priority @ 0..=3) => {
                self.each(hashes, &[("d.priority.set", Some(i64::from(*priority)))], 0)
            }
            Command::TorrentPriority(_) => refuse(
                hashes,
                Error::Rejected("a torrent's priority is 0 to 3".to_owned()),
            ),
            Command::Remove(with_data) => self.remove(hashes, *with_data),
            Command::Rename(_) => refuse(
                hashes,
                Error::Unsupported("This engine cannot rename torrents".to_owned()),
            ),
            Command::RenameFile { .. } | Command::RenameFolder { .. } => refuse(
                hashes,
                Error::Unsupported("This engine cannot rename files".to_owned()),
            ),
            Command::Queue(_) => refuse(hashes, Error::Unsupported("This engine has no queue".to_owned())),
            Command::Sequential(_) | Command::FirstLastPiece(_) => refuse(
                hashes,
                Error::Unsupported("This engine cannot choose the order of pieces".to_owned()),
            ),
            Command::ShareLimits(_) => refuse(
                hashes,
                Error::Unsupported("This engine has no limits of sharing".to_owned()),
            ),
            Command::DownloadPath(_) | Command::AutoManage(_) => refuse(
                hashes,
                Error::Unsupported("This engine keeps all data of a torrent in its save path".to_owned()),
            ),
            Command::SetLabel(label) => one_by_one(hashes, |hash| self.set_label(hash, label)),
            Command::AddTags(_) | Command::RemoveTags(_) => {
                refuse(hashes, Error::Unsupported("This engine has no tags".to_owned()))
            }
            Command::Move(destination) => one_by_one(hashes, |hash| self.relocate(hash, destination)),
            Command::Detach => one_by_one(hashes, |hash| self.detach(hash)),
            Command::Attach(save_path) => one_by_one(hashes, |hash| self.attach(hash, save_path)),
            Command::FilePriority { indexes, priority } => {
                one_by_one(hashes, |hash| self.set_file_priorities(hash, indexes, *priority))
            }
            Command::UploadLimit(bytes) => one_by_one(hashes, |hash| self.limit(hash, Some(*bytes), None)),
            Command::DownloadLimit(bytes) => one_by_one(hashes, |hash| self.limit(hash, None, Some(*bytes))),
            Command::AddTracker(url) => one_by_one(hashes, |hash| self.add_tracker(hash, url)),
            Command::RemoveTracker(url) => one_by_one(hashes, |hash| self.remove_tracker(hash, url)),
            Command::ReplaceTracker { old_url, new_url } => {
                one_by_one(hashes, |hash| self.replace_tracker(hash, old_url, new_url))
            }
            Command::BanPeers(peers) => match peer_addresses(peers) {
                Ok(peers) => one_by_one(hashes, |hash| self.ban(hash, &peers)),
                Err(error) => refuse(hashes, error),
            },
        }
    }

    /// The same calls for every hash, all in one connection. Faults of the last `optional` calls don't count.
    fn each(
        &self,
        hashes: &[String],
        steps: &[(&'static str, Option<i64>)],
        optional: usize,
    ) -> Vec<Outcome> {
        let targets: Vec<Result<String, Error>> = hashes.iter().map(|hash| target(hash)).collect();
        let calls: Vec<Call<'_>> = targets
            .iter()
            .flatten()
            .flat_map(|target| {
                steps.iter().map(move |(method, argument)| {
                    let mut params = vec![Param::from(target)];
                    params.extend(argument.map(Param::Int));
                    (*method, params)
                })
            })
            .collect();
        let answers = match self.multicall(&calls) {
            Ok(answers) => answers,
            Err(error) => return refuse(hashes, error),
        };
        let mut answers = answers.into_iter();
        let needed = steps.len() - optional;
        targets
            .into_iter()
            .map(|target| {
                let _valid = target?;
                let mine: Vec<Response> = answers.by_ref().take(steps.len()).collect();
                mine.into_iter()
                    .take(needed)
                    .try_for_each(|answer| answer.map(drop).map_err(Error::from))
            })
            .collect()
    }

    /// The way of seeding is private to rTorrent's own commands. It is looked up when a torrent begins to seed: only one that seeds
    /// now is started anew, and only for another way.
    fn set_super_seeding(&self, target: &str, on: bool) -> Outcome {
        let known = self.multicall(&[
            ("d.connection_seed", vec![target.into()]),
            ("d.complete", vec![target.into()]),
        ])?;
        let [way, complete] = parts(known)?;
        if (way?.text() == fields::SUPER_SEEDING) == on {
            return Ok(());
        }
        let (set, anew) = if on {
            (
                "d.connection_seed.set=initial_seed",
                "cat=$d.stop=,$d.close=,$d.connection_seed.set=initial_seed,$d.open=,$d.start=",
            )
        } else {
            (
                "d.connection_seed.set=seed",
                "cat=$d.stop=,$d.close=,$d.connection_seed.set=seed,$d.open=,$d.start=",
            )
        };
        let active = if complete?.int() == 0 { set } else { anew };
        let answers = self.multicall(&[
            (
                "branch",
                vec![target.into(), "d.is_active=".into(), active.into(), set.into()],
            ),
            ("d.connection_seed", vec![target.into()]),
        ])?;
        let [done, now] = parts(answers)?;
        done?;
        if (now?.text() == fields::SUPER_SEEDING) != on {
            return Err(Error::Rejected(
                "rTorrent did not change how the torrent seeds".to_owned(),
            ));
        }
        self.store(target);
        Ok(())
    }

    fn set_file_priorities(&self, target: &str, indexes: &[u32], priority: u8) -> Outcome {
        if priority > 2 {
            return Err(Error::Rejected("a file's priority is 0 to 2".to_owned()));
        }
        let files: Vec<String> = indexes.iter().map(|index| format!("{target}:f{index}")).collect();
        let mut calls: Vec<Call<'_>> = Vec::new();
        for file in &files {
            let value = Param::Int(i64::from(priority));
            calls.push(("f.priority.set", vec![Param::from(file), value]));
        }
        calls.push(("d.update_priorities", vec![target.into()]));
        calls.extend(files.iter().map(|file| ("f.priority", vec![Param::from(file)])));
        for (number, answer) in self.multicall(&calls)?.into_iter().enumerate() {
            let answer = answer.map_err(|fault| fault.about(Subject::File))?;
            if number > files.len() && answer.int() != i64::from(priority) {
                return Err(Error::Rejected(
                    "rTorrent did not take the file's priority".to_owned(),
                ));
            }
        }
        Ok(())
    }

    fn set_label(&self, target: &str, label: &str) -> Outcome {
        let written = label::written(label);
        let answers = self.multicall(&[
            (label::SET, vec![target.into(), Param::from(&written)]),
            (label::READ, vec![target.into()]),
        ])?;
        let [set, now] = parts(answers)?;
        set?;
        if now?.text() != written {
            return Err(Error::Rejected("rTorrent did not take the label".to_owned()));
        }
        self.store(target);
        Ok(())
    }

    fn add_tracker(&self, target: &str, url: &str) -> Outcome {
        let existing = self.tracker_urls(target)?;
        let calls: Vec<String> = existing
            .iter()
            .enumerate()
            .filter(|(_, known)| *known == url)
            .map(|(index, _)| format!("{target}:t{index}"))
            .collect();
        // A second one of the same URL would announce twice; one that was removed is only switched off.
        if let Some(tracker) = calls.first() {
            self.call("t.is_enabled.set", &[tracker.into(), Param::Int(1)])??;
            return Ok(());
        }
        self.call("d.tracker.insert", &[target.into(), "0".into(), url.into()])??;
        Ok(())
    }

    /// rTorrent cannot forget a tracker; it is switched off and stays listed.
    fn remove_tracker(&self, target: &str, url: &str) -> Outcome {
        let trackers: Vec<String> = self
            .tracker_urls(target)?
            .iter()
            .enumerate()
            .filter(|(_, known)| *known == url)
            .map(|(index, _)| format!("{target}:t{index}"))
            .collect();
        if trackers.is_empty() {
            return Err(Error::NotFound(Subject::Tracker));
        }
        let calls: Vec<Call<'_>> = trackers
            .iter()
            .map(|tracker| ("t.disable", vec![Param::from(tracker)]))
            .collect();
        for answer in self.multicall(&calls)? {
            answer.map_err(|fault| fault.about(Subject::Tracker))?;
        }
        Ok(())
    }

    /// rTorrent cannot forget a tracker: the old one is switched off, and the new one stands in its group.
    fn replace_tracker(&self, target: &str, old_url: &str, new_url: &str) -> Outcome {
        let columns = ["t.url=", "t.group=", "t.is_enabled="];
        let mut params = vec![Param::from(target), Param::Text("")];
        params.extend(columns.iter().map(|column| Param::Text(column)));
        let list = self.call("t.multicall", &params)??;
        let rows: Vec<(String, i64, bool)> = list
            .array()
            .iter()
            .filter_map(|row| match row.array() {
                [url, group, enabled] => Some((url.text(), group.int(), enabled.int() != 0)),
                _ => None,
            })
            .collect();
        let old = rows
            .iter()
            .find(|(url, _, is_enabled)| url == old_url && *is_enabled);
        let Some((_, group, _)) = old else {
            return Err(Error::NotFound(Subject::Tracker));
        };
        if old_url == new_url {
            return Ok(());
        }
        match rows.iter().find(|(url, _, _)| url == new_url) {
            Some((_, _, true)) => {
                return Err(Error::Rejected(
                    "the torrent has the new tracker already".to_owned(),
                ));
            }
            // One that was there before is only switched off.
            Some((_, _, false)) => self.add_tracker(target, new_url)?,
            None => {
                let group = group.to_string();
                let params = [target.into(), Param::Text(&group), Param::Text(new_url)];
                self.call("d.tracker.insert", &params)??;
            }
        }
        self.remove_tracker(target, old_url)
    }

    fn tracker_urls(&self, target: &str) -> Result<Vec<String>, Error> {
        let list = self.call("t.multicall", &[target.into(), "".into(), "t.url=".into()])??;
        Ok(list
            .array()
            .iter()
            .map(|row| {
                row.array()
                    .first()
                    .map(crate::xml::Value::text)
                    .unwrap_or_default()
            })
            .collect())
    }
}

/// One after the other, until the connection fails: then the rest would fail the same way, only later.
fn one_by_one(hashes: &[String], mut step: impl FnMut(&str) -> Outcome) -> Vec<Outcome> {
    let mut broken: Option<Error> = None;
    hashes
        .iter()
        .map(|hash| {
            if let Some(error) = &broken {
                return Err(error.clone());
            }
            let outcome = target(hash).and_then(|target| step(&target));
            broken = outcome
                .as_ref()
                .err()
                .filter(|error| is_transport(error))
                .cloned();
            outcome
        })
        .collect()
}

/// The same error for every hash.
pub(crate) fn refuse(hashes: &[String], error: Error) -> Vec<Outcome> {
    hashes.iter().map(|_| Err(error.clone())).collect()
}

/// The answers of a multicall of known length.
pub(crate) fn parts<const N: usize>(answers: Vec<Response>) -> Result<[Response; N], Error> {
    answers.try_into().map_err(|_| {
        Error::from(Fault {
            code: 0,
            text: "an answer is missing".to_owned(),
        })
    })
}
