//! Torrents found by the paths of their data, for areas that touch files.
//!
//! One pass over the snapshots for any number of paths; nothing is kept between calls, because lists change every few
//! seconds and are asked about far more rarely. Cost: paths × depth + torrents × depth hash look-ups, and memory for the
//! paths and the directories above them; with 30,000 torrents some 10 ms for one path, below 100 ms for 10,000.

use std::collections::HashSet;
use std::path::Path;

use qm_engines::model::paths::normalised;
use qm_ports::TorrentPayload;
pub(super) use qm_ports::payload::data_path;

use super::TorrentData;

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

impl TorrentData {
    /// The torrents whose data lies at one of these paths, around one or below one.
    pub fn touching(&self, paths: &[&Path]) -> Vec<TorrentPayload> {
        let asked = Asked::new(paths);
        if asked.paths.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for engine in self.engines.all() {
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use qm_ports::engine::Torrent;
    use qm_test_base::blank::torrent;

    use super::*;

    fn placed(n: u8, save_path: &str, content_path: &str) -> Torrent {
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
                data_path(&placed(1, save_path, content_path)).as_deref(),
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
}
