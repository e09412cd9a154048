//! Torrents found by the paths of their data, for areas that touch files.
//!
//! One pass over the snapshots for any number of paths; nothing is kept between calls, because lists change every few
//! seconds and are asked about far more rarely. Cost: paths × depth + torrents × depth hash look-ups, and memory for the
//! paths and the directories above them; with 30,000 torrents some 10 ms for one path, below 100 ms for 10,000.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use async_trait::async_trait;
use qm_ports::engine::Torrent;
use qm_ports::{Removal, TorrentPayload, TorrentPayloads};

use super::shared_data::Subject;
use super::{Caller, Torrents};
use crate::model::paths::normalised;

/// The paths asked about, and every directory above one of them.
struct Asked {
    paths: HashSet<String>,
    above: HashSet<String>,
}

impl Asked {
    /// Relative paths and those that are not UTF-8 are left out: no client can have told one.
    fn new(paths: &[&Path]) -> Self {
        let paths: HashSet<String> = paths
            .iter()
            .filter_map(|path| path.to_str())
            .filter(|path| path.starts_with('/'))
            .map(|path| normalised(path).into_owned())
            .collect();
        let above = paths.iter().flat_map(|path| parents(path)).map(str::to_owned);
        Self {
            above: above.collect(),
            paths,
        }
    }

    /// True if `path` is one of the paths, contains one or lies below one.
    fn touches(&self, path: &str) -> bool {
        self.paths.contains(path)
            || self.above.contains(path)
            || parents(path).any(|parent| self.paths.contains(parent))
    }
}

/// The directories above a normalised path, nearest first.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent(path), |path| parent(path))
}

fn parent(path: &str) -> Option<&str> {
    match path.rfind('/')? {
        0 if path.len() > 1 => Some("/"),
        0 => None,
        at => Some(&path[..at]),
    }
}

/// Where a torrent's data lies. A client that does not know (yet) tells the shared directory, and to take that for the
/// torrent's own would make every file in it the torrent's.
pub(super) fn data_path(torrent: &Torrent) -> Option<Cow<'_, str>> {
    let own = torrent.content_path.as_str();
    let save_path = normalised(&torrent.save_path);
    let path = match normalised(own) {
        path if own.starts_with('/') && path != save_path => path,
        _ if !torrent.save_path.starts_with('/') => return None,
        _ => normalised(&format!("{save_path}/{}", torrent.name))
            .into_owned()
            .into(),
    };
    (path != "/").then_some(path)
}

#[async_trait]
impl TorrentPayloads for Torrents {
    fn touching(&self, paths: &[&Path]) -> Vec<TorrentPayload> {
        let asked = Asked::new(paths);
        if asked.paths.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for engine in self.registry.all() {
            let Some(snapshot) = engine.snapshot() else {
                continue;
            };
            let live = engine.status().is_some_and(|status| status.online);
            for torrent in snapshot.torrents() {
                if let Some(path) = data_path(torrent).filter(|path| asked.touches(path)) {
                    found.push(TorrentPayload {
                        engine_id: engine.id.to_string(),
                        hash: torrent.hash.to_string(),
                        name: torrent.name.clone(),
                        path: path.into_owned(),
                        state: torrent.state.as_str(),
                        live,
                    });
                }
            }
        }
        found
    }

    async fn check_removal(&self, payloads: &[TorrentPayload]) -> Result<(), String> {
        let loaded = |payload: &TorrentPayload| {
            let engine = self.resolve(Some(&payload.engine_id)).ok()?;
            Some((engine, payload.hash.clone()))
        };
        let subjects: Vec<Subject> = payloads.iter().filter_map(loaded).collect();
        self.check_taking(&subjects)
            .await
            .map_err(|error| error.to_string())
    }

    async fn remove(
        &self,
        payload: &TorrentPayload,
        removal: Removal<'_>,
        caller: Caller<'_>,
    ) -> Result<(), String> {
        let engine = self
            .resolve(Some(&payload.engine_id))
            .map_err(|error| error.to_string())?;
        let removed = self.remove_by(Some(caller), Some(&payload.engine_id), &payload.hash, removal);
        removed.await.map_err(|error| {
            let (name, text) = (engine.name(), error.to_string());
            if text.starts_with(name.as_str()) {
                text
            } else {
                format!("{name}: {text}")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use qm_db::{Db, db_test};
    use qm_kernel::Role;
    use qm_ports::engine::EngineError;
    use qm_test_base::principal;
    use serde_json::json;

    use super::*;
    use crate::sync::snapshot::tests::{hash, torrent};
    use crate::testing::{House, eventually};

    fn at(n: u8, save_path: &str, content_path: &str) -> Torrent {
        Torrent {
            save_path: save_path.into(),
            content_path: content_path.into(),
            ..torrent(n)
        }
    }

    #[test]
    fn a_shared_directory_is_nobody_s_data() {
        for (save_path, content_path, path) in [
            ("/d", "/d/film.mkv", Some("/d/film.mkv")),
            ("/d", "/d//Show/", Some("/d/Show")),
            ("/d", "/d/", Some("/d/torrent 1")),
            ("/d", "", Some("/d/torrent 1")),
            ("/d", "film.mkv", Some("/d/torrent 1")),
            ("", "/d/film.mkv", Some("/d/film.mkv")),
            ("", "", None),
            ("C:\\d", "C:\\d\\film.mkv", None),
            ("/d", "/", None),
        ] {
            assert_eq!(
                data_path(&at(1, save_path, content_path)).as_deref(),
                path,
                "{save_path:?} {content_path:?}"
            );
        }
    }

    proptest! {
        /// Names that begin alike are not below one another; everything else is as `Path::starts_with` sees it.
        #[test]
        fn paths_meet_component_by_component(
            asked in prop::collection::vec("(/(a|ab|b|ü)){1,4}", 0..6),
            path in "(/(a|ab|b|ü)){1,4}",
        ) {
            let paths: Vec<&Path> = asked.iter().map(Path::new).collect();
            let expected = paths.iter().any(|asked| asked.starts_with(&path) || Path::new(&path).starts_with(asked));
            prop_assert_eq!(Asked::new(&paths).touches(&path), expected);
        }
    }

    db_test! {
        async fn torrents_are_found_by_their_data_and_removed_like_a_user_would(db: Db) {
            let house = House::new(&db, &["fake"]).await;
            let (a, b) = (house.kinds.engine("a"), house.kinds.engine("b"));
            a.put(at(1, "/d", "/d/Show"));
            a.put(at(2, "/d", "/d/Show 2"));
            a.put(at(3, "/d", "/d"));
            b.put(at(4, "/d", "/d/Show/S01/e1.mkv"));
            let first = house.engine("first", "a").await;
            let second = house.engine("second", "b").await;
            let listed = || house.torrents.torrent(&first, &hash(1)).is_some() && house.torrents.torrent(&second, &hash(4)).is_some();
            eventually("both engines are read", listed).await;
            let found = |path: &str| house.torrents.touching(&[Path::new(path)]);
            let hashes = |path: &str| found(path).into_iter().map(|payload| payload.hash).collect::<Vec<_>>();
            assert_eq!(hashes("/d/Show"), [&*hash(1), &*hash(4)]);
            assert_eq!(hashes("/d/Show/S01/e2.mkv"), [&*hash(1)]);
            assert_eq!(hashes("/d/Show 2/x"), [&*hash(2)]);
            assert_eq!(hashes("/d/other"), Vec::<&str>::new());
            assert_eq!(hashes("/").len(), 4);
            assert_eq!(house.torrents.touching(&[]), []);
            let both = [Path::new("/d/Show"), Path::new("/d/Show/S01")];
            assert_eq!(house.torrents.touching(&both).len(), 2, "each once");

            let payload = found("/d/Show/S01").remove(1);
            assert_eq!((payload.engine_id.as_str(), payload.state, payload.live), (&*second, "downloading", true));
            let admin = principal(Role::Administrator);
            // The first one's data lies there too.
            let removal = Removal { with_data: true, keep_shared: true, ..Removal::default() };
            let remove = || house.torrents.remove(&payload, removal, house.caller_as(&admin));
            b.fail(Some(EngineError::Unreachable("refused".into())));
            assert_eq!(remove().await, Err("second cannot be reached: refused".into()));
            b.fail(None);
            assert_eq!(remove().await, Ok(()));
            assert_eq!(remove().await, Err("second: Torrent not found".into()));
            assert_eq!(hashes("/d/Show"), [&*hash(1)]);
            house.torrents.shutdown().await;
            let rows = crate::testing::audited(&db).await;
            let removal = rows.iter().filter(|row| row.action == "torrents.delete_data").collect::<Vec<_>>();
            assert_eq!(removal.len(), 1);
            assert_eq!(removal[0].object(), ("torrent", &*hash(4)));
            assert_eq!(removal[0].metadata.as_ref().map(|metadata| &metadata.0["engineId"]), Some(&json!(second)));
        }
    }
}
