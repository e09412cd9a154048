//! Removes torrents and makes sure that they are gone; deletes data where that is safe.
//!
//! Data is deleted in the client's own file system, by the client. What is deleted is the torrent's own path, never the
//! directory it shares with others; whether it is safe is decided before the torrent is touched.

use std::collections::HashSet;

use crate::client::{Call, Client, target};
use crate::commands::Outcome;
use crate::error::{Error, Subject};
use crate::place::own_path;
use crate::wire::{Clock, Transport};
use crate::xml::Value;

const TRIES: usize = 5;
const WAIT_MS: u32 = 400;

/// One torrent on its way out.
struct Leaving {
    target: String,
    /// Path of the data to delete once the torrent is gone; `None` to keep it.
    data: Option<String>,
    outcome: Option<Outcome>,
}

impl<T: Transport, C: Clock> Client<T, C> {
    pub(crate) fn remove(&self, hashes: &[String], with_data: bool) -> Vec<Outcome> {
        let mut leaving: Vec<Leaving> = hashes
            .iter()
            .map(|hash| match target(hash) {
                Ok(target) => Leaving {
                    target,
                    data: None,
                    outcome: None,
                },
                Err(error) => Leaving {
                    target: String::new(),
                    data: None,
                    outcome: Some(Err(error)),
                },
            })
            .collect();
        let done = if with_data {
            self.find_data(&mut leaving)
        } else {
            Ok(())
        };
        let done = done.and_then(|()| self.erase(&mut leaving));
        self.delete_data(&mut leaving);
        leaving
            .into_iter()
            .map(|torrent| torrent.outcome.unwrap_or_else(|| done.clone()))
            .collect()
    }

    /// Finds the path to delete for each, and refuses torrents whose data is not theirs alone.
    fn find_data(&self, leaving: &mut [Leaving]) -> Result<(), Error> {
        let list = self.call(
            "d.multicall2",
            &[
                "".into(),
                "main".into(),
                "d.hash=".into(),
                "d.name=".into(),
                "d.base_path=".into(),
                "d.directory=".into(),
                "d.is_multi_file=".into(),
                "d.completed_bytes=".into(),
            ],
        )??;
        let default_directory = self
            .call("directory.default", &["".into()])?
            .map(|path| path.text())
            .unwrap_or_default();
        let places: Vec<Place> = list.array().iter().map(Place::read).collect();
        let going: HashSet<String> = leaving.iter().map(|torrent| torrent.target.clone()).collect();
        let others: Vec<&Place> = places
            .iter()
            .filter(|place| !going.contains(&place.hash))
            .collect();
        for torrent in leaving.iter_mut().filter(|torrent| torrent.outcome.is_none()) {
            let Some(place) = places.iter().find(|place| place.hash == torrent.target) else {
                torrent.outcome = Some(Err(Error::NotFound(Subject::Torrent)));
                continue;
            };
            match place.data(&default_directory, &others) {
                Ok(data) => torrent.data = data,
                Err(why) => {
                    let path = place.own_path().unwrap_or_default();
                    let text = format!("the data at `{path}` is not deleted: {why}. Nothing was removed");
                    torrent.outcome = Some(Err(Error::Rejected(text)));
                }
            }
        }
        Ok(())
    }

    /// Erases, looks, and tries again. A look that fails counts as "still there".
    fn erase(&self, leaving: &mut [Leaving]) -> Result<(), Error> {
        for attempt in 0..TRIES {
            if attempt > 0 {
                self.clock.sleep_ms(WAIT_MS);
                if let Ok(listed) = self.listed()
                    && settle(leaving, &listed)
                {
                    return Ok(());
                }
            }
            self.erase_once(leaving, attempt == 0)?;
            if let Ok(listed) = self.listed()
                && settle(leaving, &listed)
            {
                return Ok(());
            }
        }
        for torrent in leaving.iter_mut().filter(|torrent| torrent.outcome.is_none()) {
            torrent.outcome = Some(Err(Error::Rejected(
                "rTorrent still lists the torrent after 5 attempts to erase it".to_owned(),
            )));
        }
        Ok(())
    }

    fn erase_once(&self, leaving: &mut [Leaving], first: bool) -> Result<(), Error> {
        let mut calls: Vec<Call<'_>> = Vec::new();
        for torrent in leaving.iter().filter(|torrent| torrent.outcome.is_none()) {
            // Data in use is closed before it is deleted; whether that worked shows in the erasing.
            for method in ["d.stop", "d.close", "d.erase"] {
                calls.push((method, vec![(&torrent.target).into()]));
            }
        }
        let answers = self.multicall(&calls)?;
        let erased = answers.into_iter().skip(2).step_by(3);
        for (torrent, answer) in leaving
            .iter_mut()
            .filter(|torrent| torrent.outcome.is_none())
            .zip(erased)
        {
            // Later a missing one is what was wanted.
            if first && let Err(Error::NotFound(thing)) = answer.map_err(Error::from) {
                torrent.outcome = Some(Err(Error::NotFound(thing)));
            }
        }
        Ok(())
    }

    /// The hashes of all torrents there are.
    fn listed(&self) -> Result<HashSet<String>, Error> {
        match self.call("d.multicall2", &["".into(), "main".into(), "d.hash=".into()])?? {
            Value::Array(rows) => Ok(rows
                .iter()
                .filter_map(|row| row.array().first())
                .map(|hash| hash.text().to_ascii_uppercase())
                .collect()),
            _ => Err(Error::Protocol("d.multicall2 gave no list".to_owned())),
        }
    }

    fn delete_data(&self, leaving: &mut [Leaving]) {
        for torrent in leaving
            .iter_mut()
            .filter(|torrent| torrent.outcome == Some(Ok(())))
        {
            let Some(path) = torrent.data.take() else { continue };
            let params = ["", "rm", "-rf", "--", &path].map(Into::into);
            let why = match self.call("execute.throw", &params) {
                Ok(Ok(_)) => continue,
                Ok(Err(fault)) => fault.text,
                Err(error) => error.to_string(),
            };
            let text =
                format!("the torrent is removed, but its data at `{path}` could not be deleted ({why})");
            torrent.outcome = Some(Err(Error::Rejected(text)));
        }
    }
}

/// Marks those that are gone. True when none is left.
fn settle(leaving: &mut [Leaving], listed: &HashSet<String>) -> bool {
    for torrent in leaving.iter_mut().filter(|torrent| torrent.outcome.is_none()) {
        if !listed.contains(&torrent.target) {
            torrent.outcome = Some(Ok(()));
        }
    }
    leaving.iter().all(|torrent| torrent.outcome.is_some())
}

/// Place of a torrent's data.
struct Place {
    hash: String,
    name: String,
    base_path: String,
    directory: String,
    is_multi_file: bool,
    has_data: bool,
}

impl Place {
    fn read(row: &Value) -> Self {
        let text = |at: usize| row.array().get(at).map(Value::text).unwrap_or_default();
        Self {
            hash: text(0).to_ascii_uppercase(),
            name: text(1),
            base_path: text(2),
            directory: text(3),
            is_multi_file: row.array().get(4).is_some_and(|multi| multi.int() != 0),
            has_data: row.array().get(5).is_some_and(|bytes| bytes.int() > 0),
        }
    }

    /// The torrent's own file or folder; none when it has no data.
    fn own_path(&self) -> Option<String> {
        let has_place = self.has_data || !self.base_path.trim_end_matches('/').is_empty();
        has_place.then(|| own_path(&self.base_path, &self.directory, &self.name, self.is_multi_file))
    }

    /// The path to delete, none when the torrent has no data yet, or why nothing may be deleted.
    fn data(&self, default_directory: &str, others: &[&Place]) -> Result<Option<String>, &'static str> {
        let Some(own) = self.own_path() else {
            return Ok(None);
        };
        // A client that names nonsense is not believed about the rest either.
        if !self.base_path.is_empty() {
            plain(&self.base_path)?;
        }
        plain(&own)?;
        // With a slash at its end a link would be followed.
        let path = own.trim_end_matches('/');
        let directory = self.directory.trim_end_matches('/');
        let is_shared =
            path == default_directory.trim_end_matches('/') || (!self.is_multi_file && path == directory);
        let is_named = path.rsplit('/').next() == Some(self.name.as_str());
        if is_shared || (self.is_multi_file && !is_named) {
            return Err("it is a directory that is not the torrent's own");
        }
        if others.iter().any(|other| other.lies_in(path)) {
            return Err("another torrent uses it");
        }
        Ok(Some(path.to_owned()))
    }

    fn lies_in(&self, path: &str) -> bool {
        let is_below = |place: &str| {
            place
                .trim_end_matches('/')
                .strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        is_below(&self.base_path)
            || is_below(&self.directory)
            || self.own_path().is_some_and(|own| is_below(&own))
    }
}

/// Absolute, without detours, and not too close to the root.
fn plain(path: &str) -> Result<(), &'static str> {
    if !path.starts_with('/') {
        return Err("it is not an absolute path");
    }
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    if segments.len() < 2 {
        return Err("it is too close to the root");
    }
    if segments.iter().any(|segment| matches!(*segment, "." | "..")) || path.contains('\0') {
        return Err("it is not a plain path");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str, base_path: &str, directory: &str, is_multi_file: bool) -> Place {
        Place {
            hash: "AA".to_owned(),
            name: name.to_owned(),
            base_path: base_path.to_owned(),
            directory: directory.to_owned(),
            is_multi_file,
            has_data: true,
        }
    }

    #[test]
    fn a_path_that_rtorrent_reckoned_before_a_move_is_not_deleted() {
        for (place, expected) in [
            (place("a.mkv", "/old/a.mkv", "/new/tv", false), "/new/tv/a.mkv"),
            (place("a.mkv", "/dl/a.mkv", "/dl/tv/", false), "/dl/tv/a.mkv"),
            (place("Pack", "/old/Pack", "/new/Pack", true), "/new/Pack"),
            (place("a.mkv", "", "/dl/tv", false), "/dl/tv/a.mkv"),
            (place("Pack", "", "/dl/Pack", true), "/dl/Pack"),
        ] {
            assert_eq!(
                place.data("/dl", &[]),
                Ok(Some(expected.to_owned())),
                "{}",
                place.base_path
            );
        }
    }

    #[test]
    fn only_the_torrents_own_path_is_deleted() {
        let safe = [
            (place("a.mkv", "/dl/a.mkv", "/dl", false), Some("/dl/a.mkv")),
            (
                place("Pack", "/dl/tv/Pack", "/dl/tv/Pack", true),
                Some("/dl/tv/Pack"),
            ),
            (
                place("Pack", "/dl/tv/Pack/", "/dl/tv/Pack", true),
                Some("/dl/tv/Pack"),
            ),
            (
                Place {
                    has_data: false,
                    ..place("a", "", "/dl", false)
                },
                None,
            ),
        ];
        for (place, expected) in safe {
            assert_eq!(
                place.data("/dl", &[]),
                Ok(expected.map(str::to_owned)),
                "{}",
                place.base_path
            );
        }
        let unsafe_places = [
            place("a", "a", "/dl", false),
            place("a", "/", "/dl", false),
            place("a", "//", "/dl", false),
            place("a", "/a", "/", false),
            place("..", "/dl/x/..", "/dl/x", false),
            place(".", "/dl/.", "/dl", true),
            place("", "/dl/tv/", "/dl/tv", false),
            place("", "/dl/tv/", "/dl/tv/", true),
            place("Pack", "/dl/tv", "/dl/tv", true),
            place("dl", "/srv/dl", "/srv/dl", true),
            place("a\0b", "/dl/a\0b", "/dl", false),
        ];
        for place in unsafe_places {
            assert!(place.data("/srv/dl", &[]).is_err(), "{:?}", place.base_path);
        }
    }

    #[test]
    fn data_that_others_use_stays() {
        let pack = place("Pack", "/dl/Pack", "/dl/Pack", true);
        for (other, is_used) in [
            (place("Pack", "/dl/Pack", "/dl/Pack", true), true),
            (place("x", "/dl/Pack/x", "/dl/Pack", false), true),
            (place("x", "", "/dl/Pack/sub", false), true),
            (place("Pack2", "/dl/Pack2", "/dl/Pack2", true), false),
            (place("x", "/dl/x", "/dl", false), false),
        ] {
            assert_eq!(pack.data("/", &[&other]).is_err(), is_used, "{}", other.base_path);
        }
    }
}
