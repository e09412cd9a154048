//! Actions of users on history items: download an item, or let it be grabbed again.

use std::sync::Arc;

use qm_kernel::{Caller, Permission};
use qm_lanes::LaneError;
use qm_platform::judge_alone;
use serde_json::json;

use super::Rss;
use super::backfill::ShownNow;
use super::grabs::Settled;
use crate::error::RssError;
use crate::model::history::HistoryItem;
use crate::repo;

const OBJECT: &str = "rss_history";

/// An item that was downloaded.
pub struct Taken {
    pub item: HistoryItem,
    pub torrent_hash: String,
}

/// An item that may be grabbed again.
pub struct Reset {
    pub holds_cleared: u64,
    pub torrent_removed: bool,
}

impl Rss {
    /// Hands an item to the default engine, whether it was downloaded before or not.
    pub async fn download(
        self: &Arc<Self>,
        caller: Caller<'_>,
        id: &str,
        save_path: Option<String>,
    ) -> Result<Taken, RssError> {
        // Checked before a site is asked.
        self.admit(caller).await?;
        let save_path = match save_path.filter(|path| !path.trim().is_empty()) {
            Some(path) => {
                let judged = self.torrents.check_save_path(&path).await;
                Some(judged.map_err(RssError::Path)?)
            }
            None => None,
        };
        let mut item = self.item(id).await?;
        self.find_magnet(&mut item, &mut ShownNow::new()).await?;
        let source = item.download().map(str::to_owned).ok_or(RssError::NoLink)?;
        let mut grab = self.new_grab(&item, &source, None, None);
        grab.save_path = save_path;
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge_grabs(&mut tx, caller).await?;
        if let Some(hash) = &item.info_hash {
            repo::grabs::release(&mut tx, hash).await?;
        }
        repo::grabs::release_item(&mut tx, id).await?;
        if !repo::grabs::decide(&mut tx, &grab).await? {
            return Err(RssError::Download("it is being downloaded already".into()));
        }
        let told = json!({ "title": item.title, "savePath": grab.save_path });
        self.note(
            &mut tx,
            caller,
            &actor,
            "rss.history.download",
            (OBJECT, Some(id)),
            told,
        )
        .await?;
        tx.commit().await?;
        let rss = self.clone();
        // The add goes on when the caller hangs up: it may be in the client already.
        let settled = tokio::spawn(async move { rss.settle(&grab.id).await })
            .await
            .map_err(|error| LaneError::Panicked(error.to_string()))??;
        match settled {
            Settled::Done(torrent_hash) => Ok(Taken {
                item: self.item(id).await?,
                torrent_hash,
            }),
            Settled::Failed(reason) | Settled::Later(reason, _) => Err(RssError::Download(reason)),
            Settled::Elsewhere => Err(RssError::Download("it is being downloaded already".into())),
        }
    }

    /// Removes an item's torrent with its data, and makes polls treat the item as new.
    pub async fn reset(self: &Arc<Self>, caller: Caller<'_>, id: &str) -> Result<Reset, RssError> {
        self.admit(caller).await?;
        let item = self.item(id).await?;
        let engines = item
            .info_hash
            .as_deref()
            .map_or_else(Vec::new, |hash| self.torrents.engines_with(hash));
        let torrent_removed = !engines.is_empty();
        let needed: &[Permission] = if torrent_removed {
            if !caller.principal.has_permission(Permission::TorrentsDeleteData) {
                return Err(RssError::MayNotDelete);
            }
            &[Permission::RssManage, Permission::TorrentsDeleteData]
        } else {
            &[Permission::RssManage]
        };
        judge_alone(&*self.acting, &self.db, caller.principal, needed).await?;
        if let Some(hash) = &item.info_hash {
            for engine in engines {
                let removed = self.torrents.remove(&engine, hash).await;
                removed.map_err(|error| RssError::Removal(error.to_string()))?;
            }
        }
        let now = self.ctx.now();
        let _turn = self.deciding.lock().await;
        let mut tx = self.db.begin_write().await?;
        let actor = self.acting.judge(&mut tx, caller.principal, needed).await?;
        let mut holds_cleared = 0;
        if let Some(hash) = &item.info_hash {
            holds_cleared = repo::holds::clear(&mut tx, hash).await?;
            repo::grabs::release(&mut tx, hash).await?;
            repo::history::reset_hash(&mut tx, hash, now).await?;
        }
        repo::grabs::release_item(&mut tx, id).await?;
        repo::history::reset(&mut tx, id, now).await?;
        let told = json!({
            "title": item.title, "holdsCleared": holds_cleared, "torrentRemoved": torrent_removed,
        });
        self.note(
            &mut tx,
            caller,
            &actor,
            "rss.history.reset",
            (OBJECT, Some(id)),
            told,
        )
        .await?;
        tx.commit().await?;
        Ok(Reset {
            holds_cleared,
            torrent_removed,
        })
    }

    async fn item(&self, id: &str) -> Result<HistoryItem, RssError> {
        let mut tx = self.db.begin_read().await?;
        let item = repo::history::find(&mut tx, id).await?;
        item.ok_or(RssError::NoSuchItem)
    }
}
