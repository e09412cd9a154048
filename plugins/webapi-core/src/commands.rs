//! Commands of users to torrents. Calls that take several hashes ignore unknown ones in silence, so the hashes are looked up
//! first; calls that take one hash answer 404 for an unknown one.

use std::collections::HashMap;

use crate::error::{Error, Subject, checked, excerpt, is_transport};
use crate::http::{Answer, Clock, Http};
use crate::link::Call;
use crate::model::Outcome;
use crate::row::{Id, Row, minutes_text, ratio_text, word_of};
use crate::session::{BATCH, Session, joined};
use crate::single::{
    add_tracker, post, remove_tracker, rename_file, rename_folder, replace_tracker, set_file_priority,
};
use engine_model::{Command, Health, Limit, QueueMove, ShareAction, ShareLimits, peer_addresses};

/// Version of the Web API.
pub(crate) type ApiVersion = (u32, u32, u32);

/// First version in which `resume` and `pause` are called `start` and `stop`.
const NEW_VERBS: ApiVersion = (2, 11, 0);
/// First version with a limit of the time in which nobody takes anything.
const INACTIVE_LIMIT: ApiVersion = (2, 9, 2);
/// First version in which each torrent has an action at its limits of sharing.
const SHARE_ACTION: ApiVersion = (2, 12, 0);
/// Pauses before each look whether something took effect; 2 s in all.
pub(crate) const LOOKS_MS: [u32; 6] = [0, 100, 200, 300, 600, 800];
/// Pauses before each look whether a switch shows that it was thrown, which a client at work with thousands of torrents does late;
/// 10 s in all.
const SWITCH_LOOKS_MS: [u32; 11] = [0, 100, 200, 300, 600, 800, 1000, 1500, 1500, 2000, 2000];

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
        let mut failed: HashMap<Id, Error> = HashMap::new();
        let mut chosen: Vec<Id> = Vec::new();
        for id in asked {
            match found.get(&id).map(|row| is_due(row, command)) {
                Some(Ok(true)) => chosen.push(id),
                Some(Err(error)) => drop(failed.insert(id, error)),
                Some(Ok(false)) | None => {}
            }
        }
        // A queue keeps their order among each other only where all are named at once.
        let size = if matches!(command, Command::Queue(_)) {
            chosen.len().max(1)
        } else {
            BATCH
        };
        let mut tried: Vec<Id> = Vec::new();
        for batch in chosen.chunks(size) {
            let done = match verb.as_ref() {
                Some(verb) => self.run_batch(batch, verb),
                None => Ok(()),
            };
            match done {
                Err(error) => failed.extend(batch.iter().map(|id| (*id, error.clone()))),
                Ok(()) => tried.extend_from_slice(batch),
            }
        }
        if !tried.is_empty() {
            // Looked at together, so that the wait is one, however many there are.
            failed.extend(self.undone(&tried, command));
        }
        let error_about = |id: Id| match failed.get(&id) {
            Some(error) => Some(error.clone()),
            None if found.contains_key(&id) => None,
            None => Some(Error::NotFound(Subject::Torrent)),
        };
        Ok(ids
            .iter()
            .map(|id| id.map_or(Some(Error::NotFound(Subject::Torrent)), error_about))
            .collect())
    }

    /// Torrents whose command the client took and did not carry out, each with its error.
    fn undone(&mut self, tried: &[Id], command: &Command) -> Vec<(Id, Error)> {
        match command {
            Command::Remove(_) => self.still_there(tried),
            Command::Sequential(_) | Command::FirstLastPiece(_) => self.not_toggled(tried, command),
            _ => Vec::new(),
        }
    }

    /// The client has only a switch, which another program may have thrown at the same moment; and it shows it a while later.
    fn not_toggled(&mut self, tried: &[Id], command: &Command) -> Vec<(Id, Error)> {
        let mut left = tried.to_vec();
        for pause in SWITCH_LOOKS_MS {
            self.link.clock.sleep_ms(pause);
            match self.ask_for(&left) {
                Ok(found) => left.retain(|id| {
                    found
                        .get(id)
                        .is_some_and(|row| matches!(is_due(row, command), Ok(true)))
                }),
                Err(error) => return left.into_iter().map(|id| (id, error.clone())).collect(),
            }
            if left.is_empty() {
                break;
            }
        }
        let why = "the client took the command but shows the torrent as it was";
        left.into_iter()
            .map(|id| (id, Error::Rejected(why.into())))
            .collect()
    }

    fn run_batch(&mut self, batch: &[Id], verb: &Verb) -> Result<(), Error> {
        let natives: Vec<Id> = batch.iter().map(|id| self.native(*id)).collect();
        let hashes = joined(&natives);
        let mut fields = vec![(verb.hashes, hashes.as_str())];
        let arguments = verb.arguments.iter();
        fields.extend(arguments.map(|(name, value)| (*name, value.as_str())));
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
        let name = verb.arguments.first().map_or("", |(_, name)| name.as_str());
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

    /// Removed torrents that the client still lists after a while, each with its error.
    fn still_there(&mut self, tried: &[Id]) -> Vec<(Id, Error)> {
        let mut left = tried.to_vec();
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
        let plain = Verb::new;
        Ok(Some(match command {
            Command::Start | Command::Resume if self.has_new_verbs()? => plain("/torrents/start"),
            Command::Start | Command::Resume => plain("/torrents/resume"),
            Command::Stop | Command::Pause if self.has_new_verbs()? => plain("/torrents/stop"),
            Command::Stop | Command::Pause => plain("/torrents/pause"),
            Command::ForceStart(on) => plain("/torrents/setForceStart").with("value", on.to_string()),
            Command::Recheck => plain("/torrents/recheck"),
            Command::Reannounce => plain("/torrents/reannounce"),
            Command::Remove(with_data) => {
                plain("/torrents/delete").with("deleteFiles", with_data.to_string())
            }
            Command::Move(to) => plain("/torrents/setLocation")
                .with("location", to.clone())
                .that_forbids(),
            Command::DownloadPath(path) => Verb {
                hashes: "id",
                ..plain("/torrents/setDownloadPath")
                    .with("path", path.clone().unwrap_or_default())
                    .that_forbids()
            },
            Command::AutoManage(on) => plain("/torrents/setAutoManagement").with("enable", on.to_string()),
            // With queueing off the client has no order to change, and says 409.
            Command::TorrentPriority(3) => plain("/torrents/topPrio").on_conflict(Conflict::Ignored),
            Command::TorrentPriority(0 | 1) => plain("/torrents/bottomPrio").on_conflict(Conflict::Ignored),
            Command::TorrentPriority(2) => return Ok(None),
            Command::TorrentPriority(_) => return Err(Error::Rejected("a priority is 0, 1, 2 or 3".into())),
            Command::Queue(QueueMove::Top) => plain("/torrents/topPrio"),
            Command::Queue(QueueMove::Up) => plain("/torrents/increasePrio"),
            Command::Queue(QueueMove::Down) => plain("/torrents/decreasePrio"),
            Command::Queue(QueueMove::Bottom) => plain("/torrents/bottomPrio"),
            Command::Sequential(_) => plain("/torrents/toggleSequentialDownload"),
            Command::FirstLastPiece(_) => plain("/torrents/toggleFirstLastPiecePrio"),
            Command::SuperSeeding(on) => plain("/torrents/setSuperSeeding").with("value", on.to_string()),
            Command::UploadLimit(limit) => plain("/torrents/setUploadLimit").with("limit", limit.to_string()),
            Command::DownloadLimit(limit) => {
                plain("/torrents/setDownloadLimit").with("limit", limit.to_string())
            }
            Command::ShareLimits(limits) => self.share_verb(limits)?,
            Command::BanPeers(peers) => match peer_list(peers)? {
                Some(peers) => plain("/transfer/banPeers").with("peers", peers),
                None => return Ok(None),
            },
            Command::SetLabel(label) => plain("/torrents/setCategory")
                .with("category", label.clone())
                .on_conflict(Conflict::NoCategory),
            Command::AddTags(tags) => match tag_list(tags)? {
                Some(tags) => plain("/torrents/addTags").with("tags", tags),
                None => return Ok(None),
            },
            // Without a tag to name, the client would take all of them away.
            Command::RemoveTags(tags) => match tag_list(tags)? {
                Some(tags) => plain("/torrents/removeTags").with("tags", tags),
                None => return Ok(None),
            },
            Command::Detach | Command::Attach(_) => {
                return Err(Error::Unsupported("This engine moves data itself".into()));
            }
            Command::Rename(_)
            | Command::RenameFile { .. }
            | Command::RenameFolder { .. }
            | Command::FilePriority { .. }
            | Command::AddTracker(_)
            | Command::RemoveTracker(_)
            | Command::ReplaceTracker { .. } => return Ok(None),
        }))
    }

    fn share_verb(&mut self, limits: &ShareLimits) -> Result<Verb, Error> {
        self.check_limits(limits)?;
        let mut verb = Verb::new("/torrents/setShareLimits");
        for (name, value) in share_fields(limits) {
            verb = verb.with(name, value);
        }
        Ok(verb.with("shareLimitsMode", "Default".to_owned()))
    }

    /// Refuses limits of sharing that this version of the client would drop without a word.
    pub(crate) fn check_limits(&mut self, limits: &ShareLimits) -> Result<(), Error> {
        if limits.inactive_seconds != Limit::Inherit && self.api()? < INACTIVE_LIMIT {
            return Err(Error::Unsupported(
                "This version of qBittorrent has no limit of inactive seeding, 4.6 and later have".into(),
            ));
        }
        if limits.action != ShareAction::Inherit && self.api()? < SHARE_ACTION {
            return Err(Error::Unsupported(
                "This version of qBittorrent has no action of a torrent's own at its limits, 5.2 and later have"
                    .into(),
            ));
        }
        Ok(())
    }

    /// The client's version, and the capabilities that it lacks.
    pub fn health(&mut self) -> Result<Health, Error> {
        let version = self.version()?;
        let api = self.api()?;
        let lacks = [("inactive-limit", INACTIVE_LIMIT), ("share-action", SHARE_ACTION)];
        let lacks = lacks.into_iter().filter(|(_, since)| api < *since);
        Ok(Health {
            version,
            lacks: lacks.map(|(word, _)| word).collect(),
        })
    }

    /// True when the client keeps track of changes itself. One that does not computes its whole list to find them.
    pub(crate) fn tells_differences(&mut self) -> Result<bool, Error> {
        // All 5.x do, and no 4.5.
        self.has_new_verbs()
    }

    pub(crate) fn has_new_verbs(&mut self) -> Result<bool, Error> {
        Ok(self.api()? >= NEW_VERBS)
    }

    /// Read once a session. A version that cannot be read is an old one.
    fn api(&mut self) -> Result<ApiVersion, Error> {
        if let Some(known) = self.api {
            return Ok(known);
        }
        let api = match self.link.text("/app/webapiVersion") {
            Ok(text) => version(&text).unwrap_or_default(),
            Err(error) if is_transport(&error) => return Err(error),
            Err(_) => ApiVersion::default(),
        };
        self.api = Some(api);
        Ok(api)
    }

    fn run_one(&mut self, hash: &str, command: &Command) -> Result<(), Error> {
        self.by_name(hash, |link, id| match command {
            Command::Rename(name) => post(link, "/torrents/rename", &[("hash", id), ("name", name)]),
            Command::RenameFile { index, name } => rename_file(link, id, *index, name),
            Command::RenameFolder { old_path, new_path } => rename_folder(link, id, old_path, new_path),
            Command::FilePriority { indexes, priority } => set_file_priority(link, id, indexes, *priority),
            Command::AddTracker(url) => add_tracker(link, id, url),
            Command::RemoveTracker(url) => remove_tracker(link, id, url),
            Command::ReplaceTracker { old_url, new_url } => replace_tracker(link, id, old_url, new_url),
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
            | Command::RenameFolder { .. }
            | Command::FilePriority { .. }
            | Command::AddTracker(_)
            | Command::RemoveTracker(_)
            | Command::ReplaceTracker { .. }
    )
}

/// True when the command is still to be given for a torrent; an error when the client would take it and not carry it out.
fn is_due(row: &Row, command: &Command) -> Result<bool, Error> {
    match command {
        Command::Sequential(on) => Ok(row.is_sequential() != *on),
        Command::FirstLastPiece(on) => Ok(row.is_first_last_piece() != *on),
        Command::DownloadPath(_) if row.is_auto_managed() => Err(Error::Rejected(
            "the client chooses the paths of this torrent by its category; turn that off first".into(),
        )),
        _ => Ok(true),
    }
}

/// Limits of sharing as fields of a form. A client takes those it knows.
pub(crate) fn share_fields(limits: &ShareLimits) -> [(&'static str, String); 4] {
    [
        ("ratioLimit", ratio_text(limits.ratio)),
        ("seedingTimeLimit", minutes_text(limits.seeding_seconds)),
        ("inactiveSeedingTimeLimit", minutes_text(limits.inactive_seconds)),
        ("shareLimitAction", word_of(limits.action).to_owned()),
    ]
}

/// Peers as the client takes several; `None` when there is none to name.
fn peer_list(peers: &[String]) -> Result<Option<String>, Error> {
    let peers: Vec<String> = peer_addresses(peers)?.iter().map(ToString::to_string).collect();
    Ok((!peers.is_empty()).then(|| peers.join("|")))
}

struct Verb {
    path: &'static str,
    /// Name of the field with the hashes.
    hashes: &'static str,
    arguments: Vec<(&'static str, String)>,
    forbids: bool,
    on_conflict: Conflict,
}

impl Verb {
    fn new(path: &'static str) -> Self {
        Self {
            path,
            hashes: "hashes",
            arguments: Vec::new(),
            forbids: false,
            on_conflict: Conflict::Fails,
        }
    }

    fn with(mut self, name: &'static str, value: String) -> Self {
        self.arguments.push((name, value));
        self
    }

    /// The client says 403 when it may not write where it is told to.
    fn that_forbids(self) -> Self {
        Self {
            forbids: true,
            ..self
        }
    }

    fn on_conflict(self, on_conflict: Conflict) -> Self {
        Self { on_conflict, ..self }
    }
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
pub(crate) fn tag_list(tags: &[String]) -> Result<Option<String>, Error> {
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

/// `2.11.0`, of which the end may be missing.
fn version(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.trim().splitn(3, '.').map(str::parse::<u32>);
    let major = parts.next()?.ok()?;
    let mut next = || parts.next().and_then(Result::ok).unwrap_or(0);
    Some((major, next(), next()))
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
    fn tags_are_one_list() {
        let list = |tags: &[&str]| tag_list(&tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>());
        assert_eq!(list(&["a", " b c ", "", " "]), Ok(Some("a,b c".to_owned())));
        assert_eq!(list(&[""]), Ok(None));
        assert_eq!(list(&[]), Ok(None));
        assert!(matches!(list(&["a,b"]), Err(Error::Rejected(_))));
    }

    #[test]
    fn peers_are_addresses_with_ports() {
        let list =
            |peers: &[&str]| peer_list(&peers.iter().map(|peer| (*peer).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            list(&["[::ffff:192.0.2.1]:6881", "[2001:db8::1]:1"]),
            Ok(Some("192.0.2.1:6881|[2001:db8::1]:1".to_owned()))
        );
        assert_eq!(list(&[]), Ok(None));
        for bad in ["192.0.2.1", "example.org:1", "192.0.2.1:6881|192.0.2.2:1", ""] {
            assert!(matches!(list(&[bad]), Err(Error::Rejected(_))), "{bad}");
        }
    }
}
