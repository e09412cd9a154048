//! Commands of users to torrents. Calls that take several hashes ignore unknown ones in silence, so the hashes are looked up
//! first; calls that take one hash answer 404 for an unknown one.

use crate::details::{files, trackers};
use crate::encode::percent;
use crate::error::{Error, Subject, checked, excerpt, is_transport};
use crate::http::{Answer, Clock, Http};
use crate::link::{Call, Link};
use crate::model::Outcome;
use crate::row::Id;
use crate::session::{BATCH, Session, joined};
use engine_model::Command;

/// First version of the Web API in which `resume` and `pause` are called `start` and `stop`.
const NEW_VERBS: (u32, u32, u32) = (2, 11, 0);
/// Pauses before each look whether something took effect; 2 s in all.
const LOOKS_MS: [u32; 6] = [0, 100, 200, 300, 600, 800];

impl<H: Http, C: Clock> Session<H, C> {
    /// Does `command` to every hash. An error says that nothing was tried.
    pub fn run(&mut self, hashes: &[String], command: &Command) -> Result<Vec<Outcome>, Error> {
        let outcome = |hash: &String, error| Outcome {
            hash: hash.clone(),
            error,
        };
        if takes_several(command) {
            let done = self.run_together(hashes, command)?;
            return Ok(hashes
                .iter()
                .zip(done)
                .map(|(hash, error)| outcome(hash, error))
                .collect());
        }
        let mut given_up: Option<Error> = None;
        let each = hashes.iter().map(|hash| {
            let error = given_up.clone().or_else(|| self.run_one(hash, command).err());
            if error.as_ref().is_some_and(is_transport) {
                given_up.clone_from(&error);
            }
            outcome(hash, error)
        });
        Ok(each.collect())
    }

    fn run_together(&mut self, hashes: &[String], command: &Command) -> Result<Vec<Option<Error>>, Error> {
        let ids: Vec<Option<Id>> = hashes.iter().map(|hash| Id::parse(hash)).collect();
        let asked: Vec<Id> = ids.iter().copied().flatten().collect();
        if asked.is_empty() {
            return Ok(vec![Some(Error::NotFound(Subject::Torrent)); hashes.len()]);
        }
        let found = self.look_up(&asked)?;
        let verb = self.verb(command)?;
        let known: Vec<Id> = asked.into_iter().filter(|id| found.contains_key(id)).collect();
        let mut failed: Vec<(Id, Error)> = Vec::new();
        for batch in known.chunks(BATCH) {
            if let Err(error) = self.run_batch(batch, verb.as_ref()) {
                failed.extend(batch.iter().map(|id| (*id, error.clone())));
            } else if matches!(command, Command::Remove(_)) {
                failed.extend(self.still_there(batch));
            }
        }
        let of = |id: Id| match failed.iter().find(|(failed, _)| *failed == id) {
            Some((_, error)) => Some(error.clone()),
            None if found.contains_key(&id) => None,
            None => Some(Error::NotFound(Subject::Torrent)),
        };
        Ok(ids
            .iter()
            .map(|id| id.map_or(Some(Error::NotFound(Subject::Torrent)), of))
            .collect())
    }

    fn run_batch(&mut self, batch: &[Id], verb: Option<&Verb>) -> Result<(), Error> {
        let Some(verb) = verb else { return Ok(()) };
        let natives: Vec<Id> = batch.iter().map(|id| self.native(*id)).collect();
        let hashes = joined(&natives);
        let mut fields = vec![("hashes", hashes.as_str())];
        fields.extend(
            verb.argument
                .as_ref()
                .map(|(name, value)| (*name, value.as_str())),
        );
        let mut call = Call::post(verb.path, &fields);
        call.forbids = verb.forbids;
        let mut answer = self.link.exchange(&call)?;
        match answer.status() {
            403 if verb.forbids => Err(Error::Rejected(excerpt(&mut answer))),
            409 if verb.on_conflict == Conflict::Ignored => Ok(()),
            409 if verb.on_conflict == Conflict::NoCategory => self.in_new_category(&call, verb),
            404 => Err(Error::Protocol(format!(
                "the client does not know the call {} (404)",
                verb.path
            ))),
            _ => checked(answer).map(|_| ()),
        }
    }

    /// Makes the category that the client does not have, and puts the torrents into it.
    fn in_new_category(&mut self, call: &Call, verb: &Verb) -> Result<(), Error> {
        let name = verb.argument.as_ref().map_or("", |(_, name)| name.as_str());
        let mut made = self
            .link
            .exchange(&Call::post("/torrents/createCategory", &[("category", name)]))?;
        // One that somebody else just made is a conflict too; whether it is there now, the second try tells.
        let why = match made.status() {
            400 | 409 => excerpt(&mut made),
            _ => checked(made).map(|_| String::new())?,
        };
        let answer = self.link.exchange(call)?;
        match answer.status() {
            409 => Err(Error::Rejected(why)),
            _ => checked(answer).map(|_| ()),
        }
    }

    /// Torrents of a removed batch that the client still lists after a while, each with its error.
    fn still_there(&mut self, batch: &[Id]) -> Vec<(Id, Error)> {
        let mut left = batch.to_vec();
        for pause in LOOKS_MS {
            self.link.clock.sleep_ms(pause);
            match self.ask_for(&left) {
                Ok(found) => left.retain(|id| found.contains_key(id)),
                Err(error) if pause == LOOKS_MS[LOOKS_MS.len() - 1] => {
                    return left.into_iter().map(|id| (id, error.clone())).collect();
                }
                Err(_) => {}
            }
            if left.is_empty() {
                break;
            }
        }
        let why = "the client took the removal but lists the torrent still";
        left.into_iter()
            .map(|id| (id, Error::Timeout(why.into())))
            .collect()
    }

    fn verb(&mut self, command: &Command) -> Result<Option<Verb>, Error> {
        let plain = |path| Verb {
            path,
            argument: None,
            forbids: false,
            on_conflict: Conflict::Fails,
        };
        let with = |path, name, value: String| Verb {
            argument: Some((name, value)),
            ..plain(path)
        };
        Ok(Some(match command {
            Command::Start | Command::Resume if self.has_new_verbs()? => plain("/torrents/start"),
            Command::Start | Command::Resume => plain("/torrents/resume"),
            Command::Stop | Command::Pause if self.has_new_verbs()? => plain("/torrents/stop"),
            Command::Stop | Command::Pause => plain("/torrents/pause"),
            Command::ForceStart(on) => with("/torrents/setForceStart", "value", on.to_string()),
            Command::Recheck => plain("/torrents/recheck"),
            Command::Remove(with_data) => with("/torrents/delete", "deleteFiles", with_data.to_string()),
            Command::Move(to) => Verb {
                forbids: true,
                ..with("/torrents/setLocation", "location", to.clone())
            },
            // With queueing off the client has no order to change, and says 409.
            Command::TorrentPriority(3) => Verb {
                on_conflict: Conflict::Ignored,
                ..plain("/torrents/topPrio")
            },
            Command::TorrentPriority(0 | 1) => Verb {
                on_conflict: Conflict::Ignored,
                ..plain("/torrents/bottomPrio")
            },
            Command::TorrentPriority(2) => return Ok(None),
            Command::TorrentPriority(_) => return Err(Error::Rejected("a priority is 0, 1, 2 or 3".into())),
            Command::UploadLimit(limit) => with("/torrents/setUploadLimit", "limit", limit.to_string()),
            Command::DownloadLimit(limit) => with("/torrents/setDownloadLimit", "limit", limit.to_string()),
            Command::SetLabel(label) => Verb {
                on_conflict: Conflict::NoCategory,
                ..with("/torrents/setCategory", "category", label.clone())
            },
            Command::AddTags(tags) => match tag_list(tags)? {
                Some(tags) => with("/torrents/addTags", "tags", tags),
                None => return Ok(None),
            },
            // Without a tag to name, the client would take all of them away.
            Command::RemoveTags(tags) => match tag_list(tags)? {
                Some(tags) => with("/torrents/removeTags", "tags", tags),
                None => return Ok(None),
            },
            Command::Detach | Command::Attach(_) => {
                return Err(Error::Unsupported("This engine moves data itself".into()));
            }
            Command::Rename(_)
            | Command::RenameFile { .. }
            | Command::FilePriority { .. }
            | Command::AddTracker(_)
            | Command::RemoveTracker(_) => return Ok(None),
        }))
    }

    /// True when the client keeps track of changes itself. One that does not computes its whole list to find them.
    pub(crate) fn tells_differences(&mut self) -> Result<bool, Error> {
        // All 5.x do, and no 4.5.
        self.has_new_verbs()
    }

    /// Read once a session. A version that cannot be read is an old one.
    fn has_new_verbs(&mut self) -> Result<bool, Error> {
        if let Some(known) = self.new_verbs {
            return Ok(known);
        }
        let new = match self.link.text("/app/webapiVersion") {
            Ok(text) => version(&text).is_some_and(|version| version >= NEW_VERBS),
            Err(error) if is_transport(&error) => return Err(error),
            Err(_) => false,
        };
        self.new_verbs = Some(new);
        Ok(new)
    }

    fn run_one(&mut self, hash: &str, command: &Command) -> Result<(), Error> {
        self.by_name(hash, |link, id| match command {
            Command::Rename(name) => post(link, "/torrents/rename", &[("hash", id), ("name", name)]),
            Command::RenameFile { index, name } => rename_file(link, id, *index, name),
            Command::FilePriority { index, priority } => file_priority(link, id, *index, *priority),
            Command::AddTracker(url) => add_tracker(link, id, url),
            Command::RemoveTracker(url) => remove_tracker(link, id, url),
            _ => Err(Error::Unsupported(
                "This command is for several torrents at once".into(),
            )),
        })
    }
}

fn takes_several(command: &Command) -> bool {
    !matches!(
        command,
        Command::Rename(_)
            | Command::RenameFile { .. }
            | Command::FilePriority { .. }
            | Command::AddTracker(_)
            | Command::RemoveTracker(_)
    )
}

struct Verb {
    path: &'static str,
    argument: Option<(&'static str, String)>,
    forbids: bool,
    on_conflict: Conflict,
}

/// Meaning of a 409.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Conflict {
    Fails,
    /// There is nothing to change.
    Ignored,
    /// There is no such category.
    NoCategory,
}

/// Tags as the client takes several; none when there is nothing to name.
fn tag_list(tags: &[String]) -> Result<Option<String>, Error> {
    if tags.iter().any(|tag| tag.contains(',')) {
        return Err(Error::Rejected("a tag of this client holds no comma".into()));
    }
    let named: Vec<&str> = tags
        .iter()
        .map(|tag| tag.trim())
        .filter(|tag| !tag.is_empty())
        .collect();
    Ok((!named.is_empty()).then(|| named.join(",")))
}

fn post<H: Http, C: Clock>(link: &mut Link<H, C>, path: &str, fields: &[(&str, &str)]) -> Result<(), Error> {
    link.call(&Call::post(path, fields)).map(|_| ())
}

/// `2.11.0`, of which the end may be missing.
fn version(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.trim().splitn(3, '.').map(str::parse::<u32>);
    let major = parts.next()?.ok()?;
    let mut next = || parts.next().and_then(Result::ok).unwrap_or(0);
    Some((major, next(), next()))
}

fn rename_file<H: Http, C: Clock>(
    link: &mut Link<H, C>,
    id: &str,
    index: u32,
    name: &str,
) -> Result<(), Error> {
    let file = files(link, id)?
        .into_iter()
        .find(|file| file.index == index)
        .ok_or(Error::NotFound(Subject::File))?;
    let new_path = renamed(&file.path, name);
    if new_path == file.path {
        return Ok(()); // the client would call it a conflict
    }
    let fields = [
        ("hash", id),
        ("oldPath", file.path.as_str()),
        ("newPath", new_path.as_str()),
    ];
    post(link, "/torrents/renameFile", &fields)?;
    let done = |link: &mut Link<H, C>| {
        Ok(files(link, id)?
            .iter()
            .any(|file| file.index == index && file.path == new_path))
    };
    if eventually(link, done)? {
        Ok(())
    } else {
        Err(Error::Rejected("the client did not rename the file".into()))
    }
}

/// Polls until `is_so` is true, for 2 s at most: the client answers before it has carried out a command.
fn eventually<H: Http, C: Clock>(
    link: &mut Link<H, C>,
    mut is_so: impl FnMut(&mut Link<H, C>) -> Result<bool, Error>,
) -> Result<bool, Error> {
    for pause in LOOKS_MS {
        link.clock.sleep_ms(pause);
        if is_so(link)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A bare name takes the place of the last segment; one with a `/` is a whole path.
fn renamed(path: &str, name: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) if !name.contains('/') => format!("{folder}/{name}"),
        _ => name.to_owned(),
    }
}

fn file_priority<H: Http, C: Clock>(
    link: &mut Link<H, C>,
    id: &str,
    index: u32,
    priority: u8,
) -> Result<(), Error> {
    let native = match priority {
        0 => "0",
        1 => "1",
        2 => "6",
        _ => return Err(Error::Rejected("a file's priority is 0, 1 or 2".into())),
    };
    let index = index.to_string();
    let fields = [("hash", id), ("id", index.as_str()), ("priority", native)];
    let mut answer = link.exchange(&Call::post("/torrents/filePrio", &fields))?;
    if answer.status() != 409 {
        return checked(answer).map(|_| ());
    }
    let text = excerpt(&mut answer);
    let no_metadata = text.to_ascii_lowercase().contains("metadata");
    Err(if no_metadata {
        Error::Rejected(text)
    } else {
        Error::NotFound(Subject::File)
    })
}

fn one_url(url: &str) -> Result<&str, Error> {
    let several = url
        .chars()
        .any(|c| c.is_whitespace() || c.is_control() || c == '|');
    if several || url.is_empty() {
        Err(Error::Rejected("this is not one tracker URL".into()))
    } else {
        Ok(url)
    }
}

/// Since 5.2 the client says nothing of a torrent it does not know, so its trackers are asked for: there it does.
fn add_tracker<H: Http, C: Clock>(link: &mut Link<H, C>, id: &str, url: &str) -> Result<(), Error> {
    let url = one_url(url)?;
    trackers(link, id)?;
    post(link, "/torrents/addTrackers", &[("hash", id), ("urls", url)])
}

/// Old clients compare the URL as it is, new ones decode it first, and those say nothing when they find none: so it is
/// looked for before, sent both ways if need be, and looked for again.
fn remove_tracker<H: Http, C: Clock>(link: &mut Link<H, C>, id: &str, url: &str) -> Result<(), Error> {
    let url = one_url(url)?;
    let is_gone = |link: &mut Link<H, C>| Ok(!trackers(link, id)?.iter().any(|tracker| tracker.url == url));
    if is_gone(link)? {
        return Err(Error::NotFound(Subject::Tracker));
    }
    let encoded = percent(url);
    for form in [url, encoded.as_str()] {
        let fields = [("hash", id), ("urls", form)];
        let answer = link.exchange(&Call::post("/torrents/removeTrackers", &fields))?;
        // 409: none of the URLs was found.
        if answer.status() != 409 {
            checked(answer)?;
        }
        if eventually(link, is_gone)? {
            return Ok(());
        }
    }
    Err(Error::Rejected("the client keeps this tracker".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_part_by_part() {
        for (text, new) in [
            ("2.11.0", true),
            ("2.11.4", true),
            ("2.15", true),
            ("3", true),
            ("2.8.19", false),
            ("2.9", false),
        ] {
            assert_eq!(
                version(text).is_some_and(|version| version >= NEW_VERBS),
                new,
                "{text}"
            );
        }
        assert_eq!(version("<html>"), None);
        assert_eq!(version(""), None);
    }

    #[test]
    fn names_of_files() {
        assert_eq!(renamed("a/b/c.bin", "d.bin"), "a/b/d.bin");
        assert_eq!(renamed("c.bin", "d.bin"), "d.bin");
        assert_eq!(renamed("a/c.bin", "x/y/d.bin"), "x/y/d.bin");
    }

    #[test]
    fn tags_are_one_list() {
        let list = |tags: &[&str]| tag_list(&tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>());
        assert_eq!(list(&["a", " b c ", "", " "]), Ok(Some("a,b c".to_owned())));
        assert_eq!(list(&[""]), Ok(None));
        assert_eq!(list(&[]), Ok(None));
        assert!(matches!(list(&["a,b"]), Err(Error::Rejected(_))));
    }

    #[test]
    fn one_tracker_at_a_time() {
        for url in ["", "udp://a\nudp://b", "udp://a|udp://b", "udp://a udp://b"] {
            assert!(one_url(url).is_err(), "{url}");
        }
    }
}
