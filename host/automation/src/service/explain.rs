//! Explanation of a rule for one torrent.

use qm_conditions::Conditions;
use qm_ports::action::TorrentRef;

use super::Automation;
use super::preview::{record, standing};
use crate::error::AutomationError;
use crate::model::answers::Explanation;
use crate::model::moment::Timed;
use crate::repo;

impl Automation {
    /// Each condition of a rule with the torrent's value, on any engine or a given one.
    pub async fn explain(
        &self,
        id: &str,
        hash: &str,
        engine_id: Option<&str>,
    ) -> Result<Explanation, AutomationError> {
        let hash = hash.to_ascii_lowercase();
        let mut tx = self.db.begin_read().await?;
        let stored = repo::rules::find(&mut tx, id).await?;
        let rule = stored.ok_or(AutomationError::NoSuchRule)?;
        let lists = self.torrents.lists();
        let mut chosen = lists
            .iter()
            .filter(|list| engine_id.is_none_or(|engine_id| list.engine_id() == engine_id));
        let found = chosen.find_map(|list| Some((list.engine_id(), list.find(&hash)?)));
        let (engine_id, listed) = found.ok_or(AutomationError::NoSuchTorrent)?;
        let torrent = TorrentRef {
            engine_id: engine_id.to_owned(),
            hash: hash.clone(),
        };
        let is_done = repo::ledger::has(&mut tx, id, &torrent).await?;
        self.book.read_zone(&mut tx).await?;
        drop(tx);
        let conditions = Conditions::compile(&rule.conditions);
        let zone = self.book.zone();
        let explained = conditions.explain(&Timed {
            record: &record(
                engine_id,
                listed,
                self.ctx.now(),
                self.torrents.free_bytes(engine_id),
            ),
            at: self.ctx.now(),
            zone: &zone,
        });
        let holds = explained.iter().all(|condition| condition.holds);
        Ok(Explanation {
            engine_id: engine_id.to_owned(),
            hash,
            name: listed.torrent.name.clone(),
            conditions: rule.conditions.into_iter().zip(explained).collect(),
            holds,
            standing: holds.then(|| standing(&rule.trigger, listed, is_done)),
            rule_id: rule.id,
            is_enabled: rule.is_enabled,
        })
    }
}
