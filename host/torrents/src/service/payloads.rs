//! Torrents found by the paths of their data, for areas that touch files.

use std::path::Path;

use async_trait::async_trait;
use qm_ports::{Removal, TorrentPayload, TorrentPayloads};
use qm_torrent_data::Subject;

use super::{Caller, Torrents};

#[async_trait]
impl TorrentPayloads for Torrents {
    fn touching(&self, paths: &[&Path]) -> Vec<TorrentPayload> {
        self.data.touching(paths)
    }

    async fn check_removal(&self, payloads: &[TorrentPayload]) -> Result<(), String> {
        let loaded = |payload: &TorrentPayload| {
            let engine = self.resolve(Some(&payload.engine_id)).ok()?;
            Some((engine, payload.hash.clone()))
        };
        let subjects: Vec<Subject> = payloads.iter().filter_map(loaded).collect();
        self.data
            .check_taking(&subjects)
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
    use qm_db::{Db, db_test};
    use qm_kernel::Role;
    use qm_ports::engine::{EngineError, Torrent};
    use qm_test_base::blank::{hash, torrent};
    use qm_test_base::principal;
    use serde_json::json;

    use super::*;
    use crate::testing::{House, eventually};

    fn placed(n: u8, save_path: &str, content_path: &str) -> Torrent {
        Torrent {
            save_path: save_path.into(),
            content_path: content_path.into(),
            ..torrent(n)
        }
    }

    db_test! {
        async fn torrents_are_found_by_their_data_and_removed_like_a_user_would(db: Db) {
            let house = House::new(&db, &["fake"]).await;
            let (a, b) = (house.kinds.engine("a"), house.kinds.engine("b"));
            a.put(placed(1, "/d", "/d/Show"));
            a.put(placed(2, "/d", "/d/Show 2"));
            a.put(placed(3, "/d", "/d"));
            b.put(placed(4, "/d", "/d/Show/S01/e1.mkv"));
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
