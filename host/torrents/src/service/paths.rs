//! Mappings of paths of an engine: judged before they are stored, and checked on both sides.

use qm_engines::dto::paths::{CheckPaths, PathsCheckView};
use qm_engines::model::mappings::PathMapping;
use qm_engines::{TorrentsError, audit_entry};
use serde_json::json;

use super::{Caller, Torrents};

impl Torrents {
    /// Judges mappings that somebody chose: the directories of this server by where they lead, as any that a client is told.
    pub async fn judge_mappings(
        &self,
        mappings: Option<Vec<PathMapping>>,
    ) -> Result<Option<Vec<PathMapping>>, TorrentsError> {
        match mappings {
            Some(mappings) => Ok(Some(self.data.places().judge_mappings(mappings).await?)),
            None => Ok(None),
        }
    }

    /// Checks what server and client see of the paths of an engine. Audited, because it looks at directories of the server.
    pub async fn check_paths(
        &self,
        caller: Caller<'_>,
        id: &str,
        check: CheckPaths,
    ) -> Result<PathsCheckView, TorrentsError> {
        let engine = self.engines.find_to_check(caller, id).await?;
        let tried = self.judge_mappings(check.path_mappings).await?;
        let checked = self.data.check_paths(&engine, tried.clone()).await?;
        let metadata = json!({ "name": engine.name, "verdict": checked.verdict, "tried": tried });
        let entry = audit_entry(
            caller,
            "engines.check_paths",
            Some(("torrent_engine", id)),
            Some(metadata),
        );
        self.audit.record_alone(&self.db, entry).await;
        Ok(checked)
    }
}
