//! Setting, clearing and showing limits on sharing.

use std::sync::Arc;

use qm_engines::model::abilities::SUPER_SEEDING;
use qm_engines::{Engine, TorrentsError};
use qm_kernel::{Caller, Permission, Timestamp};
use qm_lanes::IgnorePoison;
use qm_metainfo::info_hash::is_info_hash;
use qm_platform::{AuditEntry, judge_alone};
use qm_ports::engine::{Command, Limit, ShareAction, ShareLimits, Torrent, capability};
use serde_json::{Value, json};

use super::Limits;
use crate::error::LimitsError;
use crate::model::share::{Effective, Facts, Layer, Scope, action_word, is_sharing, permission_of};
use crate::model::views::{Asked, ShareView, TorrentShare};
use crate::repo;

/// A scope that is there, with what belongs to it.
struct Place {
    scope: Scope,
    engine: Option<Arc<Engine>>,
    torrent: Option<Torrent>,
    /// Name of the category.
    category: Option<String>,
}

impl Place {
    /// Engine, label and hash by which its layers are found.
    fn names(&self) -> (&str, Option<&str>, &str) {
        let label = self.torrent.as_ref().and_then(|torrent| torrent.label.as_deref());
        match &self.scope {
            Scope::Torrent { engine_id, hash } => (engine_id, label, hash),
            Scope::Category(_) => ("", self.category.as_deref(), ""),
            Scope::Engine(id) => (id, None, ""),
        }
    }
}

impl Limits {
    /// Limits on a thing.
    pub async fn show_share(&self, chosen: &Asked) -> Result<ShareView, LimitsError> {
        let place = self.find_place(chosen).await?;
        self.view_place(place).await
    }

    /// Replaces the limits on a thing: what is left out is inherited. `clear_client`: the client's own limits on the torrent are
    /// lifted, so that it does not act before or after.
    pub async fn set_share(
        &self,
        caller: Caller<'_>,
        chosen: &Asked,
        limits: ShareLimits,
        clear_client: bool,
    ) -> Result<ShareView, LimitsError> {
        self.judge_early(caller, chosen).await?;
        let place = self.find_place(chosen).await?;
        if let Some(engine) = &place.engine
            && limits.action == ShareAction::SuperSeed
        {
            engine.check_ability(&SUPER_SEEDING)?;
        }
        let mut layer = Layer {
            scope: place.scope.clone(),
            limits,
            set_by: String::new(),
            set_at: self.ground.ctx.now(),
        };
        let needed = self.find_needed(&place, &layer);
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, &needed)
            .await?;
        self.hold_place(&mut tx, &place.scope).await?;
        actor.user_id().clone_into(&mut layer.set_by);
        repo::share::put(&mut tx, &layer).await?;
        if let Scope::Torrent { engine_id, hash } = &place.scope {
            repo::ledger::delete(&mut tx, engine_id, hash).await?;
        }
        let entry = AuditEntry {
            metadata: Some(describe(&limits, clear_client)),
            ..audit_entry(&place.scope, actor.entry("torrents.limits.set", caller.client))
        };
        self.ground.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        if let Scope::Torrent { engine_id, hash } = &place.scope {
            let mut renewed = self.renewed.lock().ignore_poison();
            let of_engine = renewed.entry(engine_id.clone()).or_default();
            of_engine.insert(hash.clone());
        }
        self.follow(&place.scope).await?;
        if clear_client {
            clear(&place).await?;
        }
        self.view_place(place).await
    }

    /// Takes the limits on a thing away: it inherits all of them.
    pub async fn clear_share(&self, caller: Caller<'_>, chosen: &Asked) -> Result<ShareView, LimitsError> {
        self.judge_early(caller, chosen).await?;
        let place = self.find_place(chosen).await?;
        let needed = place.scope.permissions();
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, needed)
            .await?;
        repo::share::delete(&mut tx, &place.scope).await?;
        let entry = audit_entry(&place.scope, actor.entry("torrents.limits.clear", caller.client));
        self.ground.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        self.follow(&place.scope).await?;
        self.view_place(place).await
    }

    /// Refuses a caller who may no longer, before a client is asked for anything.
    async fn judge_early(&self, caller: Caller<'_>, asked: &Asked) -> Result<(), LimitsError> {
        let (acting, db) = (&*self.ground.acting, &self.ground.db);
        let _ = judge_alone(acting, db, caller.principal, asked.permissions()).await?;
        Ok(())
    }

    /// Permissions of whoever sets these limits: those of the thing, and that of the action that they lead to as things are.
    fn find_needed(&self, place: &Place, layer: &Layer) -> Vec<Permission> {
        let mut needed = layer.scope.permissions().to_vec();
        let action = match layer.limits.action {
            // The action of others is lent to nobody who could not do it.
            ShareAction::Inherit => self.merge_others(place).action(),
            action => action,
        };
        needed.push(permission_of(action));
        needed
    }

    fn merge_place(&self, place: &Place) -> Effective {
        let (engine_id, label, hash) = place.names();
        self.book.layers().merge_for(engine_id, label, hash)
    }

    /// Limits in force without the limits on the thing itself.
    fn merge_others(&self, place: &Place) -> Effective {
        let (engine_id, label, hash) = place.names();
        let layers = self.book.layers();
        let others = layers.list_for(engine_id, label, hash);
        Effective::merge(others.filter(|layer| layer.scope != place.scope))
    }

    async fn find_place(&self, chosen: &Asked) -> Result<Place, LimitsError> {
        match chosen {
            Asked::Torrent { engine_id, hash } => self.find_torrent(engine_id.as_deref(), hash).await,
            Asked::Category(id) => {
                let mut tx = self.ground.db.begin_read().await?;
                let name = repo::share::find_category(&mut tx, id).await?;
                Ok(Place {
                    scope: Scope::Category(id.clone()),
                    engine: None,
                    torrent: None,
                    category: Some(name.ok_or(LimitsError::NoSuchCategory)?),
                })
            }
            Asked::Engine(id) => {
                let mut tx = self.ground.db.begin_read().await?;
                if !repo::share::has_engine(&mut tx, id).await? {
                    return Err(LimitsError::NoSuchEngine);
                }
                Ok(Place {
                    scope: Scope::Engine(id.clone()),
                    engine: self.engines.get(id),
                    torrent: None,
                    category: None,
                })
            }
        }
    }

    async fn find_torrent(&self, engine_id: Option<&str>, hash: &str) -> Result<Place, LimitsError> {
        if !is_info_hash(hash) {
            return Err(LimitsError::NoSuchTorrent);
        }
        let hash = hash.to_ascii_lowercase();
        let engine = self.engines.resolve(engine_id)?;
        let list = engine.listed().await;
        let list = list.map_err(TorrentsError::blame_engine(&engine.name()))?;
        let entry = list.get(&hash).ok_or(LimitsError::NoSuchTorrent)?;
        Ok(Place {
            scope: Scope::Torrent {
                engine_id: engine.id.to_string(),
                hash,
            },
            torrent: Some(entry.torrent.clone()),
            engine: Some(engine),
            category: None,
        })
    }

    /// Refuses a thing that was deleted meanwhile.
    async fn hold_place(&self, tx: &mut qm_db::Tx, scope: &Scope) -> Result<(), LimitsError> {
        match scope {
            Scope::Torrent { engine_id, .. } | Scope::Engine(engine_id) => {
                let is_there = repo::share::has_engine(tx, engine_id).await?;
                is_there.then_some(()).ok_or(LimitsError::NoSuchEngine)
            }
            Scope::Category(id) => {
                let name = repo::share::find_category(tx, id).await?;
                name.map(drop).ok_or(LimitsError::NoSuchCategory)
            }
        }
    }

    /// Has the passes use what was just stored.
    async fn follow(&self, scope: &Scope) -> Result<(), LimitsError> {
        let read = self.read_layer(scope).await;
        read.inspect_err(|_| self.book.mark_stale())
    }

    async fn view_place(&self, place: Place) -> Result<ShareView, LimitsError> {
        let mut tx = self.ground.db.begin_read().await?;
        let own = repo::share::find(&mut tx, &place.scope).await?;
        let entry = match &place.scope {
            Scope::Torrent { engine_id, hash } => repo::ledger::find(&mut tx, engine_id, hash).await?,
            Scope::Category(_) | Scope::Engine(_) => None,
        };
        drop(tx);
        let effective = self.merge_place(&place);
        let limits = effective.fingerprint();
        let torrent = place.torrent.as_ref().map(|torrent| TorrentShare {
            facts: self.find_facts(&place, torrent),
            is_judged: is_sharing(torrent) && !effective.is_endless(),
            // The next pass forgets one that is about other limits, if there is a next pass.
            entry: entry.filter(|entry| entry.is_about(&limits, torrent.added_at)),
            client: torrent.share_limits,
        });
        Ok(ShareView {
            own: own.map(|stored| stored.layer),
            effective,
            torrent,
            scope: place.scope,
        })
    }

    /// Facts of a torrent. While a pass is under way, only what the client tells.
    fn find_facts(&self, place: &Place, torrent: &Torrent) -> Facts {
        let now: Timestamp = self.ground.ctx.now();
        let Scope::Torrent { engine_id, .. } = &place.scope else {
            return Facts::default();
        };
        let watch = self.watch_of(engine_id);
        watch.try_lock().map_or_else(
            |_| super::watch::Watch::default().facts_of(torrent, now),
            |watch| watch.facts_of(torrent, now),
        )
    }
}

/// Lifts the limits that a client itself has on a torrent, where it has any.
async fn clear(place: &Place) -> Result<(), LimitsError> {
    let (Some(engine), Scope::Torrent { hash, .. }) = (&place.engine, &place.scope) else {
        return Ok(());
    };
    if !engine.driver.has(capability::SHARE_LIMITS) {
        return Ok(());
    }
    let inactive_time = if engine.driver.has(capability::INACTIVE_LIMIT) {
        Limit::Unlimited
    } else {
        Limit::Inherit
    };
    let unlimited = ShareLimits {
        ratio: Limit::Unlimited,
        seeding_time: Limit::Unlimited,
        inactive_time,
        action: ShareAction::Inherit,
    };
    let done = engine
        .order_one(hash, Command::ShareLimits(unlimited), None)
        .await;
    engine.poke();
    done.map_err(|error| LimitsError::NotCleared(qm_engines::describe(&engine.name(), &error)))
}

/// Audit row of a change of limits on a thing.
pub(super) fn audit_entry<'a>(scope: &Scope, entry: AuditEntry<'a>) -> AuditEntry<'a> {
    let (kind, id) = match scope {
        Scope::Torrent { hash, .. } => ("torrent", hash),
        Scope::Category(id) => ("torrent_category", id),
        Scope::Engine(id) => ("torrent_engine", id),
    };
    AuditEntry {
        object_type: Some(kind),
        object_id: Some(id.clone()),
        ..entry
    }
}

/// Limits as an audit row shows them.
fn describe(limits: &ShareLimits, clear_client: bool) -> Value {
    json!({
        "ratio": limits.ratio, "seedingTime": limits.seeding_time, "inactiveSeedingTime": limits.inactive_time,
        "action": action_word(limits.action), "clearClient": clear_client,
    })
}
