//! Check of an engine's paths: what this server and the client see of them, mapping by mapping.
//!
//! Torrents prove a path: where the client has data, the server must see it. Of each directory some torrents are looked for,
//! whole ones before others, spread over the list; beside them stands what the client tells of its default directory.
//!
//! Bounds: [`LOOKED_FOR`] torrents a directory; [`CHECKS`] looks at disks, each directory for [`PATIENCE`]; one question to the client,
//! for [`ANSWER`].

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use qm_confined::{FsError, Intent, Roots};
use qm_engines::dto::paths::{
    DefaultPathView, MappingCheckView, MissingView, PathVerdict, PathsCheckView, SampleView, SeenDirectory,
    UnmappedCheckView,
};
use qm_engines::model::mappings::{NOT_MAPPED, PathMapping, PathMappings};
use qm_engines::model::stored::EngineRow;
use qm_engines::repo::snapshots;
use qm_engines::{Engine, TorrentsError, describe};
use qm_ports::engine::{SessionStats, Torrent};

use super::TorrentData;
use super::payloads::data_path;
use super::shared_data::of_stored;
use crate::lanes::CHECKS;
use crate::model::places::is_garbled;

/// Torrents that are looked for below one directory.
const LOOKED_FOR: usize = 10;
/// Torrents named of those that were not found.
const NAMED: usize = 3;
/// Save paths named of torrents that no mapping covers.
const SAVE_PATHS: usize = 5;
/// Time limit on the looks at one directory, waiting for their turn included.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time limit on the answer of the client.
const ANSWER: Duration = Duration::from_secs(5);
/// Bytes by which two counts of free space may differ that were made one after the other: the larger of this and a hundredth.
const SAME_SPACE: u64 = 1 << 30;

/// A torrent with data, as the check sees it.
struct Told {
    hash: String,
    name: String,
    save_path: String,
    remote: String,
    local: String,
    is_whole: bool,
}

/// The torrents below one directory.
#[derive(Default)]
struct Group(Vec<Told>);

impl Group {
    /// A few of them: whole ones first, from all over the list.
    fn sample(&self) -> Vec<&Told> {
        let clear = |told: &&Told| !is_garbled(&told.local);
        let (whole, partial): (Vec<&Told>, Vec<&Told>) =
            self.0.iter().filter(clear).partition(|told| told.is_whole);
        let from = if whole.is_empty() { partial } else { whole };
        let step = from.len().div_ceil(LOOKED_FOR).max(1);
        from.into_iter().step_by(step).collect()
    }

    /// The save paths that most of them have.
    fn save_paths(&self) -> Vec<String> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for told in &self.0 {
            *counts.entry(&told.save_path).or_default() += 1;
        }
        let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
        counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let most = counts.into_iter().take(SAVE_PATHS);
        most.map(|(path, _)| path.to_owned()).collect()
    }
}

impl TorrentData {
    /// Checks the paths of an engine by the mappings that it has, or by those that are tried.
    pub async fn check_paths(
        &self,
        row: &EngineRow,
        tried: Option<Vec<PathMapping>>,
    ) -> Result<PathsCheckView, TorrentsError> {
        let pairs = tried.unwrap_or_else(|| row.path_mappings.clone());
        let mappings = PathMappings::read(&pairs).map_err(TorrentsError::Fields)?;
        let engine = self.engines.get(&row.id);
        // What is loaded has the mappings of a moment ago.
        let loaded = engine
            .as_ref()
            .map_or(&row.path_mappings, |engine| &engine.loading.path_mappings);
        let before = PathMappings::read(loaded).unwrap_or_default();
        let mut groups: Vec<Group> = pairs.iter().map(|_| Group::default()).collect();
        let mut unmapped = Group::default();
        self.each_torrent(row, engine.as_deref(), |torrent| {
            let Some(told) = told_of(torrent, &before, &mappings) else {
                return;
            };
            let group = mappings
                .covering(&told.local)
                .and_then(|number| groups.get_mut(number));
            group.unwrap_or(&mut unmapped).0.push(told);
        })
        .await?;
        let asked = ask(row, engine.as_deref()).await;
        let checks = pairs
            .iter()
            .zip(&groups)
            .map(|(pair, group)| self.check_mapping(pair, group));
        let checks = join_all(checks).await;
        let unmapped = self.check_unmapped(&unmapped, pairs.is_empty()).await;
        let default_save_path = match &asked {
            Ok(stats) => self.check_default(stats, &before, &mappings).await,
            Err(_) => None,
        };
        let verdicts = checks.iter().map(|check| check.verdict);
        let all = verdicts
            .chain([unmapped.verdict])
            .chain(default_save_path.as_ref().map(|path| path.verdict));
        Ok(PathsCheckView {
            engine_id: row.id.clone(),
            verdict: worst(all),
            error: asked.err(),
            mappings: checks,
            default_save_path,
            unmapped,
            checked_at: self.ctx.now(),
        })
    }

    /// The last list of an engine; of one that was not read yet, what is stored.
    async fn each_torrent(
        &self,
        row: &EngineRow,
        engine: Option<&Engine>,
        mut take: impl FnMut(&Torrent) + Send,
    ) -> Result<(), TorrentsError> {
        if let Some(snapshot) = engine.and_then(Engine::snapshot) {
            for entry in snapshot.entries() {
                take(&entry.torrent);
            }
            return Ok(());
        }
        let mut tx = self.db.begin_read().await?;
        for place in snapshots::places(&mut tx, &row.id).await? {
            take(&of_stored(place));
        }
        Ok(())
    }

    async fn check_mapping(&self, pair: &PathMapping, group: &Group) -> MappingCheckView {
        let (server, sample) = self.look(Some(&pair.local), group).await;
        let (verdict, message) = judge_mapping(pair, &server, &sample);
        MappingCheckView {
            remote: pair.remote.clone(),
            local: pair.local.clone(),
            verdict,
            message,
            server,
            sample,
        }
    }

    async fn check_unmapped(&self, group: &Group, is_all: bool) -> UnmappedCheckView {
        let (server, sample) = self.look(None, group).await;
        let (verdict, message) = judge_unmapped(&server, &sample, is_all);
        UnmappedCheckView {
            verdict,
            message,
            sample,
            save_paths: group.save_paths(),
        }
    }

    async fn check_default(
        &self,
        stats: &SessionStats,
        before: &PathMappings,
        mappings: &PathMappings,
    ) -> Option<DefaultPathView> {
        let told = stats
            .default_save_path
            .as_deref()
            .filter(|path| !path.is_empty())?;
        let remote = before.original(told);
        let local = mappings.to_local(&remote);
        let (server, _) = self.look(Some(&local), &Group::default()).await;
        let (verdict, message) = judge_default((&remote, &local), &server, stats.free_disk_bytes);
        Some(DefaultPathView {
            remote,
            local,
            verdict,
            message,
            server,
            client_free_bytes: stats.free_disk_bytes,
        })
    }

    /// Looks at a directory, and for some of the torrents below it.
    async fn look(&self, directory: Option<&str>, group: &Group) -> (SeenDirectory, SampleView) {
        let sampled = group.sample();
        let asked: Vec<String> = sampled.iter().map(|told| told.local.clone()).collect();
        let (roots, path) = (self.places.here(), directory.map(str::to_owned));
        let looking = CHECKS.run(move |cancel| {
            let seen = path.map(|path| see(&roots, &path)).unwrap_or_default();
            let found = asked
                .iter()
                .map(|path| !cancel.is_set() && is_there(&roots, path));
            (seen, found.collect::<Vec<bool>>())
        });
        let error = match tokio::time::timeout(PATIENCE, looking).await {
            Ok(Ok((seen, found))) => {
                let missing = sampled.iter().zip(&found).filter(|(_, found)| !**found);
                let sample = SampleView {
                    torrents: group.0.len(),
                    looked_for: found.len(),
                    found: found.iter().filter(|found| **found).count(),
                    missing: missing.take(NAMED).map(|(told, _)| named(told)).collect(),
                };
                return (seen, sample);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!(
                "the disk did not answer within {} s: look whether it hangs",
                PATIENCE.as_secs()
            ),
        };
        let seen = SeenDirectory {
            error: Some(error),
            ..SeenDirectory::default()
        };
        let sample = SampleView {
            torrents: group.0.len(),
            ..SampleView::default()
        };
        (seen, sample)
    }
}

fn named(told: &Told) -> MissingView {
    MissingView {
        hash: told.hash.clone(),
        name: told.name.clone(),
        remote: told.remote.clone(),
        local: told.local.clone(),
    }
}

/// Where the data of a torrent lies by the mappings, if it has any.
fn told_of(torrent: &Torrent, before: &PathMappings, mappings: &PathMappings) -> Option<Told> {
    if torrent.downloaded == 0 && torrent.progress <= 0.0 {
        return None;
    }
    let remote = before.original(&data_path(torrent)?);
    Some(Told {
        hash: torrent.hash.to_string(),
        name: torrent.name.clone(),
        save_path: before.original(&torrent.save_path),
        local: mappings.to_local(&remote),
        remote,
        is_whole: torrent.progress >= 1.0,
    })
}

async fn ask(row: &EngineRow, engine: Option<&Engine>) -> Result<SessionStats, String> {
    let Some(engine) = engine else {
        return Err(format!(
            "{} is not loaded: the client was not asked, and its torrents are those that were stored last",
            row.name
        ));
    };
    let asked = tokio::time::timeout(ANSWER, engine.driver.session_stats()).await;
    match asked {
        Ok(Ok(stats)) => Ok(stats),
        Ok(Err(error)) => Err(describe(&engine.name(), &error)),
        Err(_) => Err(format!(
            "{} did not answer within {} s",
            engine.name(),
            ANSWER.as_secs()
        )),
    }
}

fn see(roots: &Roots, path: &str) -> SeenDirectory {
    let mut seen = SeenDirectory::default();
    let inspection = match roots.inspect(path) {
        Ok(inspection) => inspection,
        Err(error) => {
            seen.error = Some(error.to_string());
            return seen;
        }
    };
    (seen.exists, seen.is_directory, seen.writable) =
        (inspection.exists, inspection.is_directory, inspection.writable);
    if !inspection.within_hard_roots {
        seen.error = Some(FsError::Outside.to_string());
    } else if seen.is_directory {
        let free = roots
            .directory(Path::new(path))
            .and_then(|directory| directory.free_bytes());
        match free {
            Ok(free) => (seen.readable, seen.free_bytes) = (true, free),
            Err(error) => seen.error = Some(error.to_string()),
        }
    }
    seen
}

fn is_there(roots: &Roots, path: &str) -> bool {
    let item = roots.item(Path::new(path), Intent::Read);
    item.and_then(|item| item.meta()).is_ok()
}

/// The server's view alone: what is wrong with it, if anything.
fn fault_of((remote, local): (&str, &str), server: &SeenDirectory) -> Option<String> {
    let way_out = format!(
        "mount the directory there that the client sees as `{remote}`, or correct `local` of the mapping"
    );
    if let Some(error) = &server.error {
        Some(format!(
            "`{local}` cannot be looked at here ({error}): {way_out}."
        ))
    } else if !server.exists {
        Some(format!(
            "`{local}` is not there as this server sees it: {way_out}."
        ))
    } else if !server.is_directory {
        Some(format!("`{local}` is a file, not a directory: {way_out}."))
    } else {
        None
    }
}

fn judge_mapping(pair: &PathMapping, server: &SeenDirectory, sample: &SampleView) -> (PathVerdict, String) {
    let (remote, local) = (pair.remote.as_str(), pair.local.as_str());
    if let Some(fault) = fault_of((remote, local), server) {
        return (PathVerdict::Wrong, fault);
    }
    let SampleView {
        looked_for, found, ..
    } = *sample;
    let (verdict, mut message) = match found {
        _ if looked_for == 0 => (
            PathVerdict::Unproven,
            format!(
                "`{local}` is there, but the client has no torrent with data below `{remote}` by which it could be proven."
            ),
        ),
        0 => (
            PathVerdict::Wrong,
            format!(
                "None of {looked_for} torrents that the client has below `{remote}` was found below `{local}`: it is another \
                 directory. Correct the mapping, or mount the client's directory there."
            ),
        ),
        _ if found < looked_for => (
            PathVerdict::Wrong,
            format!(
                "{} of {looked_for} torrents that the client has below `{remote}` were not found below `{local}`: their data is \
                 gone, or a directory below `{remote}` needs a mapping of its own.",
                looked_for - found
            ),
        ),
        _ => (
            PathVerdict::Good,
            format!("All {looked_for} torrents that were looked for below `{local}` are there."),
        ),
    };
    if !server.writable {
        message
            .push_str(" This server's user may not write there, so that it moves and removes no data in it.");
    }
    (verdict, message)
}

fn judge_unmapped(looked: &SeenDirectory, sample: &SampleView, is_all: bool) -> (PathVerdict, String) {
    let SampleView {
        torrents,
        looked_for,
        found,
        ..
    } = *sample;
    if let Some(error) = &looked.error {
        return (
            PathVerdict::Wrong,
            format!("Torrents could not be looked for: {error}."),
        );
    }
    if torrents == 0 {
        let (verdict, message) = if is_all {
            let message = "The client has no torrent with data by which its paths could be proven.";
            (PathVerdict::Unproven, message)
        } else {
            (
                PathVerdict::Good,
                "The mappings cover all torrents that have data.",
            )
        };
        return (verdict, message.to_owned());
    }
    let about = if is_all {
        "Without mappings the client and this server have to see its directories under the same paths"
    } else {
        "No mapping covers them, so the client and this server have to see their directories under the same paths"
    };
    if found < looked_for {
        let message = format!(
            "{} of {looked_for} torrents were not found. {about}: add a mapping for their save paths.",
            looked_for - found
        );
        (PathVerdict::Wrong, message)
    } else if looked_for == 0 {
        (
            PathVerdict::Unproven,
            format!("{about}; none could be looked for by its name."),
        )
    } else {
        (
            PathVerdict::Good,
            format!("All {looked_for} torrents that were looked for are there. {about}."),
        )
    }
}

fn judge_default(
    (remote, local): (&str, &str),
    server: &SeenDirectory,
    client_free: Option<u64>,
) -> (PathVerdict, String) {
    if local.starts_with(NOT_MAPPED) {
        let message = format!(
            "No mapping covers `{remote}`, and what is `{remote}` here is another directory: add a mapping for it."
        );
        return (PathVerdict::Wrong, message);
    }
    if let Some(fault) = fault_of((remote, local), server) {
        return (PathVerdict::Wrong, fault);
    }
    let (Some(here), Some(there)) = (server.free_bytes, client_free) else {
        let message = format!("`{local}` is there; the client does not tell how much is free there.");
        return (PathVerdict::Unproven, message);
    };
    if here.abs_diff(there) <= SAME_SPACE.max(here / 100) {
        let message = format!("Client and server see the same free space in `{local}`.");
        (PathVerdict::Good, message)
    } else {
        let message = format!(
            "`{local}` is there, but the client sees {there} bytes free and this server {here}: it is perhaps another disk, or a quota."
        );
        (PathVerdict::Unproven, message)
    }
}

fn worst(verdicts: impl Iterator<Item = PathVerdict>) -> PathVerdict {
    let rank = |verdict: &PathVerdict| match verdict {
        PathVerdict::Good => 0,
        PathVerdict::Unproven => 1,
        PathVerdict::Wrong => 2,
    };
    verdicts.max_by_key(rank).unwrap_or(PathVerdict::Unproven)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there() -> SeenDirectory {
        SeenDirectory {
            exists: true,
            is_directory: true,
            readable: true,
            writable: true,
            free_bytes: Some(500 << 30),
            error: None,
        }
    }

    fn sample(looked_for: usize, found: usize) -> SampleView {
        SampleView {
            torrents: looked_for,
            looked_for,
            found,
            missing: vec![],
        }
    }

    #[test]
    fn verdicts_say_what_was_seen_and_the_way_out() {
        let pair = PathMapping {
            remote: "/downloads".into(),
            local: "/mnt/box".into(),
        };
        let absent = SeenDirectory::default();
        let file = SeenDirectory {
            is_directory: false,
            ..there()
        };
        let outside = SeenDirectory {
            error: Some("outside".into()),
            ..absent.clone()
        };
        for (server, found, verdict, words) in [
            (
                &absent,
                (0, 0),
                PathVerdict::Wrong,
                "is not there as this server sees it: mount",
            ),
            (&file, (0, 0), PathVerdict::Wrong, "is a file"),
            (
                &outside,
                (3, 3),
                PathVerdict::Wrong,
                "cannot be looked at here (outside)",
            ),
            (
                &there(),
                (0, 0),
                PathVerdict::Unproven,
                "has no torrent with data below `/downloads`",
            ),
            (&there(), (10, 0), PathVerdict::Wrong, "None of 10 torrents"),
            (&there(), (10, 7), PathVerdict::Wrong, "3 of 10 torrents"),
            (&there(), (10, 10), PathVerdict::Good, "All 10 torrents"),
        ] {
            let (judged, message) = judge_mapping(&pair, server, &sample(found.0, found.1));
            assert_eq!(judged, verdict, "{message}");
            assert!(message.contains(words), "{message}");
        }
        let read_only = SeenDirectory {
            writable: false,
            ..there()
        };
        assert!(
            judge_mapping(&pair, &read_only, &sample(1, 1))
                .1
                .contains("may not write")
        );
    }

    #[test]
    fn free_space_tells_one_disk_from_another() {
        let paths = ("/downloads", "/mnt/box");
        for (free, verdict) in [
            (Some((500 << 30) - 4096), PathVerdict::Good),
            (Some(20 << 30), PathVerdict::Unproven),
            (None, PathVerdict::Unproven),
        ] {
            assert_eq!(judge_default(paths, &there(), free).0, verdict, "{free:?}");
        }
        let hidden = ("/x", "/.not-mapped/x");
        assert_eq!(
            judge_default(hidden, &SeenDirectory::default(), None).0,
            PathVerdict::Wrong
        );
    }

    #[test]
    fn a_sample_is_of_whole_torrents_from_all_over_the_list() {
        let told = |number: usize, is_whole| Told {
            hash: number.to_string(),
            name: number.to_string(),
            save_path: if number < 30 { "/a" } else { "/b" }.into(),
            remote: format!("/a/{number}"),
            local: if number == 3 {
                "/x/?".into()
            } else {
                format!("/x/{number}")
            },
            is_whole,
        };
        let group = Group((0..100).map(|number| told(number, number % 2 == 1)).collect());
        let sample = group.sample();
        assert!(
            sample.len() <= LOOKED_FOR && sample.len() >= LOOKED_FOR - 1,
            "{}",
            sample.len()
        );
        assert!(sample.iter().all(|told| told.is_whole && told.hash != "3"));
        assert!(
            sample
                .last()
                .is_some_and(|told| told.hash.parse::<usize>().unwrap() > 80)
        );
        assert_eq!(group.save_paths(), ["/b", "/a"]);
        let partial = Group((0..4).map(|number| told(number, false)).collect());
        assert_eq!(partial.sample().len(), 3);
    }
}
